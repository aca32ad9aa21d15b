"""Clients in pairs, one on a direct connection and one behind the proxy, that are given the same messages.

The direct side says what is right: the answers, who holds which advisory lock and who waits for one (pg_locks), and what a
client leaves behind. The proxy's side must show the same; which of its backends is whose is learned from the first lock that
a client takes there. Each side has a database of its own, since advisory locks are per database.
"""
import collections

import rawpg
from harness import wait_until
from locklib import SHORT


def key_text(numbers):
    return ",".join(map(str, numbers))


class Side:
    """The clients of one of the two databases."""

    def __init__(self, pg, dbname, login, clients):
        self.pg, self.dbname, self.login = pg, dbname, login
        self.conns, self.pids, self.seen = [None] * clients, [None] * clients, [[] for _ in range(clients)]

    def locks(self):
        return self.pg.locks(self.dbname)

    def rows(self, locks):
        owner = {pid: n for n, pid in enumerate(self.pids) if pid}
        return sorted(((owner.get(pid, "pid %s" % pid), SHORT[mode], granted, space, key)
                       for pid, mode, granted, space, key in locks), key=str)

    def send(self, client, data):
        self.conns[client].send(data(self) if callable(data) else data)

    def read_until(self, client, syncs):
        """Adds what comes to what was seen of this exchange: types, rows, the fields of errors and notices."""
        conn, seen = self.conns[client], self.seen[client]
        while sum(s[0] == "Z" for s in seen) < syncs:
            self.read_one(conn, seen)

    def read_one(self, conn, seen):
        m = conn.read()
        if m.type in "EN":
            f = rawpg.fields(m.body)
            seen.append((m.type, f["S"], f["C"], f["M"]))
        elif m.type == "T":  # without the OIDs of tables, which differ
            seen.append((m.type, rawpg.columns(m.body)))
        elif m.type != "S":
            seen.append((m.type, m.body))

    def answered(self, client, syncs):
        """Reads until all is answered; False when the client's backend waits for a lock instead (direct side only)."""
        conn, seen = self.conns[client], self.seen[client]
        while sum(s[0] == "Z" for s in seen) < syncs:
            if not conn.quiet(0.003):
                self.read_one(conn, seen)
            elif any(pid == self.pids[client] and not granted for pid, _, granted, _, _ in self.locks()) and conn.quiet(0):
                return False
        return True


