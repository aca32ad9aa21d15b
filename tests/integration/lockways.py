"""Every way to take a session-level advisory lock that we could think of: each with a key of its own.

A way says how Lockkeeper comes to see the lock while the statement is not trusted yet:
ANSWER   the text shows the call and the answer tells what was locked: no probe, and the count is known
TEXT     the text shows that something may lock: the backend is probed after each execution
CATALOGUE  the text names something that locks by the database's catalogue; without that it is found as by
TRUST    nothing shows it: the statement is a suspect, and the probe for evidence finds the lock
The lock is always held when the last step is over. KEY stands for the key in texts; a step is a text, sent as a Query,
or a function of the connection and the key.
"""
import rawpg

ANSWER, TEXT, CATALOGUE, TRUST = "answer", "text", "catalogue", "trust"

# What several ways use; run once in a database of their own, as its owner.
COMMON_SQL = """
create function take(k bigint) returns void language plpgsql as $$ begin perform pg_advisory_lock(k); end $$;
create function got(k bigint) returns bool language plpgsql as $$ begin return pg_try_advisory_lock(k); end $$;
create function take_through_another(k bigint) returns void language plpgsql as $$ begin perform take(k); end $$;
create function take_in_sql(k bigint) returns void language sql as $$ select pg_advisory_lock(k) $$;
create function take_atomic(k bigint) returns void language sql begin atomic select pg_advisory_lock(k); end;
create function take_as_owner(k bigint) returns void language plpgsql security definer set work_mem = '4MB' as
    $$ begin perform pg_advisory_lock(k); end $$;
create function take_and_recover(k bigint) returns void language plpgsql as
    $$ begin perform pg_advisory_lock(k); perform 1 / 0; exception when division_by_zero then null; end $$;
create function take_dynamically(k bigint) returns void language plpgsql as
    $$ begin execute 'select pg_adv' || 'isory_lock($1)' using k; end $$;
create function so_called_immutable(k bigint) returns bigint language plpgsql immutable as
    $$ begin perform pg_advisory_lock(k); return k; end $$;
create function so_called_stable(k bigint) returns bigint language plpgsql stable as
    $$ begin perform pg_advisory_lock(k); return k; end $$;
create function looked_at(k bigint) returns refcursor language plpgsql as
    $$ declare c refcursor := 'looked_at'; begin open c for select got(k); return c; end $$;
create procedure take_and_commit(k bigint) language plpgsql as
    $$ begin commit; perform pg_advisory_lock(k); commit; perform 1; end $$;
create procedure accept(b bool) language plpgsql as $$ begin null; end $$;
create function on_row() returns trigger language plpgsql as
    $$ begin perform pg_advisory_lock(coalesce(new.id, old.id)); return coalesce(new, old); end $$;
create function on_statement() returns trigger language plpgsql as
    $$ begin perform pg_advisory_lock(tg_argv[0]::bigint); return null; end $$;
create table watched(id bigint unique);
create trigger watch before insert on watched for each row execute function on_row();
create table followed(id bigint);
create trigger follow after insert on followed for each row execute function on_row();
create table late(id bigint);
create constraint trigger later after insert on late deferrable initially deferred
    for each row execute function on_row();
create table parent(id bigint primary key);
create table child(id bigint references parent on delete cascade);
create trigger gone before delete on child for each row execute function on_row();
create table parts(id bigint) partition by range (id);
create table part partition of parts default;
create trigger watch before insert on part for each row execute function on_row();
create table three(id bigint);
insert into three values (1), (2), (3);
create schema elsewhere;
create function elsewhere.pg_advisory_lock(k bigint) returns void language sql as
    $$ select pg_catalog.pg_advisory_lock(k) $$;
"""


class Way:
    def __init__(self, name, seen, steps, setup, superuser, pair):
        self.name, self.seen = name, seen
        self.key = 12001 + len(WAYS)
        self.steps = [self.fill(s) if isinstance(s, str) else s for s in steps]
        self.setup, self.superuser = self.fill(setup), self.fill(superuser)
        self.lock = "7,%d" % self.key if pair else str(self.key)
        self.in_block = any(isinstance(s, str) and s.startswith("begin") for s in self.steps)

    def fill(self, text):
        return text.replace("KEY", str(self.key))

    def run(self, conn):
        for step in self.steps:
            if isinstance(step, str):
                conn.simple(step)
            else:
                step(conn, self.key)

    def __repr__(self):
        return self.name


WAYS = []


