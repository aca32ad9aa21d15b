"""auth_type = hba: who may come in from where, and how."""
import os
import pwd
import signal
import subprocess

import psycopg
import pytest

from certs import Certs
from harness import run_as
from rawpg import ServerError, scram_secret

ME = pwd.getpwuid(os.geteuid()).pw_name


def by_rules(lk, rules, idents=None, settings=None, **kw):
    """A daemon with these rules; start=False writes its files only."""
    start = kw.pop("start", True)
    kw.setdefault("userlist", {"app": "open sesame", "other": scram_secret("open barley")})
    daemon = lk(dict({"auth_type": "hba"}, **(settings or {})), start=False, **kw)
    write_rules(daemon, rules, idents)
    daemon.write(auth_hba_file=os.path.join(daemon.dir, "hba.conf"),
                 auth_ident_file=os.path.join(daemon.dir, "ident.conf") if idents is not None else None)
    return begin(daemon) if start else daemon


def begin(daemon):
    """Starts it, and waits until the unix socket too is listened on."""
    daemon.start().wait_log("process up")
    return daemon


def write_rules(daemon, rules, idents=None):
    daemon.folder.write(os.path.join(daemon.dir, "hba.conf"), rules)
    if idents is not None:
        daemon.folder.write(os.path.join(daemon.dir, "ident.conf"), idents)


def refused(daemon, user="app", password="open sesame", unix=False, database="app"):
    with pytest.raises(ServerError) as e:
        daemon.raw(user, database, password, unix=unix)
    return e.value.sqlstate, e.value.message


ADMIN = "host pgbouncer admin 127.0.0.1/32 trust\n"


@pytest.mark.parametrize("method", ["password", "md5", "scram-sha-256"])
def test_each_method_takes_the_right_password_only(lk, method):
    daemon = by_rules(lk, "host all all 127.0.0.1/32 %s\n" % method)
    for user, password in (("app", "open sesame"), ("other", "open barley")):
        assert daemon.raw(user, "app", password).simple("select current_user") == [[user]]
    assert refused(daemon, password="wrong")[0] == "28P01"
    assert refused(daemon, "nobody_such")[0] == "28P01"


def test_the_first_rule_that_fits_decides(lk):
    daemon = by_rules(lk, ADMIN + """
host   app  other          127.0.0.1/32  reject
host   app  all            samehost      trust    # by address
local  app  @users         md5
local  all  all            reject
""", start=False)
    daemon.folder.write(os.path.join(daemon.dir, "users"), "other\n")
    begin(daemon)
    assert daemon.raw("app", "app").simple("select 1") == [["1"]]
    assert refused(daemon, "other", "open barley") == ("28000", "login rejected")
    assert daemon.raw("other", "app", "open barley", unix=True).simple("select 1") == [["1"]]
    assert refused(daemon, "other", "wrong", unix=True)[0] == "28P01"
    assert refused(daemon, "app", unix=True) == ("28000", "login rejected")
    assert "rejected by %s/hba.conf:3" % daemon.dir in daemon.log


def test_who_fits_no_rule_is_rejected(lk):
    daemon = by_rules(lk, ADMIN + "host app app 192.0.2.0/24 trust\nhostssl all all all trust\n")
    assert refused(daemon) == ("28000", "login rejected")
    assert "no line of %s/hba.conf is about this login" % daemon.dir in daemon.log
    assert daemon.console("SHOW VERSION")


def test_both_names_of_the_console_are_one_for_the_rules(lk):
    daemon = by_rules(lk, "host pgbouncer stats all reject\nhost lockkeeper admin all trust\nhost all all all trust\n")
    for name in ("pgbouncer", "lockkeeper"):
        assert refused(daemon, "stats", database=name) == ("28000", "login rejected")
        assert daemon.raw("admin", name).simple("SHOW VERSION")


