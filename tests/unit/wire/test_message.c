#include "wire/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The bytes of a literal, without its closing NUL. */
#define BODY(literal) lk_span_make("" literal, sizeof(literal) - 1)

static void
a_startup_packet_gives_its_parameters_in_order(void **state)
{
    struct lk_msg_startup m;
    assert_true(lk_msg_startup(BODY("\0\3\0\0user\0ann\0options\0\0database\0shop\0\0"), &m));
    assert_int_equal(m.code, LK_PROTOCOL_3_0);
    struct lk_span name, value;
    assert_true(lk_msg_startup_param(&m.params, &name, &value));
    assert_true(lk_span_is(name, "user") && lk_span_is(value, "ann"));
    assert_true(lk_msg_startup_param(&m.params, &name, &value));
    assert_true(lk_span_is(name, "options") && lk_span_is(value, ""));
    assert_true(lk_msg_startup_param(&m.params, &name, &value));
    assert_true(lk_span_is(name, "database") && lk_span_is(value, "shop"));
    assert_false(lk_msg_startup_param(&m.params, &name, &value));
}

static void
a_startup_packet_without_parameters_is_well_formed(void **state)
{
    struct lk_msg_startup m;
    assert_true(lk_msg_startup(BODY("\0\3\0\2\0"), &m));
    assert_int_equal(m.code, 0x00030002);
    assert_int_equal(m.params.n, 0);
}

static void
a_startup_packet_with_a_broken_list_is_malformed(void **state)
{
    struct lk_msg_startup m;
    assert_false(lk_msg_startup(BODY("\0\3\0"), &m));
    assert_false(lk_msg_startup(BODY("\0\3\0\0"), &m));
    assert_false(lk_msg_startup(BODY("\0\3\0\0user\0ann\0"), &m));
    assert_false(lk_msg_startup(BODY("\0\3\0\0user\0ann"), &m));
    assert_false(lk_msg_startup(BODY("\0\3\0\0user\0\0"), &m));
    assert_false(lk_msg_startup(BODY("\0\3\0\0user\0ann\0\0x"), &m));
    assert_false(lk_msg_startup(BODY("\0\3\0\0user\0ann\0\0\0"), &m));
}

static void
of_another_major_version_only_the_code_is_read(void **state)
{
    struct lk_msg_startup m;
    assert_true(lk_msg_startup(BODY("\0\2\0\0whatever"), &m));
    assert_int_equal(m.code, 0x00020000);
    assert_int_equal(m.params.n, 0);
}

static void
encryption_requests_have_no_body(void **state)
{
    struct lk_msg_startup m;
    assert_true(lk_msg_startup(BODY("\x04\xd2\x16\x2f"), &m));
    assert_int_equal(m.code, LK_CODE_SSL);
    assert_true(lk_msg_startup(BODY("\x04\xd2\x16\x30"), &m));
    assert_int_equal(m.code, LK_CODE_GSSENC);
    assert_false(lk_msg_startup(BODY("\x04\xd2\x16\x2fx"), &m));
}

static void
a_cancel_request_has_a_pid_and_a_secret_of_4_to_256_bytes(void **state)
{
    struct lk_msg_startup m;
    assert_true(lk_msg_startup(BODY("\x04\xd2\x16\x2e\0\0\1\2abcd"), &m));
    assert_int_equal(m.code, LK_CODE_CANCEL);
    assert_int_equal(m.cancel_pid, 258);
    assert_true(lk_span_is(m.cancel_secret, "abcd"));
    assert_false(lk_msg_startup(BODY("\x04\xd2\x16\x2e\0\0\1\2abc"), &m));
    assert_false(lk_msg_startup(BODY("\x04\xd2\x16\x2e\0\0"), &m));
    uint8_t longest[8 + 257] = {0x04, 0xd2, 0x16, 0x2e};
    assert_true(lk_msg_startup(lk_span_make(longest, 8 + 256), &m));
    assert_int_equal(m.cancel_secret.n, 256);
    assert_false(lk_msg_startup(lk_span_make(longest, 8 + 257), &m));
}

