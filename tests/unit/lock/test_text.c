#include "lock/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
a_text_is_a_copy_with_a_nul_behind_it(void **state)
{
    char sql[] = "select 1";
    struct lk_text *t = lk_text_new(lk_span_str(sql), 77);
    sql[0] = 'X';
    assert_string_equal(t->sql, "select 1");
    assert_int_equal(t->n, 8);
    assert_true(t->fingerprint == 77);
    lk_text_unref(t);
    t = lk_text_new(lk_span_make(NULL, 0), 0);
    assert_string_equal(t->sql, "");
    lk_text_unref(t);
}

static void
a_text_lives_until_its_last_reference_goes(void **state)
{
    struct lk_text *t = lk_text_new(lk_span_str("select 1"), 0);
    assert_ptr_equal(lk_text_ref(t), t);
    lk_text_unref(t);
    assert_int_equal(t->refs, 1);
    lk_text_unref(t);
    lk_text_unref(NULL);
    assert_null(lk_text_ref(NULL));
}

static void
a_text_for_which_there_is_no_memory_is_null(void **state)
{
    assert_null(lk_text_new(lk_span_make("", SIZE_MAX), 0));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_a_copy_with_a_nul_behind_it),
        cmocka_unit_test(a_text_lives_until_its_last_reference_goes),
        cmocka_unit_test(a_text_for_which_there_is_no_memory_is_null),
    };
    return cmocka_run_group_tests_name("lock/text", tests, NULL, NULL);
}
