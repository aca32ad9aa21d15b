"""Limits of how many and how long, and what clients are told of them."""
import pytest

import rawpg
from harness import wait_until
from test_pooling import fatal


def base(pg, **more):
    return dict({"host": pg.host, "port": pg.port, "dbname": "app"}, **more)


def refusal(daemon, user="app", database="app"):
    """What a login is refused with: its SQLSTATE and message."""
    conn = daemon.raw_socket()
    with pytest.raises(rawpg.ServerError) as e:
        conn.login(user, database)
    return e.value.fields["C"], e.value.fields["M"]


@pytest.mark.parametrize("where", ["general", "database"])
def test_a_database_has_so_many_clients(pg, lk, where):
    limit = {"max_db_client_connections": 2}
    daemon = lk(limit if where == "general" else {"max_db_client_connections": 1},
                databases={"app": base(pg, **(limit if where == "database" else {})), "second": base(pg)})
    a, b = daemon.raw(), daemon.raw(user="other")
    assert refusal(daemon) == ("53300", "no more connections allowed (max_db_client_connections)")
    assert daemon.raw(database="second").simple("select 1") == [["1"]]
    assert daemon.console("SHOW VERSION")
    a.close()
    wait_until(lambda: len([r for r in daemon.console("SHOW CLIENTS") if r["database"] == "app"]) == 1)
    assert daemon.raw().simple("select 1") == [["1"]]
    assert b.simple("select 1") == [["1"]]
    row = [r for r in daemon.console("SHOW DATABASES") if r["name"] == "app"][0]
    assert (row["max_client_connections"], row["current_client_connections"]) == (2, 2)


@pytest.mark.parametrize("where", ["general", "user"])
def test_a_user_has_so_many_clients(pg, lk, where):
    limit = {"max_user_client_connections": 2}
    daemon = lk(limit if where == "general" else {"max_user_client_connections": 1},
                users={"app": limit} if where == "user" else None, databases={"app": base(pg), "second": base(pg)})
    held = daemon.raw(), daemon.raw(database="second")
    assert refusal(daemon, database="second") == ("53300", "no more connections allowed (max_user_client_connections)")
    assert daemon.raw(user="other").simple("select 1") == [["1"]]
    row = [r for r in daemon.console("SHOW USERS") if r["name"] == "app"][0]
    assert (row["max_user_client_connections"], row["current_client_connections"]) == (2, 2)
    assert [c.simple("select 1") for c in held] == [[["1"]], [["1"]]]


def test_a_refused_client_takes_no_room(pg, lk):
    daemon = lk({"max_db_client_connections": 2, "max_user_client_connections": 1})
    held = daemon.raw()
    for _ in range(3):
        assert refusal(daemon)[1] == "no more connections allowed (max_user_client_connections)"
    assert daemon.raw(user="other").simple("select 1") == [["1"]]
    assert held.simple("select 1") == [["1"]]


def test_a_reload_changes_the_limits_for_those_who_come(pg, lk):
    daemon = lk({"max_db_client_connections": 1})
    held = daemon.raw()
    assert refusal(daemon)[0] == "53300"
    daemon.write(max_db_client_connections=2)
    daemon.reload()
    more = daemon.raw()
    daemon.write(max_db_client_connections=1)
    daemon.reload()
    assert refusal(daemon)[0] == "53300"
    assert [c.simple("select 1") for c in (held, more)] == [[["1"]], [["1"]]]


@pytest.mark.parametrize("where", ["general", "user"])
def test_a_user_has_so_many_backends_over_all_databases(pg, lk, where):
    limit = {"max_user_connections": 2}
    daemon = lk(limit if where == "general" else {}, users={"app": limit} if where == "user" else None,
                databases={"app": base(pg), "second": base(pg)})
    a, b, c = daemon.raw(), daemon.raw(database="second"), daemon.raw(database="second")
    a.simple("begin")
    b.simple("begin")
    c.send(rawpg.query("select 1"))
    wait_until(lambda: daemon.pool("second")["cl_waiting"] == 1)
    other = daemon.raw(user="other")
    assert other.simple("select 1") == [["1"]]
    by_app = "select 1 from pg_stat_activity where usename = 'app' and datname = 'app'"
    assert len(pg.one(by_app)) == 2
    a.simple("commit")
    assert c.rows() == [["1"]], "the idle backend of the other database makes room"
    assert len(pg.one(by_app)) <= 2


@pytest.mark.parametrize("where", ["general", "user"])
def test_transaction_timeout_ends_a_long_transaction(pg, lk, where):
    limit = {"transaction_timeout": 1}
    daemon = lk(limit if where == "general" else {}, users={"app": limit} if where == "user" else None)
    conn = daemon.raw()
    conn.simple("begin")
    conn.simple("select 1")
    error = fatal(conn)
    assert (error["S"], error["M"]) == ("FATAL", "transaction timeout")
    busy = daemon.raw()
    busy.send(rawpg.query("select pg_sleep(60)"))
    assert fatal(busy)["M"] == "transaction timeout"
    wait_until(lambda: not pg.one("select 1 from pg_stat_activity where wait_event = 'PgSleep'"),
               what="it no longer runs")


def test_a_client_that_waits_for_a_backend_gets_a_notice(pg, lk):
    daemon = lk({"default_pool_size": 1, "query_wait_notify": 1})
    a = daemon.raw()
    a.simple("begin")
    b = daemon.connect()
    notes = []
    b.add_notice_handler(lambda d: notes.append((d.severity, d.sqlstate, d.message_primary)))
    b.pgconn.send_query(b"select 1")
    text = "No server connection available in postgres backend, client being queued"

    def noticed():
        b.pgconn.consume_input()
        b.pgconn.is_busy()
        return notes
    wait_until(noticed)
    assert notes == [("NOTICE", "00000", text)]
    a.simple("commit")
    assert b.pgconn.get_result().get_value(0, 0) == b"1"


def test_a_client_is_greeted_with_the_message_of_the_settings(pg, lk):
    daemon = lk({"login_notify_message": "maintenance at noon; be brief"})
    conn = daemon.raw_socket()
    conn.send(rawpg.startup_packet({"user": "app", "database": "app"}))
    greeting = conn.until()
    notes = [rawpg.fields(m.body) for m in greeting if m.type == "N"]
    assert [(n["S"], n["M"]) for n in notes] == [("NOTICE", "maintenance at noon; be brief")]
    assert conn.simple("select 1") == [["1"]]
