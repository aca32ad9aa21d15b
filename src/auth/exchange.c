#include "auth/exchange.h"

#include <stdlib.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "auth/md5.h"
#include "base/mem.h"
#include "wire/build.h"
#include "wire/cursor.h"

/* Codes of Authentication… messages. */
enum { REQUEST_PLAIN = 3, REQUEST_MD5 = 5, REQUEST_SASL = 10, REQUEST_SASL_CONTINUE = 11, REQUEST_SASL_FINAL = 12 };

/* The longest 'p' bodies, for passwords and for SASL. PostgreSQL has the same limits with the length word counted in. */
#define PASSWORD_MAX 65535u
#define SASL_MAX 1024u
#define MOCK_SALT_BYTES 16u
#define NONCE_SIZE (LK_SCRAM_NONCE_BYTES / 3 * 4 + 1)

enum state { DECIDED, WANT_PLAIN, WANT_MD5, WANT_SCRAM_FIRST, WANT_SCRAM_FINAL };
enum secret_kind { SECRET_NONE, SECRET_PLAIN, SECRET_MD5, SECRET_SCRAM };

struct lk_exchange {
    enum state state;
    enum secret_kind kind;
    struct lk_auth_request request; /* user is our own copy */
    char *user;
    struct lk_scram_verifier verifier; /* the user's own with SECRET_SCRAM, else made on the spot or a mock */
    struct lk_buf transcript;          /* SCRAM's AuthMessage as far as it has been said */
    size_t nonce_at, nonce_n;          /* the nonce of both sides in the transcript */
    char flag;                         /* client-first's about channel binding: see lk_scram_head */
    uint8_t client_key[LK_SCRAM_KEY_BYTES];
    bool proved; /* client_key is the user's */
    char *password;
};

static enum lk_auth_verdict
fail(struct lk_exchange *x, struct lk_error *why)
{
    bool scram = x->state == WANT_SCRAM_FIRST || x->state == WANT_SCRAM_FINAL;
    x->state = DECIDED;
    if (scram)
        lk_error_set(why, "28P01", "SASL authentication failed");
    else
        lk_error_set(why, "28P01", "password authentication failed for user \"%s\"", x->user);
    return LK_AUTH_FAILED;
}

static enum lk_auth_verdict
fail_inside(struct lk_exchange *x, struct lk_error *why)
{
    x->state = DECIDED;
    lk_error_set(why, "XX000", "could not compute the keys to authenticate user \"%s\"", x->user);
    return LK_AUTH_FAILED;
}

static enum lk_auth_verdict
malformed(struct lk_exchange *x, struct lk_error *why, const char *detail)
{
    x->state = DECIDED;
    lk_error_set(why, "08P01", "malformed SCRAM message");
    lk_error_detail(why, "%s", detail);
    return LK_AUTH_FAILED;
}

/* The channel that the client speaks of is not this one: PostgreSQL's words for it. */
static enum lk_auth_verdict
unbound(struct lk_exchange *x, struct lk_error *why, const char *what, const char *detail)
{
    x->state = DECIDED;
    lk_error_set(why, "28000", "SCRAM channel binding %s", what);
    lk_error_detail(why, "%s", detail);
    return LK_AUTH_FAILED;
}

static enum lk_auth_verdict
succeed(struct lk_exchange *x)
{
    x->state = DECIDED;
    return LK_AUTH_OK;
}

static enum secret_kind
kind_of(const char *secret, struct lk_scram_verifier *verifier)
{
    if (!secret)
        return SECRET_NONE;
    if (lk_md5_is_secret(secret))
        return SECRET_MD5;
    return lk_scram_verifier_parse(secret, verifier) ? SECRET_SCRAM : SECRET_PLAIN;
}

static enum lk_auth_verdict
ask_scram(struct lk_exchange *x, struct lk_buf *out)
{
    static const char mechanisms[] = LK_SCRAM_PLUS "\0" LK_SCRAM_PLAIN "\0"; /* a list, ended by an empty name */
    struct lk_span offered = lk_span_make(mechanisms, sizeof(mechanisms));
    if (x->request.binding.n == 0)
        offered = lk_span_skip(offered, sizeof(LK_SCRAM_PLUS));
    x->state = WANT_SCRAM_FIRST;
    lk_build_authentication(out, REQUEST_SASL, offered);
    return LK_AUTH_MORE;
}

