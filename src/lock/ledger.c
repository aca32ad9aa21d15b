#include "lock/ledger.h"

#include <stdlib.h>

#include "base/mem.h"

#define FIRST_ROOM 4u
/* While a probe's rows come in, entries that it will not see still stand beside those that it adds. */
#define PROBE_ROOM (2 * LK_LEDGER_MAX)
/* After these any lock may be held once more or less than was told. */
#define SPOILS_COUNTS (LK_UNSURE_TOUCH | LK_UNSURE_ERROR | LK_UNSURE_ANSWER | LK_UNSURE_HIDDEN)

static struct lk_held *
find(const struct lk_ledger *l, struct lk_key key, enum lk_lock_mode mode)
{
    for (uint32_t i = 0; i < l->count; i++)
        if (lk_key_eq(l->held[i].key, key) && l->held[i].mode == mode)
            return &l->held[i];
    return NULL;
}

static void
free_when_empty(struct lk_ledger *l)
{
    if (l->count > 0)
        return;
    free(l->held);
    l->held = NULL;
    l->room = 0;
}

static void
tell(const struct lk_ledger *l, enum lk_ledger_event what, const struct lk_held *held, struct lk_text *text)
{
    if (l->listener.heard)
        l->listener.heard(l->listener.context, what, held, text);
}

/* The entry goes; its room is the caller's. */
static void
lose(struct lk_ledger *l, struct lk_held *h)
{
    tell(l, LK_LEDGER_GONE, h, h->text);
    lk_text_unref(h->text);
}

static void
cut(struct lk_ledger *l, uint32_t count)
{
    while (l->count > count)
        lose(l, &l->held[--l->count]);
    free_when_empty(l);
}

static struct lk_held *
add(struct lk_ledger *l, struct lk_key key, enum lk_lock_mode mode, struct lk_text *text, struct lk_now since)
{
    if (l->count == l->room) {
        l->room = l->room ? l->room * 2 : FIRST_ROOM;
        l->held = lk_mem_grow(l->held, l->room * sizeof(*l->held));
    }
    struct lk_held *h = &l->held[l->count++];
    *h = (struct lk_held){.key = key, .mode = mode, .since = since, .text = lk_text_ref(text)};
    tell(l, LK_LEDGER_TAKEN, h, text);
    return h;
}

void
lk_ledger_clear(struct lk_ledger *l)
{
    cut(l, 0);
    *l = (struct lk_ledger){0};
}

bool
lk_ledger_lock(struct lk_ledger *l, struct lk_key key, enum lk_lock_mode mode, struct lk_text *text, struct lk_now now)
{
    struct lk_held *h = find(l, key, mode);
    if (h) {
        if (h->count > 0)
            h->count = h->count < UINT32_MAX ? h->count + 1 : 0;
        return false;
    }
    if (l->count >= LK_LEDGER_MAX) {
        l->beyond++;
        lk_ledger_doubt(l, LK_UNSURE_FULL);
        return false;
    }
    h = add(l, key, mode, text, now);
    /* What the ledger missed while unsure may have been this very lock. */
    h->count = l->unsure ? 0 : 1;
    h->source = LK_HELD_LEDGER;
    return true;
}

void
lk_ledger_refuse(struct lk_ledger *l, struct lk_text *text)
{
    tell(l, LK_LEDGER_REFUSED, NULL, text);
}

void
lk_ledger_unlock(struct lk_ledger *l, struct lk_key key, enum lk_lock_mode mode)
{
    struct lk_held *h = find(l, key, mode);
    if (!h || h->count == 0) {
        lk_ledger_doubt(l, LK_UNSURE_COUNT);
        return;
    }
    if (--h->count > 0)
        return;
    lose(l, h);
    *h = l->held[--l->count];
    free_when_empty(l);
}

void
lk_ledger_unlock_all(struct lk_ledger *l)
{
    cut(l, 0);
    l->unsure = 0;
    l->beyond = 0;
}

void
lk_ledger_nest(struct lk_ledger *l, struct lk_key key, enum lk_lock_mode mode)
{
    struct lk_held *h = find(l, key, mode);
    if (h)
        h->nested = true;
}

void
lk_ledger_leave(struct lk_ledger *l)
{
    for (uint32_t i = 0; i < l->count; i++)
        l->held[i].left = true;
    l->unsure = 0;
    l->beyond = 0;
}

const struct lk_held *
lk_ledger_idles(struct lk_ledger *l)
{
    const struct lk_held *oldest = NULL;
    for (uint32_t i = 0; i < l->count; i++) {
        struct lk_held *h = &l->held[i];
        if (!h->left && !h->idle_told && (!oldest || h->since.mono_us < oldest->since.mono_us))
            oldest = h;
        h->idle_told = true;
    }
    return oldest;
}

uint32_t
lk_ledger_own(const struct lk_ledger *l)
{
    uint32_t own = 0;
    for (uint32_t i = 0; i < l->count; i++)
        own += !l->held[i].left;
    return own;
}

void
lk_ledger_doubt(struct lk_ledger *l, enum lk_unsure why)
{
    l->unsure |= why;
    if (!(why & SPOILS_COUNTS))
        return;
    for (uint32_t i = 0; i < l->count; i++)
        l->held[i].count = 0;
}

const struct lk_held *
lk_ledger_find(const struct lk_ledger *l, struct lk_key key, enum lk_lock_mode mode)
{
    return find(l, key, mode);
}

const struct lk_held *
lk_ledger_oldest(const struct lk_ledger *l)
{
    const struct lk_held *found = NULL;
    for (uint32_t i = 0; i < l->count; i++) {
        if (!l->held[i].left && (!found || l->held[i].since.mono_us < found->since.mono_us))
            found = &l->held[i];
    }
    return found;
}

void
lk_ledger_probe_begin(struct lk_ledger *l)
{
    l->probes++;
    l->beyond = 0;
}

bool
lk_ledger_probe_row(
    struct lk_ledger *l, struct lk_key key, enum lk_lock_mode mode, struct lk_text *text, struct lk_now since)
{
    struct lk_held *h = find(l, key, mode);
    if (h) {
        h->seen = l->probes;
        return false;
    }
    if (l->count >= PROBE_ROOM) {
        l->beyond++;
        return true;
    }
    h = add(l, key, mode, text, since);
    h->source = LK_HELD_PROBE;
    h->seen = l->probes;
    return true;
}

void
lk_ledger_swept(struct lk_ledger *l, struct lk_key key, enum lk_lock_mode mode, struct lk_now now)
{
    lk_ledger_doubt(l, LK_UNSURE_HIDDEN);
    if (l->count < LK_LEDGER_MAX && !find(l, key, mode))
        add(l, key, mode, NULL, now)->source = LK_HELD_SWEEP;
}

void
lk_ledger_probe_end(struct lk_ledger *l)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->held[i].seen == l->probes)
            l->held[kept++] = l->held[i];
        else
            lose(l, &l->held[i]);
    }
    l->count = kept;
    if (kept > LK_LEDGER_MAX) {
        l->beyond += kept - LK_LEDGER_MAX;
        cut(l, LK_LEDGER_MAX);
    }
    free_when_empty(l);
    l->unsure = l->beyond > 0 ? LK_UNSURE_FULL : 0;
}

const char *
lk_mode_name(enum lk_lock_mode mode)
{
    return mode == LK_MODE_SHARED ? "shared" : "exclusive";
}
