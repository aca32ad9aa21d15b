#include "auth/login.h"

#include <assert.h>
#include <stdlib.h>

#include <openssl/crypto.h>

#include "auth/md5.h"
#include "base/mem.h"
#include "wire/build.h"
#include "wire/cursor.h"

/* Codes of Authentication… messages. */
enum {
    REQUEST_OK = 0,
    REQUEST_PLAIN = 3,
    REQUEST_MD5 = 5,
    REQUEST_SASL = 10,
    REQUEST_SASL_CONTINUE = 11,
    REQUEST_SASL_FINAL = 12
};

#define NONCE_SIZE (LK_SCRAM_NONCE_BYTES / 3 * 4 + 1)

/* Where a SASL exchange stands; NO_SASL also after an md5 or plain answer. */
enum state { NO_SASL, SENT_FIRST, SENT_FINAL, SERVER_PROVED };

struct lk_login {
    enum state state;
    char *user;
    char *secret;                   /* or NULL */
    bool key_given;                 /* key came with the credentials */
    struct lk_scram_client_key key; /* the one given, later the one that is used */
    char nonce[NONCE_SIZE];
    uint8_t binding[LK_SCRAM_BINDING_MAX];
    size_t binding_n;
    char flag;                /* what is said about channel binding: see lk_scram_head */
    struct lk_buf transcript; /* SCRAM's AuthMessage as far as it has been said */
};

struct lk_login *
lk_login_new(const struct lk_login_credentials *c, const uint8_t nonce[LK_SCRAM_NONCE_BYTES])
{
    struct lk_login *l = LK_NEW(struct lk_login);
    l->user = lk_mem_dup(c->user);
    l->secret = lk_mem_dup(c->secret);
    if (c->client_key) {
        l->key_given = true;
        l->key = *c->client_key;
    }
    lk_scram_base64(lk_span_make(nonce, LK_SCRAM_NONCE_BYTES), l->nonce);
    assert(c->binding.n <= sizeof(l->binding));
    l->binding_n = c->binding.n;
    if (l->binding_n > 0)
        memcpy(l->binding, c->binding.p, l->binding_n);
    return l;
}

void
lk_login_free(struct lk_login *l)
{
    if (!l)
        return;
    free(l->user);
    lk_mem_wipe_free(l->secret);
    lk_buf_clear(&l->transcript);
    explicit_bzero(l, sizeof(*l));
    free(l);
}

static enum lk_auth_verdict
broken(const struct lk_login *l, struct lk_error *why, const char *what)
{
    lk_error_set(why, "08P01", "cannot log in to the server as user \"%s\": %s", l->user, what);
    return LK_AUTH_FAILED;
}

static enum lk_auth_verdict
refused(const struct lk_login *l, struct lk_error *why, const char *what)
{
    lk_error_set(why, "28P01", "cannot log in to the server as user \"%s\": %s", l->user, what);
    return LK_AUTH_FAILED;
}

static bool
is_verifier(const char *secret)
{
    struct lk_scram_verifier v;
    return lk_scram_verifier_parse(secret, &v);
}

/* The plaintext password, or NULL and `missing`: why there is none. */
static const char *
plaintext(const struct lk_login *l, const char **missing)
{
    if (!l->secret)
        *missing = "it asks for a password and none is known";
    else if (lk_md5_is_secret(l->secret))
        *missing = "it asks for a password or its SCRAM proof, and only the md5 hash is known";
    else if (is_verifier(l->secret))
        *missing = "it asks for a password, and only a SCRAM verifier is known, which proves nothing";
    else
        *missing = NULL;
    return *missing ? NULL : l->secret;
}

static enum lk_auth_verdict
on_plain(struct lk_login *l, struct lk_buf *out, struct lk_error *why)
{
    const char *missing, *password = plaintext(l, &missing);
    if (!password)
        return refused(l, why, missing);
    lk_build_password(out, lk_span_make(password, strlen(password) + 1));
    return LK_AUTH_MORE;
}

