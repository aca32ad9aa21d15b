"""SCRAM-SHA-256-PLUS on both sides: the login is bound to the certificate, so nobody in between can pass it on."""
import hashlib
import os
import select
import signal
import socket
import ssl
import struct
import subprocess
import threading

import psycopg
import pytest

import certs as tls
import harness
import rawpg
from harness import wait_until
from rawpg import ServerError, frame, scram_secret

PASSWORD = "scram secret"  # of u_scram, in PostgreSQL too
PLUS, PLAIN = b"SCRAM-SHA-256-PLUS\0", b"SCRAM-SHA-256\0"
HEAD = "p=tls-server-end-point,,"


@pytest.fixture(scope="module")
def certs(folder):
    made = tls.Certs(folder)
    made.authority("rsa", "rsa:2048", "-sha512")
    made.authority("pss", "rsa:2048", "-sha384", "-sigopt", "rsa_padding_mode:pss")
    return made


@pytest.fixture(scope="module")
def tls_pg(folder, certs):
    with tls.postgres(folder, certs) as server:
        yield server


def daemon_of(lk, certs, server, name="server", secret=PASSWORD, user=None, port=None, listed=None, **settings):
    """A daemon that shows that certificate. `user`: the one that all servers are logged in to as."""
    database = {"host": "127.0.0.1", "port": port or server.port, "dbname": "app"}
    if user:
        database["user"] = user
    settings = dict(certs.settings("client", name, sslmode="allow"), auth_type="scram-sha-256", **settings)
    return lk(settings, databases={"app": database}, userlist=listed or {"u_scram": secret, "admin": "adm"})


def bound(daemon, password=PASSWORD, user="u_scram", **kw):
    """libpq's login that takes nothing but a bound one."""
    return daemon.connect(user=user, password=password, sslmode="require", channel_binding="require", **kw)


def who(conn):
    return conn.execute("select current_user").fetchone()[0]


class Between:
    """Ends the TLS of whoever connects with a certificate of its own and goes on to a port in TLS. What the client said
    is kept; `change` may alter what the server says."""

    def __init__(self, certs, name, port, change=lambda data: data):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certs.crt(name), certs.key(name))
        self.target, self.change, self.said = port, change, b""
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
                threading.Thread(target=self.join, args=(client,), daemon=True).start()
            except OSError:
                return

    def join(self, client):
        server = rawpg.RawConn("127.0.0.1", self.target, timeout=30)
        try:
            client.settimeout(30)
            assert client.recv(8, socket.MSG_WAITALL) == tls.SSL_REQUEST
            client.sendall(b"S")
            client = self.context.wrap_socket(client, server_side=True)
            server.send(tls.SSL_REQUEST)
            assert server.exactly(1) == b"S"
            server = tls.client_context().wrap_socket(server.sock)
        except OSError:
            client.close()
            server.close()
            return
        with client, server:
            self.relay(client, server)

    def note(self, data):
        self.said += data
        return data

    def relay(self, client, server):
        """In one thread: two must not use one end's TLS at once."""
        ends = {client: (server, self.note), server: (client, self.change)}
        for end in ends:
            end.setblocking(False)
        try:
            while ready := [e for e in ends if e.pending()] or select.select(list(ends), [], [], 30)[0]:
                for end in ready:
                    other, change = ends[end]
                    try:
                        data = end.recv(65536)
                    except ssl.SSLWantReadError:  # a ticket, no data
                        continue
                    if not data:
                        return
                    other.sendall(change(data))
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


def strip_plus(data):
    """Leaves SCRAM-SHA-256 alone in the server's offer."""
    offer = frame("R", struct.pack("!I", 10) + PLUS + PLAIN + b"\0")
    return data.replace(offer, frame("R", struct.pack("!I", 10) + PLAIN + b"\0"))


# -- clients

SECRETS = {"plaintext": PASSWORD, "scram": scram_secret(PASSWORD)}


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("name", ["server", "sha384", "rsa", "pss"])
def test_libpq_gets_the_binding_that_it_requires(lk, pg, certs, kind, name):
    daemon = daemon_of(lk, certs, pg, name, SECRETS[kind], user="app")
    assert who(bound(daemon)) == "app"
    for user, password in (("u_scram", "wrong"), ("nobody_such", PASSWORD)):
        with pytest.raises(psycopg.OperationalError, match="SASL authentication failed"):
            bound(daemon, password, user)
    with pytest.raises(psycopg.OperationalError, match="channel binding required"):
        daemon.connect(user="u_scram", password=PASSWORD, sslmode="disable", channel_binding="require")
    for way in ("disable", "prefer"):
        assert who(daemon.connect(user="u_scram", password=PASSWORD, sslmode="require", channel_binding=way)) == "app"


def test_a_certificate_that_nothing_can_be_bound_to_does_no_harm(lk, pg, certs):
    daemon = daemon_of(lk, certs, pg, "ed25519", user="app")
    assert who(daemon.connect(user="u_scram", password=PASSWORD, sslmode="require")) == "app"
    with pytest.raises(psycopg.OperationalError, match="channel binding is required"):
        bound(daemon)


