#include "admin/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct lk_column plain[] = {
    {"name", LK_COLUMN_TEXT, LK_MERGE_KEEP},
    {"value", LK_COLUMN_INT4, LK_MERGE_KEEP},
};
static const struct lk_column keyed[] = {
    {"database", LK_COLUMN_TEXT, LK_MERGE_KEY},
    {"user", LK_COLUMN_TEXT, LK_MERGE_KEY},
    {"clients", LK_COLUMN_INT4, LK_MERGE_ADD},
    {"longest", LK_COLUMN_INT4, LK_MERGE_MAX},
    {"mode", LK_COLUMN_TEXT, LK_MERGE_KEEP},
};

static void
add_pool(
    struct lk_table *t, const char *database, const char *user, uint64_t clients, uint64_t longest, const char *mode)
{
    lk_table_add(t, database);
    lk_table_add(t, user);
    lk_table_add_uint(t, clients);
    lk_table_add_uint(t, longest);
    lk_table_add(t, mode);
}

static void
assert_row(const struct lk_table *t, size_t row, const char *const *expected)
{
    for (size_t c = 0; c < t->column_count; c++) {
        const char *cell = lk_table_cell(t, row, c);
        if (expected[c])
            assert_string_equal(cell, expected[c]);
        else
            assert_null(cell);
    }
}

static void
cells_become_rows_and_null_differs_from_empty(void **state)
{
    struct lk_table t;
    lk_table_init(&t, plain, 2);
    lk_table_add(&t, "a");
    assert_int_equal(t.row_count, 0);
    lk_table_add(&t, NULL);
    lk_table_add(&t, "");
    lk_table_add_int(&t, INT64_MIN);
    lk_table_add_span(&t, lk_span_make("longer", 4));
    lk_table_add_uint(&t, UINT64_MAX);
    assert_int_equal(t.row_count, 3);
    assert_row(&t, 0, (const char *const[]){"a", NULL});
    assert_row(&t, 1, (const char *const[]){"", "-9223372036854775808"});
    assert_row(&t, 2, (const char *const[]){"long", "18446744073709551615"});
    assert_true(lk_table_uint(&t, 2, 1) == UINT64_MAX);
    assert_int_equal(lk_table_uint(&t, 0, 1), 0);
    lk_table_clear(&t);
}

static void
rows_without_keys_are_joined_in_the_order_of_the_tables(void **state)
{
    struct lk_table one, two, all;
    lk_table_init(&one, plain, 2);
    lk_table_init(&two, plain, 2);
    lk_table_init(&all, plain, 2);
    lk_table_add(&one, "same");
    lk_table_add_int(&one, 1);
    lk_table_add(&two, "same");
    lk_table_add_int(&two, 2);
    lk_table_merge(&all, (const struct lk_table *const[]){&one, &two}, 2);
    assert_int_equal(all.row_count, 2);
    assert_row(&all, 0, (const char *const[]){"same", "1"});
    assert_row(&all, 1, (const char *const[]){"same", "2"});
    lk_table_clear(&one);
    lk_table_clear(&two);
    lk_table_clear(&all);
}

static void
rows_of_the_same_name_are_added_up(void **state)
{
    struct lk_table one, two, all;
    lk_table_init(&one, keyed, 5);
    lk_table_init(&two, keyed, 5);
    lk_table_init(&all, keyed, 5);
    add_pool(&one, "a", "b", 1, 30, "session");
    add_pool(&one, "ab", "", 2, 5, "session");
    add_pool(&two, "new", "b", 4, 0, NULL);
    add_pool(&two, "a", "b", 8, 9, "transaction");
    add_pool(&two, "a", "b", 16, 40, NULL);
    lk_table_merge(&all, (const struct lk_table *const[]){&one, &two}, 2);
    assert_int_equal(all.row_count, 3);
    assert_row(&all, 0, (const char *const[]){"a", "b", "25", "40", "session"});
    assert_row(&all, 1, (const char *const[]){"ab", "", "2", "5", "session"});
    assert_row(&all, 2, (const char *const[]){"new", "b", "4", "0", NULL});
    lk_table_clear(&one);
    lk_table_clear(&two);
    lk_table_clear(&all);
}

static void
rows_are_sorted_whole(void **state)
{
    struct lk_table t;
    lk_table_init(&t, plain, 2);
    const char *const names[] = {"workers", "admin_users", "pidfile"};
    for (int i = 0; i < 3; i++) {
        lk_table_add(&t, names[i]);
        lk_table_add_int(&t, i);
    }
    lk_table_sort(&t);
    assert_row(&t, 0, (const char *const[]){"admin_users", "1"});
    assert_row(&t, 1, (const char *const[]){"pidfile", "2"});
    assert_row(&t, 2, (const char *const[]){"workers", "0"});
    lk_table_clear(&t);
}

static void
a_table_becomes_the_frames_of_a_result(void **state)
{
    struct lk_table t;
    struct lk_buf got = {0}, expected = {0};
    lk_table_init(&t, plain, 2);
    lk_table_add(&t, "x");
    lk_table_add(&t, NULL);
    lk_table_build(&t, &got);
    const struct lk_build_column columns[] = {{"name", 25}, {"value", 23}};
    lk_build_row_description(&expected, columns, 2);
    lk_build_data_row(&expected, (const char *const[]){"x", NULL}, 2);
    assert_int_equal(got.len, expected.len);
    assert_memory_equal(got.data, expected.data, got.len);
    lk_buf_clear(&got);
    lk_buf_clear(&expected);
    lk_table_clear(&t);
}

static void
a_table_that_is_too_long_is_cut_at_a_row_and_says_so(void **state)
{
    size_t n = LK_TABLE_MAX / 4;
    char *big = malloc(n);
    memset(big, 'x', n);
    struct lk_table t;
    lk_table_init(&t, plain, 2);
    for (int i = 0; i < 5; i++) {
        lk_table_add_int(&t, i);
        lk_table_add_span(&t, lk_span_make(big, n));
    }
    lk_table_add(&t, "small");
    lk_table_add(&t, "small");
    assert_true(t.cut);
    assert_int_equal(t.row_count, 3);
    assert_string_equal(lk_table_cell(&t, 2, 0), "2");
    struct lk_buf out = {0};
    lk_table_build(&t, &out);
    static const char text[] = "the answer was cut: it is longer than 64 MB";
    assert_non_null(memmem(out.data + out.len - 100, 100, text, sizeof text));
    lk_buf_clear(&out);
    lk_table_clear(&t);
    free(big);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_become_rows_and_null_differs_from_empty),
        cmocka_unit_test(rows_without_keys_are_joined_in_the_order_of_the_tables),
        cmocka_unit_test(rows_of_the_same_name_are_added_up),
        cmocka_unit_test(rows_are_sorted_whole),
        cmocka_unit_test(a_table_becomes_the_frames_of_a_result),
        cmocka_unit_test(a_table_that_is_too_long_is_cut_at_a_row_and_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
