#include "journal/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define R "\xef\xbf\xbd"

static void
expect(const char *in, size_t max, const char *out)
{
    struct lk_buf b = {0};
    lk_utf8_repair(lk_span_str(in), max, &b);
    lk_buf_add_u8(&b, 0);
    assert_string_equal((const char *)b.data, out);
    lk_buf_clear(&b);
}

static void
valid_text_stays_as_it_is(void **state)
{
    expect("", 100, "");
    expect("select 'gr\xc3\xbc\xc3\x9f', '\xe2\x82\xac', '\xf0\x9f\x94\x92'", 100,
        "select 'gr\xc3\xbc\xc3\x9f', '\xe2\x82\xac', '\xf0\x9f\x94\x92'");
    expect("\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf", 100, "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf");
}

static void
each_byte_of_no_character_is_replaced(void **state)
{
    expect("a\xff"
           "b\x80",
        100, "a" R "b" R);
    expect("gr\xfc\xdf", 100, "gr" R R);
    expect("\xc3", 100, R);
    expect("\xe2\x82", 100, R R);
    expect("\xf0\x9f\x94", 100, R R R);
}

static void
overlong_forms_surrogates_and_what_is_beyond_unicode_are_replaced(void **state)
{
    expect("\xc0\xaf", 100, R R);
    expect("\xe0\x9f\xbf", 100, R R R);
    expect("\xed\xa0\x80", 100, R R R);
    expect("\xf0\x8f\xbf\xbf", 100, R R R R);
    expect("\xf4\x90\x80\x80", 100, R R R R);
    expect("\xf5\x80\x80\x80", 100, R R R R);
}

static void
the_cut_is_at_a_characters_border(void **state)
{
    expect("abc\xe2\x82\xac", 6, "abc\xe2\x82\xac");
    expect("abc\xe2\x82\xac", 5, "abc");
    expect("abc\xe2\x82\xac", 3, "abc");
    expect("ab\xff", 4, "ab");
    expect("abc", 0, "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_text_stays_as_it_is),
        cmocka_unit_test(each_byte_of_no_character_is_replaced),
        cmocka_unit_test(overlong_forms_surrogates_and_what_is_beyond_unicode_are_replaced),
        cmocka_unit_test(the_cut_is_at_a_characters_border),
    };
    return cmocka_run_group_tests_name("journal/utf8", tests, NULL, NULL);
}