def test_the_console_too_can_be_required_to_bind(lk, pg, certs):
    daemon = daemon_of(lk, certs, pg)
    with bound(daemon, "adm", "admin", dbname="lockkeeper") as conn:
        assert conn.execute("SHOW VERSION").fetchone()[0].startswith("Lockkeeper")


def start(conn, user):
    """Up to the server's offer, which is returned."""
    conn.send(rawpg.startup_packet({"user": user, "database": "app"}))
    body = conn.read().body
    assert body[:4] == struct.pack("!I", 10)
    return body[4:]


def log_in(conn, mechanism, head, binding, user="u_scram"):
    """The rest of the login; ServerError if it is refused."""
    scram = rawpg.Scram(PASSWORD, head=head, binding=binding)
    first = scram.first().encode()
    conn.send(frame("p", mechanism + struct.pack("!I", len(first)) + first))
    while (msg := conn.read()).type != "Z":
        if msg.type == "E":
            raise ServerError(rawpg.fields(msg.body))
        if msg.type == "R" and msg.body[:4] == struct.pack("!I", 11):
            conn.send(frame("p", scram.final(msg.body[4:].decode()).encode()))
        if msg.type == "R" and msg.body[:4] == struct.pack("!I", 12):
            scram.verify(msg.body[4:].decode())


def hash_of(conn):
    return hashlib.sha256(conn.sock.getpeercert(True)).digest()


@pytest.mark.parametrize("user", ["u_scram", "nobody_such"])
def test_the_offer_is_postgresqls_and_the_same_for_unknown_users(lk, pg, certs, user):
    daemon = daemon_of(lk, certs, pg)
    assert start(tls.raw(daemon), user) == PLUS + PLAIN + b"\0"
    assert start(daemon.raw_socket(), user) == PLAIN + b"\0"
    assert start(daemon.raw_socket(unix=True), user) == PLAIN + b"\0"


WRONG = [  # mechanism, head, binding from the right hash; SQLSTATE, message
    (PLUS, HEAD, lambda h: h[:-1] + bytes([h[-1] ^ 1]), "28000", "SCRAM channel binding check failed"),
    (PLUS, HEAD, lambda h: b"", "28000", "SCRAM channel binding check failed"),
    (PLUS, HEAD, lambda h: h + b"\0", "28000", "SCRAM channel binding check failed"),
    (PLAIN, "y,,", lambda h: b"", "28000", "SCRAM channel binding negotiation error"),
    (PLUS, "n,,", lambda h: b"", "08P01", "malformed SCRAM message"),
    (PLUS, "y,,", lambda h: b"", "08P01", "malformed SCRAM message"),
    (PLUS, "p=tls-unique,,", lambda h: h, "08P01", "malformed SCRAM message"),
    (PLAIN, HEAD, lambda h: h, "08P01", "malformed SCRAM message"),
    (PLAIN, "n,,", lambda h: h, "08P01", "malformed SCRAM message"),
]


@pytest.mark.parametrize("mechanism,head,change,sqlstate,message", WRONG)
def test_a_wrong_binding_is_refused_whoever_the_user_is(lk, pg, certs, mechanism, head, change, sqlstate, message):
    daemon = daemon_of(lk, certs, pg, user="app")
    for user in ("u_scram", "nobody_such"):
        conn = tls.raw(daemon)
        start(conn, user)
        with pytest.raises(ServerError) as e:
            log_in(conn, mechanism, head, change(hash_of(conn)))
        assert (e.value.sqlstate, e.value.message) == (sqlstate, message)
    conn = tls.raw(daemon)
    start(conn, "u_scram")
    log_in(conn, PLUS, HEAD, hash_of(conn))
    assert conn.simple("select current_user") == [["app"]]


def test_a_client_in_the_clear_cannot_bind(lk, pg, certs):
    daemon = daemon_of(lk, certs, pg, user="app")
    for mechanism in (PLUS, PLAIN):
        conn = daemon.raw_socket()
        start(conn, "u_scram")
        with pytest.raises(ServerError) as e:
            log_in(conn, mechanism, HEAD, hashlib.sha256(certs.der("server")).digest())
        assert e.value.sqlstate == "08P01"
    conn = daemon.raw_socket()
    start(conn, "u_scram")
    log_in(conn, PLAIN, "y,,", b"")
    assert conn.simple("select 1") == [["1"]]


@pytest.mark.parametrize("change,told", [(lambda data: data, "check failed"), (strip_plus, "negotiation error")])
def test_nobody_between_client_and_pooler_can_pass_a_login_on(lk, pg, certs, change, told):
    daemon = daemon_of(lk, certs, pg, user="app")
    with Between(certs, "renewed", daemon.port, change) as thief:
        with pytest.raises(psycopg.OperationalError, match="SCRAM channel binding " + told):
            psycopg.connect(host="127.0.0.1", port=thief.port, user="u_scram", password=PASSWORD, dbname="app",
                            sslmode="require")
        assert b"SCRAM-SHA-256" in thief.said
    with Between(certs, "server", daemon.port) as friend:  # with the pooler's own certificate and key
        with psycopg.connect(host="127.0.0.1", port=friend.port, user="u_scram", password=PASSWORD, dbname="app",
                             sslmode="require", channel_binding="require") as conn:
            assert who(conn) == "app"


