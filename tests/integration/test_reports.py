"""What people have reported of session locks behind poolers: each report in a few steps, and how it must end.

All share one daemon, which has several names for the same database: "one", "two" and "five" have so many backends.
"""
import subprocess

import pytest

import rawpg
from harness import Daemon, free_port, wait_until
from lockcounts import counts
from locklib import HIDDEN_SQL, count_of, held, is_pinned, leak_of, wait_held, wait_unpinned

OPTIONS = {
    "one": {"pool_size": 1},
    "two": {"pool_size": 2},
    "five": {"pool_size": 5},
    "warned": {"pool_size": 2},
    "release": {"pool_size": 2, "advisory_lock_policy": "release", "advisory_lock_notice": "on"},
    "reject": {"pool_size": 1, "advisory_lock_policy": "reject"},
    "limited": {"pool_size": 3, "advisory_max_pins": 1},
    "impatient": {"pool_size": 1, "advisory_pin_timeout": 1},
    "short": {"pool_size": 1, "server_lifetime": 1},
    "always": {"pool_size": 1, "advisory_trust_after": 0},
    "tracked": {"pool_size": 1, "advisory_trust_after": 0, "advisory_unlock_all": "tracked"},
}


@pytest.fixture(scope="module")
def shared(pg, folder, binary):
    pg.one("create database reports owner app")
    pg.one(HIDDEN_SQL, dbname="reports", user="app")
    at = {"host": pg.host, "port": pg.port, "dbname": "reports"}
    daemon = Daemon(folder, pg, binary, {"metrics_listen_port": free_port(), "advisory_idle_hold_log": 1},
                    databases={name: dict(at, **more) for name, more in OPTIONS.items()})
    yield daemon.start()
    wrong = daemon.stop()
    pg.one("drop database reports with (force)")
    assert not wrong, wrong


class Site:
    """The daemon, and who comes to it."""

    def __init__(self, pg, daemon):
        self.pg, self.daemon = pg, daemon
        self.direct_ones = []

    def client(self, database="two", **params):
        return self.daemon.raw(database=database, **params)

    def direct(self):
        """A session of PostgreSQL's own, not through the daemon."""
        self.direct_ones.append(rawpg.RawConn(self.pg.host, self.pg.port).login("app", "reports"))
        return self.direct_ones[-1]

    def held(self):
        return held(self.pg, "reports")

    def wait_held(self, *wanted):
        wait_held(self.pg, *wanted, dbname="reports")

    def waiters(self):
        return [row for row in self.pg.locks("reports") if not row[2]]

    def leave(self):
        for conn in self.daemon.opened + self.direct_ones:
            conn.close()
        self.daemon.opened.clear()
        self.wait_held()
        wait_until(lambda: self.daemon.console("SHOW PINS") == [], what="nothing is pinned")


@pytest.fixture
def site(request, pg, shared):
    request.node.lk_daemons = [shared]
    made = Site(pg, shared)
    yield made
    made.leave()


def pid_of(conn):
    return conn.simple("select pg_backend_pid()")[0][0]


def quit(conn):
    conn.send(rawpg.terminate())
    conn.close()


def refused(conn, sql):
    with pytest.raises(rawpg.ServerError) as e:
        conn.simple(sql)
    return e.value.sqlstate


# --- locks that stayed behind

def test_r01_a_lock_and_its_unlock_meet_though_others_change_backends_between(site):
    pod, others = site.client(), [site.client() for _ in range(3)]
    pod.simple("select pg_advisory_lock(20001)")
    for other in others:
        other.simple("begin; select 1; commit")
    assert pod.simple("select pg_advisory_unlock(20001)") == [["t"]]
    pod.simple("select pg_advisory_lock(20001)")
    quit(pod)
    assert others[0].simple("select pg_advisory_lock(20001)") == [[""]], "the next pod does not wait for ever"