def way(name, seen, *steps, setup="", superuser="", pair=False):
    WAYS.append(Way(name, seen, steps, setup, superuser, pair))


def sends(wanted, *messages):
    """A step: messages (functions of the key), and the types of what comes back."""
    def step(conn, key):
        conn.send(*[m(key) if callable(m) else m for m in messages])
        answers = conn.until()
        assert rawpg.types(answers) == wanted, [rawpg.fields(m.body) for m in answers if m.type == "E"]
    return step


def parsed(sql, name="", oids=()):
    return lambda key: rawpg.parse(name, sql.replace("KEY", str(key)), oids)


def call_of(function):
    """FunctionCall of a function of ours, by the OID that it has."""
    def step(conn, key):
        oid = int(conn.simple("select '%s(bigint)'::regprocedure::oid" % function)[0][0])
        conn.send(rawpg.function_call(oid, [rawpg.int8(key)]))
        assert rawpg.types(conn.until()) == "VZ"
    return step


def copied_in(sql):
    def step(conn, key):
        conn.send(rawpg.query(sql))
        assert conn.until("G")
        conn.send(rawpg.copy_data(b"%d\n" % key), rawpg.copy_done())
        assert rawpg.types(conn.until()) == "CZ"
    return step


def copied_out(sql):
    return sends("HdcCZ", lambda key: rawpg.query(sql.replace("KEY", str(key))))


PLAIN = "select pg_advisory_lock(KEY)"
TRY = "pg_try_advisory_lock(KEY)"

# --- seen at once, from the answer

way("a call", ANSWER, PLAIN)
way("a try", ANSWER, "select pg_try_advisory_lock(KEY)")
way("a shared call", ANSWER, "select pg_advisory_lock_shared(KEY)")
way("a shared try", ANSWER, "select pg_try_advisory_lock_shared(KEY)")
way("a pair of int4", ANSWER, "select pg_advisory_lock(7, KEY)", pair=True)
way("a try of a pair", ANSWER, "select pg_try_advisory_lock(7, KEY)", pair=True)
way("a qualified name", ANSWER, "select pg_catalog.pg_advisory_lock(KEY)")
way("a quoted name", ANSWER, 'select "pg_catalog"."pg_advisory_lock"(KEY)')
way("a name in any case among comments", ANSWER, "/* a */ Select Pg_Advisory_LOCK /* b */ (KEY) -- c")
way("a name in Unicode escapes", ANSWER, 'select U&"pg_adv\\0069sory_lock"(KEY)')
way("a result cast to text", ANSWER, "select pg_advisory_lock(KEY)::text")
way("a call with an alias among constants", ANSWER, "select 1, pg_try_advisory_lock(KEY) as got, 'x'")
way("a call among several statements", ANSWER, "select 1; select pg_advisory_lock(KEY); select 2")
way("a transaction that is committed", ANSWER, "begin", PLAIN, "commit")
way("a transaction that is rolled back", ANSWER, "begin", PLAIN, "rollback")
way("a savepoint that is rolled back", ANSWER, "begin", "savepoint s", PLAIN, "rollback to s", "commit")
way("a chain of transactions", ANSWER, "begin", PLAIN, "commit and chain", "rollback")
way("a transaction that is prepared", ANSWER,
    "begin", PLAIN, "prepare transaction 'way KEY'", "rollback prepared 'way KEY'")
way("a parameter as text", ANSWER,
    sends("12DCZ", parsed("select pg_advisory_lock($1)"), lambda key: rawpg.bind(params=[str(key)]), rawpg.execute(),
          rawpg.sync()))
way("a parameter in binary", ANSWER,
    sends("12DCZ", parsed("select pg_advisory_lock($1)", oids=[20]),
          lambda key: rawpg.bind(params=[rawpg.int8(key)], param_formats=[1]), rawpg.execute(), rawpg.sync()))
way("a statement prepared by the protocol", ANSWER,
    sends("1Z", parsed("select pg_advisory_lock($1)", "mine"), rawpg.sync()),
    sends("2DCZ", lambda key: rawpg.bind("", "mine", [str(key)]), rawpg.execute(), rawpg.sync()))
way("FunctionCall", ANSWER, sends("VZ", lambda key: rawpg.function_call(2880, [rawpg.int8(key)])))
way("FunctionCall of the shared try", ANSWER, sends("VZ", lambda key: rawpg.function_call(2883, [rawpg.int8(key)])))

# --- the text shows that something may lock

