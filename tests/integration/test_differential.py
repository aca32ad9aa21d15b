"""The same random lock script on direct connections and through the proxy, compared step by step.

Two databases of one server (advisory locks are per database) get the same steps (differ_steps.py): eight clients over fewer
backends lock, try, unlock, share and wait, in both key spaces, in and out of transactions, by all forms of the protocol and by
functions, triggers and views that no text shows, with errors, time-outs and cancels in between; they come and go, in mid-query
too. After each step the answers (rows, notices, errors) and the advisory rows of pg_locks must be the same. At the end every
lock left behind is in the leak log exactly once. LK_STEPS sets the number of steps of all runs together, LK_SEED repeats them.
"""
import collections
import os
import random

import pytest

import differ_steps
from differ import Pairs
from harness import wait_until

STEPS = int(os.environ.get("LK_STEPS", "1500"))
SEED = int(os.environ.get("LK_SEED", random.randrange(1 << 30)))
CLIENTS, USER = 8, "app"
DATABASES = ("differ", "differ2")
RUNS = {  # pool_mode, advisory_unlock_all, advisory_catalog, backends, share of the steps
    "transaction, always, catalogue": ("transaction", "always", 1, 5, 0.4),
    "transaction, tracked, no catalogue": ("transaction", "tracked", 0, 5, 0.25),
    "session, always, catalogue": ("session", "always", 1, CLIENTS + 2, 0.15),
    "statement, tracked, catalogue": ("statement", "tracked", 1, 5, 0.2)}


@pytest.fixture
def databases(pg):
    for name in DATABASES:
        pg.one("create database %s owner app" % name)
        pg.one(differ_steps.SQL, dbname=name, user="app")
    yield
    for name in DATABASES:
        pg.one("drop database %s with (force)" % name)


def start(pg, lk, mode, unlock_all, catalogue, size):
    daemon = lk({"pool_mode": mode, "default_pool_size": size, "advisory_unlock_all": unlock_all, "advisory_catalog": catalogue,
                 "advisory_sweep_interval": 1, "server_reset_query": "discard all"},
                databases={DATABASES[1]: {"host": pg.host, "port": pg.port}})
    pairs = Pairs(pg, daemon, DATABASES, USER, CLIENTS, size)
    for side in pairs.sides:
        side.oids = dict(pg.one("select proname, oid from pg_proc where pronamespace = 'public'::regnamespace", dbname=side.dbname))
    return daemon, pairs


def warm_up(daemon, run, mode, catalogue):
    """The catalogue is known; without it, each text that hides a lock has been seen to, so that its probe is never skipped."""
    run.pairs.arrive(0)
    run.pairs.proxy.conns[0].simple("show server_version")
    if mode == "session":
        return
    if catalogue:
        run.pairs.leave(0, False)
        daemon.wait_log("catalogue of .* functions and views take or free session locks")
        return
    for n in range(60):
        if n % 20 == 0:
            run.ask(0, "rollback" if n == 40 else "begin" if n == 20 and run.blocks else "select 1")
        differ_steps.hidden(run, 0) if n % 2 else differ_steps.hidden_function_call(run, 0)
        run.pairs.states[0] == "E" and run.ask(0, "rollback") or run.ask(0, "select pg_advisory_unlock_all()")


@pytest.mark.limit(60 + STEPS // 10)
@pytest.mark.parametrize("name", RUNS)
def test_random_lock_scripts_give_the_answers_and_locks_of_direct_connections(pg, lk, databases, name):
    mode, unlock_all, catalogue, size, share = RUNS[name]
    print("LK_SEED=%d LK_STEPS=%d (%s)" % (SEED, STEPS, name))
    daemon, pairs = start(pg, lk, mode, unlock_all, catalogue, size)
    run = differ_steps.Run(pairs, random.Random("%d %s" % (SEED, name)), mode != "statement", catalogue)
    warm_up(daemon, run, mode, catalogue)
    taken = collections.Counter()
    for pairs.step in range(int(STEPS * share)):
        ready = [c for c in range(CLIENTS) if c not in pairs.waiting and pairs.served(c)]
        if not ready:
            differ_steps.cancel(run, None)
            continue
        client = run.rnd.choice(ready)
        if pairs.direct.conns[client] is None:
            pairs.arrive(client)
        taken[differ_steps.take_step(run, client)] += 1
    for client in range(CLIENTS):
        if pairs.direct.conns[client] is not None:
            pairs.leave(client, False)
    wait_until(lambda: pg.locks(DATABASES[0]) == [] == pg.locks(DATABASES[1]), what="nothing is held")
    all_left_is_told_once(daemon, pairs)
    print("%d waits, %d locks left behind; steps: %s" % (pairs.waits, sum(pairs.left.values()), dict(taken)))


def all_left_is_told_once(daemon, pairs):
    records = lambda: daemon.leaks("leak")
    wait_until(lambda: len(records()) >= sum(pairs.left.values()), what="every lock left behind is told")
    space = {"bigint": 1, "int4pair": 2}
    mode = {"exclusive": "ExclusiveLock", "shared": "ShareLock"}
    what = lambda r: (space[r["lock"]["space"]], r["lock"]["key"], mode[r["lock"]["mode"]])
    assert collections.Counter(what(r) + (r["reason"],) for r in records()) == pairs.left
    counts = collections.Counter(what(r) + (r["lock"]["count"],) for r in records() if r["lock"]["count"] is not None)
    assert counts - pairs.counts == collections.Counter(), "a count that is told is the true one"
