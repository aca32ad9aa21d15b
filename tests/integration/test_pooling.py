"""Who gets a backend, how many there are, and how long anyone waits."""
import psycopg
import pytest

import rawpg
from harness import wait_until


def pid_of(conn):
    return int(conn.simple("select pg_backend_pid()")[0][0])


def wait_waiting(daemon, count, **kw):
    wait_until(lambda: daemon.pool(**kw)["cl_waiting"] == count, what="%d clients wait" % count)


def fatal(conn):
    """The message of the error that ends a client."""
    errors = [rawpg.fields(m.body) for m in conn.until_closed() if m.type == "E"]
    assert errors, "closed without a word"
    return errors[-1]


def test_transaction_mode_shares_a_backend_between_transactions(lk):
    daemon = lk({"default_pool_size": 1})
    a, b = daemon.raw(), daemon.raw()
    pid = pid_of(a)
    assert pid_of(b) == pid and pid_of(a) == pid
    a.simple("begin")
    b.send(rawpg.query("select 2"))
    wait_waiting(daemon, 1)
    assert b.quiet(0)
    a.simple("commit")
    assert b.rows() == [["2"]]


def test_session_mode_keeps_the_backend_until_the_client_leaves(lk):
    daemon = lk({"pool_mode": "session", "default_pool_size": 1})
    a, b = daemon.raw(), daemon.raw()
    pid = pid_of(a)
    a.simple("set work_mem = '7MB'")
    b.send(rawpg.query("select pg_backend_pid()"))
    wait_waiting(daemon, 1)
    assert a.simple("show work_mem") == [["7MB"]]
    a.send(rawpg.terminate())
    assert b.rows() == [[str(pid)]]
    assert b.simple("show work_mem") != [["7MB"]], "server_reset_query has run"


def test_session_mode_without_a_reset_query_keeps_the_settings(lk):
    daemon = lk({"pool_mode": "session", "default_pool_size": 1, "server_reset_query": ""})
    with daemon.connect() as a:
        a.execute("set work_mem = '7MB'")
    assert daemon.connect().execute("show work_mem").fetchone() == ("7MB",)


def test_transaction_mode_runs_the_reset_query_only_if_always(lk):
    for always, wanted in ((0, "7MB"), (1, "4MB")):
        daemon = lk({"default_pool_size": 1, "server_reset_query": "reset work_mem", "server_reset_query_always": always})
        daemon.connect().execute("set work_mem = '7MB'")
        assert daemon.connect().execute("show work_mem").fetchone() == (wanted,)


def test_statement_pools_never_grow_beyond_their_size(pg, lk):
    daemon = lk({"default_pool_size": 3})
    conns = [daemon.raw() for _ in range(10)]
    for c in conns:
        c.send(rawpg.query("select pg_backend_pid() from pg_sleep(0.02)"))
    assert len({tuple(c.rows()[0]) for c in conns}) == 3


def test_first_come_first_served(lk):
    daemon = lk({"default_pool_size": 1})
    holder = daemon.raw()
    holder.simple("begin")
    holder.simple("create temp sequence turn")
    waiting = []
    for n in range(5):
        c = daemon.raw()
        c.send(rawpg.query("select nextval('turn')"))
        waiting.append(c)
        wait_waiting(daemon, n + 1)
    holder.simple("commit")
    assert [c.rows()[0][0] for c in waiting] == ["1", "2", "3", "4", "5"]


def test_pool_size_of_a_database_wins_over_the_default(pg, lk):
    base = {"host": pg.host, "port": pg.port, "dbname": "app"}
    daemon = lk({"default_pool_size": 3}, databases={"app": dict(base, pool_size=1), "more": base})
    a, b = daemon.raw(), daemon.raw()
    a.simple("begin")
    b.send(rawpg.query("select 1"))
    wait_waiting(daemon, 1)
    c, d = daemon.raw(database="more"), daemon.raw(database="more")
    c.simple("begin")
    assert d.simple("select 1") == [["1"]]


def test_each_database_and_user_has_its_own_pool(lk):
    daemon = lk({"default_pool_size": 1})
    a, b = daemon.raw(), daemon.raw(user="other")
    a.simple("begin")
    assert b.simple("select current_user") == [["other"]]
    assert a.simple("select current_user") == [["app"]]


