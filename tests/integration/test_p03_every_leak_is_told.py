"""P3: each session lock that is known when a backend is let go gives exactly one record, with the documented keys."""
import os
import re
import signal

import pytest

import rawpg
from harness import wait_until
from locklib import ALL_MODES, leak_of, wait_held

COMMON = {"ts": str, "event": str, "level": str, "database": str, "user": str, "pool_mode": str}
CLIENT = {"id": int, "addr": str, "port": int, "application_name": str}
BACKEND = {"id": int, "pid": int, "addr": str, "port": int}
RFC3339 = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")


def has(record, shape, optional=()):
    extra = set(record) - set(shape) - set(optional)
    assert not extra and set(shape) <= set(record), "keys %s" % sorted(record)
    for key, kind in shape.items():
        assert isinstance(record[key], kind), "%s is %r" % (key, record[key])


def leave(conn):
    conn.send(rawpg.terminate())
    conn.close()


def test_p03_a_leak_record_has_exactly_the_keys_of_the_schema(pg, lk):
    daemon = lk({"default_pool_size": 1})
    conn = daemon.raw(application_name="billing")
    pid = int(conn.simple("select pg_backend_pid()")[0][0])
    port = conn.sock.getsockname()[1]
    conn.simple("SELECT pg_advisory_lock(9527)")
    conn.simple("SELECT pg_advisory_lock(9527)")
    leave(conn)
    leak = leak_of(daemon, "9527")
    has(leak, dict(COMMON, client=dict, backend=dict, lock=dict, held_ms=int, acquired_at=str, query=str, fingerprint=str,
                   source=str, reason=str, action=str), optional=("tags",))
    has(leak["client"], CLIENT)
    has(leak["backend"], BACKEND)
    has(leak["lock"], {"space": str, "key": str, "mode": str, "count": int}, optional=("name",))
    assert RFC3339.match(leak["ts"]) and RFC3339.match(leak["acquired_at"])
    assert leak["acquired_at"] <= leak["ts"]
    assert (leak["level"], leak["database"], leak["user"], leak["pool_mode"]) == ("warning", "app", "app", "transaction")
    assert leak["client"]["application_name"] == "billing"
    assert (leak["client"]["addr"], leak["client"]["port"]) == ("127.0.0.1", port)
    assert (leak["backend"]["pid"], leak["backend"]["addr"], leak["backend"]["port"]) == (pid, "127.0.0.1", pg.port)
    assert leak["lock"] == dict(leak["lock"], space="bigint", key="9527", mode="exclusive", count=2)
    assert 0 <= leak["held_ms"] < 60000
    assert leak["query"] == "SELECT pg_advisory_lock($1)"
    assert re.match(r"^[0-9a-f]{16}$", leak["fingerprint"])
    assert (leak["source"], leak["reason"], leak["action"]) == ("ledger", "client_disconnect", "unlock_all")


@pytest.mark.parametrize("call, space, key, mode", [
    ("pg_advisory_lock(-1)", "bigint", "-1", "exclusive"),
    ("pg_advisory_lock(9223372036854775807)", "bigint", "9223372036854775807", "exclusive"),
    ("pg_advisory_lock(-9223372036854775808)", "bigint", "-9223372036854775808", "exclusive"),
    ("pg_advisory_lock(4294967298)", "bigint", "4294967298", "exclusive"),
    ("pg_advisory_lock(1, 2)", "int4pair", "1,2", "exclusive"),
    ("pg_advisory_lock(-7, 9)", "int4pair", "-7,9", "exclusive"),
    ("pg_advisory_lock_shared(9302)", "bigint", "9302", "shared"),
    ("pg_try_advisory_lock_shared(1001, -42)", "int4pair", "1001,-42", "shared"),
    ("pg_catalog.pg_try_advisory_lock(9303)", "bigint", "9303", "exclusive"),
    ('"pg_advisory_lock"(9304)', "bigint", "9304", "exclusive"),
    ("PG_Advisory_LOCK /* why */ ( 9305 )", "bigint", "9305", "exclusive"),
    ("pg_advisory_lock(9306::bigint)", "bigint", "9306", "exclusive"),
])
def test_p03_keys_are_signed_and_spaces_told_apart(pg, lk, call, space, key, mode):
    daemon = lk({"default_pool_size": 1})
    conn = daemon.raw()
    conn.simple("select " + call)
    leave(conn)
    lock = leak_of(daemon, key)["lock"]
    assert (lock["space"], lock["mode"], lock["count"]) == (space, mode, 1)
    wait_held(pg)


