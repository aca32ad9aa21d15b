/* SCRAM-SHA-256 (RFC 5802, RFC 7677) as PostgreSQL speaks it: user name left empty, no channel binding yet. */
#ifndef LK_AUTH_SCRAM_H
#define LK_AUTH_SCRAM_H

#include "base/span.h"

#define LK_SCRAM_KEY_BYTES 32
#define LK_SCRAM_NONCE_BYTES 18
#define LK_SCRAM_SALT_MAX 64

/* What a server stores: "SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>". */
struct lk_scram_verifier {
    uint32_t iterations;
    uint8_t salt[LK_SCRAM_SALT_MAX];
    size_t salt_n;
    uint8_t stored_key[LK_SCRAM_KEY_BYTES];
    uint8_t server_key[LK_SCRAM_KEY_BYTES];
};

/* The ClientKey that a client's own login revealed, with the verifier that it was proved against; good for logging in to a
 * server that holds the very same verifier. */
struct lk_scram_client_key {
    struct lk_scram_verifier verifier;
    uint8_t client_key[LK_SCRAM_KEY_BYTES];
};

bool lk_scram_verifier_parse(const char *secret, struct lk_scram_verifier *out);
/* From a plaintext password (SASLprep'ed as PostgreSQL does: ASCII as it is; else raw bytes when it is not valid). */
bool lk_scram_verifier_make(const char *password, struct lk_span salt, uint32_t iterations, struct lk_scram_verifier *out);

#endif
