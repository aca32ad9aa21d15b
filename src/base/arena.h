/* An arena for what lives as long as one step: bytes that an effect will send, rows on their way to the console. What was
 * handed out never moves; all of it goes at once at lk_arena_reset. Consecutive allocations without alignment are adjacent
 * where the chunk has room, so that two messages built one after the other leave in one send. */
#ifndef LK_BASE_ARENA_H
#define LK_BASE_ARENA_H

#include "base/span.h"

struct lk_arena_chunk;

struct lk_arena {
    struct lk_arena_chunk *first; /* owned, kept over resets */
    struct lk_arena_chunk *last;
};

void lk_arena_clear(struct lk_arena *a);
/* Everything handed out becomes invalid. Keeps one chunk of 16 KB. */
void lk_arena_reset(struct lk_arena *a);
/* n bytes, unaligned and uninitialised; NULL when there is no memory. */
uint8_t *lk_arena_take(struct lk_arena *a, size_t n);
/* A copy of the span in the arena; {NULL, 0} when there is no memory. */
struct lk_span lk_arena_copy(struct lk_arena *a, struct lk_span s);

#endif
