"""Garbage, half messages, dying peers: a clear error to the client, a log line, and the process goes on."""
import os
import random
import signal
import socket
import struct

import pytest

import rawpg
from harness import wait_until
from rawpg import RawConn, ServerError, fields


@pytest.fixture
def daemon(lk):
    daemon = lk({"default_pool_size": 2, "server_login_retry": 1})
    yield daemon
    assert daemon.alive()
    assert daemon.raw().simple("select 'still here'") == [["still here"]]


def ended(conn):
    """The connection is closed by the other side; its last error or None."""
    errors = [fields(m.body) for m in conn.until_closed() if m.type == "E"]
    return errors[-1] if errors else None


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\0" * 64, b"\xff" * 64, b"\0\0\0\1\0\0\0\0",
                                     b"\0\0\0\x08\0\0\0\0", b"\0\0\0\x09\0\3\0\0x", struct.pack("!II", 10000, 196608) + b"x" * 20000,
                                     struct.pack("!II", 0x7fffffff, 196608)])
def test_garbage_instead_of_a_startup_packet_ends_that_client_only(daemon, garbage):
    conn = daemon.raw_socket()
    try:
        conn.send(garbage)
        conn.sock.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    raw = b""
    try:
        while True:
            got = conn.sock.recv(4096)
            if not got:
                break
            raw += got
    except ConnectionResetError:
        pass
    assert len(raw) < 500


def test_startup_packets_without_a_user_or_with_odd_contents(daemon):
    for params in ({}, {"database": "app"}, {"user": ""}, {"user": "x" * 5000, "database": "app"}):
        conn = daemon.raw_socket()
        conn.send(rawpg.startup_packet(params))
        assert ended(conn)["S"] == "FATAL"


@pytest.mark.parametrize("bytes_sent", [1, 4, 7, 8, 20])
def test_a_client_that_leaves_in_its_startup_packet(daemon, bytes_sent):
    conn = daemon.raw_socket()
    conn.send(rawpg.startup_packet({"user": "app", "database": "app"})[:bytes_sent])
    conn.reset()


def test_an_unknown_database_is_refused_by_name(daemon):
    with pytest.raises(ServerError) as e:
        daemon.raw(database="nowhere")
    assert (e.value.sqlstate, e.value.message) == ("3D000", "no such database: nowhere")


@pytest.mark.parametrize("data", [b"\0\0\0\0\0", b"Q\0\0\0\3", b"Q\0\0\0\0", b"Q\xff\xff\xff\xff", b"?\0\0\0\4", b"Q\0\0\0\5x",
                                  b"P\0\0\0\5x", b"B\0\0\0\6\0\0", b"E\0\0\0\5\0", b"D\0\0\0\6Zx", b"C\0\0\0\4", b"F\0\0\0\6\0\0",
                                  b"p\0\0\0\5\0", b"B\0\0\0\x0c\0\0\0\1\xff\xff\0\0"])
def test_a_malformed_message_gets_an_error_and_never_the_process(daemon, data):
    conn = daemon.raw()
    conn.simple("select 1")
    conn.send(data + rawpg.sync())
    assert "E" in [m.type for m in conn.until("E")], "a clear error"


def test_random_bytes_after_login(daemon):
    seed = int(os.environ.get("LK_SEED", random.randrange(1 << 30)))
    print("seed", seed)
    rnd = random.Random(seed)
    for _ in range(40):
        conn = daemon.raw()
        data = bytearray(rawpg.parse("a", "select $1::int") + rawpg.bind("", "a", ["1"]) + rawpg.execute() + rawpg.sync()
                         + rawpg.query("select 1"))
        for _ in range(rnd.randint(1, 6)):
            data[rnd.randrange(len(data))] = rnd.randrange(256)
        conn.send(bytes(data))
        conn.sock.shutdown(socket.SHUT_WR)
        conn.until_closed()
        assert daemon.alive()


