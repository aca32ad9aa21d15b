"""Prepared statements across backends: a client's statements are there on whichever backend it gets."""
import subprocess

import psycopg
import pytest

import rawpg
from harness import pg_bin

PID = "select pg_backend_pid(), $1::int"


def force_other_backend(daemon, conn):
    """A second client takes the backend that conn used last; gives it, in a transaction on that backend."""
    pid = conn.simple("select pg_backend_pid()")[0][0]
    while True:
        holder = daemon.raw()
        holder.simple("begin")
        if holder.simple("select pg_backend_pid()")[0][0] == pid:
            return holder


def run(conn, name, value):
    conn.send(rawpg.bind("", name, [str(value)]), rawpg.execute(), rawpg.sync())
    return conn.rows()[0]


@pytest.fixture
def two(lk):
    return lk({"default_pool_size": 2})


def test_a_named_statement_follows_its_client(two):
    conn = two.raw()
    conn.send(rawpg.parse("mine", PID), rawpg.sync())
    conn.until()
    first = run(conn, "mine", 1)[0]
    conn.send(rawpg.query("select 1"))
    conn.until()
    force_other_backend(two, conn)
    assert run(conn, "mine", 2)[1] == "2"
    assert run(conn, "mine", 3)[0] != first


def test_the_unnamed_statement_follows_its_client_too(two):
    conn, others = two.raw(), [two.raw() for _ in range(2)]
    conn.send(rawpg.parse("", PID), rawpg.sync())
    conn.until()
    first = run(conn, "", 1)
    pid = first[0]
    others[0].simple("begin")
    taken = others[0].simple("select pg_backend_pid()")[0][0]
    if taken != pid:
        others[1].simple("begin")
        others[1].simple("select 'drops the unnamed statement here'")
        others[0].simple("commit")
    second = run(conn, "", 2)
    assert second[1] == "2" and second[0] != pid


def test_a_describe_of_a_statement_works_on_another_backend(two):
    conn = two.raw()
    conn.send(rawpg.parse("d", "select $1::int8 as big, 'x' as x"), rawpg.sync())
    conn.until()
    force_other_backend(two, conn)
    conn.send(rawpg.describe("S", "d"), rawpg.sync())
    messages = conn.until()
    assert rawpg.types(messages) == "tTZ"
    assert [c[:2] for c in rawpg.columns(messages[1].body)] == [("big", 20), ("x", 25)]


def test_two_clients_may_use_one_name_for_different_statements(lk):
    daemon = lk({"default_pool_size": 1})
    a, b = daemon.raw(), daemon.raw()
    for conn, sql in ((a, "select 'a' || $1"), (b, "select 'b' || $1")):
        conn.send(rawpg.parse("s", sql), rawpg.sync())
        conn.until()
    for n in range(5):
        assert run(a, "s", n) == ["a%d" % n]
        assert run(b, "s", n) == ["b%d" % n]


def test_the_same_text_of_many_clients_is_prepared_once_on_a_backend(pg, lk):
    daemon = lk({"default_pool_size": 1})
    for n in range(5):
        conn = daemon.raw()
        conn.send(rawpg.parse("s%d" % n, "select 'shared text', $1::int"), rawpg.sync())
        conn.until()
        assert run(conn, "s%d" % n, n) == ["shared text", str(n)]
        conn.close()
    rows = daemon.raw().simple("select count(*) from pg_prepared_statements where statement like 'select ''shared%'")
    assert rows == [["1"]]


def test_close_forgets_the_name_and_frees_it(two):
    conn = two.raw()
    conn.send(rawpg.parse("c", "select 1"), rawpg.close("S", "c"), rawpg.parse("c", "select 2"), rawpg.bind("", "c"),
              rawpg.execute(), rawpg.sync())
    messages = conn.until()
    assert rawpg.types(messages) == "1312DCZ"
    conn.send(rawpg.close("S", "c"), rawpg.bind("", "c"), rawpg.sync())
    messages = conn.until()
    assert rawpg.types(messages) == "3EZ"
    assert rawpg.fields(messages[1].body)["C"] == "26000"


def test_a_name_in_use_is_refused_as_by_postgres(two):
    conn = two.raw()
    conn.send(rawpg.parse("u", "select 1"), rawpg.sync())
    conn.until()
    force_other_backend(two, conn)
    conn.send(rawpg.parse("u", "select 2"), rawpg.sync())
    messages = conn.until()
    assert rawpg.fields(messages[0].body)["C"] == "42P05"
    assert rawpg.fields(messages[0].body)["M"] == 'prepared statement "u" already exists'


@pytest.mark.parametrize("sql", ["deallocate gone", "DEALLOCATE PREPARE gone", 'deallocate "gone"', "deallocate all", "discard all"])
@pytest.mark.parametrize("extended", [False, True])
def test_deallocate_and_discard_forget_the_clients_statements(two, sql, extended):
    conn = two.raw()
    conn.send(rawpg.parse("gone", "select 1"), rawpg.sync())
    conn.until()
    conn.extended(sql) if extended else conn.simple(sql)
    conn.send(rawpg.bind("", "gone"), rawpg.execute(), rawpg.sync())
    messages = conn.until()
    assert rawpg.fields(messages[0].body)["C"] == "26000"
    conn.send(rawpg.parse("gone", "select 2"), rawpg.bind("", "gone"), rawpg.execute(), rawpg.sync())
    assert conn.rows() == [["2"]]


