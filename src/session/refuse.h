/* Messages of a client's that are not sent: in their place goes one that fails at the server, so that client and server
 * agree on the transaction and on what is passed over; its error is replaced by ours. An error 25P02 stays: in an aborted
 * transaction PostgreSQL would have said the same to the client's own message. */
#ifndef LK_SESSION_REFUSE_H
#define LK_SESSION_REFUSE_H

#include "session/core.h"

/* The text to fail with: PARSE is not SQL, and fails first of all; NAME names a column of nothing, and fails after an
 * aborted transaction has been looked for. */
enum lk_refusal { LK_REFUSAL_PARSE, LK_REFUSAL_NAME };

/* In place of a message of the extended protocol: a named Parse, as a failed unnamed one would cost the client its unnamed
 * statement. Takes the watch over, for the record. NULL: no memory. */
struct lk_reply *lk_refuse_extended(
    struct lk_core *core, struct lk_server *s, enum lk_refusal how, const struct lk_error *e, struct lk_watch *watch);
/* In place of a Query or FunctionCall: a Query. */
struct lk_reply *lk_refuse_query(struct lk_core *core, struct lk_server *s, const struct lk_error *e, struct lk_watch *watch);
/* An error has come in answer to a refused message: what the client gets. True: it was ours. */
bool lk_refuse_answer(struct lk_core *core, struct lk_server *s, const struct lk_reply *r, struct lk_span whole, struct lk_span body);

#endif
