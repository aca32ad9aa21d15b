"""A statement that fails may have locked all the same: as on a direct connection, its client holds the lock on."""
import random

import pytest

import rawpg
from harness import wait_until
from locklib import held, leak_of, wait_held, wait_unpinned


def state_of(conn, *messages):
    """Sends and reads up to ReadyForQuery; the SQLSTATE of the error that came."""
    conn.send(*messages)
    errors = [rawpg.fields(m.body)["C"] for m in conn.until() if m.type == "E"]
    assert len(errors) == 1
    return errors[0]


def query(sql):
    return lambda conn: state_of(conn, rawpg.query(sql))


def step(sql):
    return [rawpg.parse("", sql), rawpg.bind(), rawpg.execute()]


def extended(*texts):
    return lambda conn: state_of(conn, *[m for t in texts for m in step(t)], rawpg.sync())


def in_transaction(sql):
    def run(conn):
        conn.simple("begin")
        state = state_of(conn, rawpg.query(sql))
        conn.simple("rollback")
        return state
    return run


def at_commit(conn):
    conn.simple("begin")
    conn.simple("insert into fails_late values (18012)")
    return state_of(conn, rawpg.query("commit"))


def at_sync(conn):
    return state_of(conn, *step("insert into fails_late values (18013)"), rawpg.sync())


def by_function_call(conn):
    oid = int(conn.simple("select 'take_and_fail(bigint)'::regprocedure::oid")[0][0])
    return state_of(conn, rawpg.function_call(oid, [rawpg.int8(18014)]))


def copying(conn):
    conn.send(rawpg.query("copy job from stdin"))
    conn.until("G")
    return state_of(conn, rawpg.copy_data(b"18015\n"), rawpg.copy_fail("as planned"))


FAILS_LATE = """
create or replace function lock_then_fail() returns trigger language plpgsql as
    $$ begin perform pg_advisory_lock(new.id); raise exception 'as planned'; end $$;
create table if not exists fails_late(id bigint);
drop trigger if exists late on fails_late;
create constraint trigger late after insert on fails_late deferrable initially deferred
    for each row execute function lock_then_fail();
create or replace function fold_and_fail(k bigint) returns bigint language plpgsql immutable as
    $$ begin perform pg_advisory_lock(k); return 1 / (k - k); end $$;
"""

# What fails, with which SQLSTATE, and the key that is held nevertheless.
FAILURES = {
    "a target behind the call": ("22012", 18001, query("select pg_advisory_lock(18001), 1/(select 0)")),
    "a DO block that raises": ("P0001", 18002, query("do $$ begin perform pg_advisory_lock(18002); raise 'x'; end $$")),
    "a later statement of a Query": ("22012", 18003, query("select pg_advisory_lock(18003); select 1/0")),
    "a later part of a pipeline": ("22012", 18004, extended("select pg_advisory_lock(18004)", "select 1/0")),
    "a later row": ("22012", 18005, query("select case n when 1 then pg_advisory_lock(18005)::text "
                                   "else (1 / (2 - n))::text end from generate_series(1, 2) n")),
    "a function that raises": ("P0001", 18006, query("select take_and_fail(18006)")),
    "a time-out after the call": ("57014", 18007, query("set statement_timeout = 40; "
                                  "select pg_advisory_lock(18007), pg_sleep(9)")),
    "a transaction that is aborted": ("22012", 18008, in_transaction("select pg_advisory_lock(18008), 1/(select 0)")),
    "a row that can not be written": ("23502", 18009, query("create temp table tight(n bool, m int not null); "
                                      "insert into tight select pg_try_advisory_lock(18009), null")),
    "a result that can not be cast": ("22P02", 18010, query("select pg_advisory_lock(18010)::text::int")),
    "planning at Bind": ("22012", 18011, extended("select fold_and_fail(18011)")),
    "COMMIT": ("P0001", 18012, at_commit),
    "Sync": ("P0001", 18013, at_sync),
    "FunctionCall": ("P0001", 18014, by_function_call),
    "COPY that its client gives up": ("57014", 18015, copying),
}


@pytest.fixture
def fails_late(pg, hidden):
    pg.one(FAILS_LATE, dbname="app", user="app")


def backend_of(pg, key):
    return [pid for pid, _, granted, _, held_key in pg.locks() if granted and held_key == str(key)]


@pytest.mark.parametrize("name", FAILURES)
def test_p04_what_failed_holds_its_lock_as_on_a_direct_connection(pg, lk, fails_late, name):
    state, key, run = FAILURES[name]
    direct = rawpg.RawConn(pg.host, pg.port).login("app", "app")
    assert run(direct) == state and held(pg) == ["%d X" % key], "what PostgreSQL does"
    direct.send(rawpg.terminate())
    direct.close()
    wait_held(pg)

    daemon = lk({"default_pool_size": 2})
    other = daemon.raw()
    for given_back in (True, False):
        conn = daemon.raw()
        assert run(conn) == state
        pid = backend_of(pg, key)
        assert len(pid) == 1
        assert conn.simple("select pg_backend_pid()") == [[str(pid[0])]], "it stays with its client"
        assert other.simple("select pg_try_advisory_lock(%d)" % key) == [["f"]]
        if given_back:
            assert conn.simple("select pg_advisory_unlock(%d)" % key) == [["t"]]
            wait_held(pg)
        conn.send(rawpg.terminate())
        conn.close()
        if given_back:
            wait_until(lambda: daemon.pool()["sv_active"] == 0, what="the backend is free again")
            assert daemon.leaks("leak") == []
    leak = leak_of(daemon, str(key))
    assert leak["backend"]["pid"] == pid[0] and leak["reason"] == "client_disconnect"
    wait_held(pg)
    assert pid[0] in pg.backends(), "freed on a backend that lives"
    assert len(daemon.leaks("leak")) == 1


