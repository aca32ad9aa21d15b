"""Reported parameters follow the client from backend to backend."""
import pytest

import rawpg

FOLLOWING = {"application_name": "mine", "client_encoding": "LATIN1", "DateStyle": "German, DMY", "TimeZone": "Europe/Rome",
             "IntervalStyle": "iso_8601", "standard_conforming_strings": "off"}


def taken_by(daemon, count):
    """Clients that hold count backends in transactions, so that others must use the rest."""
    out = []
    for _ in range(count):
        conn = daemon.raw()
        conn.simple("begin")
        out.append(conn)
    return out


@pytest.mark.parametrize("name", FOLLOWING)
def test_a_setting_follows_its_client_to_another_backend(lk, name):
    daemon = lk({"default_pool_size": 2})
    conn, other = daemon.raw(), daemon.raw()
    first = conn.simple("select pg_backend_pid()")[0][0]
    conn.simple("set %s = '%s'" % (name, FOLLOWING[name]))
    assert other.simple("show " + name) != [[FOLLOWING[name]]], "and does not reach others"
    while True:  # whoever holds the first backend makes the client use the second
        holder = taken_by(daemon, 1)[0]
        if holder.simple("select pg_backend_pid()")[0][0] == first:
            break
        holder.simple("commit")
        assert conn.simple("show " + name) == [[FOLLOWING[name]]]
    assert conn.simple("select pg_backend_pid()")[0][0] != first
    assert conn.simple("show " + name) == [[FOLLOWING[name]]]
    assert conn.extended("select current_setting($1)", [name]) == [[FOLLOWING[name]]]


def test_startup_parameters_are_the_clients_own(lk):
    daemon = lk({"default_pool_size": 1})
    a = daemon.raw(application_name="a", TimeZone="Asia/Tokyo", DateStyle="SQL, DMY", client_encoding="LATIN1")
    b = daemon.raw(application_name="b", TimeZone="America/Lima")
    for _ in range(3):
        assert a.simple("select current_setting('application_name'), current_setting('TimeZone')") == [["a", "Asia/Tokyo"]]
        assert b.simple("select current_setting('application_name'), current_setting('TimeZone')") == [["b", "America/Lima"]]
    assert a.simple("select 'è'::text collate \"C\" = chr(232) , current_setting('DateStyle')")[0][1] == "SQL, DMY"
    assert a.params["TimeZone"] == "Asia/Tokyo" and a.params["client_encoding"] == "LATIN1"
    assert b.params["TimeZone"] == "America/Lima"


def test_the_client_is_told_of_its_changes_once(lk):
    conn = lk({"default_pool_size": 1}).raw()
    conn.send(rawpg.query("set application_name = 'told'"))
    assert [m.body for m in conn.until() if m.type == "S"] == [b"application_name\0told\0"]
    conn.send(rawpg.query("select 1"))
    assert [m for m in conn.until() if m.type == "S"] == []


def test_a_rolled_back_set_is_rolled_back_for_the_client(lk):
    daemon = lk({"default_pool_size": 1})
    conn, other = daemon.raw(TimeZone="UTC"), daemon.raw(TimeZone="Asia/Tokyo")
    for sql in ("begin", "set timezone = 'Europe/Rome'", "rollback"):
        conn.simple(sql)
    assert other.simple("show timezone") == [["Asia/Tokyo"]]
    assert conn.simple("show timezone") == [["UTC"]]


def test_a_client_sees_the_parameters_at_login(pg, lk):
    daemon = lk()
    direct = rawpg.RawConn(pg.host, pg.port).login("app", "app")
    conn = daemon.raw()
    for key in ("server_version", "server_encoding", "client_encoding", "DateStyle", "integer_datetimes",
                "standard_conforming_strings"):
        assert conn.params[key] == direct.params[key], key
    direct.close()


def test_unknown_startup_parameters_are_refused_or_ignored_as_set(lk):
    daemon = lk()
    with pytest.raises(rawpg.ServerError) as e:
        daemon.raw(nonsense_setting="1")
    assert "nonsense_setting" in e.value.message
    daemon = lk({"ignore_startup_parameters": "extra_float_digits, nonsense_setting"})
    assert daemon.raw(nonsense_setting="1").simple("select 1") == [["1"]]
    assert daemon.raw(extra_float_digits="3").simple("select 1") == [["1"]]
