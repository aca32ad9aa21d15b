/* Logins of clients and to servers. The first byte chooses: messages of the input's own to an exchange or to a login;
 * or one against the other with a byte of what they say changed, which must never let anyone in, but for what is not
 * chosen of the offer. Two that can bind the login must never do without. Then verifiers and user lists. */
#include "fuzz.h"

#include "auth/exchange.h"
#include "auth/login.h"
#include "auth/users.h"
#include "base/mem.h"
#include "wire/frame.h"

/* User "ann", password "pencil". */
#define MD5_SECRET "md528754acffc5400623f44a44d30b50393"
#define SCRAM_SECRET                                                                                                   \
    "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"                        \
    "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="

static const char *const secrets[] = {"pencil", MD5_SECRET, SCRAM_SECRET, NULL, "", "pen"};
static const uint8_t nonce[LK_SCRAM_NONCE_BYTES] = "abcdefghijklmnopq";

/* The hash of the certificate that an end of the connection knows. */
static struct lk_span
binding(uint8_t choice)
{
    return lk_span_str(!(choice & 0x40) ? "" : choice & 0x20 ? "hash of the one certificate" : "hash of another");
}

static struct lk_auth_request
request(uint8_t method, uint8_t secret)
{
    return (struct lk_auth_request){.method = (enum lk_auth_method)(method % (LK_AUTH_REJECT + 1)),
        .user = "ann",
        .secret = secrets[secret % LK_COUNT(secrets)],
        .random = "0123456789abcdefghijklmnopqrstu",
        .mock_key = lk_span_str("the process's own key"),
        .mock_scram = secret & 0x80,
        .scram_iterations = 1,
        .binding = binding(secret)};
}

static void
is_error(enum lk_auth_verdict verdict, const struct lk_error *why)
{
    MUST(verdict != LK_AUTH_FAILED || (strlen(why->sqlstate) == 5 && why->message[0]));
}

/* Messages with a length byte before each; none of them is right for SCRAM, which has a fresh nonce of ours in it. */
static void
to_exchange(struct lk_span *in)
{
    struct lk_buf out = {0};
    struct lk_error why = {0};
    enum lk_auth_verdict verdict;
    uint8_t method = fuzz_u8(in), secret = fuzz_u8(in);
    struct lk_auth_request r = request(method, secret);
    struct lk_exchange *x = lk_exchange_new(&r, &out, &verdict, &why);
    is_error(verdict, &why);
    for (int i = 0; i < 6 && in->n > 0; i++) {
        enum lk_auth_verdict before = verdict;
        verdict = lk_exchange_step(x, fuzz_bytes(in, fuzz_u8(in)), &out, &why);
        is_error(verdict, &why);
        MUST(before == LK_AUTH_MORE || verdict == LK_AUTH_FAILED);
        MUST(verdict != LK_AUTH_OK || r.method != LK_AUTH_SCRAM);
        MUST(verdict != LK_AUTH_OK || r.secret);
    }
    (void)lk_exchange_password(x);
    lk_exchange_free(x);
    lk_buf_clear(&out);
}

static struct lk_login *
login_new(uint8_t secret)
{
    static struct lk_scram_client_key key;
    if (key.verifier.iterations == 0)
        MUST(lk_scram_client_key_make("pencil", lk_span_str("salt"), 2, &key));
    const struct lk_login_credentials c = {
        "ann", secrets[secret % LK_COUNT(secrets)], secret & 0x80 ? &key : NULL, binding(secret)};
    return lk_login_new(&c, nonce);
}

static void
to_login(struct lk_span *in)
{
    struct lk_buf out = {0};
    struct lk_error why = {0};
    struct lk_login *l = login_new(fuzz_u8(in));
    enum lk_auth_verdict verdict = LK_AUTH_MORE;
    for (int i = 0; i < 6 && in->n > 0 && verdict == LK_AUTH_MORE; i++) {
        uint8_t code = fuzz_u8(in) % 13;
        struct lk_span data = fuzz_bytes(in, fuzz_u8(in));
        struct lk_buf body = {0};
        lk_buf_add_u32(&body, code);
        lk_buf_add_span(&body, data);
        verdict = lk_login_step(l, lk_buf_span(&body), &out, &why);
        is_error(verdict, &why);
        MUST(verdict != LK_AUTH_OK || code == 0);
        lk_buf_clear(&body);
    }
    struct lk_scram_client_key key;
    (void)lk_login_client_key(l, &key);
    lk_login_free(l);
    lk_buf_clear(&out);
}

