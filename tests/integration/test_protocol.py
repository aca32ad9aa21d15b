"""The same messages to PostgreSQL directly and through the proxy give the same answers, byte for byte."""
import os
import socket
import struct

import psycopg
import pytest

import rawpg
from harness import wait_until
from rawpg import bind, close, copy_data, copy_done, copy_fail, describe, execute, flush, function_call, parse, query, sync


def step(sql, params=(), rows=0):
    return parse("", sql) + bind(params=params) + execute(rows=rows)


# name: list of exchanges; an exchange is (bytes to send, message type that ends it, how many of these)
SCENES = {
    "simple queries": [(query("select 1 as a, null as b, 'x' as c"), "Z", 1), (query(""), "Z", 1), (query("  ;; "), "Z", 1)],
    "many statements in one Query": [(query("select 1; select 2; create temp table t1(a int); drop table t1"), "Z", 1)],
    "an error in a Query of many": [(query("select 1; select 1/0; select 3"), "Z", 1), (query("select 4"), "Z", 1)],
    "a syntax error": [(query("selec"), "Z", 1), (query("select 1"), "Z", 1)],
    "extended": [(parse("", "select $1::int + $2") + describe("S") + bind(params=["1", "2"]) + describe("P") + execute()
                  + sync(), "Z", 1)],
    "binary parameters and results": [(parse("", "select $1::int8, $2::text", [20, 25])
                                       + bind(params=[rawpg.int8(-5), b"x"], param_formats=[1, 1], result_formats=[1, 0])
                                       + execute() + sync(), "Z", 1)],
    "a pipeline of many Syncs in one write": [(b"".join(step("select %d" % n) + sync() for n in range(50)), "Z", 50)],
    "a pipeline without Sync in between": [(b"".join(step("select %d" % n) for n in range(20)) + sync(), "Z", 1)],
    "an error in the middle of a pipeline": [(step("select 1") + step("select 1/0") + step("select 2") + query("select 3")
                                              + sync() + step("select 4") + sync(), "Z", 2)],
    "a query behind a Sync": [(step("select 1") + sync() + query("select 2") + step("select 3") + sync(), "Z", 3)],
    "Flush before Sync": [(step("select 1") + flush(), "C", 1), (step("select 2") + flush(), "C", 1), (sync(), "Z", 1)],
    "Describe alone, with Flush": [(parse("", "select $1::int") + describe("S") + flush(), "T", 1), (sync(), "Z", 1)],
    "portals with row limits": [(query("begin"), "Z", 1),
                                (parse("", "select generate_series(1, 7)") + bind("p") + execute("p", 3) + sync(), "Z", 1),
                                (execute("p", 3) + sync(), "Z", 1), (execute("p", 3) + sync(), "Z", 1),
                                (close("P", "p") + sync() + query("commit"), "Z", 2)],
    "two portals side by side": [(query("begin"), "Z", 1),
                                 (parse("s", "select generate_series(1, 4)") + bind("a", "s") + bind("b", "s")
                                  + execute("a", 2) + execute("b", 1) + execute("a", 2) + flush(), "s", 3),
                                 (sync(), "Z", 1), (close("S", "s") + sync() + query("rollback"), "Z", 2)],
    "no such portal": [(execute("nope") + sync(), "Z", 1), (query("select 1"), "Z", 1)],
    "no such statement": [(bind("", "nope") + sync(), "Z", 1), (describe("S", "nope") + sync(), "Z", 1)],
    "too few parameters": [(parse("", "select $1::int") + bind() + execute() + sync(), "Z", 1)],
    "Sync alone": [(sync() + sync() + sync(), "Z", 3)],
    "Close of what isn't there": [(close("S", "x") + close("P", "x") + sync(), "Z", 1)],
    "an empty extended query": [(step("") + sync(), "Z", 1)],
    "a transaction": [(query("begin"), "Z", 1), (query("select 1"), "Z", 1), (query("commit"), "Z", 1)],
    "an aborted transaction": [(query("begin"), "Z", 1), (query("select 1/0"), "Z", 1), (query("select 1"), "Z", 1),
                               (step("select 2") + sync(), "Z", 1), (query("commit"), "Z", 1), (query("select 3"), "Z", 1)],
    "an implicit transaction in a pipeline": [(step("create temp table t2(a int)") + step("insert into t2 values (1)")
                                               + step("select 1/0") + sync(), "Z", 1)],
    "BEGIN and COMMIT inside a pipeline": [(step("begin") + step("select 1") + sync() + step("select 2") + step("commit")
                                            + sync(), "Z", 2)],
    "an error from Sync": [(query("create temp table t3(a int unique deferrable initially deferred); "
                                  "insert into t3 values (1); begin"), "Z", 1),
                           (step("insert into t3 values (1)") + sync(), "Z", 1), (query("commit"), "Z", 1),
                           (query("select 1"), "Z", 1)],
    "notices": [(query("do $$ begin raise notice 'one'; raise warning 'two'; end $$"), "Z", 1),
                (step("do $$ begin raise notice 'three'; end $$") + sync(), "Z", 1)],
    "COPY out": [(query("copy (select generate_series(1, 5)) to stdout"), "Z", 1),
                 (step("copy (select 'x') to stdout") + sync(), "Z", 1)],
    "COPY in": [(query("create temp table t4(a int); begin"), "Z", 1), (query("copy t4 from stdin"), "G", 1),
                (copy_data(b"1\n2\n") + copy_data(b"3\n") + copy_done(), "Z", 1), (query("select a + 0 as a from t4; rollback"), "Z", 1)],
    "COPY in that the client fails": [(query("create temp table t5(a int); begin"), "Z", 1), (query("copy t5 from stdin"), "G", 1),
                                      (copy_data(b"1\n") + copy_fail("no more"), "Z", 1), (query("rollback"), "Z", 1)],
    "COPY in with bad data": [(query("begin; create temp table t6(a int)"), "Z", 1), (query("copy t6 from stdin"), "G", 1),
                              (copy_data(b"x\n") + copy_done(), "Z", 1), (query("rollback"), "Z", 1)],
    "COPY in by Execute, its Sync swallowed": [(query("begin; create temp table t7(a int)"), "Z", 1),
                                               (step("copy t7 from stdin") + sync() + copy_data(b"1\n") + copy_done() + sync(),
                                                "Z", 1), (query("select a + 0 as a from t7; rollback"), "Z", 1)],
    "COPY in by Execute, the Sync later": [(query("begin; create temp table t8(a int)"), "Z", 1),
                                           (step("copy t8 from stdin") + flush(), "G", 1),
                                           (copy_data(b"5\n") + copy_done() + sync(), "Z", 1),
                                           (query("select a + 0 as a from t8; rollback"), "Z", 1)],
    "several COPY in one Query": [(query("copy (select 1) to stdout; copy (select 2) to stdout; select 3"), "Z", 1)],
    "FunctionCall": [(function_call(1398, [rawpg.int4(-7)], result_format=1), "Z", 1),
                     (function_call(2880, [rawpg.int8(8101)]), "Z", 1), (function_call(2884, [rawpg.int8(8101)]), "Z", 1),
                     (function_call(2880, [None]), "Z", 1), (function_call(1, []), "Z", 1), (query("select 1"), "Z", 1)],
    "FunctionCall in an aborted transaction": [(query("begin; select 1/0"), "Z", 1), (function_call(1398, [rawpg.int4(-7)]), "Z", 1),
                                               (query("rollback"), "Z", 1)],
    "FunctionCalls in a row": [(b"".join(function_call(1398, [rawpg.int4(n)], result_format=1) for n in range(10)), "Z", 10)],
    "lock calls": [(query("select pg_advisory_lock(8102)"), "Z", 1), (query("select pg_advisory_unlock(8102)"), "Z", 1),
                   (query("select pg_advisory_unlock(8102)"), "Z", 1), (query("select pg_advisory_unlock_all()"), "Z", 1)],
    "lock calls in a pipeline": [(step("select pg_advisory_lock($1)", ["8103"]) + step("select pg_advisory_unlock($1)", ["8103"])
                                  + step("select pg_advisory_unlock($1)", ["8103"]) + sync(), "Z", 1)],
    "a named statement": [(parse("s1", "select $1::int * 2") + sync(), "Z", 1), (bind("", "s1", ["4"]) + execute() + sync(), "Z", 1),
                          (parse("s1", "select 1") + sync(), "Z", 1), (close("S", "s1") + sync(), "Z", 1),
                          (bind("", "s1", ["4"]) + sync(), "Z", 1)],
    "a failed Parse and its name": [(parse("s2", "selec") + sync(), "Z", 1), (bind("", "s2") + sync(), "Z", 1),
                                    (parse("s2", "select 5") + bind("", "s2") + execute() + sync(), "Z", 1),
                                    (close("S", "s2") + sync(), "Z", 1)],
    "the unnamed statement over two Syncs": [(parse("", "select $1::int") + sync(), "Z", 1), (bind("", "", ["3"]) + execute() + sync(), "Z", 1),
                                             (bind("", "", ["4"]) + execute() + sync(), "Z", 1)],
    "a Query drops the unnamed statement": [(parse("", "select 1") + sync(), "Z", 1), (query("select 2"), "Z", 1),
                                            (bind() + execute() + sync(), "Z", 1)],
    "a wide row and long text": [(query("select repeat('x', 300000), " + ", ".join("%d" % n for n in range(500))), "Z", 1)],
    "a text longer than the gate looks at": [(query("select 1 as a /* " + "y" * 400000 + " */"), "Z", 1),
                                             (step("select 2 as a /* " + "y" * 400000 + " */") + sync(), "Z", 1)],
}


