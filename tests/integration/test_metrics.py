"""/metrics and /healthz."""
import http.client
import re
import signal
import socket

import pytest

import exposition
import rawpg
from harness import free_port, wait_until


class Scraper:
    def __init__(self, port):
        self.port = port

    def get(self, path, method="GET"):
        conn = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            conn.request(method, path)
            answer = conn.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            conn.close()

    def metrics(self):
        status, headers, body = self.get("/metrics")
        assert status == 200, body
        assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        samples, _ = exposition.parse(body)
        assert exposition.promtool(body) is None
        return samples

    def health(self):
        status, _, body = self.get("/healthz")
        return status, body.decode().strip()


def value(samples, name, **labels):
    return samples["lockkeeper_" + name].get(frozenset(labels.items()))


@pytest.fixture
def scraped(lk):
    """Factory of daemons with metrics: (daemon, scraper)."""
    def make(settings=None, **kw):
        port = free_port()
        daemon = lk(dict(settings or {}, metrics_listen_port=port), **kw)
        daemon.wait_log("process up")
        return daemon, Scraper(port)
    return make


def test_metrics_are_in_the_exposition_format_and_say_what_runs(scraped):
    daemon, scraper = scraped({"max_client_conn": 123})
    samples = scraper.metrics()
    assert value(samples, "up") == 1
    assert value(samples, "config_max_client_conn") == 123
    assert value(samples, "paused") == 0
    assert value(samples, "advisory_records_dropped_total") == 0
    version = daemon.console("SHOW VERSION")[0]["version"].split()[1]
    assert value(samples, "build_info", version=version) == 1


GAUGES = {"client_active": "cl_active", "client_waiting": "cl_waiting", "client_active_cancel": "cl_active_cancel_req",
          "server_active": "sv_active", "server_active_cancel": "sv_active_cancel",
          "server_being_canceled": "sv_being_canceled", "server_idle": "sv_idle", "server_tested": "sv_tested",
          "server_login": "sv_login"}
COUNTERS = {"server_assignments_total": "total_server_assignment_count", "transactions_total": "total_xact_count",
            "queries_total": "total_query_count", "received_bytes_total": "total_received",
            "sent_bytes_total": "total_sent", "client_parses_total": "total_client_parse_count",
            "server_parses_total": "total_server_parse_count", "binds_total": "total_bind_count"}
TIMES = {"transaction_seconds_total": "total_xact_time", "query_seconds_total": "total_query_time",
         "wait_seconds_total": "total_wait_time"}


def test_figures_agree_with_show(scraped, pg):
    daemon, scraper = scraped({"default_pool_size": 1},
                              databases={db: {"host": pg.host, "port": pg.port, "dbname": db} for db in ("app", "app2")})
    first, other = daemon.raw(), daemon.raw(database="app2", user="other")
    for _ in range(3):
        first.simple("select 1")
        other.simple("select 2")
    first.simple("begin")
    waiting = daemon.raw()
    waiting.send(rawpg.query("select 3"))
    wait_until(lambda: daemon.pool()["cl_waiting"] == 1, what="a client waits")
    wait_until(lambda: daemon.pool("app2", "other")["sv_idle"] == 1, what="the other server is idle")
    with daemon.console_connection() as conn:
        show = lambda view: [dict(zip([c.name for c in cur.description], row))
                             for cur in [conn.execute("SHOW " + view)] for row in cur.fetchall()]
        pools, stats, lists = show("POOLS"), show("STATS"), {r["list"]: r["items"] for r in show("LISTS")}
        samples = scraper.metrics()
    assert len(pools) == 3 and len(stats) == 2
    for pool in pools:
        labels = {"database": pool["database"], "user": pool["user"]}
        for name, column in GAUGES.items():
            assert value(samples, "pools_" + name, **labels) == pool[column], (name, labels)
        assert value(samples, "advisory_pinned_backends", **labels) == pool["sv_pinned"]
        longest = pool["maxwait"] + pool["maxwait_us"] / 1e6
        assert longest <= value(samples, "pools_maxwait_seconds", **labels) <= longest + 10
    for row in stats:
        for name, column in COUNTERS.items():
            assert value(samples, "stats_" + name, database=row["database"]) == row[column], (name, row["database"])
        for name, column in TIMES.items():
            assert value(samples, "stats_" + name, database=row["database"]) == pytest.approx(float(row[column]) / 1e6)
    assert value(samples, "clients") == lists["used_clients"]
    assert value(samples, "servers") == lists["used_servers"] == 2
    assert value(samples, "pools_client_waiting", database="app", user="app") == 1
    assert value(samples, "pools_maxwait_seconds", database="app", user="app") > 0
    first.simple("rollback")


def test_lock_counters_follow_locks_and_leaks(scraped):
    daemon, scraper = scraped()
    labels = {"database": "app", "user": "app"}
    client = daemon.raw()
    client.simple("select pg_advisory_lock(71), pg_advisory_lock(72)")
    samples = scraper.metrics()
    assert value(samples, "advisory_held", **labels) == 2 == len(daemon.console("SHOW ADVISORY_LOCKS"))
    assert value(samples, "advisory_pinned_backends", **labels) == 1 == daemon.pool()["sv_pinned"]
    assert value(samples, "advisory_leaks_total", **labels) == 0
    client.close()
    daemon.wait_leak(lambda r: r["event"] == "leak" and r["lock"]["key"] == "72")
    samples = wait_until(lambda: (lambda s: s if value(s, "advisory_held", **labels) == 0 else None)(scraper.metrics()),
                         what="nothing is held")
    assert value(samples, "advisory_leaks_total", **labels) == 2
    assert value(samples, "advisory_resets_total", **labels) >= 1
    assert value(samples, "advisory_lost_total", **labels) == 0
    hidden = daemon.raw()
    hidden.simple("do $$ begin perform pg_advisory_lock(73); end $$")
    hidden.close()
    daemon.wait_leak(lambda r: r["event"] == "leak" and r["lock"]["key"] == "73")
    samples = scraper.metrics()
    assert value(samples, "advisory_leaks_total", **labels) == 3
    assert value(samples, "advisory_probes_total", **labels) >= 1