static void
parse_gives_name_text_and_types(void **state)
{
    struct lk_msg_parse m;
    assert_true(lk_msg_parse(BODY("s1\0select $1\0\0\2\0\0\0\x17\0\0\0\x14"), &m));
    assert_true(lk_span_is(m.name, "s1"));
    assert_true(lk_span_is(m.text, "select $1"));
    assert_int_equal(m.type_count, 2);
    assert_memory_equal(m.types.p, "\0\0\0\x17\0\0\0\x14", 8);
    assert_true(lk_msg_parse(BODY("\0\0\0\0"), &m));
    assert_int_equal(m.name.n + m.text.n + m.types.n, 0);
}

static void
parse_with_missing_or_left_over_bytes_is_malformed(void **state)
{
    struct lk_msg_parse m;
    assert_false(lk_msg_parse(BODY(""), &m));
    assert_false(lk_msg_parse(BODY("s1"), &m));
    assert_false(lk_msg_parse(BODY("s1\0select"), &m));
    assert_false(lk_msg_parse(BODY("s1\0select\0\0"), &m));
    assert_false(lk_msg_parse(BODY("s1\0select\0\0\1\0\0\0"), &m));
    assert_false(lk_msg_parse(BODY("s1\0select\0\0\0x"), &m));
}

/* Two parameters, a text "7" and a binary NULL; two result formats, text and binary. */
#define BIND_TAIL                                                                                                      \
    "\0\2\0\0\0\1\0\2\0\0\0\1"                                                                                         \
    "7\xff\xff\xff\xff\0\2\0\0\0\1"

static void
bind_gives_portal_statement_and_values(void **state)
{
    struct lk_msg_bind m;
    struct lk_msg_value v;
    assert_true(lk_msg_bind(BODY("p\0s\0" BIND_TAIL), &m));
    assert_true(lk_span_is(m.portal, "p") && lk_span_is(m.name, "s"));
    assert_true(lk_msg_bind_value(m.rest, 0, &v));
    assert_true(!v.null && !v.binary && lk_span_is(v.data, "7"));
    assert_true(lk_msg_bind_value(m.rest, 1, &v));
    assert_true(v.null && v.binary);
    assert_false(lk_msg_bind_value(m.rest, 2, &v));
    uint16_t format;
    assert_true(lk_msg_bind_result_format(m.rest, 0, &format));
    assert_int_equal(format, 0);
    assert_true(lk_msg_bind_result_format(m.rest, 1, &format));
    assert_int_equal(format, 1);
    assert_false(lk_msg_bind_result_format(m.rest, 2, &format));
}

static void
no_format_means_text_and_one_format_means_all(void **state)
{
    struct lk_msg_value v;
    uint16_t format;
    struct lk_span none = BODY("\0\0\0\2\0\0\0\1"
                               "a\0\0\0\0\0\0");
    assert_true(lk_msg_bind_value(none, 1, &v));
    assert_true(!v.null && !v.binary && v.data.n == 0);
    assert_true(lk_msg_bind_result_format(none, 5, &format));
    assert_int_equal(format, 0);
    struct lk_span one = BODY("\0\1\0\1\0\2\0\0\0\1"
                              "a\0\0\0\0\0\1\0\1");
    assert_true(lk_msg_bind_value(one, 1, &v) && v.binary);
    assert_true(lk_msg_bind_result_format(one, 5, &format));
    assert_int_equal(format, 1);
}