def play(conn, scene):
    out = []
    for data, last, count in scene:
        conn.send(data)
        out += seen(conn.until(last, count))
    return out


def seen(messages):
    """What the client is told: not where in PostgreSQL's sources an error was raised."""
    said = lambda m: sorted((k, v) for k, v in rawpg.fields(m.body).items() if k not in "FLR")
    return [(m.type, said(m) if m.type in "EN" else m.body) for m in messages if m.type != "S"]


@pytest.fixture(scope="module")
def expected(pg):
    """What PostgreSQL itself answers to each scene."""
    answers = {}
    for name, scene in SCENES.items():
        conn = rawpg.RawConn(pg.host, pg.port).login("app", "app")
        answers[name] = play(conn, scene)
        conn.close()
    return answers


@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_every_scene_is_answered_as_by_postgres(lk, expected, mode):
    daemon = lk({"pool_mode": mode, "default_pool_size": 1})
    wrong = {}
    for name, scene in SCENES.items():
        conn = daemon.raw()
        conn.sock.settimeout(5)
        try:
            got = play(conn, scene)
        except (rawpg.Closed, OSError) as e:
            got = [("!", repr(e).encode())]
        conn.send(rawpg.terminate())
        conn.close()
        if got != expected[name]:
            at = next((n for n, pair in enumerate(zip(got, expected[name])) if pair[0] != pair[1]), min(len(got), len(expected[name])))
            wrong[name] = "message %d is %.200r, PostgreSQL's %.200r" % (at, got[at:at + 2], expected[name][at:at + 2])
    assert not wrong, "\n".join("%s: %s" % w for w in wrong.items())


