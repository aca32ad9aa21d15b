"""lockkeeper check-sql; and by it, that what policy rewrite makes of a text looks the same to PostgreSQL's client."""
import json
import subprocess

import pytest
from psycopg import pq

from harness import run_as


def check(binary, sql, *flags):
    sql = sql if isinstance(sql, bytes) else sql.encode()
    return subprocess.run(run_as("KILL") + [binary, "check-sql", *flags], input=sql, capture_output=True)


def found(binary, sql, *flags):
    """The findings, and the exit status."""
    done = check(binary, sql, "--json", *flags)
    assert done.stderr == b"", done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode


# Each is described by PostgreSQL as it is and as rewrite makes it.
SHAPES = [
    "select pg_advisory_lock(660001)",
    "select pg_advisory_lock(-660001) as mine",
    "select pg_advisory_lock($1)",
    "select pg_advisory_lock($1::int)",
    "select pg_advisory_lock($1::smallint::bigint) x",
    "select pg_advisory_lock('660001')",
    "select pg_advisory_lock(NULL)",
    "select pg_advisory_lock($1, $2)",
    "select pg_advisory_lock($2, $1::int2)",
    "select pg_advisory_lock(660001)::text",
    "select cast(pg_advisory_lock($1) as text)",
    "select pg_advisory_lock_shared($1), pg_try_advisory_lock_shared($2)",
    "select pg_try_advisory_lock(660001)",
    "select pg_try_advisory_lock($1)::bool",
    "select (pg_try_advisory_lock($1))::int",
    "select pg_try_advisory_lock($1)::text",
    "select CAST(pg_try_advisory_lock($1, -7) AS pg_catalog.int4)",
    "select pg_try_advisory_lock_shared($1, 3)::boolean as \"Is it\"",
    "select 1, 'é', $2, pg_try_advisory_lock($1), null, $1",
    "(select pg_try_advisory_lock(660001))",
    "select\"pg_advisory_lock\"($1)",
    "select/* a */PG_CATALOG . \"pg_try_advisory_lock\" -- (\n ( /* ) */ $1 /* , */ ) -- c",
    "select U&\"!0070g_advisory_lock\" UESCAPE '!' ($1)",
    "select pg_advisory_unlock(660001)",
    "select pg_advisory_unlock($1)",
    "select pg_advisory_unlock($1)as u",
    "select pg_advisory_unlock($1::int4)",
    "select pg_advisory_unlock($1)::text",
    "select pg_advisory_unlock_shared($1, $2)::int4",
    "select cast((pg_advisory_unlock_shared($2, $1)) as bool)",
    "select pg_advisory_unlock($1), $1, $2",
    "select pg_advisory_unlock($1) a, pg_try_advisory_lock($2) b, pg_advisory_unlock($1)",
    "select pg_try_advisory_lock($1, 2), pg_advisory_unlock($1)",
    "select pg_advisory_unlock($2)::text\"x\", $1",
]


def described(conn, sql, types=()):
    """What Parse and Describe tell of a text: parameters and columns; or the error."""
    done = conn.prepare(b"", sql.encode(), types)
    if done.status != pq.ExecStatus.COMMAND_OK:
        return done.error_field(pq.DiagnosticField.SQLSTATE)
    d = conn.describe_prepared(b"")
    return ([d.param_type(i) for i in range(d.nparams)],
            [(d.fname(i), d.ftype(i), d.fmod(i), d.fsize(i), d.ftable(i)) for i in range(d.nfields)])


def declared(finding, count=16):
    types = [finding["declare"].get("$%d" % (i + 1), 0) for i in range(count)]
    while types and types[-1] == 0:
        types.pop()
    return types


@pytest.mark.parametrize("sql", SHAPES)
def test_a_rewritten_text_has_the_same_columns_and_parameters(pg, binary, sql):
    [finding], _ = found(binary, sql, "--policy=rewrite", "--transaction")
    assert finding["effect"] == "rewrite" and finding["becomes"] != sql
    with pg.connect() as conn:
        before = described(conn.pgconn, sql)
        assert isinstance(before, tuple), before
        assert described(conn.pgconn, finding["becomes"], declared(finding)) == before


