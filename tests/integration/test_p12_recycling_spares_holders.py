"""P12: recycling never takes a pinned backend from its client; KILL and SHUTDOWN do, with FATAL and `lost`."""
import signal

import pytest

import rawpg
from harness import wait_until
from locklib import ALL_MODES, SHARING_MODES, held, leak_of


@SHARING_MODES
@pytest.mark.parametrize("setting", ["server_lifetime", "server_idle_timeout"])
def test_p12_recycling_closes_idle_backends_but_not_the_holders(pg, lk, setting):
    daemon = lk({"default_pool_size": 2, setting: 1})
    holder, other = daemon.raw(), daemon.raw()
    pid = holder.simple("select pg_backend_pid() from pg_advisory_lock(9901)")[0][0]
    before = other.simple("select pg_backend_pid()")[0][0]
    assert before != pid
    wait_until(lambda: int(before) not in pg.backends(), what="the idle backend is recycled")
    wait_until(lambda: pg.one("select 1 from pg_stat_activity where pid = %s and now() - backend_start > '2 s'", (int(pid),)),
               what="the holder's backend is older than the limit")
    assert held(pg) == ["9901 X"]
    assert holder.simple("select pg_backend_pid()") == [[pid]]
    assert holder.simple("select pg_advisory_unlock(9901)") == [["t"]]
    wait_until(lambda: int(pid) not in pg.backends(), what="unpinned, it is recycled too")


@SHARING_MODES
def test_p12_reconnect_spares_the_holder_until_it_unlocks(pg, lk):
    daemon = lk({"default_pool_size": 2})
    holder = daemon.raw()
    pid = holder.simple("select pg_backend_pid() from pg_advisory_lock(9904)")[0][0]
    daemon.console("RECONNECT app")
    assert holder.simple("select pg_backend_pid()") == [[pid]]
    assert held(pg) == ["9904 X"]
    assert holder.simple("select pg_advisory_unlock(9904)") == [["t"]]
    wait_until(lambda: int(pid) not in pg.backends(), what="unpinned, it is closed")


@ALL_MODES
def test_p12_a_holder_that_idles_beyond_its_own_limit_leaves_a_leak_that_says_so(pg, lk):
    daemon = lk({"default_pool_size": 2, "client_idle_timeout": 1})
    holder = daemon.raw()
    holder.simple("select pg_advisory_lock(9905)")
    error = [rawpg.fields(m.body) for m in holder.until_closed() if m.type == "E"][-1]
    assert (error["S"], error["M"]) == ("FATAL", "client_idle_timeout")
    assert leak_of(daemon, "9905")["reason"] == "timeout"
    wait_until(lambda: held(pg) == [])


@ALL_MODES
def test_p12_kill_ends_the_holder_with_fatal_and_lost(pg, lk):
    daemon = lk({"default_pool_size": 2})
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(9902)")
    daemon.console("KILL app")
    error = [rawpg.fields(m.body) for m in conn.until_closed() if m.type == "E"][-1]
    assert error["S"] == "FATAL"
    leak_of(daemon, "9902", "lost")
    wait_until(lambda: held(pg) == [])
    daemon.console("RESUME app")


@ALL_MODES
def test_p12_shutdown_tells_what_was_held(pg, lk):
    daemon = lk({"default_pool_size": 2})
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(9903)")
    daemon.signal(signal.SIGQUIT)
    assert daemon.wait_exit() == 0
    assert [r["lock"]["key"] for r in daemon.leaks("lost") + daemon.leaks("leak")] == ["9903"]
    wait_until(lambda: held(pg) == [])