way("FROM", TEXT, "select 1 from pg_advisory_lock(KEY)")
way("ROWS FROM", TEXT, "select * from rows from (pg_advisory_lock(KEY), generate_series(1, 2))")
way("LATERAL", TEXT, "select 1 from three t, lateral pg_try_advisory_lock(KEY) got where t.id = 1")
way("WHERE", TEXT, "select id from three where id = 2 and pg_try_advisory_lock(KEY)")
way("WHERE of what it does not return", TEXT, "select id from three where pg_try_advisory_lock(KEY) is false")
way("ORDER BY", TEXT, "select id from three order by pg_try_advisory_lock(KEY)")
way("LIMIT", TEXT, "select 1 limit pg_try_advisory_lock(KEY)::int")
way("OFFSET over it", TEXT, "select pg_try_advisory_lock(KEY) offset 1")
way("GROUP BY and HAVING", TEXT, "select id from three group by id having pg_try_advisory_lock(KEY)")
way("an aggregate's argument", TEXT, "select bool_and(pg_try_advisory_lock(KEY)) from three")
way("a window function's argument", TEXT, "select lag(pg_try_advisory_lock(KEY)) over () from three")
way("TABLESAMPLE", TEXT, "select count(*) from three tablesample bernoulli (100 * pg_try_advisory_lock(KEY)::int)")
way("CASE", TEXT, "select case when pg_try_advisory_lock(KEY) then 1 else 2 end")
way("a sub-select", TEXT, "select (select pg_try_advisory_lock(KEY))")
way("EXISTS", TEXT, "select exists (select 1 from pg_advisory_lock(KEY))")
way("UNION", TEXT, "select false union all select pg_try_advisory_lock(KEY)")
way("VALUES", TEXT, "values (1, pg_try_advisory_lock(KEY))")
way("WITH", TEXT, "with l as materialized (select pg_try_advisory_lock(KEY) as got) select got from l")
way("WITH RECURSIVE", TEXT, "with recursive l(n) as (select 1 union all select n + 1 from l where n < 3 and "
    "pg_try_advisory_lock(KEY)) select count(*) from l")
way("a set-returning function beside it", TEXT, "select pg_advisory_lock(KEY), unnest('{}'::int[])")
way("a computed key", TEXT, "select pg_advisory_lock(length('xx') + KEY - 2)")
way("a key from a row", TEXT, "select pg_advisory_lock(id + KEY - 1) from three where id = 1")
way("an argument of another function", TEXT, "select set_config('way.got', pg_try_advisory_lock(KEY)::text, false)")
way("an argument of CALL", TEXT, "call accept(pg_try_advisory_lock(KEY))")
way("INSERT VALUES", TEXT,
    "insert into flag_KEY values (pg_try_advisory_lock(KEY))", setup="create table flag_KEY(b bool)")
way("INSERT SELECT", TEXT,
    "insert into flag_KEY select pg_try_advisory_lock(KEY)", setup="create table flag_KEY(b bool)")
way("RETURNING", TEXT, "update three set id = id where id = 1 returning pg_try_advisory_lock(KEY)")
way("ON CONFLICT", TEXT, "insert into flag_KEY values (1) on conflict (n) do update set b = pg_try_advisory_lock(KEY)",
    setup="create table flag_KEY(n int primary key, b bool); insert into flag_KEY values (1)")
way("UPDATE SET", TEXT, "update flag_KEY set b = pg_try_advisory_lock(KEY)",
    setup="create table flag_KEY(b bool); insert into flag_KEY values (null)")
way("DELETE WHERE", TEXT, "delete from three where pg_try_advisory_lock(KEY) is null")
way("MERGE", TEXT, "merge into three t using (select 1 as id) s on t.id = s.id "
    "when matched and pg_try_advisory_lock(KEY) then do nothing")
way("CREATE TABLE AS", TEXT,
    "drop table if exists made_KEY; create table made_KEY as select pg_try_advisory_lock(KEY) as got")
way("SELECT INTO", TEXT, "drop table if exists made_KEY; select pg_try_advisory_lock(KEY) as got into made_KEY")
way("CREATE MATERIALIZED VIEW", TEXT, "drop materialized view if exists made_KEY; "
    "create materialized view made_KEY as select pg_try_advisory_lock(KEY) as got")
way("ALTER TABLE with a default", TEXT,
    "alter table three_KEY add b bool default pg_try_advisory_lock(KEY), drop if exists a; "
    "alter table three_KEY rename b to a", setup="create table three_KEY(n int); insert into three_KEY values (1)")
