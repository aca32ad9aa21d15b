#include "wire/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define BYTES(literal) lk_span_make("" literal, sizeof(literal) - 1)

static void
assert_built(struct lk_buf *b, struct lk_span expected)
{
    assert_false(b->failed);
    assert_int_equal(b->len, expected.n);
    assert_memory_equal(b->data, expected.p, expected.n);
    lk_buf_clear(b);
}

static void
server_messages_have_the_documented_bytes(void **state)
{
    struct lk_buf b = {0};
    lk_build_ready(&b, 'T');
    assert_built(&b, BYTES("Z\0\0\0\5T"));
    lk_build_authentication(&b, 5, BYTES("salt"));
    assert_built(&b, BYTES("R\0\0\0\x0c\0\0\0\5salt"));
    lk_build_parameter_status(&b, "TimeZone", "UTC");
    assert_built(&b, BYTES("S\0\0\0\x11TimeZone\0UTC\0"));
    lk_build_backend_key(&b, 258, BYTES("abcd"));
    assert_built(&b, BYTES("K\0\0\0\x0c\0\0\1\2abcd"));
    lk_build_command_complete(&b, "BEGIN");
    assert_built(&b, BYTES("C\0\0\0\x0a"
                           "BEGIN\0"));
    lk_build_empty(&b, '1');
    assert_built(&b, BYTES("1\0\0\0\4"));
    const struct lk_span unknown[] = {BYTES("_pq_.x")};
    lk_build_negotiate(&b, 0x00030000, unknown, 1);
    assert_built(&b, BYTES("v\0\0\0\x13\0\3\0\0\0\0\0\1_pq_.x\0"));
}

static void
an_error_carries_detail_and_hint_only_when_there_are_any(void **state)
{
    struct lk_buf b = {0};
    struct lk_error e;
    lk_error_set(&e, "28P01", "no");
    lk_build_error(&b, "FATAL", &e, false);
    assert_built(&b, BYTES("E\0\0\0\x1e"
                           "SFATAL\0VFATAL\0C28P01\0Mno\0\0"));
    lk_error_detail(&e, "d");
    lk_error_hint(&e, "h");
    lk_build_error(&b, "NOTICE", &e, true);
    assert_built(&b, BYTES("N\0\0\0\x26SNOTICE\0VNOTICE\0C28P01\0Mno\0Dd\0Hh\0\0"));
}

static void
a_result_is_described_with_its_types_and_nulls(void **state)
{
    struct lk_buf b = {0};
    const struct lk_build_column columns[] = {{"n", 20}, {"t", 25}};
    lk_build_row_description(&b, columns, 2);
    assert_built(&b, BYTES("T\0\0\0\x2e\0\2n\0\0\0\0\0\0\0\0\0\0\x14\0\x08\xff\xff\xff\xff\0\0"
                           "t\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0"));
    const char *const values[] = {"42", NULL, ""};
    lk_build_data_row(&b, values, 3);
    assert_built(&b, BYTES("D\0\0\0\x14\0\3\0\0\0\2"
                           "42\xff\xff\xff\xff\0\0\0\0"));
}

static void
client_messages_have_the_documented_bytes(void **state)
{
    struct lk_buf b = {0};
    lk_build_query(&b, BYTES("select 1"));
    assert_built(&b, BYTES("Q\0\0\0\x0dselect 1\0"));
    lk_build_parse(&b, "s", BYTES("x"), 1, BYTES("\0\0\0\x17"));
    assert_built(&b, BYTES("P\0\0\0\x0es\0x\0\0\1\0\0\0\x17"));
    const struct lk_span params[] = {BYTES("7"), {NULL, 0}};
    lk_build_bind(&b, "s", params, 2);
    assert_built(&b, BYTES("B\0\0\0\x16\0s\0\0\0\0\2\0\0\0\1"
                           "7\xff\xff\xff\xff\0\0"));
    lk_build_execute(&b, "", 0);
    assert_built(&b, BYTES("E\0\0\0\x09\0\0\0\0\0"));
    lk_build_target(&b, 'C', 'S', "s");
    assert_built(&b, BYTES("C\0\0\0\x07Ss\0"));
    lk_build_sync(&b);
    lk_build_terminate(&b);
    assert_built(&b, BYTES("S\0\0\0\4X\0\0\0\4"));
    lk_build_copy_fail(&b, "no");
    assert_built(&b, BYTES("f\0\0\0\7no\0"));
    lk_build_fcall(&b, 2892);
    assert_built(&b, BYTES("F\0\0\0\x0e\0\0\x0b\x4c\0\0\0\0\0\0"));
    lk_build_password(&b, BYTES("pw\0"));
    assert_built(&b, BYTES("p\0\0\0\7pw\0"));
    lk_build_sasl_initial(&b, "M", BYTES("data"));
    assert_built(&b, BYTES("p\0\0\0\x0eM\0\0\0\0\4data"));
}

static void
first_packets_have_no_type(void **state)
{
    struct lk_buf b = {0};
    const char *const pairs[] = {"user", "ann", NULL};
    lk_build_startup(&b, 0x00030000, pairs);
    assert_built(&b, BYTES("\0\0\0\x12\0\3\0\0user\0ann\0\0"));
    lk_build_ssl_request(&b);
    assert_built(&b, BYTES("\0\0\0\x08\x04\xd2\x16\x2f"));
    lk_build_cancel(&b, 258, BYTES("abcd"));
    assert_built(&b, BYTES("\0\0\0\x10\x04\xd2\x16\x2e\0\0\1\2abcd"));
}

static void
a_buffer_that_failed_stays_failed_and_is_not_touched(void **state)
{
    struct lk_buf b = {.failed = true};
    size_t at = lk_build_begin(&b, 'd');
    lk_build_end(&b, at);
    assert_true(b.failed);
    assert_memory_equal(b.data, "d\0\0\0\0", 5);
    lk_buf_clear(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_messages_have_the_documented_bytes),
        cmocka_unit_test(an_error_carries_detail_and_hint_only_when_there_are_any),
        cmocka_unit_test(a_result_is_described_with_its_types_and_nulls),
        cmocka_unit_test(client_messages_have_the_documented_bytes),
        cmocka_unit_test(first_packets_have_no_type),
        cmocka_unit_test(a_buffer_that_failed_stays_failed_and_is_not_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