def test_discard_all_of_one_client_costs_no_other_its_statements(lk):
    daemon = lk({"default_pool_size": 1})
    a, b = daemon.raw(), daemon.raw()
    a.send(rawpg.parse("kept", "select $1::int"), rawpg.sync())
    a.until()
    b.simple("discard all")
    assert run(a, "kept", 5) == ["5"]
    b.simple("deallocate all")
    assert run(a, "kept", 6) == ["6"]
    b.simple("do $$ begin execute 'deallocate all'; end $$")
    assert run(a, "kept", 7) == ["7"], "even where the pooler could not see it"


def test_deallocate_of_an_unknown_name_is_postgres_error(two):
    conn = two.raw()
    with pytest.raises(rawpg.ServerError) as e:
        conn.simple("deallocate never_seen")
    assert e.value.sqlstate == "26000"


def test_an_injected_parse_that_fails_gives_one_error_and_the_sync(pg, two):
    pg.one("drop table if exists fleeting; create table fleeting(a int); grant all on fleeting to public", dbname="app")
    conn = two.raw()
    conn.send(rawpg.parse("f", "select a from fleeting"), rawpg.sync())
    conn.until()
    force_other_backend(two, conn)
    pg.one("drop table fleeting", dbname="app")
    conn.send(rawpg.bind("", "f"), rawpg.execute(), rawpg.sync())
    messages = conn.until()
    assert rawpg.types(messages) == "EZ"
    assert rawpg.fields(messages[0].body)["C"] == "42P01"
    assert conn.simple("select 1") == [["1"]]


def test_psycopg_prepares_at_once_and_is_always_served(lk):
    daemon = lk({"default_pool_size": 3})
    conns = [daemon.connect(prepare_threshold=0) for _ in range(6)]
    for n in range(20):
        for i, conn in enumerate(conns):
            assert conn.execute("select %s::int + %s", (n, i)).fetchone() == (n + i,)
            assert conn.execute("select %s::text || 'x'", (str(n),)).fetchone() == ("%dx" % n,)


def test_psycopgs_own_eviction_deallocates_by_name(lk):
    conn = lk({"default_pool_size": 2}).connect(prepare_threshold=0)
    conn.prepared_max = 3
    for n in range(30):
        assert conn.execute("select %%s::int + %d" % (n % 7), (n,)).fetchone() == (n + n % 7,)


def test_psycopg_prepares_inside_pipelines(lk):
    daemon = lk({"default_pool_size": 2})
    conns = [daemon.connect(prepare_threshold=0) for _ in range(4)]
    for n in range(10):
        for conn in conns:
            with conn.pipeline():
                cursors = [conn.execute("select %s::int", (n * k,)) for k in range(5)]
            assert [c.fetchone()[0] for c in cursors] == [n * k for k in range(5)]


def test_a_statement_prepared_in_an_aborted_pipeline_is_not_there(two):
    conn = two.raw()
    conn.send(rawpg.parse("", "select 1/0"), rawpg.bind(), rawpg.execute(), rawpg.parse("skipped", "select 1"), rawpg.sync())
    assert rawpg.types(conn.until()) == "1EZ"
    conn.send(rawpg.bind("", "skipped"), rawpg.sync())
    assert rawpg.fields(conn.until()[0].body)["C"] == "26000"
    conn.send(rawpg.parse("skipped", "select 8"), rawpg.bind("", "skipped"), rawpg.execute(), rawpg.sync())
    assert conn.rows() == [["8"]]


def test_a_statement_closed_in_an_aborted_pipeline_is_still_there(two):
    conn = two.raw()
    conn.send(rawpg.parse("stays", "select $1::int"), rawpg.sync())
    conn.until()
    conn.send(rawpg.parse("", "selec"), rawpg.close("S", "stays"), rawpg.sync())
    assert rawpg.types(conn.until()) == "EZ"
    assert run(conn, "stays", 4) == ["4"]


def test_more_statements_than_a_backend_keeps(lk):
    daemon = lk({"default_pool_size": 1, "max_prepared_statements": 10})
    conn = daemon.raw()
    for n in range(40):
        conn.send(rawpg.parse("n%d" % n, "select %d + $1::int" % n), rawpg.sync())
        conn.until()
    for n in list(range(40)) + [0, 39, 20]:
        assert run(conn, "n%d" % n, 1) == [str(n + 1)]
    assert int(conn.simple("select count(*) from pg_prepared_statements")[0][0]) <= 12


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_pgbench_with_prepared_statements(pg, lk, mode):
    daemon = lk({"pool_mode": mode, "default_pool_size": 4})
    clients = "4" if mode == "session" else "8"
    out = subprocess.run([pg_bin("pgbench"), "-n", "-M", "prepared", "-c", clients, "-j", clients, "-t", "50",
                          "-f", "/dev/stdin", "-h", daemon.host, "-p", str(daemon.port), "-U", "app", "app"],
                         input="\\set n random(1, 9)\nselect :n + 1;\nbegin;\nselect :n * 2;\ncommit;\n",
                         capture_output=True, text=True)
    assert out.returncode == 0 and "failed transactions: 0 " in out.stdout, out.stdout + out.stderr


def test_sql_prepare_and_execute_work_in_session_mode(lk):
    conn = lk({"pool_mode": "session"}).connect()
    conn.execute("prepare p(int) as select $1 + 1")
    assert conn.execute("execute p(4)").fetchone() == (5,)
    conn.execute("deallocate p")
    with pytest.raises(psycopg.errors.InvalidSqlStatementName):
        conn.execute("execute p(4)")
