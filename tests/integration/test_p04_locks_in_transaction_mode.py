"""P4: with policy pin a client in transaction mode sees what a direct connection would show."""
import psycopg
import pytest

import rawpg
from harness import wait_until
from locklib import ALL_MODES, BLOCK_MODES, held, wait_held


def value(conn, sql, args=None):
    return conn.execute(sql, args).fetchone()[0]


@pytest.fixture
def pair(lk):
    daemon = lk({"default_pool_size": 4})
    return daemon.connect(), daemon.connect()


@ALL_MODES
def test_p04_a_lock_excludes_the_other_client_until_it_is_given_back(pair):
    a, b = pair
    a.execute("select pg_advisory_lock(9401)")
    assert value(b, "select pg_try_advisory_lock(9401)") is False
    a.execute("select 1")
    assert value(b, "select pg_try_advisory_lock(9401)") is False
    assert value(a, "select pg_advisory_unlock(9401)") is True
    assert value(b, "select pg_try_advisory_lock(9401)") is True


@ALL_MODES
def test_p04_a_lock_taken_twice_is_given_back_twice(pair):
    a, b = pair
    a.execute("select pg_advisory_lock(9402)")
    assert value(a, "select pg_try_advisory_lock(9402)") is True
    assert value(a, "select pg_advisory_unlock(9402)") is True
    assert value(b, "select pg_try_advisory_lock(9402)") is False
    assert value(a, "select pg_advisory_unlock(9402)") is True
    assert value(a, "select pg_advisory_unlock(9402)") is False
    assert value(b, "select pg_try_advisory_lock(9402)") is True


@ALL_MODES
def test_p04_shared_holders_meet_and_keep_an_exclusive_one_out(pg, pair):
    a, b = pair
    a.execute("select pg_advisory_lock_shared(9403)")
    assert value(b, "select pg_try_advisory_lock_shared(9403)") is True
    assert value(b, "select pg_try_advisory_lock(9403)") is False
    assert held(pg) == ["9403 S", "9403 S"]
    assert value(b, "select pg_advisory_unlock(9403)") is False
    assert value(b, "select pg_advisory_unlock_shared(9403)") is True


@ALL_MODES
def test_p04_the_two_key_spaces_do_not_meet(pair):
    a, b = pair
    a.execute("select pg_advisory_lock(4294967298)")
    assert value(b, "select pg_try_advisory_lock(1, 2)") is True
    assert value(a, "select pg_advisory_unlock(1, 2)") is False


@BLOCK_MODES
def test_p04_a_lock_survives_rollback_and_rollback_to(pg, pair):
    a, _ = pair
    a.execute("begin")
    a.execute("select pg_advisory_lock(9404)")
    a.execute("savepoint s")
    a.execute("select pg_advisory_lock(9405)")
    a.execute("rollback to s")
    a.execute("rollback")
    assert held(pg) == ["9404 X", "9405 X"]
    assert value(a, "select pg_advisory_unlock(9405)") is True
    assert value(a, "select pg_advisory_unlock(9404)") is True


@BLOCK_MODES
def test_p04_an_unlock_is_not_undone_by_rollback(pg, pair):
    a, _ = pair
    a.execute("select pg_advisory_lock(9406)")
    a.execute("begin")
    assert value(a, "select pg_advisory_unlock(9406)") is True
    a.execute("rollback")
    wait_held(pg)


@ALL_MODES
def test_p04_a_false_unlock_gives_false_and_the_warning_in_postgres_order(pg, lk):
    daemon = lk()
    answers = []
    for conn in (daemon.raw(), rawpg.RawConn(pg.host, pg.port).login("app", "app")):
        conn.send(rawpg.query("select pg_advisory_unlock(9407)"))
        answers.append([(m.type, m.body) for m in conn.until()])
        conn.close()
    assert answers[0] == answers[1]
    assert [t for t, _ in answers[0]] == ["T", "N", "D", "C", "Z"]