static enum lk_auth_verdict
begin(struct lk_exchange *x, struct lk_buf *out, struct lk_error *why)
{
    switch (x->request.method) {
    case LK_AUTH_TRUST:
        return x->kind == SECRET_NONE ? fail(x, why) : LK_AUTH_OK;
    case LK_AUTH_ANY:
        return LK_AUTH_OK;
    case LK_AUTH_PLAIN:
        x->state = WANT_PLAIN;
        lk_build_authentication(out, REQUEST_PLAIN, lk_span_make(NULL, 0));
        return LK_AUTH_MORE;
    case LK_AUTH_MD5:
        if (x->kind == SECRET_SCRAM || (x->kind == SECRET_NONE && x->request.mock_scram))
            return ask_scram(x, out);
        x->state = WANT_MD5;
        lk_build_authentication(out, REQUEST_MD5, lk_span_make(x->request.random, LK_MD5_SALT_BYTES));
        return LK_AUTH_MORE;
    case LK_AUTH_SCRAM:
        return ask_scram(x, out);
    case LK_AUTH_REJECT:
        break;
    }
    lk_error_set(why, "28000", "login rejected");
    return LK_AUTH_FAILED;
}

struct lk_exchange *
lk_exchange_new(
    const struct lk_auth_request *request, struct lk_buf *out, enum lk_auth_verdict *verdict, struct lk_error *why)
{
    struct lk_exchange *x = LK_NEW(struct lk_exchange);
    x->request = *request;
    x->user = lk_mem_dup(request->user);
    x->request.user = x->user;
    x->kind = kind_of(request->secret, &x->verifier);
    *verdict = begin(x, out, why);
    return x;
}

void
lk_exchange_free(struct lk_exchange *x)
{
    if (!x)
        return;
    free(x->user);
    lk_mem_wipe_free(x->password);
    lk_buf_clear(&x->transcript);
    explicit_bzero(x, sizeof(*x));
    free(x);
}

/* --- passwords --- */

