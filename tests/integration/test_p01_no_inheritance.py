"""P1: no client is given a backend on which a session lock of an earlier client is held."""
import signal
import subprocess

import pytest

import rawpg
from harness import wait_until
from locklib import WAYS, held, leak_of, wait_held, wait_unpinned

OWN_LOCKS = "select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()"


def take(pg, daemon, way):
    key, run = WAYS[way]
    conn = daemon.raw()
    conn.seen_asleep = lambda: pg.one("select 1 from pg_stat_activity where wait_event = 'PgSleep' and datname = 'app'")
    run(conn)
    return key, conn


@pytest.mark.parametrize("way", WAYS)
def test_p01_a_lock_is_kept_while_its_client_lives_then_gone_and_told(pg, lk, hidden, way):
    daemon = lk({"default_pool_size": 1})
    key, conn = take(pg, daemon, way)
    assert held(pg) == [key + " X"]
    conn.simple("select 1")
    conn.simple("select 2")
    assert held(pg) == [key + " X"], "kept over the client's next transactions"
    conn.send(rawpg.terminate())
    conn.close()
    leak = leak_of(daemon, key)
    assert leak["reason"] == "client_disconnect"
    wait_held(pg)
    assert daemon.connect().execute(OWN_LOCKS).fetchone() == (0,)
    assert len(daemon.leaks("leak")) == 1


TRUSTED_AT_ONCE = {"advisory_trust_after": 0}


# A function's lock under trust at once is cleared by the reset, not kept and not told: test_trust shows that.
@pytest.mark.parametrize("settings, way", [
    (settings, way)
    for settings in [{"pool_mode": "statement"}, {"pool_mode": "session"}, {"pool_mode": "session", "server_reset_query": ""},
                     {"advisory_unlock_all": "tracked"}, {"advisory_lock_policy": "release"}, TRUSTED_AT_ONCE]
    for way in ["a literal", "a function", "a failed statement", "FunctionCall"]
    if (settings, way) != (TRUSTED_AT_ONCE, "a function")])
def test_p01_holds_in_every_mode_and_policy(pg, lk, hidden, settings, way):
    daemon = lk(dict({"default_pool_size": 1}, **settings))
    key, conn = take(pg, daemon, way)
    conn.send(rawpg.terminate())
    conn.close()
    assert daemon.connect().execute(OWN_LOCKS).fetchone() == (0,)
    leak_of(daemon, key)
    wait_held(pg)


def test_p01_a_client_that_resets_its_connection_leaves_nothing(pg, lk):
    daemon = lk({"default_pool_size": 1})
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(9130)")
    conn.reset()
    assert daemon.connect().execute(OWN_LOCKS).fetchone() == (0,)
    assert leak_of(daemon, "9130")["reason"] == "client_abort"


def test_p01_a_client_that_leaves_inside_a_transaction_leaves_nothing(pg, lk):
    daemon = lk({"default_pool_size": 1})
    conn = daemon.raw()
    conn.simple("begin")
    conn.simple("select pg_advisory_lock(9131), pg_advisory_xact_lock(9132)")
    conn.close()
    assert daemon.connect().execute(OWN_LOCKS).fetchone() == (0,)
    leak_of(daemon, "9131")
    assert [r["lock"]["key"] for r in daemon.leaks("leak")] == ["9131"], "an xact lock is no leak"


def test_p01_a_client_that_leaves_in_an_aborted_transaction_leaves_nothing(pg, lk):
    daemon = lk({"default_pool_size": 1})
    conn = daemon.raw()
    conn.simple("begin")
    conn.simple("select pg_advisory_lock(9133)")
    with pytest.raises(rawpg.ServerError):
        conn.simple("select 1/0")
    conn.close()
    assert daemon.connect().execute(OWN_LOCKS).fetchone() == (0,)
    leak_of(daemon, "9133")


def test_p01_psql_killed_in_mid_query_leaves_nothing_and_the_backend_is_used_again(pg, lk):
    daemon = lk({"default_pool_size": 1, "cancel_wait_timeout": 5})
    psql = subprocess.Popen(["psql", "-qX", daemon.dsn(), "-c", "select pg_advisory_lock(9134)", "-c", "select pg_sleep(60)"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    asleep = "select pid from pg_stat_activity where wait_event = 'PgSleep' and datname = 'app'"
    pid = wait_until(lambda: pg.one(asleep), what="psql sleeps")[0][0]
    psql.send_signal(signal.SIGKILL)
    psql.wait()
    with daemon.connect() as conn:
        assert conn.execute(OWN_LOCKS).fetchone() == (0,)
        assert conn.execute("select pg_backend_pid()").fetchone() == (pid,)
    assert leak_of(daemon, "9134")["reason"] == "client_abort"


def test_p01_a_client_that_dies_while_it_waits_for_a_lock_does_not_get_it_later(pg, lk):
    daemon = lk({"default_pool_size": 2, "cancel_wait_timeout": 5})
    with pg.connect() as holder:
        holder.execute("select pg_advisory_lock(9135)")
        waiter = daemon.raw()
        waiter.send(rawpg.query("select pg_advisory_lock(9135)"))
        wait_until(lambda: any(not r[2] for r in pg.locks()), what="a waiter")
        waiter.reset()
        wait_until(lambda: all(r[2] for r in pg.locks()), what="no waiter")
        holder.execute("select pg_advisory_unlock(9135)")
        assert held(pg) == []


def test_p01_a_client_that_dies_inside_a_frame_costs_the_backend_but_not_the_lock(pg, lk):
    daemon = lk({"default_pool_size": 1})
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(9136)")
    pid = conn.simple("select pg_backend_pid()")[0][0]
    half = rawpg.query("select '" + "x" * 300000 + "'")
    conn.send(half[:200000])
    conn.reset()
    wait_held(pg)
    leak_of(daemon, "9136")
    with daemon.connect() as other:
        assert other.execute(OWN_LOCKS).fetchone() == (0,)
    assert pid


def test_p01_many_clients_in_turn_never_find_a_lock(pg, lk, hidden):
    daemon = lk({"default_pool_size": 2})
    for n in range(30):
        conn = daemon.raw()
        assert conn.simple(OWN_LOCKS) == [["0"]]
        conn.simple("select %s(%d)" % (("take", "pg_advisory_lock")[n % 2], 9200 + n))
        conn.close()
    wait_until(lambda: len(daemon.leaks("leak")) == 30, what="30 records")
    assert sorted(int(r["lock"]["key"]) for r in daemon.leaks("leak")) == list(range(9200, 9230))
    wait_held(pg)
    wait_unpinned(daemon)
