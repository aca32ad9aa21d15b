#include "session/replies.h"

#include <stdlib.h>

#include "base/mem.h"

static struct lk_reply *
slot(const struct lk_replies *q, uint32_t index)
{
    return &q->ring[(q->head + index) & (q->room - 1)];
}

void
lk_reply_release(struct lk_reply *r)
{
    if (r->analysis)
        lk_analysis_unref(r->analysis);
    if (r->watch)
        lk_watch_free(r->watch);
    if (r->statement)
        lk_statement_unref(r->statement);
    free(r->name);
    free(r->error);
}

void
lk_replies_clear(struct lk_replies *q)
{
    while (q->count > 0)
        lk_replies_pop(q);
    free(q->ring);
    *q = (struct lk_replies){0};
}

static bool
grow(struct lk_replies *q)
{
    uint32_t room = q->room ? q->room * 2 : 8;
    if (room > LK_REPLIES_MAX)
        return false;
    struct lk_reply *ring = lk_mem_try(room * sizeof(*ring));
    if (!ring)
        return false;
    for (uint32_t i = 0; i < q->count; i++)
        ring[i] = *slot(q, i);
    free(q->ring);
    q->ring = ring;
    q->room = room;
    q->head = 0;
    return true;
}

struct lk_reply *
lk_replies_push(struct lk_replies *q, enum lk_reply_kind kind, enum lk_reply_purpose purpose)
{
    if (q->count == q->room && !grow(q))
        return NULL;
    struct lk_reply *r = slot(q, q->count++);
    *r = (struct lk_reply){.kind = (uint8_t)kind, .purpose = (uint8_t)purpose};
    if (kind == LK_REPLY_QUERY || kind == LK_REPLY_EXECUTE)
        q->data_sent = false;
    switch (kind) {
    case LK_REPLY_SYNC:
        r->after_data = q->data_sent;
        q->unsynced = false;
        q->skipping = false;
        break;
    case LK_REPLY_QUERY:
    case LK_REPLY_FCALL:
        break;
    default:
        if (purpose != LK_FOR_NOBODY)
            q->unsynced = true;
    }
    return r;
}

void
lk_replies_adds(struct lk_replies *q, struct lk_reply *r)
{
    r->adds = true;
    q->adding++;
}

bool
lk_replies_unsettled(const struct lk_replies *q, const struct lk_statement *st)
{
    bool parsed = false;
    for (uint32_t i = 0; q->adding > 0 && i < q->count; i++) {
        const struct lk_reply *r = slot(q, i);
        if (r->kind == LK_REPLY_SYNC && parsed)
            return true;
        if (r->kind == LK_REPLY_PARSE && r->adds && r->statement == st)
            parsed = true;
    }
    return false;
}

bool
lk_replies_copy_ended(const struct lk_replies *q)
{
    for (uint32_t i = 1; i < q->count; i++)
        if (slot(q, i)->kind == LK_REPLY_COPY_END)
            return true;
    return false;
}

void
lk_replies_copy_over(struct lk_replies *q, bool failed)
{
    uint32_t to = 1, last = 0;
    bool over = false, synced = false;
    for (uint32_t i = 1; i < q->count && !over; i++) {
        over = slot(q, i)->kind == LK_REPLY_COPY_END;
        if (slot(q, i)->kind == LK_REPLY_SYNC && slot(q, i)->after_data)
            last = i;
    }
    over = false;
    for (uint32_t i = 1; i < q->count; i++) {
        struct lk_reply *r = slot(q, i);
        over |= r->kind == LK_REPLY_COPY_END;
        if (!over && r->kind == LK_REPLY_SYNC && r->after_data && !(failed && i == last)) {
            lk_reply_release(r);
            continue;
        }
        synced |= r->kind == LK_REPLY_SYNC;
        *slot(q, to++) = *r;
    }
    if (to < q->count && !synced && slot(q, 0)->kind == LK_REPLY_EXECUTE)
        q->unsynced = true;
    q->count = q->count > 0 ? to : 0;
}

struct lk_reply *
lk_replies_head(const struct lk_replies *q)
{
    return q->count > 0 ? &q->ring[q->head] : NULL;
}

struct lk_reply *
lk_replies_at(const struct lk_replies *q, uint32_t index)
{
    return index < q->count ? slot(q, index) : NULL;
}

void
lk_replies_pop(struct lk_replies *q)
{
    q->adding -= q->ring[q->head].adds;
    lk_reply_release(&q->ring[q->head]);
    q->head = (q->head + 1) & (q->room - 1);
    q->count--;
}

struct lk_reply *
lk_replies_unpop(struct lk_replies *q)
{
    q->head = (q->head + q->room - 1) & (q->room - 1);
    q->count++;
    q->ring[q->head] = (struct lk_reply){0};
    return &q->ring[q->head];
}

bool
lk_replies_ours_only(const struct lk_replies *q)
{
    for (uint32_t i = 0; i < q->count; i++)
        if (slot(q, i)->purpose <= LK_FOR_REFUSAL)
            return false;
    return !q->unsynced;
}
