#include "auth/scram.h"

#include <assert.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/mem.h"

#define SECRET_PREFIX "SCRAM-SHA-256$"

bool
lk_scram_hmac(struct lk_span key, struct lk_span data, uint8_t out[LK_SCRAM_KEY_BYTES])
{
    /* OpenSSL takes a NULL key for "the one before". */
    const void *bytes = key.n ? (const void *)key.p : "";
    return key.n <= INT32_MAX && HMAC(EVP_sha256(), bytes, (int)key.n, data.p, data.n, out, NULL) != NULL;
}

static bool
sha256(const uint8_t in[LK_SCRAM_KEY_BYTES], uint8_t out[LK_SCRAM_KEY_BYTES])
{
    return EVP_Digest(in, LK_SCRAM_KEY_BYTES, out, NULL, EVP_sha256(), NULL) == 1;
}

static struct lk_span
key_span(const uint8_t key[LK_SCRAM_KEY_BYTES])
{
    return lk_span_make(key, LK_SCRAM_KEY_BYTES);
}

void
lk_scram_base64(struct lk_span in, char *out)
{
    (void)EVP_EncodeBlock((unsigned char *)out, in.p, (int)in.n);
}

/* 0 to 63, or 64 for what is no digit. */
static unsigned
base64_digit(uint8_t c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (unsigned)(at - digits) : 64;
}

bool
lk_scram_unbase64(struct lk_span in, uint8_t *out, size_t max, size_t *n)
{
    if (in.n % 4 != 0)
        return false;
    size_t padding = in.n == 0 || in.p[in.n - 1] != '=' ? 0 : in.p[in.n - 2] != '=' ? 1 : 2;
    *n = in.n / 4 * 3 - padding;
    if (*n > max)
        return false;
    uint32_t bits = 0;
    size_t made = 0;
    for (size_t i = 0; i < in.n; i++) {
        unsigned digit = i < in.n - padding ? base64_digit(in.p[i]) : 0;
        if (digit == 64)
            return false;
        bits = bits << 6 | digit;
        for (unsigned k = 0; i % 4 == 3 && k < 3 && made < *n; k++)
            out[made++] = (uint8_t)(bits >> (16 - 8 * k));
    }
    return true;
}

/* Takes what stands before the delimiter, and the delimiter; with '\0' all the rest. */
static bool
take_until(struct lk_span *rest, char delimiter, struct lk_span *taken)
{
    const uint8_t *at = NULL;
    if (delimiter && rest->n > 0 && !(at = memchr(rest->p, delimiter, rest->n)))
        return false;
    size_t n = at ? (size_t)(at - rest->p) : rest->n;
    *taken = lk_span_head(*rest, n);
    *rest = lk_span_skip(*rest, at ? n + 1 : n);
    return taken->n > 0;
}

bool
lk_scram_iterations(struct lk_span digits, uint32_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] < '0' || digits.p[i] > '9' || value > INT32_MAX)
            return false;
        value = value * 10 + (digits.p[i] - '0');
    }
    *out = (uint32_t)value;
    return value > 0 && value <= INT32_MAX;
}

static bool
take_key(struct lk_span text, uint8_t key[LK_SCRAM_KEY_BYTES])
{
    size_t n;
    return lk_scram_unbase64(text, key, LK_SCRAM_KEY_BYTES, &n) && n == LK_SCRAM_KEY_BYTES;
}

bool
lk_scram_verifier_parse(const char *secret, struct lk_scram_verifier *out)
{
    size_t prefix = strlen(SECRET_PREFIX);
    if (strncmp(secret, SECRET_PREFIX, prefix) != 0)
        return false;
    struct lk_span rest = lk_span_str(secret + prefix), iterations, salt, stored, server;
    *out = (struct lk_scram_verifier){0};
    return take_until(&rest, ':', &iterations) && take_until(&rest, '$', &salt) && take_until(&rest, ':', &stored) &&
           take_until(&rest, '\0', &server) && lk_scram_iterations(iterations, &out->iterations) &&
           lk_scram_unbase64(salt, out->salt, sizeof(out->salt), &out->salt_n) && take_key(stored, out->stored_key) &&
           take_key(server, out->server_key);
}

