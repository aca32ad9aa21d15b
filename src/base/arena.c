#include "base/arena.h"

#include <stdlib.h>

#define CHUNK_BYTES ((size_t)16384)

struct lk_arena_chunk {
    struct lk_arena_chunk *next;
    size_t used;
    size_t size;
    uint8_t bytes[];
};

void
lk_arena_clear(struct lk_arena *a)
{
    for (struct lk_arena_chunk *c = a->first, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    *a = (struct lk_arena){0};
}

void
lk_arena_reset(struct lk_arena *a)
{
    struct lk_arena_chunk *keep = a->first;
    if (!keep)
        return;
    for (struct lk_arena_chunk *c = keep->next, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    if (keep->size > CHUNK_BYTES) {
        free(keep);
        *a = (struct lk_arena){0};
        return;
    }
    keep->next = NULL;
    keep->used = 0;
    a->last = keep;
}

uint8_t *
lk_arena_take(struct lk_arena *a, size_t n)
{
    struct lk_arena_chunk *c = a->last;
    if (!c || c->size - c->used < n) {
        size_t size = n > CHUNK_BYTES ? n : CHUNK_BYTES;
        c = malloc(sizeof(*c) + size);
        if (!c)
            return NULL;
        c->next = NULL;
        c->used = 0;
        c->size = size;
        if (a->last)
            a->last->next = c;
        else
            a->first = c;
        a->last = c;
    }
    uint8_t *p = c->bytes + c->used;
    c->used += n;
    return p;
}

struct lk_span
lk_arena_copy(struct lk_arena *a, struct lk_span s)
{
    uint8_t *p = lk_arena_take(a, s.n);
    if (!p)
        return lk_span_make(NULL, 0);
    if (s.n > 0)
        memcpy(p, s.p, s.n);
    return lk_span_make(p, s.n);
}