@pytest.mark.parametrize("form", ["text", "binary", "unnamed", "prepared", "psycopg2", "function call"])
def test_p04_a_client_is_pinned_whatever_form_its_call_has(pg, lk, form):
    daemon = lk({"default_pool_size": 4})
    raw = daemon.raw()
    if form == "text":
        raw.simple("select pg_try_advisory_lock(9408)")
    elif form == "binary":
        raw.extended("select pg_try_advisory_lock($1)", [rawpg.int8(9408)], param_formats=[1], result_formats=[1])
    elif form == "unnamed":
        raw.send(rawpg.parse("", "select pg_try_advisory_lock($1)"), rawpg.sync())
        raw.until()
        raw.send(rawpg.bind(params=["9408"]), rawpg.execute(), rawpg.sync())
        assert raw.rows() == [["t"]]
    elif form == "prepared":
        raw.simple("prepare mine as select pg_try_advisory_lock($1)")
        raw.simple("execute mine(9408)")
    elif form == "psycopg2":
        conn = daemon.connect2()
        conn.cursor().execute("select pg_try_advisory_lock(%s)", (9408,))
    else:
        raw.send(rawpg.function_call(2882, [rawpg.int8(9408)]))
        raw.until()
    other = daemon.connect()
    for _ in range(3):
        assert value(other, "select pg_try_advisory_lock(9408)") is False
    assert held(pg) == ["9408 X"]


def test_p04_psycopg_with_server_side_prepare_keeps_and_gives_back(pg, lk):
    daemon = lk({"default_pool_size": 3})
    a, b = daemon.connect(prepare_threshold=0), daemon.connect(prepare_threshold=0)
    for n in range(8):
        a.execute("select pg_advisory_lock(%s)", (9500 + n,))
        assert value(b, "select pg_try_advisory_lock(%s)", (9500 + n,)) is False
    for n in range(8):
        assert value(a, "select pg_advisory_unlock(%s)", (9500 + n,)) is True
    wait_held(pg)


@ALL_MODES
def test_p04_a_waiting_lock_is_granted_when_the_holder_gives_it_back(pg, lk):
    daemon = lk({"default_pool_size": 3})
    a, b = daemon.connect(), daemon.raw()
    a.execute("select pg_advisory_lock(9409)")
    b.send(rawpg.query("select pg_advisory_lock(9409)"))
    wait_until(lambda: any(not r[2] for r in pg.locks()), what="a waiter")
    assert value(a, "select pg_advisory_unlock(9409)") is True
    assert b.rows() == [[""]]
    assert held(pg) == ["9409 X"]


@ALL_MODES
def test_p04_a_deadlocks_victim_keeps_its_session_locks(pg, lk):
    daemon = lk({"default_pool_size": 3})
    a, b = daemon.raw(), daemon.raw()
    a.simple("select pg_advisory_lock(9410)")
    b.simple("select pg_advisory_lock(9411)")
    a.send(rawpg.query("select pg_advisory_lock(9411)"))
    wait_until(lambda: any(not r[2] for r in pg.locks()), what="a waiter")
    b.send(rawpg.query("select pg_advisory_lock(9410)"))
    wait_until(lambda: not (a.quiet(0) and b.quiet(0)), what="a victim")
    victim, other, key = (b, a, 9411) if a.quiet(0) else (a, b, 9410)
    with pytest.raises(rawpg.ServerError) as e:
        victim.rows()
    assert e.value.sqlstate == "40P01"
    assert victim.simple("select pg_advisory_unlock(%d)" % key) == [["t"]]
    assert other.rows() == [[""]]
    assert held(pg) == ["9410 X", "9411 X"]


@BLOCK_MODES
def test_p04_xact_locks_behave_as_ever(pg, pair):
    a, b = pair
    a.execute("begin")
    a.execute("select pg_advisory_xact_lock(9412)")
    assert value(b, "select pg_try_advisory_xact_lock(9412)") is False
    a.execute("commit")
    assert value(b, "select pg_try_advisory_xact_lock(9412)") is True


@ALL_MODES
def test_p04_a_hidden_lock_excludes_others_too(pg, lk, hidden):
    daemon = lk({"default_pool_size": 3})
    a, b = daemon.connect(), daemon.connect()
    a.execute("select take(9413)")
    for _ in range(3):
        assert value(b, "select pg_try_advisory_lock(9413)") is False
    assert value(a, "select give(9413)") is True
    assert value(b, "select pg_try_advisory_lock(9413)") is True


@ALL_MODES
def test_p04_null_keys_lock_nothing(pg, pair):
    a, _ = pair
    assert value(a, "select pg_advisory_lock(null)") is None
    assert value(a, "select pg_try_advisory_lock(%s::bigint)", (None,)) is None
    assert held(pg) == []


@ALL_MODES
def test_p04_errors_of_lock_calls_are_postgres_own(pair):
    a, _ = pair
    with pytest.raises(psycopg.errors.UndefinedFunction):
        a.execute("select pg_advisory_lock('x'::text)")
    with pytest.raises(psycopg.errors.InvalidTextRepresentation):
        a.execute("select pg_advisory_lock('x')")
    assert value(a, "select 1") == 1
