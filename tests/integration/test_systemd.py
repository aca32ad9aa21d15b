"""What systemd is told and hands over: readiness, the watchdog, sockets. The units themselves."""
import os
import re
import shutil
import signal
import socket
import subprocess

import psycopg
import pytest

import harness
from harness import run_as, wait_until


class Manager:
    """The socket of a service manager."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        os.chmod(path, 0o777)
        self.socket.settimeout(10)

    def next(self, wanted):
        """The next datagram that begins so; those before it are passed over."""
        while True:
            lines = self.socket.recv(4096).decode().split("\n")
            if lines[0] == wanted:
                return lines


@pytest.fixture
def manager(folder, monkeypatch):
    made = Manager(os.path.join(folder.make("n"), "notify"))
    monkeypatch.setenv("NOTIFY_SOCKET", made.path)
    yield made
    made.socket.close()


def test_ready_reloading_and_stopping_are_told(lk, manager):
    daemon = lk()
    manager.next("READY=1")
    daemon.signal(signal.SIGHUP)
    assert re.fullmatch(r"MONOTONIC_USEC=[0-9]+", manager.next("RELOADING=1")[1])
    manager.next("READY=1")
    daemon.signal(signal.SIGINT)
    manager.next("STOPPING=1")
    assert daemon.wait_exit() == 0


def test_a_service_is_ready_only_when_it_answers(lk, manager):
    daemon = lk(start=False)
    daemon.write()
    with open(daemon.errfile, "a") as err:
        daemon.process = subprocess.Popen(run_as("QUIT") + [daemon.binary, "-q", daemon.ini], stdout=err, stderr=err,
                                          stdin=subprocess.DEVNULL, cwd=daemon.dir)
    manager.next("READY=1")
    socket.create_connection((daemon.host, daemon.port), 5).close()


def test_the_watchdog_is_fed_also_while_a_shutdown_waits(lk, manager, monkeypatch):
    monkeypatch.setenv("WATCHDOG_USEC", "200000")
    daemon = lk()
    for _ in range(3):
        manager.next("WATCHDOG=1")
    client = daemon.raw()
    client.simple("begin")
    daemon.signal(signal.SIGINT)
    manager.next("STOPPING=1")
    manager.next("WATCHDOG=1")
    client.simple("commit")
    assert daemon.wait_exit() == 0


def test_a_watchdog_of_another_process_is_left_alone(lk, manager, monkeypatch):
    monkeypatch.setenv("WATCHDOG_USEC", "1000")
    monkeypatch.setenv("WATCHDOG_PID", "1")
    daemon = lk()
    assert manager.next("READY=1")
    daemon.console("SHOW VERSION")
    daemon.signal(signal.SIGINT)
    assert manager.socket.recv(100) == b"STOPPING=1"
    assert daemon.wait_exit() == 0


def start_with(daemon, sockets):
    """Starts the daemon as systemd does: sockets from descriptor 3 on, and its pid in LISTEN_PID."""
    moved = ["exec"]
    for number, s in enumerate(sockets):
        moved.append("%d<&%d" % (3 + number, s.fileno() + 100))
    script = " ".join(moved) + '; LISTEN_FDS=%d LISTEN_PID=$$ exec "$@"' % len(sockets)

    copies = [os.dup2(s.fileno(), s.fileno() + 100) for s in sockets]
    with open(daemon.errfile, "a") as err:
        daemon.process = subprocess.Popen(["bash", "-c", script, "bash"] + run_as("QUIT") +
                                          [daemon.binary, "-q", daemon.ini], stdout=err, stderr=err,
                                          stdin=subprocess.DEVNULL, cwd=daemon.dir, pass_fds=copies)
    for fd in copies:
        os.close(fd)


def test_sockets_that_are_handed_over_take_the_place_of_its_own(lk):
    daemon = lk(start=False)
    own_port, path = daemon.port, os.path.join(daemon.dir, ".s.PGSQL.7")
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as unix:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        unix.bind(path)
        os.chmod(path, 0o777)
        unix.listen()
        daemon.port = tcp.getsockname()[1]
        start_with(daemon, [tcp, unix])
        with daemon.connect() as conn:
            assert conn.execute("select 1").fetchone() == (1,)
        with psycopg.connect(host=daemon.dir, port=7, dbname="app", user="app") as conn:
            assert conn.execute("select 2").fetchone() == (2,)
        with pytest.raises(OSError):
            socket.create_connection((daemon.host, own_port), 5)
        daemon.signal(signal.SIGINT)
        assert daemon.wait_exit() == 0
        assert os.path.exists(path), "the file of a socket that is not its own stays"


def test_a_descriptor_that_is_no_listener_ends_the_start(lk):
    daemon = lk(start=False)
    daemon.exit_wanted = 1
    with socket.socket() as s:
        start_with(daemon, [s])
        assert daemon.wait_exit() == 1
    assert "LISTEN_FDS: descriptor 3 is no socket that listens" in daemon.log


UNITS = os.path.join(harness.ROOT, "conf", "systemd")


def test_units_stand_what_systemd_analyze_finds(folder):
    text = open(os.path.join(UNITS, "lockkeeper.service")).read()
    for line in ("Type=notify", "KillSignal=SIGQUIT", "NoNewPrivileges=yes", "ProtectSystem=strict", "PrivateTmp=yes"):
        assert "\n%s\n" % line in text, line
    if not shutil.which("systemd-analyze"):
        return
    root = folder.make("units")
    for name in ("lockkeeper.service", "lockkeeper.socket"):
        # On a machine without the package the program of ExecStart would be missing.
        with open(os.path.join(UNITS, name)) as f:
            folder.write(os.path.join(root, name), f.read().replace("/usr/sbin/lockkeeper", "/bin/true"))
    verify = subprocess.run(["systemd-analyze", "verify", "--man=no"] + [os.path.join(root, n) for n in os.listdir(root)],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    complaints = [line for line in verify.stdout.decode().splitlines() if "lockkeeper" in line]
    assert verify.returncode == 0 and not complaints, verify.stdout.decode()
    security = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--no-pager", "--threshold=25",
                               os.path.join(root, "lockkeeper.service")],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert security.returncode == 0, security.stdout.decode()
