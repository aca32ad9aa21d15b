#include "tool/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void
add(struct lk_tally *t, const char *value, const char *name, uint64_t leaks, int64_t held_ms, const char *ts)
{
    lk_tally_add(t, lk_span_str(value), lk_span_str(name), leaks, held_ms, lk_span_str(ts));
}

static void
leaks_of_one_value_are_counted_together(void **state)
{
    struct lk_tally t = {0};
    add(&t, "a", "", 1, 30, "2026-11-30T09:00:00.000000Z");
    add(&t, "a", "nightly", 1, -1, "2026-11-30T08:00:00.000000Z");
    add(&t, "a", "other", 5, 10, "2026-11-30T08:30:00.000000Z");
    const struct lk_group **groups = lk_tally_sorted(&t, false);
    assert_int_equal(t.count, 1);
    assert_int_equal(groups[0]->leaks, 7);
    assert_int_equal(groups[0]->held_known, 2);
    assert_int_equal(groups[0]->held_sum_ms, 40);
    assert_int_equal(groups[0]->held_most_ms, 30);
    assert_string_equal(groups[0]->name, "nightly");
    assert_string_equal(groups[0]->first, "2026-11-30T08:00:00.000000Z");
    assert_string_equal(groups[0]->last, "2026-11-30T09:00:00.000000Z");
    free(groups);
    lk_tally_clear(&t);
}

static void
groups_come_by_leaks_or_by_value(void **state)
{
    struct lk_tally t = {0};
    add(&t, "b", "", 1, -1, "2");
    add(&t, "", "", 1, -1, "2");
    add(&t, "c", "", 3, -1, "2");
    add(&t, "bb", "", 1, -1, "2");
    const char *leaks[] = {"c", "", "b", "bb"}, *values[] = {"", "b", "bb", "c"};
    const struct lk_group **by_leaks = lk_tally_sorted(&t, false), **by_value = lk_tally_sorted(&t, true);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(by_leaks[i]->value, leaks[i]);
        assert_string_equal(by_value[i]->value, values[i]);
    }
    free(by_leaks);
    free(by_value);
    lk_tally_clear(&t);
}

static void
values_beyond_the_bound_count_together(void **state)
{
    struct lk_tally t = {0};
    char value[16];
    for (unsigned i = 0; i < LK_TALLY_GROUPS_MAX + 3; i++) {
        (void)snprintf(value, sizeof(value), "%u", i);
        add(&t, value, "", 1, 7, "2");
    }
    add(&t, "5", "", 1, -1, "3");
    assert_int_equal(t.count, LK_TALLY_GROUPS_MAX);
    assert_int_equal(t.others.leaks, 3);
    assert_int_equal(t.others.held_most_ms, 7);
    const struct lk_group **groups = lk_tally_sorted(&t, false);
    assert_string_equal(groups[0]->value, "5");
    free(groups);
    lk_tally_clear(&t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaks_of_one_value_are_counted_together),
        cmocka_unit_test(groups_come_by_leaks_or_by_value),
        cmocka_unit_test(values_beyond_the_bound_count_together),
    };
    return cmocka_run_group_tests_name("tool/tally", tests, NULL, NULL);
}
