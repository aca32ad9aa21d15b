"""Servers and settings that stand in the way of finding locks and of freeing them: none passes to the next client."""
import pytest

import rawpg
from harness import wait_until
from locklib import HIDDEN_SQL, held, wait_held

DATABASE = "awkward"


@pytest.fixture(scope="module")
def awkward(pg):
    pg.one("create database %s owner app" % DATABASE)
    pg.one("create role powerless; grant powerless to app")
    pg.one(HIDDEN_SQL, dbname=DATABASE, user="app")
    yield DATABASE
    pg.one("drop database %s with (force)" % DATABASE)
    pg.one("drop role powerless")


@pytest.fixture
def one(pg, lk, awkward):
    """Factory of daemons with one backend in the database."""
    def make(settings=None, **more):
        at = dict({"host": pg.host, "port": pg.port, "dbname": DATABASE}, **more)
        return lk(dict({"default_pool_size": 1}, **(settings or {})), databases={"app": at})
    return make


@pytest.fixture
def superuser(pg, awkward):
    """Runs statements in the database, and others that take them back when the test is over."""
    undo = []

    def run(sql, back):
        undo.append(back)
        pg.one(sql, dbname=DATABASE)
    yield run
    for sql in undo:
        pg.one(sql, dbname=DATABASE)


def left_by(pg, daemon, conn):
    """The client leaves: the records of what it left, once its backend is clean."""
    pid = pid_of(conn)
    conn.send(rawpg.terminate())
    conn.close()
    wait_held(pg, dbname=DATABASE)
    wait_until(lambda: daemon.pool()["sv_idle"] == 1, what="the backend is at home")
    assert pid in pg.backends(DATABASE), "freed on a backend that lives"
    return wait_until(lambda: daemon.leaks("leak"), what="it is told")


def pid_of(conn):
    return int(conn.simple("select pg_backend_pid()")[0][0])


def test_p01_what_connect_query_locks_is_freed_before_the_backend_is_lent(pg, one):
    daemon = one(connect_query="select pg_advisory_lock(22001), take(22002)")
    conn = daemon.raw()
    assert conn.simple("select count(*) from pg_locks where locktype = 'advisory'") == [["0"]]
    assert conn.simple("select pg_try_advisory_lock(22001), pg_advisory_unlock(22002)") == [["t", "f"]]


def test_p02_a_role_that_may_not_reset_is_cleaned_in_another_way(pg, one, superuser):
    superuser("revoke execute on function pg_advisory_unlock_all() from public; "
              "grant execute on function pg_advisory_unlock_all() to app",
              "grant execute on function pg_advisory_unlock_all() to public")
    daemon = one()
    conn = daemon.raw()
    conn.simple("begin")
    conn.simple("set role powerless; select pg_advisory_lock(22003)")
    conn.simple("commit")
    leak, = left_by(pg, daemon, conn)
    assert (leak["lock"]["key"], leak["action"]) == ("22003", "discard_all")


def test_p01_a_session_that_speaks_for_another_role_is_cleaned_as_its_own(pg, lk, awkward):
    at = {"host": pg.host, "port": pg.port, "dbname": DATABASE}
    daemon = lk({"default_pool_size": 1}, databases={"app": at})
    conn = daemon.raw(user="postgres")
    conn.simple("begin")
    conn.simple("set session authorization powerless")
    conn.simple("select pg_advisory_lock(22004)")
    conn.simple("commit")
    conn.send(rawpg.terminate())
    conn.close()
    wait_until(lambda: [r["lock"]["key"] for r in daemon.leaks("leak")] == ["22004"], what="it is told")
    assert daemon.raw(user="postgres").simple("select session_user") == [["postgres"]]
    wait_held(pg, dbname=DATABASE)


@pytest.mark.parametrize("call, key", [("pg_advisory_lock(22005)", "22005"), ("take(22006)", None)])
def test_p01_p03_where_pg_locks_may_not_be_read_the_reset_frees_all_the_same(pg, one, superuser, call, key):
    superuser("revoke select on pg_locks from public", "grant select on pg_locks to public")
    daemon = one()
    conn = daemon.raw()
    conn.simple("select " + call)
    if key:
        assert held(pg, DATABASE) == [key + " X"], "what the answer tells needs no look"
    leak, = left_by(pg, daemon, conn)
    assert leak["lock"]["key"] == key, "null where nobody could look"


def test_p03_a_search_path_of_the_clients_does_not_fool_the_probe(pg, one, superuser):
    superuser("create schema evil; create view evil.pg_locks as select 1 as none; "
              "create function evil.never(a text, b text) returns bool language sql as 'select false'; "
              "create operator evil.= (leftarg = text, rightarg = text, function = evil.never); "
              "grant usage on schema evil to app", "drop schema evil cascade")
    daemon = one()
    conn = daemon.raw()
    conn.simple("begin")
    conn.simple("set search_path = evil, pg_catalog, public; select take(22007)")
    conn.simple("commit")
    assert held(pg, DATABASE) == ["22007 X"]
    assert [r["lock"]["key"] for r in left_by(pg, daemon, conn)] == ["22007"]


def test_p03_a_probe_whose_statement_was_dropped_unseen_is_asked_again(pg, one):
    daemon = one()
    conn = daemon.raw()
    conn.simple("select take(22008), give(22008)")
    conn.simple("do $$ begin execute 'deal' || 'locate all'; perform take(22009); end $$")
    wait_until(lambda: daemon.leaks("pin"), what="a probe has found it")
    assert conn.simple("select pg_try_advisory_lock(22009)") == [["t"]] and held(pg, DATABASE) == ["22009 X"]
    assert [r["lock"]["key"] for r in left_by(pg, daemon, conn)] == ["22009"]


def test_p01_a_statement_timeout_of_the_clients_does_not_keep_its_lock_alive(pg, one):
    daemon = one()
    conn = daemon.raw()
    conn.simple("set statement_timeout = 20")
    conn.send(rawpg.query("select take(22010), pg_sleep(1)"))
    assert [rawpg.fields(m.body)["C"] for m in conn.until() if m.type == "E"] == ["57014"]
    assert len(left_by(pg, daemon, conn)) == 1


def test_p04_a_call_that_only_backslashes_reveal_is_kept_and_told(pg, one):
    daemon = one()
    conn = daemon.raw()
    conn.simple("begin")
    conn.simple("set local standard_conforming_strings = off")
    assert conn.simple("select 'a\\'', pg_advisory_lock(22011) --'") == [["a'", ""]]
    conn.simple("commit")
    assert pid_of(conn) and held(pg, DATABASE) == ["22011 X"]
    assert [r["lock"]["key"] for r in left_by(pg, daemon, conn)] == ["22011"]


def test_p04_a_call_that_only_a_client_encoding_reveals_is_kept_and_told(pg, one):
    """In SJIS the second byte of a character may be a backslash; within E'…' it is none."""
    daemon = one()
    conn = daemon.raw(client_encoding="SJIS")
    sql = b"select E'\x83\x5c', pg_advisory_lock(22012) --'"
    conn.send(rawpg.frame("Q", sql + b"\0"))
    assert [m.type for m in conn.until() if m.type == "E"] == []
    conn.simple("select 1")
    assert held(pg, DATABASE) == ["22012 X"]
    assert [r["lock"]["key"] for r in left_by(pg, daemon, conn)] == ["22012"]
