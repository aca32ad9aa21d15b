/* Logging in to a backend: answers its authentication requests. Pure: the nonce is handed in. */
#ifndef LK_AUTH_LOGIN_H
#define LK_AUTH_LOGIN_H

#include "auth/exchange.h"

struct lk_login_credentials {
    const char *user;
    const char *secret; /* plaintext, md5… or SCRAM-SHA-256$… ; NULL: none known */
    const struct lk_scram_client_key
        *client_key; /* or NULL; used when the server's salt and iterations are the verifier's */
    /* The hash of the server's certificate (RFC 5929, tls-server-end-point), to which SCRAM binds the login if the server
     * offers it; one that doesn't is told that we would have, so that it refuses if somebody in between has taken the
     * offer away. Empty: none. At most LK_SCRAM_BINDING_MAX bytes. */
    struct lk_span binding;
};

struct lk_login;

/* Copies what it needs. Owner: the caller. */
struct lk_login *lk_login_new(const struct lk_login_credentials *c, const uint8_t nonce[LK_SCRAM_NONCE_BYTES]);
void lk_login_free(struct lk_login *l);
/* One Authentication message ('R') other than AuthenticationOk: appends the answer to `out` (md5, plain, SASL). MORE:
 * go on reading. FAILED: the request can't be met; `why` says so for the log and for waiting clients (28P01). Verifies
 * the server's signature in SASLFinal. AuthenticationOk gives OK; FAILED if a SASL exchange was left half done. */
enum lk_auth_verdict lk_login_step(struct lk_login *l, struct lk_span body, struct lk_buf *out, struct lk_error *why);

/* After OK by SCRAM: true and the key that did it, so that further logins of this user can pass it as client_key and
 * spare PBKDF2. */
bool lk_login_client_key(const struct lk_login *l, struct lk_scram_client_key *out);

#endif
