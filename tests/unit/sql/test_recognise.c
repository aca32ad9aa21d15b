#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sql/recognise.h"
#include "unit/sql/describe.h"

struct row {
    const char *sql;
    const char *plan;
};

static void
check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char got[1024];
        struct lk_recognised r = lk_recognise(lk_span_str(rows[i].sql));
        describe(r.plan, got, sizeof(got));
        lk_recognised_clear(&r);
        if (strcmp(got, rows[i].plan) != 0)
            fail_msg("%s\n  gave     %s\n  expected %s", rows[i].sql, got, rows[i].plan);
    }
}

static void
calls_of_the_white_list_are_exact(void **state)
{
    static const struct row rows[] = {
        {"SELECT pg_advisory_lock(72707369)", "exact/1 0:pg_advisory_lock(72707369):void"},
        {"select pg_try_advisory_lock($1) AS locked", "exact/1 0:pg_try_advisory_lock($1):bool"},
        {"SELECT pg_advisory_unlock($1);", "exact/1 0:pg_advisory_unlock($1):bool"},
        {"SELECT pg_advisory_lock_shared(5)", "exact/1 0:pg_advisory_lock_shared(5):void"},
        {"SELECT pg_try_advisory_lock_shared(5)", "exact/1 0:pg_try_advisory_lock_shared(5):bool"},
        {"SELECT pg_advisory_unlock_shared(5)", "exact/1 0:pg_advisory_unlock_shared(5):bool"},
        {"SELECT pg_advisory_unlock_all()", "exact/1 0:pg_advisory_unlock_all():void"},
        {"SELECT pg_advisory_unlock_all()::text AS unlocked", "exact/1 0:pg_advisory_unlock_all():text"},
        {"SELECT pg_try_advisory_lock(1, 0) AS t0123 /* a name (1) */", "exact/1 0:pg_try_advisory_lock(1,0):bool"},
        {"SELECT pg_advisory_lock($1,$2)", "exact/1 0:pg_advisory_lock($1,$2):void"},
        {"SELECT pg_advisory_lock($1, 9)", "exact/1 0:pg_advisory_lock($1,9):void"},
        {"select pg_advisory_lock(1)::text", "exact/1 0:pg_advisory_lock(1):text"},
        {"select CAST(pg_try_advisory_lock(1) AS integer)", "exact/1 0:pg_try_advisory_lock(1):int4"},
        {"select pg_try_advisory_lock(1)::boolean", "exact/1 0:pg_try_advisory_lock(1):bool"},
        {"SELECT 1, pg_try_advisory_lock($2), $1, 'x', null, pg_advisory_unlock(3) AS u",
            "exact/6 1:pg_try_advisory_lock($2):bool 5:pg_advisory_unlock(3):bool"},
        {"(SELECT pg_advisory_lock(1))", "exact/1 0:pg_advisory_lock(1):void"},
    };
    check_rows(rows, LK_COUNT(rows));
}

static void
names_are_found_in_any_spelling(void **state)
{
    static const struct row rows[] = {
        {"sElEcT Pg_AdVisory_LOCK(1)", "exact/1 0:pg_advisory_lock(1):void"},
        {"SELECT \"pg_advisory_lock\"(1)", "exact/1 0:pg_advisory_lock(1):void"},
        {"SELECT PG_CATALOG.\"pg_advisory_lock\"(1)", "exact/1 0:pg_advisory_lock(1):void"},
        {"SELECT/* a */pg_catalog /* /* b */ */ .\n pg_advisory_lock -- c\n ( /* d */ 1\t)",
            "exact/1 0:pg_advisory_lock(1):void"},
        {"-- name: Lock :exec\nSELECT pg_advisory_lock($1)", "exact/1 0:pg_advisory_lock($1):void"},
        {"SELECT pg_advisory_lock(1) -- 'repr' @ file.py:3", "exact/1 0:pg_advisory_lock(1):void"},
        {"SELECT U&\"\\0070g_advisory_lock\"(1)", "exact/1 0:pg_advisory_lock(1):void"},
        {"SELECT U&\"pg\\005fadvisor\\+000079_lock\"(1)", "exact/1 0:pg_advisory_lock(1):void"},
        {"SELECT U&\"!0070g_advisory_lock\" UESCAPE '!' (1)", "exact/1 0:pg_advisory_lock(1):void"},
        {"SELECT \"PG_ADVISORY_LOCK\"(1)", "none"},
        {"SELECT public.pg_advisory_lock(1)", "unsure"},
        {"SELECT public.pg_advisory_xact_lock(1)", "unsure"},
        {"SELECT shop.pg_catalog.pg_advisory_lock(1)", "unsure"},
    };
    check_rows(rows, LK_COUNT(rows));
}

