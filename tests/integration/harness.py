"""The private PostgreSQL, the daemon in front of it, and what tests need to look at both.

Everything lives in one 0755 temporary folder and listens on ports found free at run time. PostgreSQL and the daemon
refuse to run as root: then both run as the user postgres, the daemon from a copy in that folder. Every process is
started here, is known by its pid, and dies with the test run (PR_SET_PDEATHSIG).
"""
import glob
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

import psycopg
import psycopg2

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEADLINE = 10.0
_tick = threading.Event()
_ports = set()


def wait_until(fn, timeout=DEADLINE, what=None):
    """Calls fn until it gives something true, and returns that; fails after timeout seconds."""
    import time
    end = time.monotonic() + timeout
    while True:
        value = fn()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("not within %.1f s: %s (last: %r)" % (timeout, what or fn.__doc__ or fn, value))
        _tick.wait(0.01)


def free_port():
    while True:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        if port not in _ports:
            _ports.add(port)
            return port


def run_as(signal_name):
    """The prefix under which PostgreSQL and the daemon start: not as root, and never outliving the tests."""
    prefix = ["setpriv", "--pdeathsig", signal_name]
    if os.geteuid() == 0:
        prefix += ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
    return prefix


def owner():
    return pwd.getpwnam("postgres") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())


def pg_bin(name):
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/" + name), key=lambda p: int(p.split("/")[4]))
    return found[-1] if found else shutil.which(name)


class Folder:
    """The temporary folder of a run."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="lk-", dir="/tmp")
        os.chmod(self.path, 0o755)
        self.count = 0

    def make(self, name):
        self.count += 1
        path = os.path.join(self.path, "%s%d" % (name, self.count))
        os.mkdir(path, 0o755)
        os.chmod(path, 0o755)
        os.chown(path, owner().pw_uid, owner().pw_gid)
        return path

    def write(self, path, text):
        with open(path, "w") as f:
            f.write(text)
        os.chown(path, owner().pw_uid, owner().pw_gid)
        return path

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


HBA = """local all all trust
host all u_md5 127.0.0.1/32 md5
host all u_scram 127.0.0.1/32 scram-sha-256
host all u_plain 127.0.0.1/32 password
host all all 127.0.0.1/32 trust
"""

PASSWORDS = {"u_md5": "md5 secret", "u_scram": "scram secret", "u_plain": "plain secret"}

LOCKS_SQL = """
select pid, mode, granted, objsubid,
       case objsubid when 1 then ((classid::bigint << 32) | objid::bigint)::text
                     else classid::int4::text || ',' || objid::int4::text end as key
  from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = %s)
 order by pid, objsubid, key, mode
