/* Encrypting a connection to a backend: SSLRequest, and the one byte that answers it (PostgreSQL documentation,
 * "SSL Session Encryption"), as server_tls_sslmode wants it. `allow` is treated as `prefer`. */
#ifndef LK_SESSION_NEGOTIATE_H
#define LK_SESSION_NEGOTIATE_H

#include "session/core.h"

enum lk_negotiation {
    LK_NEGOTIATION_PLAIN, /* goes on in the clear */
    LK_NEGOTIATION_TLS,   /* the TLS effect is given */
    LK_NEGOTIATION_FAILED,
};

/* On a connection just opened: true if the answer to SSLRequest is to be awaited. */
bool lk_negotiate_begin(struct lk_core *core, struct lk_end *end, bool unix_socket);
/* All that has come since, at least one byte. FAILED: *why, a constant. */
enum lk_negotiation lk_negotiate_answer(
    struct lk_core *core, struct lk_end *end, const char *host, struct lk_span in, const char **why);

#endif