static void
keys_are_constants_or_parameters_under_integer_casts(void **state)
{
    static const struct row rows[] = {
        {"select pg_advisory_lock(-1)", "exact/1 0:pg_advisory_lock(-1):void"},
        {"select pg_advisory_lock(+1)", "exact/1 0:pg_advisory_lock(1):void"},
        {"select pg_advisory_lock(- /* x */ 0)", "exact/1 0:pg_advisory_lock(0):void"},
        {"SELECT pg_try_advisory_lock(-8525285245963000605);",
            "exact/1 0:pg_try_advisory_lock(-8525285245963000605):bool"},
        {"SELECT pg_advisory_lock(9223372036854775807)", "exact/1 0:pg_advisory_lock(9223372036854775807):void"},
        {"SELECT pg_advisory_lock(-9223372036854775808)", "exact/1 0:pg_advisory_lock(-9223372036854775808):void"},
        {"SELECT pg_advisory_lock(9223372036854775808)", "unsure"},
        {"SELECT pg_advisory_lock(-9223372036854775809)", "unsure"},
        {"SELECT pg_advisory_lock(1.5)", "unsure"},
        {"SELECT pg_advisory_lock(1e3)", "unsure"},
        {"SELECT pg_advisory_lock($1::int8)", "exact/1 0:pg_advisory_lock($1:int8):void"},
        {"SELECT pg_advisory_lock($1::bigint)", "exact/1 0:pg_advisory_lock($1:int8):void"},
        {"SELECT pg_advisory_lock(CAST($1 AS smallint)::int8)", "exact/1 0:pg_advisory_lock($1:int2):void"},
        {"SELECT pg_advisory_lock($1::int8::int4, $2::int)", "exact/1 0:pg_advisory_lock($1:int8,$2:int4):void"},
        {"SELECT pg_advisory_lock(-1::bigint)", "exact/1 0:pg_advisory_lock(-1):void"},
        {"SELECT pg_advisory_lock((-1)::pg_catalog.int8)", "exact/1 0:pg_advisory_lock(-1):void"},
        {"SELECT pg_advisory_lock('12')", "exact/1 0:pg_advisory_lock(12):void"},
        {"SELECT pg_advisory_lock(' -12 '::bigint)", "exact/1 0:pg_advisory_lock(-12):void"},
        {"SELECT pg_advisory_lock('0x12')", "unsure"},
        {"SELECT pg_advisory_lock(NULL)", "exact/1 0:pg_advisory_lock(null):void"},
        {"SELECT pg_advisory_lock(NULL::int, 1)", "exact/1 0:pg_advisory_lock(null,1):void"},
        {"SELECT pg_advisory_lock(2147483647, -2147483648)", "exact/1 0:pg_advisory_lock(2147483647,-2147483648):void"},
        {"SELECT pg_advisory_lock(2147483648, 1)", "unsure"},
        {"SELECT pg_advisory_lock(1::bigint, 1)", "unsure"},
        {"SELECT pg_advisory_lock($1::bigint, 1)", "unsure"},
        {"SELECT pg_advisory_lock(70000::int2)", "unsure"},
        {"SELECT pg_advisory_lock(-(-32767::int2))", "exact/1 0:pg_advisory_lock(32767):void"},
        {"SELECT pg_advisory_lock(-32768::int2)", "unsure"},
        {"SELECT pg_advisory_lock(-((-32768)::int2))", "unsure"},
        {"SELECT pg_advisory_lock($1::text::bigint)", "unsure"},
        {"SELECT pg_advisory_lock($1::int[])", "unsure"},
        {"SELECT pg_advisory_lock($1::mine.int8)", "unsure"},
        {"SELECT pg_advisory_lock($1 + 1)", "unsure"},
        {"SELECT pg_advisory_lock(-$1)", "unsure"},
        {"SELECT pg_advisory_lock(hashtext('job'))", "unsure"},
        {"SELECT pg_advisory_lock(('x' || substr(md5($1::text), 1, 16))::bit(64)::bigint) AS locked", "unsure"},
        {"SELECT pg_try_advisory_lock('\"s\".\"t\"'::regclass::oid::int, (CASE WHEN $1 > 9 THEN 1 ELSE $1 END)::int)",
            "unsure"},
        {"SELECT pg_advisory_lock(key => 1)", "unsure"},
        {"SELECT pg_advisory_lock()", "unsure"},
        {"SELECT pg_advisory_lock(1, 2, 3)", "unsure"},
        {"SELECT pg_advisory_unlock_all(1)", "unsure"},
    };
    check_rows(rows, LK_COUNT(rows));
}

