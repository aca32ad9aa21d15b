"""Java's driver, in every way in. `make check-jdbc` runs these: they need a JDK and the driver, `make check` does not."""
import glob
import os
import subprocess

import pytest

import certs as tls
from harness import PASSWORDS
from rawpg import md5_secret, scram_secret

HERE = os.path.dirname(os.path.abspath(__file__))
DRIVER = os.environ.get("LK_JDBC", "/usr/share/java/postgresql.jar")
PARTS = ["prepared", "transaction", "session lock", "cursor", "copy", "cancel"]
SECRETS = {"plaintext": "open sesame", "md5": md5_secret("app", "open sesame"), "scram": scram_secret("open sesame")}


@pytest.fixture(scope="module")
def certs(folder):
    made = tls.Certs(folder)
    for name in ("app", "other"):  # the form in which the driver reads keys
        made.openssl("pkcs8", "-topk8", "-nocrypt", "-in", name + ".key", "-outform", "DER", "-out", name + ".pk8")
    return made


@pytest.fixture(scope="module")
def tls_pg(folder, certs):
    with tls.postgres(folder, certs) as server:
        yield server


@pytest.fixture(scope="module")
def java(folder):
    """Runs the program: java(daemon, sslmode=…) gives its lines."""
    classes = folder.make("java")
    subprocess.run(["javac", "-Xlint:all", "-Werror", "-cp", DRIVER, "-d", classes] +
                   glob.glob(os.path.join(HERE, "jdbc", "*.java")), check=True)
    runs = []

    def run(daemon, host="127.0.0.1", **properties):
        runs.append(daemon)
        given = ["%s=%s" % kv for kv in dict({"user": "app", "password": "open sesame"}, **properties).items()]
        done = subprocess.run(["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-cp",
                               DRIVER + ":" + classes, "Pooled", "jdbc:postgresql://%s:%d/app" % (host, daemon.port),
                               "jdbc_%d" % len(runs), str(770000 + len(runs))] + given,
                              capture_output=True, text=True, timeout=50, cwd=classes)
        assert (done.returncode == 0) == (done.stdout.splitlines()[-1:] == PARTS[-1:]), done.stdout + done.stderr
        return done.stdout.splitlines()
    return run


def of_client(certs, name):
    return {"sslcert": certs.crt(name), "sslkey": os.path.join(certs.dir, name + ".pk8")}


def daemon_of(lk, certs, auth_type, secret="plaintext", databases=None, rules=None, **settings):
    """Two backends, so that two clients now and then change places; TLS for who asks for it."""
    settings = dict(dict(certs.settings("client", "server", "ca", sslmode="prefer"), auth_type=auth_type,
                         default_pool_size=2, ignore_startup_parameters="extra_float_digits"), **settings)
    daemon = lk(settings, userlist={"app": SECRETS[secret]}, databases=databases, start=False)
    if rules:
        daemon.folder.write(os.path.join(daemon.dir, "hba.conf"), rules)
        daemon.write(auth_hba_file=os.path.join(daemon.dir, "hba.conf"))
    return daemon.start()


@pytest.mark.parametrize("auth_type,secret", [
    ("trust", "plaintext"), ("plain", "plaintext"), ("plain", "md5"), ("plain", "scram"), ("md5", "plaintext"),
    ("md5", "md5"), ("md5", "scram"), ("scram-sha-256", "plaintext"), ("scram-sha-256", "scram")])
def test_every_method_and_secret(lk, certs, java, auth_type, secret):
    daemon = daemon_of(lk, certs, auth_type, secret)
    assert java(daemon, sslmode="disable") == ["user app"] + PARTS
    daemon.wait_log("login attempt: db=app user=app tls=no")
    if auth_type != "trust":
        assert java(daemon, sslmode="disable", password="wrong")[-1].startswith("28P01: ")


@pytest.mark.parametrize("auth_type", ["trust", "scram-sha-256"])
@pytest.mark.parametrize("mode", ["prefer", "require", "verify-ca", "verify-full"])
def test_every_sslmode(lk, certs, java, auth_type, mode):
    daemon = daemon_of(lk, certs, auth_type)
    assert java(daemon, sslmode=mode, sslrootcert=certs.crt("ca")) == ["user app"] + PARTS
    daemon.wait_log("login attempt: db=app user=app tls=TLSv1.[23]/")


def test_the_driver_is_told_what_the_pooler_is_to_ignore(lk, certs, java):
    daemon = daemon_of(lk, certs, "trust", ignore_startup_parameters=None)
    assert java(daemon)[-1] == "08P01: FATAL: unsupported startup parameter: extra_float_digits"


def test_both_sides_encrypted_and_the_servers_bound(lk, certs, tls_pg, java):
    daemon = daemon_of(lk, certs, "scram-sha-256", databases={"app": {
        "host": "127.0.0.1", "port": tls_pg.port, "dbname": "app", "user": "u_scram", "password": "scram secret"}},
        server_tls_sslmode="require")
    assert java(daemon, sslmode="require") == ["user u_scram"] + PARTS


def test_what_tls_asks_for_and_does_not_get(lk, certs, java):
    daemon = daemon_of(lk, certs, "trust", client_tls_sslmode="require")
    assert java(daemon, sslmode="disable")[-1].startswith("08P01: FATAL: SSL required")
    assert java(daemon, sslmode="verify-full", sslrootcert=certs.crt("other_ca"))[-1].startswith("08006: SSL error")
    daemon = daemon_of(lk, certs, "trust", **certs.settings("client", "backend"))
    assert "could not be verified" in java(daemon, sslmode="verify-full", sslrootcert=certs.crt("ca"))[-1]
    assert java(daemon, "localhost", sslmode="verify-full", sslrootcert=certs.crt("ca")) == ["user app"] + PARTS


def test_the_clients_certificate(lk, certs, java):
    daemon = daemon_of(lk, certs, "cert", client_tls_sslmode="verify-full")
    assert java(daemon, sslmode="require", **of_client(certs, "app")) == ["user app"] + PARTS
    said = java(daemon, sslmode="require", **of_client(certs, "other"))[-1]
    assert said.startswith('28000: FATAL: certificate authentication failed for user "app"')


@pytest.mark.parametrize("auth_type,user,sslmode", [("md5", "u_md5", "disable"), ("md5", "u_scram", "require"),
                                                    ("scram-sha-256", "u_scram", "disable"), ("plain", "u_scram", "require")])
def test_users_of_auth_query(lk, certs, java, auth_type, user, sslmode):
    daemon = daemon_of(lk, certs, auth_type, auth_user="postgres")
    assert java(daemon, user=user, password=PASSWORDS[user], sslmode=sslmode) == ["user " + user] + PARTS
    assert java(daemon, user=user, password="wrong", sslmode=sslmode)[-1].startswith("28P01: ")


@pytest.mark.parametrize("rule,way", [
    ("hostssl app app 127.0.0.1/32 scram-sha-256", {"sslmode": "require"}),
    ("hostnossl app app 127.0.0.1/32 md5", {"sslmode": "disable"}),
    ("hostssl app app 127.0.0.1/32 cert", "app")])
def test_rules_of_hba(lk, certs, java, rule, way):
    verify = "verify-ca" if way == "app" else "prefer"
    daemon = daemon_of(lk, certs, "hba", "scram", rules=rule + "\n", client_tls_sslmode=verify)
    way = dict(of_client(certs, way), sslmode="require") if way == "app" else way
    assert java(daemon, **way) == ["user app"] + PARTS
    assert java(daemon, **dict(way, user="other"))[-1].startswith("28000: FATAL: login rejected")