def test_a_rewritten_text_locks_for_the_transaction_and_answers_the_same(pg, binary):
    shapes = [
        ("select pg_advisory_lock(660002), pg_try_advisory_lock(660003)::text, pg_try_advisory_lock(660004, -4)::int", 3),
        ("select pg_advisory_lock_shared(660002) a, pg_try_advisory_lock_shared(660003) b", 2),
        ("select pg_advisory_lock(660002)::text, pg_advisory_unlock(660002), pg_advisory_unlock(660002)::int", 1),
        ("select pg_advisory_lock(NULL), pg_try_advisory_lock(NULL, 1)", 0),
    ]
    for sql, locks in shapes:
        [finding], status = found(binary, sql, "--policy=rewrite", "--transaction")
        assert status == 0
        with pg.connect() as conn:
            held = "select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()"
            before = conn.execute(sql if "unlock" not in sql else "select '', true, 1")
            values = before.fetchall()
            conn.execute("select pg_advisory_unlock_all()")
            conn.execute("begin")
            after = conn.execute(finding["becomes"])
            assert after.fetchall() == values
            if "unlock" not in sql:
                assert [(c.name, c.type_code) for c in after.description] == [(c.name, c.type_code) for c in before.description]
            assert conn.execute(held).fetchone()[0] == locks
            conn.execute("commit")
            assert conn.execute(held).fetchone()[0] == 0


def test_statements_are_told_with_line_calls_and_keys(binary):
    told, status = found(binary, "-- a script\nselect 1;\nselect pg_advisory_lock(42), pg_try_advisory_lock_shared($2, -7);\n"
                                 "\n  insert into t values (';');select pg_advisory_unlock_all()")
    assert status == 0
    assert [(f["line"], f["effect"], f["exact"]) for f in told] == [(3, "pin", True), (5, "pass", True)]
    assert told[0]["calls"] == [
        {"function": "pg_advisory_lock", "space": "bigint", "key": "42", "mode": "exclusive", "column": 0},
        {"function": "pg_try_advisory_lock_shared", "space": "int4pair", "key": "$2,-7", "mode": "shared", "column": 1}]
    assert told[1]["statement"] == "select pg_advisory_unlock_all()"


@pytest.mark.parametrize("sql, why, calls", [
    ("select pg_try_advisory_lock(id) from t", "a shape or a key that the answer does not tell", ["pg_try_advisory_lock"]),
    ("select mine.pg_advisory_lock(1)", "a function of such a name in another schema", []),
    ("do 'begin perform pg_advisory_lock(1); end'", "a string that speaks of session locks", []),
    ("execute p(1)", "EXECUTE of a statement whose text is not here", []),
    ("select pg_advisory_lock(0x10)", "PostgreSQL 15's grammar does not know it", []),
    pytest.param("select pg_advisory_lock(1)" + ", 1" * 300, "it has more than 500 tokens", [], id="tokens"),
    pytest.param("select /* " + "x" * 300000 + " */ pg_advisory_lock(1)", "it is longer than 256 KB", [], id="length"),
])
def test_an_unsure_touch_is_told_with_its_reason(binary, sql, why, calls):
    [finding], status = found(binary, sql)
    assert status == 2 and finding["touch"] and not finding["exact"] and finding["effect"] == "probe"
    assert finding["why"] == [why] and [c["function"] for c in finding["calls"]] == calls


SCRIPT = """begin;
select pg_advisory_lock(1);
select pg_advisory_unlock(1);
with a as (select pg_advisory_lock(2)) select from a;
commit;
select pg_advisory_lock(3);
do 'begin perform pg_advisory_lock(4); end';
"""


@pytest.mark.parametrize("policy, effects", [
    ("pin", ["pin", "pass", "probe", "pin", "probe"]),
    ("release", ["release", "pass", "release", "release", "release"]),
    ("rewrite", ["rewrite", "rewrite", "fallback", "fallback", "fallback"]),
    ("reject", ["reject", "pass", "reject", "reject", "unseen"]),
    ("observe", ["observe", "pass", "observe", "observe", "observe"]),
])
def test_each_policy_says_what_it_would_do(binary, policy, effects):
    told, status = found(binary, SCRIPT, "-p", policy)
    assert [f["effect"] for f in told] == effects
    assert {f["policy"] for f in told} == {policy} and status == 2