def test_peer_asks_the_system_who_it_is(lk):
    daemon = by_rules(lk, "local app app peer map=staff\nlocal app other peer map=all\nlocal app all peer\n",
                      "staff %s app\nall %s all\n" % (ME, ME), userlist={"app": "", ME: "", "other": ""})
    assert daemon.raw("app", "app", unix=True).simple("select 1") == [["1"]]
    assert daemon.raw("other", "app", unix=True).simple("select 1") == [["1"]]
    assert refused(daemon, "postgres" if ME != "postgres" else "admin", unix=True) == ("28000", "unix socket login rejected")
    assert refused(daemon) == ("28000", "login rejected")
    write_rules(daemon, ADMIN + "local app app peer map=staff\n", "staff nobody_such app\n")
    daemon.signal(signal.SIGHUP)
    daemon.wait_log("settings reloaded")
    assert refused(daemon, unix=True) == ("28000", "unix socket login rejected")


def test_a_reload_takes_new_rules_and_spares_who_is_in(lk):
    daemon = by_rules(lk, ADMIN + "host app app all trust\n")
    conn = daemon.raw("app", "app")
    write_rules(daemon, ADMIN + "host app other all trust\n")
    daemon.reload()
    assert refused(daemon) == ("28000", "login rejected")
    assert daemon.raw("other", "app").simple("select 1") == [["1"]]
    assert conn.simple("select 1") == [["1"]]


def test_a_mistake_at_reload_is_told_with_its_line_and_the_old_rules_stay(lk):
    daemon = by_rules(lk, ADMIN + "host app app all trust\n")
    write_rules(daemon, ADMIN + "host app app 1.2.3.4/99 trust\nhost app +staff all trust\n")
    notes = []
    with daemon.console_connection() as conn:
        conn.add_notice_handler(lambda d: notes.append(d.message_primary))
        with pytest.raises(psycopg.Error):
            conn.execute("RELOAD")
    assert [n.split("hba.conf:")[1].split(":")[0] for n in notes] == ["2", "3"]
    assert daemon.raw("app", "app").simple("select 1") == [["1"]]


def test_a_mistake_at_start_is_told_with_its_line(lk):
    daemon = by_rules(lk, "host all all all trust\nlocal all all ident\nhost all all all peer\n", start=False)
    daemon.exit_wanted = None
    said = subprocess.run(run_as("QUIT") + [daemon.binary, "check", daemon.ini], capture_output=True, text=True)
    assert said.returncode != 0
    lines = [line for line in said.stderr.splitlines() if "hba.conf" in line]
    assert len(lines) == 2
    assert "hba.conf:2: method \"ident\" is not supported" in lines[0]
    assert "hba.conf:3: method peer works in local rules only" in lines[1]


def test_a_certificate_speaks_for_the_users_that_its_map_names(lk, folder):
    certs = Certs(folder)
    daemon = by_rules(lk, "hostssl app app all cert\nhostssl app other all cert map=staff\nhostssl all all all reject\n",
                      "staff app other\n", settings=certs.settings("client", "server", "ca", sslmode="verify-ca"))
    for user in ("app", "other"):
        conn = daemon.connect(user=user, sslmode="require", **certs.of_client("app"))
        assert conn.execute("select current_user").fetchone() == (user,)
        with pytest.raises(psycopg.OperationalError, match="certificate authentication failed"):
            daemon.connect(user=user, sslmode="require", **certs.of_client("other"))
    with pytest.raises(psycopg.OperationalError, match="login rejected"):
        daemon.connect(dbname="pgbouncer", user="admin", sslmode="require", **certs.of_client("app"))


def test_rules_tell_tls_from_the_clear(lk, folder):
    certs = Certs(folder)
    daemon = by_rules(lk, "hostssl app app all trust\nhostnossl app other all trust\n",
                      settings=certs.settings("client", "server", sslmode="prefer"))
    assert daemon.connect(user="app", sslmode="require").execute("select 1").fetchone() == (1,)
    assert daemon.connect(user="other", sslmode="disable").execute("select 1").fetchone() == (1,)
    for user, sslmode in (("other", "require"), ("app", "disable")):
        with pytest.raises(psycopg.OperationalError, match="login rejected"):
            daemon.connect(user=user, sslmode=sslmode)
