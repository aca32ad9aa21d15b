"""TLS on both sides: every sslmode, certificates that are renewed while clients work, and peers that break the rules."""
import hashlib
import os
import shutil
import signal
import socket
import struct
import subprocess
import threading

import psycopg
import pytest

import certs as tls
import harness
import rawpg
from harness import wait_until

WAYS_IN = "hostnossl app2 all 127.0.0.1/32 reject\nhostnossl app2 all ::1/128 reject\n" \
          "hostssl app2 other 127.0.0.1/32 cert\n"


@pytest.fixture(scope="module")
def certs(folder):
    return tls.Certs(folder)


@pytest.fixture(scope="module")
def tls_pg(folder, certs):
    """A PostgreSQL with ssl = on: app2 takes nothing but TLS, and user other there needs its certificate."""
    with tls.postgres(folder, certs, WAYS_IN) as server:
        yield server


def behind(server, dbname="app", host="127.0.0.1"):
    return {"app": {"host": host, "port": server.port, "dbname": dbname}}


def works(conn):
    return conn.execute("select 41 + 1").fetchone() == (42,)


def backend_is_encrypted(conn):
    return conn.execute("select ssl from pg_stat_ssl where pid = pg_backend_pid()").fetchone()[0]


def columns(daemon, view):
    return [r["tls"] for r in daemon.console("SHOW " + view) if r["database"] == "app"]


# -- clients

CLIENTS = [  # client_tls_sslmode, sslmode of libpq, encrypted or the error
    ("disable", "disable", False),
    ("disable", "prefer", False),
    ("disable", "require", "server does not support SSL"),
    ("allow", "disable", False),
    ("allow", "require", True),
    ("prefer", "disable", False),
    ("prefer", "prefer", True),
    ("prefer", "verify-full", True),
    ("require", "disable", "SSL required"),
    ("require", "require", True),
    ("require", "verify-ca", True),
    ("verify-ca", "disable", "SSL required"),
    ("verify-ca", "require", "certificate required"),
    ("verify-full", "require", "certificate required"),
]


@pytest.mark.parametrize("ours,theirs,outcome", CLIENTS)
def test_clients_come_in_as_both_sslmodes_allow(lk, certs, ours, theirs, outcome):
    daemon = lk(certs.settings("client", "server", "ca", sslmode=ours))
    if isinstance(outcome, str):
        with pytest.raises(psycopg.OperationalError, match=outcome):
            daemon.connect(sslmode=theirs, sslrootcert=certs.crt("ca"))
    else:
        conn = daemon.connect(sslmode=theirs, sslrootcert=certs.crt("ca"))
        assert works(conn) and conn.pgconn.ssl_in_use == outcome
        assert [bool(t) for t in columns(daemon, "CLIENTS")] == [outcome]
    assert daemon.alive()


@pytest.mark.parametrize("mode", ["verify-ca", "verify-full"])
def test_clients_show_a_certificate_that_our_authority_signed(lk, certs, mode):
    daemon = lk(certs.settings("client", "server", "ca", sslmode=mode))
    assert works(daemon.connect(sslmode="require", **certs.of_client("other"))), "whoever's it is"
    with pytest.raises(psycopg.OperationalError):
        daemon.connect(sslmode="require", **certs.of_client("foreign_app"))
    daemon.wait_log("TLS handshake failed: certificate verify failed")
    assert daemon.alive()


def test_the_certificates_name_is_the_user_under_auth_type_cert(lk, certs):
    daemon = lk(dict(certs.settings("client", "server", "ca", sslmode="verify-full"), auth_type="cert"))
    assert works(daemon.connect(sslmode="require", **certs.of_client("app")))
    for user, name in (("app", "other"), ("other", "app")):
        with pytest.raises(psycopg.OperationalError, match='certificate authentication failed for user "%s"' % user):
            daemon.connect(user=user, sslmode="require", **certs.of_client(name))
    with pytest.raises(psycopg.OperationalError):
        daemon.connect(user="nobody_knows", sslmode="require", **certs.of_client("nobody_knows"))
    with pytest.raises(rawpg.ServerError, match="certificate authentication failed"):
        daemon.raw(unix=True)


def test_the_unix_socket_is_never_encrypted_and_never_refused(lk, certs):
    daemon = lk(certs.settings("client", "server", sslmode="require"))
    conn, answer = tls.request(daemon, unix=True)
    assert answer == b"N"
    assert tls.login(conn).simple("select 1") == [["1"]]


