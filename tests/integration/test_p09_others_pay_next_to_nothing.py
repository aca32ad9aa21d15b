"""P9: who uses no locks pays next to nothing. Counted, not timed: what PostgreSQL is sent beyond the client's own statements."""
import re

import pytest

from harness import free_port, tail, wait_until
from locklib import ALL_MODES, BLOCK_MODES, SHARING_MODES
from lockcounts import counts

ROUNDS = 20
OURS = re.compile("pg_advisory_unlock_all|pg_locks|set_config|DISCARD|discard")


@pytest.fixture
def logged(pg):
    """A role whose statements PostgreSQL logs; gives those since it was asked last."""
    pg.one("do $$ begin create role logged login; exception when duplicate_object then null; end $$")
    pg.one("alter role logged set log_statement = 'all'")
    seen = [0]

    def since():
        lines = [l for l in tail(pg.logfile, 10 ** 6).splitlines() if "logged@app" in l and re.search("statement:|execute|fastpath", l)]
        new, seen[0] = lines[seen[0]:], len(lines)
        return new
    since()
    return since


@pytest.fixture
def start(lk):
    """A daemon under `tracked` that nothing but its clients makes ask PostgreSQL, and the cost of so many rounds of trusted work."""
    def make(**settings):
        return lk(dict({"default_pool_size": 1, "advisory_unlock_all": "tracked", "advisory_probe_sample": 0, "advisory_catalog": 0,
                        "advisory_sweep_interval": 0, "server_check_delay": 300, "metrics_listen_port": free_port()}, **settings),
                  userlist={"logged": ""})
    return make


def at_home(daemon):
    wait_until(lambda: daemon.pool(user="logged")["sv_active"] == 0, what="the backend is at home")


def query(conn, n):
    conn.simple("select %d as n" % n)


def extended(conn, n):
    conn.extended("select $1::int as n", [str(n)])


def transaction(conn, n):
    for sql in ("begin", "select %d as n" % n, "commit"):
        conn.simple(sql)


def warm(daemon, run):
    """Rounds until three in a row have cost no probe."""
    conn, quiet, before = daemon.raw(user="logged"), 0, -1
    for n in range(60):
        run(conn, n)
        if daemon.settings["pool_mode"] != "session":
            at_home(daemon)
        now = counts(daemon, user="logged")["probes"]
        quiet = quiet + 1 if now == before else 0
        before = now
        if quiet == 3:
            return conn
    raise AssertionError("probes go on: %r" % counts(daemon, user="logged"))


@SHARING_MODES
@pytest.mark.parametrize("run", [query, extended], ids=lambda r: r.__name__)
def test_p09_under_tracked_postgresql_sees_the_clients_statements_and_no_other(start, logged, run):
    daemon = start()
    conn = warm(daemon, run)
    logged()
    for n in range(ROUNDS):
        run(conn, n)
    lines = logged()
    assert len(lines) == ROUNDS, lines
    assert all("as n" in l for l in lines)


@BLOCK_MODES
def test_p09_a_transaction_under_tracked_is_the_clients_statements_and_no_other(start, logged):
    daemon = start()
    conn = warm(daemon, transaction)
    logged()
    for n in range(ROUNDS):
        transaction(conn, n)
    lines = logged()
    assert len(lines) == 3 * ROUNDS, lines
    assert not [l for l in lines if OURS.search(l)]


@SHARING_MODES
@pytest.mark.parametrize("run", [query, extended], ids=lambda r: r.__name__)
def test_p09_under_always_one_reset_is_added_to_each_and_nothing_else(start, logged, run):
    daemon = start(advisory_unlock_all="always")
    conn = warm(daemon, run)
    logged()
    before = counts(daemon, user="logged")
    for n in range(ROUNDS):
        run(conn, n)
    at_home(daemon)
    after = counts(daemon, user="logged")
    lines = logged()
    assert (after["probes"], after["resets"]) == (before["probes"], before["resets"] + ROUNDS)
    assert len([l for l in lines if "as n" in l]) == ROUNDS
    assert len([l for l in lines if "pg_advisory_unlock_all" in l]) == ROUNDS
    assert len(lines) == 2 * ROUNDS, lines


@ALL_MODES
def test_p09_who_holds_a_lock_costs_the_others_nothing(start, logged, pool_mode):
    daemon = start(default_pool_size=2)
    holder = daemon.raw(user="logged")
    holder.simple("select pg_advisory_lock(909001)")
    conn = daemon.raw(user="logged")
    for n in range(10):
        query(conn, n)
        if pool_mode != "session":
            wait_until(lambda: daemon.pool(user="logged")["sv_active"] == 1, what="only the holder has a backend")
    logged()
    for n in range(ROUNDS):
        query(conn, n)
    lines = logged()
    assert len(lines) == ROUNDS and not [l for l in lines if OURS.search(l)]
    assert holder.simple("select pg_advisory_unlock(909001)") == [["t"]]
