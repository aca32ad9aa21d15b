"""Fixtures: one private PostgreSQL a run, daemons as a test asks for them."""
import os
import shutil
import signal
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402


# It needs Java: `make check-jdbc`, or its name, runs it.
collect_ignore = ["test_jdbc.py"]


def pytest_configure(config):
    def interrupted(number, frame):
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGHUP, interrupted)
    config.addinivalue_line("markers", "limit(seconds): how long the test may take")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """No test hangs the run: after its limit (mark `limit(seconds)`, 60 by default) it fails where it stands."""
    def late(number, frame):
        raise TimeoutError("the test took too long")
    mark = item.get_closest_marker("limit")
    signal.signal(signal.SIGALRM, late)
    signal.alarm(mark.args[0] if mark else 60)
    try:
        yield
    finally:
        signal.alarm(0)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for daemon in getattr(item, "lk_daemons", []):
            report.sections.append(("daemon", daemon.tail()))


@pytest.fixture(scope="session")
def folder():
    made = harness.Folder()
    yield made
    if not os.environ.get("LK_KEEP"):
        made.remove()


@pytest.fixture(scope="session")
def binary(folder):
    """The daemon under test: LK_BIN, or build/lockkeeper. Copied to where the user postgres may run it."""
    source = os.environ.get("LK_BIN", os.path.join(harness.ROOT, "build", "lockkeeper"))
    target = os.path.join(folder.path, os.path.basename(source))
    shutil.copy(source, target)
    os.chmod(target, 0o755)
    return target


@pytest.fixture(scope="session")
def pg(folder):
    server = harness.Postgres(folder)
    try:
        server.start()
        server.prepare_databases()
        yield server
    finally:
        server.stop(signal.SIGQUIT)  # its data goes away with it: no checkpoint


@pytest.fixture
def pool_mode():
    """The mode of daemons that don't ask for one. What holds in several modes parametrizes it (locklib.ALL_MODES and others)."""
    return "transaction"


@pytest.fixture
def lk(request, folder, pg, binary, pool_mode):
    """Factory of daemons: lk(settings, databases=…, users=…, …). start=False only writes its files."""
    request.node.lk_daemons = daemons = []

    def make(settings=None, start=True, **kw):
        daemon = harness.Daemon(folder, pg, binary, dict({"pool_mode": pool_mode}, **(settings or {})), **kw)
        daemons.append(daemon)
        return daemon.start() if start else daemon
    yield make
    wrong = [w for w in [d.stop() for d in daemons] if w]
    pg.end_backends()
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def second_pg(folder):
    """Another PostgreSQL, for tests that stop and start it."""
    server = harness.Postgres(folder)
    try:
        server.start()
        server.prepare_databases()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def hidden(pg):
    """Functions, triggers and views of the database app that take locks out of sight."""
    from locklib import HIDDEN_SQL
    pg.one(HIDDEN_SQL, dbname="app", user="app")
