"""SET, DISABLE, ENABLE, KILL_CLIENT, WAIT_CLOSE, SUSPEND, and the views that few look at."""
import psycopg
import pytest

import rawpg
from harness import wait_until
from test_pooling import fatal

ENDS = "type user database replication state addr port local_addr local_port connect_time request_time wait wait_us " \
       "close_needed ptr link remote_pid tls application_name prepared_statements id recv_pos pkt_pos pkt_remain send_pos " \
       "send_remain pkt_avail send_avail"
COLUMNS = {
    "SOCKETS": ENDS,
    "ACTIVE_SOCKETS": ENDS,
    "FDS": "fd task user database addr port cancel link client_encoding std_strings datestyle timezone password "
           "scram_client_key scram_server_key",
    "DNS_HOSTS": "hostname ttl addrs",
    "DNS_ZONES": "zonename serial count",
    "PEERS": "peer_id host port pool_size",
    "PEER_POOLS": "peer_id cl_active_cancel_req cl_waiting_cancel_req sv_active_cancel sv_login",
}


@pytest.fixture
def daemon(lk):
    return lk({"default_pool_size": 2})


def refusal(daemon, **kw):
    with pytest.raises(rawpg.ServerError) as e:
        daemon.raw(**kw)
    return e.value.sqlstate, e.value.message


def console_error(daemon, command):
    conn = daemon.raw("admin", "pgbouncer")
    with pytest.raises(rawpg.ServerError) as e:
        conn.simple(command)
    assert conn.simple("SHOW STATE")[0] == ["active", "yes"]
    return e.value.sqlstate, e.value.message


def config(daemon, key):
    return {r["key"]: r["value"] for r in daemon.console("SHOW CONFIG")}[key]


def client_id(daemon, name):
    return next(r["id"] for r in daemon.console("SHOW CLIENTS") if r["application_name"] == name)


@pytest.mark.parametrize("view", COLUMNS)
def test_show_has_pgbouncers_columns_in_its_order(daemon, view):
    conn = daemon.console_connection()
    assert [c.name for c in conn.execute("SHOW " + view).description] == COLUMNS[view].split()


def test_show_sockets_has_clients_and_servers_and_active_ones_are_at_work(daemon):
    idle, busy = daemon.raw(application_name="idle"), daemon.raw(application_name="busy")
    idle.simple("select 1")
    busy.send(rawpg.query("select pg_sleep(60)"))

    def at_work():
        rows = daemon.console("SHOW ACTIVE_SOCKETS")
        return {(r["type"], r["application_name"]) for r in rows if r["database"] == "app"} == {("C", "busy"), ("S", "busy")}
    wait_until(at_work)
    rows = [r for r in daemon.console("SHOW SOCKETS") if r["database"] == "app"]
    assert sorted(r["application_name"] for r in rows if r["type"] == "C") == ["busy", "idle"]
    assert len([r for r in rows if r["type"] == "S"]) >= 1


def test_show_dns_hosts_has_the_names_that_were_looked_up(pg, lk):
    base = {"port": pg.port, "dbname": "app"}
    daemon = lk({"dns_max_ttl": 100}, databases={"app": dict(base, host="localhost"), "direct": dict(base, host=pg.host)},
                extra="[peers]\n7 = host=10.0.0.6 port=6432\n")
    assert daemon.console("SHOW DNS_HOSTS") == []
    for database in ("app", "direct"):
        daemon.raw(database=database).simple("select 1")
    row, = daemon.console("SHOW DNS_HOSTS")
    assert row["hostname"] == "localhost" and 0 < row["ttl"] <= 100
    assert set(row["addrs"].split(",")) & {"127.0.0.1", "::1"}
    assert daemon.console("SHOW DNS_ZONES") == []
    lists = {r["list"]: r["items"] for r in daemon.console("SHOW LISTS")}
    assert (lists["dns_names"], lists["dns_zones"], lists["peers"]) == (1, 0, 1)
    assert daemon.console("SHOW PEERS") == [{"peer_id": 7, "host": "10.0.0.6", "port": 6432, "pool_size": 5}]
    assert [r["peer_id"] for r in daemon.console("SHOW PEER_POOLS")] == [7]


# -- SET

def test_set_takes_effect_at_once_and_until_the_next_reload(daemon):
    conn = daemon.raw()
    assert daemon.console("SET query_timeout = '1'") == "SET query_timeout=1"
    assert config(daemon, "query_timeout") == "1"
    conn.send(rawpg.query("select pg_sleep(60)"))
    assert fatal(conn)["M"] == "query_timeout"
    assert daemon.console("SET default_pool_size TO 7;") == "SET default_pool_size=7"
    assert config(daemon, "default_pool_size") == "7"
    daemon.reload()
    assert (config(daemon, "query_timeout"), config(daemon, "default_pool_size")) == ("0", "2")


def test_set_says_why_it_does_not(daemon):
    assert console_error(daemon, "SET nonsense = 1") == ("22023", "no such setting: nonsense")
    assert console_error(daemon, "SET pool_mod = session")[1].endswith("did you mean pool_mode?")
    assert "must be one of session" in console_error(daemon, "SET pool_mode = weird")[1]
    assert console_error(daemon, "SET listen_port = 3") == ("22023", "changing listen_port takes a restart")
    assert "cannot be read" in console_error(daemon, "SET auth_file = '/nowhere/users'")[1]
    assert console_error(daemon, "SET auth_type = hba")[1] == "auth_hba_file must be set when auth_type is hba"
    assert console_error(daemon, "SET pool_mode")[0] == "42601"
    assert config(daemon, "pool_mode") == "transaction"
    assert daemon.raw().simple("select 1") == [["1"]]


