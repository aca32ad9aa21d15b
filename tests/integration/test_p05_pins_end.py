"""P5: a pin ends when nothing is held. A pool of one backend shows who has it."""
import pytest

import rawpg
from locklib import SHARING_MODES, held, is_pinned, wait_held, wait_unpinned


@pytest.fixture
def one(lk):
    return lk({"default_pool_size": 1})


@SHARING_MODES
def test_p05_a_lock_pins_and_its_unlock_unpins(one):
    conn = one.raw()
    conn.simple("select pg_advisory_lock(9601)")
    assert is_pinned(one)
    conn.simple("select pg_advisory_unlock(9601)")
    wait_unpinned(one)


@SHARING_MODES
def test_p05_a_failed_try_never_pins(pg, one):
    with pg.connect() as holder:
        holder.execute("select pg_advisory_lock(9602)")
        conn = one.raw()
        assert conn.simple("select pg_try_advisory_lock(9602)") == [["f"]]
        wait_unpinned(one)
        assert conn.extended("select pg_try_advisory_lock($1)", ["9602"]) == [["f"]]
        wait_unpinned(one)
    assert one.leaks() == []


@SHARING_MODES
def test_p05_only_the_last_unlock_of_a_counted_lock_unpins(one):
    conn = one.raw()
    for _ in range(3):
        conn.simple("select pg_advisory_lock(9603)")
    for _ in range(2):
        conn.simple("select pg_advisory_unlock(9603)")
        assert is_pinned(one)
    conn.simple("select pg_advisory_unlock(9603)")
    wait_unpinned(one)


@SHARING_MODES
@pytest.mark.parametrize("end", ["select pg_advisory_unlock_all()", "discard all"])
def test_p05_what_frees_all_unpins(pg, one, end):
    conn = one.raw()
    conn.simple("select pg_advisory_lock(9604)")
    conn.simple("select pg_advisory_lock(9604)")
    conn.simple("select pg_advisory_lock_shared(9, 605)")
    assert is_pinned(one)
    conn.simple(end)
    wait_unpinned(one)
    assert held(pg) == [] and one.leaks("leak") == []


@SHARING_MODES
def test_p05_unlock_all_as_function_call_unpins(pg, one):
    conn = one.raw()
    conn.simple("select pg_advisory_lock(9606)")
    conn.send(rawpg.function_call(2892, [], param_formats=[]))
    conn.until()
    wait_unpinned(one)


def test_p05_inside_a_transaction_the_pin_ends_with_the_transaction(one):
    conn = one.raw()
    conn.simple("begin")
    conn.simple("select pg_advisory_lock(9607)")
    conn.simple("select pg_advisory_unlock(9607)")
    assert is_pinned(one)
    conn.simple("commit")
    wait_unpinned(one)


def test_p05_an_xact_lock_does_not_outlive_its_transaction(pg, one):
    conn = one.raw()
    conn.simple("begin")
    conn.simple("select pg_advisory_xact_lock(9608)")
    conn.simple("commit")
    wait_unpinned(one)
    conn.simple("select pg_try_advisory_xact_lock(9608)")
    wait_unpinned(one)
    assert [r["lint"] for r in one.leaks()] == ["xact_lock_in_autocommit"]


@SHARING_MODES
def test_p05_a_hidden_lock_pins_until_a_probe_agrees(pg, lk, hidden):
    one = lk({"default_pool_size": 1})
    conn = one.raw()
    conn.simple("select take(9609)")
    assert is_pinned(one)
    conn.simple("select give(9609)")
    wait_unpinned(one)
    assert held(pg) == [] and one.leaks("leak") == []


@SHARING_MODES
def test_p05_a_hidden_lock_unlocked_in_plain_sight_unpins(pg, lk, hidden):
    one = lk({"default_pool_size": 1})
    conn = one.raw()
    conn.simple("select take(9610)")
    assert is_pinned(one)
    assert conn.simple("select pg_advisory_unlock(9610)") == [["t"]]
    wait_unpinned(one)


@SHARING_MODES
def test_p05_a_plain_lock_unlocked_by_a_function_unpins(pg, lk, hidden):
    one = lk({"default_pool_size": 1, "advisory_trust_after": 3})
    conn = one.raw()
    conn.simple("select pg_advisory_lock(9611)")
    assert conn.simple("select give(9611)") == [["t"]]
    wait_unpinned(one)
    wait_held(pg)
    assert one.leaks("leak") == []


@SHARING_MODES
def test_p05_statements_without_locks_never_pin(one):
    conn = one.raw()
    for sql in ("select 'pg_advisory_lock(1)'", "select 1 -- pg_advisory_lock(2)", "prepare p1 as select pg_advisory_lock(3)",
                "explain select pg_advisory_lock(4)", "select pg_advisory_unlock_all()"):
        conn.simple(sql)
        wait_unpinned(one)
    assert one.leaks("leak") == one.leaks("hidden") == []


def test_p05_show_pins_lists_the_holder_while_it_holds(one):
    conn = one.raw()
    assert one.console("SHOW PINS") == []
    conn.simple("select pg_advisory_lock(9612)")
    assert len(one.console("SHOW PINS")) == 1
    locks = one.console("SHOW ADVISORY_LOCKS")
    assert [(str(r["key"]), r["mode"]) for r in locks] == [("9612", "exclusive")]
    conn.simple("select pg_advisory_unlock(9612)")
    wait_unpinned(one)
    assert one.console("SHOW PINS") == one.console("SHOW ADVISORY_LOCKS") == []
