"""What is known costs no probe: counted over many rounds, once the statements of the first ones are trusted."""
import pytest

import rawpg
from harness import free_port, wait_until
from lockcounts import counts
from locklib import held

ROUNDS = 20
SETTINGS = {"default_pool_size": 1, "advisory_probe_sample": 0, "advisory_trust_after": 3, "advisory_catalog": 0}


@pytest.fixture
def daemon(lk):
    return lk(dict(SETTINGS, metrics_listen_port=free_port()))


def cost_of(daemon, run, probes=0):
    """What so many rounds cost, once their statements are known: when none costs more than its probes any more. The
    backend goes home after each: what comes behind a reset under way counts as in company, and is trusted apart."""
    def round_of(n):
        run(n)
        wait_until(lambda: daemon.pool()["sv_active"] == 0, what="the backend is at home")

    before, quiet = counts(daemon), 0
    for n in range(ROUNDS):
        round_of(n)
        now = counts(daemon)
        quiet = quiet + 1 if now["probes"] - before["probes"] == probes else 0
        before = now
        if quiet == 3:
            break
    for n in range(ROUNDS):
        round_of(n)
    after = counts(daemon)
    assert after["hidden"] == after["leaks"] == 0
    assert after["probes_skipped"] == before["probes_skipped"], "what was not sent was spared, not left out"
    return {name: after[name] - before[name] for name in after}


WORK = ("select count(*) from pg_class where relname = 'none'", "select 1")


def by_simple(conn, n):
    assert conn.simple("select pg_advisory_lock(21001)") == [[""]]
    for sql in WORK:
        conn.simple(sql)
    assert conn.simple("select pg_advisory_unlock(21001)") == [["t"]]


def by_extended(conn, n):
    conn.extended("select pg_try_advisory_lock_shared($1, $2)", ["21", str(n)])
    for sql in WORK:
        conn.extended(sql)
    assert conn.extended("select pg_advisory_unlock_shared($1, $2)", ["21", str(n)]) == [["t"]]


def by_name(conn, n):
    if n == 0 and not hasattr(conn, "named"):
        conn.named = True
        conn.send(rawpg.parse("l", "select pg_advisory_lock($1)"), rawpg.parse("u", "select pg_advisory_unlock($1)"),
                  rawpg.parse("w", "select 1"), rawpg.sync())
        conn.until()
    for name, params in (("l", [str(n)]), ("w", []), ("u", [str(n)])):
        conn.send(rawpg.bind("", name, params), rawpg.execute(), rawpg.sync())
        conn.rows()


def in_transactions(conn, n):
    conn.simple("select pg_advisory_lock(21002)")
    conn.simple("begin")
    for sql in WORK:
        conn.simple(sql)
    conn.simple("commit")
    assert conn.simple("select pg_advisory_unlock(21002)") == [["t"]]


def within_one(conn, n):
    conn.simple("begin")
    conn.simple("select pg_advisory_lock(21003)")
    for sql in WORK:
        conn.simple(sql)
    assert conn.simple("select pg_advisory_unlock(21003)") == [["t"]]
    conn.simple("commit")


def nested(conn, n):
    for _ in range(3):
        conn.simple("select pg_advisory_lock(21004)")
    conn.simple(WORK[1])
    for _ in range(3):
        assert conn.simple("select pg_advisory_unlock(21004)") == [["t"]]


def by_function_call(conn, n):
    for oid, wanted in ((2882, b"t"), (2884, b"t")):
        conn.send(rawpg.function_call(oid, [rawpg.int8(21005)]))
        assert [m.body[4:] for m in conn.until() if m.type == "V"] == [wanted]


def to_the_last(conn, n):
    conn.simple("select pg_advisory_lock(21006), pg_advisory_lock_shared(21, 6)")
    conn.simple(WORK[1])
    conn.simple("select pg_advisory_unlock_all()")


@pytest.mark.parametrize("section", [by_simple, by_extended, by_name, in_transactions, within_one, nested,
                                     by_function_call, to_the_last], ids=lambda s: s.__name__)
def test_a_critical_section_of_calls_that_are_recognised_costs_no_probe(pg, daemon, section):
    conn = daemon.raw()
    cost = cost_of(daemon, lambda n: section(conn, n))
    assert cost["probes"] == 0
    assert cost["resets"] <= ROUNDS, "one for each return"
    assert held(pg) == []


@pytest.mark.parametrize("sql", ["select pg_try_advisory_lock(21010)",
                                 "select pg_try_advisory_lock_shared(21010) as got"])
def test_a_try_that_fails_costs_no_probe(pg, daemon, sql):
    conn = daemon.raw()
    with pg.connect() as holder:
        holder.execute("select pg_advisory_lock(21010)")

        def run(n):
            assert conn.simple(sql) == conn.extended(sql) == [["f"]]
        assert cost_of(daemon, run)["probes"] == 0


def extended_one(conn, n):
    conn.extended("select $1::int as n", [str(n)])


def a_transaction(conn, n):
    for sql in ("begin", "select %d as n, 'x%d'" % (n, n), "savepoint a", "select 2", "rollback to a", "commit"):
        conn.simple(sql)


def literal_one(conn, n):
    conn.simple("select %d as n, 'x%d'" % (n, n))


@pytest.mark.parametrize("run", [literal_one, extended_one, a_transaction], ids=lambda r: r.__name__)
def test_a_trusted_text_without_the_word_costs_no_probe(daemon, run):
    conn = daemon.raw()
    assert cost_of(daemon, lambda n: run(conn, n))["probes"] == 0


@pytest.mark.parametrize("sql", ["select pg_advisory_unlock_all()", "select pg_advisory_unlock(21020)", "discard all",
                                 "select pg_advisory_xact_lock(21021)", "select 'pg_advisory_xact_lock'",
                                 "explain select pg_advisory_lock(21022)"])
def test_what_can_not_leave_a_lock_costs_no_probe_though_it_has_the_word(daemon, sql):
    conn = daemon.raw()
    assert cost_of(daemon, lambda n: conn.simple(sql))["probes"] == 0


def test_a_call_whose_answer_does_not_tell_costs_a_probe_each_time(daemon):
    conn = daemon.raw()

    def run(n):
        conn.simple("select 1 from pg_advisory_lock(21030)")
        conn.simple("select 1 from pg_advisory_unlock(21030)")
    assert cost_of(daemon, run, 2)["probes"] == 2 * ROUNDS


def test_tracked_spares_the_resets_of_critical_sections_too(lk):
    daemon = lk(dict(SETTINGS, metrics_listen_port=free_port(), advisory_unlock_all="tracked"))
    conn = daemon.raw()
    cost = cost_of(daemon, lambda n: by_simple(conn, n))
    assert cost["probes"] == cost["resets"] == 0


def test_one_return_in_so_many_is_sampled(lk):
    daemon = lk(dict(SETTINGS, metrics_listen_port=free_port(), advisory_probe_sample=5))
    conn = daemon.raw()
    assert cost_of(daemon, lambda n: conn.simple("select %d" % n))["probes"] == ROUNDS // 5
