/* What becomes of what ledgers tell, and of what is known of statements that take session locks: figures of the pool, and the
 * worker's table of statements (lock/statements.h), of both of which this is the only writer. */
#ifndef LK_SESSION_HOLDS_H
#define LK_SESSION_HOLDS_H

#include "session/core.h"

/* From here on the server's ledger is listened to. `core` must outlive it. */
void lk_holds_listen(struct lk_core *core, struct lk_server *s);
/* A statement ran whose text touches session locks. `plan` NULL: nothing is known but that it does. */
void lk_holds_touched(struct lk_core *core, struct lk_server *s, struct lk_text *text, const struct lk_plan *plan);
/* A statement ran that was blamed before for a lock that no text explains. */
void lk_holds_suspected(struct lk_core *core, struct lk_server *s, struct lk_text *text);
/* It left, or took away, a lock that no text explains; or one of several did. */
void lk_holds_blamed(struct lk_core *core, struct lk_server *s, struct lk_text *text, bool sole);
/* A lock that it took was leaked. */
void lk_holds_leaked(struct lk_core *core, struct lk_server *s, struct lk_text *text);
/* The policy refused it. */
void lk_holds_refused(struct lk_core *core, struct lk_server *s, struct lk_text *text);

#endif
