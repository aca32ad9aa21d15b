/* Leaks counted by one field of their records: a group for each value, as many values as there are up to a bound. */
#ifndef LK_TOOL_TALLY_H
#define LK_TOOL_TALLY_H

#include <stdint.h>

#include "base/span.h"

/* Values beyond count together, as one group. */
#define LK_TALLY_GROUPS_MAX 100000u

struct lk_group {
    char *value; /* owned; bytes of a record, NUL-terminated */
    size_t value_n;
    char *name; /* owned: of a key, where a record had one; else NULL */
    size_t name_n;
    uint64_t leaks;
    uint64_t held_known; /* leaks of which it is known how long they were held */
    int64_t held_sum_ms, held_most_ms;
    char first[28], last[28]; /* "ts" of the records, RFC 3339 */
};

struct lk_tally {
    struct lk_slot *slots; /* uthash, owned */
    uint32_t count;
    struct lk_group others; /* beyond the bound; leaks is 0 while there are none */
};

/* Adds `leaks` under a value. `name` may be empty; held_ms is -1 where it isn't known. */
void lk_tally_add(
    struct lk_tally *t, struct lk_span value, struct lk_span name, uint64_t leaks, int64_t held_ms, struct lk_span ts);
/* All groups but `others`, most leaks first, or, by_value, in the order of their values. Owner: the caller, by free();
 * what it points to is the tally's. */
const struct lk_group **lk_tally_sorted(const struct lk_tally *t, bool by_value);
void lk_tally_clear(struct lk_tally *t);

#endif
