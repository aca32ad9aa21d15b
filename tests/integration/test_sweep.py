"""Sweeps: a look at pg_locks from time to time finds what no text and no evidence showed, and who waits for whom."""
import urllib.request

import pytest

import rawpg
from harness import free_port, wait_until
from locklib import held, is_pinned, leak_of, wait_held, wait_unpinned


@pytest.fixture(scope="module", autouse=True)
def late_lock(pg):
    """A function that its first executions show to be harmless."""
    pg.one("create or replace function sweep_late(k bigint) returns void language plpgsql as"
           " $$ begin if k > 0 then execute 'select pg_advi' || 'sory_lock(' || k || ')'; end if; end $$", dbname="app")
    yield
    pg.one("drop function sweep_late", dbname="app")


def start(lk, **settings):
    return lk(dict({"default_pool_size": 1, "advisory_unlock_all": "tracked", "advisory_trust_after": 1, "advisory_catalog": 0,
                    "advisory_probe_sample": 0, "advisory_sweep_interval": 1, "advisory_wait_log": 1,
                    "metrics_listen_port": free_port()}, **settings))


def test_a_lock_that_passed_all_evidence_is_found_on_an_idle_backend_and_told_once(lk, pg):
    daemon = start(lk)
    conn = daemon.connect()
    for _ in range(3):
        conn.execute("select sweep_late(0)")
    conn.execute("select sweep_late(881001)")
    assert held(pg) == ["881001 X"]  # nobody has seen it
    record = leak_of(daemon, "881001")
    assert record["source"] == "sweep" and record["action"] == "unlock_all" and record["level"] == "warning"
    wait_held(pg)
    assert conn.execute("select 1").fetchone() == (1,)
    assert len([r for r in daemon.leaks("leak") if r["lock"]["key"] == "881001"]) == 1


def test_a_pin_of_which_it_sees_nothing_ends(lk, pg):
    """Somebody unlocked in a way that no text shows."""
    pg.one("create or replace function sweep_unlock(k bigint) returns bool language plpgsql as"
           " $$ declare b bool; begin execute 'select pg_advi' || 'sory_unlock(' || k || ')' into b; return b; end $$", dbname="app")
    daemon = start(lk, advisory_trust_after=0)
    conn = daemon.connect()
    conn.execute("select pg_advisory_lock(881002)")
    assert is_pinned(daemon)
    assert conn.execute("select sweep_unlock(881002)").fetchone() == (True,)
    wait_unpinned(daemon)
    wait_until(lambda: daemon.leaks("unpin"), what="the pin has ended")
    pg.one("drop function sweep_unlock", dbname="app")


def test_locks_within_a_transaction_and_those_that_are_known_are_left_alone(lk, pg):
    daemon = start(lk, default_pool_size=3)
    one, two = daemon.connect(), daemon.connect(autocommit=False)
    one.execute("select pg_advisory_lock(881003)")
    two.execute("select pg_advisory_xact_lock(881004)")
    daemon.connect().execute("select 'one backend to sweep on'")
    swept = sweeps(daemon)
    wait_until(lambda: sweeps(daemon) >= swept + 3, what="three more sweeps")
    assert held(pg) == ["881003 X", "881004 X"]
    assert not daemon.leaks("leak") and not daemon.leaks("hidden")
    two.rollback()
    assert one.execute("select pg_advisory_unlock(881003)").fetchone() == (True,)


def sweeps(daemon):
    text = urllib.request.urlopen("http://127.0.0.1:%s/metrics" % daemon.settings["metrics_listen_port"], timeout=10).read()
    return sum(float(l.split()[-1]) for l in text.decode().splitlines() if l.startswith("lockkeeper_advisory_sweeps_total{"))