def test_p04_a_deadlocks_victim_holds_on_and_what_it_leaves_is_told(pg, lk):
    daemon = lk({"default_pool_size": 2})
    ends = {18021: daemon.raw(), 18022: daemon.raw()}
    for key, conn in ends.items():
        conn.simple("select pg_advisory_lock(%d)" % key)
    assert held(pg) == ["18021 X", "18022 X"]
    for key, conn in ends.items():
        conn.send(rawpg.query("select pg_advisory_lock(%d)" % (36043 - key)))
    wait_until(lambda: not all(conn.quiet(0) for conn in ends.values()), what="a victim")
    key, victim = next((k, c) for k, c in ends.items() if not c.quiet(0))
    with pytest.raises(rawpg.ServerError) as e:
        victim.rows()
    assert e.value.sqlstate == "40P01"
    assert "%d X" % key in held(pg), "the error has freed nothing"
    victim.send(rawpg.terminate())
    victim.close()
    assert leak_of(daemon, str(key))["reason"] == "client_disconnect"
    survivor = ends[36043 - key]
    assert survivor.rows() == [[""]]
    assert held(pg) == ["18021 X", "18022 X"]
    survivor.simple("select pg_advisory_unlock_all()")
    wait_held(pg)
    assert [r["lock"]["key"] for r in daemon.leaks("leak")] == [str(key)]


HITS = 10


def unlock(conn, key, state):
    """A time-out that fires when its statement is just over is left to PostgreSQL's next one."""
    try:
        return conn.simple("select pg_advisory_unlock(%d)" % key)
    except rawpg.ServerError as e:
        assert e.sqlstate == state
        return conn.simple("select pg_advisory_unlock(%d)" % key)


@pytest.mark.parametrize("setting, state, key", [
    ("lock_timeout", "55P03", 18031), ("statement_timeout", "57014", 18032)])
def test_p06_a_lock_granted_as_the_time_out_fires_is_held_and_the_ledger_knows(pg, lk, setting, state, key):
    """The holder lets go at about the moment of the time-out: too early, and the call succeeds; too late, and it fails
    without the lock; between the two it fails with it. The delay follows what came of the last try."""
    daemon = lk({"default_pool_size": 1, "leak_log_events": "pin,unpin,hidden,leak"})
    conn = daemon.raw()
    holder = rawpg.RawConn(pg.host, pg.port).login("app", "app")
    call = rawpg.query("set local %s = 6; select pg_advisory_lock(%d)" % (setting, key))
    pid, delay, chance = int(conn.simple("select pg_backend_pid()")[0][0]), 6.0, random.Random(7)
    hits = pins = 0
    while hits < HITS:
        holder.simple("select pg_advisory_lock(%d)" % key)
        conn.send(call)
        holder.send(rawpg.query("select pg_advisory_unlock(%d) from pg_sleep(%.6f)" % (key, delay / 1000)))
        failed = [rawpg.fields(m.body)["C"] for m in conn.until() if m.type == "E"]
        assert holder.rows() == [["t"]]
        holds = backend_of(pg, key) == [pid]
        assert failed in ([], [state]) and (failed or holds)
        delay += chance.uniform(0, 0.2) * (-1 if failed and not holds else 1 if not failed else 0)
        hits += bool(failed and holds)
        if holds:
            pins += 1
            wait_until(lambda: len(daemon.leaks("pin")) == pins, what="the ledger knows")
            assert daemon.leaks("pin")[-1]["lock"]["key"] == str(key)
            assert unlock(conn, key, state) == [["t"]]
            wait_until(lambda: len(daemon.leaks("unpin")) == pins, what="the ledger knows that it is gone")
    wait_unpinned(daemon)
    assert held(pg) == [] and daemon.leaks("hidden") == daemon.leaks("leak") == []


def test_p03_a_table_of_locks_that_is_full_is_told_within_bounds(pg, lk):
    daemon = lk({"default_pool_size": 1})
    conn = daemon.raw()
    with pytest.raises(rawpg.ServerError) as e:
        conn.simple("select count(pg_advisory_lock(18100 + n)) from generate_series(1, 1000000) n")
    assert e.value.sqlstate == "53200"
    taken = pg.one("select count(*) from pg_locks where locktype = 'advisory'")[0][0]
    assert taken > 1000, "what was taken before the error is held"
    conn.send(rawpg.terminate())
    conn.close()
    summary = daemon.wait_leak(lambda r: r["event"] == "leak_summary")
    wait_held(pg)
    assert len(daemon.leaks("leak")) == 100 and summary["omitted"] == taken - 100
