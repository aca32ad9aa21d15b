#include "lock/trust.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

#define FIRST_SLOTS 1024u
#define TENTHS 10u

/* What is known of one statement of one scope. The key stands for all three, as a hash of 64 bits. */
struct entry {
    uint64_t key;       /* 0: a free slot */
    uint32_t tenths[2]; /* evidence, in company and alone */
    bool touch;
    bool blamed; /* in company */
    bool used; /* since the clock's hand came by */
};

/* Open addressing, linear probing, at most half full; entries that follow a freed slot move up. */
struct lk_trust {
    struct entry *slots; /* owned */
    uint32_t slot_count; /* a power of two */
    uint32_t count;
    uint32_t touches;
    uint32_t max;
    uint32_t hand;
};

struct lk_trust *
lk_trust_new(uint32_t max_entries)
{
    assert(max_entries > 0 && max_entries <= UINT32_MAX / 4);
    struct lk_trust *t = LK_NEW(struct lk_trust);
    t->max = max_entries;
    t->slot_count = FIRST_SLOTS;
    t->slots = lk_mem_new(t->slot_count * sizeof(*t->slots));
    return t;
}

void
lk_trust_free(struct lk_trust *t)
{
    if (!t)
        return;
    free(t->slots);
    free(t);
}

static uint64_t
mix(uint64_t v)
{
    v = (v ^ v >> 33) * 0x9e3779b97f4a7c15ULL;
    v = (v ^ v >> 29) * 0xd6e8feb86659fd93ULL;
    return v ^ v >> 32;
}

static uint64_t
key_of(const struct lk_trust_scope *scope, uint64_t fingerprint)
{
    uint64_t key = fingerprint ^ mix(mix(scope->id) + scope->generation);
    return key ? key : 1;
}

/* The slot of the key, or the free one where it would stand. */
static struct entry *
slot_of(const struct lk_trust *t, uint64_t key)
{
    uint32_t mask = t->slot_count - 1;
    uint32_t i = (uint32_t)key & mask;
    while (t->slots[i].key != 0 && t->slots[i].key != key)
        i = (i + 1) & mask;
    return &t->slots[i];
}

static void
grow(struct lk_trust *t)
{
    struct entry *old = t->slots;
    uint32_t old_count = t->slot_count;
    t->slot_count *= 2;
    t->slots = lk_mem_new(t->slot_count * sizeof(*t->slots));
    t->hand = 0;
    for (uint32_t i = 0; i < old_count; i++)
        if (old[i].key != 0)
            *slot_of(t, old[i].key) = old[i];
    free(old);
}

static void
remove_at(struct lk_trust *t, uint32_t hole)
{
    uint32_t mask = t->slot_count - 1;
    t->count--;
    t->touches -= t->slots[hole].touch;
    for (uint32_t i = (hole + 1) & mask; t->slots[i].key != 0; i = (i + 1) & mask) {
        uint32_t home = (uint32_t)t->slots[i].key & mask;
        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        t->slots[hole] = t->slots[i];
        hole = i;
    }
    t->slots[hole] = (struct entry){0};
}

/* The clock: the first entry that was not used for one turn goes. Touches stay out of it up to half of the table; more
 * than that are mostly those of generations that nobody asks for any more. */
static void
evict(struct lk_trust *t)
{
    bool spare_touches = t->touches <= t->max / 2;
    for (;;) {
        uint32_t at = t->hand;
        struct entry *e = &t->slots[at];
        if (e->key != 0 && !(spare_touches && e->touch)) {
            if (!e->used) {
                remove_at(t, at);
                return;
            }
            e->used = false;
        }
        t->hand = (at + 1) & (t->slot_count - 1);
    }
}

static struct entry *
find_or_add(struct lk_trust *t, uint64_t key)
{
    struct entry *e = slot_of(t, key);
    if (e->key == 0) {
        if (t->count >= t->max)
            evict(t);
        else if (t->count >= t->slot_count / 2)
            grow(t);
        e = slot_of(t, key);
        e->key = key;
        t->count++;
    }
    e->used = true;
    return e;
}

enum lk_trusted
lk_trust_look(struct lk_trust *t, const struct lk_trust_scope *scope, uint64_t fingerprint, bool alone, uint32_t after)
{
    enum lk_trusted without = after == 0 ? LK_TRUST_TRUSTED : LK_TRUST_UNKNOWN;
    if (fingerprint == 0)
        return without;
    struct entry *e = slot_of(t, key_of(scope, fingerprint));
    if (e->key == 0)
        return without;
    e->used = true;
    if (e->touch)
        return LK_TRUST_TOUCH;
    if (e->tenths[alone] >= (uint64_t)after * TENTHS)
        return LK_TRUST_TRUSTED;
    return e->blamed ? LK_TRUST_BLAMED : LK_TRUST_UNKNOWN;
}

void
lk_trust_evidence(
    struct lk_trust *t, const struct lk_trust_scope *scope, uint64_t fingerprint, bool alone, uint32_t tenths)
{
    if (fingerprint == 0)
        return;
    struct entry *e = find_or_add(t, key_of(scope, fingerprint));
    uint32_t *sum = &e->tenths[alone];
    *sum = tenths > UINT32_MAX - *sum ? UINT32_MAX : *sum + tenths;
}

void
lk_trust_blame(struct lk_trust *t, const struct lk_trust_scope *scope, uint64_t fingerprint, bool sole)
{
    if (fingerprint == 0)
        return;
    uint64_t key = key_of(scope, fingerprint);
    struct entry *e = find_or_add(t, key);
    e->tenths[false] = e->tenths[true] = 0;
    e->blamed = !sole;
    if (sole && !e->touch) {
        e->touch = true;
        t->touches++;
    }
}

uint32_t
lk_trust_count(const struct lk_trust *t)
{
    return t->count;
}

/* A pool's backend has a second of time in every second, however little it is asked: below that, probes are in nobody's
 * way. */
static void
turn(struct lk_probe_meter *m, int64_t mono_us)
{
    int64_t second = mono_us / LK_SECOND_US;
    if (second == m->second)
        return;
    int64_t time_us = m->work_us > LK_SECOND_US ? m->work_us : LK_SECOND_US;
    m->over = second == m->second + 1 && m->probe_us > time_us / 10;
    m->second = second;
    m->probe_us = m->work_us = 0;
}

void
lk_probe_meter_add(struct lk_probe_meter *m, int64_t mono_us, int64_t work_us, int64_t probe_us)
{
    turn(m, mono_us);
    m->work_us += work_us;
    m->probe_us += probe_us;
}

bool
lk_probe_meter_allows(struct lk_probe_meter *m, int64_t mono_us)
{
    turn(m, mono_us);
    return !m->over;
}
