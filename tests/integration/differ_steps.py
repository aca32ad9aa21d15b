"""What the clients of the differential test may do in one step, with how often each is chosen.

A step is a function of the run (pairs, random numbers, settings) and the client. It gives False if it can't be done now:
then another is chosen. Only a message with one lock call may wait; what takes several locks is sent when they are free, so
that two clients which are woken together do not race each other on one side only.
"""
import rawpg

SQL = """
create function take(k bigint) returns void language plpgsql as $$ begin perform pg_advisory_lock(k); end $$;
create function try_take(k bigint) returns bool language plpgsql as $$ begin return pg_try_advisory_lock_shared(k); end $$;
create function give(k bigint) returns bool language plpgsql as $$ begin return pg_advisory_unlock(k); end $$;
create function take_in_sql(k bigint) returns void language sql begin atomic select pg_advisory_lock(k); end;
create function take_and_fail(k bigint) returns void language plpgsql as
    $$ begin perform pg_advisory_lock(k); raise exception 'as planned'; end $$;
create function take_and_recover(k bigint) returns void language plpgsql as
    $$ begin perform pg_advisory_lock(k); perform 1 / 0; exception when division_by_zero then null; end $$;
create function take_new() returns trigger language plpgsql as $$ begin perform pg_advisory_lock(new.id); return new; end $$;
create table job(id bigint);
create trigger job_locks before insert on job for each row execute function take_new();
create table late(id bigint);
create constraint trigger late_locks after insert on late deferrable initially deferred for each row execute function take_new();
create view looking as select pg_try_advisory_lock(7) as got;
create table with_default(id int, got bool default pg_try_advisory_lock(42));
create table plain(id int);
insert into plain select generate_series(1, 3);
grant all on all tables in schema public to public;
"""

KEYS = [(1, (n,)) for n in (7, 42, -1, 4294967298)] + [(2, (1, 2)), (2, (-7, 9)), (2, (0, 42))]
BIGINTS = [n for space, (n, *_) in KEYS if space == 1]
CALLS = {  # name, OIDs for bigint and int4 pair
    "lock": ("pg_advisory_lock", 2880, 2886), "lock_shared": ("pg_advisory_lock_shared", 2881, 2887),
    "try": ("pg_try_advisory_lock", 2882, 2888), "try_shared": ("pg_try_advisory_lock_shared", 2883, 2889),
    "unlock": ("pg_advisory_unlock", 2884, 2890), "unlock_shared": ("pg_advisory_unlock_shared", 2885, 2891),
    "xact": ("pg_advisory_xact_lock", 3089, 3093), "xact_shared": ("pg_advisory_xact_lock_shared", 3090, 3094),
    "try_xact": ("pg_try_advisory_xact_lock", 3091, 3095), "try_xact_shared": ("pg_try_advisory_xact_lock_shared", 3092, 3096)}
FORMS = ["simple", "literal extended", "text", "binary", "prepared", "prepared binary", "unnamed", "function call"]
SPELLINGS = ["select %s(%s)", "select pg_catalog.%s(%s) as got", 'select "%s" ( %s ) -- so', "/* a */ SELECT %s(%s)::text",
             "select %s(%s), 1", "select 1 as one; select %s(%s)", "with x as materialized (select %s(%s)) select * from x",
             "select case when true then %s(%s) end", "values (%s(%s))", "select 1 from (select %s(%s)) s where true",
             "explain (analyze, costs off, timing off, summary off) select %s(%s)", "explain (costs off) select %s(%s)",
             "prepare p as select %s(%s); execute p; deallocate p", "begin; select %s(%s); commit",
             "do $$ begin perform %s(%s); end $$", "select %s(%s), null = 1"]


def text_of(numbers):
    return ", ".join(map(str, numbers))


def key_name(numbers):
    return ",".join(map(str, numbers))


def part(sql, params=(), rows=0):
    return rawpg.parse("", sql) + rawpg.bind(params=params) + rawpg.execute(rows=rows)


def once(sql):
    return part(sql) + rawpg.sync()


