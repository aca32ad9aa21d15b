#include "base/histogram.h"

const int64_t lk_histogram_bounds_us[LK_HISTOGRAM_BOUNDS] = {
    1000, 10000, 100000, 1000000, 10000000, 60000000, 600000000, 3600000000};

void
lk_histogram_add(struct lk_histogram *h, int64_t us)
{
    unsigned bucket = 0;
    us = us > 0 ? us : 0;
    while (bucket < LK_HISTOGRAM_BOUNDS && us > lk_histogram_bounds_us[bucket])
        bucket++;
    h->buckets[bucket]++;
    h->sum_us += (uint64_t)us;
}
