"""Certificates for the tests of TLS, made by the openssl command in the run's folder."""
import contextlib
import os
import ssl
import struct
import subprocess

import harness
import rawpg
from harness import owner

SSL_REQUEST = struct.pack("!II", 8, 80877103)


class Certs:
    """Two authorities that know nothing of each other, and what they sign. Each name stands for NAME.crt and NAME.key."""

    def __init__(self, folder):
        self.dir = folder.make("certs")
        self.authority("ca")
        self.authority("other_ca")
        self.sign("server", "ca", "localhost", "DNS:localhost,IP:127.0.0.1")
        self.sign("renewed", "ca", "localhost", "DNS:localhost,IP:127.0.0.1")
        self.sign("backend", "ca", "localhost", "DNS:localhost")
        for user in ("app", "other", "nobody_knows"):
            self.sign(user, "ca", user)
        self.sign("foreign_app", "other_ca", "app")
        self.sign("sha384", "ca", "localhost", "DNS:localhost,IP:127.0.0.1", digest="sha384")
        self.authority("ed25519", "ed25519")

    def openssl(self, *args):
        subprocess.run(("openssl",) + args, check=True, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE)

    def own(self, name):
        for path in (self.key(name), self.crt(name)):
            os.chmod(path, 0o600)
            os.chown(path, owner().pw_uid, owner().pw_gid)

    def authority(self, name, kind="ec", *more):
        of_kind = ("-pkeyopt", "ec_paramgen_curve:P-256") if kind == "ec" else ()
        self.openssl("req", "-x509", "-newkey", kind, *of_kind, "-nodes", "-days", "30", "-subj", "/CN=" + name,
                     "-keyout", name + ".key", "-out", name + ".crt", *more)
        self.own(name)

    def sign(self, name, by, common_name, names=None, digest="sha256"):
        self.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                     "-subj", "/CN=" + common_name, "-keyout", name + ".key", "-out", name + ".csr")
        extra = ()
        if names:
            with open(os.path.join(self.dir, name + ".ext"), "w") as f:
                f.write("subjectAltName = %s\n" % names)
            extra = ("-extfile", name + ".ext")
        self.openssl("x509", "-req", "-in", name + ".csr", "-CA", by + ".crt", "-CAkey", by + ".key", "-CAcreateserial",
                     "-days", "30", "-" + digest, "-out", name + ".crt", *extra)
        self.own(name)

    def crt(self, name):
        return os.path.join(self.dir, name + ".crt")

    def key(self, name):
        return os.path.join(self.dir, name + ".key")

    def der(self, name):
        with open(self.crt(name)) as f:
            return ssl.PEM_cert_to_DER_cert(f.read())

    def settings(self, side, name=None, ca=None, **more):
        """The settings of a side: client or server."""
        out = {"%s_tls_%s" % (side, k): v for k, v in more.items()}
        if name:
            out.update({"%s_tls_cert_file" % side: self.crt(name), "%s_tls_key_file" % side: self.key(name)})
        if ca:
            out["%s_tls_ca_file" % side] = self.crt(ca)
        return out

    def of_client(self, name):
        """What libpq needs to show that certificate."""
        return {"sslcert": self.crt(name), "sslkey": self.key(name)}


@contextlib.contextmanager
def postgres(folder, certs, more_hba="", name="backend"):
    """A PostgreSQL with ssl = on."""
    server = harness.Postgres(folder)
    folder.write(os.path.join(server.data, "pg_hba.conf"), more_hba + harness.HBA + "host all all ::1/128 trust\n")
    with open(os.path.join(server.data, "postgresql.conf"), "a") as f:
        f.write("ssl = on\nssl_cert_file = '%s'\nssl_key_file = '%s'\nssl_ca_file = '%s'\n"
                % (certs.crt(name), certs.key(name), certs.crt("ca")))
    try:
        server.start()
        server.prepare_databases()
        yield server
    finally:
        server.stop()


def request(daemon, unix=False):
    """A connection that has asked for TLS, and the answer."""
    conn = daemon.raw_socket(unix)
    conn.send(SSL_REQUEST)
    return conn, conn.exactly(1)


def raw(daemon):
    """A client of the protocol module over TLS, before its startup packet."""
    conn, answer = request(daemon)
    assert answer == b"S"
    conn.sock = client_context().wrap_socket(conn.sock)
    return conn


def shown(daemon):
    """The certificate that the daemon shows to a new client."""
    conn = raw(daemon)
    der = conn.sock.getpeercert(True)
    conn.close()
    return der


def client_context():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def serve(conn, certs, name="backend"):
    """The server's side: says yes to SSLRequest and makes the handshake."""
    assert conn.exactly(8) == SSL_REQUEST
    conn.send(b"S")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs.crt(name), certs.key(name))
    conn.sock = context.wrap_socket(conn.sock, server_side=True)


def login(conn, **params):
    conn.send(rawpg.startup_packet(dict({"user": "app", "database": "app"}, **params)))
    conn.authenticate("app", None)
    return conn
