#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sql/recognise.h"
#include "sql/rewrite.h"

#define CALLS_MAX 8

/* The text with those of its calls shortened that have an x in `which`, then " | $N TYPE" for what must be declared. */
static void
rewrite(const char *sql, const char *which, char *out, size_t room)
{
    struct lk_recognised r = lk_recognise(lk_span_str(sql));
    struct lk_plan *plan = r.plan;
    assert_non_null(plan);
    if (!lk_rewrite_possible(plan)) {
        lk_recognised_clear(&r);
        (void)snprintf(out, room, "impossible");
        return;
    }
    bool shorten[CALLS_MAX] = {false};
    for (size_t i = 0; which[i]; i++)
        shorten[i] = which[i] == 'x';
    struct lk_buf text = {0};
    lk_rewrite_text(lk_span_str(sql), plan, shorten, &text);
    assert_false(text.failed);
    size_t n = (size_t)snprintf(out, room, "%.*s", (int)text.len, (const char *)text.data);
    for (uint16_t i = 1; i <= lk_rewrite_param_last(plan, shorten); i++) {
        uint32_t type = lk_rewrite_param_type(plan, shorten, i);
        if (type != 0)
            n += (size_t)snprintf(out + n, room - n, " | $%u %s", i,
                type == LK_TYPE_INT8   ? "int8"
                : type == LK_TYPE_INT4 ? "int4"
                                       : "int2");
    }
    lk_buf_clear(&text);
    lk_recognised_clear(&r);
}

struct row {
    const char *sql, *which, *gives;
};

static void
check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char got[1024];
        rewrite(rows[i].sql, rows[i].which, got, sizeof(got));
        if (strcmp(got, rows[i].gives) != 0)
            fail_msg("%s\n  gave     %s\n  expected %s", rows[i].sql, got, rows[i].gives);
    }
}

static void
a_lock_becomes_its_sibling_and_its_column_keeps_its_name(void **state)
{
    static const struct row rows[] = {
        {"select pg_advisory_lock(1)", "x", "select pg_catalog.pg_advisory_xact_lock(1) AS pg_advisory_lock"},
        {"select pg_try_advisory_lock($1, 2) ;", "x",
            "select pg_catalog.pg_try_advisory_xact_lock($1, 2) AS pg_try_advisory_lock ;"},
        {"select pg_advisory_lock_shared(-1) as x", "x", "select pg_catalog.pg_advisory_xact_lock_shared(-1) as x"},
        {"select pg_try_advisory_lock_shared(1) x", "x", "select pg_catalog.pg_try_advisory_xact_lock_shared(1) x"},
        {"select\"pg_advisory_lock\"(1)", "x", "select pg_catalog.pg_advisory_xact_lock(1) AS pg_advisory_lock"},
        {"select/**/PG_CATALOG . PG_ADVISORY_LOCK -- (\n ( 1 /* ) */ ) -- x", "x",
            "select/**/ pg_catalog.pg_advisory_xact_lock -- (\n ( 1 /* ) */ ) AS pg_advisory_lock -- x"},
        {"select pg_try_advisory_lock(1)::text::text", "x", "impossible"},
        {"select pg_try_advisory_lock(1)::text, 2", "x",
            "select pg_catalog.pg_try_advisory_xact_lock(1)::text AS pg_try_advisory_lock, 2"},
        {"(select cast((pg_try_advisory_lock(1)) as int))", "x",
            "(select cast((pg_catalog.pg_try_advisory_xact_lock(1)) as int) AS pg_try_advisory_lock)"},
        {"select U&\"pg_advisory!005flock\" uescape '!' ($1::int)", "x",
            "select pg_catalog.pg_advisory_xact_lock ($1::int) AS pg_advisory_lock"},
        {"select pg_advisory_lock(NULL)", "x", "select pg_catalog.pg_advisory_xact_lock(NULL) AS pg_advisory_lock"},
    };
    check_rows(rows, LK_COUNT(rows));
}

static void
an_unlock_becomes_true_and_its_parameters_are_declared(void **state)
{
    static const struct row rows[] = {
        {"select pg_advisory_unlock(1)", "x", "select true AS pg_advisory_unlock"},
        {"select pg_advisory_unlock(1)as x", "x", "select true as x"},
        {"select\"pg_advisory_unlock_shared\"(1)::text\"x\"", "x", "select true::text\"x\""},
        {"select pg_advisory_unlock(1)/**/", "x", "select true  AS pg_advisory_unlock/**/"},
        {"select pg_advisory_unlock($1)", "x", "select true AS pg_advisory_unlock | $1 int8"},
        {"select pg_advisory_unlock($2, $1) u", "x", "select true u | $1 int4 | $2 int4"},
        {"select pg_advisory_unlock($1::int2::int8)::int4", "x", "select true::int4 AS pg_advisory_unlock | $1 int2"},
        {"select pg_advisory_unlock($1), $1, $2", "x", "select true AS pg_advisory_unlock, $1, $2 | $1 int8"},
        {"select pg_try_advisory_lock($1, 2) a, pg_advisory_unlock($1) b", "-x",
            "select pg_try_advisory_lock($1, 2) a, true b | $1 int4"},
        {"select pg_try_advisory_lock($1) a, pg_advisory_unlock($2) b", "x-",
            "select pg_catalog.pg_try_advisory_xact_lock($1) a, pg_advisory_unlock($2) b"},
    };
    check_rows(rows, LK_COUNT(rows));
}

static void
only_the_chosen_calls_of_a_text_change(void **state)
{
    static const struct row rows[] = {
        {"select 'é', pg_advisory_lock(1), pg_advisory_unlock(2), pg_advisory_lock(3)", "x-x",
            "select 'é', pg_catalog.pg_advisory_xact_lock(1) AS pg_advisory_lock, pg_advisory_unlock(2), "
            "pg_catalog.pg_advisory_xact_lock(3) AS pg_advisory_lock"},
        {"begin; select pg_advisory_lock(1); select 2; select pg_advisory_unlock(1); commit", "xx",
            "begin; select pg_catalog.pg_advisory_xact_lock(1) AS pg_advisory_lock; select 2; select true AS "
            "pg_advisory_unlock; commit"},
        {"begin; select pg_advisory_lock(1); select pg_advisory_unlock_all()", "--",
            "begin; select pg_advisory_lock(1); select pg_advisory_unlock_all()"},
    };
    check_rows(rows, LK_COUNT(rows));
}

static void
statements_whose_answer_does_not_tell_are_left_alone(void **state)
{
    static const struct row rows[] = {
        {"select pg_advisory_lock(id) from t", "", "impossible"},
        {"select pg_advisory_lock(1); do $$ begin perform pg_advisory_lock(2); end $$", "x", "impossible"},
        {"select public.pg_advisory_lock(1)", "", "impossible"},
        {"select pg_advisory_lock(1) 'x", "", "impossible"},
    };
    check_rows(rows, LK_COUNT(rows));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_becomes_its_sibling_and_its_column_keeps_its_name),
        cmocka_unit_test(an_unlock_becomes_true_and_its_parameters_are_declared),
        cmocka_unit_test(only_the_chosen_calls_of_a_text_change),
        cmocka_unit_test(statements_whose_answer_does_not_tell_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