def test_r03_where_locks_are_not_kept_their_holder_and_the_log_are_told(site):
    conn = site.client("release")
    conn.send(rawpg.query("select pg_advisory_lock(20003)"))
    notice, = [rawpg.fields(m.body) for m in conn.until() if m.type == "N"]
    assert (notice["S"], notice["C"]) == ("WARNING", "01000") and "20003" in notice["M"] + notice.get("D", "")
    leak = leak_of(site.daemon, "20003")
    assert (leak["level"], leak["reason"]) == ("warning", "transaction_end")
    site.wait_held()
    conn.send(rawpg.query("select pg_advisory_unlock(20003)"))
    answer = conn.until()
    assert [rawpg.row(m.body) for m in answer if m.type == "D"] == [[b"f"]]
    assert [rawpg.fields(m.body)["C"] for m in answer if m.type == "N"] == ["01000"], "PostgreSQL's own, as ever"


def test_r04_a_process_that_ends_without_unlock_leaves_nothing_for_its_next_start(site):
    process = site.client("one")
    process.extended("select pg_advisory_lock($1)", ["-4200000020004"])
    quit(process)
    job = site.client("one")
    assert job.simple("select 1") == [["1"]]
    assert site.client("one").extended("select pg_try_advisory_lock($1)", ["-4200000020004"]) == [["t"]]
    assert leak_of(site.daemon, "-4200000020004")["reason"] == "client_disconnect"


def test_r06_two_clients_never_hold_one_lock_by_sharing_a_backend(site):
    one, other = site.client("one"), site.client("one")
    one.simple("select pg_advisory_lock(20006)")
    other.send(rawpg.query("select pg_try_advisory_lock(20006)"))
    wait_until(lambda: site.daemon.pool("one")["cl_waiting"] == 1, what="the other waits for the backend")
    assert one.simple("select pg_advisory_unlock(20006)") == [["t"]]
    assert other.rows() == [["t"]], "granted once it is free"
    third = site.direct()
    assert third.simple("select pg_try_advisory_lock(20006)") == [["f"]]


def test_r07_who_waits_behind_an_orphaned_lock_waits_no_longer_than_its_cleaning(site):
    orphan, waiter = site.client(), site.client()
    orphan.simple("select pg_advisory_lock(20007)")
    waiter.send(rawpg.query("select pg_advisory_lock(20007)"))
    wait_until(site.waiters, what="a waiter, with the xmin that holds up vacuum")
    orphan.reset()
    assert waiter.rows() == [[""]]
    assert leak_of(site.daemon, "20007")["reason"] == "client_abort"
    assert site.pg.one("select backend_xmin from pg_stat_activity where pid = %s", (int(pid_of(waiter)),)) == [(None,)]


def test_r09_a_migration_keeps_its_lock_over_all_its_transactions(site):
    migrator, web = site.client(), site.client()
    key = 2053462845 * 3000000001
    assert migrator.simple("select pg_try_advisory_lock(%d)" % key) == [["t"]]
    for n in range(5):
        migrator.simple("begin")
        migrator.simple("create table migrated_%d(id int)" % n)
        migrator.simple("commit")
        assert web.simple("select pg_try_advisory_lock(%d)" % key) == [["f"]]
    assert migrator.simple("select pg_advisory_unlock(%d)" % key) == [["t"]]


def test_r13_who_takes_no_lock_shares_backends_as_before(site):
    mailer, crowd = site.client(), [site.client() for _ in range(8)]
    mailer.simple("select pg_advisory_lock(20013)")
    assert len({pid_of(conn) for conn in crowd} - {pid_of(mailer)}) == 1
    assert site.daemon.pool("two")["sv_pinned"] == 1


def test_r15_the_first_pin_of_a_database_and_user_is_a_warning_in_the_main_log(site):
    lines = lambda: [l for l in site.daemon.log.splitlines() if " warned/app@" in l and "holds the session lock" in l]
    for key in (20015, 20115, 20215):
        conn = site.client("warned")
        conn.simple("select pg_advisory_lock(%d)" % key)
        wait_until(lambda: count_of(site.daemon, str(key), "pin") == 1, what="the pin")
        quit(conn)
    site.client("warned", application_name="again").simple("select pg_advisory_lock(20315)")
    wait_until(lambda: count_of(site.daemon, "20315", "pin") == 1, what="the pin")
    assert len(lines()) == 1 and "WARNING" in lines()[0] and "20015" in lines()[0]


