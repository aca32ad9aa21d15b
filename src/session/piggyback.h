/* The piggybacked reset: where it is certain that a server will be free of its client after the message at hand, the reset
 * is sent in the same breath, right behind it, and saves a round trip. Where it is not certain, cleaning does it later. */
#ifndef LK_SESSION_PIGGYBACK_H
#define LK_SESSION_PIGGYBACK_H

#include "session/core.h"

/* May a reset go behind this Query? `a`: its text, all of it; asked before the Query's entry is pushed. */
bool lk_piggyback_query(struct lk_core *core, struct lk_server *s, const struct lk_analysis *a);
/* May one go behind this Sync? Asked before its entry is pushed. Marks the batch's Execute as vouched for. */
bool lk_piggyback_sync(struct lk_core *core, struct lk_server *s);

#endif