static void
other_shapes_of_a_session_call_are_unsure(void **state)
{
    static const struct row rows[] = {
        {"select pg_advisory_lock(id) from t", "unsure"},
        {"select pg_advisory_lock(1) from t", "unsure"},
        {"select pg_advisory_lock(1) where true", "unsure"},
        {"select pg_advisory_lock(1) limit 1", "unsure"},
        {"select pg_advisory_lock(1) offset 1", "unsure"},
        {"select distinct pg_advisory_lock(1)", "unsure"},
        {"select pg_advisory_lock(1) order by 1", "unsure"},
        {"select pg_advisory_lock(1) group by 1", "unsure"},
        {"select pg_advisory_lock(1) into t", "unsure"},
        {"select pg_advisory_lock(1) union all select pg_advisory_lock(2)", "unsure"},
        {"select pg_advisory_lock(5), generate_series(1, 10)", "unsure"},
        {"select pg_advisory_lock(5), now()", "unsure"},
        {"select pg_advisory_lock(5), 1/(select 0)", "unsure"},
        {"select pg_advisory_lock(5), pg_advisory_xact_lock(6)", "unsure"},
        {"select pg_advisory_lock(5), $1::text", "unsure"},
        {"select pg_try_advisory_lock(5) is true", "unsure"},
        {"select not pg_try_advisory_lock(5)", "unsure"},
        {"select pg_try_advisory_lock(5)::text::bool", "unsure"},
        {"select pg_try_advisory_lock(5)::varchar", "unsure"},
        {"select pg_advisory_lock(5)::bool", "unsure"},
        {"select pg_advisory_lock(5) filter (where true)", "unsure"},
        {"select pg_advisory_lock(variadic array[5])", "unsure"},
        {"select coalesce(pg_try_advisory_lock(5), true)", "unsure"},
        {"select case when false then pg_advisory_lock(5) end", "unsure"},
        {"select * from pg_advisory_lock(1)", "unsure"},
        {"select * from t, lateral pg_try_advisory_lock(t.id)", "unsure"},
        {"SELECT pg_advisory_unlock(v.i) FROM (VALUES (1),(2)) v(i)", "unsure"},
        {"SELECT pg_advisory_unlock(objid::bigint) FROM pg_locks WHERE locktype='advisory' AND objid=$1", "unsure"},
        {"VALUES (pg_advisory_lock(1))", "unsure"},
        {"with g as (select pg_try_advisory_lock(1) as ok) select ok from g", "unsure"},
        {"with recursive a as (select 1 union all select 2 from a where pg_try_advisory_lock(3)) table a", "unsure"},
        {"select id from job where pg_try_advisory_lock(id) order by id desc limit 1", "unsure"},
        {"select 1 order by pg_try_advisory_lock(5)", "unsure"},
        {"select (select pg_advisory_lock(1))", "unsure"},
        {"insert into t values (pg_try_advisory_lock(1))", "unsure"},
        {"update t set a = 1 where pg_try_advisory_lock(id) returning id", "unsure"},
        {"delete from t where pg_try_advisory_lock(id)", "unsure"},
        {"merge into t using s on pg_try_advisory_lock(s.id) when matched then delete", "unsure"},
        {"create table t as select pg_advisory_lock(1)", "unsure"},
        {"copy (select pg_advisory_lock(1)) to stdout", "unsure"},
        {"declare c cursor with hold for select pg_advisory_lock(id) from t", "unsure"},
        {"call p(pg_try_advisory_lock(1))", "unsure"},
        {"explain analyze select pg_advisory_lock(1)", "unsure"},
        {"explain (verbose, analyze on) select pg_advisory_lock(1)", "unsure"},
    };
    check_rows(rows, LK_COUNT(rows));
}

