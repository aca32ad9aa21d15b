"""P13: pinned backends and those that wait in a lock call fill a pool. Who waits is told, and there are limits."""
import pytest

import rawpg
from harness import wait_until
from locklib import ALL_MODES, SHARING_MODES, held, leak_of, wait_held, wait_unpinned


def sqlstate(conn, *messages):
    conn.send(*messages)
    got = conn.until()
    return [rawpg.fields(m.body)["C"] for m in got if m.type == "E"]


def waits_in_call(pg, key, count=1):
    wait_until(lambda: sum(k == key and not granted for _, _, granted, _, k in pg.locks()) == count,
               what="%d calls wait for %s" % (count, key))


@SHARING_MODES
def test_p13_who_times_out_is_told_how_many_are_pinned_and_wait_and_who_holds_the_longest(pg, lk):
    daemon = lk({"default_pool_size": 2, "query_wait_timeout": 1})
    holder, waiter = daemon.raw(application_name="billing"), daemon.raw()
    holder.simple("select pg_advisory_lock(9131)")
    waiter.send(rawpg.query("select pg_advisory_lock(9131)"))
    waits_in_call(pg, "9131")
    third = daemon.raw()
    third.send(rawpg.query("select 1"))
    detail = rawpg.fields(third.until("E")[-1].body)["D"]
    assert detail.startswith("1 of the pool's 2 servers are pinned by session locks, 1 wait for locks; the oldest holder is client ")
    assert "(billing), with lock 9131 for " in detail


def test_p13_pins_full_is_recorded_once_for_each_rise_to_half_of_the_pool(pg, lk):
    daemon = lk({"default_pool_size": 4})
    first, second, third = daemon.raw(application_name="first"), daemon.raw(), daemon.raw()
    first.simple("select pg_advisory_lock(9132)")
    second.simple("select pg_advisory_lock(9133)")
    third.simple("select pg_advisory_lock(9134)")
    leak_of(daemon, "9134", "pin")
    record, = daemon.leaks("pins_full")
    assert (record["level"], record["pinned"], record["waiting"], record["pool_size"]) == ("warning", 2, 0, 4)
    assert record["holder"]["client"]["application_name"] == "first" and record["lock"]["key"] == "9132"
    for conn in (second, third):
        conn.simple("select pg_advisory_unlock_all()")
    second.simple("select pg_advisory_lock(9135)")
    wait_until(lambda: len(daemon.leaks("pins_full")) == 2, what="the second rise is told")


@ALL_MODES
def test_p13_a_pinned_client_that_idles_too_long_is_closed_and_its_locks_are_freed(pg, lk):
    daemon = lk({"default_pool_size": 1, "advisory_pin_timeout": "1"})
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(9136)")
    error = rawpg.fields(conn.until("E")[-1].body)
    assert (error["S"], error["C"]) == ("FATAL", "57P05")
    assert leak_of(daemon, "9136", "pin_timeout")["level"] == "warning"
    record = leak_of(daemon, "9136")
    assert (record["reason"], record["action"]) == ("pin_timeout", "unlock_all")
    wait_held(pg)
    wait_unpinned(daemon)


def test_p13_a_user_may_have_a_time_out_of_its_own(pg, lk):
    daemon = lk({"default_pool_size": 1}, users={"other": "advisory_pin_timeout=1"})
    kept, closed = daemon.raw(), daemon.raw("other")
    kept.simple("select pg_advisory_lock(9137)")
    closed.simple("select pg_advisory_lock(9138)")
    assert rawpg.fields(closed.until("E")[-1].body)["C"] == "57P05"
    wait_held(pg, "9137 X")


def test_p13_who_idles_with_a_lock_is_recorded_once(pg, lk):
    daemon = lk({"advisory_idle_hold_log": "1"})
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(9139)")
    record = leak_of(daemon, "9139", "idle_hold")
    assert record["level"] == "notice" and record["held_ms"] >= 1000 and record["query"] == "select pg_advisory_lock($1)"
    conn.simple("select pg_advisory_lock(9140)")
    leak_of(daemon, "9140", "idle_hold")
    assert len(daemon.leaks("idle_hold")) == 2


@pytest.mark.parametrize("messages", [
    [rawpg.query("select pg_advisory_lock(9142)")],
    [rawpg.parse("", "select pg_try_advisory_lock($1)"), rawpg.bind(params=["9142"]), rawpg.execute(), rawpg.sync()],
    [rawpg.function_call(2880, [rawpg.int8(9142)])],
    [rawpg.query("with l as (select pg_advisory_lock(9142)) select * from l")],
], ids=["simple", "extended", "function call", "in a larger statement"])
def test_p13_beyond_the_limit_of_pins_a_call_is_refused_cleanly(pg, lk, messages):
    daemon = lk({"default_pool_size": 5, "advisory_max_pins": 1})
    first, second = daemon.raw(), daemon.raw()
    first.simple("select pg_advisory_lock(9141)")
    assert sqlstate(second, *messages) == ["53300"]
    assert second.simple("select 1") == [["1"]] and held(pg) == ["9141 X"]
    assert sqlstate(first, rawpg.query("select pg_advisory_lock(9143)")) == [], "who is pinned may lock more"
    first.simple("select pg_advisory_unlock_all()")
    assert sqlstate(second, *messages) == []
    assert held(pg) == ["9142 X"]


@SHARING_MODES
def test_p13_beyond_the_limit_of_waits_a_call_is_refused_so_that_the_pool_is_not_filled(pg, lk):
    daemon = lk({"default_pool_size": 5}, databases={"app": {"host": pg.host, "port": pg.port, "dbname": "app",
                                                             "advisory_max_waits": "2"}})
    holder = daemon.raw()
    holder.simple("select pg_advisory_lock(9144)")
    waiters = [daemon.raw() for _ in range(8)]
    for conn in waiters:
        conn.send(rawpg.query("select pg_advisory_lock(9144)"))
    waits_in_call(pg, "9144", 2)
    refused = [conn for conn in waiters if not conn.quiet(1)]
    assert len(refused) == 6
    for conn in refused:
        assert [rawpg.fields(m.body)["C"] for m in conn.until() if m.type == "E"] == ["53300"]
    assert refused[0].simple("select pg_try_advisory_lock(9144)") == [["f"]], "a try does not wait"
    holder.simple("select pg_advisory_unlock(9144)")
    first = [conn for conn in waiters if conn not in refused]
    wait_until(lambda: any(not conn.quiet(0) for conn in first), what="one of those that waited has the lock")
    assert daemon.raw("other").simple("select 1") == [["1"]]