@pytest.mark.parametrize("protocols,seen", [("tlsv1.2", "TLSv1.2/"), ("tlsv1.3", "TLSv1.3/"), ("all, !tlsv1.3", "TLSv1.2/"),
                                            ("secure", "TLSv1.3/")])
def test_versions_and_ciphers_are_shown_and_logged(lk, certs, protocols, seen):
    daemon = lk(certs.settings("client", "server", sslmode="require", protocols=protocols, ecdhcurve="secp384r1"))
    assert works(daemon.connect(sslmode="require"))
    assert columns(daemon, "CLIENTS")[0].startswith(seen)
    daemon.wait_log("login attempt: db=app user=app tls=" + seen)


def test_a_version_that_is_not_offered_is_refused(lk, certs):
    daemon = lk(certs.settings("client", "server", sslmode="require", protocols="tlsv1.3"))
    with pytest.raises(psycopg.OperationalError):
        daemon.connect(sslmode="require", ssl_max_protocol_version="TLSv1.2")
    daemon.wait_log("TLS handshake failed: unsupported protocol")
    assert works(daemon.connect(sslmode="require"))


def test_ciphers_are_ours_to_choose(lk, certs):
    daemon = lk(certs.settings("client", "server", sslmode="require", protocols="tlsv1.2,tlsv1.3",
                               ciphers="ECDHE-ECDSA-CHACHA20-POLY1305"))
    with open(daemon.ini, "a") as f:
        f.write("client_tls13_ciphers = TLS_CHACHA20_POLY1305_SHA256\n")
    daemon.reload()
    daemon.connect(sslmode="require", ssl_max_protocol_version="TLSv1.2")
    daemon.connect(sslmode="require")
    assert sorted(columns(daemon, "CLIENTS")) == ["TLSv1.2/ECDHE-ECDSA-CHACHA20-POLY1305",
                                                  "TLSv1.3/TLS_CHACHA20_POLY1305_SHA256"]


# -- servers

SERVERS = [  # server_tls_sslmode, ssl of PostgreSQL, host, authority; encrypted or what the log says
    ("disable", True, "127.0.0.1", None, False),
    ("allow", True, "127.0.0.1", None, True),
    ("allow", False, "127.0.0.1", None, False),
    ("prefer", True, "127.0.0.1", None, True),
    ("prefer", False, "127.0.0.1", None, False),
    ("require", True, "127.0.0.1", None, True),
    ("require", False, "127.0.0.1", None, "the server offers no TLS, and server_tls_sslmode requires it"),
    ("verify-ca", True, "127.0.0.1", "ca", True),
    ("verify-ca", True, "127.0.0.1", "other_ca", "certificate verify failed: self-signed certificate"),
    ("verify-full", True, "localhost", "ca", True),
    ("verify-full", True, "127.0.0.1", "ca", "certificate verify failed: IP address mismatch"),
    ("verify-full", False, "localhost", "ca", "the server offers no TLS, and server_tls_sslmode requires it"),
]


@pytest.mark.parametrize("mode,has_tls,host,ca,outcome", SERVERS)
def test_servers_are_reached_as_server_tls_sslmode_says(lk, pg, tls_pg, certs, mode, has_tls, host, ca, outcome):
    daemon = lk(dict(certs.settings("server", ca=ca, sslmode=mode), query_wait_timeout=5, server_login_retry=1),
                databases=behind(tls_pg if has_tls else pg, host=host))
    if isinstance(outcome, str):
        with pytest.raises(psycopg.OperationalError, match="TLS"):
            works(daemon.connect())
        daemon.wait_log(outcome)
        assert daemon.alive()
        return
    conn = daemon.connect()
    assert works(conn) and backend_is_encrypted(conn) == outcome
    assert [bool(t) for t in columns(daemon, "SERVERS")] == [outcome]


def test_a_server_that_wants_tls_gets_it(lk, tls_pg):
    daemon = lk(databases=behind(tls_pg, "app2"))
    assert works(daemon.connect())


def test_a_server_that_wants_a_certificate_gets_ours(lk, tls_pg, certs):
    daemon = lk(certs.settings("server", "other", sslmode="require"), databases=behind(tls_pg, "app2"))
    assert works(daemon.connect(user="other"))