static void
statements_that_lock_nothing_for_a_session_are_no_touch(void **state)
{
    static const struct row rows[] = {
        {"SELECT pg_advisory_xact_lock($1)", "none"},
        {"SELECT pg_try_advisory_xact_lock(77442205) AS ok", "none"},
        {"SELECT pg_advisory_xact_lock_shared(1), pg_try_advisory_xact_lock_shared(1, 2)", "none"},
        {"SELECT pg_advisory_xact_lock(oid::bigint) FROM pg_roles WHERE rolname = $1", "none"},
        {"WITH g AS (SELECT pg_try_advisory_xact_lock(hashtext('q')) AS go) UPDATE t SET a = 1 FROM g WHERE go",
            "none"},
        {"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()", "none"},
        {"SELECT advisory, \"advisory lock\" FROM advisories AS advisory", "none"},
        {"INSERT INTO travel_advisory (id) VALUES (1)", "none"},
        {"SELECT 1 /* advisory pg_advisory_lock(1) */", "none"},
        {"SELECT my_advisory_lock(1)", "none"},
        {"SELECT U&\"caf\\00e9\" FROM t", "none"},
        {"CALL advisory_proc(1)", "none"},
        {"PREPARE p AS SELECT pg_advisory_lock($1)", "none"},
        {"EXPLAIN SELECT pg_advisory_lock(1)", "none"},
        {"EXPLAIN (ANALYZE false) SELECT pg_advisory_lock(1)", "none"},
        {"EXPLAIN (ANALYZE off, COSTS) SELECT pg_advisory_lock(1)", "none"},
        {"CREATE FUNCTION f() RETURNS void LANGUAGE sql AS 'select pg_advisory_lock(1)'", "none"},
        {"CREATE FUNCTION f() RETURNS void BEGIN ATOMIC SELECT pg_advisory_lock(1); END", "none"},
        {"CREATE VIEW v AS SELECT pg_advisory_lock(1)", "none"},
        {"CREATE RULE r AS ON INSERT TO t DO ALSO SELECT pg_advisory_lock(1)", "none"},
        {"COMMENT ON TABLE t IS 'takes pg_advisory_lock'", "none"},
        {"", "none"},
        {" ; ; ", "none"},
    };
    check_rows(rows, LK_COUNT(rows));
}

