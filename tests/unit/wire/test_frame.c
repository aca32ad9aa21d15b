#include "wire/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const uint8_t sync_then_query[] = {'S', 0, 0, 0, 4, 'Q', 0, 0, 0, 6, 'x', 0};

static void
a_whole_frame_gives_type_total_and_body(void **state)
{
    struct lk_frame f;
    struct lk_span in = lk_span_make(sync_then_query, sizeof(sync_then_query));
    assert_int_equal(lk_frame_next(in, UINT32_MAX, &f), LK_FRAME_WHOLE);
    assert_int_equal(f.type, 'S');
    assert_int_equal(f.total, 5);
    assert_int_equal(f.body.n, 0);
    assert_int_equal(lk_frame_next(lk_span_skip(in, f.total), UINT32_MAX, &f), LK_FRAME_WHOLE);
    assert_int_equal(f.type, 'Q');
    assert_int_equal(f.total, 7);
    assert_memory_equal(f.body.p, "x", 2);
    assert_int_equal(f.body.n, 2);
}

static void
less_than_a_head_asks_for_more(void **state)
{
    struct lk_frame f;
    for (size_t n = 0; n < LK_FRAME_HEAD; n++)
        assert_int_equal(lk_frame_next(lk_span_make(sync_then_query, n), UINT32_MAX, &f), LK_FRAME_MORE);
}

static void
a_part_of_a_frame_gives_its_total_and_the_body_so_far(void **state)
{
    struct lk_frame f;
    assert_int_equal(lk_frame_next(lk_span_make(sync_then_query + 5, 6), UINT32_MAX, &f), LK_FRAME_PART);
    assert_int_equal(f.type, 'Q');
    assert_int_equal(f.total, 7);
    assert_int_equal(f.body.n, 1);
    assert_int_equal(lk_frame_next(lk_span_make(sync_then_query + 5, 5), UINT32_MAX, &f), LK_FRAME_PART);
    assert_int_equal(f.body.n, 0);
}

static enum lk_frame_status
status_of_length(uint32_t length, uint32_t max_total)
{
    uint8_t head[] = {'d', (uint8_t)(length >> 24), (uint8_t)(length >> 16), (uint8_t)(length >> 8), (uint8_t)length};
    struct lk_frame f;
    return lk_frame_next(lk_span_make(head, sizeof(head)), max_total, &f);
}

static void
a_length_that_no_frame_can_have_is_bad(void **state)
{
    for (uint32_t length = 0; length < 4; length++)
        assert_int_equal(status_of_length(length, UINT32_MAX), LK_FRAME_BAD);
    assert_int_equal(status_of_length(4, UINT32_MAX), LK_FRAME_WHOLE);
    assert_int_equal(status_of_length(INT32_MAX, UINT32_MAX), LK_FRAME_PART);
    assert_int_equal(status_of_length((uint32_t)INT32_MAX + 1, UINT32_MAX), LK_FRAME_BAD);
    assert_int_equal(status_of_length(UINT32_MAX, UINT32_MAX), LK_FRAME_BAD);
}

static void
the_bound_counts_the_whole_frame(void **state)
{
    assert_int_equal(status_of_length(99, 100), LK_FRAME_PART);
    assert_int_equal(status_of_length(100, 100), LK_FRAME_BAD);
}

static enum lk_frame_status
startup_status(uint32_t length, size_t there, struct lk_frame *f)
{
    static uint8_t packet[LK_FRAME_STARTUP_MAX + 8];
    for (unsigned i = 0; i < 4; i++)
        packet[i] = (uint8_t)(length >> (24 - 8 * i));
    return lk_frame_startup(lk_span_make(packet, there), f);
}

static void
a_startup_packet_has_no_type(void **state)
{
    struct lk_frame f;
    assert_int_equal(startup_status(12, 20, &f), LK_FRAME_WHOLE);
    assert_int_equal(f.type, 0);
    assert_int_equal(f.total, 12);
    assert_int_equal(f.body.n, 8);
    assert_int_equal(startup_status(12, 11, &f), LK_FRAME_PART);
    assert_int_equal(f.body.n, 7);
    assert_int_equal(startup_status(12, 4, &f), LK_FRAME_PART);
    assert_int_equal(startup_status(12, 3, &f), LK_FRAME_MORE);
}

static void
a_startup_packet_of_impossible_length_is_bad(void **state)
{
    struct lk_frame f;
    assert_int_equal(startup_status(7, 8, &f), LK_FRAME_BAD);
    assert_int_equal(startup_status(8, 8, &f), LK_FRAME_WHOLE);
    assert_int_equal(startup_status(LK_FRAME_STARTUP_MAX + 4, 8, &f), LK_FRAME_PART);
    assert_int_equal(startup_status(LK_FRAME_STARTUP_MAX + 5, 8, &f), LK_FRAME_BAD);
    /* An HTTP request's first bytes read as a length. */
    assert_int_equal(lk_frame_startup(lk_span_str("GET / HTTP/1.1"), &f), LK_FRAME_BAD);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_frame_gives_type_total_and_body),
        cmocka_unit_test(less_than_a_head_asks_for_more),
        cmocka_unit_test(a_part_of_a_frame_gives_its_total_and_the_body_so_far),
        cmocka_unit_test(a_length_that_no_frame_can_have_is_bad),
        cmocka_unit_test(the_bound_counts_the_whole_frame),
        cmocka_unit_test(a_startup_packet_has_no_type),
        cmocka_unit_test(a_startup_packet_of_impossible_length_is_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
