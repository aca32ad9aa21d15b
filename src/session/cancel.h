/* Cancelling: requests of clients, and our own for a client that went away. */
#ifndef LK_SESSION_CANCEL_H
#define LK_SESSION_CANCEL_H

#include "session/core.h"

/* A CancelRequest packet on a new connection: finds whom it is for. */
void lk_cancel_request(struct lk_core *core, struct lk_client *asker, uint32_t pid, struct lk_span secret);
/* Cancels what runs on that server; asker may be NULL. */
void lk_cancel_server(struct lk_core *core, struct lk_server *s, struct lk_client *asker);
void lk_cancel_opened(struct lk_core *core, struct lk_canceller *k, bool unix_socket);
/* The answer to SSLRequest; returns how many bytes were consumed. */
size_t lk_cancel_input(struct lk_core *core, struct lk_canceller *k, struct lk_span in);
void lk_cancel_secured(struct lk_core *core, struct lk_canceller *k);
void lk_cancel_ended(struct lk_core *core, struct lk_canceller *k);
/* The server or the asking client is gone. */
void lk_cancel_forget(struct lk_core *core, const struct lk_server *s, const struct lk_client *c);

#endif
