"""P7: rewrite shortens a lock to its transaction only where that is certain; columns, types, tags and unlocks stay as they were."""
import pytest

import rawpg
from harness import wait_until
from locklib import held, is_pinned, leak_of, wait_events, wait_held, wait_unpinned


@pytest.fixture
def one(lk):
    return lk({"default_pool_size": 1, "advisory_lock_policy": "rewrite"})


def seen(conn, *messages):
    """What a client sees of an exchange: columns with types, rows, tags, errors and notices, the state."""
    conn.send(*messages)
    out = []
    for m in conn.until():
        if m.type == "T":
            out.append(("T", [(name, oid) for name, oid, _ in rawpg.columns(m.body)]))
        elif m.type in "EN":
            f = rawpg.fields(m.body)
            out.append((m.type, f["S"], f["C"], f["M"]))
        elif m.type != "S":
            out.append((m.type, m.body))
    return out


SHAPES = [
    "select pg_advisory_lock(9701)",
    "select pg_advisory_lock(97, 1) as mine",
    "select pg_advisory_lock_shared(9701), pg_try_advisory_lock(9702)",
    "select pg_try_advisory_lock(-9701)::text",
    "select pg_try_advisory_lock_shared(9701)::int as n, 'x' as y",
    "SELECT  PG_CATALOG . \"pg_try_advisory_lock\" ( /* key */ 9701 )",
    "select pg_advisory_lock(9701); select pg_try_advisory_lock(9702)",
]


@pytest.mark.parametrize("sql", SHAPES)
def test_p07_a_rewritten_query_looks_the_same_and_takes_no_session_lock(pg, one, sql):
    direct, conn = rawpg.RawConn(pg.host, pg.port).login("app", "app2"), one.raw()
    for c in (direct, conn):
        c.simple("begin")
    assert seen(conn, rawpg.query(sql)) == seen(direct, rawpg.query(sql))
    assert len(held(pg)) == len(held(pg, "app2")) > 0, "locked like a direct client"
    for c in (direct, conn):
        c.simple("commit")
    wait_held(pg)
    assert held(pg, "app2") != []
    wait_unpinned(one)
    wait_events(one, "rewritten")
    direct.close()


def extended(sql, oids=(), params=(), param_formats=(), result_formats=(), name=""):
    return [rawpg.parse(name, sql, oids), rawpg.describe("S", name), rawpg.bind("", name, params, param_formats, result_formats),
            rawpg.describe("P"), rawpg.execute(), rawpg.sync()]


@pytest.mark.parametrize("messages", [
    extended("select pg_advisory_lock($1)", params=["9703"]),
    extended("select pg_try_advisory_lock($1)", params=[rawpg.int8(9703)], param_formats=[1], result_formats=[1]),
    extended("select pg_try_advisory_lock($1, $2) as got", params=["97", "3"], name="named"),
    extended("select pg_try_advisory_lock($1::int)", params=["9703"], name="cast"),
    extended("select pg_advisory_lock($1), $2", [20, 25], ["9703", "text"]),
    [rawpg.function_call(2882, [rawpg.int8(9703)], result_format=1)],
    [rawpg.function_call(2886, [rawpg.int4(97), rawpg.int4(3)])],
], ids=["text", "binary", "pair", "cast", "with another column", "function call", "function call of a pair"])
def test_p07_extended_messages_and_function_calls_look_the_same(pg, one, messages):
    direct, conn = rawpg.RawConn(pg.host, pg.port).login("app", "app2"), one.raw()
    for c in (direct, conn):
        c.simple("begin")
    assert seen(conn, *messages) == seen(direct, *messages)
    assert len(held(pg)) == 1
    conn.simple("rollback")
    wait_held(pg)
    wait_events(one, "rewritten")
    direct.close()


UNLOCKS = {
    "simple": [rawpg.query("select pg_advisory_unlock(9704)")],
    "aliased": [rawpg.query("select pg_advisory_unlock(9704) as gone")],
    "cast": [rawpg.query("select pg_advisory_unlock(9704)::text")],
    "parameter": extended("select pg_advisory_unlock($1)", params=["9704"]),
    "prepared binary": extended("select pg_advisory_unlock($1)", [20], [rawpg.int8(9704)], [1], [1], "u"),
    "function call": [rawpg.function_call(2884, [rawpg.int8(9704)])],
    "binary function call": [rawpg.function_call(2884, [rawpg.int8(9704)], result_format=1)],
}