@ALL_MODES
def test_p03_bound_parameters_are_read_from_every_form(pg, lk):
    daemon = lk({"default_pool_size": 1})
    conn = daemon.raw()
    conn.extended("select pg_advisory_lock($1)", ["9311"])
    conn.extended("select pg_advisory_lock($1)", [rawpg.int8(-9312)], param_formats=[1])
    conn.extended("select pg_advisory_lock($1, $2)", [rawpg.int4(-3), "14"], param_formats=[1, 0])
    conn.send(rawpg.parse("keep", "select pg_try_advisory_lock_shared($1::int4)"), rawpg.sync())
    conn.until()
    conn.send(rawpg.bind("", "keep", [rawpg.int4(9313)], [1]), rawpg.execute(), rawpg.sync())
    conn.until()
    conn.send(rawpg.function_call(2882, [rawpg.int8(9314)]))
    conn.until()
    leave(conn)
    for key in ("9311", "-9312", "-3,14", "9313", "9314"):
        lock = leak_of(daemon, key)["lock"]
        assert lock["count"] == 1, "each was seen exactly"
    assert all(r["source"] == "ledger" for r in daemon.leaks("leak"))
    assert len(daemon.leaks("leak")) == 5


def test_p03_a_lock_in_a_function_is_told_from_the_probe(pg, lk, hidden):
    daemon = lk({"default_pool_size": 1})
    conn = daemon.raw()
    conn.simple("select take(9315)")
    hidden_record = leak_of(daemon, "9315", "hidden")
    has(hidden_record, dict(COMMON, client=dict, backend=dict, lock=dict, query=str, fingerprint=str, source=str),
        optional=("tags", "suspects"))
    assert hidden_record["level"] == "warning"
    assert hidden_record["query"] == "select take($1)"
    leave(conn)
    leak = leak_of(daemon, "9315")
    assert leak["source"] == "probe"
    assert leak["lock"]["count"] is None
    assert RFC3339.match(leak["acquired_at"])


@ALL_MODES
def test_p03_the_client_that_aborts_is_told_apart_from_the_one_that_leaves(lk):
    daemon = lk({"default_pool_size": 1})
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(9316)")
    conn.reset()
    assert leak_of(daemon, "9316")["reason"] == "client_abort"


def test_p03_policy_release_tells_the_leak_at_the_transactions_end(pg, lk):
    daemon = lk({"default_pool_size": 1, "advisory_lock_policy": "release"})
    conn = daemon.connect()
    with conn.transaction():
        conn.execute("select pg_advisory_lock(9317)")
        assert daemon.leaks("leak") == []
    assert leak_of(daemon, "9317")["reason"] == "transaction_end"
    wait_held(pg)


@ALL_MODES
def test_p03_a_hundred_records_a_release_then_a_summary(pg, lk):
    daemon = lk({"default_pool_size": 1})
    conn = daemon.raw()
    for first in range(0, 120, 10):
        conn.simple("; ".join("select pg_advisory_lock(%d)" % (93000 + first + n) for n in range(10)))
    leave(conn)
    summary = daemon.wait_leak(lambda r: r["event"] == "leak_summary")
    has(summary, dict(COMMON, client=dict, backend=dict, omitted=int, reason=str), optional=("action",))
    assert summary["omitted"] == 20
    keys = [r["lock"]["key"] for r in daemon.leaks("leak")]
    assert len(keys) == len(set(keys)) == 100
    wait_held(pg)


