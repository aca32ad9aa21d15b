/* Time. The core gets `now` handed in; only net/ and the sinks call lk_clock_read. */
#ifndef LK_BASE_CLOCK_H
#define LK_BASE_CLOCK_H

#include <stdint.h>

struct lk_now {
    int64_t mono_us; /* monotonic, for durations */
    int64_t wall_us; /* since 1970-01-01 UTC, for records */
};

#define LK_SECOND_US ((int64_t)1000000)

struct lk_now lk_clock_read(void);
/* "2026-11-30T09:15:02.123456Z" into out[28]. RFC 3339. */
void lk_clock_rfc3339(int64_t wall_us, char out[28]);
/* "2026-11-30 09:15:02.123 UTC" into out[28], the form of PostgreSQL's log. */
void lk_clock_logform(int64_t wall_us, char out[28]);

#endif