@pytest.mark.parametrize("split", [3, 5, 9])
def test_a_client_that_leaves_inside_a_message(pg, daemon, split):
    conn = daemon.raw()
    conn.simple("begin")
    conn.send(rawpg.query("select 'half'")[:split])
    conn.reset()
    wait_until(lambda: daemon.pool()["sv_active"] == 0, what="its backend is free")


def test_a_client_killed_in_mid_query_costs_no_backend(pg, daemon):
    conn = daemon.raw()
    pid = int(conn.simple("select pg_backend_pid()")[0][0])
    conn.send(rawpg.query("select pg_sleep(60)"))
    wait_until(lambda: pg.one("select 1 from pg_stat_activity where wait_event = 'PgSleep'"))
    conn.reset()
    wait_until(lambda: not pg.one("select 1 from pg_stat_activity where wait_event = 'PgSleep'"), what="it is cancelled")
    assert pid in pg.backends()
    wait_until(lambda: daemon.pool()["sv_active"] == 0)


def test_a_client_that_leaves_in_the_middle_of_copy_in(pg, daemon):
    pg.one("drop table if exists half; create table half(a int); grant all on half to public", dbname="app")
    conn = daemon.raw()
    conn.send(rawpg.query("copy half from stdin"))
    conn.until("G")
    conn.send(rawpg.copy_data(b"1\n"))
    conn.reset()
    wait_until(lambda: daemon.pool()["sv_active"] == 0)
    assert daemon.raw().simple("select count(*) from half") == [["0"]]


def test_a_client_that_leaves_while_a_big_result_comes(daemon):
    conn = daemon.raw()
    conn.send(rawpg.query("select repeat('x', 1000) from generate_series(1, 200000)"))
    conn.until("D", 3)
    conn.reset()
    wait_until(lambda: daemon.pool()["sv_active"] == 0, what="the backend is free or gone")


def test_a_slow_client_holds_up_nobody(daemon):
    slow, quick = daemon.raw(), daemon.raw()
    slow.send(rawpg.query("select repeat('x', 1000) from generate_series(1, 100000)"))
    slow.until("D", 1)
    for n in range(20):
        assert quick.simple("select %d" % n) == [[str(n)]]
    assert slow.until("Z")[-1].body == b"I"


def test_a_client_that_sends_byte_by_byte_is_served(daemon):
    conn = daemon.raw_socket()
    for b in rawpg.startup_packet({"user": "app", "database": "app"}):
        conn.sock.sendall(bytes([b]))
    conn.authenticate("app", None)
    for b in rawpg.query("select 6"):
        conn.sock.sendall(bytes([b]))
    assert conn.rows() == [["6"]]


def test_a_backend_killed_in_mid_query_gives_its_client_the_reason(pg, daemon):
    conn, other = daemon.raw(), daemon.raw()
    conn.send(rawpg.query("select pg_sleep(60)"))
    pid = wait_until(lambda: pg.one("select pid from pg_stat_activity where wait_event = 'PgSleep'"))[0][0]
    pg.one("select pg_terminate_backend(%s)", (pid,))
    error = ended(conn)
    assert error["C"] in ("57P01", "08P01", "08006") or "server conn crashed" in error["M"]
    assert other.simple("select 1") == [["1"]]


def test_a_backend_killed_in_a_transaction_ends_its_client(pg, daemon):
    conn = daemon.raw()
    conn.simple("begin")
    pid = int(conn.simple("select pg_backend_pid()")[0][0])
    pg.one("select pg_terminate_backend(%s)", (pid,))
    assert ended(conn)["S"] == "FATAL"


def test_postgres_down_is_told_and_up_again_is_served(second_pg, lk):
    daemon = lk({"server_login_retry": 1, "query_wait_timeout": 3},
                databases={"app": {"host": "127.0.0.1", "port": second_pg.port, "dbname": "app"}})
    conn = daemon.raw()
    assert conn.simple("select 1") == [["1"]]
    second_pg.stop()
    try:
        conn.simple("select 1")
    except (ServerError, rawpg.Closed, OSError):
        pass
    with pytest.raises((ServerError, rawpg.Closed)):
        daemon.raw().simple("select 1")
    assert daemon.alive() and daemon.console("SHOW POOLS")
    second_pg.start()

    def again():
        try:
            return daemon.raw().simple("select 2")
        except (ServerError, rawpg.Closed):
            return None
    assert wait_until(again) == [["2"]]