way("ALTER TABLE with USING", TEXT, "alter table flag_KEY alter b type bool using pg_try_advisory_lock(KEY)",
    setup="create table flag_KEY(b bool); insert into flag_KEY values (true)")
way("ALTER TABLE with a check", TEXT, "alter table flag_KEY drop constraint if exists c, "
    "add constraint c check (b or pg_try_advisory_lock(KEY))",
    setup="create table flag_KEY(b bool); insert into flag_KEY values (false)")
way("a partition's bound", TEXT,
    "drop table if exists one_KEY; create table one_KEY partition of by_flag_KEY for values in "
    "(pg_try_advisory_lock(KEY))", setup="create table by_flag_KEY(b bool) partition by list (b)")
way("COPY of a query", TEXT, copied_out("copy (select pg_advisory_lock(KEY)) to stdout"))
way("COPY FROM with WHERE", TEXT, copied_in("copy three from stdin where pg_try_advisory_lock(id)"))
way("EXPLAIN ANALYZE", TEXT, "explain analyze select pg_advisory_lock(KEY)")
way("a cursor", TEXT, "begin", "declare c cursor for select pg_advisory_lock(KEY)", "fetch 1 from c", "commit")
way("a cursor WITH HOLD", TEXT, "declare held_KEY cursor with hold for select pg_advisory_lock(KEY)", "close held_KEY")
way("PREPARE and EXECUTE", TEXT,
    "prepare p_KEY(bigint) as select pg_advisory_lock($1); execute p_KEY(KEY); deallocate p_KEY")
way("EXECUTE alone", TEXT, "begin", "prepare p_KEY as select take(KEY)", "execute p_KEY", "deallocate p_KEY", "commit")
way("EXPLAIN ANALYZE EXECUTE", TEXT,
    "prepare p_KEY as select take(KEY); explain analyze execute p_KEY; deallocate p_KEY")
way("CREATE TABLE AS EXECUTE", TEXT, "drop table if exists made_KEY; prepare p_KEY as select got(KEY); "
    "create table made_KEY as execute p_KEY; deallocate p_KEY")
way("an argument of EXECUTE", TEXT,
    "prepare p_KEY(bool) as select $1; execute p_KEY(pg_try_advisory_lock(KEY)); deallocate p_KEY")
way("a DO block", TEXT, "do $$ begin perform pg_advisory_lock(KEY); end $$")
way("a DO block that commits", TEXT, "do $$ begin perform pg_advisory_lock(KEY); commit; perform 1; rollback; end $$")
way("a string that is run", TEXT, "do $$ begin execute 'select pg_' || 'advisory_lock(KEY)'; end $$")
way("a string handed to query_to_xml", TEXT,
    "select query_to_xml('select pg_try_advisory_lock(KEY) as got', true, true, '')")
way("a function of that name elsewhere", TEXT, "select elsewhere.pg_advisory_lock(KEY)")
way("a portal read in pieces", TEXT,
    sends("12DsZ", parsed("select pg_advisory_lock(KEY), generate_series(1, 3)"), rawpg.bind(), rawpg.execute(rows=1),
          rawpg.sync()))
way("a text of more than 256 KB", TEXT, "select pg_advisory_lock(KEY) /* %s */" % ("x" * 300000))
way("a text of more than 500 tokens", TEXT, "select pg_try_advisory_lock(KEY)" + ", 1" * 600)
# --- nothing shows it

way("a temporary function", CATALOGUE,
    "begin", "create or replace function pg_temp.take_KEY() returns void language sql as "
    "$$ select pg_advisory_lock(KEY) $$", "select pg_temp.take_KEY()", "commit")
way("a function", CATALOGUE, "select take(KEY)")
way("a function in a function", CATALOGUE, "select take_through_another(KEY)")
way("a function in SQL", CATALOGUE, "select take_in_sql(KEY)")
way("a function with an SQL body", CATALOGUE, "select take_atomic(KEY)")
way("a function with its owner's rights", CATALOGUE, "select take_as_owner(KEY)")
way("a function that catches its error", CATALOGUE, "select take_and_recover(KEY)")
way("a function in FROM", CATALOGUE, "select 1 from take(KEY)")
way("a default of an argument", CATALOGUE, "select by_default_KEY()",
    setup="create function by_default_KEY(b bool default pg_try_advisory_lock(KEY)) returns bool "
    "language sql as 'select b'")
way("a statement prepared for a function", CATALOGUE,
    sends("1Z", parsed("select take($1)", "mine"), rawpg.sync()),
    sends("2DCZ", lambda key: rawpg.bind("", "mine", [str(key)]), rawpg.execute(), rawpg.sync()))