def test_the_reserve_pool_helps_who_waits_too_long(pg, lk):
    daemon = lk({"default_pool_size": 1, "reserve_pool_size": 1, "reserve_pool_timeout": 1})
    a, b, c = daemon.raw(), daemon.raw(), daemon.raw()
    a.simple("begin")
    b.send(rawpg.query("begin"))
    wait_waiting(daemon, 1)
    b.rows()
    assert len(pg.backends()) == 2
    c.send(rawpg.query("select 1"))
    wait_waiting(daemon, 1)
    a.simple("commit")
    assert c.rows() == [["1"]]


def test_min_pool_size_is_kept_open(pg, lk):
    daemon = lk({"default_pool_size": 5, "min_pool_size": 3})
    daemon.connect().execute("select 1")
    wait_until(lambda: len(pg.backends()) == 3, what="three backends are open")


def test_max_client_conn_refuses_the_next_client(lk):
    daemon = lk({"max_client_conn": 3})
    conns = [daemon.raw() for _ in range(3)]
    with pytest.raises(rawpg.ServerError) as e:
        daemon.raw()
    assert e.value.sqlstate == "53300"
    assert e.value.message == "no more connections allowed (max_client_conn)"
    conns[0].send(rawpg.terminate())
    conns[0].until_closed()

    def again():
        try:
            return daemon.raw()
        except rawpg.ServerError:
            return None
    assert wait_until(again).simple("select 1") == [["1"]]


def test_max_db_connections_binds_all_users_of_a_database(pg, lk):
    daemon = lk({"default_pool_size": 5, "max_db_connections": 2})
    a, b = daemon.raw(), daemon.raw(user="other")
    a.simple("begin")
    b.simple("begin")
    c = daemon.raw()
    c.send(rawpg.query("select 1"))
    wait_waiting(daemon, 1)
    assert len(pg.backends()) == 2
    b.simple("commit")
    assert c.rows() == [["1"]], "an idle backend of the other user makes room"
    assert len(pg.backends()) <= 2


def test_a_client_that_waits_too_long_for_a_backend_is_told(lk):
    daemon = lk({"default_pool_size": 1, "query_wait_timeout": 1})
    a, b = daemon.raw(), daemon.raw()
    a.simple("begin")
    b.send(rawpg.query("select 1"))
    assert fatal(b)["M"] == "query_wait_timeout"
    assert a.simple("select 1") == [["1"]]


def test_a_client_that_waits_for_a_pinned_backend_is_told_why(lk):
    daemon = lk({"default_pool_size": 1, "query_wait_timeout": 1})
    a, b = daemon.raw(application_name="greedy"), daemon.raw()
    a.simple("select pg_advisory_lock(9990)")
    b.send(rawpg.query("select 1"))
    error = fatal(b)
    assert error["M"] == "query_wait_timeout"
    assert a.simple("select pg_advisory_unlock(9990)") == [["t"]]


def test_query_timeout_ends_a_long_query(pg, lk):
    daemon = lk({"query_timeout": 1})
    conn = daemon.raw()
    conn.send(rawpg.query("select pg_sleep(60)"))
    assert fatal(conn)["M"] == "query_timeout"
    wait_until(lambda: not pg.one("select 1 from pg_stat_activity where wait_event = 'PgSleep'"), what="it no longer runs")


def test_idle_transaction_timeout_ends_who_idles_in_a_transaction(pg, lk):
    daemon = lk({"idle_transaction_timeout": 1, "default_pool_size": 1})
    conn, other = daemon.raw(), daemon.raw()
    conn.simple("begin")
    assert fatal(conn)["M"] == "idle transaction timeout"
    assert other.simple("select 1") == [["1"]]


def test_client_idle_timeout_ends_an_idle_client(lk):
    daemon = lk({"client_idle_timeout": 1})
    conn = daemon.raw()
    conn.simple("select 1")
    assert fatal(conn)["M"] == "client_idle_timeout"


def test_client_login_timeout_ends_who_says_nothing(lk):
    daemon = lk({"client_login_timeout": 1})
    conn = daemon.raw_socket()
    messages = conn.until_closed()
    assert len(messages) <= 1
    assert daemon.raw().simple("select 1") == [["1"]]


@pytest.mark.parametrize("setting", ["server_lifetime", "server_idle_timeout"])
def test_idle_backends_are_closed_in_time(pg, lk, setting):
    daemon = lk({setting: 1})
    conn = daemon.raw()
    pid = pid_of(conn)
    wait_until(lambda: pid not in pg.backends(), what="the backend is closed")
    assert pid_of(conn) != pid


