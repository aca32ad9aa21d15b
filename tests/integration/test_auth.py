"""Who may come in, and how the pooler comes in to PostgreSQL."""
import subprocess

import pytest

import rawpg
from harness import run_as
from rawpg import ServerError, md5_secret, scram_secret

SECRETS = {
    "plaintext": lambda user, pw: pw,
    "md5": md5_secret,
    "scram": lambda user, pw: scram_secret(pw),
}


def login(daemon, user, password, database="app"):
    return daemon.raw(user, database, password)


@pytest.mark.parametrize("auth_type, secret, works", [
    ("trust", "plaintext", True), ("plain", "plaintext", True), ("plain", "md5", True), ("plain", "scram", True),
    ("md5", "plaintext", True), ("md5", "md5", True), ("md5", "scram", True),
    ("scram-sha-256", "plaintext", True), ("scram-sha-256", "scram", True), ("scram-sha-256", "md5", False)])
def test_clients_log_in_with_every_method_and_secret(lk, auth_type, secret, works):
    daemon = lk({"auth_type": auth_type}, userlist={"app": SECRETS[secret]("app", "open sesame")})
    if not works:
        with pytest.raises(ServerError) as e:
            login(daemon, "app", "open sesame")
        assert e.value.sqlstate == "28P01"
        return
    assert login(daemon, "app", "open sesame").simple("select current_user") == [["app"]]
    assert daemon.connect(password="open sesame").execute("select 1").fetchone() == (1,)
    if auth_type != "trust":
        with pytest.raises(ServerError) as e:
            login(daemon, "app", "open barley")
        assert e.value.sqlstate == "28P01"
        assert daemon.raw("app", "app", "open sesame").simple("select 1") == [["1"]]


@pytest.mark.parametrize("auth_type", ["plain", "md5", "scram-sha-256"])
def test_an_unknown_user_hears_what_a_wrong_password_hears(lk, auth_type):
    daemon = lk({"auth_type": auth_type}, userlist={"app": "right"})
    said = []
    for user in ("app", "nobody_such"):
        with pytest.raises(ServerError) as e:
            login(daemon, user, "wrong")
        said.append((e.value.fields["S"], e.value.sqlstate, e.value.message.replace(user, "USER")))
    assert said[0] == said[1]


@pytest.mark.parametrize("auth_type", ["plain", "md5", "scram-sha-256"])
def test_an_empty_password_is_a_password(lk, auth_type):
    daemon = lk({"auth_type": auth_type}, userlist={"app": ""})
    assert login(daemon, "app", "").simple("select 1") == [["1"]]
    with pytest.raises(ServerError):
        login(daemon, "app", "x")


def test_trust_takes_known_users_only(lk):
    daemon = lk({"auth_type": "trust"})
    assert login(daemon, "app", None).simple("select 1") == [["1"]]
    with pytest.raises(ServerError) as e:
        login(daemon, "nobody_such", None)
    assert e.value.sqlstate == "28P01"


def test_any_takes_everyone_as_the_databases_user(pg, lk):
    daemon = lk({"auth_type": "any"}, databases={"app": {"host": pg.host, "port": pg.port, "dbname": "app", "user": "other"}})
    assert login(daemon, "whoever", None).simple("select current_user") == [["other"]]


def test_odd_names_and_passwords_survive_the_file(pg, lk):
    password = 'qu"ote \\ and späce'
    pg.one("drop role if exists \"Odd User\"")
    pg.one("create role \"Odd User\" login")
    daemon = lk({"auth_type": "scram-sha-256"}, userlist={"Odd User": password})
    assert login(daemon, "Odd User", password).simple("select current_user") == [["Odd User"]]


@pytest.mark.parametrize("user, password", [("u_md5", "md5 secret"), ("u_scram", "scram secret"), ("u_plain", "plain secret")])
def test_the_pooler_logs_in_to_every_kind_of_backend(lk, user, password):
    for auth_type in ("plain", "md5", "scram-sha-256"):
        daemon = lk({"auth_type": auth_type}, userlist={user: password})
        assert login(daemon, user, password).simple("select current_user") == [[user]]


def test_an_md5_secret_is_enough_for_an_md5_backend(lk):
    daemon = lk({"auth_type": "md5"}, userlist={"u_md5": md5_secret("u_md5", "md5 secret")})
    assert login(daemon, "u_md5", "md5 secret").simple("select 1") == [["1"]]


def test_the_servers_own_scram_secret_is_enough_once_the_client_has_logged_in(pg, lk):
    secret = pg.one("select rolpassword from pg_authid where rolname = 'u_scram'")[0][0]
    daemon = lk({"auth_type": "scram-sha-256"}, userlist={"u_scram": secret})
    assert login(daemon, "u_scram", "scram secret").simple("select current_user") == [["u_scram"]]


def test_another_scram_secret_of_the_same_password_is_not_passed_through(pg, lk):
    daemon = lk({"auth_type": "scram-sha-256", "server_login_retry": 1, "query_wait_timeout": 2},
                userlist={"u_scram": scram_secret("scram secret")})
    with pytest.raises((ServerError, rawpg.Closed)):
        login(daemon, "u_scram", "scram secret").simple("select 1")


