"""P6: the ledger changes on what the server answered, never on what was sent."""
import pytest

import rawpg
from harness import wait_until
from locklib import SHARING_MODES, held, is_pinned, wait_held, wait_unpinned


@pytest.fixture
def one(lk):
    return lk({"default_pool_size": 1})


@SHARING_MODES
def test_p06_a_lock_skipped_after_an_error_is_not_held(pg, one):
    conn = one.raw()
    conn.send(rawpg.parse("", "select 1/0"), rawpg.bind(), rawpg.execute(),
              rawpg.parse("", "select pg_advisory_lock(9701)"), rawpg.bind(), rawpg.execute(), rawpg.sync())
    assert rawpg.types(conn.until()) == "1EZ"
    wait_unpinned(one)
    assert held(pg) == [] and one.leaks() == []


@SHARING_MODES
def test_p06_parse_bind_and_describe_lock_nothing(pg, one):
    conn = one.raw()
    conn.send(rawpg.parse("s", "select pg_advisory_lock(9702)"), rawpg.describe("S", "s"), rawpg.bind("p", "s"),
              rawpg.describe("P", "p"), rawpg.sync())
    assert rawpg.types(conn.until()) == "1tT2TZ"
    wait_unpinned(one)
    assert one.leaks() == []


def test_p06_a_lock_that_timed_out_is_not_held(pg, one):
    with pg.connect() as holder:
        holder.execute("select pg_advisory_lock(9703)")
        conn = one.raw()
        with pytest.raises(rawpg.ServerError) as e:
            conn.simple("set lock_timeout = '50ms'; select pg_advisory_lock(9703)")
        assert e.value.sqlstate == "55P03"
        wait_unpinned(one)
    assert one.leaks("leak") == []


@SHARING_MODES
def test_p06_a_lock_whose_wait_was_cancelled_is_not_held(pg, one):
    with pg.connect() as holder:
        holder.execute("select pg_advisory_lock(9704)")
        conn = one.raw()
        conn.send(rawpg.query("select pg_advisory_lock(9704)"))
        wait_until(lambda: any(not r[2] for r in pg.locks()), what="a waiter")
        conn.cancel()
        with pytest.raises(rawpg.ServerError) as e:
            conn.rows()
        assert e.value.sqlstate == "57014"
        wait_unpinned(one)
    assert one.leaks("leak") == []


@SHARING_MODES
def test_p06_a_failed_query_that_locked_first_is_held_and_pinned(pg, one):
    conn = one.raw()
    with pytest.raises(rawpg.ServerError):
        conn.simple("select pg_advisory_lock(9705); select 1/0")
    assert held(pg) == ["9705 X"]
    assert is_pinned(one)
    assert conn.simple("select pg_advisory_unlock(9705)") == [["t"]]
    wait_unpinned(one)


@SHARING_MODES
def test_p06_locks_hidden_behind_rows_are_all_found(pg, lk, hidden):
    one = lk({"default_pool_size": 1})
    conn = one.raw()
    rows = conn.simple("select pg_try_advisory_lock(9710 + id) from source order by id offset 2")
    assert len(rows) == 1
    assert len(held(pg)) == 3 and is_pinned(one)
    conn.simple("select pg_advisory_lock(9711), generate_series(1, 2)")
    conn.send(rawpg.terminate())
    conn.close()
    wait_held(pg)
    wait_until(lambda: len(one.leaks("leak")) == 3, what="three records")
    assert sorted(r["lock"]["key"] for r in one.leaks("leak")) == ["9711", "9712", "9713"]


def test_p06_a_row_limit_leaves_the_count_to_the_probe(pg, one):
    conn = one.raw()
    conn.send(rawpg.parse("", "select pg_advisory_lock(9720 + n) from generate_series(1, 3) n"), rawpg.bind(),
              rawpg.execute(rows=2), rawpg.sync())
    assert rawpg.types(conn.until()) == "12DDsZ"
    assert held(pg) == ["9721 X", "9722 X"]
    assert is_pinned(one)
    conn.simple("select pg_advisory_unlock_all()")
    wait_unpinned(one)


@SHARING_MODES
def test_p06_null_and_dead_branches_do_not_pin(pg, one):
    conn = one.raw()
    for sql in ("select pg_advisory_lock(null)", "select case when false then pg_advisory_lock(9730) end",
                "explain select pg_try_advisory_lock(9731)"):
        conn.simple(sql)
        wait_unpinned(one)
    assert one.leaks("leak") == []


@SHARING_MODES
def test_p06_a_pipeline_of_locks_and_unlocks_ends_as_it_ended(pg, one):
    conn = one.raw()
    step = lambda call: [rawpg.parse("", "select " + call), rawpg.bind(), rawpg.execute()]
    conn.send(*step("pg_advisory_lock(9740)"), *step("pg_advisory_lock(9740)"), *step("pg_advisory_unlock(9740)"),
              *step("pg_advisory_lock_shared(9741)"), *step("pg_advisory_unlock_shared(9741)"), rawpg.sync())
    conn.until()
    assert held(pg) == ["9740 X"]
    conn.send(rawpg.terminate())
    conn.close()
    record = one.wait_leak()
    assert (record["lock"]["key"], record["lock"]["count"]) == ("9740", 1)
    assert len(one.leaks("leak")) == 1
