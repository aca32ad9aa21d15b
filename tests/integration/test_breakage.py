"""What once broke it: clients that fail, die or pipeline at awkward moments. A pool of one backend shows who has it."""
import os
import signal
import socket
import threading
import time

import pytest

import rawpg
from harness import tail, wait_until
from locklib import held, wait_held, wait_unpinned


@pytest.fixture
def one(lk, pg):
    pg.one("create table if not exists filled(a int)", dbname="app", user="app")
    return lk({"default_pool_size": 1, "cancel_wait_timeout": 8})


def served_within(daemon, seconds):
    """The next client is served before a backend would be given up."""
    conn = daemon.raw()
    conn.sock.settimeout(seconds)
    assert conn.simple("select 'served'") == [["served"]]
    conn.close()


def errors(messages):
    return [rawpg.fields(m.body)["C"] for m in messages if m.type == "E"]


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid) as f:
        parts = f.read().rsplit(")", 1)[1].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def test_a_copy_that_fails_inside_a_long_frame_gives_its_backend_back(one):
    conn = one.raw()
    conn.send(rawpg.query("copy filled from stdin"))
    conn.until("G")
    long = rawpg.copy_data(b"1\n" * 50000)
    conn.send(rawpg.copy_data(b"bad\n"), long[:1000])
    assert errors(conn.until()) == ["22P02"]
    conn.send(long[1000:], rawpg.copy_done())
    wait_unpinned(one)


def test_a_sync_inside_a_simple_copy_is_owed_no_answer(pg, one):
    conn = one.raw()
    conn.send(rawpg.query("copy filled from stdin"))
    conn.until("G")
    conn.send(rawpg.sync(), rawpg.copy_data(b"1\n"), rawpg.copy_done())
    assert rawpg.types(conn.until()) == "CZ"
    wait_unpinned(one)
    conn.simple("select pg_advisory_lock(9801)")
    wait_held(pg, "9801 X")
    assert conn.simple("select pg_advisory_unlock(9801)") == [["t"]]
    wait_unpinned(one)


def test_a_sync_pipelined_ahead_of_a_simple_copy_is_owed_no_answer(one):
    conn = one.raw()
    conn.send(rawpg.query("copy filled from stdin"), rawpg.sync(), rawpg.copy_data(b"1\n"), rawpg.copy_done())
    assert rawpg.types(conn.until()) == "GCZ"
    wait_unpinned(one)


@pytest.mark.parametrize("how", ["simple", "extended"])
def test_a_client_that_dies_before_its_copy_begins_costs_no_backend(pg, one, how):
    conn = one.raw()
    conn.simple("select 1")
    pids = pg.backends()
    with pg.connect(autocommit=False) as blocker:
        blocker.execute("lock table filled")
        if how == "simple":
            conn.send(rawpg.query("copy filled from stdin"))
        else:
            conn.send(rawpg.parse("", "copy filled from stdin"), rawpg.bind(), rawpg.execute(), rawpg.sync())
        conn.reset()
    for _ in range(5):
        conn = one.raw()
        conn.send(rawpg.query("copy filled from stdin"))
        conn.reset()
        served_within(one, 4)
    assert pg.backends() == pids


def test_more_locks_than_the_ledger_holds_are_kept_told_and_quiet(pg, one):
    conn = one.raw()
    assert conn.simple("select count(pg_advisory_lock(k)) from generate_series(1, 1500) k") == [["1500"]]
    one.wait_leak(lambda r: r["event"] == "pin")
    records, since, cpu = len(one.leaks()), time.monotonic(), cpu_seconds(one.pid)
    wait_until(lambda: time.monotonic() - since > 0.5, what="half a second is over")
    assert cpu_seconds(one.pid) - cpu < 0.25, "it goes on asking"
    assert len(one.leaks()) == records and len(one.leaks("hidden")) == 0
    assert len(held(pg)) == 1500
    conn.send(rawpg.terminate())
    wait_held(pg)
    summary = one.wait_leak(lambda r: r["event"] == "leak_summary")
    assert summary["omitted"] == 1400 and len(one.leaks("leak")) == 100


