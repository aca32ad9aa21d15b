/* Lint records: what a text's analysis remarked (sql/lint.h), once it ran. A remark on a text is told once for its
 * database and server user, or again when LK_REMARKS others have pushed it out. */
#ifndef LK_SESSION_REMARK_H
#define LK_SESSION_REMARK_H

#include "session/server.h"

#define LK_REMARKS 1024u

/* A client's statement ran on the server: after its answer, before lk_remark_ready. */
void lk_remark_ran(struct lk_core *core, struct lk_server *s, const struct lk_reply *r);
/* ReadyForQuery: was a transaction-level lock all that the transaction had? */
void lk_remark_ready(struct lk_core *core, struct lk_server *s);
/* Drops what waits for ReadyForQuery. */
void lk_remark_clear(struct lk_server *s);

#endif