def test_no_tls_over_the_unix_socket(lk, tls_pg):
    daemon = lk({"server_tls_sslmode": "require"}, databases=behind(tls_pg, host=tls_pg.socket_dir))
    conn = daemon.connect()
    assert works(conn) and not backend_is_encrypted(conn)


def test_servers_of_other_tls_settings_are_replaced_after_a_reload(lk, tls_pg):
    daemon = lk({"server_tls_sslmode": "disable"}, databases=behind(tls_pg))
    conn, holder = daemon.connect(), daemon.connect()
    assert not backend_is_encrypted(conn)
    holder.execute("begin")
    assert not backend_is_encrypted(holder)
    daemon.write(server_tls_sslmode="require")
    daemon.reload()
    wait_until(lambda: backend_is_encrypted(conn), what="a new server")
    assert not backend_is_encrypted(holder), "one in use is left alone"
    holder.execute("commit")
    wait_until(lambda: backend_is_encrypted(holder), what="a new server")


# -- both

@pytest.fixture
def both(lk, tls_pg, certs):
    return lk(dict(certs.settings("client", "server", sslmode="require"), **certs.settings("server", sslmode="require")),
              databases=behind(tls_pg))


@pytest.mark.limit(180)
def test_fifty_megabytes_pass_each_way(both, tls_pg):
    line = "0123456789abcdef" * 62 + "\n"
    rows = 52000
    want = hashlib.md5((line * rows).encode()).hexdigest()
    conn = both.connect(sslmode="require")
    conn.execute("drop table if exists big; create table big(n serial, t text)")
    with conn.cursor().copy("copy big(t) from stdin") as copy:
        for _ in range(rows // 100):
            copy.write(line * 100)
    with conn.cursor().copy("copy (select t from big order by n) to stdout") as copy:
        digest = hashlib.md5()
        for part in copy:
            digest.update(part)
    assert digest.hexdigest() == want
    digest = hashlib.md5()
    for (t,) in conn.execute("select t from big order by n"):
        digest.update(t.encode() + b"\n")
    assert digest.hexdigest() == want
    conn.execute("drop table big")


def test_a_client_that_doesnt_read_holds_up_nobody_and_loses_nothing(both):
    slow, quick = tls.login(tls.raw(both)), tls.login(tls.raw(both))
    slow.send(rawpg.query("select repeat('x', 1000) from generate_series(1, 30000)"))
    slow.until("D", 1)
    before = both.rss_kb()
    for n in range(50):
        assert quick.simple("select %d" % n) == [[str(n)]]
    assert both.rss_kb() - before < 16 * 1024, "what it leaves unread is not kept"
    assert sum(m.type == "D" for m in slow.until("Z")) == 29999


def test_messages_ahead_of_the_login_and_of_a_backend_are_answered(both):
    conn = tls.raw(both)
    queries = b"".join(rawpg.query("select %d, '%s'" % (n, "y" * 900)) for n in range(400))
    conn.send(rawpg.startup_packet({"user": "app", "database": "app"}) + queries)
    conn.authenticate("app", None)
    for n in range(400):
        assert conn.rows() == [[str(n), "y" * 900]]


def test_messages_cut_into_records_of_one_byte(both):
    conn = tls.login(tls.raw(both))
    for b in rawpg.parse("", "select $1::int") + rawpg.bind("", "", ["7"]) + rawpg.execute() + rawpg.sync():
        conn.sock.sendall(bytes([b]))
    assert conn.rows() == [["7"]]


def test_records_that_hold_more_than_a_read(both):
    conn = tls.login(tls.raw(both))
    text = "z" * 600000
    conn.send(rawpg.query("select length('%s')" % text) + rawpg.query("select 2"))
    assert conn.rows() == [["600000"]] and conn.rows() == [["2"]]


def test_the_last_words_reach_the_client(both):
    conn = tls.login(tls.raw(both))
    conn.simple("select 1")
    with both.connect("lockkeeper", user="admin", sslmode="require") as console:
        console.execute("KILL app")
    assert rawpg.fields(conn.until_closed()[-1].body)["C"] == "57P01"


def test_a_query_is_cancelled(both, tls_pg):
    conn = both.connect(sslmode="require")
    asleep = lambda: tls_pg.one("select 1 from pg_stat_activity where wait_event = 'PgSleep'")
    worker = threading.Thread(target=lambda: (wait_until(asleep), conn.cancel()))
    worker.start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        conn.execute("select pg_sleep(60)")
    worker.join()
    assert works(conn)


def test_a_cancel_goes_encrypted_where_its_server_is(lk, certs):
    cancels = []

    def script(conn):
        tls.serve(conn, certs)
        size, code = struct.unpack("!II", conn.exactly(8))
        if code == 80877102:
            cancels.append(struct.unpack("!II", conn.exactly(size - 8)))
            return
        conn.exactly(size - 8)
        rawpg.welcome(conn)
        while True:
            kind, size = struct.unpack("!cI", conn.exactly(5))
            body = conn.exactly(size - 4)
            if kind == b"F":
                conn.send(rawpg.frame("V", struct.pack("!i", 0)), rawpg.frame("Z", b"I"))
            elif kind == b"Q" and b"hold" in body:
                wait_until(lambda: cancels)
                conn.send(rawpg.frame("E", b"SERROR\0VERROR\0C57014\0Mcanceled\0\0"), rawpg.frame("Z", b"I"))
            elif kind == b"Q":
                conn.send(rawpg.frame("C", rawpg.cstr("SELECT 0")), rawpg.frame("Z", b"I"))
            elif kind == b"S":
                conn.send(rawpg.frame("Z", b"I"))
    with rawpg.FakeServer(script) as server:
        daemon = lk(databases=behind(server))
        conn = daemon.raw()
        conn.send(rawpg.query("hold"))
        wait_until(lambda: daemon.pool()["sv_active"] == 1)
        conn.cancel()
        with pytest.raises(rawpg.ServerError) as e:
            conn.rows()
        assert e.value.sqlstate == "57014" and cancels == [(4242, 77)] and not server.errors


# -- RELOAD

@pytest.fixture
def live(lk, certs):
    """A daemon whose certificate files may be overwritten."""
    def copy(daemon, crt, key=None):
        for source, target in ((certs.crt(crt), "live.crt"), (certs.key(key or crt), "live.key")):
            path = os.path.join(daemon.dir, target)
            shutil.copy(source, path + ".new")
            os.chown(path + ".new", harness.owner().pw_uid, harness.owner().pw_gid)
            os.replace(path + ".new", path)
    daemon = lk({"client_tls_sslmode": "require"}, start=False)
    daemon.write(client_tls_cert_file=os.path.join(daemon.dir, "live.crt"),
                 client_tls_key_file=os.path.join(daemon.dir, "live.key"))
    daemon.swap = lambda *names: copy(daemon, *names)
    daemon.swap("server")
    return daemon.start()


@pytest.mark.limit(120)
@pytest.mark.parametrize("more", [[], ["-C"]])
def test_a_certificate_swapped_under_load_disturbs_nobody(live, certs, more):
    old = live.connect(sslmode="require")
    script = live.folder.write(os.path.join(live.dir, "one.sql"), "select 1;\n")
    env = dict(os.environ, PGSSLMODE="require")
    load = subprocess.Popen([harness.pg_bin("pgbench"), "-n", "-f", script, "-c", "4", "-T", "4", "-h", live.host, "-p",
                             str(live.port), "-U", "app", *more, "app"], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, env=env)
    swaps = 0
    while load.poll() is None:
        name = "renewed" if swaps % 2 == 0 else "server"
        live.swap(name)
        live.signal(signal.SIGHUP)
        wait_until(lambda: tls.shown(live) == certs.der(name), what="the new certificate is shown")
        swaps += 1
    out = load.communicate()[0]
    assert load.returncode == 0 and "number of failed transactions: 0" in out, out
    assert "error" not in out and swaps > 1, out
    assert works(old)


def test_a_reload_with_a_broken_certificate_keeps_the_old_one(live, certs):
    live.swap("renewed", "app")
    with live.connect("lockkeeper", user="admin", sslmode="require") as console:
        notices = []
        console.add_notice_handler(lambda diag: notices.append(diag.message_primary))
        with pytest.raises(psycopg.Error, match="RELOAD failed"):
            console.execute("RELOAD")
        assert "live.key: the key is not that of the certificate" in "".join(notices)
    live.wait_log("reload failed; the old settings stay")
    assert tls.shown(live) == certs.der("server") and works(live.connect(sslmode="require"))
    live.swap("renewed")
    with live.connect("lockkeeper", user="admin", sslmode="require") as console:
        console.execute("RELOAD")
    assert tls.shown(live) == certs.der("renewed")


def test_tls_is_switched_on_and_off_by_reload(lk, certs):
    daemon = lk(certs.settings("client", "server", sslmode="disable"))
    plain = daemon.connect(sslmode="disable")
    daemon.write(client_tls_sslmode="require")
    daemon.reload()
    encrypted = daemon.connect(sslmode="require")
    assert works(plain) and works(encrypted)
    with pytest.raises(psycopg.OperationalError, match="SSL required"):
        daemon.connect(sslmode="disable")
    daemon.write(client_tls_sslmode="disable")
    daemon.signal(signal.SIGHUP)
    wait_until(lambda: tls.request(daemon)[1] == b"N")
    assert works(plain) and works(encrypted)


# -- mistakes of the operator

MISTAKES = [
    ({"client_tls_key_file": "/nowhere.key"}, "client_tls_key_file = /nowhere.key: No such file or directory"),
    ({"client_tls_cert_file": "/nowhere.crt"}, "client_tls_cert_file = /nowhere.crt: No such file or directory"),
    ({"client_tls_cert_file": "/dev/null"}, "client_tls_cert_file = /dev/null: no start line"),
    ({"client_tls_ca_file": "/dev/null"}, "client_tls_ca_file = /dev/null: "),
    ({"client_tls_protocols": "tlsv1.4"}, "client_tls_protocols = tlsv1.4: must be of"),
    ({"client_tls_protocols": "all,!all"}, "client_tls_protocols = all,!all: must be of"),
    ({"client_tls_ciphers": "ROT13"}, "client_tls_ciphers = ROT13: no cipher match"),
    ({"client_tls13_ciphers": "ROT13"}, "client_tls13_ciphers = ROT13: no TLS 1.3 cipher suite matches"),
    ({"client_tls_ecdhcurve": "straight"}, "client_tls_ecdhcurve = straight: no such curve"),
    ({"client_tls_dheparams": "weak"}, "client_tls_dheparams = weak: must be auto"),
    ({"server_tls_sslmode": "verify-ca", "server_tls_ca_file": "/nowhere.ca"}, "server_tls_ca_file = /nowhere.ca: No such"),
    ({"client_tls_key_file": None}, "client_tls_key_file must be set, unless client_tls_sslmode is disable"),
]


@pytest.mark.parametrize("change,told", MISTAKES)
def test_mistakes_are_told_by_their_name(lk, certs, change, told):
    daemon = lk(dict(certs.settings("client", "server", sslmode="require"), **change), start=False)
    checked = subprocess.run(harness.run_as("KILL") + [daemon.binary, "check", daemon.ini], capture_output=True, text=True)
    assert checked.returncode == 1 and told in checked.stderr and daemon.ini in checked.stderr
    started = subprocess.run(harness.run_as("KILL") + [daemon.binary, daemon.ini], capture_output=True, text=True, timeout=10)
    assert started.returncode == 1 and told in started.stderr


# -- peers that break the rules

def test_plaintext_behind_an_ssl_request_is_never_taken_for_what_comes_encrypted(both):
    conn = both.raw_socket()
    conn.send(tls.SSL_REQUEST + rawpg.startup_packet({"user": "app", "database": "app"}))
    assert [m.type for m in conn.until_closed()] == ["E"]
    both.wait_log("data behind an encryption request")


def test_plaintext_instead_of_a_handshake_ends_the_connection(both):
    conn, answer = tls.request(both)
    assert answer == b"S"
    conn.send(rawpg.startup_packet({"user": "app", "database": "app"}))
    with pytest.raises((rawpg.Closed, OSError)):
        while True:
            conn.exactly(1)
    both.wait_log("client unexpectedly went away: TLS handshake failed: ")


def test_a_second_request_inside_tls_is_refused(both):
    conn = tls.raw(both)
    conn.send(tls.SSL_REQUEST)
    assert rawpg.fields(conn.read().body)["M"] == "encryption was asked for twice"


@pytest.mark.parametrize("garbage", [b"\0", b"\x16\x03\x01", b"\x16\x03\x01\xff\xff" + b"x" * 70000, b"GET / HTTP/1.0\r\n\r\n",
                                     b"\x15\x03\x03\0\2\2\x28", b"\x16\x03\x01\0\5\1\0\0\1\0"])
def test_garbage_in_the_handshake_harms_only_its_sender(both, garbage):
    conn, _ = tls.request(both)
    try:
        conn.send(garbage)
        conn.sock.shutdown(socket.SHUT_WR)
        conn.until_closed()
    except OSError:
        pass
    both.wait_log("TLS handshake failed: ")
    assert works(both.connect(sslmode="require"))


def hello():
    """A whole ClientHello."""
    import ssl
    out = ssl.MemoryBIO()
    talk = tls.client_context().wrap_bio(ssl.MemoryBIO(), out)
    with pytest.raises(ssl.SSLWantReadError):
        talk.do_handshake()
    return out.read()


def test_clients_that_vanish_in_the_handshake_cost_nothing(both):
    whole = hello()
    assert works(both.connect(sslmode="require"))
    fds = len(os.listdir("/proc/%d/fd" % both.pid))
    for n in range(30):
        conn, _ = tls.request(both)
        conn.send(whole[:len(whole) * n // 29])
        conn.reset() if n % 2 else conn.close()
    wait_until(lambda: len(os.listdir("/proc/%d/fd" % both.pid)) <= fds, what="all are closed")
    assert works(both.connect(sslmode="require"))


def test_a_client_that_falls_silent_in_the_handshake_is_closed_in_time(lk, certs):
    daemon = lk(dict(certs.settings("client", "server", sslmode="require"), client_login_timeout=1))
    conn, _ = tls.request(daemon)
    conn.send(hello()[:50])
    assert conn.until_closed() == []
    daemon.wait_log("client_login_timeout")


def test_a_broken_record_after_the_login_ends_the_client(both):
    conn = tls.login(tls.raw(both))
    plain = socket.socket(fileno=os.dup(conn.sock.fileno()))
    plain.send(b"\x17\x03\x03\0\x20" + b"x" * 32)
    with pytest.raises((rawpg.Closed, OSError)):
        conn.read()
    plain.close()
    both.wait_log("client unexpectedly went away: TLS: ")
    wait_until(lambda: columns_over_tls(both) == [], what="it is gone")


def columns_over_tls(daemon):
    with daemon.connect("lockkeeper", user="admin", sslmode="require") as conn:
        return [r for r in harness.Console(conn)("SHOW CLIENTS") if r["database"] == "app"]


def injects(conn):
    assert conn.exactly(8) == tls.SSL_REQUEST
    conn.send(b"S" + rawpg.frame("E", b"SFATAL\0C28000\0Mlies\0\0"))
    conn.until_closed()


def answers_in_plain(conn):
    assert conn.exactly(8) == tls.SSL_REQUEST
    conn.send(b"S")
    conn.exactly(5)
    rawpg.welcome(conn)
    conn.until_closed()


def answers_nonsense(conn):
    conn.exactly(8)
    conn.send(b"?")
    conn.until_closed()


def answers_with_an_error(conn):
    conn.exactly(8)
    conn.send(b"Ecould not fork\n\0")
    conn.until_closed()


def hangs_up_after_yes(conn):
    conn.exactly(8)
    conn.send(b"S")


@pytest.mark.parametrize("script,told", [
    (injects, "data behind the answer to SSLRequest"),
    (answers_in_plain, "TLS handshake failed: "),
    (answers_nonsense, "the server answered SSLRequest with something unknown"),
    (answers_with_an_error, "the server answered SSLRequest with an error"),
    (hangs_up_after_yes, "TLS handshake failed: "),
])
def test_servers_that_break_the_rules_are_dropped(lk, script, told):
    with rawpg.FakeServer(script) as server:
        daemon = lk({"query_wait_timeout": 3, "server_login_retry": 1}, databases=behind(server))
        with pytest.raises((rawpg.ServerError, rawpg.Closed)) as e:
            daemon.raw()
        assert "lies" not in str(e.value)
        daemon.wait_log(told)
        assert daemon.alive() and not server.errors


def test_a_server_that_falls_silent_in_the_handshake_is_given_up(lk):
    def script(conn):
        conn.exactly(8)
        conn.send(b"S")
        conn.until_closed()
    with rawpg.FakeServer(script) as server:
        daemon = lk({"server_connect_timeout": 1, "query_wait_timeout": 4, "server_login_retry": 1},
                    databases=behind(server))
        with pytest.raises((rawpg.ServerError, rawpg.Closed)):
            daemon.raw()
        daemon.wait_log("connect timeout")
