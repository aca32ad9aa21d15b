#include "wire/cursor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
numbers_come_in_network_order(void **state)
{
    const uint8_t bytes[] = {0x80, 0x01, 0x02, 0xff, 0xfe, 0xfd, 0xfc, 0xff, 0xff, 0xff, 0xff};
    struct lk_cursor c = lk_cursor_make(lk_span_make(bytes, sizeof(bytes)));
    assert_int_equal(lk_cursor_u8(&c), 0x80);
    assert_int_equal(lk_cursor_u16(&c), 0x0102);
    assert_true(lk_cursor_u32(&c) == 0xfffefdfcu);
    assert_false(lk_cursor_done(&c));
    assert_int_equal(lk_cursor_i32(&c), -1);
    assert_true(lk_cursor_done(&c));
}

static void
a_read_past_the_end_spoils_all_that_follow(void **state)
{
    const uint8_t bytes[] = {1, 2, 3};
    struct lk_cursor c = lk_cursor_make(lk_span_make(bytes, sizeof(bytes)));
    assert_int_equal(lk_cursor_u32(&c), 0);
    assert_true(c.bad);
    assert_int_equal(lk_cursor_u8(&c), 0);
    assert_int_equal(lk_cursor_bytes(&c, 1).n, 0);
    assert_int_equal(lk_cursor_cstr(&c).n, 0);
    assert_false(lk_cursor_done(&c));
}

static void
a_string_ends_at_its_nul(void **state)
{
    struct lk_cursor c = lk_cursor_make(lk_span_make("ab\0\0cd", 6));
    assert_true(lk_span_is(lk_cursor_cstr(&c), "ab"));
    assert_true(lk_span_is(lk_cursor_cstr(&c), ""));
    assert_false(c.bad);
    assert_int_equal(lk_cursor_cstr(&c).n, 0);
    assert_true(c.bad);
}

static void
an_empty_body_has_nothing_to_read_and_is_done(void **state)
{
    struct lk_cursor c = lk_cursor_make(lk_span_make(NULL, 0));
    assert_true(lk_cursor_done(&c));
    assert_int_equal(lk_cursor_bytes(&c, 0).n, 0);
    assert_true(lk_cursor_done(&c));
    assert_int_equal(lk_cursor_cstr(&c).n, 0);
    assert_true(c.bad);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_in_network_order),
        cmocka_unit_test(a_read_past_the_end_spoils_all_that_follow),
        cmocka_unit_test(a_string_ends_at_its_nul),
        cmocka_unit_test(an_empty_body_has_nothing_to_read_and_is_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