static void
a_function_that_locks_when_it_is_called_is_named(void **state)
{
    static const struct row rows[] = {
        {"CREATE FUNCTION f() RETURNS void LANGUAGE sql AS 'select pg_advisory_lock(1)'", "f"},
        {"create or replace procedure Shop.\"Take it\"() language plpgsql as $$begin perform pg_try_advisory_lock(1); "
         "end$$",
            "Take it"},
        {"CREATE FUNCTION Lock_It() RETURNS void BEGIN ATOMIC SELECT pg_advisory_lock(1); END", "lock_it"},
        {"create function f(a bool default pg_try_advisory_lock(1)) returns bool language sql return a", "f"},
        {"create function f() returns void language plpgsql as 'begin execute U&\"x\"; end'", "f"},
        {"create function a() returns void language sql as 'select pg_advisory_unlock(1)'; select 1; create procedure "
         "b() "
         "begin atomic select mine.pg_advisory_lock(1); end",
            "a b"},
        {"create function f() returns void language sql as 'select pg_advisory_xact_lock(1)'", ""},
        {"create function f() returns void begin atomic select pg_advisory_xact_lock(1); end", ""},
        {"create function take_advisory_lock(advisory int) returns int language sql as 'select 1'", ""},
        {"create view v as select pg_advisory_lock(1)", ""},
    };
    for (size_t i = 0; i < LK_COUNT(rows); i++) {
        struct lk_recognised r = lk_recognise(lk_span_str(rows[i].sql));
        char got[256] = "";
        for (size_t k = 0; r.creates && r.creates[k]; k++)
            put(got, sizeof(got), k > 0 ? " %s" : "%s", r.creates[k]);
        if (strcmp(got, rows[i].plan) != 0 || r.plan)
            fail_msg("%s\n  gave     %s\n  expected %s", rows[i].sql, got, rows[i].plan);
        lk_recognised_clear(&r);
    }
}

static void
what_was_found_is_told_for_unsure_statements_too(void **state)
{
    static const struct {
        const char *sql;
        unsigned finds;
        const char *functions;
    } rows[] = {
        {"with a as (select pg_try_advisory_lock(id) from t) select pg_advisory_xact_lock(1) from a",
            LK_FIND_LOCK | LK_FIND_XACT, "pg_try_advisory_lock pg_advisory_xact_lock"},
        {"select pg_advisory_unlock_shared(1), pg_advisory_unlock_all(), f()", LK_FIND_UNLOCK,
            "pg_advisory_unlock_shared pg_advisory_unlock_all"},
        {"select mine.pg_advisory_lock(1), 'pg_advisory_lock'", LK_FIND_FOREIGN | LK_FIND_STRING, ""},
        {"execute p", LK_FIND_EXECUTE, ""},
        {"do 'begin perform pg_advisory_lock(1); end'", LK_FIND_STRING, ""},
        {"select pg_advisory_lock(1)", LK_FIND_LOCK, "pg_advisory_lock"},
    };
    for (size_t i = 0; i < LK_COUNT(rows); i++) {
        struct lk_recognised r = lk_recognise(lk_span_str(rows[i].sql));
    struct lk_plan *plan = r.plan;
        assert_int_equal(plan->count, 1);
        char got[256] = "";
        for (unsigned k = 0; k < LK_FUNCTIONS; k++)
            if (plan->statements[0].functions & 1u << k)
                put(got, sizeof(got), got[0] ? " %s" : "%s", lk_function_at(k)->name);
        if (plan->statements[0].finds != rows[i].finds || strcmp(got, rows[i].functions) != 0)
            fail_msg("%s: %u %s", rows[i].sql, plan->statements[0].finds, got);
        lk_recognised_clear(&r);
    }
}

static void
the_word_in_a_string_is_an_unsure_touch(void **state)
{
    static const struct row rows[] = {
        {"DO $$ BEGIN PERFORM pg_advisory_lock(1); END $$", "unsure"},
        {"DO LANGUAGE plpgsql 'begin perform PG_TRY_ADVISORY_LOCK(1); end'", "unsure"},
        {"DO $$ BEGIN PERFORM pg_advisory_xact_lock(1); END $$", "none"},
        {"DO $$ BEGIN PERFORM pg_advisory_xact_lock(1); PERFORM pg_advisory_unlock(1); END $$", "unsure"},
        {"DO $$ BEGIN PERFORM U&\"\\0070g_advisor\\0079_lock\"(1); END $$", "unsure"},
        {"SELECT query_to_xml('select pg_advisory_lock(1)', true, true, '')", "unsure"},
        {"SELECT dblink_exec('x', E'select pg_advisory\\x5flock(1)')", "unsure"},
        {"SELECT pg_advisory_lock(1), 'advisory lock'", "unsure"},
        {"SELECT pg_advisory_lock(1), 'advisory'", "exact/2 0:pg_advisory_lock(1):void"},
        {"SELECT pid FROM pg_stat_activity WHERE query LIKE '%advisory%'", "unsure"},
        {"SELECT pid FROM pg_stat_activity WHERE query LIKE '%pg_advisory_xact_lock%'", "none"},
        {"SELECT 'pg_advisory_lock'::regproc", "unsure"},
    };
    check_rows(rows, LK_COUNT(rows));
}

