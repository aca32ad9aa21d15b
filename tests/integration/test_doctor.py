"""lockkeeper doctor: what it finds at PostgreSQL and through the running Lockkeeper, and what mends it."""
import hashlib
import json
import os
import subprocess

import pytest

from harness import free_port

KEY = "7812448408176979826"


@pytest.fixture(scope="module")
def sick(pg):
    """A database, its roles, and nothing in it; what a test adds it takes away with its connection."""
    pg.one("create role doctored login")
    pg.one("create database doctored owner doctored")
    yield {"doctored": {"host": pg.host, "port": pg.port, "dbname": "doctored"}}
    pg.end_backends()
    pg.one("drop database doctored with (force)")
    pg.one("drop role doctored")


@pytest.fixture
def proxy(lk, sick):
    """A daemon that knows the client doctored."""
    def make(settings=None, databases=sick, **kw):
        return lk(settings, databases=databases, userlist={"doctored": ""}, **kw)
    return make


@pytest.fixture
def doctor(binary):
    """doctor(daemon, *options): what it says, a (level, database, what, mend) for each finding. `status` is checked."""
    def run(daemon, *options, status=0, env=None, text=False):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
        more = () if text else ("--json",)
        result = subprocess.run([binary, "doctor", *more, *options, daemon.ini], capture_output=True, timeout=50,
                                env=dict(clean, PGPASSFILE="/nowhere", **(env or {})), stdin=subprocess.DEVNULL)
        out = result.stdout.decode()
        assert result.returncode == status, out + result.stderr.decode()
        if text:
            return out
        findings = [json.loads(line) for line in out.splitlines()]
        return [(f["level"], f["database"], f["what"], f["mend"] or "") for f in findings]
    return run


def has(findings, level, what, mend="", database="doctored"):
    return any(f[0] == level and f[1] == database and what in f[2] and mend in f[3] for f in findings)


def wrong(findings):
    return [f for f in findings if f[0] != "ok"]


def test_a_sound_database_has_nothing_to_mend(proxy, sick, doctor, pg):
    daemon = proxy()
    findings = doctor(daemon, "--user=doctored")
    assert wrong(findings) == []
    for what in ("doctored logs in directly, at 127.0.0.1 port %d (PostgreSQL " % pg.port,
                 "doctored logs in through Lockkeeper, at 127.0.0.1 port %d" % daemon.port,
                 "pg_advisory_unlock_all runs as a FunctionCall", "pg_locks shows the locks of a session",
                 "no other function has the name of a lock function", "catalogue: no function, view or table",
                 "no setting of the server ends sessions or lock calls early", "may open 5 connections",
                 "a FunctionCall gets through Lockkeeper", "a lock keeps another client out",
                 "a lock stays with its client from one transaction to the next",
                 "nothing is left of a lock when its client has given it back"):
        assert has(findings, "ok", what), what
    assert all(f[3] == "" for f in findings)


def test_the_doctor_leaves_neither_locks_nor_leaks(proxy, sick, doctor, pg):
    daemon = proxy()
    doctor(daemon, "--user=doctored")
    assert pg.locks("doctored") == []
    assert daemon.leaks("leak") == []
    pins = daemon.leaks("pin")
    assert {r["lock"]["key"] for r in pins} == {KEY}
    assert {r["lock"]["name"] for r in pins} == {"lockkeeper doctor"}
    assert {r["client"]["application_name"] for r in pins} == {"lockkeeper doctor"}


def test_with_leave_a_lock_is_left_behind_and_seen_to_be_freed(proxy, sick, doctor, pg):
    daemon = proxy()
    findings = doctor(daemon, "--user=doctored", "--leave")
    assert has(findings, "ok", "nothing is left of a lock when its client leaves without giving it back")
    record = daemon.wait_leak()
    assert record["lock"]["key"] == KEY and record["client"]["application_name"] == "lockkeeper doctor"
    assert pg.locks("doctored") == []


@pytest.mark.parametrize("mode", ["session", "statement"])
def test_locks_are_tried_in_each_pool_mode(proxy, sick, doctor, mode):
    findings = doctor(proxy({"pool_mode": mode}), "--user=doctored")
    assert wrong(findings) == []
    assert has(findings, "ok", "a lock keeps another client out")