static enum lk_auth_verdict
on_md5(struct lk_login *l, struct lk_span salt, struct lk_buf *out, struct lk_error *why)
{
    if (salt.n != LK_MD5_SALT_BYTES)
        return broken(l, why, "its md5 request is malformed");
    char hashed[LK_MD5_SECRET_SIZE], answer[LK_MD5_SECRET_SIZE];
    const char *secret = l->secret;
    if (!secret || !lk_md5_is_secret(secret)) {
        const char *missing, *password = plaintext(l, &missing);
        if (!password)
            return refused(l, why, missing);
        if (!lk_md5_secret(l->user, password, hashed))
            return refused(l, why, "MD5 is not available here");
        secret = hashed;
    }
    if (!lk_md5_answer(secret, salt.p, answer))
        return refused(l, why, "MD5 is not available here");
    lk_build_password(out, lk_span_make(answer, LK_MD5_SECRET_SIZE));
    return LK_AUTH_MORE;
}

static bool
offers(struct lk_span mechanisms, const char *name)
{
    struct lk_cursor c = lk_cursor_make(mechanisms);
    struct lk_span m = lk_cursor_cstr(&c);
    while (m.n > 0 && !lk_span_is(m, name))
        m = lk_cursor_cstr(&c);
    return m.n > 0;
}

static enum lk_auth_verdict
on_sasl(struct lk_login *l, struct lk_span mechanisms, struct lk_buf *out, struct lk_error *why)
{
    if (l->state != NO_SASL)
        return broken(l, why, "it began SASL twice");
    bool plus = l->binding_n > 0 && offers(mechanisms, LK_SCRAM_PLUS);
    if (!plus && !offers(mechanisms, LK_SCRAM_PLAIN))
        return refused(l, why, "it offers no SASL mechanism but ones that are not supported here");
    const char *missing;
    if (!plaintext(l, &missing) && !l->key_given)
        return refused(l, why, missing);
    l->flag = plus ? 'p' : l->binding_n > 0 ? 'y' : 'n';
    lk_buf_add_format(&l->transcript, "n=,r=%s", l->nonce);
    struct lk_buf first = {0};
    lk_buf_add_format(&first, "%sn=,r=%s", lk_scram_head(l->flag), l->nonce);
    lk_build_sasl_initial(out, plus ? LK_SCRAM_PLUS : LK_SCRAM_PLAIN, lk_buf_span(&first));
    out->failed |= first.failed | l->transcript.failed;
    lk_buf_clear(&first);
    l->state = SENT_FIRST;
    return LK_AUTH_MORE;
}

struct server_first {
    struct lk_span nonce;
    uint8_t salt[LK_SCRAM_SALT_MAX];
    size_t salt_n;
    uint32_t iterations;
};

static bool
server_first_parse(const struct lk_login *l, struct lk_span text, struct server_first *out)
{
    char name;
    struct lk_span salt, iterations;
    size_t ours = NONCE_SIZE - 1;
    if (!lk_scram_attribute(&text, &name, &out->nonce) || name != 'r' || !lk_scram_nonce_valid(out->nonce) ||
        out->nonce.n <= ours || memcmp(out->nonce.p, l->nonce, ours) != 0)
        return false;
    if (!lk_scram_attribute(&text, &name, &salt) || name != 's' ||
        !lk_scram_unbase64(salt, out->salt, sizeof(out->salt), &out->salt_n))
        return false;
    return lk_scram_attribute(&text, &name, &iterations) && name == 'i' &&
           lk_scram_iterations(iterations, &out->iterations);
}

/* Makes l->key the one for the server's salt and iterations. */
static enum lk_auth_verdict
choose_key(struct lk_login *l, const struct server_first *first, struct lk_error *why)
{
    const struct lk_scram_verifier *v = &l->key.verifier;
    struct lk_span salt = lk_span_make(first->salt, first->salt_n);
    if (l->key_given && v->iterations == first->iterations && lk_span_eq(lk_span_make(v->salt, v->salt_n), salt))
        return LK_AUTH_MORE;
    const char *missing, *password = plaintext(l, &missing);
    if (!password)
        return refused(
            l, why, "its verifier is another one than the user's in the user list, and no password is known");
    if (first->iterations > LK_SCRAM_ITERATIONS_MAX)
        return refused(l, why, "it asks for too many SCRAM iterations");
    return lk_scram_client_key_make(password, salt, first->iterations, &l->key)
               ? LK_AUTH_MORE
               : refused(l, why, "the SCRAM keys could not be computed");
}

