"""pool_mode = statement: a backend for one statement."""
import psycopg
import pytest

import rawpg
from harness import wait_until
from locklib import leak_of
from test_pooling import fatal

REFUSAL = "transaction blocks not allowed in statement pooling mode"


@pytest.fixture
def daemon(lk):
    return lk({"pool_mode": "statement", "default_pool_size": 1})


def pid_of(conn):
    return int(conn.simple("select pg_backend_pid()")[0][0])


def test_clients_share_a_backend_between_statements(daemon):
    a, b = daemon.raw(), daemon.raw()
    assert len({pid_of(a), pid_of(b), pid_of(a)}) == 1
    assert daemon.pool()["pool_mode"] == "statement"


@pytest.mark.parametrize("extended", [False, True])
def test_a_transaction_block_ends_the_client_and_not_the_backend(pg, daemon, extended):
    conn, other = daemon.raw(), daemon.raw()
    pid = pid_of(conn)
    if extended:
        conn.send(rawpg.parse("", "begin"), rawpg.bind(), rawpg.execute(), rawpg.sync())
    else:
        conn.send(rawpg.query("begin"))
    error = fatal(conn)
    assert (error["S"], error["C"], error["M"]) == ("FATAL", "08P01", REFUSAL)
    assert pid_of(other) == pid
    state = "select state from pg_stat_activity where pid = %s"
    wait_until(lambda: pg.one(state, (pid,)) == [("idle",)], what="it is idle, and not in a transaction")


def test_a_driver_that_begins_transactions_is_told(daemon):
    conn = daemon.connect(autocommit=False)
    with pytest.raises(psycopg.OperationalError, match=REFUSAL):
        conn.execute("select 1")
        conn.execute("select 1")


def test_several_statements_in_one_query_are_one_transaction(pg, daemon):
    conn = daemon.raw()
    conn.simple("create table if not exists stm (id int)")
    conn.simple("begin; insert into stm values (1); commit")
    with pytest.raises(rawpg.ServerError):
        conn.simple("insert into stm values (2); select 1/0")
    assert conn.simple("select id from stm") == [["1"]]
    conn.simple("drop table stm")


def test_prepared_statements_follow_the_client(daemon):
    a, b = daemon.connect(), daemon.connect()
    for conn in (a, b, a, b):
        for n in range(7):
            assert conn.execute("select %s::int + 1", (n,), prepare=True).fetchone() == (n + 1,)


def test_a_session_lock_pins_and_its_release_unpins(pg, daemon):
    a, b = daemon.raw(), daemon.raw()
    a.simple("select pg_advisory_lock(8181)")
    b.send(rawpg.query("select 1"))
    wait_until(lambda: daemon.pool()["cl_waiting"] == 1)
    assert a.simple("select pg_advisory_unlock(8181)") == [["t"]]
    assert b.rows() == [["1"]]
    assert pg.locks() == []


def test_a_lock_left_behind_is_told_and_freed(pg, daemon):
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(8182)")
    conn.close()
    assert leak_of(daemon, "8182")
    wait_until(lambda: pg.locks() == [])


def test_a_database_or_user_may_have_the_mode_alone(pg, lk):
    base = {"host": pg.host, "port": pg.port, "dbname": "app"}
    daemon = lk(databases={"app": base, "stm": dict(base, pool_mode="statement")},
                users={"other": {"pool_mode": "statement"}})
    assert daemon.raw().simple("begin") == []
    for conn in (daemon.raw(database="stm"), daemon.raw(user="other")):
        conn.send(rawpg.query("begin"))
        assert fatal(conn)["M"] == REFUSAL


def test_copy_runs_as_one_statement(daemon):
    conn = daemon.connect()
    conn.execute("create table if not exists stc (id int)")
    with conn.cursor().copy("copy stc from stdin") as copy:
        for n in range(100):
            copy.write_row((n,))
    assert conn.execute("select count(*) from stc").fetchone() == (100,)
    conn.execute("drop table stc")
