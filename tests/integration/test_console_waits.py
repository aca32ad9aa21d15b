"""PAUSE, WAIT_CLOSE and SHUTDOWN name the clients whose locks they wait for; SUSPEND stops all reading."""
import re
import signal

import psycopg
import pytest

import rawpg
from harness import wait_until
from test_pooling import fatal


@pytest.fixture
def daemon(lk):
    return lk({"default_pool_size": 3})


def state(conn):
    return {k: v for k, v in conn.simple("SHOW STATE")}


def console(daemon):
    return daemon.raw("admin", "pgbouncer")


def notice(conn):
    return rawpg.fields(conn.until("N")[-1].body)["M"]


def holder(daemon, key, name="billing"):
    conn = daemon.raw(application_name=name)
    conn.simple("select pg_advisory_lock(%d)" % key)
    return conn


def client_id(daemon, name):
    return next(r["id"] for r in daemon.console("SHOW CLIENTS") if r["application_name"] == name)


def let_go(conn, key):
    assert conn.simple("select pg_advisory_unlock(%d)" % key) == [["t"]]


# -- whose locks are in the way

def test_pause_names_the_holder_it_waits_for_and_ends_when_it_lets_go(daemon):
    conn, admin = holder(daemon, 46100), console(daemon)
    admin.send(rawpg.query("PAUSE"))
    assert notice(admin) == "PAUSE waits for 1 server that session locks keep with its client"
    said = notice(admin)
    assert re.fullmatch(r"client %d app@app \(billing\) holds 46100 since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC"
                        % client_id(daemon, "billing"), said)
    daemon.wait_log("PAUSE waits for 1 server .*; client .* holds 46100 since")
    let_go(conn, 46100)
    assert rawpg.types(admin.until()) == "CZ"
    daemon.console("RESUME")


def test_pause_says_so_when_the_holders_change(daemon):
    conn, other, admin = holder(daemon, 46101), daemon.raw(application_name="second"), console(daemon)
    other.simple("begin")
    admin.send(rawpg.query("PAUSE app"))
    notice(admin)
    assert "holds 46101 since" in notice(admin)
    other.simple("select pg_advisory_lock(46102)")
    other.simple("commit")
    assert notice(admin) == "PAUSE waits for 2 servers that session locks keep with their clients"
    assert "(billing) holds 46101 since" in notice(admin)
    assert "(second) holds 46102 since" in notice(admin)
    let_go(conn, 46101)
    let_go(other, 46102)
    assert rawpg.types(admin.until()) == "CZ"
    daemon.console("RESUME app")


def test_wait_close_names_the_holder_whose_server_is_to_be_closed(daemon):
    conn, admin = holder(daemon, 46103), console(daemon)
    daemon.console("RECONNECT")
    admin.send(rawpg.query("WAIT_CLOSE"))
    assert notice(admin).startswith("WAIT_CLOSE waits for 1 server ")
    assert "holds 46103 since" in notice(admin)
    let_go(conn, 46103)
    assert rawpg.types(admin.until()) == "CZ"


def test_shutdown_that_waits_for_servers_names_the_holder(daemon):
    conn, admin = holder(daemon, 46104), console(daemon)
    admin.send(rawpg.query("SHUTDOWN WAIT_FOR_SERVERS"))
    assert rawpg.types(admin.until()) == "CZ"
    assert notice(admin).startswith("SHUTDOWN waits for 1 server ")
    assert "holds 46104 since" in notice(admin)
    daemon.wait_log("SHUTDOWN waits for 1 server .* holds 46104 since")
    assert daemon.alive()
    let_go(conn, 46104)
    assert daemon.wait_exit() == 0


def test_a_pause_by_signal_logs_the_holder(daemon):
    conn = holder(daemon, 46105)
    daemon.signal(signal.SIGUSR1)
    daemon.wait_log("PAUSE waits for 1 server .* holds 46105 since")
    daemon.signal(signal.SIGUSR2)
    let_go(conn, 46105)