static void
a_malformed_bind_gives_no_value(void **state)
{
    struct lk_msg_value v;
    uint16_t format;
    assert_false(lk_msg_bind_value(BODY("\0\2\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), 0, &v)); /* 2 formats for 3 */
    assert_false(lk_msg_bind_value(BODY("\0\1\0\2\0\1\0\0\0\0\0\0"), 0, &v));                     /* format 2 */
    assert_false(lk_msg_bind_value(BODY("\0\0\0\1\xff\xff\xff\xfe\0\0"), 0, &v));                 /* length -2 */
    assert_false(lk_msg_bind_value(BODY("\0\0\0\1\0\0\0\5"
                                        "abc"),
        0, &v));
    assert_false(lk_msg_bind_value(BODY("\0"), 0, &v));
    assert_false(lk_msg_bind_result_format(BODY("\0\0\0\0\0\0x"), 0, &format));
    assert_false(lk_msg_bind_result_format(BODY("\0\0\0\0\0\1\0\2"), 0, &format));
}

static void
the_head_of_a_bind_is_enough_for_its_names(void **state)
{
    struct lk_msg_bind m;
    assert_true(lk_msg_bind(BODY("p\0s\0"), &m));
    assert_int_equal(m.rest.n, 0);
    assert_false(lk_msg_bind(BODY("p\0s"), &m));
}

static void
describe_and_close_name_a_statement_or_a_portal(void **state)
{
    struct lk_msg_target m;
    assert_true(lk_msg_target(BODY("Ss1\0"), &m));
    assert_int_equal(m.kind, 'S');
    assert_true(lk_span_is(m.name, "s1"));
    assert_true(lk_msg_target(BODY("P\0"), &m));
    assert_false(lk_msg_target(BODY("X\0"), &m));
    assert_false(lk_msg_target(BODY("S"), &m));
    assert_false(lk_msg_target(BODY("Ss1\0\0"), &m));
}

static void
execute_without_a_positive_limit_means_all_rows(void **state)
{
    struct lk_msg_execute m;
    assert_true(lk_msg_execute(BODY("p\0\0\0\0\7"), &m));
    assert_true(lk_span_is(m.portal, "p"));
    assert_int_equal(m.max_rows, 7);
    assert_true(lk_msg_execute(BODY("\0\xff\xff\xff\xff"), &m));
    assert_int_equal(m.max_rows, 0);
    assert_false(lk_msg_execute(BODY("p\0\0\0\0"), &m));
}

static void
a_function_call_gives_oid_and_arguments(void **state)
{
    struct lk_msg_fcall m;
    struct lk_msg_value v;
    assert_true(lk_msg_fcall(BODY("\0\0\x0b\x40\0\1\0\1\0\1\0\0\0\2\1\2\0\0"), &m));
    assert_int_equal(m.oid, 2880);
    assert_int_equal(m.argument_count, 1);
    assert_true(lk_msg_fcall_value(m.rest, 0, &v));
    assert_true(v.binary && lk_span_is(v.data, "\1\2"));
    assert_false(lk_msg_fcall_value(m.rest, 1, &v));
    assert_false(lk_msg_fcall(BODY("\0\0\x0b\x40\0\1\0\1\0\1\0\0\0\2\1\2\0"), &m));
    assert_false(lk_msg_fcall(BODY("\0\0\x0b\x40\0\2\0\1\0\1\0\1\0\0\0\2\1\2\0\0"), &m));
}

static void
an_error_field_is_found_by_its_code(void **state)
{
    struct lk_span body = BODY("SERROR\0C42601\0Msyntax error\0\0");
    assert_true(lk_span_is(lk_msg_error_field(body, 'C'), "42601"));
    assert_true(lk_span_is(lk_msg_error_field(body, 'M'), "syntax error"));
    assert_int_equal(lk_msg_error_field(body, 'D').n, 0);
    assert_int_equal(lk_msg_error_field(BODY("SERROR\0C42"), 'C').n, 0);
}

static void
a_parameter_status_is_a_pair(void **state)
{
    struct lk_msg_param m;
    assert_true(lk_msg_parameter_status(BODY("TimeZone\0UTC\0"), &m));
    assert_true(lk_span_is(m.name, "TimeZone") && lk_span_is(m.value, "UTC"));
    assert_false(lk_msg_parameter_status(BODY("TimeZone\0UTC"), &m));
}

#define COLUMN(name, oid) name "\0\0\0\0\0\0\0\0\0\0" oid "\0\x04\xff\xff\xff\xff\0\0"

static void
a_row_description_tells_the_type_of_each_column(void **state)
{
    struct lk_span body = BODY("\0\2" COLUMN("a", "\x17") COLUMN("b", "\x14"));
    uint32_t type;
    uint16_t count;
    assert_true(lk_msg_row_type(body, 0, &type, &count));
    assert_int_equal(type, 23);
    assert_int_equal(count, 2);
    assert_true(lk_msg_row_type(body, 1, &type, NULL));
    assert_int_equal(type, 20);
    assert_false(lk_msg_row_type(body, 2, &type, &count));
    assert_int_equal(count, 2);
    assert_false(lk_msg_row_type(lk_span_head(body, body.n - 1), 1, &type, NULL));
}

static void
a_data_row_tells_the_value_of_each_column(void **state)
{
    struct lk_span body = BODY("\0\2\0\0\0\1t\xff\xff\xff\xff");
    struct lk_msg_value v;
    uint16_t count;
    assert_true(lk_msg_row_value(body, 0, &v, &count));
    assert_int_equal(count, 2);
    assert_true(!v.null && lk_span_is(v.data, "t"));
    assert_true(lk_msg_row_value(body, 1, &v, NULL));
    assert_true(v.null);
    assert_false(lk_msg_row_value(body, 2, &v, NULL));
    assert_false(lk_msg_row_value(lk_span_head(body, body.n - 1), 1, &v, NULL));
}

static void
authentication_and_backend_key_are_a_number_and_a_rest(void **state)
{
    uint32_t number;
    struct lk_span rest;
    assert_true(lk_msg_authentication(BODY("\0\0\0\5salt"), &number, &rest));
    assert_int_equal(number, 5);
    assert_true(lk_span_is(rest, "salt"));
    assert_false(lk_msg_authentication(BODY("\0\0\0"), &number, &rest));
    assert_true(lk_msg_backend_key(BODY("\0\0\1\0abcd"), &number, &rest));
    assert_int_equal(number, 256);
    assert_true(lk_span_is(rest, "abcd"));
    assert_false(lk_msg_backend_key(BODY("\0\0\1\0abc"), &number, &rest));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_startup_packet_gives_its_parameters_in_order),
        cmocka_unit_test(a_startup_packet_without_parameters_is_well_formed),
        cmocka_unit_test(a_startup_packet_with_a_broken_list_is_malformed),
        cmocka_unit_test(of_another_major_version_only_the_code_is_read),
        cmocka_unit_test(encryption_requests_have_no_body),
        cmocka_unit_test(a_cancel_request_has_a_pid_and_a_secret_of_4_to_256_bytes),
        cmocka_unit_test(parse_gives_name_text_and_types),
        cmocka_unit_test(parse_with_missing_or_left_over_bytes_is_malformed),
        cmocka_unit_test(bind_gives_portal_statement_and_values),
        cmocka_unit_test(no_format_means_text_and_one_format_means_all),
        cmocka_unit_test(a_malformed_bind_gives_no_value),
        cmocka_unit_test(the_head_of_a_bind_is_enough_for_its_names),
        cmocka_unit_test(describe_and_close_name_a_statement_or_a_portal),
        cmocka_unit_test(execute_without_a_positive_limit_means_all_rows),
        cmocka_unit_test(a_function_call_gives_oid_and_arguments),
        cmocka_unit_test(an_error_field_is_found_by_its_code),
        cmocka_unit_test(a_parameter_status_is_a_pair),
        cmocka_unit_test(a_row_description_tells_the_type_of_each_column),
        cmocka_unit_test(a_data_row_tells_the_value_of_each_column),
        cmocka_unit_test(authentication_and_backend_key_are_a_number_and_a_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
