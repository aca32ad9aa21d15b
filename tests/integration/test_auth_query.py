"""auth_query: users who are not in auth_file, their secrets read from PostgreSQL by a query of the pooler's own."""
import threading

import psycopg
import pytest

from harness import PASSWORDS, Console, wait_until
from rawpg import ServerError

ASKS = {"auth_user": "postgres", "auth_type": "md5"}


@pytest.fixture(scope="module", autouse=True)
def roles(pg):
    pg.one("set password_encryption = 'scram-sha-256'")
    for role, more in (("aq_changes", "password 'first'"), ("aq_late", "password 'gone' valid until '2001-01-01'"),
                       ("aq_without", ""), ("aq_kept_out", "password 'x' nologin")):
        pg.one("create role %s login %s" % (role, more) if "nologin" not in more
               else "create role %s %s" % (role, more.replace("nologin", "")))
    yield
    for role in ("aq_changes", "aq_late", "aq_without", "aq_kept_out"):
        pg.one("drop role " + role)


def refused(daemon, user, password, **kw):
    with pytest.raises(ServerError) as e:
        daemon.raw(user, "app", password, **kw)
    return e.value


def pool(daemon, database, user):
    """Its row of SHOW POOLS, or None."""
    with daemon.console_connection(password="listed") as conn:
        rows = Console(conn)("SHOW POOLS")
    return next((r for r in rows if (r["database"], r["user"]) == (database, user)), None)


@pytest.fixture
def asking(lk):
    """Factory of daemons with an auth_user; who is listed has the password "listed"."""
    listed = {user: "listed" for user in ("admin", "app", "postgres")}

    def make(settings=None, userlist=None, **kw):
        return lk(dict(ASKS, **(settings or {})), userlist=dict(listed, **(userlist or {})), **kw)
    return make


@pytest.mark.parametrize("auth_type, user", [("md5", "u_md5"), ("md5", "u_scram"), ("scram-sha-256", "u_scram"),
                                             ("plain", "u_md5"), ("plain", "u_scram")])
def test_a_user_whom_only_postgresql_knows_logs_in_here_and_there(asking, auth_type, user):
    daemon = asking({"auth_type": auth_type})
    for _ in range(2):
        conn = daemon.connect(user=user, password=PASSWORDS[user])
        assert conn.execute("select current_user").fetchone() == (user,)
    assert refused(daemon, user, "wrong").sqlstate == "28P01"
    # the wrong one has not taken the right one away
    assert daemon.raw(user, "app", PASSWORDS[user]).simple("select 1") == [["1"]]


@pytest.mark.parametrize("auth_type", ["md5", "scram-sha-256", "plain"])
def test_who_is_unknown_there_too_hears_what_a_wrong_password_hears(asking, auth_type):
    daemon = asking({"auth_type": auth_type})
    said = []
    for user in ("u_scram", "nobody_such", "aq_late", "aq_without", "aq_kept_out"):
        e = refused(daemon, user, "wrong")
        said.append((e.fields["S"], e.sqlstate, e.message.replace(user, "USER")))
    assert len(set(said)) == 1


def test_valid_until_and_nologin_are_honoured_with_the_right_password(asking):
    daemon = asking()
    for user, password in (("aq_late", "gone"), ("aq_kept_out", "x"), ("aq_without", "")):
        assert refused(daemon, user, password).sqlstate == "28P01"


def test_a_changed_password_counts_at_once_after_the_old_one_was_refused(asking, pg):
    daemon = asking()
    assert daemon.raw("aq_changes", "app", "first").simple("select 1") == [["1"]]
    pg.one("alter role aq_changes password 'second'")
    refused(daemon, "aq_changes", "second")  # what was found a moment ago still stands
    assert daemon.raw("aq_changes", "app", "second").simple("select 1") == [["1"]]
    assert refused(daemon, "aq_changes", "first").sqlstate == "28P01"
    pg.one("alter role aq_changes password 'first'")


