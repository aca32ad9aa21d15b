/* Cleaning: from letting go to fit for another client. Drain, ROLLBACK, probe, leak records, reset; in this order. */
#ifndef LK_SESSION_CLEAN_H
#define LK_SESSION_CLEAN_H

#include "session/core.h"

/* Begins at a stage: ROLLBACK for a server that a client let go, CONNECT for a new one, CHECK for an idle one. */
void lk_clean_begin(struct lk_core *core, struct lk_server *s, enum lk_clean_stage from, enum lk_reason reason);
/* Goes on as far as it can; waits while answers are outstanding. */
void lk_clean_step(struct lk_core *core, struct lk_server *s);
/* The reset, wherever it is safe to send it. False: no memory. */
bool lk_clean_send_reset(struct lk_core *core, struct lk_server *s);
/* The client of a COPY FROM STDIN is gone: fails it. */
void lk_clean_end_copy(struct lk_core *core, struct lk_server *s);
/* Ends what extended messages a client that is gone left without a Sync. */
void lk_clean_sync(struct lk_core *core, struct lk_server *s);
/* ReadyForQuery of a statement of ours (any purpose from PARAMS on). */
void lk_clean_ours_done(struct lk_core *core, struct lk_server *s, enum lk_reply_purpose purpose);

/* Sends the probe: which advisory locks does this backend hold? */
bool lk_probe_send(struct lk_core *core, struct lk_server *s);
/* One row of its answer. */
void lk_probe_row(struct lk_core *core, struct lk_server *s, struct lk_span row);

#endif