def test_r18_after_a_service_has_ended_its_lock_is_free_for_direct_sessions_too(site):
    service = site.client()
    service.extended("select pg_try_advisory_lock($1, $2)", ["200", "18"])
    quit(service)
    site.wait_held()
    assert site.direct().simple("select pg_try_advisory_lock(200, 18)") == [["t"]]


@pytest.mark.parametrize("call", ["pg_advisory_lock(1234500)", "take(1234501)"])
def test_r19_psql_that_comes_and_goes_leaves_nothing_that_a_direct_session_waits_for(site, call):
    for _ in range(2):
        subprocess.run(["psql", "-qAtX", site.daemon.dsn("two"), "-c", "select " + call], check=True,
                       stdout=subprocess.DEVNULL)
    key = call.strip(")").split("(")[1]
    wait_until(lambda: count_of(site.daemon, key) == 2, what="two records")
    direct = site.direct()
    direct.simple("set lock_timeout = '5s'")
    assert direct.simple("select pg_advisory_lock(%s)" % key) == [[""]]


def test_r21_a_cancel_that_comes_after_the_lock_leaves_it_held_and_known(site):
    conn = site.client("one")
    conn.send(rawpg.query("select pg_advisory_lock(20021), pg_sleep(30)"))
    asleep = "select 1 from pg_stat_activity where wait_event = 'PgSleep' and datname = 'reports'"
    wait_until(lambda: site.pg.one(asleep), what="it sleeps")
    conn.cancel()
    with pytest.raises(rawpg.ServerError) as e:
        conn.rows()
    assert e.value.sqlstate == "57014" and site.held() == ["20021 X"]
    assert is_pinned(site.daemon, "one")
    quit(conn)
    leak_of(site.daemon, "20021")


@pytest.mark.parametrize("database, kept", [("two", True), ("release", False)])
def test_r10_how_locks_are_treated_is_settled_for_each_database(site, database, kept):
    conn = site.client(database)
    conn.simple("select pg_advisory_lock(20010)")
    if not kept:
        site.wait_held()
    conn.simple("select 1")
    assert site.held() == (["20010 X"] if kept else [])


def test_r14_locks_can_be_switched_off_with_an_error_that_says_so(site):
    conn = site.client("reject")
    with pytest.raises(rawpg.ServerError) as e:
        conn.simple("select pg_advisory_lock(20014)")
    assert e.value.sqlstate == "0A000" and "xact" in e.value.fields["H"]
    assert conn.simple("select 1") == [["1"]] and site.held() == []


def test_r29_r44_a_holder_that_only_idles_is_told_then_closed_where_that_is_wished(site):
    forgotten, crashed = site.client("one"), site.client("impatient")
    forgotten.simple("select pg_advisory_lock(20044)")
    crashed.simple("select pg_advisory_lock(20029)")
    last = crashed.until_closed()[-1]
    assert (rawpg.fields(last.body)["S"], rawpg.fields(last.body)["C"]) == ("FATAL", "57P05")
    site.wait_held("20044 X")
    leak_of(site.daemon, "20044", "idle_hold")
    assert is_pinned(site.daemon, "one"), "told, but not closed"


def test_r43_so_many_holders_and_no_more(site):
    first, second = site.client("limited"), site.client("limited")
    first.simple("select pg_advisory_lock(20043)")
    assert refused(second, "select pg_advisory_lock(20143)") == "53300"
    assert second.simple("select 1") == [["1"]] and site.held() == ["20043 X"]
    first.simple("select pg_advisory_unlock(20043)")
    wait_until(lambda: site.daemon.console("SHOW PINS") == [], what="the first is unpinned")
    assert second.simple("select pg_advisory_lock(20143)") == [[""]]


# --- waits and deadlocks