class Pairs:
    def __init__(self, pg, daemon, dbnames, user, clients, pool_size):
        self.pg, self.user, self.count, self.pool_size = pg, user, clients, pool_size
        self.direct = Side(pg, dbnames[0], lambda: rawpg.RawConn(pg.host, pg.port).login(user, dbnames[0]), clients)
        self.proxy = Side(pg, dbnames[1], lambda: daemon.raw(user, dbnames[1]), clients)
        self.sides = (self.direct, self.proxy)
        self.states, self.named = ["I"] * clients, [set() for _ in range(clients)]
        self.waiting = {}  # client: (how many ReadyForQuery are awaited, what it was asked)
        self.truth = []  # the direct side's rows of pg_locks when all had settled
        self.asked = [collections.deque(maxlen=8) for _ in range(clients)]
        self.left, self.counts = collections.Counter(), collections.Counter()
        self.step = self.waits = 0

    # -- what holds now

    def held(self, client):
        """What the client holds, session and transaction level alike: (mode, space, key)."""
        return [(mode, space, key) for c, mode, granted, space, key in self.truth if c == client and granted]

    def free(self, client, space, key, shared):
        """Nobody else holds this in the way, or waits for it."""
        return not any(c != client and (s, k) == (space, key) and not (granted and shared and mode == "S")
                       for c, mode, granted, s, k in self.truth)

    def may_wait(self, client, space, key):
        """To wait for it can't close a circle: nobody who has to do with this key waits itself."""
        others = {c for c, _, granted, s, k in self.truth if (s, k) == (space, key) and granted and c != client}
        return not others & set(self.waiting) and len(self.waiting) < 3

    def pinned(self):
        return {c for c, *_ in self.truth} | {c for c in range(self.count) if self.states[c] != "I"} | set(self.waiting)

    def served(self, client):
        """The proxy has a backend for it without waiting."""
        pinned = self.pinned()
        return client in pinned or len(pinned) < self.pool_size

    # -- what clients do

    def arrive(self, client):
        for side in self.sides:
            side.conns[client] = side.login()
        self.states[client] = "I"
        self.named[client].clear()
        self.direct.pids[client], self.proxy.pids[client] = self.direct.conns[client].pid, None

    def ask(self, client, data, what, syncs=1):
        """Sends the same to both (a function is given the side), and compares all that can be seen when all has settled.
        Gives the answer, or None if the client waits for a lock now."""
        for side in self.sides:
            side.seen[client] = []
            side.send(client, data)
        self.waiting[client] = (syncs, what)
        answer = self.collect(client)
        self.settle()
        return answer

    def ask_without_wait(self, client, data, what):
        """As ask, for what ends by itself."""
        for side in self.sides:
            side.seen[client] = []
            side.send(client, data)
        self.waiting[client] = (1, what)
        self.end_of_wait(client)
        self.settle()

    def collect(self, client):
        syncs, what = self.waiting[client]
        if not self.direct.answered(client, syncs):
            self.waits += 1
            return None
        del self.waiting[client]
        self.proxy.read_until(client, syncs)
        answers = [side.seen[client] for side in self.sides]
        assert answers[0] == answers[1], "step %d, client %d, %s:\n direct %r\n proxy  %r\n before it: %s" % (
            self.step, client, what, *answers, list(self.asked[client]))
        self.asked[client].append(what)
        self.states[client] = answers[0][-1][1].decode()
        return answers[0]

    def cancel(self, client):
        """Of a client that waits for a lock, or of one that is idle: then nothing comes of it."""
        for side in self.sides:
            side.conns[client].cancel()
        if client in self.waiting:
            assert self.end_of_wait(client)
        self.settle()

    def end_of_wait(self, client):
        self.direct.read_until(client, self.waiting[client][0])
        return self.collect(client)

    def sleepers(self, side):
        return self.pg.one("select count(*) from pg_stat_activity where datname = %s and wait_event = 'PgSleep'", (side.dbname,))[0][0]

    def begin_sleep(self, client, text):
        """Sends a text that takes locks that are free, and sleeps; both sides sleep when it returns."""
        for side in self.sides:
            side.seen[client] = []
            side.send(client, rawpg.query(text))
            wait_until(lambda: self.sleepers(side) == 1, what="step %d: %s sleeps" % (self.step, text))
        self.waiting[client] = (1, text)

    def leave(self, client, rough, half=b""):
        """Goes, with or without Terminate, whatever it is doing; half is the beginning of a message that never ends."""
        gone = self.direct_leaves(client)
        for key in gone:
            self.left[key + ("client_abort" if rough or half else "client_disconnect",)] += 1
        conn = self.proxy.conns[client]
        conn.send(half)
        if rough:
            conn.reset()
        else:
            conn.send(b"" if half else rawpg.terminate())
            conn.close()
        self.proxy.conns[client] = self.proxy.pids[client] = None
        self.states[client] = "I"
        self.settle()

    def direct_leaves(self, client):
        """Ends what it does there, and finds out what it leaves and how often it has it: by unlocking until that is false."""
        conn = self.direct.conns[client]
        if client in self.waiting:
            conn.cancel()
            self.direct.read_until(client, self.waiting.pop(client)[0])
        if conn.status != "I":
            conn.simple("rollback")
        gone = [(space, key, mode) for pid, mode, _, space, key in self.direct.locks() if pid == conn.pid]
        for space, key, mode in gone:
            count, unlock = 0, "select pg_catalog.pg_advisory_unlock%s(%s)" % ("_shared" if mode == "ShareLock" else "", key)
            while conn.simple(unlock) == [["t"]]:
                count += 1
            self.counts[space, key, mode, count] += 1
        conn.send(rawpg.terminate())
        conn.close()
        self.direct.conns[client] = self.direct.pids[client] = None
        return gone

    # -- the comparison

    def settle(self):
        """Both databases show the same locks, and who waited has its answer if it waits no more."""
        while True:
            try:
                wait_until(self.same)
            except AssertionError:
                raise AssertionError(self.difference) from None
            ready = [c for c in self.waiting if not any(r[0] == c and not r[2] for r in self.truth)]
            if not [c for c in ready if self.collect(c)]:
                return

    def same(self):
        self.truth = self.direct.rows(self.direct.locks())
        locks = self.proxy.locks()
        self.learn(locks)
        rows = self.proxy.rows(locks)
        self.difference = "step %d:\n direct %r\n proxy  %r" % (self.step, self.truth, rows)
        return rows == self.truth

    def learn(self, locks):
        """A client has a backend from its first lock to its last; a new backend belongs to the one client that has none."""
        pids = {lock[0] for lock in locks}
        self.proxy.pids = [p if p in pids else None for p in self.proxy.pids]
        strange = pids - set(self.proxy.pids)
        bare = {row[0] for row in self.truth if self.proxy.pids[row[0]] is None}
        if len(strange) == len(bare) == 1:
            self.proxy.pids[bare.pop()] = strange.pop()
