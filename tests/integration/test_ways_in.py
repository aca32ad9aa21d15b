"""Every way in, for psql and psycopg alike: who proves to be the user works as it, who doesn't is refused."""
import os
import pwd
import subprocess

import psycopg
import pytest

import certs as tls
from harness import PASSWORDS
from rawpg import scram_secret

ME = pwd.getpwuid(os.geteuid()).pw_name
RIGHT = {"password": "open sesame"}
WRONG = {"password": "open barley"}
KNOWN = {"user": "u_scram", "password": PASSWORDS["u_scram"]}  # to PostgreSQL alone
WORK = "begin; select current_user; commit; select pg_advisory_lock(880031); select pg_advisory_unlock(880031)"


@pytest.fixture(scope="module")
def certs(folder):
    return tls.Certs(folder)


def by_psql(daemon, **way):
    """The user that it worked as, or what it was told."""
    dsn = psycopg.conninfo.make_conninfo("", **dict({"host": daemon.host, "port": daemon.port, "dbname": "app"}, **way))
    done = subprocess.run(["psql", "-XAtqw", "-v", "ON_ERROR_STOP=1", "-c", WORK, dsn], capture_output=True, text=True,
                          timeout=50, env=dict(os.environ, LC_ALL="C"))
    lines = done.stdout.split()
    assert (done.returncode == 0) == (lines[-1:] == ["t"]), done.stderr
    return lines[0] if lines else done.stderr


def by_psycopg(daemon, **way):
    try:
        with daemon.connect(**way) as conn:
            with conn.transaction():
                user = conn.execute("select current_user").fetchone()[0]
            conn.execute("select pg_advisory_lock(880031)")
            assert conn.execute("select pg_advisory_unlock(%s)", (880031,)).fetchone() == (True,)
            return user
    except psycopg.OperationalError as e:
        return str(e)


TLS = {"sslmode": "require"}
BOUND = dict(TLS, channel_binding="require")
WAYS = {  # settings, rules of HBA; what right and wrong have in common, what each shows, what the wrong one is told
    "plain": ({"auth_type": "plain"}, None, {}, RIGHT, WRONG, "password authentication failed"),
    "md5": ({"auth_type": "md5"}, None, {}, RIGHT, WRONG, "password authentication failed"),
    "scram": ({"auth_type": "scram-sha-256"}, None, {}, RIGHT, WRONG, "SASL authentication failed"),
    "scram-plus": ({"auth_type": "scram-sha-256"}, None, BOUND, RIGHT, WRONG, "SASL authentication failed"),
    "cert": ({"auth_type": "cert", "client_tls_sslmode": "verify-full"}, None, TLS, "app", "other", "certificate auth"),
    "hba scram": ({}, "hostssl app app 127.0.0.1/32 scram-sha-256", BOUND, RIGHT, WRONG, "SASL authentication failed"),
    "hba cert": ({"client_tls_sslmode": "verify-ca"}, "hostssl app app all cert", TLS, "app", "other", "certificate auth"),
    "auth_query": ({"auth_type": "md5", "auth_user": "postgres"}, None, {}, KNOWN, dict(KNOWN, **WRONG),
                   "SASL authentication failed"),
    "hba auth_query": ({"auth_user": "postgres"}, "hostssl app u_scram all scram-sha-256", BOUND,
                       KNOWN, dict(KNOWN, **WRONG), "SASL authentication failed"),
    "hba peer": ({}, "local app app peer map=me", None, {"user": "app"}, {"user": "other"}, "login rejected"),
}


@pytest.mark.parametrize("work", [by_psql, by_psycopg])
@pytest.mark.parametrize("way", WAYS)
def test_who_proves_to_be_the_user_works_as_it(lk, certs, way, work):
    settings, rules, common, right, wrong, told = WAYS[way]
    ours = dict(certs.settings("client", "server", "ca", sslmode="prefer"), auth_type="hba")
    secret = scram_secret("open sesame") if "scram" in way else "open sesame"
    daemon = lk(dict(ours, **settings), userlist={"app": secret}, start=False)
    if rules:
        paths = [os.path.join(daemon.dir, name) for name in ("hba.conf", "ident.conf")]
        for path, text in zip(paths, (rules + "\n", "me %s app\n" % ME)):
            daemon.folder.write(path, text)
        daemon.write(auth_hba_file=paths[0], auth_ident_file=paths[1])
    daemon.start().wait_log("process up")
    if common is None:
        common = {"host": daemon.dir}
    shown = [who if isinstance(who, dict) else certs.of_client(who) for who in (right, wrong)]
    given, wrongly = [dict({"user": "app"}, **dict(common, **who)) for who in shown]
    assert work(daemon, **given) == given["user"]
    assert told in work(daemon, **wrongly)
    assert daemon.alive()