def test_a_server_that_never_answers_is_given_up(lk):
    with rawpg.FakeServer(lambda conn: conn.until_closed()) as server:
        daemon = lk({"server_connect_timeout": 1, "query_wait_timeout": 3, "server_login_retry": 1},
                    databases={"app": {"host": "127.0.0.1", "port": server.port, "dbname": "app"}})
        with pytest.raises((ServerError, rawpg.Closed)):
            daemon.raw().simple("select 1")
        assert daemon.alive()


def garbage_at_login(conn):
    rawpg.read_startup(conn)
    conn.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def garbage_after_query(conn):
    rawpg.read_startup(conn)
    rawpg.welcome(conn)
    while True:
        msg = conn.read()
        if msg.type == "F":
            conn.send(rawpg.frame("V", struct.pack("!i", 0)), rawpg.frame("Z", b"I"))
        else:
            conn.send(b"\xff\xff\xff\xff\xff\xff\xff")


def closes_at_login(conn):
    rawpg.read_startup(conn)


@pytest.mark.parametrize("script", [garbage_at_login, garbage_after_query, closes_at_login])
def test_a_server_that_talks_nonsense_is_dropped(lk, script):
    with rawpg.FakeServer(script) as server:
        daemon = lk({"server_connect_timeout": 2, "query_wait_timeout": 2, "server_login_retry": 1},
                    databases={"app": {"host": "127.0.0.1", "port": server.port, "dbname": "app"}})
        with pytest.raises((ServerError, rawpg.Closed)):
            daemon.raw().simple("select 1")
        assert daemon.alive() and not server.errors


def test_a_server_that_sends_unasked_messages_is_survived(lk):
    def script(conn):
        rawpg.read_startup(conn)
        rawpg.welcome(conn)
        conn.send(rawpg.frame("Z", b"I"), rawpg.frame("D", b"\0\0"))
        conn.until_closed()
    with rawpg.FakeServer(script) as server:
        daemon = lk({"query_wait_timeout": 2, "server_login_retry": 1},
                    databases={"app": {"host": "127.0.0.1", "port": server.port, "dbname": "app"}})
        try:
            daemon.raw().simple("select 1")
        except (ServerError, rawpg.Closed, OSError):
            pass
        assert daemon.alive()


def test_many_connections_that_say_nothing(lk):
    daemon = lk({"max_client_conn": 50, "client_login_timeout": 1})
    silent = [daemon.raw_socket() for _ in range(40)]
    assert daemon.raw().simple("select 1") == [["1"]]
    for conn in silent:
        conn.until_closed()
    assert daemon.raw().simple("select 1") == [["1"]]


def test_the_daemon_killed_outright_leaves_no_backend_and_no_lock(pg, lk):
    daemon = lk()
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(7101)")
    daemon.kill()
    with pytest.raises((rawpg.Closed, OSError)):
        conn.read()
    wait_until(lambda: pg.backends() == [] and pg.locks() == [])


def test_a_second_reload_while_clients_work_disturbs_nobody(daemon):
    conns = [daemon.raw() for _ in range(4)]
    for n in range(10):
        daemon.signal(signal.SIGHUP)
        for c in conns:
            assert c.simple("select %d" % n) == [[str(n)]]


def test_two_cancels_that_are_no_cancels(daemon):
    for body in (struct.pack("!IIII", 16, 80877102, 1, 2), struct.pack("!III", 12, 80877102, 1), struct.pack("!II", 8, 80877102)):
        conn = RawConn(daemon.host, daemon.port)
        conn.send(body)
        conn.sock.shutdown(socket.SHUT_WR)
        assert [m.type for m in conn.until_closed()] in ([], ["E"])
        conn.close()