def test_the_text_form_has_a_line_a_finding_and_sums_up(proxy, sick, doctor):
    out = doctor(proxy({"default_pool_size": 1}), "--user=doctored", status=2, text=True).splitlines()
    assert out[0].startswith("ok    doctored: doctored logs in directly")
    at = next(i for i, line in enumerate(out) if line.startswith("warn  doctored: the pool has one server"))
    assert out[at + 1] == "      mend: raise pool_size= or default_pool_size"
    ok = sum(line.startswith("ok ") for line in out)
    assert out[-1] == "%d ok, 1 warn, 0 FAIL" % ok


def test_rights_that_were_revoked_are_failures(proxy, sick, doctor, pg):
    pg.one("revoke execute on function pg_advisory_unlock_all() from public", dbname="doctored")
    pg.one("revoke select on pg_locks from public", dbname="doctored")
    try:
        findings = doctor(proxy(start=False), "--user=doctored", status=3)
    finally:
        pg.one("grant execute on function pg_advisory_unlock_all() to public", dbname="doctored")
        pg.one("grant select on pg_locks to public", dbname="doctored")
    assert has(findings, "FAIL", "may not execute pg_advisory_unlock_all",
               "GRANT EXECUTE ON FUNCTION pg_catalog.pg_advisory_unlock_all() TO doctored")
    assert has(findings, "FAIL", "locks can't be seen in pg_locks: permission denied", "GRANT SELECT ON pg_catalog.pg_locks")
    assert pg.locks("doctored") == []


def test_overloads_and_functions_that_lock_are_named(proxy, sick, doctor, pg):
    pg.one("create schema sick; create function sick.pg_advisory_lock(k int) returns void language sql as 'select'",
           dbname="doctored", user="doctored")
    pg.one("create function sick.takes(k bigint) returns void language plpgsql as $$ begin perform pg_advisory_lock(k); end $$;"
           "create function sick.calls(k bigint) returns void language sql as 'select sick.takes(k)'", dbname="doctored",
           user="doctored")
    try:
        daemon = proxy(start=False)
        findings = doctor(daemon, "--user=doctored", status=3)
        daemon.write(advisory_lock_policy="reject")
        rejecting = doctor(daemon, "--user=doctored", status=3)
    finally:
        pg.one("drop schema sick cascade", dbname="doctored", user="doctored")
    assert has(findings, "warn", "sick.pg_advisory_lock(k integer) has the name of a lock function", "drop or rename it")
    assert has(findings, "ok", "taken or freed by 2 functions and views (takes, calls), and by writing to 0 tables")
    assert has(rejecting, "warn", "2 functions and views (takes, calls)", "policy reject does not reach into functions")


def test_settings_of_role_and_database_in_the_way_of_locks_are_warned_of(proxy, sick, doctor, pg):
    pg.one("alter role doctored set lock_timeout = '3s'")
    pg.one("alter role doctored connection limit 3")
    pg.one("alter database doctored set idle_session_timeout = '1min'")
    pg.one("alter role doctored in database doctored set statement_timeout = 7000")
    try:
        findings = doctor(proxy(), "--user=doctored", status=2)
    finally:
        pg.one("alter role doctored reset all")
        pg.one("alter role doctored connection limit -1")
        pg.one("alter database doctored reset all")
        pg.one("alter role doctored in database doctored reset all")
    assert has(findings, "warn", "lock_timeout is 3000 ms (set by: user)", "SET lock_timeout = 0")
    assert has(findings, "warn", "idle_session_timeout is 60000 ms (set by: database)", "SET idle_session_timeout = 0")
    assert has(findings, "warn", "statement_timeout is 7000 ms (set by: database user)",
               "ALTER ROLE doctored IN DATABASE doctored SET statement_timeout = 0")
    assert has(findings, "warn", "the pool may open 5 connections, the role doctored takes 3", "pool_size=3")
    assert len(wrong(findings)) == 4


