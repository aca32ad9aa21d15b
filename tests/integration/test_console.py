"""The console, signals and the command line."""
import os
import re
import signal
import subprocess

import psycopg
import pytest

import rawpg
from harness import run_as, wait_until

COLUMNS = {
    "VERSION": "version",
    "CLIENTS": "type user database replication state addr port local_addr local_port connect_time request_time wait wait_us "
               "close_needed ptr link remote_pid tls application_name prepared_statements id",
    "SERVERS": "type user database replication state addr port local_addr local_port connect_time request_time wait wait_us "
               "close_needed ptr link remote_pid tls application_name prepared_statements id",
    "POOLS": "database user cl_active cl_waiting cl_active_cancel_req cl_waiting_cancel_req sv_active sv_active_cancel "
             "sv_being_canceled sv_idle sv_used sv_tested sv_login maxwait maxwait_us pool_mode load_balance_hosts",
    "DATABASES": "name host port database force_user pool_size min_pool_size reserve_pool_size server_lifetime pool_mode "
                 "load_balance_hosts max_connections current_connections max_client_connections current_client_connections "
                 "paused disabled",
    "STATS": "database total_server_assignment_count total_xact_count total_query_count total_received total_sent "
             "total_xact_time total_query_time total_wait_time total_client_parse_count total_server_parse_count "
             "total_bind_count avg_server_assignment_count avg_xact_count avg_query_count avg_recv avg_sent avg_xact_time "
             "avg_query_time avg_wait_time avg_client_parse_count avg_server_parse_count avg_bind_count",
    "CONFIG": "key value default changeable",
    "STATE": "key value",
}


@pytest.fixture
def daemon(lk):
    return lk({"default_pool_size": 2})


@pytest.mark.parametrize("view", COLUMNS)
def test_show_has_pgbouncers_columns_in_its_order(daemon, view):
    client = daemon.raw()
    client.simple("select 1")
    conn = daemon.console_connection()
    names = [c.name for c in conn.execute("SHOW " + view).description]
    wanted = COLUMNS[view].split()
    assert names[:len(wanted)] == wanted


def test_show_types_are_pgbouncers(daemon):
    conn = daemon.console_connection()
    types = lambda view: {c.name: c.type_code for c in conn.execute("SHOW " + view).description}
    assert types("POOLS")["cl_active"] == 23 and types("POOLS")["database"] == 25
    assert types("STATS")["total_xact_count"] == 1700
    assert types("CLIENTS")["port"] == 23 and types("CLIENTS")["connect_time"] == 25


def test_the_console_answers_to_both_names_and_any_case(daemon):
    for name in ("lockkeeper", "pgbouncer"):
        with daemon.connect(name, user="admin") as conn:
            assert re.match(r"Lockkeeper \d", conn.execute("show Version;").fetchone()[0])


def test_show_version_is_the_programs(daemon):
    said = subprocess.run([daemon.binary, "-V"], capture_output=True, text=True)
    assert said.returncode == 0
    assert daemon.console("SHOW VERSION")[0]["version"].split()[1] in said.stdout


def test_the_console_speaks_the_extended_protocol_too(daemon):
    conn = rawpg.RawConn(daemon.host, daemon.port).login("admin", "lockkeeper")
    conn.send(rawpg.parse("", "SHOW STATE"), rawpg.describe("S"), rawpg.bind(), rawpg.describe("P"), rawpg.execute(), rawpg.sync())
    assert [r[0] for r in conn.rows()] == ["active", "paused", "suspended"]
    with pytest.raises(rawpg.ServerError):
        conn.extended("NONSENSE")
    assert conn.extended("SHOW STATE")[0] == ["active", "yes"]
    conn.close()


def test_who_may_use_the_console(daemon):
    assert daemon.console("SHOW POOLS", user="stats") is not None
    with pytest.raises(psycopg.Error):
        daemon.console("PAUSE", user="stats")
    assert daemon.console("SHOW STATE")[1] == {"key": "paused", "value": "no"}
    with pytest.raises(psycopg.OperationalError):
        daemon.console("SHOW POOLS", user="app")


def test_unknown_commands_are_errors_and_the_console_goes_on(daemon):
    with daemon.console_connection() as conn:
        for command in ("FROBNICATE", "SHOW NONSENSE", "select 1", "SET nonsense = 1"):
            with pytest.raises(psycopg.Error):
                conn.execute(command)
        assert conn.execute("SHOW STATE").fetchone() == ("active", "yes")