def test_a_bind_that_fails_leaves_the_portal_that_was_there(pg, one, hidden):
    conn = one.raw()
    for _ in range(5):
        conn.simple("begin")
        conn.extended("select 1 as one")
        conn.simple("savepoint s")
        conn.simple("rollback to s")
        conn.simple("commit")
    conn.simple("begin")
    conn.send(rawpg.parse("takes", "select take(9805)"), rawpg.bind("p", "takes"), rawpg.sync())
    conn.until()
    conn.simple("savepoint s")
    conn.send(rawpg.parse("other", "select 1 as one"), rawpg.bind("p", "other"), rawpg.sync())
    assert errors(conn.until()) == ["42P03"]
    conn.simple("rollback to s")
    conn.send(rawpg.execute("p"), rawpg.sync())
    assert rawpg.types(conn.until()) == "DCZ"
    conn.simple("commit")
    wait_until(lambda: one.pool()["sv_pinned"] == 1, what="the client is pinned")
    assert held(pg) == ["9805 X"]


def test_nobody_blinds_the_probe_by_its_name(pg, one):
    conn = one.raw()
    for sql in ("select 9806", "deallocate lk_probe", "prepare lk_probe as select 0, 0, 0, 'x' where false"):
        try:
            conn.simple(sql)
        except rawpg.ServerError:
            pass
    conn.simple("do $$ begin perform pg_advisory_lock(9806); end $$")
    wait_until(lambda: one.pool()["sv_pinned"] == 1, what="the client is pinned")
    assert held(pg) == ["9806 X"]


def test_the_unnamed_statement_of_another_client_is_out_of_reach(one):
    first = one.raw()
    first.send(rawpg.parse("", "select 'secret'"), rawpg.sync())
    first.until()
    second = one.raw()
    second.send(rawpg.bind(), rawpg.execute(), rawpg.sync())
    assert errors(second.until()) == ["26000"]


@pytest.mark.parametrize("rest, syncs", [
    ([rawpg.copy_data(b"x\n"), rawpg.sync(), rawpg.copy_done(), rawpg.sync()], 2),
    ([rawpg.copy_data(b"x\n"), rawpg.sync()], 1),
    ([rawpg.sync(), rawpg.copy_data(b"x\n"), rawpg.sync()], 1),
    ([rawpg.sync(), rawpg.copy_data(b"x\n"), rawpg.copy_done(), rawpg.sync()], 1),
])
@pytest.mark.parametrize("wait", [False, True])
def test_a_data_error_in_a_copy_keeps_the_syncs_behind_it(one, rest, syncs, wait):
    conn = one.raw()
    first = [rawpg.parse("", "copy filled from stdin"), rawpg.bind(), rawpg.execute()]
    if wait:
        conn.send(*first, rawpg.flush())
        conn.until("G")
        conn.send(*rest)
    else:
        conn.send(*first, *rest)
    assert errors(conn.until(count=syncs)) == ["22P02"]
    assert conn.simple("select 1") == [["1"]]
    wait_unpinned(one)


def test_syncs_amid_the_data_of_a_copy_are_passed_over(one):
    conn = one.raw()
    conn.send(rawpg.parse("", "copy filled from stdin"), rawpg.bind(), rawpg.execute(), rawpg.sync(),
              rawpg.copy_data(b"7\n"), rawpg.sync(), rawpg.copy_data(b"8\n"), rawpg.copy_done(), rawpg.sync())
    assert errors(conn.until()) == []
    assert conn.simple("select 1") == [["1"]]
    wait_unpinned(one)


