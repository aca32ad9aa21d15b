/* How often something took how long: counts by duration, as Prometheus reads them. A zeroed struct is empty. Not
 * thread-safe. */
#ifndef LK_BASE_HISTOGRAM_H
#define LK_BASE_HISTOGRAM_H

#include <stdint.h>

#define LK_HISTOGRAM_BOUNDS 8u

/* Upper bounds, ascending; what is longer than the last is in one bucket more. */
extern const int64_t lk_histogram_bounds_us[LK_HISTOGRAM_BOUNDS];

struct lk_histogram {
    uint64_t buckets[LK_HISTOGRAM_BOUNDS + 1]; /* each counts what is not in one before it */
    uint64_t sum_us;
};

/* Negative durations count as 0. */
void lk_histogram_add(struct lk_histogram *h, int64_t us);

#endif
