/* Authenticating a client: from its method and its secret to a verdict, message by message. Unknown users go through
 * the same messages and the same work as known ones and fail at the end. Pure: randomness is handed in. */
#ifndef LK_AUTH_EXCHANGE_H
#define LK_AUTH_EXCHANGE_H

#include "auth/scram.h"
#include "base/buf.h"
#include "base/error.h"

enum lk_auth_method {
    LK_AUTH_TRUST, /* the user must be listed */
    LK_AUTH_ANY,   /* no check at all */
    LK_AUTH_PLAIN, /* AuthenticationCleartextPassword against any kind of secret */
    LK_AUTH_MD5,   /* md5, or SCRAM when the secret is a SCRAM verifier, as PgBouncer does */
    LK_AUTH_SCRAM, /* plaintext or SCRAM secrets */
    LK_AUTH_REJECT,
};

#define LK_AUTH_RANDOM_BYTES 32

struct lk_auth_request {
    enum lk_auth_method method;
    const char *user;                     /* copied */
    const char *secret;                   /* borrowed for the exchange's life; NULL: no such user (mock exchange) */
    uint8_t random[LK_AUTH_RANDOM_BYTES]; /* fresh for each exchange: md5 salt, SCRAM nonce */
    /* Constant per process; borrowed for the exchange's life. With the name it gives the salt of mocks and of verifiers
     * made on the spot, the same each time as a stored one's is: a salt that changed would tell them apart. */
    struct lk_span mock_key;
    /* What a mock passes for: a user with a SCRAM verifier (lk_users_mostly_scram), else one with a plaintext password.
     * They differ in their work, and under LK_AUTH_MD5 in their messages. */
    bool mock_scram;
    uint32_t scram_iterations; /* for verifiers made on the spot and for mocks */
    /* The hash of the certificate that the client was shown (RFC 5929, tls-server-end-point), to which SCRAM can bind
     * the login; borrowed for the exchange's life. Empty: none, and SCRAM-SHA-256-PLUS is not offered. At most
     * LK_SCRAM_BINDING_MAX bytes. */
    struct lk_span binding;
};

enum lk_auth_verdict { LK_AUTH_MORE, LK_AUTH_OK, LK_AUTH_FAILED };

struct lk_exchange;

/* Never NULL. Starts: appends the first request ('R') to `out`, or decides at once. *verdict FAILED fills `why` (28P01,
 * PostgreSQL's wording: password authentication failed for user "x"; SCRAM: SASL authentication failed). Owner: the
 * caller. */
struct lk_exchange *lk_exchange_new(
    const struct lk_auth_request *request, struct lk_buf *out, enum lk_auth_verdict *verdict, struct lk_error *why);
void lk_exchange_free(struct lk_exchange *x);
/* One 'p' message's body. Does not append AuthenticationOk: that is the caller's. FAILED by 08P01 for what no client
 * may send. After OK or FAILED it fails with 08P01. */
enum lk_auth_verdict lk_exchange_step(
    struct lk_exchange *x, struct lk_span body, struct lk_buf *out, struct lk_error *why);
/* After OK: the plaintext password that was learned (PLAIN with a match), or NULL. Borrowed. */
const char *lk_exchange_password(const struct lk_exchange *x);
/* After OK by SCRAM against a stored verifier of the user's (never an ad-hoc or mock one): true and the key. */
bool lk_exchange_client_key(const struct lk_exchange *x, struct lk_scram_client_key *out);

#endif