bool
lk_scram_client_key_make(
    const char *password, struct lk_span salt, uint32_t iterations, struct lk_scram_client_key *out)
{
    size_t n = strlen(password);
    if (iterations == 0 || iterations > LK_SCRAM_ITERATIONS_MAX || salt.n > LK_SCRAM_SALT_MAX || n > INT32_MAX)
        return false;
    *out = (struct lk_scram_client_key){.verifier = {.iterations = iterations, .salt_n = salt.n}};
    struct lk_scram_verifier *v = &out->verifier;
    if (salt.n > 0)
        memcpy(v->salt, salt.p, salt.n);
    uint8_t salted[LK_SCRAM_KEY_BYTES];
    bool ok = PKCS5_PBKDF2_HMAC(password, (int)n, v->salt, (int)v->salt_n, (int)iterations, EVP_sha256(),
                  sizeof(salted), salted) == 1 &&
              lk_scram_hmac(key_span(salted), lk_span_str("Client Key"), out->client_key) &&
              sha256(out->client_key, v->stored_key) &&
              lk_scram_hmac(key_span(salted), lk_span_str("Server Key"), v->server_key);
    OPENSSL_cleanse(salted, sizeof(salted));
    return ok;
}

bool
lk_scram_verifier_make(const char *password, struct lk_span salt, uint32_t iterations, struct lk_scram_verifier *out)
{
    struct lk_scram_client_key made;
    bool ok = lk_scram_client_key_make(password, salt, iterations, &made);
    if (ok)
        *out = made.verifier;
    OPENSSL_cleanse(&made, sizeof(made));
    return ok;
}

static void
xor_into(uint8_t to[LK_SCRAM_KEY_BYTES], const uint8_t from[LK_SCRAM_KEY_BYTES])
{
    for (size_t i = 0; i < LK_SCRAM_KEY_BYTES; i++)
        to[i] ^= from[i];
}

bool
lk_scram_client_proof(
    const uint8_t client_key[LK_SCRAM_KEY_BYTES], struct lk_span auth_message, uint8_t proof[LK_SCRAM_KEY_BYTES])
{
    uint8_t stored_key[LK_SCRAM_KEY_BYTES];
    if (!sha256(client_key, stored_key) || !lk_scram_hmac(key_span(stored_key), auth_message, proof))
        return false;
    xor_into(proof, client_key);
    return true;
}

bool
lk_scram_server_signature(
    const uint8_t server_key[LK_SCRAM_KEY_BYTES], struct lk_span auth_message, uint8_t signature[LK_SCRAM_KEY_BYTES])
{
    return lk_scram_hmac(key_span(server_key), auth_message, signature);
}

bool
lk_scram_proof_check(const struct lk_scram_verifier *verifier, struct lk_span auth_message,
    const uint8_t proof[LK_SCRAM_KEY_BYTES], uint8_t client_key[LK_SCRAM_KEY_BYTES])
{
    uint8_t stored_key[LK_SCRAM_KEY_BYTES];
    if (!lk_scram_hmac(key_span(verifier->stored_key), auth_message, client_key))
        return false;
    xor_into(client_key, proof);
    return sha256(client_key, stored_key) && CRYPTO_memcmp(stored_key, verifier->stored_key, LK_SCRAM_KEY_BYTES) == 0;
}

const char *
lk_scram_head(char flag)
{
    switch (flag) {
    case 'n':
        return "n,,";
    case 'y':
        return "y,,";
    case 'p':
        return "p=tls-server-end-point,,";
    default:
        return NULL;
    }
}

void
lk_scram_bound(char flag, struct lk_span binding, char out[LK_SCRAM_BOUND_SIZE])
{
    const char *head = lk_scram_head(flag);
    size_t n = strlen(head);
    uint8_t both[LK_SCRAM_BOUND_SIZE / 4 * 3];
    assert(flag != 'p' || (binding.n > 0 && binding.n <= LK_SCRAM_BINDING_MAX));
    memcpy(both, head, n);
    if (flag == 'p') {
        memcpy(both + n, binding.p, binding.n);
        n += binding.n;
    }
    lk_scram_base64(lk_span_make(both, n), out);
}

bool
lk_scram_attribute(struct lk_span *rest, char *name, struct lk_span *value)
{
    if (rest->n < 2 || rest->p[1] != '=')
        return false;
    *name = (char)rest->p[0];
    struct lk_span from = lk_span_skip(*rest, 2);
    const uint8_t *comma = from.n > 0 ? memchr(from.p, ',', from.n) : NULL;
    size_t n = comma ? (size_t)(comma - from.p) : from.n;
    *value = lk_span_head(from, n);
    *rest = lk_span_skip(from, comma ? n + 1 : n);
    return true;
}

bool
lk_scram_nonce_valid(struct lk_span nonce)
{
    for (size_t i = 0; i < nonce.n; i++)
        if (nonce.p[i] < 0x21 || nonce.p[i] > 0x7e || nonce.p[i] == ',')
            return false;
    return nonce.n > 0;
}
