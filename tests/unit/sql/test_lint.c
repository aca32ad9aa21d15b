#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sql/analysis.h"
#include "sql/lint.h"

static const struct lk_hash_key KEY = {1, 2};

struct row {
    const char *sql;
    unsigned lints;
};

static void
check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct lk_analysis *a = lk_analysis_make(lk_span_str(rows[i].sql), (struct lk_sql_mode){true, true}, &KEY);
        unsigned got = a->lints;
        lk_analysis_unref(a);
        if (got != rows[i].lints)
            fail_msg("%s\n  gave %u, expected %u", rows[i].sql, got, rows[i].lints);
    }
}

static void
a_statement_that_only_takes_transaction_locks_is_told(void **state)
{
    static const struct row rows[] = {
        {"select pg_advisory_xact_lock(1)", LK_LINT_XACT_ALONE},
        {"-- name: Lock\nSELECT pg_catalog.pg_try_advisory_xact_lock_shared($1, $2)::text AS ok, 1;",
            LK_LINT_XACT_ALONE},
        {"select pg_advisory_xact_lock(md5(f())::bit(64)::bigint)", LK_LINT_XACT_ALONE},
        {"select pg_advisory_xact_lock(oid::bigint) from pg_roles where rolname = $1", LK_LINT_XACT_ALONE},
        {"select pg_advisory_xact_lock(1), work()", 0},
        {"select pg_advisory_xact_lock(1) from work()", 0},
        {"select mine.pg_advisory_xact_lock(1)", 0},
        {"select pg_advisory_xact_lock(1); select work()", 0},
        {"begin; select pg_advisory_xact_lock(1)", 0},
        {"with g as (select pg_try_advisory_xact_lock(1) as go) update t set a = 1 from g where go", 0},
        {"with w as (delete from t) select pg_advisory_xact_lock(1)", 0},
        {"select pg_advisory_lock(1)", 0},
        {"select pg_advisory_xact_lock(1), pg_advisory_lock(2)", 0},
        {"select 1 /* pg_advisory_xact_lock */", 0},
    };
    check_rows(rows, LK_COUNT(rows));
}

static void
a_lock_call_whose_rows_a_limit_cuts_is_told(void **state)
{
    static const struct row rows[] = {
        {"select pg_advisory_lock(id) from t limit 100", LK_LINT_LIMIT},
        {"select id from job where pg_try_advisory_lock(id) order by id desc limit 1", LK_LINT_LIMIT},
        {"select pg_try_advisory_xact_lock(id), x from t offset 3", LK_LINT_LIMIT},
        {"select * from (select pg_advisory_lock(id) from t) x fetch first 2 rows only", LK_LINT_LIMIT},
        {"update t set a = 1 where id in (select id from t where pg_try_advisory_lock(id) limit $1)", LK_LINT_LIMIT},
        {"select pg_advisory_lock(1) union all select pg_advisory_lock(2) limit 1", LK_LINT_LIMIT},
        {"select pg_advisory_lock(q.id) from (select id from t where id > 7 limit 100) q", 0},
        {"select pg_advisory_unlock(id) from t limit 100", 0},
        {"select pg_advisory_lock(1) limit 1", 0},
        {"select pg_advisory_lock(id) from t limit all", 0},
        {"select pg_advisory_lock(id) from t; select 1 from t limit 1", 0},
    };
    check_rows(rows, LK_COUNT(rows));
}

static void
a_key_of_32_hashed_bits_is_told(void **state)
{
    static const struct row rows[] = {
        {"select pg_advisory_lock(hashtext('job')::bigint)", LK_LINT_HASHTEXT},
        {"select pg_advisory_xact_lock(1, pg_catalog.hashtext($1)), work()", LK_LINT_HASHTEXT},
        {"select pg_advisory_unlock(hashtext('a' || $1))", LK_LINT_HASHTEXT},
        {"select pg_advisory_lock((hashtextextended('job', 0) & 2147483647)::int)", LK_LINT_HASHTEXT},
        {"select pg_advisory_lock(hashtextextended('job', 0))", 0},
        {"select pg_advisory_lock(hashtextextended(7::int::text, 0))", 0},
        {"select hashtext('advisory lock')", 0},
        {"select pg_advisory_lock(1), hashtext('x')", 0},
    };
    check_rows(rows, LK_COUNT(rows));
}