"""


class Postgres:
    def __init__(self, folder):
        self.folder = folder
        self.host = "127.0.0.1"
        self.port = free_port()
        self.dir = folder.make("pg")
        self.socket_dir = self.dir
        self.data = os.path.join(self.dir, "data")
        self.logfile = os.path.join(self.dir, "postgres.log")
        self.process = self.admin = None
        subprocess.run(run_as("KILL") + [pg_bin("initdb"), "-D", self.data, "-U", "postgres", "-A", "trust", "-N",
                                         "--locale=C", "-E", "UTF8"],
                       check=True, stdout=subprocess.DEVNULL, cwd="/tmp")
        folder.write(os.path.join(self.data, "pg_hba.conf"), HBA)
        with open(os.path.join(self.data, "postgresql.conf"), "a") as f:
            f.write("listen_addresses = '127.0.0.1'\nport = %d\nunix_socket_directories = '%s'\nfsync = off\n"
                    "max_connections = 200\nmax_prepared_transactions = 10\nautovacuum = off\nshared_buffers = 64MB\n"
                    "deadlock_timeout = 200ms\nlog_line_prefix = '%%m [%%p] %%u@%%d '\n" % (self.port, self.socket_dir))

    def start(self):
        with open(self.logfile, "a") as log:
            self.process = subprocess.Popen(run_as("INT") + [pg_bin("postgres"), "-D", self.data], stdout=log,
                                            stderr=log, stdin=subprocess.DEVNULL, cwd="/tmp")
        wait_until(self.accepts, 30, "PostgreSQL accepts connections")

    def accepts(self):
        assert self.process.poll() is None, "PostgreSQL did not start:\n" + tail(self.logfile)
        try:
            self.connect("postgres", user="postgres").close()
            return True
        except psycopg.OperationalError:
            return False

    def stop(self, how=signal.SIGINT):
        if self.admin is not None:
            self.admin.close()
            self.admin = None
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGQUIT)
                self.process.wait(20)

    def connect(self, dbname="app", user="app", autocommit=True, **kw):
        return psycopg.connect(host=self.host, port=self.port, dbname=dbname, user=user, autocommit=autocommit,
                               connect_timeout=10, **kw)

    def one(self, sql, args=None, dbname="postgres", user="postgres"):
        """The rows of a statement run directly as superuser; the connection to "postgres" is kept for the next."""
        if dbname == "postgres" and user == "postgres":
            if self.admin is None or self.admin.closed:
                self.admin = self.connect("postgres", "postgres")
            cur = self.admin.execute(sql, args)
            return cur.fetchall() if cur.description else []
        with self.connect(dbname, user) as conn:
            cur = conn.execute(sql, args)
            return cur.fetchall() if cur.description else []

    def locks(self, dbname="app"):
        """pg_locks' advisory rows of a database: (pid, mode, granted, objsubid, signed key)."""
        return self.one(LOCKS_SQL, (dbname,), dbname="postgres")

    def end_backends(self):
        """Whatever a failed test has left running in its databases."""
        left = "select pg_terminate_backend(pid) from pg_stat_activity where datname <> 'postgres'"
        wait_until(lambda: not self.one(left, dbname="postgres"), what="no backend is left")

    def backends(self, dbname="app"):
        """pids of the client backends of a database."""
        return [r[0] for r in self.one("select pid from pg_stat_activity where datname = %s and "
                                       "backend_type = 'client backend' order by backend_start",
                                       (dbname,), dbname="postgres")]

    def prepare_databases(self):
        with self.connect("postgres", "postgres") as conn:
            conn.execute("create role app login")
            conn.execute("create role other login")
            conn.execute("grant pg_signal_backend to app")
            for user, password in PASSWORDS.items():
                conn.execute("set password_encryption = '%s'" % ("md5" if user == "u_md5" else "scram-sha-256"))
                conn.execute("create role %s login password '%s'" % (user, password))
            for db in ("app", "app2"):
                conn.execute("create database %s owner app" % db)
        for db in ("app", "app2"):
            with self.connect(db, "postgres") as conn:
                conn.execute("grant all on schema public to public")


def tail(path, lines=60):
    try:
        with open(path, errors="replace") as f:
            return "".join(f.readlines()[-lines:])
    except OSError as e:
        return "(%s)\n" % e


class Console:
    def __init__(self, conn):
        self.conn = conn

    def __call__(self, command):
        cur = self.conn.execute(command)
        if cur.description is None:
            return cur.statusmessage
        names = [c.name for c in cur.description]
        return [dict(zip(names, row)) for row in cur.fetchall()]


def as_options(value):
    if isinstance(value, str):
        return value
    quote = lambda v: "'%s'" % str(v).replace("'", "''") if re.search(r"[\s';]", str(v)) or v == "" else str(v)
    return " ".join("%s=%s" % (k, quote(v)) for k, v in value.items())


