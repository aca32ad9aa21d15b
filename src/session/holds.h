/* What becomes of what ledgers tell: figures of the pool. */
#ifndef LK_SESSION_HOLDS_H
#define LK_SESSION_HOLDS_H

#include "session/core.h"

/* From here on the server's ledger is listened to. `core` must outlive it. */
void lk_holds_listen(struct lk_core *core, struct lk_server *s);

#endif
