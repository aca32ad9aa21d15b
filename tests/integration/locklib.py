"""What the tests of the lock promises share: who holds what, who is pinned, and ways to take a lock that no text shows."""
import pytest

import rawpg
from harness import wait_until

# Marks of tests that hold in several pool modes: in all; with transaction blocks; where a backend is shared.
ALL_MODES = pytest.mark.parametrize("pool_mode", ["transaction", "session", "statement"])
BLOCK_MODES = pytest.mark.parametrize("pool_mode", ["transaction", "session"])
SHARING_MODES = pytest.mark.parametrize("pool_mode", ["transaction", "statement"])

SHORT = {"ExclusiveLock": "X", "ShareLock": "S"}

HIDDEN_SQL = """
create or replace function take(k bigint) returns void language plpgsql as $$ begin perform pg_advisory_lock(k); end $$;
create or replace function give(k bigint) returns bool language plpgsql as $$ begin return pg_advisory_unlock(k); end $$;
create or replace function take_new() returns trigger language plpgsql as $$ begin perform pg_advisory_lock(new.id); return new; end $$;
create or replace function take_and_fail(k bigint) returns void language plpgsql as
    $$ begin perform pg_advisory_lock(k); raise exception 'as planned'; end $$;
create table job(id bigint);
create trigger job_locks before insert on job for each row execute function take_new();
create table late(id bigint);
create constraint trigger late_locks after insert on late deferrable initially deferred for each row execute function take_new();
create view looking as select pg_try_advisory_lock(9105) as got;
create table with_default(id int, got bool default pg_try_advisory_lock(9106));
create table source(id bigint);
insert into source select generate_series(1, 3);
grant all on all tables in schema public to public;
"""


def held(pg, dbname="app"):
    """The granted advisory locks of a database, sorted: "9527 X", "1,2 S"."""
    return sorted("%s %s" % (key, SHORT[mode]) for _, mode, granted, _, key in pg.locks(dbname) if granted)


def wait_held(pg, *wanted, dbname="app"):
    wait_until(lambda: held(pg, dbname) == sorted(wanted), what="held is %r, now %r" % (wanted, held(pg, dbname)))


def is_pinned(daemon, database="app", user="app"):
    """With a pool of one backend: does a second client have to wait for it?"""
    other = daemon.raw(user, database)
    other.send(rawpg.query("select 1"))

    def settled():
        """A backend that is being reset, or runs a query of the pooler's own, is free in a moment."""
        row = daemon.pool(database, user)
        return not other.quiet(0) or (row["cl_waiting"] == 1 and row["sv_tested"] == 0 and row["sv_active"] > 0)
    wait_until(settled, what="served or waiting")
    pinned = other.quiet(0)
    if not pinned:
        other.rows()
        other.send(rawpg.terminate())
    other.close()
    wait_until(lambda: daemon.pool(database, user)["cl_waiting"] == 0, what="nobody waits")
    return pinned


def wait_unpinned(daemon, **kw):
    wait_until(lambda: not is_pinned(daemon, **kw), what="the pool's backend is free")


def leak_of(daemon, key, event="leak"):
    return daemon.wait_leak(lambda r: r["event"] == event and r.get("lock", {}).get("key") == key)


def wait_events(daemon, *wanted):
    """The leak log holds records of these events, in this order, and no others."""
    events = lambda: [r["event"] for r in daemon.leaks()]
    wait_until(lambda: events() == list(wanted), what="the leak log has %r" % (wanted,))


def count_of(daemon, key, event="leak"):
    return sum(r["event"] == event and r.get("lock", {}).get("key") == key for r in daemon.leaks())


# Ways for a raw client to take key 9000 + n so that it is held afterwards: name, key, function(conn).
def in_pipeline(conn):
    conn.send(rawpg.parse("", "select pg_advisory_lock($1)"), rawpg.bind(params=["9111"]), rawpg.execute(),
              rawpg.parse("", "select 1/0"), rawpg.bind(), rawpg.execute(), rawpg.sync())
    assert "E" in rawpg.types(conn.until())


def failing(sql, state):
    def run(conn):
        try:
            conn.simple(sql)
        except rawpg.ServerError as e:
            assert e.sqlstate == state
        else:
            raise AssertionError("no error from " + sql)
    return run


def simple(*statements):
    def run(conn):
        for sql in statements:
            conn.simple(sql)
    return run


def by_function_call(conn):
    conn.send(rawpg.function_call(2880, [rawpg.int8(9112)]))
    assert rawpg.types(conn.until()) == "VZ"


def copy_out(conn):
    conn.send(rawpg.query("copy (select pg_advisory_lock(9113)) to stdout"))
    assert rawpg.types(conn.until()) == "HdcCZ"


def copy_in(conn):
    conn.send(rawpg.query("copy job from stdin"))
    conn.until("G")
    conn.send(rawpg.copy_data(b"9114\n"), rawpg.copy_done())
    assert rawpg.types(conn.until()) == "CZ"


def cancelled(conn):
    conn.send(rawpg.query("select pg_advisory_lock(9116), pg_sleep(30)"))
    wait_until(conn.seen_asleep, what="the query runs")
    conn.cancel()
    assert "E" in rawpg.types(conn.until())


def prepared(conn):
    conn.send(rawpg.parse("mine", "select pg_advisory_lock($1)", [20]),
              rawpg.bind("", "mine", [rawpg.int8(9117)], [1]), rawpg.execute(), rawpg.sync())
    assert rawpg.types(conn.until()) == "12DCZ"


WAYS = {
    "a literal": ("9101", simple("select pg_advisory_lock(9101)")),
    "a function": ("9102", simple("select take(9102)")),
    "a trigger": ("9103", simple("insert into job values (9103)")),
    "a DO block": ("9104", simple("do $$ begin perform pg_advisory_lock(9104); end $$")),
    "a view": ("9105", simple("select got from looking")),
    "a default": ("9106", simple("insert into with_default values (1)")),
    "a deferred trigger at COMMIT": ("9107", simple("begin", "insert into late values (9107)", "commit")),
    "dynamic SQL": ("9108", simple("do $$ begin execute 'select pg_' || 'advisory_lock(9108)'; end $$")),
    "a failed statement": ("9109", failing("select pg_advisory_lock(9109), 1/(select 0)", "22012")),
    "a failed function": ("9110", failing("select take_and_fail(9110)", "P0001")),
    "a pipeline that fails later": ("9111", in_pipeline),
    "FunctionCall": ("9112", by_function_call),
    "COPY OUT": ("9113", copy_out),
    "COPY IN with a trigger": ("9114", copy_in),
    "a failing multi-statement Query": ("9115", failing("select pg_advisory_lock(9115); select 1/0", "22012")),
    "a cancelled query": ("9116", cancelled),
    "a prepared binary parameter": ("9117", prepared),
    "a rolled back transaction": ("9118", simple("begin", "select pg_advisory_lock(9118)", "rollback")),
    "INSERT of its result": ("9119", simple("create temp table if not exists t9119(b bool)",
                                            "insert into t9119 select pg_try_advisory_lock(9119)")),
}