def test_show_help_is_a_notice(daemon):
    notes = []
    conn = daemon.console_connection()
    conn.add_notice_handler(lambda d: notes.append((d.message_primary or "") + (d.message_detail or "")))
    conn.execute("SHOW HELP")
    assert "RELOAD" in "".join(notes) and "ADVISORY_LOCKS" in "".join(notes)


def test_show_pools_clients_and_servers_tell_what_is(pg, daemon):
    conn, idle = daemon.raw(application_name="shown"), daemon.raw()
    conn.simple("begin")
    pid = int(conn.simple("select pg_backend_pid()")[0][0])
    pool = daemon.pool()
    assert (pool["cl_active"], pool["cl_waiting"], pool["sv_active"]) == (2, 0, 1)
    clients = [r for r in daemon.console("SHOW CLIENTS") if r["application_name"] == "shown"]
    assert [(r["user"], r["database"], r["state"], r["port"]) for r in clients] == [
        ("app", "app", "active", conn.sock.getsockname()[1])]
    servers = [r for r in daemon.console("SHOW SERVERS") if r["remote_pid"] == pid]
    assert [(r["type"], r["state"], r["port"]) for r in servers] == [("S", "active", pg.port)]
    assert servers[0]["link"] == clients[0]["ptr"] and clients[0]["link"] == servers[0]["ptr"]
    conn.simple("commit")
    wait_until(lambda: daemon.pool()["sv_active"] == 0 and daemon.pool()["sv_idle"] + daemon.pool()["sv_used"] >= 1)
    assert idle.simple("select 1") == [["1"]]


def test_show_databases_and_config_tell_the_settings(pg, daemon):
    row = [r for r in daemon.console("SHOW DATABASES") if r["name"] == "app"][0]
    assert (row["host"], row["port"], row["database"], row["pool_size"]) == ("127.0.0.1", pg.port, "app", 2)
    config = {r["key"]: r for r in daemon.console("SHOW CONFIG")}
    assert config["default_pool_size"] == {"key": "default_pool_size", "value": "2", "default": "20", "changeable": "yes"}
    assert config["advisory_lock_policy"]["value"] == "pin"
    assert config["listen_port"]["changeable"] == "no"


def test_show_stats_counts_transactions_and_queries(daemon):
    conn = daemon.raw()
    for sql in ("begin", "select 1", "commit", "select 2"):
        conn.simple(sql)
    row = [r for r in daemon.console("SHOW STATS") if r["database"] == "app"][0]
    assert (row["total_xact_count"], row["total_query_count"]) == (2, 4)
    assert row["total_received"] > 0 and row["total_sent"] > 0


def test_our_own_probes_and_resets_are_not_counted(daemon):
    conn = daemon.raw()
    for n in range(10):
        conn.simple("select %d" % n)
    row = [r for r in daemon.console("SHOW STATS") if r["database"] == "app"][0]
    assert (row["total_xact_count"], row["total_query_count"]) == (10, 10)


def test_show_leaks_has_the_last_leaks(daemon):
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(7001)")
    conn.close()
    daemon.wait_leak()
    assert [str(r["key"]) for r in daemon.console("SHOW LEAKS")] == ["7001"]


def test_pause_waits_for_transactions_and_resume_lets_go_on(daemon):
    conn, other = daemon.raw(), daemon.raw()
    conn.simple("begin")
    console = daemon.raw_socket()
    console.login("admin", "pgbouncer")
    console.send(rawpg.query("PAUSE"))
    wait_until(lambda: not daemon_active(daemon), what="pausing")
    other.send(rawpg.query("select 2"))
    assert console.quiet(0.2)
    conn.simple("commit")
    assert rawpg.types(console.until()) == "CZ"
    assert other.quiet(0.1)
    assert {r["key"]: r["value"] for r in daemon.console("SHOW STATE")}["paused"] == "yes"
    daemon.console("RESUME")
    assert other.rows() == [["2"]]


def daemon_active(daemon):
    return {r["key"]: r["value"] for r in daemon.console("SHOW STATE")}["active"] == "yes"


def test_pause_and_resume_of_one_database(pg, lk):
    base = {"host": pg.host, "port": pg.port, "dbname": "app"}
    daemon = lk(databases={"app": base, "second": base})
    a, b = daemon.raw(), daemon.raw(database="second")
    daemon.console("PAUSE app")
    a.send(rawpg.query("select 1"))
    assert b.simple("select 1") == [["1"]] and a.quiet(0.1)
    assert {r["name"]: r["paused"] for r in daemon.console("SHOW DATABASES") if r["name"] in ("app", "second")} == {
        "app": 1, "second": 0}
    daemon.console("RESUME app")
    assert a.rows() == [["1"]]
    with pytest.raises(psycopg.Error):
        daemon.console("PAUSE nowhere")


