/* Lint records: what a text's analysis remarked (sql/lint.h), once it ran. A remark on a text is told once for its
 * database and server user, or again when LK_REMARKS others have pushed it out. A remark on a key comes of all texts that
 * took it in its database (sql/uses.h): session-level calls that the server granted, and transaction-level calls with
 * constant keys of texts that completed. It is told with the one that made it so, once as long as the key is remembered. */
#ifndef LK_SESSION_REMARK_H
#define LK_SESSION_REMARK_H

#include "session/server.h"

#define LK_REMARKS 1024u

/* A client's statement ran on the server: after its answer, before lk_remark_ready. */
void lk_remark_ran(struct lk_core *core, struct lk_server *s, const struct lk_reply *r);
/* ReadyForQuery: was a transaction-level lock all that the transaction had? */
void lk_remark_ready(struct lk_core *core, struct lk_server *s);
/* The pool goes, or to another server: its database's keys are none of its any more. */
void lk_remark_leave(struct lk_pool *pool);
/* Drops what waits for ReadyForQuery. */
void lk_remark_clear(struct lk_server *s);

#endif