static void
a_time_out_that_is_set_for_the_session_is_told(void **state)
{
    static const struct row rows[] = {
        {"SET lock_timeout = '5s'", LK_LINT_SET_TIMEOUT},
        {"set /* x */ Statement_Timeout to 0;", LK_LINT_SET_TIMEOUT},
        {"SET SESSION lock_timeout TO DEFAULT", LK_LINT_SET_TIMEOUT},
        {"set lock_timeout = 1; select 1", LK_LINT_SET_TIMEOUT},
        {"begin; set lock_timeout = 1; select pg_advisory_xact_lock(1); commit", LK_LINT_SET_TIMEOUT},
        {"SET LOCAL lock_timeout = '5s'", 0},
        {"begin; set local lock_timeout = 1; select pg_advisory_xact_lock(1); commit", 0},
        {"begin; reset lock_timeout; select pg_advisory_xact_lock(1); commit", 0},
        {"set work_mem = '1GB'", 0},
        {"set lock_timeout", 0},
        {"set session", 0},
        {"set", 0},
        {"select lock_timeout from t", 0},
    };
    check_rows(rows, LK_COUNT(rows));
}

/* What a text takes with constant keys: "lock 5, try_shared 1,2", those of the transaction level with an x. */
static void
list_takings(const char *sql, char *out, size_t n)
{
    struct lk_analysis *a = lk_analysis_make(lk_span_str(sql), (struct lk_sql_mode){true, true}, &KEY);
    out[0] = 0;
    for (uint16_t i = 0; i < a->taking_count; i++) {
        const struct lk_taking *t = &a->takings[i];
        char key[LK_KEY_TEXT];
        lk_key_format(t->key, key);
        size_t at = strlen(out);
        (void)snprintf(out + at, n - at, "%s%s%s%s %s", at ? "; " : "", t->fn->xact ? "x" : "",
            t->fn->op == LK_CALL_TRY ? "try" : "lock", t->fn->mode == LK_MODE_SHARED ? "_shared" : "", key);
    }
    lk_analysis_unref(a);
}

static void
constant_keys_are_known_of_calls_that_are_executed(void **state)
{
    static const struct {
        const char *sql, *takings;
    } rows[] = {
        {"select pg_advisory_xact_lock(5)", "xlock 5"},
        {"select pg_catalog.pg_try_advisory_xact_lock_shared(-1, '2')", "xtry_shared -1,2"},
        {"update t set a = 1 where pg_try_advisory_xact_lock(4294967298::bigint)", "xtry 4294967298"},
        {"begin; select pg_advisory_xact_lock(1), f(); select pg_advisory_lock(2) from t", "xlock 1; lock 2"},
        {"with x as (select pg_advisory_lock_shared(3)) select 1 from x", "lock_shared 3"},
        {"select pg_advisory_xact_lock($1), pg_advisory_xact_lock(hashtext('a')), pg_advisory_xact_lock(1, $2)", ""},
        {"select pg_advisory_xact_lock(null), pg_advisory_xact_lock(1.5), pg_advisory_xact_lock(1, 5000000000)", ""},
        {"select pg_advisory_unlock(1), pg_advisory_unlock_all(), mine.pg_advisory_xact_lock(1)", ""},
        {"prepare p as select pg_advisory_xact_lock(1)", ""},
        {"explain select pg_advisory_xact_lock(1)", ""},
        {"create function f() returns void begin atomic select pg_advisory_xact_lock(1); end", ""},
        {"select 1", ""},
    };
    for (size_t i = 0; i < LK_COUNT(rows); i++) {
        char got[256];
        list_takings(rows[i].sql, got, sizeof(got));
        if (strcmp(got, rows[i].takings) != 0)
            fail_msg("%s\n  gave %s, expected %s", rows[i].sql, got, rows[i].takings);
    }
}

static void
a_text_can_have_several_lints_and_each_has_a_name(void **state)
{
    static const struct row rows[] = {
        {"set statement_timeout = 1; select pg_advisory_lock(hashtext(name)) from t limit 5",
            LK_LINT_SET_TIMEOUT | LK_LINT_HASHTEXT | LK_LINT_LIMIT},
    };
    check_rows(rows, LK_COUNT(rows));
    static const char *const names[LK_LINT_COUNT] = {
        "xact_lock_in_autocommit", "lock_call_under_limit", "hashtext_key", "session_timeout", "both_key_spaces", "both_levels"};
    for (unsigned i = 0; i < LK_LINT_COUNT; i++) {
        assert_string_equal(lk_lint_name(1u << i), names[i]);
        assert_true(strlen(lk_lint_text(1u << i)) > 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_statement_that_only_takes_transaction_locks_is_told),
        cmocka_unit_test(a_lock_call_whose_rows_a_limit_cuts_is_told),
        cmocka_unit_test(a_key_of_32_hashed_bits_is_told),
        cmocka_unit_test(a_time_out_that_is_set_for_the_session_is_told),
        cmocka_unit_test(constant_keys_are_known_of_calls_that_are_executed),
        cmocka_unit_test(a_text_can_have_several_lints_and_each_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
