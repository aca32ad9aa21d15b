"""Neither how many rows came back nor what stands in them tells how many locks were taken: PostgreSQL is asked."""
import pytest

import rawpg
from harness import Daemon, wait_until
from locklib import held


POOLS = 8


@pytest.fixture(scope="module")
def shared(pg, folder, binary):
    """One daemon for all, with so many pools that probes stay rare in each, and the tables of the statements."""
    pg.one("""
        create table many(id bigint);
        insert into many select generate_series(19001, 19010);
        create table deferred_many(id bigint);
        create or replace function lock_row() returns trigger language plpgsql as
            $$ begin perform pg_advisory_lock(new.id); return new; end $$;
        create constraint trigger late after insert on deferred_many deferrable initially deferred
            for each row execute function lock_row();
        """, dbname="app", user="app")
    at = {"host": pg.host, "port": pg.port, "dbname": "app"}
    daemon = Daemon(folder, pg, binary, {"default_pool_size": 2}, databases={"pool%d" % n: at for n in range(POOLS)})
    yield daemon.start()
    wrong = daemon.stop()
    pg.one("drop table many, deferred_many", dbname="app", user="app")
    assert not wrong, wrong


@pytest.fixture
def use(request, pg, shared):
    request.node.lk_daemons = [shared]
    yield shared
    for conn in shared.opened:
        conn.close()
    shared.opened.clear()
    wait_until(lambda: held(pg) == [] == shared.console("SHOW ADVISORY_LOCKS"), what="nothing is held, and the ledgers know")


def query(sql):
    return lambda conn: len(conn.simple(sql))


def copied(sql):
    def run(conn):
        conn.send(rawpg.query(sql))
        return rawpg.types(conn.until()).count("d")
    return run


def commits(*statements):
    def run(conn):
        for sql in ("begin",) + statements:
            conn.simple(sql)
        before = len(held_by(conn))
        rows = len(conn.simple("commit"))
        assert len(held_by(conn)) > before, "it is COMMIT that locks"
        return rows
    return run


def held_by(conn):
    return conn.simple("select objid from pg_locks where locktype = 'advisory' and granted and pid = pg_backend_pid()")


def in_pieces(conn):
    conn.send(rawpg.parse("", "select pg_advisory_lock(id) from many order by id"), rawpg.bind(), rawpg.execute(rows=2),
              rawpg.sync())
    return rawpg.types(conn.until()).count("D")


def binary_false(conn):
    conn.send(rawpg.parse("", "select pg_try_advisory_lock($1) is null from many"), rawpg.bind(params=["19001"]),
              rawpg.execute(), rawpg.sync())
    return rawpg.types(conn.until()).count("D")


TRY = "pg_try_advisory_lock"