def test_a_long_wait_is_told_with_the_clients_at_both_ends(lk):
    daemon = start(lk, default_pool_size=3)
    holder = daemon.connect(application_name="holding")
    holder.execute("select pg_advisory_lock(881005)")
    waiter = daemon.raw("app", "app", application_name="waiting")
    waiter.send(rawpg.query("select pg_advisory_lock(881005)"))
    record = daemon.wait_leak(lambda r: r["event"] == "wait")
    assert record["lock"]["key"] == "881005" and record["waited_ms"] >= 1000 and record["level"] == "notice"
    assert record["client"]["application_name"] == "waiting"
    assert record["holder"]["client"]["application_name"] == "holding"
    assert "pg_advisory_lock" in record["query"]
    row = wait_until(lambda: daemon.console("SHOW LOCK_WAITS"), what="the view shows it")[0]
    assert (row["waiter_application_name"], row["holder_application_name"], row["key"]) == ("waiting", "holding", "881005")
    assert int(row["waited_ms"]) >= 0
    holder.execute("select pg_advisory_unlock(881005)")
    assert waiter.rows() == [[""]]
    wait_until(lambda: not daemon.console("SHOW LOCK_WAITS"), what="nobody waits")
    assert len(daemon.leaks("wait")) == 1
    waiter.simple("select pg_advisory_unlock(881005)")


def test_locks_and_waits_of_others_are_shown_with_their_process(lk, pg):
    daemon = start(lk, default_pool_size=2)
    waiter = daemon.raw("app", "app")
    with pg.connect() as direct:
        direct.execute("select pg_advisory_lock(881006)")
        waiter.send(rawpg.query("select pg_advisory_lock(881006)"))
        record = daemon.wait_leak(lambda r: r["event"] == "wait")
        assert record["holder"] == {"pid": direct.info.backend_pid}
        rows = [r for r in daemon.console("SHOW ADVISORY_LOCKS") if r["pid"] == direct.info.backend_pid]
        assert [(r["key"], r["granted"], r["client_id"]) for r in rows] == [("881006", True, None)]
    assert waiter.rows() == [[""]]
    waiter.simple("select pg_advisory_unlock(881006)")


def test_a_pool_without_a_backend_to_spare_is_swept_on_a_connection_of_its_own(lk, pg):
    daemon = start(lk, default_pool_size=1)
    holder = daemon.connect(autocommit=False)
    holder.execute("select 1")
    with pg.connect() as direct:
        direct.execute("select pg_advisory_lock(881007)")
        wait_until(lambda: [r for r in daemon.console("SHOW ADVISORY_LOCKS") if r["key"] == "881007"], what="it was swept")
    wait_until(lambda: len(pg.backends()) == 1, what="the extra connection is gone")
    assert holder.execute("select 2").fetchone() == (2,)
    holder.rollback()


def test_there_are_none_where_they_are_switched_off(lk, pg):
    daemon = start(lk, advisory_sweep_interval=0)
    daemon.connect().execute("select 1")
    with pg.connect() as direct:
        direct.execute("select pg_advisory_lock(881008)")
        waiter = daemon.raw("app", "app")
        waiter.send(rawpg.query("select pg_advisory_lock(881008)"))
        wait_until(lambda: [l for l in pg.locks() if not l[2]], what="it waits")
        assert sweeps(daemon) == 0
        assert not [r for r in daemon.console("SHOW ADVISORY_LOCKS") if r["pid"] == direct.info.backend_pid]
    assert waiter.rows() == [[""]]


def test_a_prepared_transactions_lock_is_shown_as_one(lk, pg):
    daemon = start(lk)
    daemon.connect().execute("select 1")
    with pg.connect(autocommit=False) as direct:
        direct.execute("select pg_advisory_xact_lock(881009)")
        direct.execute("prepare transaction 'sweep_2pc'")
        direct.rollback()
    row = wait_until(lambda: [r for r in daemon.console("SHOW ADVISORY_LOCKS") if r["key"] == "881009"], what="shown")[0]
    assert row["pid"] is None and row["application_name"] == "(prepared transaction)"
    pg.one("rollback prepared 'sweep_2pc'", dbname="app", user="app")


def test_upkeep_does_not_keep_a_backend_that_nobody_uses(lk, pg):
    """Each sweep runs on the idle backend; server_idle_timeout counts from its last client all the same."""
    daemon = start(lk, server_idle_timeout=3, server_check_delay=1, advisory_catalog=1)
    daemon.connect().execute("select 1")
    assert len(pg.backends()) == 1
    wait_until(lambda: not pg.backends(), what="the idle backend goes")
    assert sweeps(daemon) >= 1