def test_r22_a_deadlock_with_create_index_is_passed_on_and_the_lock_stays(site):
    one, other = site.client("five"), site.client("five")
    one.simple("create table indexed(id int)")
    one.simple("select pg_advisory_lock(20022)")
    other.send(rawpg.query("select pg_advisory_lock(20022)"))
    wait_until(site.waiters, what="a waiter")
    one.send(rawpg.query("create index concurrently by_id on indexed(id)"))
    wait_until(lambda: not (one.quiet(0) and other.quiet(0)), what="the deadlock is broken")
    victim = one if other.quiet(0) else other
    with pytest.raises(rawpg.ServerError) as e:
        victim.rows()
    assert e.value.sqlstate == "40P01" and e.value.message == "deadlock detected"
    assert "20022 X" in site.held()
    if victim is other:
        one.rows()
    assert one.simple("select pg_advisory_unlock(20022)") == [["t"]]
    if victim is one:
        assert other.rows() == [[""]]


def test_r23_a_session_lock_stays_one_so_that_create_index_need_not_wait_for_its_holder(site):
    holder, other = site.client("five"), site.client("five")
    other.simple("create table indexed_too(id int)")
    holder.simple("select pg_advisory_lock(20023)")
    other.simple("create index concurrently on indexed_too(id)")
    assert site.held() == ["20023 X"]
    assert site.pg.one("select state from pg_stat_activity where pid = %s", (int(pid_of(holder)),)) == [("idle",)]


def test_r25_a_time_out_while_waiting_for_a_lock_is_no_mistake_in_the_log(site):
    site.direct().simple("select pg_advisory_lock(20025)")
    before = len(site.daemon.log)
    conn = site.client()
    assert refused(conn, "set local lock_timeout = 30; select pg_advisory_lock(20025)") == "55P03"
    assert refused(conn, "set local statement_timeout = 30; select pg_advisory_lock(20025)") == "57014"
    assert pid_of(conn)
    assert not any(word in site.daemon.log[before:] for word in ("WARNING", "ERROR", "FATAL"))
    assert count_of(site.daemon, "20025") == count_of(site.daemon, "20025", "pin") == 0


def test_r26_transaction_locks_in_any_order_deadlock_as_ever(site):
    ends = [site.client(), site.client()]
    for conn, key in zip(ends, (20026, 20126)):
        conn.simple("begin")
        conn.simple("select pg_advisory_xact_lock(%d)" % key)
    for conn, key in zip(ends, (20126, 20026)):
        conn.send(rawpg.query("select pg_advisory_xact_lock(%d)" % key))
    outcomes = []
    for conn in ends:
        try:
            outcomes.append(conn.rows())
        except rawpg.ServerError as e:
            outcomes.append(e.sqlstate)
        conn.simple("rollback")
    assert sorted(outcomes, key=str) == ["40P01", [[""]]]
    site.wait_held()
    assert not [r for r in site.daemon.leaks() if r.get("lock", {}).get("key") in ("20026", "20126")]


# --- holders that lose what they hold

def test_r34_a_leader_whose_backend_is_terminated_is_told_so_at_once(site):
    leader = site.client()
    leader.simple("select pg_advisory_lock(20034)")
    site.pg.one("select pg_terminate_backend(%s)", (int(pid_of(leader)),))
    last = leader.until_closed()[-1]
    assert last.type == "E" and rawpg.fields(last.body)["S"] == "FATAL"
    assert leak_of(site.daemon, "20034", "lost")["level"] == "error"
    assert site.client().simple("select pg_try_advisory_lock(20034)") == [["t"]]


def test_r35_a_leaders_backend_is_not_recycled_under_it(site):
    leader = site.client("short")
    leader.simple("select pg_advisory_lock(20035)")
    pid = int(pid_of(leader))
    older = "select 1 from pg_stat_activity where pid = %s and now() - backend_start > '2.2 s'"
    wait_until(lambda: site.pg.one(older, (pid,)), what="it is older than twice its lifetime")
    assert int(pid_of(leader)) == pid and site.held() == ["20035 X"]
    assert leader.simple("select pg_advisory_unlock(20035)") == [["t"]]
    wait_until(lambda: pid not in site.pg.backends("reports"), what="recycled once it is free")


# --- what pins, and what does not