@ALL_MODES
def test_p03_locks_of_one_client_each_give_one_record(pg, lk):
    daemon = lk({"default_pool_size": 1})
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(9318)")
    conn.simple("select pg_advisory_lock_shared(9318)")
    conn.simple("select pg_advisory_lock(9319)")
    conn.simple("select pg_advisory_unlock(9319)")
    leave(conn)
    wait_until(lambda: len(daemon.leaks("leak")) == 2)
    wait_held(pg)
    assert sorted((r["lock"]["key"], r["lock"]["mode"]) for r in daemon.leaks("leak")) == [
        ("9318", "exclusive"), ("9318", "shared")]


def test_p03_constants_never_reach_the_log_unless_asked_for(lk):
    for setting, wanted in (("normalized", "select pg_advisory_lock($1), $2"),
                            ("full", "select pg_advisory_lock(9320), 'private'"), ("off", None)):
        daemon = lk({"default_pool_size": 1, "leak_log_query": setting})
        conn = daemon.raw()
        conn.simple("select pg_advisory_lock(9320), 'private'")
        leave(conn)
        leak = leak_of(daemon, "9320")
        assert leak.get("query") == wanted
        if setting != "full":
            assert "private" not in open(daemon.leakfile).read()


def test_p03_a_text_that_cannot_be_parsed_is_logged_without_its_constants(pg, lk):
    daemon = lk({"default_pool_size": 1})
    conn = daemon.raw()
    conn.simple("do $$ begin perform pg_advisory_lock(9321), 'private'; end $$")
    leave(conn)
    leak_of(daemon, "9321")
    assert "private" not in open(daemon.leakfile).read() and "9321" not in leak_of(daemon, "9321")["query"]


def test_p03_untrusted_text_cannot_break_a_record(lk):
    daemon = lk({"default_pool_size": 1})
    conn = daemon.raw(application_name='a"b\\c')
    conn.simple('select pg_advisory_lock(9322) as "x\n\t\x01y"')
    leave(conn)
    assert leak_of(daemon, "9322")["client"]["application_name"] == 'a"b\\c'
    with open(daemon.leakfile, "rb") as f:
        data = f.read()
    assert not any(c < 32 and c != 10 for c in data), "control characters are escaped"


def test_p03_the_leak_log_is_opened_anew_at_hup(lk):
    daemon = lk({"default_pool_size": 1})
    os.rename(daemon.leakfile, daemon.leakfile + ".1") if os.path.exists(daemon.leakfile) else None
    daemon.signal(signal.SIGHUP)
    wait_until(lambda: os.path.exists(daemon.leakfile), what="a new leak log")
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(9323)")
    leave(conn)
    leak_of(daemon, "9323")


def test_p03_pins_are_told_too(lk):
    daemon = lk({"default_pool_size": 1})
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(9324)")
    pin = leak_of(daemon, "9324", "pin")
    has(pin, dict(COMMON, client=dict, backend=dict, lock=dict, held_ms=int))
    assert pin["level"] == "info"
    conn.simple("select pg_advisory_unlock(9324)")
    daemon.wait_leak(lambda r: r["event"] == "unpin")
    leave(conn)
    assert daemon.leaks("leak") == []


def test_p03_only_the_events_asked_for_are_written(lk):
    daemon = lk({"default_pool_size": 1, "leak_log_events": "leak, lost"})
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(9325)")
    leave(conn)
    leak_of(daemon, "9325")
    assert {r["event"] for r in daemon.leaks()} == {"leak"}


def test_p03_without_a_leak_log_the_main_log_has_the_records(lk):
    daemon = lk({"default_pool_size": 1, "leak_log": None})
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(9326)")
    leave(conn)
    daemon.wait_log(r'"key": ?"9326"')
