"""Trust by evidence: the first executions of a statement are probed; a clean record earns trust."""
import pytest

from harness import tail, wait_until
from locklib import held, leak_of, wait_held


@pytest.fixture
def probes(pg):
    """Counts the probes that PostgreSQL has seen of the role `probed` since the test began."""
    pg.one("do $$ begin create role probed login; exception when duplicate_object then null; end $$")
    pg.one("alter role probed set log_statement = 'all'")
    before = len(tail(pg.logfile, 10 ** 6).splitlines())
    return lambda: sum("probed@app" in l and "pg_locks" in l and " execute " in l
                       for l in tail(pg.logfile, 10 ** 6).splitlines()[before:])


def start(lk, **settings):
    return lk(dict({"default_pool_size": 1, "advisory_probe_sample": 0, "advisory_catalog": 0}, **settings), userlist={"probed": ""})


def run(daemon, count, sql="select %d as n"):
    conn = daemon.connect(user="probed")
    for n in range(count):
        conn.execute(sql % n if "%d" in sql else sql)
    conn.execute("show server_version")
    conn.close()


def test_trust_comes_after_so_many_clean_probes_whatever_the_constants(lk, probes):
    run(start(lk, advisory_trust_after=3), 12)
    assert probes() in (3, 4), "a statement that is sent while the third probe runs is not trusted yet"


def test_trust_at_once_probes_nothing(lk, probes):
    run(start(lk, advisory_trust_after=0), 12)
    assert probes() == 0


def test_trust_is_per_statement(lk, probes):
    daemon = start(lk, advisory_trust_after=2)
    run(daemon, 5)
    run(daemon, 5, "select %d as other")
    run(daemon, 5)
    assert probes() == 4


def test_trust_is_not_earned_by_statements_that_return_nothing(lk, probes):
    run(start(lk, advisory_trust_after=2), 10, "select %d as n where false")
    assert probes() == 10, "a tag of 0 rows counts a tenth"


def test_trust_is_not_needed_by_what_cannot_lock(lk, probes):
    daemon = start(lk)
    conn = daemon.connect(user="probed")
    for sql in ("begin", "set local work_mem = '4MB'", "savepoint a", "rollback to a", "release a", "rollback",
                "show work_mem", "listen x", "unlisten x"):
        conn.execute(sql)
    conn.close()
    daemon.connect(user="probed").execute("show work_mem")
    assert probes() == 0


def test_trust_is_sampled(lk, probes):
    daemon = start(lk, advisory_trust_after=1, advisory_probe_sample=10)
    run(daemon, 51)
    assert 4 <= probes() - 1 <= 7


def test_a_hidden_lock_in_a_trusted_statement_is_cleared_after_its_transaction(pg, lk, hidden):
    daemon = lk({"default_pool_size": 1, "advisory_trust_after": 0, "advisory_probe_sample": 0})
    conn = daemon.connect()
    conn.execute("select take(9951)")
    wait_held(pg)
    assert conn.execute("select pg_try_advisory_lock(9951)").fetchone() == (True,)


def test_a_hidden_lock_makes_its_statement_a_touch(pg, lk, hidden):
    daemon = lk({"default_pool_size": 1, "advisory_probe_sample": 0})
    for n in range(5):
        with daemon.connect() as conn:
            conn.execute("select take(%d)" % (9960 + n))
            assert held(pg) == ["%d X" % (9960 + n)]
        leak_of(daemon, str(9960 + n))
        wait_held(pg)
    assert len(daemon.leaks("leak")) == 5


def test_a_sample_finds_the_lock_that_a_trusted_statement_takes_later(pg, lk, hidden):
    pg.one("create or replace function sometimes(k bigint) returns void language plpgsql as "
           "$$ begin if k > 100 then perform pg_advisory_lock(k); end if; end $$", dbname="app")
    daemon = lk({"default_pool_size": 1, "advisory_trust_after": 2, "advisory_probe_sample": 3,
                 "advisory_unlock_all": "tracked"})
    conn = daemon.connect()
    for n in range(3):
        conn.execute("select sometimes(1)")
    for n in range(8):
        conn.execute("select sometimes(%d)" % (9970 + n))
    hidden_found = wait_until(lambda: daemon.leaks("hidden"), what="the sample finds it")
    assert hidden_found[0]["source"] in ("probe", "sweep")
    conn.close()
    wait_held(pg)


@pytest.mark.parametrize("policy", ["pin", "release"])
def test_policies_stand_per_database_and_per_user(pg, lk, policy):
    other = "release" if policy == "pin" else "pin"
    base = {"host": pg.host, "port": pg.port, "dbname": "app"}
    daemon = lk({"default_pool_size": 1, "advisory_lock_policy": other},
                databases={"app": dict(base, advisory_lock_policy=policy), "plain": base})
    for name, kept in (("app", policy == "pin"), ("plain", other == "pin")):
        conn = daemon.connect(name)
        conn.execute("select pg_advisory_lock(9980)")
        if kept:
            assert held(pg) == ["9980 X"]
        else:
            wait_held(pg)
        conn.close()
        leak_of(daemon, "9980")
        wait_held(pg)


def test_a_policy_in_name_locks_ini_counts(pg, lk):
    daemon = lk({"default_pool_size": 1, "advisory_lock_policy": "pin"},
                locks_ini="[databases]\napp = advisory_lock_policy=release\n")
    conn = daemon.connect()
    conn.execute("select pg_advisory_lock(9981)")
    assert leak_of(daemon, "9981")["reason"] == "transaction_end", "NAME.locks.ini is read"