def test_auth_dbname_says_where_and_the_database_line_goes_first(asking, pg):
    where = {"host": pg.host, "port": pg.port}
    daemon = asking(dict(auth_dbname="lookups"), databases={
        "app": dict(where, dbname="app"), "lookups": dict(where, dbname="postgres"),
        "own": dict(where, dbname="app", auth_query="select usename, 'plain of ' || usename from pg_shadow where usename = $1",
                    auth_dbname="app")})
    assert daemon.raw("u_scram", "app", PASSWORDS["u_scram"]).simple("select current_database()") == [["app"]]
    assert pool(daemon, "lookups", "postgres") and not pool(daemon, "app", "postgres")
    with pytest.raises(ServerError):
        daemon.raw("u_scram", "own", PASSWORDS["u_scram"])
    # the right one for here is no password of the server's
    with pytest.raises(ServerError) as e:
        daemon.raw("u_scram", "own", "plain of u_scram").simple("select 1")
    assert "password authentication failed" in e.value.message
    assert pool(daemon, "app", "postgres")


def test_an_auth_dbname_that_is_no_database_is_told(asking):
    daemon = asking({"auth_dbname": "nowhere"})
    assert refused(daemon, "u_scram", "x").message == "bouncer config error"
    daemon.wait_log('auth_dbname "nowhere" is no database')


def test_a_query_that_fails_is_told_in_the_log_and_closes_the_login(asking):
    daemon = asking(dict(auth_query="select rolname, nothing from pg_authid where rolname = $1"))
    assert refused(daemon, "u_scram", "x").message == "bouncer config error"
    daemon.wait_log('42703 column "nothing" does not exist')


def test_a_query_that_gives_another_user_or_several_rows_lets_nobody_in(asking):
    for query in ("select 'postgres', 'md5' || md5('x' || $1)", "select rolname, 'x' from pg_authid where $1 > ''"):
        daemon = asking(dict(auth_type="plain", auth_query=query))
        assert refused(daemon, "u_scram", "x").message == "bouncer config error"


def test_a_search_path_and_temporary_tables_that_a_client_left_do_not_fool_it(asking, pg):
    """The auth_user logs in through the pooler, too, and leaves its backend with a pg_authid of its own making."""
    pg.one("create schema if not exists evil_aq", dbname="app")
    pg.one("create or replace view evil_aq.pg_authid as select name 'u_scram' rolname, text 'opened' rolpassword,"
           " true rolcanlogin, null::timestamptz rolvaliduntil", dbname="app")
    daemon = asking({"auth_type": "plain", "default_pool_size": 1})
    with daemon.connect(user="postgres", password="listed") as conn:
        conn.execute("set search_path = evil_aq, pg_catalog")
        conn.execute("create temp table pg_authid as select * from evil_aq.pg_authid")
        pid = conn.info.backend_pid
        assert conn.execute("select rolpassword from pg_authid").fetchall() == [("opened",)]
    assert pid
    assert refused(daemon, "u_scram", "opened").sqlstate == "28P01"
    assert daemon.raw("u_scram", "app", PASSWORDS["u_scram"]).simple("select 1") == [["1"]]
    # and what the client had set is as it was
    with daemon.connect(user="postgres", password="listed") as conn:
        assert conn.execute("show search_path").fetchone() == ("evil_aq, pg_catalog",)
    pg.one("drop schema evil_aq cascade", dbname="app")


def test_a_lock_that_the_query_takes_is_not_left_on_its_backend(asking, pg):
    daemon = asking(dict(auth_query="select usename, passwd from pg_shadow where usename = $1 and"
                                      " pg_advisory_lock(870001) is not null"))
    assert daemon.raw("u_scram", "app", PASSWORDS["u_scram"]).simple("select 1") == [["1"]]
    wait_until(lambda: not [l for l in pg.locks() if l[4] == "870001"], what="the lock is gone")
    wait_until(lambda: pool(daemon, "app", "postgres")["sv_idle"] == 1, what="the backend is free again")


