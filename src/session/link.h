/* What joins a client and a server: lending, the one rule by which a server goes home, letting go. */
#ifndef LK_SESSION_LINK_H
#define LK_SESSION_LINK_H

#include "session/core.h"

/* A server for this client, now (true) or later: then it is WAITING and will be resumed. */
bool lk_link_acquire(struct lk_core *core, struct lk_client *c);
/* An idle server that may be lent as it is, or NULL; one that has idled too long is checked first. */
struct lk_server *lk_link_lendable(struct lk_core *core, struct lk_pool *pool);
/* Lends idle servers of the pool to those who wait and opens what may be opened. */
void lk_link_serve(struct lk_core *core, struct lk_pool *pool);
/* The same at the end of the step: for places that are in the middle of a walk over clients or servers. */
void lk_link_serve_later(struct lk_core *core, struct lk_pool *pool);
void lk_link_serve_due(struct lk_core *core);
/* A ReadyForQuery has come, or something that pinned it has ended: home it goes if its pin set is empty. */
void lk_link_settle(struct lk_core *core, struct lk_server *s);
/* The client is going: parts it from its server, which is drained and cleaned, or closed. */
void lk_link_abandon(struct lk_core *core, struct lk_client *c, enum lk_reason reason);

#endif
