"""P8: a refused call locks nothing, says why, and leaves client and backend agreed on the transaction."""
import pytest

import rawpg
from locklib import held, is_pinned, wait_events, wait_unpinned

HINT = "Use pg_advisory_xact_lock inside a transaction; or see advisory_lock_policy, a setting of the connection pooler."


@pytest.fixture
def strict(lk):
    return lk({"default_pool_size": 1, "advisory_lock_policy": "reject"})


def outcome(conn, *messages):
    """Types of an exchange, and SQLSTATE and HINT of its error."""
    conn.send(*messages)
    got = conn.until()
    errors = [rawpg.fields(m.body) for m in got if m.type == "E"]
    return rawpg.types(got) + got[-1].body.decode(), [(e["C"], e.get("H")) for e in errors]


def test_p08_a_query_is_refused_with_a_hint(pg, strict):
    conn = strict.raw()
    assert outcome(conn, rawpg.query("select pg_advisory_lock(9801)")) == ("EZI", [("0A000", HINT)])
    assert conn.simple("select 1") == [["1"]]
    assert held(pg) == []
    wait_unpinned(strict)
    assert strict.wait_leak(lambda r: r["event"] == "rejected")["lock"]["key"] == "9801"


def test_p08_in_a_transaction_both_sides_know_that_it_is_aborted(pg, strict):
    conn = strict.raw()
    conn.simple("begin")
    assert outcome(conn, rawpg.query("select pg_try_advisory_lock_shared(98, 2)"))[0] == "EZE"
    assert outcome(conn, rawpg.query("select 1")) == ("EZE", [("25P02", None)])
    assert outcome(conn, rawpg.query("commit")) == ("CZI", [])
    assert held(pg) == []
    wait_unpinned(strict)


def test_p08_after_rollback_to_a_savepoint_the_transaction_goes_on(strict):
    conn = strict.raw()
    conn.simple("begin")
    conn.simple("savepoint a")
    assert outcome(conn, rawpg.query("select pg_advisory_lock(9803)"))[0] == "EZE"
    conn.simple("rollback to a")
    assert conn.simple("select pg_try_advisory_xact_lock(9803)") == [["t"]]
    conn.simple("commit")


@pytest.mark.parametrize("messages", [
    [rawpg.query("select pg_advisory_lock(9804)")],
    [rawpg.parse("", "select pg_advisory_lock(9804)"), rawpg.bind(), rawpg.execute(), rawpg.sync()],
    [rawpg.function_call(2880, [rawpg.int8(9804)])],
], ids=["simple", "extended", "function call"])
def test_p08_in_an_aborted_transaction_the_error_is_postgresqls_own(strict, messages):
    conn = strict.raw()
    conn.simple("begin")
    assert outcome(conn, rawpg.query("select 1/0"))[0] == "EZE"
    assert outcome(conn, *messages) == ("EZE", [("25P02", None)])
    assert outcome(conn, rawpg.query("rollback"))[0] == "CZI"
    assert strict.leaks() == []


def test_p08_of_several_statements_none_runs(pg, strict):
    conn = strict.raw()
    conn.simple("create temp table refused_here(n int)")
    assert outcome(conn, rawpg.query("begin; insert into refused_here values (1); select pg_advisory_lock(9805); commit"))[0] == "EZI"
    assert conn.simple("select count(*) from refused_here") == [["0"]]
    conn.simple("drop table refused_here")


def test_p08_a_prepared_statement_is_refused_when_executed_each_time(pg, strict):
    conn = strict.raw()
    assert outcome(conn, rawpg.parse("mine", "select pg_advisory_lock($1)"), rawpg.describe("S", "mine"), rawpg.sync())[0] == "1tTZI"
    for _ in range(2):
        assert outcome(conn, rawpg.bind("", "mine", ["9806"]), rawpg.execute(), rawpg.sync()) == ("2EZI", [("0A000", HINT)])
    wait_events(strict, "rejected")
    assert held(pg) == []


def test_p08_in_a_pipeline_what_stands_before_it_has_run_and_is_rolled_back_with_it(pg, strict):
    conn = strict.raw()
    conn.simple("create temp table piped(n int)")
    part = lambda sql: rawpg.parse("", sql) + rawpg.bind() + rawpg.execute()
    seen = outcome(conn, part("insert into piped values (1)") + part("select pg_advisory_lock(9807)")
                   + part("insert into piped values (2)") + rawpg.sync())
    assert seen == ("12C12EZI", [("0A000", HINT)])
    assert conn.simple("select count(*) from piped") == [["0"]]
    conn.simple("drop table piped")


