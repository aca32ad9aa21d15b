/* How many of a pool's servers are kept by session locks, pinned or waiting inside a lock call, and what follows from it: limits
 * (advisory_max_pins, advisory_max_waits), the record pins_full, what idles with locks for too long. */
#ifndef LK_SESSION_PINNED_H
#define LK_SESSION_PINNED_H

#include "session/core.h"

/* A lock call that has had no answer for so long counts as one that waits, not as one on its way. */
#define LK_PINNED_MOMENT_US ((int64_t)100000)

struct lk_pinned {
    unsigned pinned;
    unsigned waiting;
    const struct lk_server *oldest; /* whose lock is held for the longest; NULL: none is held */
};

struct lk_pinned lk_pinned_count(const struct lk_core *core, const struct lk_pool *pool);
/* A pin of one of its servers has begun or ended: `pins_full`, once for each rise to half of the pool. */
void lk_pinned_changed(struct lk_core *core, struct lk_pool *pool);
/* Would the client's call go beyond a limit of its pool? Then *e says so (53300). */
bool lk_pinned_beyond(const struct lk_core *core, const struct lk_client *c, const struct lk_watch *watch, struct lk_error *e);
/* A linked client's time has passed: `idle_hold`, or the end by advisory_pin_timeout. True: it was closed. */
bool lk_pinned_idle(struct lk_core *core, struct lk_client *c);

#endif