def messages(form, call, key, named):
    """The bytes of one call. named: the client's set of statement names; one that is missing is parsed first."""
    space, numbers = key
    name, *oids = CALLS[call]
    if form == "function call":
        return rawpg.function_call(oids[space - 1], [(rawpg.int8 if space == 1 else rawpg.int4)(n) for n in numbers])
    literal = "select %s(%s)" % (name, text_of(numbers))
    if form == "simple":
        return rawpg.query(literal)
    if form == "literal extended":
        return once(literal)
    text = "select %s(%s)" % (name, "$1" if space == 1 else "$1, $2")
    binary = [1] if "binary" in form else []
    params = [(rawpg.int8 if space == 1 else rawpg.int4)(n) if binary else str(n) for n in numbers]
    statement, first = "", rawpg.parse("", text)
    if form.startswith("prepared"):
        statement = "%s_%d" % (call, space)
        first = b"" if statement in named else rawpg.parse(statement, text)
        named.add(statement)
    if form == "unnamed":
        first += rawpg.describe("S")
    return first + rawpg.bind("", statement, params, binary, binary) + rawpg.execute() + rawpg.sync()


class Run:
    def __init__(self, pairs, rnd, blocks, catalogue):
        self.pairs, self.rnd, self.blocks, self.catalogue = pairs, rnd, blocks, catalogue
        self.fresh = 100000

    def fresh_key(self):
        self.fresh += 1
        return self.fresh

    def key_for(self, client, shared=False):
        """A bigint key that what no text shows may take. Without the catalogue it is one that is free: a function that once took
        nothing may be trusted, and what it takes later is freed with its transaction."""
        if not self.catalogue:
            return self.fresh_key()
        key = self.rnd.choice(BIGINTS)
        return key if self.pairs.free(client, 1, str(key), shared) else self.fresh_key()

    def any_key(self, client, shared=False):
        """A key and whether it is free now."""
        space, numbers = self.rnd.choice(KEYS)
        return (space, numbers), self.pairs.free(client, space, key_name(numbers), shared)

    def own(self, client):
        """A key that the client holds, and its mode."""
        mine = self.pairs.held(client)
        if not mine:
            return None
        mode, space, key = self.rnd.choice(mine)
        return (space, tuple(int(n) for n in key.split(","))), mode

    def ask(self, client, data, what=None, **kw):
        self.pairs.ask(client, rawpg.query(data) if isinstance(data, str) else data, what or data, **kw)

    def either(self, client, sql):
        """As a Query or by the extended protocol."""
        self.ask(client, self.rnd.choice([rawpg.query, once])(sql), sql)


# -- calls in plain sight

def wanted(run, client):
    """A call, its key, and the call that doesn't wait if this one may not."""
    call = run.rnd.choice(["lock", "lock", "lock_shared", "try", "try", "try_shared", "unlock", "unlock", "unlock", "unlock_shared",
                           "xact", "xact_shared", "try_xact", "try_xact_shared"])
    key, free = run.any_key(client, call.endswith("shared"))
    own = run.own(client)
    if call.startswith("unlock") and own and run.rnd.random() < 0.75:
        key, mode = own
        call = "unlock" if mode == "X" else "unlock_shared"
    waits = call in ("lock", "lock_shared", "xact", "xact_shared") and not free
    if waits and (run.rnd.random() < 0.3 or not run.pairs.may_wait(client, key[0], key_name(key[1]))):
        return "try" + ("_xact" if "xact" in call else "") + ("_shared" if "shared" in call else ""), key, False
    return call, key, waits


def a_call(run, client):
    call, key, _ = wanted(run, client)
    form = run.rnd.choice(FORMS)
    named = run.pairs.named[client]
    if form.startswith("prepared") and run.pairs.states[client] == "E" and "%s_%d" % (call, key[0]) not in named:
        form = "simple"
    run.ask(client, messages(form, call, key, named), "%s %s %s" % (form, call, key))


def a_spelling(run, client):
    call, key, waits = wanted(run, client)
    spelling = run.rnd.choice(SPELLINGS)
    if spelling.startswith("begin") and run.pairs.states[client] != "I":
        return False
    if waits and ";" in spelling:
        return False
    run.ask(client, spelling % (CALLS[call][0], text_of(key[1])))