way("FunctionCall of a function", TRUST, call_of("take"))
way("a procedure", CATALOGUE, "call take_quietly_KEY()",
    setup="create procedure take_quietly_KEY() language sql as 'select pg_advisory_lock(KEY)'")
way("a procedure that commits", CATALOGUE, "call take_and_commit(KEY)")
way("dynamic SQL in a function", TRUST, "select take_dynamically(KEY)")
way("dynamic SQL in a DO block", TRUST, "do $$ begin execute 'select pg_adv' || 'isory_lock(KEY)'; end $$")
way("dynamic SQL in query_to_xml", TRUST, "select query_to_xml('select pg_adv' || 'isory_lock(KEY)', true, true, '')")
way("dynamic SQL in ts_stat", TRUST, "select * from ts_stat('select to_tsvector(pg_adv' || 'isory_lock(KEY)::text)')")
way("dynamic SQL in ts_rewrite", TRUST,
    "select ts_rewrite('a'::tsquery, 'select ''a''::tsquery, ''b''::tsquery from pg_adv' || 'isory_lock(KEY)')")
way("a view", CATALOGUE, "select got from looking_KEY",
    setup="create view looking_KEY as select pg_try_advisory_lock(KEY) as got")
way("a materialized view", CATALOGUE, "refresh materialized view kept_KEY",
    setup="create materialized view kept_KEY as select pg_try_advisory_lock(KEY) as got with no data")
way("COPY of a view", CATALOGUE, copied_out("copy (select got from looking_KEY) to stdout"),
    setup="create view looking_KEY as select pg_try_advisory_lock(KEY) as got")
way("CREATE TABLE AS of a function", CATALOGUE,
    "drop table if exists made_KEY; create table made_KEY as select got(KEY) as got")
way("EXPLAIN ANALYZE of a function", CATALOGUE, "explain analyze select take(KEY)")
way("a rule", CATALOGUE, "insert into ruled_KEY values (1)", setup="create table ruled_KEY(id bigint); "
    "create rule also as on insert to ruled_KEY do also select pg_try_advisory_lock(KEY)")
way("a trigger", CATALOGUE, "insert into watched values (KEY) on conflict do nothing")
way("a trigger behind a row", CATALOGUE, "insert into followed values (KEY)")
way("a trigger by MERGE", CATALOGUE, "merge into watched t using (select KEY as id) s on t.id = s.id and false "
    "when not matched then insert values (s.id)", "delete from watched")
way("a trigger by COPY", CATALOGUE, copied_in("copy followed from stdin"))
way("a trigger of a partition", CATALOGUE, "insert into parts values (KEY)")
way("a trigger of a statement", CATALOGUE,
    "update three_KEY set id = 1 where false", setup="create table three_KEY(id bigint); "
    "create trigger told after update on three_KEY for each statement execute function on_statement('KEY')")
way("a trigger of TRUNCATE", CATALOGUE, "truncate emptied_KEY", setup="create table emptied_KEY(id bigint); "
    "create trigger told after truncate on emptied_KEY for each statement execute function on_statement('KEY')")
way("a trigger instead of a view's row", CATALOGUE, "insert into shown_KEY values (KEY)",
    setup="create view shown_KEY as select 1::bigint as id; "
    "create trigger told instead of insert on shown_KEY for each row execute function on_row()")
way("a trigger by a cascade", TRUST, "insert into parent values (KEY); insert into child values (KEY)",
    "delete from parent where id = KEY")
way("a deferred trigger at COMMIT", CATALOGUE, "begin", "insert into late values (KEY)", "commit")
way("a deferred trigger at the end of a statement", CATALOGUE, "insert into late values (KEY)")
way("a deferred trigger at Sync", CATALOGUE,
    sends("12CZ", parsed("insert into late values (KEY)"), rawpg.bind(), rawpg.execute(), rawpg.sync()))
way("a deferred trigger that is called for", CATALOGUE,
    "begin", "insert into late values (KEY)", "set constraints all immediate",
    "commit")
way("a default", CATALOGUE, "insert into filled_KEY(id) values (1)",
    setup="create table filled_KEY(id bigint, b bool default pg_try_advisory_lock(KEY))")
way("a generated column", CATALOGUE, "insert into generated_KEY values (KEY)",
    setup="create table generated_KEY(id bigint, g bigint generated always as (so_called_immutable(id)) stored)")