def test_r17_transaction_locks_work_in_transaction_mode_and_leave_no_trace(site):
    one, other = site.client(), site.client()
    one.simple("begin")
    one.simple("select pg_advisory_xact_lock(20017), pg_advisory_xact_lock_shared(20, 17)")
    assert other.simple("select pg_try_advisory_xact_lock(20017)") == [["f"]]
    one.simple("commit")
    assert other.simple("select pg_try_advisory_xact_lock(20017)") == [["t"]]
    site.wait_held()
    assert not [r for r in site.daemon.leaks() if r.get("lock", {}).get("key") in ("20017", "20,17")]


def test_r30_a_lock_whose_key_the_server_computes_pins_too(site):
    conn, other = site.client(), site.client()
    rows = conn.extended("with due as (select $1::text as name) select name from due "
                         "where pg_try_advisory_lock(hashtextextended(name, 0))", ["nightly"])
    assert rows == [["nightly"]]
    for _ in range(2):
        assert other.extended("select pg_try_advisory_lock(hashtextextended($1, 0))", ["nightly"]) == [["f"]]
    assert conn.extended("select pg_advisory_unlock(hashtextextended($1, 0))", ["nightly"]) == [["t"]]
    site.wait_held()


def test_r36_a_try_that_fails_does_not_pin(site):
    site.direct().simple("select pg_advisory_lock(20036)")
    conn = site.client("one")
    for run in (conn.simple, conn.extended):
        assert run("select pg_try_advisory_lock(20036)") == [["f"]]
        wait_unpinned(site.daemon, database="one")
    assert count_of(site.daemon, "20036", "pin") == 0


@pytest.mark.parametrize("name", ["pg_catalog.pg_advisory_lock", '"pg_advisory_lock"', "PG_ADVISORY_LOCK",
                                  "/**/pg_advisory_lock/**/", 'pg_catalog . "pg_advisory_lock" --\n'])
def test_r38_a_call_is_known_however_its_name_is_written(site, name):
    conn = site.client("one")
    conn.simple("select %s(20038)" % name)
    assert is_pinned(site.daemon, "one")
    before = count_of(site.daemon, "20038")
    quit(conn)
    wait_until(lambda: count_of(site.daemon, "20038") == before + 1, what="the leak")
    assert site.daemon.leaks("leak")[-1]["source"] == "ledger", "read from the answer, not searched for"


def test_r39_a_transaction_lock_pins_nobody_however_it_is_taken(site):
    conn = site.client("one")
    for sql in ("select pg_advisory_xact_lock(20039)", "select pg_try_advisory_xact_lock(20039)",
                "begin; select pg_advisory_xact_lock_shared(20039); commit"):
        conn.simple(sql)
        wait_unpinned(site.daemon, database="one")
    conn.extended("select pg_advisory_xact_lock($1)", ["20039"])
    wait_unpinned(site.daemon, database="one")


STEPS = {
    "described first": [
        ([rawpg.parse("", "select pg_advisory_lock($1)"), rawpg.describe("S"), rawpg.sync()], "1tTZ"),
        ([rawpg.bind(params=["200"]), rawpg.execute(), rawpg.sync()], "2DCZ")],
    "described with a name": [
        ([rawpg.parse("l", "select pg_advisory_lock($1)"), rawpg.describe("S", "l"), rawpg.sync()], "1tTZ"),
        ([rawpg.bind("", "l", ["200"]), rawpg.execute(), rawpg.sync()], "2DCZ")],
    "behind a BEGIN of its own": [
        ([rawpg.query("begin")], "CZ"),
        ([rawpg.parse("", "select pg_advisory_lock($1)"), rawpg.describe("S"), rawpg.sync()], "1tTZ"),
        ([rawpg.bind(params=["200"]), rawpg.execute(), rawpg.sync()], "2DCZ"),
        ([rawpg.query("commit")], "CZ")],
    "with BEGIN in one piece": [
        ([rawpg.parse("", "begin"), rawpg.bind(), rawpg.execute(), rawpg.parse("", "select pg_advisory_lock($1)"),
          rawpg.bind(params=["200"]), rawpg.execute(), rawpg.sync()], "12C12DCZ"),
        ([rawpg.query("commit")], "CZ")],
    "with Flush for Sync": [
        ([rawpg.parse("", "select pg_advisory_lock($1)"), rawpg.flush()], None),
        ([rawpg.bind(params=["200"]), rawpg.describe("P"), rawpg.execute(), rawpg.sync()], "12TDCZ")],
}


