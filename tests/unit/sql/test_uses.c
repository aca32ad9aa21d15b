#include "sql/uses.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sql/lint.h"

#define SESSION false
#define XACT true

static void
one_number_in_both_key_spaces_is_told_once(void **state)
{
    struct lk_uses *t = lk_uses_new(10);
    assert_int_equal(lk_uses_note(t, lk_key_bigint(4294967298), SESSION), 0);
    assert_int_equal(lk_uses_note(t, lk_key_pair(1, 3), SESSION), 0);
    assert_int_equal(lk_uses_note(t, lk_key_pair(1, 2), SESSION), LK_LINT_BOTH_KEY_SPACES);
    assert_int_equal(lk_uses_note(t, lk_key_pair(1, 2), SESSION), 0);
    assert_int_equal(lk_uses_note(t, lk_key_bigint(4294967298), SESSION), 0);
    assert_int_equal(lk_uses_count(t), 2);
    lk_uses_unref(t);
}

static void
negative_numbers_meet_by_their_bits(void **state)
{
    struct lk_uses *t = lk_uses_new(10);
    assert_int_equal(lk_uses_note(t, lk_key_pair(-1, -1), XACT), 0);
    assert_int_equal(lk_uses_note(t, lk_key_bigint(-1), XACT), LK_LINT_BOTH_KEY_SPACES);
    assert_int_equal(lk_uses_note(t, lk_key_pair(INT32_MIN, 0), SESSION), 0);
    assert_int_equal(lk_uses_note(t, lk_key_bigint(INT64_MIN), SESSION), LK_LINT_BOTH_KEY_SPACES);
    lk_uses_unref(t);
}

static void
both_levels_on_one_key_are_told_once_and_only_within_a_key_space(void **state)
{
    struct lk_uses *t = lk_uses_new(10);
    assert_int_equal(lk_uses_note(t, lk_key_bigint(7), XACT), 0);
    assert_int_equal(lk_uses_note(t, lk_key_pair(0, 7), SESSION), LK_LINT_BOTH_KEY_SPACES);
    assert_int_equal(lk_uses_note(t, lk_key_bigint(7), SESSION), LK_LINT_BOTH_LEVELS);
    assert_int_equal(lk_uses_note(t, lk_key_pair(0, 7), XACT), 0);
    assert_int_equal(lk_uses_note(t, lk_key_bigint(8), SESSION), 0);
    assert_int_equal(lk_uses_note(t, lk_key_bigint(8), XACT), LK_LINT_BOTH_LEVELS);
    lk_uses_unref(t);
}

static void
the_number_least_recently_used_is_forgotten(void **state)
{
    struct lk_uses *t = lk_uses_new(2);
    (void)lk_uses_note(t, lk_key_bigint(1), SESSION);
    (void)lk_uses_note(t, lk_key_bigint(2), SESSION);
    (void)lk_uses_note(t, lk_key_bigint(1), SESSION);
    (void)lk_uses_note(t, lk_key_bigint(3), SESSION);
    assert_int_equal(lk_uses_count(t), 2);
    assert_int_equal(lk_uses_note(t, lk_key_bigint(1), XACT), LK_LINT_BOTH_LEVELS);
    assert_int_equal(lk_uses_note(t, lk_key_bigint(2), XACT), 0);
    lk_uses_unref(t);
}

static void
keys_of_extensions_are_passed_over(void **state)
{
    struct lk_uses *t = lk_uses_new(2);
    assert_int_equal(lk_uses_note(t, (struct lk_key){.objid = 1, .subid = 4}, SESSION), 0);
    assert_int_equal(lk_uses_count(t), 0);
    lk_uses_unref(t);
}

static void
a_table_lives_as_long_as_a_reference_to_it(void **state)
{
    struct lk_uses *t = lk_uses_new(2), *again = lk_uses_ref(t);
    (void)lk_uses_note(t, lk_key_bigint(1), SESSION);
    lk_uses_unref(t);
    assert_int_equal(lk_uses_count(again), 1);
    lk_uses_unref(again);
    lk_uses_unref(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_number_in_both_key_spaces_is_told_once),
        cmocka_unit_test(negative_numbers_meet_by_their_bits),
        cmocka_unit_test(both_levels_on_one_key_are_told_once_and_only_within_a_key_space),
        cmocka_unit_test(the_number_least_recently_used_is_forgotten),
        cmocka_unit_test(keys_of_extensions_are_passed_over),
        cmocka_unit_test(a_table_lives_as_long_as_a_reference_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