def test_server_lifetime_spares_a_transaction(pg, lk):
    daemon = lk({"server_lifetime": 1})
    conn = daemon.raw()
    conn.simple("begin")
    pid = pid_of(conn)
    old = "select 1 from pg_stat_activity where pid = %s and now() - backend_start > '2 s'"
    wait_until(lambda: pg.one(old, (pid,)), what="the backend is older than its lifetime")
    assert pid_of(conn) == pid
    conn.simple("commit")
    wait_until(lambda: pid not in pg.backends())


def test_a_backend_that_fails_its_check_query_is_not_lent(pg, lk):
    pg.one("drop table if exists health; create table health(a int); grant all on health to public", dbname="app")
    daemon = lk({"server_check_query": "select a from health", "server_check_delay": 0, "default_pool_size": 1,
                 "server_login_retry": 1})
    conn = daemon.raw()
    pid = pid_of(conn)
    assert pid_of(conn) == pid
    pg.one("drop table health", dbname="app")
    conn.send(rawpg.query("select pg_backend_pid()"))
    wait_until(lambda: pid not in pg.backends(), what="the failed backend is closed")
    pg.one("create table health(a int); grant all on health to public", dbname="app")
    assert conn.rows() != [[str(pid)]]


def test_any_other_database_is_served_by_the_star(pg, lk):
    daemon = lk(databases={"*": {"host": pg.host, "port": pg.port}, "alias": {"host": pg.host, "port": pg.port, "dbname": "app"}})
    assert daemon.raw(database="app2").simple("select current_database()") == [["app2"]]
    assert daemon.raw(database="alias").simple("select current_database()") == [["app"]]
    with pytest.raises(rawpg.ServerError) as e:
        daemon.raw(database="nowhere").simple("select 1")
    assert "nowhere" in e.value.message


def test_a_database_with_a_forced_user_and_a_connect_query(pg, lk):
    daemon = lk(databases={"app": {"host": pg.host, "port": pg.port, "user": "other", "connect_query": "set work_mem = '9MB'"}})
    assert daemon.raw().simple("select current_user, current_setting('work_mem')") == [["other", "9MB"]]


def test_pool_mode_may_differ_by_database_and_user(pg, lk):
    base = {"host": pg.host, "port": pg.port, "dbname": "app"}
    daemon = lk({"default_pool_size": 1}, databases={"app": base, "whole": dict(base, pool_mode="session")},
                users={"other": {"pool_mode": "session"}})
    for kw, mode in (({"database": "whole"}, "session"), ({"user": "other"}, "session"), ({}, "transaction")):
        conn = daemon.raw(**kw)
        conn.simple("select 1")
        assert daemon.pool(kw.get("database", "app"), kw.get("user", "app"))["pool_mode"] == mode


def test_pools_that_nobody_uses_go(pg, lk):
    base = {"host": pg.host, "port": pg.port, "dbname": "app"}
    daemon = lk({"autodb_idle_timeout": 1, "server_idle_timeout": 1}, databases={"app": base, "*": base})
    for database in ("app", "any"):
        conn = daemon.raw(database=database)
        conn.simple("select 1")
        conn.send(rawpg.terminate())
    wait_until(lambda: daemon.pool("any") is None, what="the pool of the * line is gone")
    assert daemon.pool("app")["sv_idle"] + daemon.pool("app")["sv_active"] <= 1
    assert daemon.raw(database="any").simple("select 2") == [["2"]]
    daemon.write(pool_idle_timeout=1)
    daemon.reload()
    wait_until(lambda: daemon.pool("app") is None, what="the idle pool is gone")
    wait_until(lambda: len(pg.backends()) == 1, what="its servers are closed")


def test_psycopg2_and_psycopg3_work_side_by_side(lk):
    daemon = lk({"default_pool_size": 2})
    old, new = daemon.connect2(autocommit=False), daemon.connect(autocommit=False)
    cur = old.cursor()
    cur.execute("create temp table pairs(a int) on commit drop")
    cur.execute("insert into pairs select generate_series(1, %s)", (5,))
    cur.execute("select count(*) from pairs")
    assert cur.fetchone() == (5,)
    assert new.execute("select %s::int", (3,)).fetchone() == (3,)
    old.commit()
    new.rollback()
    with pytest.raises(psycopg.errors.UndefinedTable):
        new.execute("select * from pairs")