def test_a_password_in_the_databases_line_is_used(pg, lk):
    for user, password in (("u_md5", "md5 secret"), ("u_scram", "scram secret")):
        daemon = lk(databases={"app": {"host": pg.host, "port": pg.port, "dbname": "app", "user": user, "password": password}})
        assert login(daemon, "app", None).simple("select current_user") == [[user]]


def test_a_wrong_backend_password_is_told_to_the_client(lk):
    daemon = lk({"auth_type": "plain", "server_login_retry": 1, "query_wait_timeout": 2}, userlist={"u_scram": "not it"})
    with pytest.raises(ServerError) as e:
        login(daemon, "u_scram", "not it").simple("select 1")
    assert "u_scram" in e.value.message or e.value.message == "query_wait_timeout"


def test_changed_secrets_count_after_a_reload(lk):
    daemon = lk({"auth_type": "scram-sha-256"}, userlist={"app": "old", "admin": "adm"})
    assert login(daemon, "app", "old").simple("select 1") == [["1"]]
    daemon.userlist["app"] = "new"
    daemon.write()
    with daemon.console_connection(password="adm") as conn:
        conn.execute("RELOAD")
    assert login(daemon, "app", "new").simple("select 1") == [["1"]]
    with pytest.raises(ServerError):
        login(daemon, "app", "old")


def iterations(daemon, user):
    """What the server's first SCRAM message says."""
    conn = daemon.raw_socket()
    conn.send(rawpg.startup_packet({"user": user, "database": "app"}))
    assert conn.read().type == "R"
    first = rawpg.Scram("any").first().encode()
    conn.send(rawpg.frame("p", b"SCRAM-SHA-256\0" + rawpg.int4(len(first)) + first))
    return int(conn.read().body.split(b",i=")[1])


def test_scram_iterations_count_for_secrets_that_are_made_here(lk):
    daemon = lk({"auth_type": "scram-sha-256", "scram_iterations": 5000},
                userlist={"app": "plain text", "other": scram_secret("stored", iterations=6000), "admin": "adm"})
    assert [iterations(daemon, u) for u in ("app", "other", "nobody_such")] == [5000, 6000, 5000]
    assert login(daemon, "app", "plain text").simple("select 1") == [["1"]]
    daemon.write(scram_iterations=4321)
    with daemon.console_connection(password="adm") as conn:
        conn.execute("RELOAD")
    assert [iterations(daemon, u) for u in ("app", "other", "nobody_such")] == [4321, 6000, 4321]
    assert login(daemon, "app", "plain text").simple("select 1") == [["1"]]


def test_more_scram_iterations_than_are_computed_are_a_mistake_at_the_start(lk):
    daemon = lk({"scram_iterations": 1000001}, start=False)
    said = subprocess.run(run_as("QUIT") + [daemon.binary, "check", daemon.ini], capture_output=True, text=True)
    assert said.returncode == 1 and "scram_iterations" in said.stderr


# -- the longest secrets: 65,535 bytes in a message, its NUL among them; PostgreSQL counts the length word too

LONGEST = "".join(chr(33 + i * 7 % 90) for i in range(65534)).replace("'", "x").replace("\\", "x")


def test_a_password_of_64_kb_opens_the_way_to_pooler_and_server(second_pg, lk):
    password = LONGEST[:-4]
    for user in ("u_plain", "u_md5", "u_scram"):
        second_pg.one("set password_encryption = '%s'" % ("md5" if user == "u_md5" else "scram-sha-256"))
        second_pg.one("alter role %s password '%s'" % (user, password))
    app = {"app": {"host": second_pg.host, "port": second_pg.port, "dbname": "app"}}
    listed = dict.fromkeys(("u_plain", "u_md5", "u_scram"), password)
    for auth_type in ("plain", "md5", "scram-sha-256"):
        daemon = lk({"auth_type": auth_type}, databases=app, userlist=listed)
        for user in listed:
            assert login(daemon, user, password).simple("select current_user") == [[user]]
            with pytest.raises(ServerError) as e:
                login(daemon, user, password[:-1] + "?")
            assert e.value.sqlstate == "28P01"
        assert daemon.connect(user="u_plain", password=password).execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize("secret", SECRETS)
def test_a_password_message_of_64_kb_is_read_and_a_longer_one_is_not(lk, secret):
    daemon = lk({"auth_type": "plain"}, userlist={"app": SECRETS[secret]("app", LONGEST)})
    assert login(daemon, "app", LONGEST).simple("select current_user") == [["app"]]
    with pytest.raises((ServerError, rawpg.Closed, OSError)):
        login(daemon, "app", LONGEST + "x")
    daemon.wait_log("expected a password message of at most 65535 bytes")
    assert login(daemon, "app", LONGEST).simple("select 1") == [["1"]]


def test_secrets_never_reach_the_log(lk):
    daemon = lk({"auth_type": "plain", "verbose": 2}, userlist={"app": "hush-hush"})
    login(daemon, "app", "hush-hush").simple("select 1")
    with pytest.raises(ServerError):
        login(daemon, "app", "wrong-hush")
    assert "hush" not in daemon.log
