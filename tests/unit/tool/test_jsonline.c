#include "tool/jsonline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* What was told, as "object.key=value" with strings in quotes, between spaces. */
static struct lk_buf told, room;

static void
note(void *context, struct lk_span object, struct lk_span key, struct lk_span value, bool quoted)
{
    const char *quote = quoted ? "'" : "";
    lk_buf_add_format(&told, "%s%.*s%s%.*s=%s%.*s%s", told.len > 0 ? " " : "", (int)object.n, (const char *)object.p,
        object.n > 0 ? "." : "", (int)key.n, (const char *)key.p, quote, (int)value.n, (const char *)value.p, quote);
}

static bool
read_line(const char *line)
{
    told.len = 0;
    return lk_jsonline_read(lk_span_str(line), &room, note, NULL);
}

static void
expect(const char *line, const char *wanted)
{
    assert_true(read_line(line));
    lk_buf_add_u8(&told, '\0');
    assert_string_equal((const char *)told.data, wanted);
}

static void
free_buffers(void)
{
    lk_buf_clear(&told);
    lk_buf_clear(&room);
}

static void
scalars_of_the_object_and_of_objects_in_it_are_told(void **state)
{
    expect("{}", "");
    expect("{\"ts\":\"x\",\"client\":{\"id\":17,\"addr\":\"::1\"},\"held_ms\":-0.5e+3,\"a\":null,\"b\":true,\"c\":false}",
        "ts='x' client.id=17 client.addr='::1' held_ms=-0.5e+3 a=null b=true c=false");
    expect(" { \"a\" : 1 ,\t\"b\" : { } } \r", "a=1");
    free_buffers();
}

static void
what_lies_deeper_or_in_arrays_is_checked_and_not_told(void **state)
{
    expect("{\"a\":{\"b\":{\"c\":1},\"d\":2},\"e\":[1,\"x\",{\"f\":3},[]],\"g\":4}", "a.d=2 g=4");
    assert_false(read_line("{\"a\":[1,{\"f\":}]}"));
    free_buffers();
}

static void
strings_are_decoded(void **state)
{
    expect("{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "a='\"\\/\b\f\n\r\t'");
    expect("{\"a\":\"x\\u0041\\u00e4\\u20ac\\ud83d\\ude00y\"}", "a='xA\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80y'");
    expect("{\"\\u0061\":\"one\",\"b\":\"t\\u0077o\",\"c\":\"three\"}", "a='one' b='two' c='three'");
    expect("{\"a\":\"\xff\"}", "a='\xff'");
    free_buffers();
}

static void
what_is_no_object_of_json_is_refused(void **state)
{
    const char *bad[] = {"", " ", "x", "[]", "1", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,}", "{\"a\":1,,\"b\":1}",
        "{a:1}", "{\"a\" 1}", "{\"a\":1}x", "{\"a\":1}{}", "{\"a\":01}", "{\"a\":-}", "{\"a\":1.}", "{\"a\":.5}",
        "{\"a\":1e}", "{\"a\":nul}", "{\"a\":'x'}", "{\"a\":\"x}", "{\"a\":\"\\", "{\"a\":\"\\x\"}", "{\"a\":\"\\u12\"}",
        "{\"a\":\"\\ud83d\"}", "{\"a\":\"\\ud83dx\"}", "{\"a\":\"\\ude00\"}", "{\"a\":\"\\ud83d\\u0041\"}",
        "{\"a\":\"x\ny\"}", "{\"a\":[1}", "{\"a\":[1,]}", "{\"a\":{]}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (read_line(bad[i]))
            fail_msg("accepted: %s", bad[i]);
    free_buffers();
}

/* The outer object, then so many arrays. */
static bool
read_nested(unsigned arrays)
{
    struct lk_buf line = {0};
    lk_buf_add_format(&line, "{\"a\":");
    for (unsigned i = 0; i < arrays; i++)
        lk_buf_add_u8(&line, '[');
    for (unsigned i = 0; i < arrays; i++)
        lk_buf_add_u8(&line, ']');
    lk_buf_add_u8(&line, '}');
    bool good = lk_jsonline_read(lk_buf_span(&line), &room, note, NULL);
    lk_buf_clear(&line);
    return good;
}

static void
depth_is_bounded(void **state)
{
    assert_true(read_nested(LK_JSONLINE_DEPTH_MAX - 1));
    assert_false(read_nested(LK_JSONLINE_DEPTH_MAX));
    assert_false(read_nested(100000));
    free_buffers();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_of_the_object_and_of_objects_in_it_are_told),
        cmocka_unit_test(what_lies_deeper_or_in_arrays_is_checked_and_not_told),
        cmocka_unit_test(strings_are_decoded),
        cmocka_unit_test(what_is_no_object_of_json_is_refused),
        cmocka_unit_test(depth_is_bounded),
    };
    return cmocka_run_group_tests_name("tool/jsonline", tests, NULL, NULL);
}