def test_every_scene_is_answered_alike_when_its_bytes_come_one_by_one(lk, expected):
    daemon = lk({"default_pool_size": 2})
    wrong = []
    for name, scene in SCENES.items():
        if sum(len(s[0]) for s in scene) > 3000:
            continue
        conn = daemon.raw()
        conn.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        out = []
        for data, last, count in scene:
            for at in range(0, len(data), 3):
                conn.sock.sendall(data[at:at + 3])
            out += seen(conn.until(last, count))
        conn.send(rawpg.terminate())
        conn.close()
        if out != expected[name]:
            wrong.append(name)
    assert not wrong


def test_psycopg_pipeline_mode_works(lk):
    conn = lk({"default_pool_size": 2}).connect()
    with conn.pipeline():
        cursors = [conn.execute("select %s::int", (n,)) for n in range(100)]
        assert [c.fetchone()[0] for c in cursors] == list(range(100))


def test_an_error_in_psycopgs_pipeline_aborts_the_rest_and_no_more(lk):
    conn = lk({"default_pool_size": 2}).connect()
    with pytest.raises(psycopg.errors.DivisionByZero):
        with conn.pipeline():
            conn.execute("select 1")
            conn.execute("select 1/0")
            conn.execute("select 2")
    assert conn.execute("select 3").fetchone() == (3,)


def test_notifications_come_at_any_time_in_session_mode(pg, lk):
    conn = lk({"pool_mode": "session"}).raw()
    pid = conn.simple("listen news; select pg_backend_pid()")[0][0]
    pg.one("notify news, 'hello'", dbname="app")
    assert conn.read().body[4:] == b"news\0hello\0", "while the client idles"
    conn.send(query("notify news, 'own'"))
    notes = [m.body for m in conn.until() if m.type == "A"] or [conn.read().body]
    assert notes == [struct.pack("!I", int(pid)) + b"news\0own\0"]


def test_the_unix_socket_serves_as_tcp_does(pg, lk):
    daemon = lk({"default_pool_size": 2}, databases={"app": {"host": pg.socket_dir, "port": pg.port, "dbname": "app"}})
    wait_until(lambda: os.path.exists("%s/.s.PGSQL.%d" % (daemon.dir, daemon.port)), what="the socket")
    conn = daemon.connect(host=daemon.dir)
    assert conn.execute("select 1, inet_client_addr()").fetchone() == (1, None)
    assert daemon.connect().execute("select inet_client_addr()").fetchone() == (None,)


def test_ssl_and_gss_requests_are_refused_politely(lk):
    daemon = lk()
    conn = daemon.raw_socket()
    for code in (80877103, 80877104):
        conn.send(struct.pack("!II", 8, code))
        assert conn.exactly(1) == b"N"
    conn.login("app", "app")
    assert conn.simple("select 1") == [["1"]]


def test_protocol_3_2_and_unknown_options_are_negotiated(lk):
    daemon = lk()
    conn = daemon.raw_socket()
    conn.send(rawpg.startup_packet({"user": "app", "database": "app", "_pq_.unknown": "1"}, version=3 << 16 | 2))
    first = conn.read()
    assert first.type == "v" and b"_pq_.unknown" in first.body
    conn.authenticate("app", None)
    assert conn.simple("select 1") == [["1"]]