static enum lk_auth_verdict
on_sasl_continue(struct lk_login *l, struct lk_span text, struct lk_buf *out, struct lk_error *why)
{
    struct server_first first;
    if (l->state != SENT_FIRST || !server_first_parse(l, text, &first))
        return broken(l, why, "its first SCRAM message is malformed");
    enum lk_auth_verdict verdict = choose_key(l, &first, why);
    if (verdict == LK_AUTH_FAILED)
        return verdict;
    struct lk_buf *t = &l->transcript, final = {0};
    lk_buf_add_u8(t, ',');
    lk_buf_add_span(t, text);
    char bound[LK_SCRAM_BOUND_SIZE];
    lk_scram_bound(l->flag, lk_span_make(l->binding, l->binding_n), bound);
    lk_buf_add_format(&final, "c=%s,r=", bound);
    lk_buf_add_span(&final, first.nonce);
    lk_buf_add_u8(t, ',');
    lk_buf_add_span(t, lk_buf_span(&final));
    uint8_t proof[LK_SCRAM_KEY_BYTES];
    if (lk_scram_client_proof(l->key.client_key, lk_buf_span(t), proof)) {
        char encoded[LK_SCRAM_BASE64_SIZE];
        lk_scram_base64(lk_span_make(proof, sizeof(proof)), encoded);
        lk_buf_add_format(&final, ",p=%s", encoded);
        lk_build_password(out, lk_buf_span(&final));
    } else {
        verdict = refused(l, why, "the SCRAM proof could not be computed");
    }
    out->failed |= t->failed | final.failed;
    lk_buf_clear(&final);
    l->state = SENT_FINAL;
    return verdict;
}

static enum lk_auth_verdict
on_sasl_final(struct lk_login *l, struct lk_span text, struct lk_error *why)
{
    char name;
    struct lk_span value;
    uint8_t given[LK_SCRAM_KEY_BYTES], expected[LK_SCRAM_KEY_BYTES];
    size_t n;
    if (l->state != SENT_FINAL || !lk_scram_attribute(&text, &name, &value) || (name != 'v' && name != 'e'))
        return broken(l, why, "its last SCRAM message is malformed");
    if (name == 'e')
        return refused(l, why, "it found the SCRAM proof wrong");
    if (!lk_scram_unbase64(value, given, sizeof(given), &n) || n != sizeof(given) ||
        !lk_scram_server_signature(l->key.verifier.server_key, lk_buf_span(&l->transcript), expected) ||
        CRYPTO_memcmp(given, expected, sizeof(given)) != 0)
        return refused(l, why, "its SCRAM signature is wrong, so it doesn't know the user's secret");
    l->state = SERVER_PROVED;
    return LK_AUTH_MORE;
}

enum lk_auth_verdict
lk_login_step(struct lk_login *l, struct lk_span body, struct lk_buf *out, struct lk_error *why)
{
    struct lk_cursor c = lk_cursor_make(body);
    uint32_t code = lk_cursor_u32(&c);
    if (c.bad)
        return broken(l, why, "its authentication request is malformed");
    switch (code) {
    case REQUEST_OK:
        return l->state == NO_SASL || l->state == SERVER_PROVED
                   ? LK_AUTH_OK
                   : broken(l, why, "it ended SASL without proving that it knows the user's secret");
    case REQUEST_PLAIN:
    case REQUEST_MD5:
        if (l->state != NO_SASL)
            return broken(l, why, "it asks for a password in the middle of SASL");
        return code == REQUEST_PLAIN ? on_plain(l, out, why) : on_md5(l, c.rest, out, why);
    case REQUEST_SASL:
        return on_sasl(l, c.rest, out, why);
    case REQUEST_SASL_CONTINUE:
        return on_sasl_continue(l, c.rest, out, why);
    case REQUEST_SASL_FINAL:
        return on_sasl_final(l, c.rest, why);
    default:
        return refused(l, why, "it asks for an authentication method that is not supported here");
    }
}

bool
lk_login_client_key(const struct lk_login *l, struct lk_scram_client_key *out)
{
    if (l->state != SERVER_PROVED)
        return false;
    *out = l->key;
    return true;
}
