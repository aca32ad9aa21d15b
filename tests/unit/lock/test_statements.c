#include "lock/statements.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct lk_lock_statement *
get(struct lk_statements *t, const char *database, uint64_t fingerprint)
{
    struct lk_text *text = lk_text_new(lk_span_str("select pg_advisory_lock(1)"), fingerprint);
    struct lk_lock_statement *s = lk_statements_get(t, database, text);
    lk_text_unref(text);
    return s;
}

static void
a_statement_has_a_row_in_each_database(void **state)
{
    struct lk_statements *t = lk_statements_new(10);
    struct lk_lock_statement *s = get(t, "shop", 7);
    s->executions = 3;
    assert_int_equal(s->why, LK_WHY_UNSURE);
    assert_string_equal(s->text->sql, "select pg_advisory_lock(1)");
    assert_ptr_equal(get(t, "shop", 7), s);
    assert_int_equal(get(t, "web", 7)->executions, 0);
    assert_int_equal(get(t, "shop", 8)->executions, 0);
    assert_int_equal(get(t, "shop", 7)->executions, 3);
    assert_int_equal(lk_statements_count(t), 3);
    lk_statements_free(t);
}

static void
what_has_no_fingerprint_has_no_row(void **state)
{
    struct lk_statements *t = lk_statements_new(10);
    assert_null(get(t, "shop", 0));
    assert_null(lk_statements_get(t, "shop", NULL));
    assert_int_equal(lk_statements_count(t), 0);
    lk_statements_free(t);
}

static void
list(void *context, const struct lk_lock_statement *s)
{
    char *out = context;
    out[strlen(out)] = (char)('0' + s->fingerprint);
}

static void
the_one_longest_not_heard_of_goes(void **state)
{
    struct lk_statements *t = lk_statements_new(3);
    char order[8] = "";
    for (uint64_t f = 1; f <= 3; f++)
        (void)get(t, "shop", f);
    (void)get(t, "shop", 1);
    (void)get(t, "shop", 4);
    lk_statements_each(t, list, order);
    assert_string_equal(order, "413");
    assert_int_equal(lk_statements_count(t), 3);
    lk_statements_free(t);
}

static void
of_a_long_text_the_beginning_is_kept(void **state)
{
    static char sql[LK_STATEMENTS_TEXT_MAX + 1];
    struct lk_statements *t = lk_statements_new(3);
    memset(sql, 'x', sizeof(sql));
    for (size_t n = LK_STATEMENTS_TEXT_MAX; n <= sizeof(sql); n++) {
        struct lk_text *text = lk_text_new(lk_span_make(sql, n), n);
        struct lk_lock_statement *s = lk_statements_get(t, "shop", text);
        assert_int_equal(s->text->n, n == LK_STATEMENTS_TEXT_MAX ? n : 1024);
        lk_text_unref(text);
    }
    lk_statements_free(t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_statement_has_a_row_in_each_database),
        cmocka_unit_test(what_has_no_fingerprint_has_no_row),
        cmocka_unit_test(the_one_longest_not_heard_of_goes),
        cmocka_unit_test(of_a_long_text_the_beginning_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
