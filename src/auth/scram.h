/* SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677) as PostgreSQL speaks them: user name left empty, channel
 * binding of the type tls-server-end-point (RFC 5929). */
#ifndef LK_AUTH_SCRAM_H
#define LK_AUTH_SCRAM_H

#include "base/span.h"

#define LK_SCRAM_PLAIN "SCRAM-SHA-256"
#define LK_SCRAM_PLUS "SCRAM-SHA-256-PLUS"
#define LK_SCRAM_KEY_BYTES 32
#define LK_SCRAM_NONCE_BYTES 18
#define LK_SCRAM_SALT_MAX 64
/* More rounds are refused where they would have to be computed: a million take about half a second. */
#define LK_SCRAM_ITERATIONS_MAX 1000000u
/* A key or signature in base64, with its NUL. */
#define LK_SCRAM_BASE64_SIZE 45
/* The longest data of a channel binding: a SHA-512 of a certificate. */
#define LK_SCRAM_BINDING_MAX 64
/* The attribute "c" in base64, with its NUL. */
#define LK_SCRAM_BOUND_SIZE 121

/* What a server stores: "SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>". */
struct lk_scram_verifier {
    uint32_t iterations;
    uint8_t salt[LK_SCRAM_SALT_MAX];
    size_t salt_n;
    uint8_t stored_key[LK_SCRAM_KEY_BYTES];
    uint8_t server_key[LK_SCRAM_KEY_BYTES];
};

/* The ClientKey that a client's own login revealed, with the verifier that it was proved against; good for logging in
 * to a server that holds the very same verifier. */
struct lk_scram_client_key {
    struct lk_scram_verifier verifier;
    uint8_t client_key[LK_SCRAM_KEY_BYTES];
};

/* False: not a verifier, and the secret is then a plaintext password that looks like one, as in PostgreSQL. */
bool lk_scram_verifier_parse(const char *secret, struct lk_scram_verifier *out);
/* From a plaintext password: PBKDF2, about 2 ms for 4096 rounds. Passwords are taken byte by byte: what SASLprep gives
 * for ASCII. It would change some others (compatibility forms, odd spaces); those match only a verifier made of the
 * same bytes. False: iterations or salt out of range. */
bool lk_scram_verifier_make(
    const char *password, struct lk_span salt, uint32_t iterations, struct lk_scram_verifier *out);
/* The same with the ClientKey; costs the same. */
bool lk_scram_client_key_make(
    const char *password, struct lk_span salt, uint32_t iterations, struct lk_scram_client_key *out);

/* RFC 5802 section 3, over AuthMessage = client-first-bare "," server-first "," client-final-without-proof. The
 * client's proof; the server's signature; and the check of a proof, which gives the ClientKey that it reveals (constant
 * time). */
bool lk_scram_client_proof(
    const uint8_t client_key[LK_SCRAM_KEY_BYTES], struct lk_span auth_message, uint8_t proof[LK_SCRAM_KEY_BYTES]);
bool lk_scram_server_signature(
    const uint8_t server_key[LK_SCRAM_KEY_BYTES], struct lk_span auth_message, uint8_t signature[LK_SCRAM_KEY_BYTES]);
bool lk_scram_proof_check(const struct lk_scram_verifier *verifier, struct lk_span auth_message,
    const uint8_t proof[LK_SCRAM_KEY_BYTES], uint8_t client_key[LK_SCRAM_KEY_BYTES]);

bool lk_scram_hmac(struct lk_span key, struct lk_span data, uint8_t out[LK_SCRAM_KEY_BYTES]);

/* The head of a client's first message (RFC 5802 section 7, gs2-header) by its flag: 'n' the client does no channel
 * binding, 'y' it would but thinks that the server doesn't, 'p' it does. NULL: no such flag. */
const char *lk_scram_head(char flag);
/* The attribute "c" of its last message: that head, with 'p' the binding's data too, in base64. */
void lk_scram_bound(char flag, struct lk_span binding, char out[LK_SCRAM_BOUND_SIZE]);

/* The next attribute "x=value" of a message and the comma behind it; false: there is none. */
bool lk_scram_attribute(struct lk_span *rest, char *name, struct lk_span *value);
/* A count of iterations: decimal digits, 1 to 2^31 - 1. */
bool lk_scram_iterations(struct lk_span digits, uint32_t *out);
/* A nonce: printable ASCII without commas, not empty. */
bool lk_scram_nonce_valid(struct lk_span nonce);

/* RFC 4648. Encoding writes (n + 2) / 3 * 4 characters and a NUL. Decoding is strict: padded, no white space; false
 * also when it gives more than `max` bytes. */
void lk_scram_base64(struct lk_span in, char *out);
bool lk_scram_unbase64(struct lk_span in, uint8_t *out, size_t max, size_t *n);

#endif
