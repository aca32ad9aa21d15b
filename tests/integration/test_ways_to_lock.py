"""Each way to take a session lock (lockways): kept while its client lives, gone and told when it has left.

All of them share a database and four daemons. A daemon has several names for that database, and so several pools: what
one pool's probes cost in a second stays far from where they would be skipped.
"""
import json

import pytest

import rawpg
from harness import Daemon, wait_until
from lockways import ANSWER, CATALOGUE, COMMON_SQL, TRUST, WAYS

DATABASE = "ways"
POOLS = 12
KINDS = {
    "always": {"advisory_unlock_all": "always"},
    "tracked": {"advisory_unlock_all": "tracked"},
    "session": {"pool_mode": "session"},
    "statement": {"pool_mode": "statement"},
    "catalogue": {"advisory_catalog": "on"},
}


@pytest.fixture(scope="module")
def ways_database(pg):
    pg.one("create database %s owner app" % DATABASE)
    pg.one(COMMON_SQL, dbname=DATABASE, user="app")
    for user, sql in (("app", "setup"), ("postgres", "superuser")):
        pg.one(";".join(getattr(w, sql) for w in WAYS), dbname=DATABASE, user=user)
    yield DATABASE
    pg.one("drop database %s with (force)" % DATABASE)


class Shared:
    """A daemon that all tests of one kind use, its leak log as far as it was read, and a client that looks on."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.records, self.read = [], 0
        self.onlooker = daemon.raw(database="onlooker")

    def told(self, event, way, port=None):
        with open(self.daemon.leakfile) as f:
            f.seek(self.read)
            text = f.read()
        whole = text.rfind("\n") + 1
        self.records += [json.loads(line) for line in text[:whole].splitlines()]
        self.read += len(text[:whole].encode())
        return [r for r in self.records if r["event"] == event and r["lock"]["key"] == way.lock.replace(", ", ",") and
                port in (None, r["client"]["port"])]


@pytest.fixture(scope="module")
def kinds(pg, folder, binary, ways_database):
    made = {}
    at = {"host": pg.host, "port": pg.port, "dbname": DATABASE}
    names = ["onlooker"] + ["pool%d" % n for n in range(POOLS)]
    for kind, settings in KINDS.items():
        settings = dict({"default_pool_size": 2, "advisory_catalog": "off"}, **settings)
        daemon = Daemon(folder, pg, binary, settings, databases={n: at for n in names})
        made[kind] = Shared(daemon.start())
    yield made
    wrong = [w for w in [shared.daemon.stop() for shared in made.values()] if w]
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def shared_of(request, kinds):
    def use(kind):
        request.node.lk_daemons = [kinds[kind].daemon]
        return kinds[kind]
    return use


def holders(pg, way):
    """pids that hold the way's lock."""
    return [pid for pid, _, granted, _, key in pg.locks(DATABASE) if granted and key == way.lock]


def arrive(shared, way):
    conn = shared.daemon.raw(database="pool%d" % (way.key % POOLS))
    return conn, conn.sock.getsockname()[1]


def leave(conn, how):
    if how == "reset":
        conn.reset()
    else:
        conn.send(rawpg.terminate())
        conn.close()


def gone_and_told(pg, shared, way, port, pid):
    """The client of that port is gone: its lock too, from a backend that lives on, and there is one record of it."""
    leaks = wait_until(lambda: shared.told("leak", way, port), what="the leak is told")
    wait_until(lambda: not holders(pg, way), what="nobody holds the lock")
    assert pg.one("select datname from pg_stat_activity where pid = %s", (pid,)) == [(DATABASE,)], "the backend lives"
    assert len(leaks) == len(shared.told("leak", way, port)) == 1
    return leaks[0]


@pytest.mark.parametrize("kind", ["always", "tracked"])
@pytest.mark.parametrize("way", WAYS, ids=repr)
def test_p01_p03_p04_a_lock_is_kept_while_its_client_lives_then_gone_and_told(pg, shared_of, way, kind):
    shared = shared_of(kind)
    for how in ("terminate", "reset"):
        conn, port = arrive(shared, way)
        way.run(conn)
        pid = holders(pg, way)
        assert len(pid) == 1, "the way locks"
        assert conn.simple("select pg_backend_pid()") == [[str(pid[0])]]
        conn.simple("begin; commit")
        assert shared.onlooker.simple("select pg_try_advisory_lock(%s)" % way.lock) == [["f"]], "others are kept out"
        assert holders(pg, way) == pid
        leave(conn, how)
        leak = gone_and_told(pg, shared, way, port, pid[0])
        assert leak["reason"] == {"terminate": "client_disconnect", "reset": "client_abort"}[how]
        assert leak["source"] == ("ledger" if way.seen == ANSWER else "probe")
        assert leak["lock"]["count"] == (1 if way.seen == ANSWER else None)
    assert bool(shared.told("hidden", way)) == (way.seen in (TRUST, CATALOGUE)), "hidden is what no text shows"


@pytest.fixture(scope="module")
def catalogued(kinds):
    kinds["catalogue"].daemon.wait_log("catalogue of ways at .* functions and views")


@pytest.mark.parametrize("way", [w for w in WAYS if w.seen in (TRUST, CATALOGUE)], ids=repr)
def test_p01_p03_what_the_catalogue_knows_is_no_surprise_and_gone_and_told(pg, shared_of, catalogued, way):
    shared = shared_of("catalogue")
    conn, port = arrive(shared, way)
    way.run(conn)
    pid = holders(pg, way)
    assert len(pid) == 1, "the way locks"
    leave(conn, "terminate")
    gone_and_told(pg, shared, way, port, pid[0])
    assert bool(shared.told("hidden", way)) == (way.seen == TRUST)


@pytest.mark.parametrize("kind, way", [(kind, w) for kind in ("session", "statement") for w in WAYS
                                       if kind == "session" or not w.in_block], ids=str)
def test_p01_p03_in_session_and_statement_mode_it_is_gone_and_told(pg, shared_of, way, kind):
    shared = shared_of(kind)
    conn, port = arrive(shared, way)
    way.run(conn)
    pid = holders(pg, way)
    assert len(pid) == 1, "the way locks"
    leave(conn, "terminate")
    gone_and_told(pg, shared, way, port, pid[0])
