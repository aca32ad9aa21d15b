#include "tool/tally.h"

#include <stdlib.h>

#include <uthash.h>

#include "base/mem.h"

struct lk_slot {
    UT_hash_handle hh; /* by group.value */
    struct lk_group group;
};

static void
copy_time(char out[28], struct lk_span ts)
{
    size_t n = ts.n < 27 ? ts.n : 27;
    memcpy(out, ts.p, n);
    out[n] = '\0';
}

static bool
is_before(struct lk_span ts, const char *than)
{
    size_t n = strlen(than);
    int order = memcmp(ts.p, than, ts.n < n ? ts.n : n);
    return order < 0 || (order == 0 && ts.n < n);
}

static void
add(struct lk_group *g, uint64_t leaks, int64_t held_ms, struct lk_span ts)
{
    if (g->leaks == 0 || is_before(ts, g->first))
        copy_time(g->first, ts);
    if (g->leaks == 0 || !is_before(ts, g->last))
        copy_time(g->last, ts);
    g->leaks += leaks;
    if (held_ms < 0)
        return;
    g->held_known++;
    g->held_sum_ms += held_ms;
    if (held_ms > g->held_most_ms)
        g->held_most_ms = held_ms;
}

/* NULL: there is no room for another value. */
static struct lk_group *
group_of(struct lk_tally *t, struct lk_span value)
{
    struct lk_slot *slot = NULL;
    HASH_FIND(hh, t->slots, value.p, value.n, slot);
    if (slot)
        return &slot->group;
    if (t->count == LK_TALLY_GROUPS_MAX)
        return NULL;
    slot = LK_NEW(struct lk_slot);
    slot->group.value = lk_mem_dup_span(value);
    slot->group.value_n = value.n;
    HASH_ADD_KEYPTR(hh, t->slots, slot->group.value, value.n, slot);
    t->count++;
    return &slot->group;
}

void
lk_tally_add(
    struct lk_tally *t, struct lk_span value, struct lk_span name, uint64_t leaks, int64_t held_ms, struct lk_span ts)
{
    struct lk_group *g = group_of(t, value.n > 0 ? value : lk_span_make("", 0));
    if (!g) {
        g = &t->others;
    } else if (!g->name && name.n > 0) {
        g->name = lk_mem_dup_span(name);
        g->name_n = name.n;
    }
    add(g, leaks, held_ms, ts);
}

static int
compare_values(const void *a, const void *b)
{
    const struct lk_group *x = *(const struct lk_group *const *)a, *y = *(const struct lk_group *const *)b;
    int order = memcmp(x->value, y->value, x->value_n < y->value_n ? x->value_n : y->value_n);
    return order != 0 ? order : (x->value_n > y->value_n) - (x->value_n < y->value_n);
}

static int
compare_leaks(const void *a, const void *b)
{
    const struct lk_group *x = *(const struct lk_group *const *)a, *y = *(const struct lk_group *const *)b;
    return x->leaks != y->leaks ? (x->leaks < y->leaks) - (x->leaks > y->leaks) : compare_values(a, b);
}

const struct lk_group **
lk_tally_sorted(const struct lk_tally *t, bool by_value)
{
    const struct lk_group **groups = lk_mem_new((t->count + 1) * sizeof(*groups));
    size_t n = 0;
    for (const struct lk_slot *s = t->slots; s; s = s->hh.next)
        groups[n++] = &s->group;
    qsort(groups, n, sizeof(*groups), by_value ? compare_values : compare_leaks);
    return groups;
}

void
lk_tally_clear(struct lk_tally *t)
{
    struct lk_slot *s, *next;
    HASH_ITER(hh, t->slots, s, next)
    {
        HASH_DEL(t->slots, s);
        free(s->group.value);
        free(s->group.name);
        free(s);
    }
    *t = (struct lk_tally){0};
}
