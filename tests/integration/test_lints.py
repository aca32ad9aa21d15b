"""Lint records of statements that ran through the daemon."""
from harness import wait_until


def lints(daemon):
    return sorted((r["lint"], r["query"]) for r in daemon.leaks("lint"))


def test_each_lint_is_told_once_when_its_statement_has_run(pg, lk):
    daemon = lk({"pool_mode": "transaction"})
    for _ in range(2):
        with daemon.connect() as conn:
            conn.execute("select pg_advisory_xact_lock(671001)")
            conn.execute("select pg_advisory_xact_lock(%s)", (671002,), prepare=True)
            conn.execute("set lock_timeout = 0")
            conn.execute("select pg_try_advisory_xact_lock(n) from generate_series(671003, 671005) n limit 1")
            conn.execute("select pg_advisory_unlock_all(), pg_advisory_unlock(hashtext('a'))")
    expected = [("hashtext_key", "select pg_advisory_unlock_all(), pg_advisory_unlock(hashtext($1))"),
                ("lock_call_under_limit", "select pg_try_advisory_xact_lock(n) from generate_series($1, $2) n limit $3"),
                ("session_timeout", "set lock_timeout = $1"),
                ("xact_lock_in_autocommit", "select pg_advisory_xact_lock($1)")]
    wait_until(lambda: {x[0] for x in lints(daemon)} == {x[0] for x in expected}, what="all are told")
    assert [x for x in lints(daemon) if x[0] != "xact_lock_in_autocommit"] == expected[:3]
    told = [r for r in daemon.leaks("lint") if r["lint"] == "xact_lock_in_autocommit"]
    assert len({r["fingerprint"] for r in told}) == len(told)
    assert {(r["level"], r["user"], r["client"]["addr"]) for r in told} == {("info", "app", "127.0.0.1")}


def test_a_transaction_block_makes_no_lint_of_its_locks(pg, lk):
    daemon = lk({"pool_mode": "transaction"})
    with daemon.connect() as conn:
        with conn.transaction():
            conn.execute("select pg_advisory_xact_lock(671011)")
            conn.execute("set local statement_timeout = 5000")
            conn.execute("select pg_advisory_xact_lock(%s)", (671012,), prepare=True)
        with conn.pipeline():
            conn.execute("select pg_advisory_xact_lock(%s)", (671013,))
            conn.execute("select 1")
        conn.execute("select pg_advisory_xact_lock(671014), pg_advisory_unlock(hashtext('b'))")
    wait_until(lambda: lints(daemon), what="the last one is told")
    assert [x[0] for x in lints(daemon)] == ["hashtext_key"]


def test_keys_of_both_spaces_or_both_levels_are_told_once_for_a_database_whoever_takes_them(pg, lk):
    daemon = lk({"pool_mode": "transaction"})
    number = 671021 << 32 | 7
    for _ in range(2):
        with daemon.connect() as conn, conn.transaction():
            conn.execute("select pg_advisory_xact_lock(671020)")
            conn.execute("select pg_try_advisory_xact_lock_shared(671021, 7)")
        with daemon.connect(user="other") as conn:
            assert conn.execute("select pg_try_advisory_lock(%s)", (number,)).fetchone() == (True,)
            conn.execute("select pg_advisory_unlock(%s)", (number,))
            conn.execute("select pg_advisory_lock(671020), 1")
            conn.execute("select pg_advisory_unlock_all()")
        with daemon.connect() as conn:
            conn.execute("select pg_advisory_unlock(hashtext('lints, last'))")
    wait_until(lambda: "hashtext_key" in dict(lints(daemon)), what="the last one is told")
    told = [(r["lint"], r["user"], r["lock"]["space"], r["lock"]["key"], r["lock"]["mode"], r["query"])
            for r in daemon.leaks("lint") if "lock" in r]
    assert told == [
        ("both_key_spaces", "other", "bigint", str(number), "exclusive", "select pg_try_advisory_lock($1)"),
        ("both_levels", "other", "bigint", "671020", "exclusive", "select pg_advisory_lock($1), $2")]
