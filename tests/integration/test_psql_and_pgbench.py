"""psql and pgbench work as usual."""
import os
import pty
import re
import select
import signal
import subprocess

import pytest

import rawpg
from harness import pg_bin, wait_until


def psql(daemon, script, *args, **kw):
    return subprocess.run(["psql", "-X", "-v", "ON_ERROR_STOP=1", "-At"] + list(args) + [kw.pop("dsn", daemon.dsn())], input=script,
                          capture_output=True, text=True, timeout=50)


@pytest.fixture
def daemon(lk):
    return lk({"default_pool_size": 2})


def test_psql_describes_and_shows(daemon):
    out = psql(daemon, "\\conninfo\nselect 1;\n\\dt pg_catalog.pg_class\n\\d pg_class\n\\l\n")
    assert out.returncode == 0 and out.stderr == ""
    assert "\n1\n" in out.stdout and "relname" in out.stdout


def test_psql_copies_in_and_out(daemon, tmp_path):
    data = tmp_path / "rows.txt"
    data.write_text("".join("%d\trow %d\n" % (n, n) for n in range(1000)))
    back = tmp_path / "back.txt"
    out = psql(daemon, "create table copied(n int, t text);\n\\copy copied from '%s'\n\\copy (select * from copied order by n) "
                       "to '%s'\ndrop table copied;\n" % (data, back))
    assert out.returncode == 0, out.stderr
    assert "COPY 1000" in out.stdout
    assert back.read_text() == data.read_text()