def awkward(run, client):
    """What gives no lock, or an error."""
    key, _ = run.any_key(client)
    run.either(client, run.rnd.choice([
        "select pg_advisory_lock(null)", "select pg_try_advisory_lock(1, null)", "select pg_advisory_lock('x')",
        "select pg_advisory_lock(1.5)", "select pg_advisory_lock(1, 5000000000)", "select pg_advisory_unlock(99)",
        "select pg_advisory_unlock_shared(%s)" % text_of(key[1]), "select case when false then pg_advisory_lock(7) end",
        "select 'pg_advisory_lock(7)'", "prepare q as select pg_advisory_lock(7); deallocate q", "selec pg_advisory_lock(7)"]))


def unlock_all(run, client):
    run.ask(client, run.rnd.choice([rawpg.query("select pg_advisory_unlock_all()"), once("select pg_advisory_unlock_all()"),
                                    rawpg.function_call(2892, [], [])]), "unlock_all")


def discard_all(run, client):
    if run.pairs.states[client] == "I":
        run.pairs.named[client].clear()
    run.ask(client, "discard all")


# -- one text, several locks, or none that the rows would tell

def many(run, client):
    (space, numbers), free = run.any_key(client)
    if not free:
        return False
    key = text_of(numbers)
    run.either(client, run.rnd.choice([
        "select pg_advisory_lock(%s), generate_series(1, 3)" % key, "select pg_advisory_lock(%s), unnest('{}'::int[])" % key,
        "select 1 where pg_try_advisory_lock(%s) is false" % key, "select id from plain order by pg_try_advisory_lock(%s)" % key,
        "select pg_try_advisory_lock(%s) offset 1" % key, "select pg_advisory_lock(%s), 1 / (select 0)" % key,
        "select pg_advisory_lock(%s), pg_advisory_lock_shared(%s), pg_advisory_unlock(%s)" % (key, key, key),
        "select pg_try_advisory_lock(%s), pg_try_advisory_lock(%s)" % (key, key)]))


def several(run, client):
    """Statements of one Query: a failure rolls them back, the locks stay."""
    (space, numbers), free = run.any_key(client)
    if not free:
        return False
    key = text_of(numbers)
    run.ask(client, run.rnd.choice(["select pg_advisory_lock(%s); select 1/0", "select 1; select pg_advisory_lock_shared(%s); select 2",
                                    "select pg_try_advisory_lock(%s); selec", "select pg_advisory_xact_lock(%s); select 1",
                                    "select pg_advisory_lock(%s); select pg_advisory_unlock_all()"]) % key)


def pipeline(run, client):
    """Several messages in one write, with one Sync or each with its own, some of which fail."""
    out, syncs, one_sync = b"", 0, run.rnd.random() < 0.5
    texts = []
    for _ in range(run.rnd.randint(2, 6)):
        call = run.rnd.choice(["try", "try_shared", "unlock", "unlock_shared", "try_xact"])
        key, _ = run.any_key(client)
        sql = run.rnd.choice(["select %s(%s)" % (CALLS[call][0], text_of(key[1]))] * 4
                             + ["select 1/0", "select 1", "select count(*) from plain", "insert into plain values (4)"])
        texts.append(sql)
        if one_sync:
            out += part(sql)
        else:
            out += run.rnd.choice([rawpg.query, once])(sql)
            syncs += 1
    run.ask(client, out + (rawpg.sync() if one_sync else b""), "pipeline of %s" % texts, syncs=syncs or 1)


def transaction_in_one_write(run, client):
    if not run.blocks or run.pairs.states[client] != "I":
        return False
    key, _ = run.any_key(client)
    texts = ["begin", "select 1", "select pg_try_advisory_lock(%s)" % text_of(key[1]), run.rnd.choice(["select 2", "select 1/0"]),
             run.rnd.choice(["commit", "rollback"])]
    run.ask(client, b"".join(rawpg.query(t) for t in texts), "; ".join(texts), syncs=5)


def row_limit(run, client):
    key = run.fresh_key()
    out = part("select pg_try_advisory_lock(%d + n) from generate_series(0, 3) n" % key, rows=run.rnd.randint(1, 3))
    run.ask(client, out + run.rnd.choice([b"", rawpg.execute(rows=1), rawpg.close("P")]) + rawpg.sync(), "row limit %d" % key)


