"""The catalogue: functions, views and tables that take session locks are known before their first execution, and stay
touches however often they locked nothing."""
import pytest

import rawpg
from harness import tail, wait_until
from locklib import leak_of

SQL = """
create function base_lock(k bigint) returns void language plpgsql as
    $$ begin if k > 0 then perform pg_advisory_lock(k); end if; end $$;
create function calls_base(k bigint) returns void language plpgsql as $$ begin perform public.base_lock(k); end $$;
create function calls_caller(k bigint) returns int language sql as $$ select calls_base(k); select 1 $$;
create function atomic_lock(k bigint) returns bool language sql begin atomic select k > 0 and pg_try_advisory_lock(k); end;
create function by_atomic(k bigint) returns bool language sql begin atomic select atomic_lock(k); end;
create view locking as select n, atomic_lock(n) as got from generate_series(0, 0) n;
create view over_locking as select * from locking;
create function xact_only(k bigint) returns void language sql as $$ select pg_advisory_xact_lock(k) $$;
create function harmless(k bigint) returns bigint language sql as $$ select k + 1 $$;
create table harmless_table(k bigint);
create table with_trigger(k bigint);
create function trigger_locks() returns trigger language plpgsql as $$ begin perform base_lock(new.k); return new; end $$;
create trigger t before insert on with_trigger for each row execute function trigger_locks();
create table with_default(k bigint, got bool default atomic_lock(0));
create table with_check(k bigint check (atomic_lock(k) is not null));
create table with_rule(k bigint);
create rule r as on insert to with_rule do also select base_lock(new.k);
create table with_policy(k bigint);
insert into with_policy values (0);
create policy p on with_policy using (atomic_lock(k) is not null);
"""

TOUCHES = ["select base_lock(0)", "select calls_base(0)", "select calls_caller(0)", "select atomic_lock(0)",
           "select public.by_atomic(0)", "select * from locking", "select n from over_locking", 'select "base_lock"(0)',
           "insert into with_trigger values (0)", "insert into with_default values (0)",
           "insert into with_check values (0)", "insert into with_rule values (0)", "select k from with_policy"]
HARMLESS = ["select xact_only(1)", "select harmless(1)", "insert into harmless_table values (1)",
            "select count(*) from with_trigger"]


@pytest.fixture(scope="module")
def database(pg):
    pg.one("create database catalogued owner app")
    pg.one(SQL, dbname="catalogued", user="app")
    yield {"catalogued": {"host": pg.host, "port": pg.port, "dbname": "catalogued"}}
    pg.one("drop database catalogued with (force)")


@pytest.fixture
def start(lk, database):
    def make(**settings):
        daemon = lk(dict({"default_pool_size": 1, "advisory_probe_sample": 0, "advisory_trust_after": 2,
                          "advisory_unlock_all": "tracked"}, **settings), databases=database)
        daemon.connect("catalogued").execute("show server_version")
        return daemon
    return make


def known(daemon):
    daemon.wait_log("catalogue of catalogued at .* functions and views take or free session locks")
    return daemon


@pytest.fixture
def counted(pg):
    """Counts the probes that PostgreSQL has seen of the role `counted`."""
    pg.one("do $$ begin create role counted login superuser; exception when duplicate_object then null; end $$")
    pg.one("alter role counted set log_statement = 'all'")
    before = len(tail(pg.logfile, 10 ** 6).splitlines())
    return lambda: sum("counted@catalogued" in l and "pg_locks" in l and " execute " in l
                       for l in tail(pg.logfile, 10 ** 6).splitlines()[before:])


def run(daemon, sql, count):
    with daemon.connect("catalogued", "counted") as conn:
        for _ in range(count):
            conn.execute(sql)
        conn.execute("show server_version")


@pytest.mark.parametrize("sql", TOUCHES)
def test_what_locks_by_the_catalogue_is_probed_each_time(lk, database, counted, sql):
    daemon = known(start_as_counted(lk, database))
    run(daemon, sql, 6)
    wait_until(lambda: counted() == 6, what="each execution is probed")


@pytest.mark.parametrize("sql", HARMLESS)
def test_what_does_not_earns_trust_as_before(lk, database, counted, sql):
    daemon = known(start_as_counted(lk, database))
    run(daemon, sql, 6)
    assert counted() == 2


def start_as_counted(lk, database):
    daemon = lk({"default_pool_size": 1, "advisory_probe_sample": 0, "advisory_trust_after": 2}, databases=database,
                userlist={"counted": ""})
    daemon.connect("catalogued", "counted").execute("show server_version")
    return daemon