def test_lints_are_told_where_the_script_has_no_transaction_block(binary):
    lock = "select pg_advisory_xact_lock(1);"
    for sql, flags, lints in (
            (lock, (), [["xact_lock_in_autocommit"]]),
            (lock, ("-t",), []),
            ("begin isolation level serializable; %s rollback to a; %s commit; %s" % (lock, lock, lock), (),
             [["xact_lock_in_autocommit"]]),
            ("begin; commit and chain; %s commit and no chain; %s" % (lock, lock), (), [["xact_lock_in_autocommit"]]),
            ("begin; prepare transaction 'a'; %s begin; commit prepared 'a'; %s" % (lock, lock), (),
             [["xact_lock_in_autocommit"]]),
            ("set lock_timeout = 1; select pg_advisory_lock(hashtext(a)) from t limit 1", (),
             [["session_timeout"], ["lock_call_under_limit", "hashtext_key"]])):
        told, status = found(binary, sql, *flags)
        assert [f["lints"] for f in told] == lints, sql
        assert status == (2 if lints else 0)


def test_keys_that_a_script_takes_in_both_spaces_or_on_both_levels_are_told_where_it_becomes_so(binary):
    for sql, lints in (
            ("select pg_advisory_lock(4294967298); select pg_advisory_lock(1, 2); select pg_advisory_lock(1, 2)",
             {2: ["both_key_spaces"]}),
            ("begin; select pg_advisory_xact_lock(7);\ncommit; select pg_try_advisory_lock(7) from t",
             {4: ["both_levels"]}),
            ("select pg_advisory_lock(0, 7), pg_advisory_lock(7);\n"
             "select x from t where pg_try_advisory_xact_lock_shared(7)", {1: ["both_key_spaces"], 2: ["both_levels"]}),
            ("select pg_advisory_lock(7); select pg_advisory_xact_lock(8), f(); select pg_advisory_unlock(8)", {}),
            ("select pg_advisory_lock($1); select pg_advisory_xact_lock($1), f()", {}),
            ("select pg_advisory_xact_lock(7), f(); prepare p as select pg_advisory_lock(7)", {})):
        statements = [s.strip() for s in sql.split(";")]
        told, status = found(binary, sql)
        assert {statements.index(f["statement"]) + 1: f["lints"] for f in told if f["lints"]} == lints, sql


def test_functions_that_will_lock_are_told(binary):
    [finding], status = found(binary, "create procedure s.\"Take it\"() begin atomic select case when true then 1 end; "
                                      "select pg_advisory_lock(1); end; select 1")
    assert finding["creates"] == ["Take it"] and not finding["touch"] and status == 0
    assert finding["statement"].endswith("end")


def test_plain_output_tells_the_same_and_sums_up(binary):
    done = check(binary, "begin; select pg_advisory_lock(42);\nselect\n\tpg_advisory_unlock($1); commit;\nset lock_timeout = 0",
                 "--policy", "rewrite")
    assert done.returncode == 2
    assert done.stdout.decode().splitlines() == [
        "line 1: select pg_advisory_lock(42)",
        "    call    pg_advisory_lock(42), bigint, exclusive",
        "    sure    exact: the answer tells",
        "    rewrite rewrite: its locks end with the transaction; unlocking such a lock is true",
        "    becomes select pg_catalog.pg_advisory_xact_lock(42) AS pg_advisory_lock",
        "line 2: select pg_advisory_unlock($1)",
        "    call    pg_advisory_unlock($1), bigint, exclusive",
        "    sure    exact: the answer tells",
        "    rewrite rewrite: its locks end with the transaction; unlocking such a lock is true",
        "    becomes select true AS pg_advisory_unlock",
        "line 4: set lock_timeout = 0",
        "    lint    session_timeout: lock_timeout and statement_timeout set without LOCAL stay with the server connection, "
        "not with the client",
        "statements 5, touching session locks 2, of them unsure 0, lints 1"]


def test_any_bytes_can_be_checked(binary):
    told, status = found(binary, b"select pg_advisory_lock(1), '\xff\x1b[2J'; select '\x00advisory'")
    assert told[0]["statement"] == "select pg_advisory_lock(1), '\ufffd\x1b[2J'" and told[0]["exact"]
    assert told[1]["statement"] == "select '\x00advisory'" and not told[1]["exact"] and status == 2
    shown = check(binary, b"select pg_advisory_lock(1), '\x1b[2J'").stdout
    assert b"\x1b" not in shown and b"?[2J" in shown
    assert found(binary, "") == ([], 0)
    assert found(binary, " ;; -- nothing") == ([], 0)


def test_wrong_usage_is_status_1(binary):
    for flags in (("--policy=never",), ("--nonsense",), ("file.sql",), ("-p",)):
        done = check(binary, "select 1", *flags)
        assert done.returncode == 1 and done.stdout == b"" and done.stderr
    assert b"--policy" in check(binary, "", "--help").stdout
