"""A cancel reaches the backend that runs this client's query now, and no other."""
import threading

import psycopg
import pytest

import rawpg
from harness import wait_until


def asleep(pg):
    return [r[0] for r in pg.one("select pid from pg_stat_activity where wait_event = 'PgSleep' and datname = 'app'")]


@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_a_cancel_ends_the_query_of_its_client_only(pg, lk, mode):
    daemon = lk({"pool_mode": mode, "default_pool_size": 3})
    a, b = daemon.raw(), daemon.raw()
    a.send(rawpg.query("select pg_sleep(60)"))
    b.send(rawpg.query("select pg_sleep(60), 2"))
    wait_until(lambda: len(asleep(pg)) == 2, what="both run")
    a.cancel()
    with pytest.raises(rawpg.ServerError) as e:
        a.rows()
    assert e.value.sqlstate == "57014"
    assert b.quiet() and len(asleep(pg)) == 1
    b.cancel()
    with pytest.raises(rawpg.ServerError):
        b.rows()
    assert a.simple("select 1") == b.simple("select 1") == [["1"]]


def test_a_cancel_of_an_idle_client_harms_nobody(pg, lk):
    daemon = lk({"default_pool_size": 1})
    idle, busy = daemon.raw(), daemon.raw()
    idle.simple("select 1")
    busy.send(rawpg.query("select 7 from pg_sleep(0.3)"))
    wait_until(lambda: asleep(pg), what="the other runs on the only backend")
    idle.cancel()
    assert busy.rows() == [["7"]]


def test_a_cancel_with_a_wrong_key_does_nothing(pg, lk):
    daemon = lk({"default_pool_size": 1})
    conn = daemon.raw()
    conn.send(rawpg.query("select 7 from pg_sleep(0.3)"))
    wait_until(lambda: asleep(pg))
    conn.key ^= 1
    conn.cancel()
    assert conn.rows() == [["7"]]


def test_a_cancel_of_a_client_that_waits_in_the_queue_harms_no_other(pg, lk):
    daemon = lk({"default_pool_size": 1})
    busy, waiting = daemon.raw(), daemon.raw()
    busy.simple("begin")
    waiting.send(rawpg.query("select 1"))
    wait_until(lambda: daemon.pool()["cl_waiting"] == 1)
    waiting.cancel()
    assert busy.simple("select 2") == [["2"]]
    busy.simple("commit")
    try:
        assert waiting.rows() == [["1"]]
    except rawpg.ServerError as e:
        assert e.sqlstate == "57014"


def test_psycopg_cancels_through_the_proxy(pg, lk):
    conn = lk({"default_pool_size": 2}).connect()
    worker = threading.Thread(target=lambda: (wait_until(lambda: asleep(pg)), conn.cancel()))
    worker.start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        conn.execute("select pg_sleep(60)")
    worker.join()
    assert conn.execute("select 1").fetchone() == (1,)


def test_many_cancels_in_a_row_leave_the_pool_whole(pg, lk):
    daemon = lk({"default_pool_size": 2})
    conn = daemon.raw()
    for _ in range(10):
        conn.send(rawpg.query("select pg_sleep(60)"))
        wait_until(lambda: asleep(pg))
        conn.cancel()
        with pytest.raises(rawpg.ServerError):
            conn.rows()
    assert conn.simple("select 1") == [["1"]]
    wait_until(lambda: daemon.pool()["sv_active"] == 0, what="no backend is held up")