def test_pools_that_do_not_fit_into_max_connections_are_warned_of_once_a_server(proxy, sick, doctor, pg):
    databases = {name: dict(sick["doctored"], pool_size=120) for name in ("doctored", "doctored2")}
    findings = doctor(proxy(databases=databases), "--user=doctored", status=2)
    assert [f[2] for f in wrong(findings)] == [
        "pools of 2 databases may open 240 connections to this server if each has one user; it takes 197"
        " (max_connections 200, 3 of them reserved)"]


def test_nothing_listening_is_told_for_proxy_and_server(proxy, sick, doctor, pg):
    nobody = free_port()
    databases = dict(sick, gone={"host": "127.0.0.1", "port": nobody})
    findings = doctor(proxy(databases=databases, start=False), "--user=doctored", status=3)
    assert has(findings, "FAIL", "nothing answers at 127.0.0.1 port", "start Lockkeeper", database=None)
    assert has(findings, "FAIL", "doctored can't log in directly, at 127.0.0.1 port %d: Connection refused" % nobody,
               "is PostgreSQL running there?", database="gone")
    assert has(findings, "ok", "doctored logs in directly")
    assert not any("through Lockkeeper" in f[2] for f in findings)


def test_passwords_come_from_auth_file_or_the_environment_and_are_never_printed(lk, pg, doctor):
    databases = {"app": {"host": pg.host, "port": pg.port, "dbname": "app"}}
    daemon = lk({"auth_type": "scram-sha-256"}, databases=databases, userlist={"u_scram": "scram secret"})
    out = doctor(daemon, "--user=u_scram", text=True)
    assert "u_scram logs in directly" in out and "u_scram logs in through Lockkeeper" in out and "secret" not in out
    daemon.userlist["u_scram"] = "not it secret"
    daemon.write()
    bad = doctor(daemon, "--user=u_scram", status=3, text=True)
    assert 'FAIL  app: u_scram can\'t log in directly, at' in bad and "secret" not in bad
    assert "mend: correct the password in auth_file" in bad
    verifier = pg.one("select rolpassword from pg_authid where rolname = 'u_scram'")[0][0]
    daemon.userlist["u_scram"] = verifier
    daemon.write()
    without = doctor(daemon, "--user=u_scram", status=2)
    assert has(without, "warn", "u_scram can't log in directly", "set PGPASSWORD", database="app")
    given = doctor(daemon, env={"PGPASSWORD": "scram secret", "PGUSER": "u_scram"})
    assert has(given, "ok", "u_scram logs in directly", database="app") and wrong(given) == []


def test_policies_that_do_not_keep_locks_are_judged_by_what_they_promise(proxy, sick, doctor):
    daemon = proxy({"advisory_lock_policy": "reject"})
    assert has(doctor(daemon, "--user=doctored"), "ok", "policy reject: session locks are refused")
    daemon.write(advisory_lock_policy="observe")
    assert has(doctor(daemon, "--user=doctored", status=2), "warn", "policy observe", "advisory_lock_policy = pin")
    daemon.write(advisory_lock_policy="release")
    assert has(doctor(daemon, "--user=doctored"), "ok", "policy release: locks end with their transaction")
    daemon.write(advisory_lock_policy="pin")
    assert has(doctor(daemon, "--user=doctored", status=3), "FAIL", "no lock can be taken through Lockkeeper",
               "is this the file that Lockkeeper runs with?")
    daemon.reload()
    assert wrong(doctor(daemon, "--user=doctored")) == []


def test_a_login_that_only_lockkeeper_can_make_is_a_warning_and_the_rest_is_tried_through_it(proxy, pg, doctor):
    hashed = "md5" + hashlib.md5(b"md5 secretu_md5").hexdigest()
    daemon = proxy(databases={"doctored": {"host": pg.host, "port": pg.port, "dbname": "doctored", "user": "u_md5"}})
    daemon.userlist["u_md5"] = hashed
    daemon.write()
    daemon.reload()
    findings = doctor(daemon, "--user=doctored", status=2)
    assert [f[0] for f in wrong(findings)] == ["warn"]
    assert has(findings, "warn", "u_md5 can't log in directly", "set PGPASSWORD")
    assert has(findings, "ok", "a lock keeps another client out")
    assert has(findings, "ok", "nothing is left of a lock when its client has given it back")