static void
each_statement_of_a_text_has_its_own_plan(void **state)
{
    static const struct row rows[] = {
        {"BEGIN; SELECT pg_advisory_lock(1); COMMIT", "-; exact/1 0:pg_advisory_lock(1):void; -"},
        {"SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL;",
            "exact/1 0:pg_advisory_unlock_all():void; -; -; -"},
        {"SET SESSION AUTHORIZATION DEFAULT;RESET ALL;CLOSE ALL;UNLISTEN *;SELECT pg_advisory_unlock_all();select 1",
            "-; -; -; -; exact/1 0:pg_advisory_unlock_all():void; -"},
        {";;SELECT 1;;SELECT pg_try_advisory_lock(1,2);;", "-; exact/1 0:pg_try_advisory_lock(1,2):bool"},
        {"SELECT pg_advisory_xact_lock(8318549251334697844); CREATE TABLE t (i int)", "none"},
        {"SET a.b = 'advisory lock'; SELECT 1", "none"},
        {"EXECUTE p(1)", "unsure"},
        {"EXECUTE p; SELECT 1", "unsure; -"},
        {"CREATE TABLE advisory AS EXECUTE p", "unsure"},
        {"EXPLAIN ANALYZE EXECUTE p", "unsure"},
    };
    check_rows(rows, LK_COUNT(rows));
}

static void
what_cannot_be_parsed_is_one_unsure_touch(void **state)
{
    static const struct row rows[] = {
        {"SELECT pg_advisory_lock(0x10)", "unparsed"},
        {"SELECT pg_advisory_lock(1_000)", "unparsed"},
        {"SELECT pg_advisory_lock(?)", "unparsed"},
        {"SELECT pg_advisory_lock(", "unparsed"},
        {"SELEC pg_advisory_lock(1)", "unparsed"},
        {"SELECT pg_advisory_lock(1) 'open", "unparsed"},
        {"SELECT U&\"\\zzzz\"", "unparsed"},
    };
    check_rows(rows, LK_COUNT(rows));
}

static char *
repeat(const char *head, const char *unit, size_t n)
{
    size_t head_n = strlen(head), unit_n = strlen(unit);
    char *s = lk_mem_new(head_n + n * unit_n + 1);
    memcpy(s, head, head_n);
    for (size_t i = 0; i < n; i++)
        memcpy(s + head_n + i * unit_n, unit, unit_n);
    return s;
}

static void
texts_of_many_tokens_are_not_parsed(void **state)
{
    struct {
        const char *head, *unit;
        size_t n;
        bool parsed;
    } rows[] = {
        {"SELECT pg_advisory_lock(1)", ",1", 247, true}, /* 5 + 2 × 247 = 499 */
        {"SELECT pg_advisory_lock(1)", ",1", 248, false},
        {"SELECT pg_advisory_lock(1) + ", "- ", 600, false},
        {"SELECT pg_advisory_lock(1) + ", "-+", 400, false},
        {"SELECT pg_advisory_lock", "(select ", 100000, false},
        {"SELECT pg_advisory_lock", "(", 100000, false},
    };
    for (size_t i = 0; i < LK_COUNT(rows); i++) {
        char *sql = repeat(rows[i].head, rows[i].unit, rows[i].n);
        struct lk_recognised r = lk_recognise(lk_span_str(sql));
    struct lk_plan *plan = r.plan;
        assert_non_null(plan);
        assert_int_equal(plan->count, rows[i].parsed ? 1 : 0);
        lk_recognised_clear(&r);
        free(sql);
    }
}