def test_p08_pipelined_queries_are_answered_in_their_order(strict):
    conn = strict.raw()
    conn.send(rawpg.query("begin"), rawpg.query("select pg_advisory_lock(9808)"), rawpg.query("select 1"), rawpg.query("rollback"))
    assert ["".join(rawpg.types(conn.until())) for _ in range(4)] == ["CZ", "EZ", "EZ", "CZ"]


def test_p08_a_function_call_is_refused_and_the_unnamed_statement_survives(pg, strict):
    conn = strict.raw()
    assert outcome(conn, rawpg.parse("", "select 7"), rawpg.sync())[0] == "1ZI"
    assert outcome(conn, rawpg.function_call(2882, [rawpg.int8(9809)]))[1][0][0] == "0A000"
    conn.send(rawpg.bind(), rawpg.execute(), rawpg.sync())
    assert rawpg.types(conn.until()) == "2DCZ"
    assert held(pg) == []


@pytest.mark.parametrize("sql", [
    "with l as (select pg_advisory_lock(9810)) select count(*) from l",
    "select case when true then pg_advisory_lock(9810) end",
    "insert into lock_results select pg_try_advisory_lock(9810)",
    "copy (select PG_Advisory_Lock(9810)) to stdout",
    "explain analyze select pg_catalog.pg_advisory_lock(9810)",
    "declare c cursor with hold for select pg_advisory_lock(9810)",
    "select /* now */ \"pg_advisory_lock\" ( 9810 )",
])
def test_p08_a_call_anywhere_in_the_text_is_refused(pg, strict, sql):
    conn = strict.raw()
    assert outcome(conn, rawpg.query(sql))[1][0][0] == "0A000"
    assert held(pg) == []


@pytest.mark.parametrize("sql", [
    "select 'select pg_advisory_lock(1)'",
    "explain select pg_advisory_lock(9811)",
    "prepare later as select pg_advisory_lock(9811)",
    "select pg_advisory_unlock_all()",
    "select pg_advisory_xact_lock(9811)",
    "select pg_try_advisory_xact_lock_shared(98, 11)",
])
def test_p08_what_takes_no_session_lock_is_let_through(strict, sql):
    conn = strict.raw()
    assert outcome(conn, rawpg.query(sql))[1] == []
    wait_unpinned(strict)


def test_p08_an_unlock_says_what_postgresql_says(strict):
    conn = strict.raw()
    conn.send(rawpg.query("select pg_advisory_unlock(9812)"))
    got = conn.until()
    assert [m.type for m in got] == list("TNDCZ") and rawpg.row(got[2].body) == [b"f"]


def test_p08_what_cannot_be_seen_is_pinned_and_told(pg, strict):
    conn = strict.raw()
    conn.simple("do $$ begin execute 'select pg_' || 'advisory_lock(9813)'; end $$")
    strict.wait_leak(lambda r: r["event"] == "pin" and r["lock"]["key"] == "9813")
    assert is_pinned(strict) and held(pg) == ["9813 X"]
    conn.simple("select pg_advisory_unlock(9813)")
    wait_unpinned(strict)


def test_p08_session_mode_refuses_too(pg, lk):
    conn = lk({"pool_mode": "session", "advisory_lock_policy": "reject"}).raw()
    assert outcome(conn, rawpg.query("select pg_advisory_lock(9814)"))[1][0][0] == "0A000"
    conn.send(rawpg.parse("lk_refused", "select 14"), rawpg.bind("", "lk_refused"), rawpg.execute(), rawpg.sync())
    assert rawpg.types(conn.until()) == "12DCZ"
    assert outcome(conn, rawpg.parse("", "select pg_advisory_lock(9814)"), rawpg.bind(), rawpg.execute(), rawpg.sync())[0] == "12EZI"
    assert held(pg) == []


def test_p08_a_database_or_user_may_have_the_policy_for_itself(pg, lk):
    at = {"host": pg.host, "port": pg.port, "dbname": "app"}
    daemon = lk(databases={"app": at, "strict": dict(at, advisory_lock_policy="reject")})
    assert outcome(daemon.raw("app", "strict"), rawpg.query("select pg_advisory_lock(9815)"))[1][0][0] == "0A000"
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(9815)")
    assert held(pg) == ["9815 X"]