def unnamed(run, client):
    """The unnamed statement in two exchanges; whatever came between them."""
    if run.rnd.random() < 0.5:
        call, key, _ = wanted(run, client)
        sql = run.rnd.choice(["select %s($1)" % CALLS[call][0], "select $1::int8", "selec"])
        run.ask(client, rawpg.parse("", sql) + rawpg.sync(), "Parse of %s" % sql)
    else:
        key = str(run.fresh_key())
        run.ask(client, rawpg.bind(params=[key]) + rawpg.execute() + rawpg.sync(), "Bind of what is unnamed")


def copy(run, client):
    key = run.key_for(client)
    out = run.rnd.choice([rawpg.query("copy (select pg_advisory_lock(%d)) to stdout" % key),
                          rawpg.query("copy job from stdin") + rawpg.copy_data(b"%d\n" % key) + rawpg.copy_done(),
                          rawpg.query("copy job from stdin") + rawpg.copy_data(b"%d\nx\n" % key) + rawpg.copy_done(),
                          rawpg.query("copy job from stdin") + rawpg.copy_data(b"%d\n" % key) + rawpg.copy_fail("no")])
    run.ask(client, out, "copy of %d" % key)


def cursor(run, client):
    if not run.blocks or run.pairs.states[client] != "I":
        return False
    key = run.fresh_key()
    texts = ["begin", "declare c cursor %s for select pg_try_advisory_lock(%d + n) from generate_series(0, 2) n"
             % (run.rnd.choice(["with hold", "without hold"]), key), "fetch c", run.rnd.choice(["fetch all c", "move c", "close c"]),
             run.rnd.choice(["commit", "rollback"])]
    for sql in texts:
        run.ask(client, sql)
    run.ask(client, "close all")


# -- locks that no text shows

def hidden(run, client):
    texts = ["select take(%d)", "do $$ begin perform pg_advisory_lock(%d); end $$", "select take_and_fail(%d)",
             "insert into job values (%d)", "select take_in_sql(%d)", "select take_and_recover(%d)"]
    key = run.key_for(client)
    if run.rnd.random() < 0.15:
        texts, key = ["do $$ begin execute 'select pg_adv' || 'isory_lock(%d)'; end $$"], run.fresh_key()
    run.either(client, run.rnd.choice(texts) % key)


def hidden_by_catalogue(run, client):
    """What may take or free nothing, so that evidence would clear it: known by name, or not at all."""
    if not run.catalogue:
        return False
    key = run.rnd.choice(BIGINTS)
    run.either(client, run.rnd.choice(["select try_take(%d)" % key, "select give(%d)" % key, "select got from looking",
                                       "insert into with_default values (1)"]))


def hidden_wait(run, client):
    key = run.rnd.choice(BIGINTS)
    if not run.catalogue or not run.pairs.may_wait(client, 1, str(key)):
        return False
    run.either(client, run.rnd.choice(["select take(%d)", "insert into job values (%d)"]) % key)


def hidden_function_call(run, client):
    name = run.rnd.choice(["take", "take_in_sql"] + ["try_take", "give"] * run.catalogue)
    key = run.key_for(client)
    run.ask(client, lambda side: rawpg.function_call(side.oids[name], [rawpg.int8(key)]), "FunctionCall of %s(%d)" % (name, key))


def at_commit(run, client):
    """A deferred trigger locks within COMMIT."""
    key = run.key_for(client)
    if not run.blocks or run.pairs.states[client] != "I":
        return False
    for sql in ("begin", "insert into late values (%d)" % key, run.rnd.choice(["commit", "commit", "rollback"])):
        run.either(client, sql)


# -- transactions, errors, time-outs, cancels

def transaction(run, client):
    if not run.blocks:
        return False
    state = run.pairs.states[client]
    texts = {"I": ["begin"] * 6 + ["start transaction", "commit", "rollback", "savepoint a"],
             "T": ["commit", "commit", "rollback", "savepoint a", "rollback to a", "release a", "commit and chain", "begin", "end"],
             "E": ["rollback", "commit", "rollback to a", "savepoint a", "rollback and chain"]}[state]
    run.either(client, run.rnd.choice(texts))


