#include "lock/key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
expect_text(struct lk_key k, const char *text)
{
    char out[LK_KEY_TEXT];
    lk_key_format(k, out);
    assert_string_equal(out, text);
}

static void
a_bigint_is_split_as_pg_locks_shows_it(void **state)
{
    struct lk_key k = lk_key_bigint(4294967298);
    assert_int_equal(k.classid, 1);
    assert_int_equal(k.objid, 2);
    assert_int_equal(k.subid, 1);
    k = lk_key_bigint(-1);
    assert_true(k.classid == 4294967295u && k.objid == 4294967295u);
    k = lk_key_bigint(INT64_MIN);
    assert_true(k.classid == 0x80000000u && k.objid == 0);
}

static void
a_pair_keeps_its_two_numbers_as_unsigned(void **state)
{
    struct lk_key k = lk_key_pair(-7, 9);
    assert_true(k.classid == 4294967289u);
    assert_int_equal(k.objid, 9);
    assert_int_equal(k.subid, 2);
}

static void
keys_are_shown_signed(void **state)
{
    expect_text(lk_key_bigint(9527), "9527");
    expect_text(lk_key_bigint(-1), "-1");
    expect_text(lk_key_bigint(INT64_MIN), "-9223372036854775808");
    expect_text(lk_key_bigint(INT64_MAX), "9223372036854775807");
    expect_text(lk_key_pair(1001, 42), "1001,42");
    expect_text(lk_key_pair(INT32_MIN, -1), "-2147483648,-1");
}

static void
keys_of_an_extension_are_shown_raw(void **state)
{
    struct lk_key k = {4294967295u, 4294967295u, 11};
    assert_int_equal(lk_key_space(k), LK_SPACE_OTHER);
    expect_text(k, "4294967295,4294967295,11");
    expect_text((struct lk_key){4294967295u, 4294967295u, 4294967295u}, "4294967295,4294967295,4294967295");
}

static void
the_two_key_spaces_never_meet(void **state)
{
    assert_false(lk_key_eq(lk_key_bigint(4294967298), lk_key_pair(1, 2)));
    assert_true(lk_key_eq(lk_key_bigint(4294967298), lk_key_bigint(4294967298)));
    assert_false(lk_key_eq(lk_key_bigint(1), lk_key_bigint(4294967297)));
    assert_string_equal(lk_space_name(lk_key_space(lk_key_bigint(1))), "bigint");
    assert_string_equal(lk_space_name(lk_key_space(lk_key_pair(0, 1))), "int4pair");
    assert_string_equal(lk_space_name(LK_SPACE_OTHER), "other");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bigint_is_split_as_pg_locks_shows_it),
        cmocka_unit_test(a_pair_keeps_its_two_numbers_as_unsigned),
        cmocka_unit_test(keys_are_shown_signed),
        cmocka_unit_test(keys_of_an_extension_are_shown_raw),
        cmocka_unit_test(the_two_key_spaces_never_meet),
    };
    return cmocka_run_group_tests_name("lock/key", tests, NULL, NULL);
}