def test_without_listen_addr_lockkeeper_is_tried_at_its_unix_socket(proxy, doctor):
    daemon = proxy({"listen_addr": ""}, start=False)
    assert has(doctor(daemon, "--user=doctored", status=3), "FAIL", "nothing answers at %s port" % daemon.dir, database=None)


def test_servers_without_the_tls_that_is_asked_for_are_failures(proxy, doctor):
    daemon = proxy({"server_tls_sslmode": "require"}, start=False)
    assert has(doctor(daemon, "--user=doctored", status=3), "FAIL", "server does not support SSL", "server_tls_sslmode")


def test_the_client_is_the_first_user_of_auth_file_who_has_nothing_to_do_with_the_console(proxy, doctor):
    daemon = proxy(start=False)
    daemon.userlist = {"admin": "", "stats": "", "doctored": "", "other": ""}
    daemon.write()
    assert has(doctor(daemon, status=3), "ok", "doctored logs in directly")


def test_servers_whose_connect_query_fails_are_failures(proxy, sick, doctor):
    databases = {"doctored": dict(sick["doctored"], connect_query="select no_such_column")}
    assert has(doctor(proxy(databases=databases, start=False), "--user=doctored", status=3), "FAIL",
               'connect_query fails, so no server can be used: column "no_such_column" does not exist', "correct connect_query=")


def test_a_proxy_that_gives_locks_away_is_found_out(proxy, sick, doctor):
    daemon = proxy({"advisory_lock_policy": "observe"})
    daemon.write(advisory_lock_policy="pin")
    findings = doctor(daemon, "--user=doctored", status=3)
    assert has(findings, "FAIL", "a lock does not keep another client out")


def test_a_proxy_that_leads_elsewhere_is_warned_of(proxy, sick, doctor):
    daemon = proxy(databases={"doctored": dict(sick["doctored"], dbname="app2")})
    daemon.databases = sick
    daemon.write()
    findings = doctor(daemon, "--user=doctored", status=2)
    assert has(findings, "warn", "Lockkeeper leads elsewhere than this file: database app2", "RELOAD or restart")


def test_a_key_that_somebody_holds_is_left_alone(proxy, sick, doctor, pg):
    daemon = proxy()
    with pg.connect("doctored", "doctored") as holder:
        holder.execute("select pg_advisory_lock(%s)" % KEY)
        findings = doctor(daemon, "--user=doctored", status=2)
        assert [f[0] for f in findings if KEY in f[2]] == ["warn", "warn"]
        assert len(pg.locks("doctored")) == 1


def test_a_paused_database_is_told_in_time(proxy, sick, doctor):
    daemon = proxy()
    daemon.connect("doctored", "doctored").execute("select 1")
    with daemon.console_connection() as conn:
        conn.execute("PAUSE")
        findings = doctor(daemon, "--user=doctored", status=3)
        conn.execute("RESUME")
    assert has(findings, "FAIL", "no query gets through Lockkeeper", "SHOW POOLS")


def test_a_database_of_the_star_line_is_tried_by_name(proxy, pg, sick, doctor):
    daemon = proxy(databases={"*": {"host": pg.host, "port": pg.port}})
    assert [f[1] for f in doctor(daemon, "--user=doctored")] == ["*"]
    findings = doctor(daemon, "--user=doctored", "--database=doctored")
    assert wrong(findings) == [] and has(findings, "ok", "a lock keeps another client out")
    missing = doctor(daemon, "--user=doctored", "--database=no_such", status=3)
    assert has(missing, "FAIL", 'database "no_such" does not exist', "create it, or correct dbname=", database="no_such")


def test_wrong_usage_and_mistakes_in_the_file_end_with_1(lk, doctor, binary):
    daemon = lk(start=False)
    for args in ([], [daemon.ini, "more"], ["--no-such-option", daemon.ini], ["/nowhere/lockkeeper.ini"]):
        result = subprocess.run([binary, "doctor", *args], capture_output=True, timeout=20)
        assert result.returncode == 1 and result.stdout == b"" and result.stderr
    daemon.extra = "default_pool_size = many\n"
    daemon.write()
    result = subprocess.run([binary, "doctor", daemon.ini], capture_output=True, timeout=20)
    assert result.returncode == 1 and b"conf.ini:" in result.stderr