@pytest.mark.parametrize("form", UNLOCKS)
def test_p07_unlocks_of_a_rewritten_key_succeed_as_often_as_it_was_taken(pg, one, form):
    direct, conn = rawpg.RawConn(pg.host, pg.port).login("app", "app2"), one.raw()
    for c in (direct, conn):
        c.simple("begin")
        c.simple("select pg_advisory_lock(9704)")
        c.simple("select pg_try_advisory_lock(9704)")
    again = UNLOCKS[form]
    if form == "prepared binary":
        again = again[2:]
    for n, messages in enumerate([UNLOCKS[form], again, again]):
        answers = [seen(c, *messages) for c in (direct, conn)]
        assert answers[0] == answers[1], "unlock %d" % (n + 1)
        assert any(a[0] == "N" for a in answers[1]) == (n == 2), "the third is one too many, with PostgreSQL's WARNING"
    conn.simple("commit")
    wait_events(one, "rewritten", "rewritten", "unlock_failed")
    direct.close()


def test_p07_the_mode_of_an_unlock_counts(one):
    conn = one.raw()
    conn.simple("begin")
    conn.simple("select pg_advisory_lock_shared(9705)")
    assert conn.simple("select pg_advisory_unlock(9705)") == [["f"]]
    assert conn.simple("select pg_advisory_unlock_shared(9705)") == [["t"]]


def test_p07_unlock_all_makes_later_unlocks_false(one):
    conn = one.raw()
    conn.simple("begin")
    conn.simple("select pg_advisory_lock(9706)")
    conn.simple("select pg_advisory_unlock_all()")
    assert conn.simple("select pg_advisory_unlock(9706)") == [["f"]]


def test_p07_outside_a_transaction_the_fallback_pins(pg, one):
    conn = one.raw()
    conn.simple("select pg_advisory_lock(9707)")
    assert is_pinned(one) and held(pg) == ["9707 X"]
    conn.simple("begin")
    conn.simple("select pg_advisory_lock(9707)")
    conn.simple("commit")
    assert [conn.simple("select pg_advisory_unlock(9707)") for _ in range(2)] == [[["t"]], [["t"]]], "a key that is held was not rewritten"
    wait_unpinned(one)
    wait_events(one, "pin", "pins_full", "unpin")


def test_p07_with_a_savepoint_open_the_fallback_decides_and_after_its_release_not(pg, one):
    conn = one.raw()
    conn.simple("begin")
    conn.simple("savepoint a")
    conn.simple("select pg_advisory_lock(9708)")
    conn.simple("rollback to a")
    assert held(pg) == ["9708 X"]
    conn.simple("release a")
    conn.simple("select pg_advisory_lock(9709)")
    conn.simple("commit")
    assert held(pg) == ["9708 X"] and is_pinned(one)
    assert conn.simple("select pg_advisory_unlock(9708)") == [["t"]]


def test_p07_what_is_not_exact_falls_back(pg, one):
    conn = one.raw()
    conn.simple("begin")
    conn.simple("select pg_advisory_lock(k) from generate_series(9710, 9711) k")
    conn.simple("commit")
    assert held(pg) == ["9710 X", "9711 X"] and is_pinned(one)


def test_p07_a_multi_statement_query_with_its_own_begin_falls_back(pg, one):
    conn = one.raw()
    conn.simple("begin; select pg_advisory_lock(9712); commit")
    assert held(pg) == ["9712 X"] and is_pinned(one)


def test_p07_the_fallback_may_refuse(pg, lk):
    daemon = lk({"default_pool_size": 1, "advisory_lock_policy": "rewrite", "advisory_rewrite_fallback": "reject"})
    conn = daemon.raw()
    with pytest.raises(rawpg.ServerError) as e:
        conn.simple("select pg_advisory_lock(9713)")
    assert e.value.sqlstate == "0A000" and held(pg) == []
    assert [a[2] for a in seen(conn, *extended("select pg_advisory_lock($1)", params=["9713"])) if a[0] == "E"] == ["0A000"]
    conn.simple("begin")
    conn.simple("select pg_advisory_lock(9713)")
    assert held(pg) == ["9713 X"]
    conn.simple("commit")
    wait_held(pg)
    wait_events(daemon, "rejected", "rejected", "rewritten")


def test_p07_in_an_aborted_transaction_postgresql_answers(one):
    conn = one.raw()
    conn.simple("begin")
    with pytest.raises(rawpg.ServerError):
        conn.simple("select 1/0")
    with pytest.raises(rawpg.ServerError) as e:
        conn.simple("select pg_advisory_lock(9714)")
    assert e.value.sqlstate == "25P02"
    conn.simple("rollback")