def test_holds_are_counted_by_how_long_they_lasted_and_calls_that_wait_are_shown(scraped):
    daemon, scraper = scraped()
    labels = {"database": "app", "user": "app"}
    client, other = daemon.raw(), daemon.raw()
    client.simple("select pg_advisory_lock(75)")
    assert value(scraper.metrics(), "advisory_hold_seconds_count", **labels) == 0
    other.send(rawpg.query("select pg_advisory_lock(75)"))
    waiting = lambda: [r for r in daemon.console("SHOW ADVISORY_LOCKS") if not r["granted"]]
    wait_until(waiting, what="the other's call waits")
    assert value(scraper.metrics(), "advisory_waiting", **labels) == 1 == len(waiting())
    client.simple("select pg_advisory_unlock(75)")
    other.until()
    samples = scraper.metrics()
    assert value(samples, "advisory_waiting", **labels) == 0
    assert value(samples, "advisory_hold_seconds_count", **labels) == 1
    assert 0 < value(samples, "advisory_hold_seconds_sum", **labels) < 60
    assert value(samples, "advisory_hold_seconds_bucket", le="60", **labels) == 1
    assert value(samples, "advisory_hold_seconds_bucket", le="+Inf", **labels) == 1
    other.simple("select pg_advisory_unlock_all()")
    assert value(scraper.metrics(), "advisory_hold_seconds_count", **labels) == 2


def test_calls_that_the_policy_refused_are_counted(scraped):
    daemon, scraper = scraped({"advisory_lock_policy": "reject"})
    client = daemon.raw()
    for _ in range(2):
        with pytest.raises(rawpg.ServerError):
            client.simple("select pg_advisory_lock(76)")
    assert value(scraper.metrics(), "advisory_rejected_total", database="app", user="app") == 2


def test_unlocks_of_what_is_not_held_are_counted(scraped):
    daemon, scraper = scraped()
    assert daemon.raw().simple("select pg_advisory_unlock(77)") == [["f"]]
    assert value(scraper.metrics(), "advisory_unlock_failed_total", database="app", user="app") == 1


def test_a_lock_lost_with_its_server_is_counted(scraped, pg):
    daemon, scraper = scraped()
    client = daemon.raw()
    client.simple("select pg_advisory_lock(74)")
    pg.one("select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objid = 74")
    daemon.wait_leak(lambda r: r["event"] == "lost")
    assert value(scraper.metrics(), "advisory_lost_total", database="app", user="app") == 1


def test_names_are_escaped(scraped, pg):
    name = 'odd"\\name'
    daemon, scraper = scraped({"server_login_retry": 1}, databases={"*": {"host": pg.host, "port": pg.port}})
    with pytest.raises(Exception):
        daemon.raw(database=name)
    assert value(scraper.metrics(), "pools_client_waiting", database=name, user="app") == 0


def test_health_follows_pause_and_resume(scraped):
    daemon, scraper = scraped()
    assert scraper.health() == (200, "ok")
    daemon.console("PAUSE")
    assert scraper.health() == (503, "paused")
    assert value(scraper.metrics(), "paused") == 1
    daemon.console("RESUME")
    assert scraper.health() == (200, "ok")
    assert value(scraper.metrics(), "paused") == 0


def test_health_says_that_it_shuts_down(scraped):
    daemon, scraper = scraped()
    client = daemon.raw()
    client.simple("begin")
    daemon.signal(signal.SIGINT)
    wait_until(lambda: scraper.health() == (503, "shutting down"), what="it is shutting down")
    client.simple("commit")
    assert daemon.wait_exit() == 0


def test_a_scraper_that_goes_away_does_no_harm(scraped):
    daemon, scraper = scraped()
    for _ in range(50):
        with socket.create_connection(("127.0.0.1", scraper.port), 5) as s:
            s.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    wait_until(lambda: scraper.get("/metrics")[0] == 200, what="the open questions are answered")
    half = socket.create_connection(("127.0.0.1", scraper.port), 5)
    half.sendall(b"GET /metr")
    assert scraper.health() == (200, "ok")
    half.close()
    assert daemon.alive()


def test_connections_are_kept_and_only_reading_is_allowed(scraped):
    _, scraper = scraped()
    conn = http.client.HTTPConnection("127.0.0.1", scraper.port, timeout=10)
    for _ in range(3):
        conn.request("GET", "/healthz")
        assert conn.getresponse().read() == b"ok\n"
    conn.close()
    status, headers, body = scraper.get("/metrics", "HEAD")
    assert status == 200 and body == b"" and headers["Content-Type"].startswith("text/plain")
    assert scraper.get("/metrics", "DELETE")[0] in (405, 501)
    assert scraper.get("/elsewhere")[0] == 404


def test_without_a_port_there_is_no_listener_and_a_taken_one_is_told(lk, scraped):
    daemon = lk()
    assert "metrics on" not in daemon.log
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        late = lk({"metrics_listen_port": port}, start=False)
        late.exit_wanted = 1
        try:
            late.start()
        except AssertionError:
            pass  # whether it has listened for clients before is all the same
        assert late.wait_exit() == 1
        assert "could not listen for metrics on 127.0.0.1:%d: Address already in use" % port in late.log
    assert re.search(r"metrics on http://127\.0\.0\.1:\d+/metrics", scraped()[0].log)