/* The deepest texts that are parsed: the stack must hold them. */
static void
texts_nested_as_deep_as_tokens_allow_are_parsed(void **state)
{
    static const struct {
        const char *open, *inner, *close;
        size_t n;
        const char *plan;
    } rows[] = {
        {"(", "1", ")", 240, "exact/1 0:pg_advisory_lock(1):void"},
        {"(select ", "1", ")", 160, "unsure"},
        {"(case when true then ", "1", " end)", 70, "unsure"},
        {"- ", "1", "", 480, "exact/1 0:pg_advisory_lock(1):void"},
        {"", "1", "::int8", 160, "exact/1 0:pg_advisory_lock(1):void"},
        {"", "1", " + 1", 240, "unsure"},
        {"array[", "1", "]", 160, "unsure"},
        {"f(", "1", ")", 160, "unsure"},
        {"(select * from ", "t", " x)", 80, "unsure"},
        {"(with a as ", "(select 1)", " table a)", 60, "unsure"},
    };
    for (size_t i = 0; i < LK_COUNT(rows); i++) {
        char sql[8192] = "select pg_advisory_lock(", got[256];
        for (size_t k = 0; k < rows[i].n; k++)
            put(sql, sizeof(sql), "%s", rows[i].open);
        put(sql, sizeof(sql), "%s", rows[i].inner);
        for (size_t k = 0; k < rows[i].n; k++)
            put(sql, sizeof(sql), "%s", rows[i].close);
        put(sql, sizeof(sql), ")");
        struct lk_recognised r = lk_recognise(lk_span_str(sql));
    struct lk_plan *plan = r.plan;
        describe(plan, got, sizeof(got));
        if (strcmp(got, rows[i].plan) != 0)
            fail_msg("%s\n  gave     %s\n  expected %s", sql, got, rows[i].plan);
        lk_recognised_clear(&r);
    }
}

static void
a_text_with_a_nul_inside_is_not_parsed(void **state)
{
    static const char sql[] = "select 1\0; select pg_advisory_lock(1)";
    struct lk_recognised r = lk_recognise(lk_span_make(sql, sizeof(sql) - 1));
    struct lk_plan *plan = r.plan;
    assert_non_null(plan);
    assert_int_equal(plan->count, 0);
    lk_recognised_clear(&r);
}

static void *
recognise_often(void *failed)
{
    for (unsigned i = 0; i < 200; i++) {
        char got[256];
        struct lk_recognised r =
            lk_recognise(lk_span_str(i % 2 ? "select pg_advisory_lock(1)" : "select pg_advisory_lock(("));
        struct lk_plan *plan = r.plan;
        describe(plan, got, sizeof(got));
        lk_recognised_clear(&r);
        *(bool *)failed |= strcmp(got, i % 2 ? "exact/1 0:pg_advisory_lock(1):void" : "unparsed") != 0;
    }
    return NULL;
}

static void
threads_parse_at_the_same_time(void **state)
{
    pthread_t threads[4];
    bool failed[4] = {false};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, recognise_often, &failed[i]), 0);
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_false(failed[i]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_the_white_list_are_exact),
        cmocka_unit_test(names_are_found_in_any_spelling),
        cmocka_unit_test(keys_are_constants_or_parameters_under_integer_casts),
        cmocka_unit_test(other_shapes_of_a_session_call_are_unsure),
        cmocka_unit_test(statements_that_lock_nothing_for_a_session_are_no_touch),
        cmocka_unit_test(a_function_that_locks_when_it_is_called_is_named),
        cmocka_unit_test(what_was_found_is_told_for_unsure_statements_too),
        cmocka_unit_test(the_word_in_a_string_is_an_unsure_touch),
        cmocka_unit_test(each_statement_of_a_text_has_its_own_plan),
        cmocka_unit_test(what_cannot_be_parsed_is_one_unsure_touch),
        cmocka_unit_test(texts_of_many_tokens_are_not_parsed),
        cmocka_unit_test(texts_nested_as_deep_as_tokens_allow_are_parsed),
        cmocka_unit_test(a_text_with_a_nul_inside_is_not_parsed),
        cmocka_unit_test(threads_parse_at_the_same_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