@pytest.mark.parametrize("begin", ["begin", "start transaction", "BEGIN ISOLATION LEVEL SERIALIZABLE"])
def test_p07_begin_in_the_same_batch_counts(pg, one, begin):
    conn = one.raw()
    part = lambda sql, *params: rawpg.parse("", sql) + rawpg.bind(params=params) + rawpg.execute()
    conn.send(part(begin) + part("select pg_advisory_lock($1)", "9715") + part("select pg_advisory_unlock($1)", "9715")
              + part("select 1") + rawpg.sync())
    assert rawpg.types(conn.until()) == "12C12DC12DC12DCZ"
    assert held(pg) == ["9715 X"], "the unlock of a shortened lock says true, and the lock stays to the end"
    conn.simple("commit")
    wait_held(pg)
    wait_events(one, "rewritten")


def test_p07_pipelined_queries_are_rewritten_where_begin_is_sure(pg, one):
    conn = one.raw()
    conn.send(rawpg.query("begin"), rawpg.query("select pg_advisory_lock(9716)"), rawpg.query("commit"),
              rawpg.query("select pg_try_advisory_lock(9717)"))
    assert ["".join(rawpg.types(conn.until())) for _ in range(4)] == ["CZ", "TDCZ", "CZ", "TDCZ"]
    assert held(pg) == ["9717 X"] and is_pinned(one)


def test_p07_a_begin_that_may_have_been_passed_over_is_waited_for(pg, one):
    conn = one.raw()
    part = lambda sql: rawpg.parse("", sql) + rawpg.bind() + rawpg.execute()
    conn.send(part("select 1/(select 0)") + part("begin") + rawpg.sync() + part("select pg_advisory_lock(9718)") + rawpg.sync())
    assert rawpg.types(conn.until()) == "12EZ"
    assert rawpg.types(conn.until()) == "12DCZ"
    assert held(pg) == ["9718 X"] and is_pinned(one), "outside a transaction the lock is one of the session"


def test_p07_a_prepared_statement_has_both_texts(pg, one):
    conn = one.raw()
    conn.send(rawpg.parse("l", "select pg_try_advisory_lock($1)"), rawpg.sync())
    conn.until()
    run = [rawpg.bind("", "l", ["9719"]), rawpg.execute(), rawpg.sync()]
    for _ in range(3):
        conn.simple("begin")
        conn.send(*run)
        assert rawpg.types(conn.until()) == "2DCZ"
        conn.simple("commit")
        wait_held(pg)
    conn.send(*run)
    assert rawpg.types(conn.until()) == "2DCZ"
    assert held(pg) == ["9719 X"] and is_pinned(one)


def test_p07_others_are_kept_out_until_the_transaction_ends(pg, one):
    conn = one.raw()
    conn.simple("begin")
    conn.simple("select pg_advisory_lock(9720)")
    with pg.connect() as other:
        assert other.execute("select pg_try_advisory_lock(9720)").fetchone() == (False,)
        conn.simple("commit")
        wait_until(lambda: other.execute("select pg_try_advisory_lock(9720)").fetchone() == (True,), what="the lock is free")


def test_p07_session_mode_rewrites_too(pg, lk):
    daemon = lk({"pool_mode": "session", "advisory_lock_policy": "rewrite"})
    conn = daemon.raw()
    conn.simple("begin")
    conn.simple("select pg_advisory_lock(9721)")
    conn.send(*extended("select pg_advisory_lock($1)", params=["9722"], name="mine"))
    assert rawpg.types(conn.until()) == "1tT2TDCZ"
    assert held(pg) == ["9721 X", "9722 X"]
    conn.simple("commit")
    wait_held(pg)


def test_p07_a_client_is_warned_if_it_wants(lk):
    daemon = lk({"advisory_lock_policy": "rewrite", "advisory_lock_notice": "on"})
    conn = daemon.raw()
    conn.simple("begin")
    notices = [a for a in seen(conn, rawpg.query("select pg_advisory_lock(9723)")) if a[0] == "N"]
    assert notices == [("N", "WARNING", "01000", "session lock 9723 is shortened to the transaction")]


def test_p07_what_cannot_be_seen_is_pinned(pg, lk, hidden):
    daemon = lk({"default_pool_size": 1, "advisory_lock_policy": "rewrite"})
    conn = daemon.raw()
    conn.simple("select take(9724)")
    leak_of(daemon, "9724", "pin")
    assert is_pinned(daemon)