/* --- one against the other --- */

struct change {
    unsigned message; /* the how manieth */
    uint8_t at, with; /* with 0: unchanged */
    bool made;
};

/* The one frame of b without its head, maybe changed in a byte. */
static struct lk_span
pass(struct lk_buf *b, struct change *c)
{
    struct lk_frame f;
    MUST(lk_frame_next(lk_buf_span(b), UINT32_MAX, &f) == LK_FRAME_WHOLE && f.total == b->len);
    if (c->message-- == 0 && c->with != 0 && c->at < f.body.n) {
        b->data[LK_FRAME_HEAD + c->at] ^= c->with;
        c->made = true;
    }
    return f.body;
}

static void
against(struct lk_span *in)
{
    struct lk_buf requests = {0}, answers = {0};
    struct lk_error why = {0};
    enum lk_auth_verdict client = LK_AUTH_MORE, server = LK_AUTH_MORE;
    uint8_t stored = fuzz_u8(in), known = fuzz_u8(in);
    struct change change = {fuzz_u8(in) % 5, fuzz_u8(in), fuzz_u8(in), false};
    struct lk_auth_request r = request(LK_AUTH_SCRAM, stored);
    struct lk_exchange *x = lk_exchange_new(&r, &requests, &client, &why);
    struct lk_login *l = login_new(known);
    bool proved = false; /* the exchange had let the other in before anything was changed */
    bool bound = false, both_bind = stored & known & 0x40, offer_changed = change.message == 0;
    while (client != LK_AUTH_FAILED && server == LK_AUTH_MORE && requests.len > 0) {
        server = lk_login_step(l, pass(&requests, &change), &answers, &why);
        requests.len = 0;
        bound |= answers.len > LK_FRAME_HEAD && strcmp((char *)answers.data + LK_FRAME_HEAD, LK_SCRAM_PLUS) == 0;
        if (server == LK_AUTH_MORE && answers.len > 0)
            client = lk_exchange_step(x, pass(&answers, &change), &requests, &why);
        answers.len = 0;
        proved |= client == LK_AUTH_OK && !change.made;
    }
    bool right = r.secret && strcmp(r.secret, "pencil") != 0 ? r.secret == secrets[2] : r.secret != NULL;
    MUST(client != LK_AUTH_OK || proved || !change.made || offer_changed);
    MUST(client != LK_AUTH_OK || !both_bind || bound);
    MUST(client != LK_AUTH_OK || right || stored % LK_COUNT(secrets) == known % LK_COUNT(secrets));
    MUST(client != LK_AUTH_OK || !(stored & known & 0x40) || (stored & 0x20) == (known & 0x20));
    lk_exchange_free(x);
    lk_login_free(l);
    lk_buf_clear(&requests);
    lk_buf_clear(&answers);
}

static void
lists(struct lk_span in)
{
    struct lk_buf errors = {0};
    struct lk_users *u = lk_users_parse(in, "users", &errors);
    for (size_t i = 0; i < lk_users_count(u); i++) {
        struct lk_scram_verifier v;
        const char *secret = lk_users_secret(u, lk_users_name(u, i));
        MUST(secret);
        if (lk_scram_verifier_parse(secret, &v))
            MUST(v.iterations > 0 && v.salt_n <= LK_SCRAM_SALT_MAX);
    }
    lk_users_free(u);
    lk_buf_clear(&errors);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lk_span in = lk_span_make(data, size);
    switch (fuzz_u8(&in) % 4) {
    case 0:
        to_exchange(&in);
        break;
    case 1:
        to_login(&in);
        break;
    case 2:
        against(&in);
        break;
    default:
        lists(in);
    }
    return 0;
}