@pytest.mark.parametrize("first", [
    [rawpg.parse("a", "bogus")],
    [rawpg.execute("nowhere"), rawpg.parse("a", "select 1")],
    [rawpg.parse("a", "deallocate all"), rawpg.bind("", "a"), rawpg.execute()],
])
def test_a_name_that_an_outstanding_answer_frees_can_be_taken_in_the_same_pipeline(one, first):
    conn = one.raw()
    conn.send(*first, rawpg.sync(), rawpg.parse("a", "select 2"), rawpg.bind("", "a"), rawpg.execute(), rawpg.sync())
    messages = conn.until(count=2)
    assert "42P05" not in errors(messages)
    assert [rawpg.row(m.body) for m in messages if m.type == "D"] == [[b"2"]]


def test_more_messages_than_the_queue_holds_wait_their_turn(one):
    conn = one.raw()
    count = 70000
    sender = threading.Thread(
        target=lambda: conn.send(rawpg.query("select pg_sleep(0.5)"), *[rawpg.query("select")] * count))
    sender.start()
    conn.sock.settimeout(30)
    conn.until(count=count + 1)
    sender.join()


@pytest.mark.parametrize("text, code", [("raise notice '%', repeat('x', 20000000)", b"N"),
                                        ("raise exception '%', repeat('x', 20000000)", b"E")])
def test_a_message_of_20_megabytes_passes(one, text, code):
    conn = one.raw()
    conn.send(rawpg.query("do $$ begin %s; end $$" % text))
    conn.sock.settimeout(20)
    head, size, end = conn.sock.recv(5, socket.MSG_WAITALL), 5, b""
    while end != b"Z\0\0\0\5I":
        got = conn.sock.recv(1 << 20)
        assert got, "the connection was closed"
        size, end = size + len(got), (end + got)[-6:]
    assert head[:1] == code and size > 20000000


def test_a_client_that_dies_with_queries_pipelined_is_cancelled_to_the_end(pg, one):
    with pg.connect() as holder:
        holder.execute("select pg_advisory_lock(9813)")
        conn = one.raw()
        conn.send(*[rawpg.query("select pg_advisory_lock(9813)")] * 5)
        wait_until(lambda: len(pg.locks()) == 2, what="it waits for the lock")
        conn.reset()
        served_within(one, 4)
        assert held(pg) == ["9813 X"] and len(pg.locks()) == 1


def test_a_cancel_that_came_before_the_query_began_is_sent_again(pg, one):
    conn = one.raw()
    pid = int(conn.simple("select pg_backend_pid()")[0][0])
    os.kill(pid, signal.SIGSTOP)
    try:
        conn.send(rawpg.query("select pg_advisory_lock(9814), pg_sleep(30)"))
        wait_until(lambda: one.pool()["sv_active"] == 1, what="the query is on its way")
        conn.reset()
        wait_until(lambda: one.pool()["cl_active"] == 0, what="the client is gone")
        wait_until(lambda: "active_cancel" not in [r["state"] for r in one.console("SHOW SERVERS")], what="it was cancelled")
    finally:
        os.kill(pid, signal.SIGCONT)
    served_within(one, 5)
    wait_held(pg)


def test_terminate_with_a_result_unread_frees_the_backend_at_once(one):
    conn = one.raw()
    conn.send(rawpg.query("select repeat('x', 1000) from generate_series(1, 100000)"))
    conn.read()
    conn.send(rawpg.terminate())
    served_within(one, 3)


def test_a_broken_pipeline_leaves_no_sanitizer_report(one):
    whole = b"".join([rawpg.parse("a", "select pg_advisory_lock($1)", [20]), rawpg.bind("", "a", ["9815"]),
                      rawpg.describe("P"), rawpg.execute(), rawpg.sync(), rawpg.query("copy filled from stdin"),
                      rawpg.copy_data(b"1\n"), rawpg.copy_done(), rawpg.function_call(2880, [rawpg.int8(9816)]),
                      rawpg.query("begin"), rawpg.query("select 1"), rawpg.close("S", "a"), rawpg.sync()])
    for cut in range(0, len(whole), 7):
        conn = one.raw()
        conn.send(whole[:cut])
        conn.reset() if cut % 2 else conn.close()
    served_within(one, 8)
    assert "runtime error" not in tail(one.errfile)
