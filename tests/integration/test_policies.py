"""What policies release and observe do, warnings to clients, and failed unlocks."""
import pytest

import rawpg
from locklib import held, is_pinned, leak_of, wait_events, wait_held, wait_unpinned


def notices(conn, *messages):
    """SQLSTATE and text of the notices of an exchange that are ours, and where they stand in it."""
    conn.send(*messages)
    got = conn.until()
    return [(n, rawpg.fields(m.body)["C"], rawpg.fields(m.body)["M"]) for n, m in enumerate(got)
            if m.type == "N" and "session lock" in rawpg.fields(m.body)["M"]]


def test_under_observe_a_lock_outlives_its_transaction_and_is_told_once(pg, lk):
    daemon = lk({"default_pool_size": 1, "advisory_lock_policy": "observe"})
    first, second = daemon.raw(), daemon.raw()
    first.simple("select pg_advisory_lock(9201)")
    record = leak_of(daemon, "9201")
    assert (record["reason"], record["action"], record["lock"]["count"]) == ("transaction_end", "none", 1)
    for _ in range(5):
        assert second.simple("select 1") == [["1"]]
    assert held(pg) == ["9201 X"]
    assert second.simple("select pg_advisory_unlock(9201)") == [["t"]], "the lock passed to another client, as behind PgBouncer"
    wait_held(pg)
    wait_events(daemon, "leak", "observed")


def test_under_observe_a_hidden_lock_is_told_and_left(pg, lk, hidden):
    daemon = lk({"default_pool_size": 1, "advisory_lock_policy": "observe"})
    conn = daemon.raw()
    conn.simple("select take(9202)")
    assert leak_of(daemon, "9202")["action"] == "none"
    assert leak_of(daemon, "9202", "hidden")["source"] == "probe"
    assert leak_of(daemon, "9202", "observed")["query"] == "select take($1)"
    wait_unpinned(daemon)
    assert held(pg) == ["9202 X"]


def test_under_observe_in_session_mode_a_lock_goes_with_the_reset_query_alone(pg, lk):
    daemon = lk({"default_pool_size": 1, "advisory_lock_policy": "observe", "pool_mode": "session"})
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(9203)")
    conn.send(rawpg.terminate())
    assert leak_of(daemon, "9203")["action"] == "none"
    wait_held(pg)
    assert daemon.raw().simple("select 1") == [["1"]]


def test_a_reload_from_observe_to_pin_cleans_before_a_backend_is_lent_again(pg, lk):
    daemon = lk({"default_pool_size": 1, "advisory_lock_policy": "observe"})
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(9204)")
    leak_of(daemon, "9204")
    assert held(pg) == ["9204 X"]
    daemon.write(advisory_lock_policy="pin")
    daemon.reload()
    assert daemon.raw().simple("select 1") == [["1"]]
    wait_held(pg)
    wait_events(daemon, "leak", "observed")


def test_a_reload_to_release_frees_a_pinned_backend_that_idles(pg, lk):
    daemon = lk({"default_pool_size": 1})
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(9205)")
    assert is_pinned(daemon)
    daemon.write(advisory_lock_policy="release")
    daemon.reload()
    wait_unpinned(daemon)
    assert held(pg) == [] and leak_of(daemon, "9205")["action"] == "unlock_all"


def test_what_release_lets_go_is_told_once_for_a_client_and_statement(pg, lk):
    daemon = lk({"default_pool_size": 1, "advisory_lock_policy": "release"})
    conn = daemon.raw()
    for key in (9206, 9207):
        conn.simple("select pg_advisory_lock(%d)" % key)
        leak_of(daemon, str(key))
    conn.simple("select pg_advisory_lock_shared(9208)")
    leak_of(daemon, "9208")
    wait_events(daemon, "leak", "released", "leak", "leak", "released")
    other = daemon.raw()
    other.simple("select pg_advisory_lock(9206)")
    wait_events(daemon, "leak", "released", "leak", "leak", "released", "leak", "released")
    wait_held(pg)


@pytest.mark.parametrize("policy, text", [("pin", "session lock 9209 keeps a server connection until it is unlocked"),
                                          ("release", "session lock 9209 is freed at the end of the transaction"),
                                          ("observe", None)])
def test_a_client_that_wants_warnings_gets_one_with_its_call(pg, lk, policy, text):
    daemon = lk({"default_pool_size": 1, "advisory_lock_policy": policy, "advisory_lock_notice": "on"})
    conn = daemon.raw()
    conn.simple("begin")
    seen = notices(conn, rawpg.query("select pg_advisory_lock(9209)"))
    assert seen == ([(3, "01000", text)] if text else [])
    assert notices(conn, rawpg.query("select pg_advisory_lock(9209)")) == [], "once for a lock"
    conn.simple("commit")
    assert notices(conn, rawpg.query("select pg_try_advisory_xact_lock(9210)")) == []


def test_psycopg_hands_the_warning_to_its_handler(lk):
    daemon = lk({"advisory_lock_notice": "on"})
    conn = daemon.connect()
    got = []
    conn.add_notice_handler(lambda d: got.append((d.severity, d.sqlstate, d.message_hint)))
    conn.execute("select pg_advisory_lock(%s)", (9211,))
    assert got == [("WARNING", "01000", "See advisory_lock_policy, a setting of the connection pooler.")]


def test_an_unlock_that_fails_is_told_with_who_holds_the_lock(pg, lk):
    daemon = lk()
    holder = daemon.connect(application_name="the holder")
    holder.execute("select pg_advisory_lock(9212)")
    conn = daemon.raw()
    assert conn.simple("select pg_advisory_unlock(9212)") == [["f"]]
    record = leak_of(daemon, "9212", "unlock_failed")
    assert record["level"] == "notice" and record["lock"]["mode"] == "exclusive"
    assert record["holder"]["client"]["application_name"] == "the holder"
    assert conn.simple("select pg_advisory_unlock_shared(9213)") == [["f"]]
    assert leak_of(daemon, "9213", "unlock_failed")["holder"] is None
    assert conn.simple("select pg_advisory_unlock_all()") == [[""]]
    wait_events(daemon, "pin", "unlock_failed", "unlock_failed")