def test_kill_ends_all_clients_of_a_database(pg, daemon):
    conn = daemon.raw()
    conn.simple("begin")
    daemon.console("KILL app")
    assert [m.type for m in conn.until_closed()][-1:] in (["E"], [])
    wait_until(lambda: pg.backends() == [], what="no backend is left")
    daemon.console("RESUME app")
    assert daemon.raw().simple("select 1") == [["1"]]


def test_reload_takes_new_settings_databases_and_users(pg, daemon):
    daemon.write(default_pool_size=7)
    daemon.reload()
    assert {r["key"]: r["value"] for r in daemon.console("SHOW CONFIG")}["default_pool_size"] == "7"
    daemon.databases["fresh"] = {"host": pg.host, "port": pg.port, "dbname": "app2"}
    daemon.userlist["newcomer"] = ""
    daemon.write()
    daemon.signal(signal.SIGHUP)

    def served():
        try:
            return daemon.raw(database="fresh").simple("select current_database()")
        except rawpg.ServerError:
            return None
    assert wait_until(served) == [["app2"]]


def test_a_reload_that_fails_keeps_the_old_settings_and_tells(daemon):
    conn = daemon.raw()
    daemon.write(default_pool_size="many")
    with pytest.raises(psycopg.Error) as e:
        daemon.reload()
    line = next(n for n, l in enumerate(open(daemon.ini), 1) if l.startswith("default_pool_size"))
    assert "conf.ini:%d" % line in str(e.value) + daemon.log
    assert {r["key"]: r["value"] for r in daemon.console("SHOW CONFIG")}["default_pool_size"] == "2"
    assert conn.simple("select 1") == [["1"]]
    daemon.signal(signal.SIGHUP)
    daemon.wait_log(r"conf\.ini:%d" % line)
    assert daemon.raw().simple("select 1") == [["1"]]


def test_reload_of_a_smaller_pool_closes_what_is_too_much(pg, lk):
    daemon = lk({"default_pool_size": 4})
    conns = [daemon.raw() for _ in range(4)]
    for c in conns:
        c.simple("begin")
    for c in conns:
        c.simple("commit")
    assert len(pg.backends()) == 4
    daemon.write(default_pool_size=1)
    daemon.reload()
    for c in conns:
        c.simple("select 1")
    wait_until(lambda: len(pg.backends()) == 1, what="one backend is left")


def test_shutdown_ends_the_program(daemon):
    conn = daemon.raw()
    try:
        daemon.console("SHUTDOWN")
    except psycopg.OperationalError:
        pass
    assert daemon.wait_exit() == 0
    conn.until_closed()


def test_quit_ends_at_once_whoever_is_there(daemon):
    conn = daemon.raw()
    conn.simple("begin")
    daemon.signal(signal.SIGQUIT)
    assert daemon.wait_exit(3) == 0


def test_int_waits_for_servers_and_refuses_new_work(daemon):
    conn, idle = daemon.raw(), daemon.raw()
    conn.simple("begin")
    daemon.signal(signal.SIGINT)
    assert fails_to_connect(daemon)
    assert conn.simple("select 1") == [["1"]]
    conn.simple("commit")
    assert daemon.wait_exit() == 0
    idle.until_closed()


def test_term_waits_for_clients(daemon):
    conn = daemon.raw()
    daemon.signal(signal.SIGTERM)
    assert fails_to_connect(daemon)
    assert conn.simple("select 1") == [["1"]]
    conn.send(rawpg.terminate())
    assert daemon.wait_exit() == 0


def test_a_second_int_ends_at_once(daemon):
    conn = daemon.raw()
    conn.simple("begin")
    daemon.signal(signal.SIGINT)
    assert fails_to_connect(daemon)
    daemon.signal(signal.SIGINT)
    assert daemon.wait_exit(3) == 0


def test_int_with_no_linked_backend_ends_within_a_second(daemon):
    conn = daemon.raw()
    conn.simple("select 1")
    wait_until(lambda: daemon.pool()["sv_active"] == 0)
    daemon.signal(signal.SIGINT)
    assert daemon.wait_exit(2) == 0


def fails_to_connect(daemon):
    def refused():
        try:
            daemon.raw().close()
            return False
        except (OSError, rawpg.ServerError, rawpg.Closed):
            return True
    return wait_until(refused, what="new clients are refused")