def error(run, client):
    run.ask(client, run.rnd.choice([rawpg.query("select 1/0"), rawpg.parse("", "selec") + rawpg.sync(),
                                    part("select 1/$1::int", ["0"]) + rawpg.sync(), rawpg.bind("", "none") + rawpg.sync(),
                                    rawpg.execute("none") + rawpg.sync(), rawpg.function_call(1, [])]), "an error")


def nothing(run, client):
    """Trusted in a while: behind these a reset goes along."""
    run.either(client, run.rnd.choice(["select 1 as one", "select count(*) > 0 from plain", "", "update plain set id = 1 where false"]))


def who(run, client):
    """The backend is still the one on which the client holds its locks."""
    expected = run.pairs.proxy.pids[client]
    if expected is None or run.pairs.states[client] == "E":
        return False
    run.pairs.direct.conns[client].simple("select pg_backend_pid()")
    got = run.pairs.proxy.conns[client].simple("select pg_backend_pid()")
    assert got == [[str(expected)]], "step %d: client %d holds locks on %d and is on %s" % (run.pairs.step, client, expected, got)


def timeout(run, client):
    """A wait that PostgreSQL ends: somebody else holds the lock, and does nothing in the meantime."""
    (space, numbers), _ = run.any_key(client)
    others = any(c != client and granted and (s, k) == (space, key_name(numbers)) for c, _, granted, s, k in run.pairs.truth)
    may = others and run.pairs.may_wait(client, space, key_name(numbers))
    if not may or run.pairs.states[client] == "E":
        return False
    # Whether a description of rows comes first is a matter of time; a DO has none.
    setting, frame = run.rnd.choice([("lock_timeout", "select %s(%s)"), ("statement_timeout", "do $$ begin perform %s(%s); end $$")])
    call = run.rnd.choice(["pg_advisory_lock", "pg_advisory_xact_lock"])
    texts = ["set local %s = 15" % setting, frame % (call, text_of(numbers)), "set local %s = 0" % setting]
    run.pairs.ask_without_wait(client, rawpg.query("; ".join(texts)), "; ".join(texts))


def cancel(run, client):
    """Of one that waits, else of one that is idle."""
    run.pairs.cancel(run.rnd.choice(sorted(run.pairs.waiting) or [client]))


def cancel_a_holder(run, client):
    """In mid-query, behind its lock: held although the client got an error."""
    (space, numbers), free = run.any_key(client)
    if not free or run.pairs.states[client] == "E":
        return False
    run.pairs.begin_sleep(client, "select pg_advisory_lock(%s), pg_sleep(60)" % text_of(numbers))
    run.pairs.cancel(client)


# -- ways to go

def leave(run, client):
    run.pairs.leave(client, run.rnd.random() < 0.5)


def leave_while_waiting(run, client):
    waiting = sorted(run.pairs.waiting)
    if not waiting:
        return False
    run.pairs.leave(run.rnd.choice(waiting), run.rnd.random() < 0.5)


def leave_in_mid_query(run, client):
    (space, numbers), free = run.any_key(client)
    if not free or run.pairs.states[client] == "E":
        return False
    run.pairs.begin_sleep(client, "select pg_advisory_lock(%s), pg_sleep(60)" % text_of(numbers))
    run.pairs.leave(client, True)


def leave_inside_a_message(run, client):
    data = run.rnd.choice([rawpg.query("select pg_advisory_lock(7)"), once("select pg_advisory_lock(7)")])
    run.pairs.leave(client, False, data[:run.rnd.randint(1, 20)])


STEPS = {a_call: 44, a_spelling: 12, awkward: 4, unlock_all: 2, discard_all: 1, many: 4, several: 4, pipeline: 5,
         transaction_in_one_write: 2, row_limit: 1, unnamed: 4, copy: 2, cursor: 1, hidden: 6, hidden_by_catalogue: 4,
         hidden_wait: 5, hidden_function_call: 2, at_commit: 1, transaction: 18, error: 3, nothing: 6, who: 2, timeout: 1,
         cancel: 2, cancel_a_holder: 0.5, leave: 2, leave_while_waiting: 1, leave_in_mid_query: 0.5, leave_inside_a_message: 0.5}


def take_step(run, client):
    while True:
        step = run.rnd.choices(list(STEPS), list(STEPS.values()))[0]
        if step(run, client) is not False:
            return step.__name__
