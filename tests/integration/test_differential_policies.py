"""The random lock scripts of test_differential.py, in a simpler form, under the policies release and reject.

Two databases of one server (advisory locks are per database) get the same steps: eight clients lock, try, unlock, share,
in both key spaces, in and out of transactions, with errors in between, by simple, extended, prepared and binary messages;
they come and go. After each step the answers (booleans, notices, errors) and the advisory rows of pg_locks, with pids
mapped to clients, must be the same. At the end every lock left behind is in the leak log exactly once.
LK_STEPS sets the number of steps, LK_SEED repeats a run.

Under the policies release and reject the direct side is given what the policy makes of a step: unlock_all at the end of each
transaction; in place of a refused message one that fails.
"""
import collections
import os
import random

import pytest

import rawpg
from harness import wait_until

STEPS = int(os.environ.get("LK_STEPS", "1500")) // 4
CLIENTS = 8
KEYS = [(1, (n,)) for n in (7, 42, -1, 4294967298)] + [(2, (1, 2)), (2, (-7, 9)), (2, (0, 42))]
OIDS = {("lock", 1): 2880, ("lock_shared", 1): 2881, ("try", 1): 2882, ("try_shared", 1): 2883, ("unlock", 1): 2884,
        ("unlock_shared", 1): 2885, ("lock", 2): 2886, ("lock_shared", 2): 2887, ("try", 2): 2888, ("try_shared", 2): 2889,
        ("unlock", 2): 2890, ("unlock_shared", 2): 2891}
NAMES = {"lock": "pg_advisory_lock", "lock_shared": "pg_advisory_lock_shared", "try": "pg_try_advisory_lock",
         "try_shared": "pg_try_advisory_lock_shared", "unlock": "pg_advisory_unlock",
         "unlock_shared": "pg_advisory_unlock_shared", "xact": "pg_advisory_xact_lock", "try_xact": "pg_try_advisory_xact_lock",
         "try_xact_shared": "pg_try_advisory_xact_lock_shared"}
FORMS = ["simple", "literal extended", "text", "binary", "prepared", "prepared binary", "unnamed", "function call"]


class Model:
    """Who holds what: enough to know which blocking call would wait, and what a leaver leaves behind."""

    def __init__(self):
        self.session = [collections.Counter() for _ in range(CLIENTS)]
        self.xact = [set() for _ in range(CLIENTS)]

    def modes(self, client, key):
        return {m for (k, m), n in self.session[client].items() if k == key and n} | {m for k, m in self.xact[client] if k == key}

    def free(self, client, key, shared):
        others = set().union(*[self.modes(c, key) for c in range(CLIENTS) if c != client])
        return not others or (shared and others == {"S"})

    def apply(self, client, call, key, answer, in_transaction):
        mode = "S" if call.endswith("shared") else "X"
        if call.startswith(("lock", "try")) and "xact" not in call and answer != "f":
            self.session[client][key, mode] += 1
        elif call.startswith("unlock") and answer == "t":
            self.session[client][key, mode] -= 1
        elif "xact" in call and in_transaction and answer != "f":
            self.xact[client].add((key, mode))

    def left(self, client):
        return {km: n for km, n in self.session[client].items() if n}

    def leave(self, client):
        gone = self.left(client)
        self.session[client].clear()
        self.xact[client].clear()
        return gone


class Side:
    """Eight raw clients on one database."""

    def __init__(self, login):
        self.login = login
        self.conns = [None] * CLIENTS
        self.pids = [None] * CLIENTS

    def arrive(self, client):
        self.conns[client] = self.login()

    def leave(self, client, rough):
        conn = self.conns[client]
        if rough:
            conn.reset()
        else:
            conn.send(rawpg.terminate())
            conn.close()
        self.conns[client] = None

    def ask(self, client, messages):
        """What is seen of one exchange: types, rows, the fields of errors and notices, and the transaction's state."""
        conn = self.conns[client]
        conn.send(messages)
        seen = []
        for m in conn.until():
            if m.type in "EN":
                f = rawpg.fields(m.body)
                seen.append((m.type, f["S"], f["C"], f["M"]))
            elif m.type != "S":
                seen.append((m.type, m.body))
        return seen


def messages(form, call, key, named):
    """The bytes of one call, and whether it needs the statement to be parsed first (named is the client's set of names)."""
    space, numbers = key
    name = NAMES[call]
    if form == "function call" and (call, space) in OIDS:
        return rawpg.function_call(OIDS[call, space], [(rawpg.int8 if space == 1 else rawpg.int4)(n) for n in numbers])
    literal = "select %s(%s)" % (name, ", ".join(map(str, numbers)))
    if form in ("simple", "function call"):
        return rawpg.query(literal)
    if form == "literal extended":
        return rawpg.parse("", literal) + rawpg.bind() + rawpg.execute() + rawpg.sync()
    text = "select %s(%s)" % (name, "$1" if space == 1 else "$1, $2")
    binary = "binary" in form
    params = [(rawpg.int8 if space == 1 else rawpg.int4)(n) if binary else str(n) for n in numbers]
    bind = lambda statement: rawpg.bind("", statement, params, [1] if binary else [], [1] if binary else [])
    if form.startswith("prepared"):
        statement = "%s_%d" % (call, space)
        first = b"" if statement in named else rawpg.parse(statement, text)
        named.add(statement)
        return first + bind(statement) + rawpg.execute() + rawpg.sync()
    if form == "unnamed":
        return rawpg.parse("", text) + rawpg.describe("S") + bind("") + rawpg.execute() + rawpg.sync()
    return rawpg.parse("", text) + bind("") + rawpg.execute() + rawpg.sync()