@pytest.mark.parametrize("order", STEPS)
def test_r40_a_lock_call_comes_in_any_order_of_messages(site, order):
    conn = site.client("one")
    for messages, wanted in STEPS[order]:
        conn.send(*messages)
        assert wanted is None or rawpg.types(conn.until()) == wanted
    assert site.held() == ["200 X"] and is_pinned(site.daemon, "one")
    assert conn.extended("select pg_advisory_unlock($1)", ["200"]) == [["t"]]
    wait_unpinned(site.daemon, database="one")


def test_r42_what_no_text_shows_pins_until_discard_all(site):
    conn = site.client("one")
    for sql in ("select take(20042)", "insert into job values (20142)", "do $$ begin execute 'select pg_adv' || "
                "'isory_lock(20242)'; end $$"):
        conn.simple(sql)
    assert site.held() == ["20042 X", "20142 X", "20242 X"]
    assert is_pinned(site.daemon, "one")
    conn.simple("discard all")
    wait_unpinned(site.daemon, database="one")
    assert site.held() == []


def test_r53_a_transaction_lock_without_a_transaction_ends_with_its_statement_as_ever(site):
    one, other = site.client(), site.client()
    one.simple("select pg_advisory_xact_lock(20053)")
    assert other.simple("select pg_try_advisory_xact_lock(20053)") == [["t"]]
    assert site.held() == []


def test_r57_an_unlock_inside_the_transaction_ends_the_pin_with_the_transaction(site):
    conn = site.client("one")
    conn.simple("begin")
    conn.simple("select pg_advisory_lock(20057)")
    conn.simple("select pg_advisory_unlock(20057)")
    assert site.held() == [] and is_pinned(site.daemon, "one")
    conn.simple("commit")
    wait_unpinned(site.daemon, database="one")
    assert count_of(site.daemon, "20057") == 0


# --- what cleaning costs, and what it must leave alone

@pytest.mark.parametrize("database, resets", [("always", 10), ("tracked", 0)])
def test_r46_a_reset_at_every_return_can_be_had_or_left_out(site, database, resets):
    conn = site.client(database)
    conn.simple("select 1")
    at_home = lambda: site.daemon.pool(database)["sv_active"] == 0
    wait_until(at_home, what="the first is cleaned")
    before = counts(site.daemon, database)["resets"]
    for n in range(10):
        conn.simple("select %d" % n)
    wait_until(at_home, what="the last is cleaned")
    assert counts(site.daemon, database)["resets"] - before == resets


def test_r47_cleaning_leaves_prepared_statements_alone(site):
    owner = site.client("one")
    owner.send(rawpg.parse("mine", "select 20047 + $1::int"), rawpg.sync())
    owner.until()
    pid = pid_of(owner)
    leaker = site.client("one")
    leaker.simple("select pg_advisory_lock(20047)")
    quit(leaker)
    leak_of(site.daemon, "20047")
    owner.send(rawpg.bind("", "mine", ["1"]), rawpg.execute(), rawpg.sync())
    assert owner.rows() == [["20048"]]
    assert pid_of(owner) == pid
    assert owner.simple("select count(*) from pg_prepared_statements where statement like 'select 20047%'") == [["1"]]


def test_r55_an_unnamed_statement_and_its_parameters_go_through_as_they_are(site):
    one, other = site.client("one"), site.client("one")
    one.send(rawpg.parse("", "select pg_try_advisory_lock($1)"), rawpg.sync())
    one.until()
    assert other.extended("select 55") == [["55"]]
    one.send(rawpg.bind(params=["20055"]), rawpg.execute(), rawpg.sync())
    assert one.rows() == [["t"]] and site.held() == ["20055 X"]