class Daemon:
    """A running `lockkeeper CONFIG.ini`. LK_BIN names the binary; PgBouncer too is understood (locks are left out)."""

    def __init__(self, folder, pg, binary, settings=None, databases=None, users=None, userlist=None, locks_ini=None,
                 extra="", args=("-q",), pidfile=False, asan=""):
        self.folder, self.pg, self.binary = folder, pg, binary
        self.is_pgbouncer = os.path.basename(binary) == "pgbouncer"
        self.dir = folder.make("d")
        self.host, self.port = "127.0.0.1", free_port()
        self.ini = os.path.join(self.dir, "conf.ini")
        self.logfile = os.path.join(self.dir, "daemon.log")
        self.errfile = os.path.join(self.dir, "daemon.err")
        self.leakfile = os.path.join(self.dir, "leaks.jsonl")
        self.args = list(args)
        self.asan = asan
        self.process = None
        self.opened = []
        self.exit_wanted = 0
        self.settings = {
            "listen_addr": "127.0.0.1", "listen_port": self.port, "unix_socket_dir": self.dir, "auth_type": "trust",
            "auth_file": os.path.join(self.dir, "userlist.txt"), "admin_users": "admin", "stats_users": "stats",
            "pool_mode": "transaction", "default_pool_size": 5, "max_client_conn": 200, "logfile": self.logfile,
            "leak_log": self.leakfile, "query_wait_timeout": 20,
        }
        if pidfile:
            self.settings["pidfile"] = os.path.join(self.dir, "daemon.pid")
        self.databases = {"app": {"host": pg.host, "port": pg.port, "dbname": "app"}}
        if databases is not None:
            self.databases = databases
        self.users = users or {}
        self.userlist = {"app": "", "other": "", "postgres": "", "admin": "", "stats": ""}
        self.userlist.update(userlist or {})
        self.locks_ini, self.extra = locks_ini, extra
        self.settings.update(settings or {})
        self.write()

    # -- configuration

    def write(self, **changed):
        """Writes the ini and auth_file anew, with settings changed (None removes one)."""
        self.settings.update(changed)
        section = "pgbouncer" if self.is_pgbouncer else "lockkeeper"
        lines = ["[databases]"] + ["%s = %s" % (k, as_options(v)) for k, v in self.databases.items()]
        if self.users:
            lines += ["[users]"] + ["%s = %s" % (k, as_options(v)) for k, v in self.users.items()]
        lines += ["[%s]" % section]
        lines += ["%s = %s" % (k, v) for k, v in self.settings.items() if v is not None and not self.unknown(k)]
        self.folder.write(self.ini, "\n".join(lines) + "\n" + self.extra)
        self.folder.write(os.path.join(self.dir, "userlist.txt"),
                          "".join('"%s" "%s"\n' % (u, p.replace('"', '""')) for u, p in self.userlist.items()))
        if self.locks_ini is not None:
            self.folder.write(os.path.join(self.dir, "conf.locks.ini"), self.locks_ini)

    def unknown(self, key):
        return self.is_pgbouncer and (key.startswith("advisory_") or key.startswith("leak_log"))

    # -- life

    def start(self):
        env = dict(os.environ, ASAN_OPTIONS="exitcode=99:detect_leaks=1:" + self.asan, UBSAN_OPTIONS="print_stacktrace=1", LSAN_OPTIONS="exitcode=99")
        with open(self.errfile, "a") as err:
            self.process = subprocess.Popen(run_as("QUIT") + [self.binary] + self.args + [self.ini], stdout=err,
                                            stderr=err, stdin=subprocess.DEVNULL, cwd=self.dir, env=env)
        wait_until(self.accepts, 20, "the daemon listens")
        return self

    def accepts(self):
        assert self.process.poll() is None, "the daemon ended with %s:\n%s" % (self.process.returncode, self.tail())
        try:
            socket.create_connection((self.host, self.port), 5).close()
            return True
        except OSError:
            return False

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def wait_exit(self, timeout=DEADLINE):
        return self.process.wait(timeout)

    def kill(self):
        """kill -9: the one end that needs no good exit status."""
        self.exit_wanted = None
        self.process.kill()
        self.process.wait(DEADLINE)

    def reload(self):
        with self.console_connection() as conn:
            conn.execute("RELOAD")

    def stop(self):
        """Ends the daemon and says what was wrong with it, or None."""
        for conn in self.opened:
            try:
                conn.close()
            except Exception:
                pass
        self.opened.clear()
        if self.process is None:
            return None
        wrong = None
        if self.process.poll() is None:
            for number in (signal.SIGINT, signal.SIGINT, signal.SIGKILL):
                self.process.send_signal(number)
                try:
                    self.process.wait(6)
                    break
                except subprocess.TimeoutExpired:
                    wrong = "the daemon did not end after two SIGINT" if number == signal.SIGINT else wrong
            if self.process.returncode != -signal.SIGKILL:
                wrong = None
        if wrong is None and self.exit_wanted is not None and self.process.returncode != self.exit_wanted:
            wrong = "the daemon ended with %s" % self.process.returncode
        if re.search(r"runtime error:|ERROR: \w+Sanitizer", tail(self.errfile, 100000)):
            wrong = "sanitizer report:\n" + tail(self.errfile, 80)
        return wrong

    # -- looking at it

    @property
    def log(self):
        return tail(self.logfile, 100000) + tail(self.errfile, 100000)

    def tail(self):
        return "--- %s\n%s--- %s\n%s" % (self.logfile, tail(self.logfile), self.errfile, tail(self.errfile))

    def wait_log(self, pattern, timeout=DEADLINE):
        return wait_until(lambda: re.search(pattern, self.log), timeout, "the log says %r" % pattern)

    def leaks(self, event=None):
        try:
            with open(self.leakfile) as f:
                records = [json.loads(line) for line in f if line.endswith("\n")]
        except FileNotFoundError:
            return []
        return [r for r in records if event is None or r["event"] == event]

    def wait_leak(self, predicate=lambda r: r["event"] == "leak", timeout=DEADLINE):
        """The first record that fits."""
        return wait_until(lambda: next((r for r in self.leaks() if predicate(r)), None), timeout,
                          "a record in the leak log; it has %r" % self.leaks())

    def rss_kb(self):
        with open("/proc/%d/status" % self.pid) as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))

    # -- connections

    def connect(self, dbname="app", user="app", autocommit=True, **kw):
        kw.setdefault("host", self.host)
        kw.setdefault("connect_timeout", 10)
        conn = psycopg.connect(port=self.port, dbname=dbname, user=user, autocommit=autocommit, **kw)
        self.opened.append(conn)
        return conn

    def connect2(self, dbname="app", user="app", autocommit=True, **kw):
        kw.setdefault("host", self.host)
        conn = psycopg2.connect(port=self.port, dbname=dbname, user=user, connect_timeout=10, **kw)
        conn.autocommit = autocommit
        self.opened.append(conn)
        return conn

    def raw(self, user="app", database="app", password=None, unix=False, **params):
        """A client of the protocol module, logged in."""
        conn = self.raw_socket(unix)
        conn.login(user, database, password, **params)
        return conn

    def raw_socket(self, unix=False):
        from rawpg import RawConn
        conn = RawConn(unix=os.path.join(self.dir, ".s.PGSQL.%d" % self.port)) if unix else RawConn(self.host, self.port)
        self.opened.append(conn)
        return conn

    def console_connection(self, user="admin", **kw):
        return self.connect("pgbouncer" if self.is_pgbouncer else "lockkeeper", user=user, **kw)

    def console(self, command, user="admin"):
        """A console command: rows as dicts, or the tag."""
        with self.console_connection(user) as conn:
            return Console(conn)(command)

    def pool(self, database="app", user="app"):
        rows = [r for r in self.console("SHOW POOLS") if r["database"] == database and r["user"] == user]
        return rows[0] if rows else None

    def dsn(self, dbname="app", user="app"):
        return "host=%s port=%d dbname=%s user=%s" % (self.host, self.port, dbname, user)