def test_many_logins_at_once_share_one_query(asking, pg):
    pg.one("create sequence if not exists aq_count", dbname="app")
    daemon = asking(dict(auth_query="select usename, passwd from pg_shadow where usename = $1 and"
                                      " nextval('public.aq_count') > 0"))
    before = pg.one("select last_value from aq_count", dbname="app")[0][0]
    said = []

    def log_in():
        with psycopg.connect(host=daemon.host, port=daemon.port, dbname="app", user="u_md5", password=PASSWORDS["u_md5"]) as c:
            said.append(c.execute("select 1").fetchone())

    threads = [threading.Thread(target=log_in) for _ in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert said == [(1,)] * 20
    assert pg.one("select last_value from aq_count", dbname="app")[0][0] - before <= 1
    pg.one("drop sequence aq_count", dbname="app")


def test_it_waits_for_a_backend_no_longer_than_a_login_may_take(asking):
    daemon = asking({"default_pool_size": 1, "client_login_timeout": 1, "auth_type": "plain"})
    holder = daemon.connect(user="postgres", password="listed", autocommit=False)
    holder.execute("select 1")
    e = refused(daemon, "u_scram", PASSWORDS["u_scram"])
    assert e.message in ("client_login_timeout", "no server in time")
    holder.rollback()
    assert daemon.raw("u_scram", "app", PASSWORDS["u_scram"]).simple("select 1") == [["1"]]


def test_it_makes_room_for_itself_at_the_databases_limit(asking):
    daemon = asking({"max_db_connections": 1})
    assert daemon.connect(password="listed").execute("select 1").fetchone() == (1,)
    assert daemon.raw("u_md5", "app", PASSWORDS["u_md5"]).simple("select current_user") == [["u_md5"]]


def test_a_backend_that_dies_under_the_query_fails_that_login_only(asking, pg):
    daemon = asking(dict(auth_type="plain", auth_query="select usename, passwd from pg_shadow where usename = $1 and"
                                      " pg_terminate_backend(pg_backend_pid()) is not null and $1 = 'u_md5'"
                                      " union all select usename, passwd from pg_shadow where usename = $1 and $1 <> 'u_md5'"))
    assert refused(daemon, "u_md5", "x").message
    assert daemon.raw("u_scram", "app", PASSWORDS["u_scram"]).simple("select 1") == [["1"]]


def test_a_user_of_auth_file_needs_no_query(asking, pg):
    daemon = asking({"auth_type": "plain"}, userlist={"u_scram": "for here only"}, databases={
        "app": {"host": pg.host, "port": pg.port, "dbname": "app", "user": "app"}})
    assert daemon.raw("u_scram", "app", "for here only").simple("select current_user") == [["app"]]
    assert refused(daemon, "u_scram", PASSWORDS["u_scram"]).sqlstate == "28P01"
    assert pool(daemon, "app", "postgres") is None


def test_the_user_who_asks_is_another_than_the_one_that_the_database_line_forces(asking, pg):
    daemon = asking(databases={"app": {"host": pg.host, "port": pg.port, "dbname": "app", "user": "app"}})
    assert daemon.raw("u_md5", "app", PASSWORDS["u_md5"]).simple("select current_user") == [["app"]]
    assert pool(daemon, "app", "postgres")
    with daemon.console_connection(password="listed") as conn:
        conn.execute("RELOAD")
    assert daemon.raw("u_scram", "app", PASSWORDS["u_scram"]).simple("select current_user") == [["app"]]


def test_an_asking_user_may_have_an_empty_search_path(asking, pg):
    pg.one("create role aq_bare superuser login")
    try:
        with pg.connect("app", "aq_bare") as conn:
            conn.execute("select set_config('search_path', '', false)")
            conn.execute("alter role aq_bare set search_path from current")
        with pg.connect("app", "aq_bare") as conn:
            assert conn.execute("select reset_val from pg_settings where name = 'search_path'").fetchone() == ("",)
        daemon = asking({"auth_user": "aq_bare"}, userlist={"aq_bare": "listed"})
        assert daemon.raw("u_md5", "app", PASSWORDS["u_md5"]).simple("select 1") == [["1"]]
        assert daemon.stop() is None
    finally:
        pg.end_backends()
        pg.one("drop role aq_bare")