# Statement, rows that come back, locks that are held, how often the first of them was taken.
CASES = {
    "LIMIT over a sort": (query("select id from many where %s(id) order by id desc limit 1" % TRY), 1, 10, 1),
    "LIMIT without a sort": (query("select id from many where %s(id) limit 3" % TRY), 3, 3, 1),
    "a set-returning function beside the call": (
        query("select pg_advisory_lock(19001), generate_series(1, 10)"), 10, 1, 11),
    "a set-returning function without a row": (query("select pg_advisory_lock(19001), unnest('{}'::int[])"), 0, 1, 1),
    "OFFSET": (query("select %s(id) from many offset 10" % TRY), 0, 10, 1),
    "OFFSET of a single call": (query("select pg_advisory_lock(19001) offset 1"), 0, 1, 1),
    "LIMIT 0": (query("select pg_advisory_lock(19001) limit 0"), 0, 0, 0),
    "SELECT INTO": (
        query("drop table if exists into_rows; select %s(id) as got into temp into_rows from many" % TRY), 0, 10, 1),
    "INSERT": (
        query("create temp table inserted(b bool) on commit drop; "
              "insert into inserted select %s(id) from many" % TRY), 0, 10, 1),
    "CREATE TABLE AS": (
        query("create temp table created on commit drop as select %s(id) as got from many" % TRY), 0, 10, 1),
    "UPDATE": (query("update many set id = id where %s(id)" % TRY), 0, 10, 1),
    "DELETE of what it could not lock": (query("delete from many where not %s(id)" % TRY), 0, 10, 1),
    "WHERE IS FALSE": (query("select id from many where %s(id) is false" % TRY), 0, 10, 1),
    "a condition that is false later": (
        query("select id from many where %s(id) and id < 0 + random()" % TRY), 0, 10, 1),
    "ORDER BY": (query("select id from many order by %s(19001)" % TRY), 10, 1, 10),
    "ORDER BY of the key": (query("select 1 from many order by %s(id)" % TRY), 10, 10, 1),
    "GROUP BY": (query("select count(*) from many group by %s(id)" % TRY), 1, 10, 1),
    "an aggregate": (query("select bool_or(%s(id)) from many" % TRY), 1, 10, 1),
    "EXISTS": (query("select exists (select from many where not %s(id))" % TRY), 1, 10, 1),
    "DISTINCT": (query("select distinct %s(id) from many" % TRY), 1, 10, 1),
    "a join that drops the rows": (query("with l as materialized (select id, %s(id) from many) "
                                         "select 1 from l join many m on m.id = -l.id" % TRY), 0, 10, 1),
    "a result that is another type": (binary_false, 10, 1, 10),
    "a portal read in pieces": (in_pieces, 2, 10, 1),
    "COPY of a query": (copied("copy (select %s(id) from many) to stdout" % TRY), 10, 10, 1),
    "COPY of a query without a row": (copied("copy (select 1 from many where not %s(id)) to stdout" % TRY), 0, 10, 1),
    "EXPLAIN ANALYZE": (
        query("explain (analyze, costs off, timing off, summary off) select %s(id) from many" % TRY), 1, 10, 1),
    "COMMIT with a deferred trigger": (commits("insert into deferred_many select id from many"), 0, 10, 1),
    "COMMIT with a cursor WITH HOLD": (
        commits("close all", "declare holding no scroll cursor with hold for select %s(id) from many" % TRY,
                "fetch 3 from holding"), 0, 10, 1),
}
# What a sort or a cursor needs is not known beforehand: these may take fewer.
SOME = {"a portal read in pieces"}


@pytest.mark.parametrize("form", CASES)
def test_p04_every_lock_is_kept_however_few_rows_came_back(pg, use, form):
    run, rows, locks, count = CASES[form]
    pool = "pool%d" % (list(CASES).index(form) % POOLS)
    conn, other = use.raw(database=pool), use.raw(database=pool)
    assert run(conn) == rows
    taken = held(pg)
    assert len(taken) == locks or (form in SOME and rows <= len(taken) <= locks)
    assert conn.simple("select count(*) from pg_locks where locktype = 'advisory'") == [[str(len(taken))]]
    told = use.console("SHOW ADVISORY_LOCKS")
    assert sorted(str(r["key"]) for r in told) == sorted(t.split()[0] for t in taken), "the ledger has them all"
    for key in taken:
        assert other.simple("select pg_try_advisory_lock(%s)" % key.split()[0]) == [["f"]]
    keys = ",".join(t.split()[0] for t in taken)
    for _ in range(count):
        assert conn.simple("select bool_and(pg_advisory_unlock(id)) from many where id in (%s)" % keys) == [["t"]]
    assert held(pg) == [], "taken as often as it says"
    ports = [end.sock.getsockname()[1] for end in (conn, other)]
    for end in (conn, other):
        end.send(rawpg.terminate())
        end.close()
    wait_until(lambda: use.console("SHOW ADVISORY_LOCKS") == use.console("SHOW PINS") == [], what="nothing is pinned")
    assert [r for r in use.leaks("leak") if r["client"]["port"] in ports] == []


@pytest.mark.parametrize("form", [f for f, case in CASES.items() if case[2]])
def test_p03_every_lock_that_is_left_is_told_however_few_rows_came_back(pg, use, form):
    conn = use.raw(database="pool%d" % (list(CASES).index(form) % POOLS))
    port = conn.sock.getsockname()[1]
    CASES[form][0](conn)
    taken = held(pg)
    conn.send(rawpg.terminate())
    conn.close()
    told = lambda: [r["lock"]["key"] for r in use.leaks("leak") if r["client"]["port"] == port]
    wait_until(lambda: sorted(told()) == sorted(t.split()[0] for t in taken), what="one record each")
    wait_until(lambda: held(pg) == [], what="nothing is left")
