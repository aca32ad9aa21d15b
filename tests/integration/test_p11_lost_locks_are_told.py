"""P11: a backend that dies with locks takes its client with it, and a `lost` record names them."""
import rawpg
from harness import wait_until
from locklib import ALL_MODES, SHARING_MODES, leak_of


@ALL_MODES
def test_p11_a_killed_backend_ends_its_idle_holder_with_fatal(pg, lk):
    daemon = lk({"default_pool_size": 2})
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(9801)")
    pid = int(conn.simple("select pg_backend_pid()")[0][0])
    pg.one("select pg_terminate_backend(%s)", (pid,))
    messages = conn.until_closed()
    error = rawpg.fields(messages[-1].body)
    assert messages[-1].type == "E" and error["S"] == "FATAL"
    lost = leak_of(daemon, "9801", "lost")
    assert lost["level"] == "error" and lost["backend"]["pid"] == pid
    assert {"client", "backend", "lock", "held_ms"} <= set(lost)
    assert daemon.leaks("leak") == []


@ALL_MODES
def test_p11_a_killed_backend_in_mid_query_ends_its_client(pg, lk):
    daemon = lk({"default_pool_size": 2})
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(9802)")
    conn.send(rawpg.query("select pg_sleep(60)"))
    pid = wait_until(lambda: pg.one("select pid from pg_stat_activity where wait_event = 'PgSleep'"))[0][0]
    pg.one("select pg_terminate_backend(%s)", (pid,))
    messages = conn.until_closed()
    assert "E" in rawpg.types(messages)
    leak_of(daemon, "9802", "lost")
    assert daemon.connect().execute("select 1").fetchone() == (1,)


def test_p11_an_unpinned_idle_backend_may_die_unnoticed(pg, lk):
    daemon = lk({"default_pool_size": 1})
    conn = daemon.connect()
    pid = conn.execute("select pg_backend_pid()").fetchone()[0]
    wait_until(lambda: daemon.pool()["sv_active"] == 0, what="its probe is done")
    pg.one("select pg_terminate_backend(%s)", (pid,))
    wait_until(lambda: pid not in pg.backends(), what="the backend is gone")
    wait_until(lambda: daemon.console("SHOW SERVERS") == [], what="the pooler saw it")
    assert conn.execute("select pg_backend_pid()").fetchone()[0] != pid
    assert daemon.leaks() == []


@SHARING_MODES
def test_p11_every_lock_of_the_backend_is_named(pg, lk, hidden):
    daemon = lk({"default_pool_size": 2})
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(9803)")
    conn.simple("select pg_advisory_lock_shared(98, 4)")
    conn.simple("select take(9805)")
    pid = int(conn.simple("select pg_backend_pid()")[0][0])
    leak_of(daemon, "9805", "hidden")
    pg.one("select pg_terminate_backend(%s)", (pid,))
    conn.until_closed()
    for key in ("9803", "98,4", "9805"):
        leak_of(daemon, key, "lost")
    assert len(daemon.leaks("lost")) == 3


def test_p11_of_more_than_a_hundred_lost_locks_the_rest_is_counted(pg, lk):
    daemon = lk({"default_pool_size": 2})
    conn = daemon.raw()
    assert conn.simple("select count(pg_advisory_lock(k)) from generate_series(980401, 980550) k") == [["150"]]
    daemon.wait_leak(lambda r: r["event"] == "pin")
    pg.one("select pg_terminate_backend(%s)", (int(conn.simple("select pg_backend_pid()")[0][0]),))
    conn.until_closed()
    summary = daemon.wait_leak(lambda r: r["event"] == "leak_summary")
    assert summary["omitted"] == 50 and summary["reason"] == "backend_closed"
    assert len({r["lock"]["key"] for r in daemon.leaks("lost")}) == 100