def test_a_login_is_bound_to_the_certificate_of_its_own_connection_also_after_a_reload(lk, pg, certs):
    daemon = daemon_of(lk, certs, pg, user="app")
    before = tls.raw(daemon)
    start(before, "u_scram")
    daemon.write(**certs.settings("client", "sha384"))
    with bound(daemon, "adm", "admin", dbname="lockkeeper") as console:
        console.execute("RELOAD")
    assert who(bound(daemon)) == "app"
    assert before.sock.getpeercert(True) == certs.der("server")
    log_in(before, PLUS, HEAD, hash_of(before))
    assert before.simple("select current_user") == [["app"]]
    after = tls.raw(daemon)
    assert after.sock.getpeercert(True) == certs.der("sha384")
    start(after, "u_scram")
    log_in(after, PLUS, HEAD, hashlib.sha384(certs.der("sha384")).digest())


def test_users_of_auth_query_are_bound_on_both_sides(lk, tls_pg, certs):
    with Between(certs, "backend", tls_pg.port) as friend:
        daemon = daemon_of(lk, certs, tls_pg, port=friend.port, server_tls_sslmode="require", auth_user="postgres",
                           listed={"postgres": ""})
        assert who(bound(daemon)) == "u_scram"
        assert PLUS in friend.said
        with pytest.raises(psycopg.OperationalError, match="SASL authentication failed"):
            bound(daemon, "wrong")


@pytest.mark.limit(120)
def test_bound_logins_go_on_while_certificates_are_swapped(lk, pg, certs):
    daemon = daemon_of(lk, certs, pg, user="app")
    script = daemon.folder.write(os.path.join(daemon.dir, "one.sql"), "select 1;\n")
    env = dict(os.environ, PGSSLMODE="require", PGCHANNELBINDING="require", PGPASSWORD=PASSWORD)
    load = subprocess.Popen([harness.pg_bin("pgbench"), "-n", "-C", "-f", script, "-c", "4", "-T", "3", "-h", daemon.host,
                             "-p", str(daemon.port), "-U", "u_scram", "app"], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, env=env)
    swaps = 0
    while load.poll() is None:
        name = ("sha384", "renewed", "server")[swaps % 3]
        daemon.write(**certs.settings("client", name))
        daemon.signal(signal.SIGHUP)
        wait_until(lambda: tls.shown(daemon) == certs.der(name), what="the new certificate is shown")
        swaps += 1
    out = load.communicate()[0]
    assert load.returncode == 0 and "number of failed transactions: 0" in out and "error" not in out, out
    assert swaps > 1 and who(bound(daemon)) == "app"


# -- servers

def test_a_server_over_tls_is_logged_in_to_with_binding(lk, tls_pg, certs):
    with Between(certs, "backend", tls_pg.port) as friend:  # with the server's own certificate and key
        daemon = daemon_of(lk, certs, tls_pg, port=friend.port, server_tls_sslmode="require")
        assert who(bound(daemon)) == "u_scram"
        assert PLUS in friend.said


@pytest.mark.parametrize("mode", ["disable", "prefer"])
def test_a_server_in_the_clear_is_logged_in_to_without(lk, pg, tls_pg, certs, mode):
    server = tls_pg if mode == "disable" else pg
    daemon = daemon_of(lk, certs, server, server_tls_sslmode=mode)
    assert who(bound(daemon)) == "u_scram"


@pytest.mark.parametrize("change,told", [(lambda data: data, "check failed"), (strip_plus, "negotiation error")])
def test_nobody_between_pooler_and_server_can_pass_a_login_on(lk, tls_pg, certs, change, told):
    with Between(certs, "renewed", tls_pg.port, change) as thief:
        daemon = daemon_of(lk, certs, tls_pg, port=thief.port, server_tls_sslmode="require", query_wait_timeout=5)
        with pytest.raises(psycopg.OperationalError, match="SCRAM channel binding " + told):
            bound(daemon)
        daemon.wait_log("server login failed: 28000 SCRAM channel binding " + told)
        assert (PLUS in thief.said) == (told == "check failed") and daemon.alive()


def test_the_key_that_a_bound_login_reveals_serves_a_bound_login(lk, tls_pg, certs):
    secret = tls_pg.one("select rolpassword from pg_authid where rolname = 'u_scram'")[0][0]
    with Between(certs, "backend", tls_pg.port) as friend:
        daemon = daemon_of(lk, certs, tls_pg, secret=secret, port=friend.port, server_tls_sslmode="require")
        assert who(bound(daemon)) == "u_scram"
        assert PLUS in friend.said
