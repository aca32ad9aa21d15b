#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/histogram.h"

static void
a_duration_is_in_the_first_bucket_whose_bound_it_does_not_exceed(void **state)
{
    static const struct {
        int64_t us;
        unsigned bucket;
    } durations[] = {{-5, 0}, {0, 0}, {1000, 0}, {1001, 1}, {1000000, 3}, {3600000000, 7}, {3600000001, 8}, {INT64_MAX / 2, 8}};
    for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
        struct lk_histogram h = {0};
        lk_histogram_add(&h, durations[i].us);
        for (unsigned b = 0; b <= LK_HISTOGRAM_BOUNDS; b++)
            assert_int_equal(h.buckets[b], b == durations[i].bucket);
        assert_int_equal(h.sum_us, durations[i].us > 0 ? durations[i].us : 0);
    }
}

static void
bounds_ascend(void **state)
{
    for (unsigned i = 1; i < LK_HISTOGRAM_BOUNDS; i++)
        assert_true(lk_histogram_bounds_us[i - 1] < lk_histogram_bounds_us[i]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_duration_is_in_the_first_bucket_whose_bound_it_does_not_exceed),
        cmocka_unit_test(bounds_ascend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