/* In a time that depends on neither's content. */
static bool
same_text(const char *a, const char *b)
{
    uint8_t da[EVP_MAX_MD_SIZE], db[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    return EVP_Digest(a, strlen(a), da, &n, EVP_sha256(), NULL) == 1 &&
           EVP_Digest(b, strlen(b), db, &n, EVP_sha256(), NULL) == 1 && CRYPTO_memcmp(da, db, n) == 0;
}

/* The salt that a name has for the life of the process. */
static bool
steady_salt(const struct lk_exchange *x, uint8_t salt[LK_SCRAM_KEY_BYTES])
{
    return lk_scram_hmac(x->request.mock_key, lk_span_str(x->user), salt);
}

static bool
password_proves(const struct lk_exchange *x, const struct lk_scram_verifier *v, const char *password)
{
    struct lk_scram_verifier made;
    return lk_scram_verifier_make(password, lk_span_make(v->salt, v->salt_n), v->iterations, &made) &&
           CRYPTO_memcmp(made.stored_key, v->stored_key, LK_SCRAM_KEY_BYTES) == 0;
}

static bool
plain_matches(const struct lk_exchange *x, const char *password)
{
    char hashed[LK_MD5_SECRET_SIZE];
    struct lk_scram_verifier mock = {.iterations = x->request.scram_iterations, .salt_n = MOCK_SALT_BYTES};
    switch (x->kind) {
    case SECRET_PLAIN:
        return same_text(password, x->request.secret);
    case SECRET_MD5:
        return lk_md5_secret(x->user, password, hashed) && same_text(hashed, x->request.secret);
    case SECRET_SCRAM:
        return password_proves(x, &x->verifier, password);
    case SECRET_NONE:
        break;
    }
    /* The work of a user that exists, for nothing. */
    if (x->request.mock_scram)
        (void)password_proves(x, &mock, password);
    else
        (void)same_text(password, x->user);
    return false;
}

static bool
md5_matches(const struct lk_exchange *x, const char *answer)
{
    char hashed[LK_MD5_SECRET_SIZE], expected[LK_MD5_SECRET_SIZE];
    const char *secret = x->request.secret;
    if (x->kind != SECRET_MD5) {
        if (!lk_md5_secret(x->user, x->kind == SECRET_PLAIN ? secret : "", hashed))
            return false;
        secret = hashed;
    }
    return lk_md5_answer(secret, x->request.random, expected) && same_text(answer, expected) && x->kind != SECRET_NONE;
}

static enum lk_auth_verdict
on_password(struct lk_exchange *x, struct lk_span body, struct lk_error *why)
{
    struct lk_cursor c = lk_cursor_make(body);
    struct lk_span text = lk_cursor_cstr(&c);
    if (!lk_cursor_done(&c) || body.n > PASSWORD_MAX) {
        x->state = DECIDED;
        lk_error_set(why, "08P01", "invalid password packet size");
        return LK_AUTH_FAILED;
    }
    char *given = lk_mem_dup_span(text);
    bool plain = x->state == WANT_PLAIN;
    bool matches = plain ? plain_matches(x, given) : md5_matches(x, given);
    if (matches && plain)
        x->password = given;
    else
        lk_mem_wipe_free(given);
    return matches ? succeed(x) : fail(x, why);
}

/* --- SCRAM --- */

/* Gives x->verifier what the client is to be measured by. False: the keys could not be computed. */
static bool
prepare_verifier(struct lk_exchange *x)
{
    if (x->kind == SECRET_SCRAM)
        return true;
    uint8_t salt[LK_SCRAM_KEY_BYTES];
    if (!steady_salt(x, salt))
        return false;
    if (x->kind == SECRET_PLAIN || !x->request.mock_scram) {
        const char *password = x->kind == SECRET_PLAIN ? x->request.secret : "";
        return lk_scram_verifier_make(
            password, lk_span_make(salt, MOCK_SALT_BYTES), x->request.scram_iterations, &x->verifier);
    }
    x->verifier = (struct lk_scram_verifier){.iterations = x->request.scram_iterations, .salt_n = MOCK_SALT_BYTES};
    memcpy(x->verifier.salt, salt, MOCK_SALT_BYTES);
    return true;
}

/* SASLInitialResponse: the mechanism, a length, client-first. What is wrong with it, or NULL. */
static const char *
take_initial(const struct lk_exchange *x, struct lk_span body, bool *plus, struct lk_span *client_first)
{
    struct lk_cursor c = lk_cursor_make(body);
    struct lk_span mechanism = lk_cursor_cstr(&c);
    int32_t n = lk_cursor_i32(&c);
    *client_first = lk_cursor_bytes(&c, n < 0 ? SIZE_MAX : (size_t)n);
    if (!lk_cursor_done(&c))
        return "The initial response is incomplete.";
    *plus = x->request.binding.n > 0 && lk_span_is(mechanism, LK_SCRAM_PLUS);
    return *plus || lk_span_is(mechanism, LK_SCRAM_PLAIN) ? NULL : "The client chose a mechanism that was not offered.";
}

/* Takes the head from client-first, which leaves client-first-bare. */
static const char *
take_head(struct lk_exchange *x, bool plus, struct lk_span *rest)
{
    x->flag = rest->n > 0 ? (char)rest->p[0] : '\0';
    const char *head = lk_scram_head(x->flag);
    if (!head)
        return "The channel binding flag is missing or unknown.";
    if ((x->flag == 'p') != plus)
        return plus ? "The client chose a mechanism with channel binding, and asks for none."
                    : "The client asks for channel binding, and chose a mechanism without it.";
    size_t n = strlen(head);
    if (rest->n < n || memcmp(rest->p, head, n) != 0)
        return plus ? "This type of channel binding, or an authorization identity, is not supported."
                    : "An authorization identity is not supported.";
    *rest = lk_span_skip(*rest, n);
    return NULL;
}

/* The name in it is empty or ignored: the startup packet's counts, as in PostgreSQL. */
static const char *
take_client_nonce(struct lk_span bare, struct lk_span *nonce)
{
    char name = '\0';
    struct lk_span user;
    if (!lk_scram_attribute(&bare, &name, &user) || name != 'n')
        return name == 'm' ? "The client requires an extension that is not supported." : "The user name is missing.";
    if (!lk_scram_attribute(&bare, &name, nonce) || name != 'r' || !lk_scram_nonce_valid(*nonce))
        return "The nonce is missing or not printable.";
    return NULL;
}

static void
say_server_first(struct lk_exchange *x, struct lk_span bare, struct lk_span nonce, struct lk_buf *out)
{
    char ours[NONCE_SIZE], salt[(LK_SCRAM_SALT_MAX + 2) / 3 * 4 + 1];
    lk_scram_base64(lk_span_make(x->request.random, LK_SCRAM_NONCE_BYTES), ours);
    lk_scram_base64(lk_span_make(x->verifier.salt, x->verifier.salt_n), salt);
    struct lk_buf *t = &x->transcript;
    lk_buf_add_span(t, bare);
    lk_buf_add_u8(t, ',');
    size_t at = t->len;
    lk_buf_add(t, "r=", 2);
    x->nonce_at = t->len;
    lk_buf_add_span(t, nonce);
    lk_buf_add(t, ours, NONCE_SIZE - 1);
    x->nonce_n = t->len - x->nonce_at;
    lk_buf_add_format(t, ",s=%s,i=%u", salt, x->verifier.iterations);
    if (!t->failed)
        lk_build_authentication(out, REQUEST_SASL_CONTINUE, lk_span_skip(lk_buf_span(t), at));
}

static enum lk_auth_verdict
on_client_first(struct lk_exchange *x, struct lk_span body, struct lk_buf *out, struct lk_error *why)
{
    struct lk_span bare, nonce;
    bool plus;
    const char *wrong = take_initial(x, body, &plus, &bare);
    wrong = wrong ? wrong : take_head(x, plus, &bare);
    wrong = wrong ? wrong : take_client_nonce(bare, &nonce);
    if (wrong)
        return malformed(x, why, wrong);
    if (x->flag == 'y' && x->request.binding.n > 0)
        return unbound(x, why, "negotiation error",
            "The client supports channel binding and thinks that the server does not, which offered it.");
    if (!prepare_verifier(x))
        return fail_inside(x, why);
    say_server_first(x, bare, nonce, out);
    x->state = WANT_SCRAM_FINAL;
    return x->transcript.failed ? fail_inside(x, why) : LK_AUTH_MORE;
}

/* client-final: "c=…,r=…[,extensions],p=proof". What is wrong with it, or NULL. */
static const char *
take_client_final(const struct lk_exchange *x, struct lk_span body, struct lk_span *bound,
    struct lk_span *without_proof, uint8_t proof[LK_SCRAM_KEY_BYTES])
{
    struct lk_span rest = body, value;
    char name;
    if (!lk_scram_attribute(&rest, &name, bound) || name != 'c')
        return "The channel binding attribute is missing.";
    struct lk_span nonce = lk_span_make(x->transcript.data + x->nonce_at, x->nonce_n);
    if (!lk_scram_attribute(&rest, &name, &value) || name != 'r' || !lk_span_eq(value, nonce))
        return "The nonce does not match.";
    do {
        *without_proof = lk_span_head(body, body.n - rest.n - (rest.n > 0));
        if (!lk_scram_attribute(&rest, &name, &value))
            return "The proof is missing.";
    } while (name != 'p');
    size_t n;
    if (rest.n > 0 || !lk_scram_unbase64(value, proof, LK_SCRAM_KEY_BYTES, &n) || n != LK_SCRAM_KEY_BYTES)
        return "The proof is malformed.";
    return NULL;
}

static enum lk_auth_verdict
on_client_final(struct lk_exchange *x, struct lk_span body, struct lk_buf *out, struct lk_error *why)
{
    struct lk_span bound, without_proof;
    uint8_t proof[LK_SCRAM_KEY_BYTES], signature[LK_SCRAM_KEY_BYTES];
    char expected[LK_SCRAM_BOUND_SIZE];
    const char *wrong = take_client_final(x, body, &bound, &without_proof, proof);
    if (wrong)
        return malformed(x, why, wrong);
    lk_scram_bound(x->flag, x->request.binding, expected);
    if (!lk_span_is(bound, expected) && x->flag == 'p')
        return unbound(x, why, "check failed", "The client was shown another certificate than the server's.");
    if (!lk_span_is(bound, expected))
        return malformed(x, why, "The channel binding attribute is not what the first message said.");
    lk_buf_add_u8(&x->transcript, ',');
    lk_buf_add_span(&x->transcript, without_proof);
    struct lk_span auth_message = lk_buf_span(&x->transcript);
    if (x->transcript.failed || !lk_scram_server_signature(x->verifier.server_key, auth_message, signature))
        return fail_inside(x, why);
    x->proved = lk_scram_proof_check(&x->verifier, auth_message, proof, x->client_key) &&
                (x->kind == SECRET_SCRAM || x->kind == SECRET_PLAIN);
    if (!x->proved)
        return fail(x, why);
    char final[2 + LK_SCRAM_BASE64_SIZE] = "v=";
    lk_scram_base64(lk_span_make(signature, sizeof(signature)), final + 2);
    lk_build_authentication(out, REQUEST_SASL_FINAL, lk_span_str(final));
    return succeed(x);
}

enum lk_auth_verdict
lk_exchange_step(struct lk_exchange *x, struct lk_span body, struct lk_buf *out, struct lk_error *why)
{
    bool scram = x->state == WANT_SCRAM_FIRST || x->state == WANT_SCRAM_FINAL;
    if (scram && body.n > SASL_MAX)
        return malformed(x, why, "The message is too long.");
    switch (x->state) {
    case WANT_PLAIN:
    case WANT_MD5:
        return on_password(x, body, why);
    case WANT_SCRAM_FIRST:
        return on_client_first(x, body, out, why);
    case WANT_SCRAM_FINAL:
        return on_client_final(x, body, out, why);
    case DECIDED:
        break;
    }
    lk_error_set(why, "08P01", "unexpected password message");
    return LK_AUTH_FAILED;
}

const char *
lk_exchange_password(const struct lk_exchange *x)
{
    return x->password;
}

bool
lk_exchange_client_key(const struct lk_exchange *x, struct lk_scram_client_key *out)
{
    if (!x->proved || x->kind != SECRET_SCRAM)
        return false;
    out->verifier = x->verifier;
    memcpy(out->client_key, x->client_key, LK_SCRAM_KEY_BYTES);
    return true;
}
