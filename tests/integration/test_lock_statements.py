"""SHOW LOCK_STATEMENTS: which statements take session locks, how often, and for how long."""
import pytest

import rawpg
from harness import wait_until
from locklib import leak_of

COLUMNS = "database fingerprint state why executions locks failed_tries leaks refused mean_hold_ms longest_hold_ms statement"


@pytest.fixture
def daemon(lk):
    return lk({"default_pool_size": 3, "leak_log_query": "full"})


def row(daemon, part):
    rows = [r for r in daemon.console("SHOW LOCK_STATEMENTS") if r["statement"] and part in r["statement"]]
    assert len(rows) <= 1, rows
    return rows[0] if rows else None


def counts(r, *names):
    return {n: r[n] for n in names}


def test_show_lock_statements_has_these_columns_and_no_rows_for_what_takes_no_lock(daemon):
    daemon.raw().simple("select 1")
    conn = daemon.console_connection()
    cursor = conn.execute("SHOW LOCK_STATEMENTS")
    assert [c.name for c in cursor.description] == COLUMNS.split()
    assert cursor.fetchall() == []


def test_constants_apart_a_statement_has_one_row_with_its_locks_tries_and_holds(daemon):
    a, b = daemon.raw(), daemon.raw()
    for key in (46201, 46202):
        assert a.simple("select pg_try_advisory_lock(%d)" % key) == [["t"]]
    assert b.simple("select pg_try_advisory_lock(46201)") == [["f"]]
    r = row(daemon, "pg_try_advisory_lock")
    assert counts(r, "database", "state", "why", "executions", "locks", "failed_tries", "leaks") == {
        "database": "app", "state": "touch", "why": "exact", "executions": 3, "locks": 2, "failed_tries": 1, "leaks": 0}
    assert r["mean_hold_ms"] is None and r["longest_hold_ms"] is None
    a.simple("select pg_sleep(0.2)")
    a.simple("select pg_advisory_unlock(46201)")
    a.simple("select pg_advisory_unlock(46202)")
    r = row(daemon, "pg_try_advisory_lock")
    assert 200 <= r["mean_hold_ms"] <= r["longest_hold_ms"] < 60000
    assert row(daemon, "select pg_advisory_unlock(")["locks"] == 0


def test_what_was_leaked_is_counted_with_the_statement_that_took_it(daemon):
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(46203) /* forgets it */")
    conn.send(rawpg.terminate())
    leak = leak_of(daemon, "46203")
    r = row(daemon, "forgets it")
    assert counts(r, "locks", "leaks") == {"locks": 1, "leaks": 1}
    assert r["fingerprint"] == leak["fingerprint"]


def test_a_statement_whose_answer_does_not_tell_is_unsure(daemon):
    conn = daemon.raw()
    conn.simple("with got as materialized (select pg_try_advisory_lock(46204)) select count(*) from got")
    wait_until(lambda: row(daemon, "with got")["locks"] == 1, what="the probe has found the lock")
    assert row(daemon, "with got")["why"] == "unsure"


def test_a_statement_that_locks_in_a_function_is_learned(hidden, daemon):
    conn = daemon.raw()
    conn.simple("select take(46205)")
    wait_until(lambda: row(daemon, "select take("), what="it was found")
    r = row(daemon, "select take(")
    assert counts(r, "state", "why", "executions", "locks") == {
        "state": "touch", "why": "learned", "executions": 1, "locks": 1}
    conn.simple("select take(46206)")
    wait_until(lambda: row(daemon, "select take(")["locks"] == 2, what="the second was found, too")
    assert row(daemon, "select take(")["executions"] == 2


def test_what_the_policy_refused_is_counted(lk):
    daemon = lk({"advisory_lock_policy": "reject"})
    for _ in range(2):
        with pytest.raises(rawpg.ServerError):
            daemon.raw().simple("select pg_advisory_lock(46207)")
    assert counts(row(daemon, "pg_advisory_lock"), "refused", "locks", "executions") == {
        "refused": 2, "locks": 0, "executions": 0}


def test_statements_are_told_apart_by_database(pg, lk):
    base = {"host": pg.host, "port": pg.port, "dbname": "app"}
    daemon = lk(databases={"app": base, "second": base})
    for database in ("app", "second"):
        daemon.raw(database=database).simple("select pg_advisory_lock_shared(46208)")
    assert sorted((r["database"], r["locks"]) for r in daemon.console("SHOW LOCK_STATEMENTS")) == [
        ("app", 1), ("second", 1)]