def test_a_lock_under_a_condition_that_comes_late_is_seen_at_once(start):
    daemon = known(start())
    conn = daemon.connect("catalogued")
    for _ in range(5):
        conn.execute("select calls_caller(0)")
    conn.execute("select calls_caller(771001)")
    # the next one on the only backend has to wait: the client has its lock, and its backend
    other = daemon.connect("catalogued")
    conn.close()
    assert leak_of(daemon, "771001")["client"]["application_name"] is not None
    assert other.execute("select 1").fetchone() == (1,)


def test_a_function_that_is_created_here_is_known_from_its_creation_on(start):
    daemon = known(start())
    conn = daemon.connect("catalogued")
    conn.execute("create function born_here(k bigint) returns void language plpgsql as"
                 " $$ begin if k > 0 then perform pg_advisory_lock(k); end if; end $$")
    for _ in range(4):
        conn.execute("select born_here(0)")
    conn.execute("select born_here(771002)")
    conn.close()
    leak_of(daemon, "771002")
    daemon.connect("catalogued").execute("drop function born_here")


def test_ddl_that_goes_past_makes_it_read_again(start, pg):
    daemon = known(start())
    pg.one("create function made_elsewhere(k bigint) returns void language sql as $$ select pg_advisory_lock(k) where k > 0 $$",
           dbname="catalogued", user="app")
    conn = daemon.connect("catalogued")
    before = daemon.log.count("catalogue of catalogued")
    conn.execute("create function something_else() returns int language sql as 'select 1'")
    wait_until(lambda: daemon.log.count("catalogue of catalogued") > before, what="it is read again")
    for _ in range(4):
        conn.execute("select made_elsewhere(0)")
    conn.execute("select made_elsewhere(771003)")
    conn.close()
    leak_of(daemon, "771003")
    daemon.connect("catalogued").execute("drop function something_else; drop function made_elsewhere")


def test_an_unqualified_call_is_not_believed_while_there_is_an_overload(start, pg):
    """public.pg_advisory_lock(int) takes none, and its answer looks the same."""
    pg.one("create function public.pg_advisory_lock(k int) returns void language sql as $$ select null::void $$",
           dbname="catalogued", user="app")
    try:
        daemon = start()
        daemon.wait_log("outside pg_catalog by the names of lock functions")
        conn = daemon.connect("catalogued")
        conn.execute("select pg_advisory_lock(88)")
        conn.execute("select pg_catalog.pg_advisory_lock(771004::bigint)")
        conn.close()
        leak_of(daemon, "771004")
        assert not [r for r in daemon.leaks() if r.get("lock", {}).get("key") == "88"]
    finally:
        pg.one("drop function public.pg_advisory_lock(int)", dbname="catalogued", user="app")


def test_a_catalogue_that_cannot_be_read_is_told_and_evidence_goes_on(start, pg):
    pg.one("revoke select on pg_catalog.pg_rewrite from public", dbname="catalogued")
    try:
        daemon = start()
        daemon.wait_log("catalogue of catalogued at .* can't be read .42501.")
        conn = daemon.connect("catalogued")
        conn.execute("select base_lock(771005)")
        conn.close()
        leak_of(daemon, "771005")
    finally:
        pg.one("grant select on pg_catalog.pg_rewrite to public", dbname="catalogued")


def test_it_is_not_read_where_it_is_switched_off(start):
    daemon = start(advisory_catalog=0)
    conn = daemon.connect("catalogued")
    for _ in range(5):
        conn.execute("select calls_base(0)")
    conn.execute("select calls_base(771006)")
    conn.close()
    daemon.connect("catalogued").execute("select pg_advisory_unlock_all()")
    assert "functions and views" not in daemon.log


def test_it_is_read_on_an_idle_backend_only_and_clients_never_wait_for_it(lk, database, pg):
    daemon = lk({"default_pool_size": 1, "advisory_trust_after": 1, "advisory_probe_sample": 0}, databases=database)
    holder = daemon.connect("catalogued", autocommit=False)
    holder.execute("select 1")
    waiting = daemon.raw("app", "catalogued")
    waiting.send(rawpg.query("select 2"))
    wait_until(lambda: daemon.pool("catalogued")["cl_waiting"] == 1, what="the client waits")
    assert "functions and views" not in daemon.log
    holder.commit()
    assert waiting.rows() == [["2"]]
    known(daemon)