def test_pause_and_resume_are_refused_when_there_is_nothing_to_do(daemon):
    admin = console(daemon)
    for command, message in (("RESUME", "pooler is not paused/suspended"), ("RESUME app", "database app is not paused")):
        with pytest.raises(rawpg.ServerError) as e:
            admin.simple(command)
        assert e.value.message == message
    admin.simple("PAUSE")
    for command in ("PAUSE", "SUSPEND", "KILL"):
        with pytest.raises(rawpg.ServerError) as e:
            admin.simple(command)
        assert e.value.message == "already suspended/paused"
    admin.simple("RESUME")
    assert state(admin)["active"] == "yes"


# -- SUSPEND

def test_suspend_stops_reading_and_resume_goes_on_where_it_was(daemon):
    idle, open_, admin = daemon.raw(), daemon.raw(), console(daemon)
    open_.simple("begin")
    admin.simple("SUSPEND")
    assert state(admin) == {"active": "no", "paused": "no", "suspended": "yes"}
    idle.send(rawpg.query("select 1"))
    open_.send(rawpg.query("select 2"))
    assert idle.quiet(0.3) and open_.quiet(0)
    admin.simple("RESUME")
    assert idle.rows() == [["1"]] and open_.rows() == [["2"]]
    open_.simple("commit")
    assert state(admin)["active"] == "yes"


def test_suspend_keeps_locks_servers_and_the_answer_of_a_running_query(pg, daemon):
    conn, busy, admin = holder(daemon, 46106), daemon.raw(), console(daemon)
    busy.send(rawpg.query("select pg_advisory_lock(46106)"))
    wait_until(lambda: any(not granted for _, _, granted, _, _ in pg.locks()), what="it waits")
    before = sorted(pg.backends())
    admin.simple("SUSPEND")
    conn.send(rawpg.query("select pg_advisory_unlock(46106)"))
    assert conn.quiet(0.3) and busy.quiet(0)
    assert sorted(pg.backends()) == before
    admin.simple("RESUME")
    assert conn.rows() == [["t"]]
    assert rawpg.types(busy.until()) == "TDCZ"
    let_go(busy, 46106)


def test_suspend_lets_new_clients_log_in_and_wait(daemon):
    admin = console(daemon)
    daemon.raw().simple("select 1")
    admin.simple("SUSPEND")
    conn = daemon.raw()
    conn.send(rawpg.query("select 3"))
    assert conn.quiet(0.2)
    daemon.console("RESUME")
    assert conn.rows() == [["3"]]


def test_suspend_closes_who_is_not_silent_in_time(daemon):
    daemon.write(suspend_timeout=1)
    daemon.reload()
    half, whole, admin = daemon.raw(), daemon.raw(), console(daemon)
    message = rawpg.query("select '" + "x" * 1000 + "'")
    half.send(message[:500])
    admin.send(rawpg.query("SUSPEND"))
    error = fatal(half)
    assert (error["S"], error["M"]) == ("FATAL", "suspend_timeout")
    assert rawpg.types(admin.until()) == "CZ"
    whole.send(rawpg.query("select 4"))
    admin.simple("RESUME")
    assert whole.rows() == [["4"]]


def test_a_client_that_ends_its_message_after_suspend_is_silent_then(daemon):
    half, admin = daemon.raw(), console(daemon)
    message = rawpg.query("select 5")
    half.send(message[:7])
    admin.send(rawpg.query("SUSPEND"))
    wait_until(lambda: {r["key"]: r["value"] for r in daemon.console("SHOW STATE")}["suspended"] == "yes")
    half.send(message[7:])
    assert rawpg.types(admin.until()) == "CZ"
    assert half.quiet(0.2)
    admin.simple("RESUME")
    assert half.rows() == [["5"]]


def test_suspend_is_refused_while_a_database_is_paused(daemon):
    daemon.console("PAUSE app")
    with pytest.raises(psycopg.Error) as e:
        daemon.console("SUSPEND")
    assert e.value.diag.message_primary == "cannot suspend with paused databases"
    daemon.console("RESUME app")


def test_a_daemon_that_is_suspended_shuts_down(daemon):
    conn = daemon.raw()
    conn.simple("begin")
    daemon.console("SUSPEND")
    daemon.console("SHUTDOWN")
    assert daemon.wait_exit() == 0