class Terminal:
    """An interactive psql on a pseudo-terminal."""

    def __init__(self, daemon):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(["psql", "-XAt", daemon.dsn()], stdin=slave, stdout=slave, stderr=slave,
                                        start_new_session=True, env=dict(os.environ, PAGER="", TERM="dumb"))
        os.close(slave)
        self.text = ""

    def type(self, text):
        os.write(self.master, text.encode())

    def expect(self, pattern):
        """Waits until the screen shows it, and forgets the screen up to there."""
        wait_until(lambda: self.shows(pattern), what="%r on the screen" % pattern)
        self.text = self.text[re.search(pattern, self.text).end():]

    def shows(self, pattern):
        if select.select([self.master], [], [], 0)[0]:
            self.text += os.read(self.master, 65536).decode(errors="replace")
        return re.search(pattern, self.text)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def end(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.fixture
def terminal(daemon):
    shell = Terminal(daemon)
    yield shell
    shell.end()


def test_psql_watches_until_ctrl_c(terminal):
    terminal.expect("app=>")
    terminal.type("select 'ti' || 'ck' \\watch 0.1\n")
    for _ in range(3):
        terminal.expect("tick\r?\n")
    terminal.interrupt()
    terminal.expect("app=>")
    terminal.type("select 'af' || 'ter';\n")
    terminal.expect("after\r?\n")


def test_ctrl_c_in_psql_ends_the_query_and_not_the_session(pg, terminal):
    terminal.expect("app=>")
    terminal.type("select pg_sleep(60);\n")
    wait_until(lambda: pg.one("select 1 from pg_stat_activity where wait_event = 'PgSleep' and datname = 'app'"))
    terminal.interrupt()
    terminal.expect("canceling statement due to user request")
    terminal.type("select 'ali' || 've';\n")
    terminal.expect("alive\r?\n")


def test_psql_works_over_the_unix_socket(daemon):
    out = psql(daemon, "select 'unix'", dsn="host=%s port=%d dbname=app user=app" % (daemon.dir, daemon.port))
    assert out.stdout == "unix\n"


def test_psql_cursors_and_errors(daemon):
    out = psql(daemon, "\\set FETCH_COUNT 10\nselect count(*) from (select 1) x;\nselect generate_series(1, 35);\n"
                       "\\set ON_ERROR_STOP 0\nselect 1/0;\nselect 'on';\n")
    assert out.stdout.splitlines()[-1] == "on" and "35" in out.stdout.splitlines()
    assert "division by zero" in out.stderr


def test_psql_shows_the_console(daemon):
    out = psql(daemon, "show pools;\nshow clients;\nshow help;\nshow config;\n", dsn=daemon.dsn("lockkeeper", "admin"))
    assert out.returncode == 0 and "default_pool_size|2|20|yes" in out.stdout


@pytest.fixture(scope="module")
def branches(pg):
    subprocess.run([pg_bin("pgbench"), "-i", "-s", "1", "-q", "-h", pg.host, "-p", str(pg.port), "-U", "app", "app"], check=True,
                   capture_output=True)


@pytest.mark.parametrize("protocol", ["simple", "extended", "prepared"])
@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_pgbench_with_100_clients_over_10_backends_has_no_error(pg, lk, branches, mode, protocol):
    daemon = lk({"pool_mode": mode, "default_pool_size": 10, "max_client_conn": 150, "query_wait_timeout": 60})
    # With session pooling 100 clients of ten backends must come in turns (-C). A thread each, since pgbench prepares with
    # calls that block the thread, and with it the clients that hold the backends waited for.
    turns = ["-C", "-t", "4"] if mode == "session" else ["-T", "3"]
    most = []
    bench = subprocess.Popen([pg_bin("pgbench"), "-n", "-M", protocol, "-c", "100", "-j", "100", "-N", *turns, "-h", daemon.host,
                              "-p", str(daemon.port), "-U", "app", "app"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: most.append(len(pg.backends())) or max(most) >= 10 or bench.poll() is not None, what="ten backends")
        out, err = bench.communicate(timeout=50)
    finally:
        bench.kill()
        bench.wait()
    assert bench.returncode == 0, err
    assert "number of failed transactions: 0 " in out and not re.search("(?i)error|aborted", err), out + err
    assert max(most) <= 10
    assert int(re.search(r"actually processed: (\d+)", out).group(1)) >= 100
    assert daemon.leaks("leak") == daemon.leaks("hidden") == []


# -- memory

SIZE_MB = 1024 if os.environ.get("LK_BIG") else 256


@pytest.fixture
def flat(lk):
    """A daemon whose memory is watched; a sanitizer may not keep back what was freed."""
    return lk({"default_pool_size": 2}, asan="quarantine_size_mb=1")


def peak_kb(daemon):
    with open("/proc/%d/status" % daemon.pid) as f:
        return int(re.search(r"VmHWM:\s+(\d+)", f.read()).group(1))


@pytest.mark.limit(300)
def test_a_large_result_passes_with_flat_memory(flat):
    conn = flat.raw()
    conn.sock.settimeout(60)
    conn.simple("select repeat('x', 1000)")
    before = peak_kb(flat)
    conn.send(rawpg.query("select repeat('x', 1048000) from generate_series(1, %d)" % SIZE_MB))
    received = drain(conn)
    assert received > SIZE_MB * 1000000
    assert peak_kb(flat) - before < 16 * 1024
    assert conn.simple("select 1") == [["1"]]


def drain(conn):
    """Reads to ReadyForQuery without keeping the bytes; gives their number."""
    total = 0
    tail = b""
    while True:
        data = conn.sock.recv(1 << 20)
        assert data, "closed"
        total += len(data)
        tail = (tail + data)[-6:]
        if tail == b"Z\0\0\0\5I":
            return total


@pytest.mark.limit(300)
def test_one_row_of_many_megabytes_passes_with_flat_memory(flat):
    conn = flat.raw()
    conn.sock.settimeout(60)
    conn.simple("select repeat('x', 1000)")
    before = peak_kb(flat)
    conn.send(rawpg.query("select repeat('x', %d)" % (120 << 20)))
    assert drain(conn) > 120 << 20
    assert peak_kb(flat) - before < 16 * 1024


@pytest.mark.limit(300)
def test_a_large_copy_passes_both_ways_with_flat_memory(pg, flat):
    pg.one("drop table if exists bulk; create unlogged table bulk(t text); alter table bulk alter t set storage plain; "
           "grant all on bulk to public", dbname="app")
    conn = flat.raw()
    conn.sock.settimeout(60)
    conn.simple("select 1")
    before = peak_kb(flat)
    conn.send(rawpg.query("copy bulk from stdin"))
    conn.until("G")
    chunk = rawpg.copy_data((b"y" * 4095 + b"\n") * 16)
    for _ in range(SIZE_MB * 16):
        conn.sock.sendall(chunk)
    conn.send(rawpg.copy_done())
    assert conn.until()[0].body == b"COPY %d\0" % (SIZE_MB * 256)
    conn.send(rawpg.query("copy bulk to stdout"))
    assert drain(conn) > SIZE_MB << 20
    assert peak_kb(flat) - before < 16 * 1024
    pg.one("drop table bulk", dbname="app")


@pytest.mark.limit(300)
def test_a_reader_slower_than_the_server_does_not_fill_memory(flat):
    slow = flat.raw()
    slow.sock.settimeout(60)
    before = peak_kb(flat)
    slow.send(rawpg.query("select repeat('x', 100000) from generate_series(1, 1000)"))
    other = flat.raw()
    for n in range(50):
        other.simple("select %d" % n)
    assert peak_kb(flat) - before < 16 * 1024
    assert drain(slow) > 100000000