def test_usr1_pauses_and_usr2_resumes(daemon):
    conn = daemon.raw()
    conn.simple("select 1")
    wait_until(lambda: daemon.pool()["sv_active"] == 0, what="its probe is done")
    daemon.signal(signal.SIGUSR1)
    wait_until(lambda: not daemon_active(daemon))
    conn.send(rawpg.query("select 5"))
    assert conn.quiet(0.1)
    daemon.signal(signal.SIGUSR2)
    assert conn.rows() == [["5"]]


# -- the command line

def run(daemon, *args):
    return subprocess.run(run_as("KILL") + [daemon.binary] + list(args), capture_output=True, text=True, timeout=20,
                          cwd=daemon.dir)


def test_help_and_version(lk):
    daemon = lk(start=False)
    for flags in (("-h",), ("--help",)):
        out = run(daemon, *flags)
        assert out.returncode == 0 and "CONFIG.ini" in out.stdout
    for flags in (("-V",), ("--version",)):
        assert re.match(r"Lockkeeper \d+\.\d+", run(daemon, *flags).stdout)
    assert run(daemon).returncode != 0
    assert run(daemon, "--nonsense").returncode != 0
    assert run(daemon, os.path.join(daemon.dir, "missing.ini")).returncode != 0


def test_check_of_a_good_file_says_so(lk):
    daemon = lk(start=False)
    assert run(daemon, "check", daemon.ini).returncode == 0


def test_check_tells_every_mistake_with_file_and_line(lk):
    daemon = lk(start=False)
    with open(daemon.ini) as f:
        lines = f.read().splitlines()
    lines += ["no_such_setting = 1", "query_timeout = soon", "advisory_lock_policy = maybe", "pool_mode = never", "[nonsense]"]
    daemon.folder.write(daemon.ini, "\n".join(lines) + "\n")
    out = run(daemon, "check", daemon.ini)
    assert out.returncode != 0
    told = {int(n) for n in re.findall(r"conf\.ini:(\d+)", out.stdout + out.stderr)}
    assert set(range(len(lines) - 4, len(lines) + 1)) <= told
    assert run(daemon, daemon.ini).returncode != 0


def test_a_pgbouncer_ini_is_read_as_it_is(pg, lk):
    daemon = lk(start=False)
    text = open(daemon.ini).read().replace("[lockkeeper]", "[pgbouncer]").replace("leak_log", ";leak_log")
    daemon.folder.write(daemon.ini, text + "server_tls_sslmode = prefer\ndns_max_ttl = 15\nlisten_backlog = 128\n")
    daemon.start()
    assert daemon.raw().simple("select 1") == [["1"]]


def test_settings_without_effect_are_warned_about(lk):
    daemon = lk({"workers": 4})
    assert daemon.raw().simple("select 1") == [["1"]]
    assert re.search(r"(?i)warn.*workers", daemon.log)


def test_a_second_daemon_on_the_same_port_fails_with_the_reason(daemon):
    out = run(daemon, daemon.ini)
    assert out.returncode != 0
    assert str(daemon.port) in out.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_as_root_it_refuses_to_run_without_a_user(lk):
    daemon = lk(start=False)
    out = subprocess.run([daemon.binary, daemon.ini], capture_output=True, text=True, timeout=20)
    assert out.returncode != 0 and "root" in out.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_as_root_it_becomes_the_user_named(lk):
    daemon = lk({"user": "postgres"}, start=False)
    with open(daemon.errfile, "a") as err:
        daemon.process = subprocess.Popen([daemon.binary, "-q", daemon.ini], stdout=err, stderr=err, stdin=subprocess.DEVNULL)
    wait_until(daemon.accepts)
    assert os.stat("/proc/%d" % daemon.pid).st_uid != 0
    assert daemon.raw().simple("select 1") == [["1"]]


def test_daemon_mode_writes_a_pid_and_ends_by_signal(lk):
    daemon = lk(start=False, pidfile=True)
    out = run(daemon, "-q", "-d", daemon.ini)
    assert out.returncode == 0, out.stderr
    pid = int(wait_until(lambda: os.path.exists(daemon.settings["pidfile"]) and open(daemon.settings["pidfile"]).read()))
    try:
        conn = wait_until(lambda: try_raw(daemon))
        assert conn.simple("select 1") == [["1"]]
    finally:
        os.kill(pid, signal.SIGQUIT)
    wait_until(lambda: not os.path.exists("/proc/%d" % pid), what="it ends")
    assert not os.path.exists(daemon.settings["pidfile"])


def try_raw(daemon):
    try:
        return daemon.raw()
    except OSError:
        return None