way("a check", CATALOGUE, "insert into checked_KEY values (1)",
    setup="create table checked_KEY(id bigint, check (pg_try_advisory_lock(KEY)))")
way("a domain's check", CATALOGUE, "select 1::domain_KEY", setup="create domain domain_KEY as int check (got(KEY))")
way("an index on an expression", CATALOGUE, "insert into indexed_KEY values (KEY)",
    setup="create table indexed_KEY(id bigint); create index on indexed_KEY(so_called_immutable(id))")
way("an index's condition", CATALOGUE, "insert into indexed_KEY values (KEY)",
    setup="create table indexed_KEY(id bigint); create index on indexed_KEY(id) where so_called_immutable(id) > 0")
way("REINDEX", TRUST, "reindex table indexed_KEY", setup="create table indexed_KEY(id bigint); "
    "insert into indexed_KEY values (KEY); create index on indexed_KEY(so_called_immutable(id))")
way("CREATE INDEX", CATALOGUE, "create index on indexed_KEY(so_called_immutable(id))",
    setup="create table indexed_KEY(id bigint); insert into indexed_KEY values (KEY)")
way("ANALYZE of an expression", TRUST, "analyze measured_KEY", setup="create table measured_KEY(id bigint, n int); "
    "insert into measured_KEY values (KEY, 1), (KEY, 2); create statistics st_KEY on (so_called_immutable(id)), n "
    "from measured_KEY")
way("a row's policy", CATALOGUE, "select count(*) from guarded_KEY", setup="create table guarded_KEY(id bigint); "
    "insert into guarded_KEY values (1); alter table guarded_KEY enable row level security, force row level security; "
    "create policy looks on guarded_KEY using (pg_try_advisory_lock(KEY))")
way("an operator", TRUST, "select KEY::bigint #! 1::bigint",
    setup="create function op_KEY(a bigint, b bigint) returns bool language plpgsql as 'begin return got(a); end'; "
    "create operator #! (leftarg = bigint, rightarg = bigint, function = op_KEY)")
way("a cast", TRUST, "select row(KEY)::boxed_KEY::bigint",
    setup="create type boxed_KEY as (id bigint); create function unbox_KEY(b boxed_KEY) returns bigint "
    "language plpgsql as 'begin perform take(b.id); return b.id; end'; "
    "create cast (boxed_KEY as bigint) with function unbox_KEY(boxed_KEY)")
way("an aggregate", CATALOGUE, "select taken_KEY(KEY) from three",
    setup="create function step_KEY(s bigint, n bigint) returns bigint language plpgsql as "
    "'begin perform take(n); return n; end'; create aggregate taken_KEY(bigint) (sfunc = step_KEY, stype = bigint)")
way("an order of one's own", TRUST, "select id from three order by id using <!!",
    setup="create function less_KEY(a bigint, b bigint) returns bool language plpgsql immutable as "
    "'begin perform take(KEY); return a < b; end'; "
    "create operator <!! (leftarg = bigint, rightarg = bigint, function = less_KEY); "
    "create function order_KEY(a bigint, b bigint) returns int language plpgsql immutable as "
    "'begin perform take(KEY); return a - b; end'",
    superuser="create operator class order_KEY for type bigint using btree as operator 1 <!!, "
    "operator 3 =, function 1 order_KEY(bigint, bigint)")
way("an event trigger", TRUST, "drop sequence if exists counted_KEY; create sequence counted_KEY",
    setup="create function on_event_KEY() returns event_trigger language plpgsql as 'begin perform take(KEY); end'",
    superuser="create event trigger on_event_KEY on ddl_command_end when tag in ('CREATE SEQUENCE') "
    "execute function on_event_KEY()")
way("a cursor over a function", CATALOGUE, "begin", "declare c cursor for select take(KEY)", "fetch 1 from c", "commit")
way("a cursor WITH HOLD over a function", CATALOGUE,
    "declare held_KEY cursor with hold for select take(KEY)", "close held_KEY")
way("a cursor that a function returns", CATALOGUE, "begin", "select looked_at(KEY)", "fetch all from looked_at", "commit")
way("a function that is folded by the planner", CATALOGUE, "explain select so_called_immutable(KEY)")
way("a function that the planner asks for an estimate", CATALOGUE,
    "explain select 1 from three where id = so_called_stable(KEY)")
way("a function that is folded at Bind", CATALOGUE,
    sends("12Z", parsed("select so_called_immutable(KEY)"), rawpg.bind(), rawpg.sync()))
