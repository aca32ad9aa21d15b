#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static int64_t
read_us(clockid_t id)
{
    struct timespec ts;
    (void)clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * LK_SECOND_US + ts.tv_nsec / 1000;
}

struct lk_now
lk_clock_read(void)
{
    return (struct lk_now){.mono_us = read_us(CLOCK_MONOTONIC), .wall_us = read_us(CLOCK_REALTIME)};
}

void
lk_clock_rfc3339(int64_t wall_us, char out[28])
{
    time_t s = (time_t)(wall_us / LK_SECOND_US);
    struct tm tm;
    char day[20];
    (void)gmtime_r(&s, &tm);
    (void)strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(out, 28, "%.19s.%06uZ", day, (unsigned)(wall_us % LK_SECOND_US) % 1000000u);
}

void
lk_clock_logform(int64_t wall_us, char out[28])
{
    time_t s = (time_t)(wall_us / LK_SECOND_US);
    struct tm tm;
    char day[20];
    (void)gmtime_r(&s, &tm);
    (void)strftime(day, sizeof(day), "%Y-%m-%d %H:%M:%S", &tm);
    (void)snprintf(out, 28, "%.19s.%03u UTC", day, (unsigned)(wall_us % LK_SECOND_US / 1000) % 1000u);
}
