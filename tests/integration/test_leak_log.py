"""The leak log's forms and what its records carry from the statement."""
import re
import zlib

import rawpg
from harness import wait_until
from locklib import leak_of

EVENTS = "pin, unpin, leak"


def leave(conn):
    conn.send(rawpg.terminate())
    conn.close()


def lines(daemon):
    try:
        with open(daemon.leakfile, encoding="utf-8") as f:
            return f.read().splitlines()
    except FileNotFoundError:
        return []


def text_leak(daemon, key):
    found = []

    def there():
        found[:] = [line for line in lines(daemon) if " WARNING leak " in line and ", lock %s " % key in line]
        return found

    wait_until(there, what="a line of the leak of %s" % key)
    assert len(found) == 1
    return found[0]


def test_leak_log_as_text_is_one_line_a_record_with_all_its_facts(lk):
    daemon = lk({"default_pool_size": 1, "leak_log_format": "text", "leak_log_events": EVENTS}, extra="[advisory_names]\n9701 = night shift\n")
    conn = daemon.raw(application_name="billing of nights")
    conn.simple("select pg_advisory_lock(9701)\n/*route='%2Fpay'*/")
    conn.simple("select pg_advisory_lock(9701)\n/*route='%2Fpay'*/")
    pid = int(conn.simple("select pg_backend_pid()")[0][0])
    port = conn.sock.getsockname()[1]
    leave(conn)
    line = text_leak(daemon, "9701")
    assert re.fullmatch(
        r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC WARNING leak app/app transaction, '
        r'client \d+ \("billing of nights"\) 127\.0\.0\.1:%d, backend \d+ pid %d \S+:%d, lock 9701 exclusive x2 '
        r'\("night shift"\), held \d+\.\d{3} s since [-\d]+ [:.\d]+ UTC, reason client_disconnect, action unlock_all, '
        r'source ledger, tags route=/pay, fingerprint [0-9a-f]{16}, statement: select pg_advisory_lock\(\$1\).*'
        % (port, pid, daemon.pg.port), line), line
    wait_until(lambda: [line.split(" UTC ")[1].split()[1] for line in lines(daemon)] == ["pin", "leak", "unpin"],
               what="all records")


def test_leak_log_format_is_changed_by_reload(lk):
    daemon = lk({"default_pool_size": 1, "leak_log_events": EVENTS})
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(9702)")
    leave(conn)
    wait_until(lambda: [r["event"] for r in daemon.leaks()] == ["pin", "leak", "unpin"], what="all records")
    daemon.write(leak_log_format="text")
    daemon.reload()
    conn = daemon.raw()
    conn.simple("select pg_advisory_lock(9703)")
    leave(conn)
    text_leak(daemon, "9703")
    wait_until(lambda: [line[0] == "{" for line in lines(daemon)] == [True] * 3 + [False] * 3, what="six records")


def test_leak_log_names_the_keys_of_well_known_tools(pg, lk):
    daemon = lk({"default_pool_size": 1}, databases={"alias": {"host": pg.host, "port": pg.port, "dbname": "app"}})
    rails = 2053462845 * zlib.crc32(b"app")
    for key, name in ((72707369, "Prisma Migrate"), (rails, "Rails migrations")):
        conn = daemon.raw(database="alias")
        conn.simple("select pg_advisory_lock(%d)" % key)
        shown = daemon.console("SHOW ADVISORY_LOCKS")
        leave(conn)
        assert leak_of(daemon, str(key))["lock"]["name"] == name
        assert [r["name"] for r in shown] == [name]