def test_set_of_what_has_no_effect_yet_warns(daemon):
    notes = []
    with daemon.console_connection() as conn:
        conn.add_notice_handler(lambda d: notes.append((d.severity, d.message_primary)))
        assert conn.execute("SET sbuf_loopcnt = 9").statusmessage == "SET sbuf_loopcnt=9"
    assert notes == [("WARNING", "this setting has no effect in this version")]


def test_set_of_a_mode_changes_pools_that_are_there(daemon):
    conn = daemon.raw()
    conn.simple("select 1")
    daemon.console("SET pool_mode = statement")
    wait_until(lambda: daemon.pool()["pool_mode"] == "statement")
    conn.send(rawpg.query("begin"))
    assert "transaction blocks not allowed" in fatal(conn)["M"]


# -- DISABLE, ENABLE

def test_disable_refuses_who_comes_and_spares_who_is_in(daemon):
    conn = daemon.raw()
    assert daemon.console("DISABLE app") == "DISABLE"
    assert refusal(daemon) == ("08P01", 'database "app" is disabled')
    assert conn.simple("select 1") == [["1"]]
    row = [r for r in daemon.console("SHOW DATABASES") if r["name"] == "app"][0]
    assert (row["disabled"], row["paused"]) == (1, 0)
    daemon.reload()
    assert refusal(daemon)[1] == 'database "app" is disabled'
    assert daemon.console("ENABLE app") == "ENABLE"
    assert daemon.raw().simple("select 1") == [["1"]]
    assert [r["disabled"] for r in daemon.console("SHOW DATABASES") if r["name"] == "app"] == [0]


def test_disable_takes_a_database_that_there_is(daemon):
    for command in ("DISABLE", "ENABLE"):
        assert console_error(daemon, command) == ("08P01", "a database is required")
        assert console_error(daemon, command + " nowhere") == ("3D000", "no such database: nowhere")
        assert console_error(daemon, command + " pgbouncer")[0] == "0A000"


# -- KILL_CLIENT

def test_kill_client_ends_that_client_and_no_other(pg, daemon):
    conn, other = daemon.raw(application_name="doomed"), daemon.raw()
    conn.simple("begin")
    conn.simple("create table kc (id int)")
    assert daemon.console("KILL_CLIENT %d" % client_id(daemon, "doomed")) == "KILL_CLIENT"
    error = fatal(conn)
    assert (error["S"], error["C"], error["M"]) == ("FATAL", "57P01", "admin forced disconnect")
    assert other.simple("select 1") == [["1"]]
    assert other.simple("select to_regclass('kc')") == [[None]]


def test_kill_client_reaches_one_that_waits_and_one_that_runs(pg, lk):
    daemon = lk({"default_pool_size": 1})
    busy, waiting = daemon.raw(application_name="busy"), daemon.raw(application_name="waiting")
    busy.send(rawpg.query("select pg_sleep(60)"))
    wait_until(lambda: daemon.pool()["sv_active"] == 1)
    waiting.send(rawpg.query("select 1"))
    wait_until(lambda: daemon.pool()["cl_waiting"] == 1)
    for name, conn in (("waiting", waiting), ("busy", busy)):
        daemon.console("KILL_CLIENT %d" % client_id(daemon, name))
        assert fatal(conn)["M"] == "admin forced disconnect"
    wait_until(lambda: not pg.one("select 1 from pg_stat_activity where wait_event = 'PgSleep'"),
               what="it no longer runs")
    assert daemon.raw().simple("select 1") == [["1"]]


def test_kill_client_tells_what_a_killed_holder_leaves(pg, daemon):
    conn = daemon.raw(application_name="holder")
    conn.simple("select pg_advisory_lock(8282)")
    daemon.console("KILL_CLIENT %d" % client_id(daemon, "holder"))
    assert fatal(conn)["C"] == "57P01"
    leak = daemon.wait_leak()
    assert (leak["lock"]["key"], leak["reason"]) == ("8282", "admin")
    wait_until(lambda: pg.locks() == [])


def test_kill_client_of_nobody_is_an_error(daemon):
    assert console_error(daemon, "KILL_CLIENT 123456") == ("22023", "no such client: 123456")
    assert console_error(daemon, "KILL_CLIENT app")[0] == "42601"
    assert console_error(daemon, "KILL_CLIENT")[0] == "42601"


def test_who_kills_itself_is_gone(daemon):
    conn = daemon.raw("admin", "pgbouncer", application_name="self")
    conn.send(rawpg.query("KILL_CLIENT %d" % client_id(daemon, "self")))
    assert fatal(conn)["C"] == "57P01"
    assert daemon.console("SHOW VERSION")


# -- WAIT_CLOSE, SUSPEND

def test_wait_close_waits_for_servers_that_are_to_be_closed(pg, daemon):
    conn = daemon.raw()
    conn.simple("begin")
    old = pg.backends()
    assert daemon.console("WAIT_CLOSE") == "WAIT_CLOSE"
    daemon.console("RECONNECT")
    console = daemon.raw("admin", "pgbouncer")
    console.send(rawpg.query("WAIT_CLOSE app"))
    assert console.quiet(0.3)
    assert [r["close_needed"] for r in daemon.console("SHOW SERVERS")] == [1]
    conn.simple("commit")
    assert rawpg.types(console.until()) == "CZ"
    wait_until(lambda: not set(old) & set(pg.backends()))
    assert console_error(daemon, "WAIT_CLOSE nowhere") == ("3D000", "no such database: nowhere")


def test_stats_users_may_use_none_of_them(daemon):
    for command in ("SET verbose = 1", "DISABLE app", "ENABLE app", "KILL_CLIENT 1", "WAIT_CLOSE", "SUSPEND"):
        with pytest.raises(psycopg.Error) as e:
            daemon.console(command, user="stats")
        assert e.value.sqlstate == "42501"