REFUSED = 'select "refused"'


def refused(data):
    """What a client would have to send for what policy reject makes of its messages."""
    if data[:1] in b"QF":
        return rawpg.query(REFUSED)
    return data.replace(rawpg.execute(), rawpg.parse("refused", REFUSED), 1)


def plain(answer):
    """The error of a refusal, on either side, is the same word."""
    return [("E", "refused") if a[0] == "E" and a[2] in ("0A000", "42703") else a for a in answer]


def rows_of(pg, dbname, side):
    """pg_locks' rows with pids mapped to clients, xact and session locks alike."""
    owner = {pid: "client %d" % n for n, pid in enumerate(side.pids) if pid}
    return sorted((owner.get(pid, "pid %s" % pid), mode, granted, space, key) for pid, mode, granted, space, key in pg.locks(dbname))


@pytest.mark.limit(240)
@pytest.mark.parametrize("policy", ["release", "reject"])
def test_random_lock_scripts_under_a_policy_give_what_it_makes_of_them(pg, lk, policy):
    seed = int(os.environ.get("LK_SEED", random.randrange(1 << 30)))
    print("LK_SEED=%d LK_STEPS=%d" % (seed, STEPS))
    rnd = random.Random(seed)
    daemon = lk({"default_pool_size": CLIENTS + 2, "advisory_lock_policy": policy},
                databases={"app": {"host": pg.host, "port": pg.port, "dbname": "app2"}})
    direct = Side(lambda: rawpg.RawConn(pg.host, pg.port).login("app", "app"))
    proxy = Side(lambda: daemon.raw())
    model, states, named, leaks = Model(), ["I"] * CLIENTS, [set() for _ in range(CLIENTS)], collections.Counter()
    savepoint = [False] * CLIENTS

    def ask(client, data, what, takes=False):
        answers = [direct.ask(client, refused(data) if takes and policy == "reject" else data), proxy.ask(client, data)]
        if takes and policy == "reject":
            answers = [plain(a) for a in answers]
        assert answers[0] == answers[1], "step %d, client %d, %s: direct %r, proxy %r" % (step, client, what, *answers)
        states[client] = answers[0][-1][1].decode()
        return answers[0]

    def value(answer):
        for a in answer:
            if a[0] == "D":
                v = rawpg.row(a[1])[0]
                return {b"\1": "t", b"\0": "f"}.get(v, v.decode() if v else "")
            if a[0] == "V":
                return a[1][4:].decode()
        return None

    def ended(client):
        """Policy release at the end of a transaction: what is held is a leak, and freed."""
        gone = model.leave(client)
        if gone:
            leaks.update((key_text(k), m, n) for (k, m), n in gone.items())
            direct.ask(client, rawpg.query("select pg_advisory_unlock_all()"))

    for step in range(STEPS):
        client = rnd.randrange(CLIENTS)
        if direct.conns[client] is None:
            for side in (direct, proxy):
                side.arrive(client)
            states[client], savepoint[client] = "I", False
            named[client].clear()
            direct.pids[client] = direct.conns[client].pid
        dice = rnd.random()
        key = rnd.choice(KEYS)
        if dice < 0.03:
            gone = model.leave(client)
            leaks.update((key_text(k), m, n) for (k, m), n in gone.items())
            rough = rnd.random() < 0.5
            for side in (direct, proxy):
                side.leave(client, rough)
            pids = [side.pids[client] for side in (direct, proxy)]
            for side in (direct, proxy):
                side.pids[client] = None
            wait_until(lambda: pids[0] not in {r[0] for r in pg.locks("app")}, what="the direct backend holds nothing")
            wait_until(lambda: rows_of(pg, "app2", proxy) == rows_of(pg, "app", direct),
                       what="step %d: the locks of client %d are gone" % (step, client))
            continue
        if dice < 0.19:
            sql = rnd.choice(["begin", "commit", "rollback", "savepoint a", "rollback to a"])
            if states[client] == "I" and sql not in ("begin",):
                sql = "begin"
            if sql == "rollback to a" and not savepoint[client]:
                sql = "commit"
            if sql == "savepoint a" and states[client] == "E":
                sql = "rollback"
            ask(client, rawpg.query(sql), sql)
            savepoint[client] = (savepoint[client] or sql == "savepoint a") and states[client] != "I"
            if states[client] == "I":  # ROLLBACK TO frees some too; to believe in more than is held only forbids waiting
                model.xact[client].clear()
        elif dice < 0.23:
            ask(client, rnd.choice([rawpg.query("select 1/0"),
                                    rawpg.parse("", "selec") + rawpg.sync(),
                                    rawpg.parse("", "select 1/$1::int") + rawpg.bind(params=["0"]) + rawpg.execute() + rawpg.sync()]),
                "an error")
        elif dice < 0.27:
            ask(client, rawpg.query("select 1 as one"), "select 1")
        elif dice < 0.29:
            data = rnd.choice([rawpg.query("select pg_advisory_unlock_all()"), rawpg.function_call(2892, [], [])])
            answer = ask(client, data, "unlock_all")
            if not any(a[0] == "E" for a in answer):
                model.session[client].clear()
        elif dice < 0.30 and states[client] == "I":
            ask(client, rawpg.query("discard all"), "discard all")
            model.session[client].clear()
            named[client].clear()
        elif dice < 0.34 and states[client] != "E" and model.free(client, key, False):
            # An error after the lock: held although the client got an error.
            call = "select pg_advisory_lock(%s), 1/(select 0)" % ", ".join(map(str, key[1]))
            ask(client, rawpg.query(call), call, True)
            model.session[client][key, "X"] += policy != "reject"
        elif dice < 0.38 and states[client] != "E" and model.free(client, key, True):
            # A pipeline whose last part fails.
            args = ", ".join(map(str, key[1]))
            part = lambda sql: rawpg.parse("", sql) + rawpg.bind() + rawpg.execute()
            ask(client, part("select pg_advisory_lock_shared(%s)" % args) + part("select 1/0")
                + part("select pg_advisory_unlock_shared(%s)" % args) + rawpg.sync(), "a failing pipeline", True)
            model.session[client][key, "S"] += policy != "reject"
        else:
            call = rnd.choice(["lock", "lock_shared", "try", "try", "try_shared", "unlock", "unlock", "unlock", "unlock_shared",
                               "xact", "try_xact", "try_xact_shared"])
            mine = [km for km, n in model.session[client].items() if n]
            if call.startswith("unlock") and mine and rnd.random() < 0.7:
                key, mode = rnd.choice(mine)
                call = "unlock" if mode == "X" else "unlock_shared"
            if call in ("lock", "lock_shared", "xact") and not model.free(client, key, call.endswith("shared")):
                call = {"lock": "try", "lock_shared": "try_shared", "xact": "try_xact"}[call]
            form = rnd.choice(FORMS)
            if form.startswith("prepared") and states[client] == "E":
                form = "simple"
            takes = call.startswith(("lock", "try")) and "xact" not in call
            answer = ask(client, messages(form, call, key, named[client]), "%s %s %s" % (form, call, key), takes)
            if not any(a[0] == "E" for a in answer):
                model.apply(client, call, key, value(answer), states[client] == "T")
        if policy == "release" and states[client] == "I":
            ended(client)
        compare(pg, direct, proxy, client, step, states)

    for client in range(CLIENTS):
        if direct.conns[client] is not None:
            leaks.update((key_text(k), m, n) for (k, m), n in model.leave(client).items())
            for side in (direct, proxy):
                side.leave(client, False)
    wait_until(lambda: pg.locks("app") == [] == pg.locks("app2"), what="nothing is held")
    wait_until(lambda: len(daemon.leaks("leak")) >= sum(leaks.values()), what="every lock left behind is told")
    told = collections.Counter((r["lock"]["key"], r["lock"]["mode"][0].upper().replace("E", "X")) for r in daemon.leaks("leak"))
    assert told == collections.Counter({km: sum(c for (k, m, _), c in leaks.items() if (k, m) == km)
                                        for km in {(k, m) for k, m, _ in leaks}})
    counts = collections.Counter((r["lock"]["key"], r["lock"]["mode"][0].upper().replace("E", "X"), r["lock"]["count"])
                                 for r in daemon.leaks("leak") if r["lock"]["count"] is not None)
    assert counts - leaks == collections.Counter(), "a count that is told is the true one"
    print("%d locks were left behind, %d with a known count" % (sum(leaks.values()), sum(counts.values())))


def key_text(key):
    return ",".join(map(str, key[1]))


def compare(pg, direct, proxy, client, step, states):
    """The advisory rows of both databases are the same; a client that holds something is asked for its backend."""
    want = rows_of(pg, "app", direct)
    if states[client] == "T" or states[client] == "I" and any(r[0] == "client %d" % client for r in want):
        for side in (direct, proxy):
            pid = int(side.conns[client].simple("select pg_backend_pid()")[0][0])
            side.pids = [None if p == pid else p for p in side.pids]
            side.pids[client] = pid
    got = rows_of(pg, "app2", proxy)
    if got != want:
        wait_until(lambda: rows_of(pg, "app2", proxy) == want, 3,
                   what="step %d: direct has %r, the proxy %r" % (step, want, got))
