#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdio.h>
#include <cmocka.h>

#include "sql/catalog.h"

static int
make(void **state)
{
    struct lk_catalog_names *n = lk_catalog_names_new();
    assert_true(lk_catalog_names_add(n, LK_CATALOG_USED, lk_span_str("take_lock")));
    assert_true(lk_catalog_names_add(n, LK_CATALOG_USED, lk_span_str("Odd \"Name")));
    assert_true(lk_catalog_names_add(n, LK_CATALOG_WRITTEN, lk_span_str("jobs")));
    assert_true(lk_catalog_names_add(n, LK_CATALOG_OVERLOAD, lk_span_str("pg_advisory_lock")));
    *state = n;
    return 0;
}

static int
unmake(void **state)
{
    lk_catalog_names_free(*state);
    return 0;
}

static bool
hit(void **state, const char *sql)
{
    return lk_catalog_names_hit(*state, lk_span_str(sql));
}

static void
a_function_or_view_is_a_hit_wherever_it_stands(void **state)
{
    assert_true(hit(state, "select take_lock(1)"));
    assert_true(hit(state, "select a, b from t where s.TAKE_Lock ( a )"));
    assert_true(hit(state, "select \"take_lock\"(1)"));
    assert_true(hit(state, "select /* x */ * from \"Odd \"\"Name\""));
}

static void
what_only_looks_like_the_name_is_none(void **state)
{
    assert_false(hit(state, "select take_lock2(1), retake_lock(2)"));
    assert_false(hit(state, "select 'take_lock' -- take_lock"));
    assert_false(hit(state, "select \"TAKE_LOCK\"(1)"));
    assert_false(hit(state, "select odd from name"));
    assert_false(hit(state, ""));
}

static void
a_table_is_one_only_in_a_statement_that_writes(void **state)
{
    assert_false(hit(state, "select * from jobs"));
    assert_true(hit(state, "insert into public.jobs values (1)"));
    assert_true(hit(state, "with x as (delete from JOBS returning *) select * from x"));
    assert_true(hit(state, "copy jobs from stdin"));
    assert_true(hit(state, "merge into jobs using x on true when matched then delete"));
    assert_false(hit(state, "insert into other values (1)"));
}

static void
an_overload_is_no_hit_by_itself(void **state)
{
    assert_false(hit(state, "select pg_advisory_lock(1)"));
    assert_true(lk_catalog_names_have(*state, LK_CATALOG_OVERLOAD, lk_span_str("pg_advisory_lock")));
    assert_false(lk_catalog_names_have(*state, LK_CATALOG_OVERLOAD, lk_span_str("take_lock")));
}

static void
names_are_counted_once_and_compared_by_kind(void **state)
{
    struct lk_catalog_names *n = *state, *other = lk_catalog_names_new();
    assert_false(lk_catalog_names_add(n, LK_CATALOG_USED, lk_span_str("take_lock")));
    assert_int_equal(lk_catalog_names_count(n, LK_CATALOG_USED), 2);
    assert_false(lk_catalog_names_same(n, other));
    (void)lk_catalog_names_add(other, LK_CATALOG_USED, lk_span_str("take_lock"));
    (void)lk_catalog_names_add(other, LK_CATALOG_USED, lk_span_str("jobs"));
    (void)lk_catalog_names_add(other, LK_CATALOG_WRITTEN, lk_span_str("Odd \"Name"));
    (void)lk_catalog_names_add(other, LK_CATALOG_OVERLOAD, lk_span_str("pg_advisory_lock"));
    assert_false(lk_catalog_names_same(n, other));
    assert_true(lk_catalog_names_same(n, n));
    lk_catalog_names_free(other);
}

static void
there_are_no_more_of_them_than_it_keeps(void **state)
{
    char name[16];
    unsigned added = 0;
    for (unsigned i = 0; i < LK_CATALOG_NAMES_MAX + 10; i++) {
        (void)snprintf(name, sizeof(name), "f%u", i);
        added += lk_catalog_names_add(*state, LK_CATALOG_USED, lk_span_str(name));
    }
    assert_int_equal(added, LK_CATALOG_NAMES_MAX - 4);
    assert_false(hit(state, "select f10005()"));
    assert_true(hit(state, "select f9000()"));
    assert_false(lk_catalog_names_add(*state, LK_CATALOG_USED,
        lk_span_str("a_name_that_is_longer_than_any_that_postgresql_would_ever_keep_in_a_catalogue")));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_function_or_view_is_a_hit_wherever_it_stands, make, unmake),
        cmocka_unit_test_setup_teardown(what_only_looks_like_the_name_is_none, make, unmake),
        cmocka_unit_test_setup_teardown(a_table_is_one_only_in_a_statement_that_writes, make, unmake),
        cmocka_unit_test_setup_teardown(an_overload_is_no_hit_by_itself, make, unmake),
        cmocka_unit_test_setup_teardown(names_are_counted_once_and_compared_by_kind, make, unmake),
        cmocka_unit_test_setup_teardown(there_are_no_more_of_them_than_it_keeps, make, unmake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
