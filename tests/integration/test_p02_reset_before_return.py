"""P2: with advisory_unlock_all = always, a reset stands between two clients of a backend; else the backend is closed."""
import re

import pytest

from harness import tail
from locklib import SHARING_MODES, leak_of, wait_held

RESET = re.compile(r'fastpath function call: "pg_advisory_unlock_all"')


@pytest.fixture
def logged(pg):
    """A role whose statements PostgreSQL logs; gives the log's lines since then."""
    pg.one("do $$ begin create role logged login; exception when duplicate_object then null; end $$")
    pg.one("alter role logged set log_statement = 'all'")
    before = len(tail(pg.logfile, 10 ** 6).splitlines())
    return lambda: [l for l in tail(pg.logfile, 10 ** 6).splitlines()[before:] if "logged@app" in l]


def start(lk, **settings):
    return lk(dict({"default_pool_size": 1}, **settings), userlist={"logged": ""})


@SHARING_MODES
def test_p02_a_reset_follows_every_transaction(lk, logged):
    daemon = start(lk)
    clients = [daemon.connect(user="logged") for _ in range(2)]
    for n in range(6):
        clients[n % 2].execute("select 'mark'")
    order = ["M" if "'mark'" in l else "R" for l in logged() if "'mark'" in l or RESET.search(l)]
    assert "".join(order).lstrip("R").rstrip("R") == "MRMRMRMRMRM"


def test_p02_a_new_backend_is_reset_before_it_is_lent(lk, logged):
    daemon = start(lk, advisory_probe_sample=0)
    daemon.connect(user="logged").execute("select 'mark'")
    lines = [l for l in logged() if "'mark'" in l or RESET.search(l)]
    assert RESET.search(lines[0]), "a login trigger may have locked"


def test_p02_a_transaction_of_many_statements_is_reset_once(lk, logged):
    daemon = start(lk)
    conn, other = daemon.connect(user="logged"), daemon.connect(user="logged")
    conn.execute("select 'warm'")
    with conn.transaction():
        for n in range(5):
            conn.execute("select 'mark'")
    other.execute("select 'mark'")
    text = "".join("M" if "'mark'" in l else "R" for l in logged() if "'mark'" in l or RESET.search(l))
    assert "MMMMMRM" in text


def test_p02_tracked_spares_trusted_statements(lk, logged):
    daemon = start(lk, advisory_unlock_all="tracked", advisory_probe_sample=0, advisory_catalog=0)
    conn = daemon.connect(user="logged")
    for n in range(20):
        conn.execute("select %d as mark" % n)
    lines = [l for l in logged() if "as mark" in l or RESET.search(l) or "pg_locks" in l]
    assert len(lines) > 20, "the first executions are probed"
    assert all("as mark" in l for l in lines[-10:]), "the later ones neither probed nor reset"


def test_p02_where_the_reset_is_forbidden_the_lock_goes_all_the_same(pg, lk):
    pg.one("drop database if exists forbidden", dbname="postgres")
    pg.one("create database forbidden owner app", dbname="postgres")
    pg.one("revoke execute on function pg_advisory_unlock_all() from public", dbname="forbidden")
    daemon = lk({"default_pool_size": 1},
                databases={"app": {"host": pg.host, "port": pg.port, "dbname": "forbidden"}})
    with daemon.connect() as conn:
        conn.execute("select pg_advisory_lock(9301)")
    assert leak_of(daemon, "9301")["action"] in ("discard_all", "close")
    wait_held(pg, dbname="forbidden")
    assert daemon.connect().execute("select pg_try_advisory_lock(9301)").fetchone() == (True,)
