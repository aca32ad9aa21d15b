/* Policy rewrite: session locks shortened to the transaction that they are taken in. Which calls may be, by what is certain
 * of the transaction that the backend will be in; what is sent in their place; and the keys that are held so, which their
 * unlocks need. A text of which something is doubtful goes as it came (advisory_rewrite_fallback says what then). */
#ifndef LK_SESSION_SHORTEN_H
#define LK_SESSION_SHORTEN_H

#include "session/core.h"

/* Before a Query, FunctionCall or Bind is sent: marks those calls of the watch that are to be shortened. False: it depends on
 * answers that are outstanding; nothing was decided. `whole`: all of the message is at hand. */
bool lk_shorten_decide(const struct lk_client *c, struct lk_watch *w, bool whole);
/* Is any call of it marked? */
bool lk_shorten_any(const struct lk_watch *w);

/* What to send for a text or FunctionCall with marked calls; in the arena; empty: no memory. */
struct lk_span lk_shorten_query(struct lk_core *core, const struct lk_watch *w);
struct lk_span lk_shorten_fcall(struct lk_core *core, const struct lk_watch *w, struct lk_span whole);
/* The statement to bind instead; a reference of the caller's; NULL: no memory. */
struct lk_statement *lk_shorten_statement(
    struct lk_core *core, const struct lk_client *c, const struct lk_statement *st, const struct lk_watch *w);

/* A tag has come for the head of the queue; a ReadyForQuery (s->status is its). */
void lk_shorten_tag(struct lk_server *s, const struct lk_reply *r, struct lk_span tag);
void lk_shorten_ready(struct lk_core *core, struct lk_server *s);

#endif
