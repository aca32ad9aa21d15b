/* Plays a client's exchange against a login in memory, message by message, as the two ends of one connection. */
#ifndef LK_TEST_AUTH_PLAY_H
#define LK_TEST_AUTH_PLAY_H

#include "auth/exchange.h"
#include "auth/login.h"
#include "wire/build.h"
#include "wire/frame.h"

/* All of user "ann" with password "pencil"; the verifier is the one of RFC 7677's example. */
#define PLAINTEXT "pencil"
#define MD5_SECRET "md528754acffc5400623f44a44d30b50393"
#define SALT_AND_ITERATIONS "4096:W22ZaJ0SNY7soEsUEjb6gQ=="
#define SCRAM_SECRET                                                                                                   \
    "SCRAM-SHA-256$" SALT_AND_ITERATIONS                                                                               \
    "$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="

static const uint8_t play_nonce[LK_SCRAM_NONCE_BYTES] = "abcdefghijklmnopq";

struct played {
    enum lk_auth_verdict exchange, login;
    struct lk_error exchange_why, login_why;
    bool has_client_key, has_login_key;
    struct lk_scram_client_key client_key, login_key;
    char password[64]; /* "(none)": not learned */
    char types[64];    /* codes of the requests, as in "10 11 12" */
};

static inline struct lk_auth_request
play_request(enum lk_auth_method method, const char *secret)
{
    return (struct lk_auth_request){.method = method,
        .user = "ann",
        .secret = secret,
        .random = "0123456789abcdefghijklmnopqrstu",
        .mock_key = lk_span_str("the process's own key"),
        .scram_iterations = 4096};
}

/* The body of the one frame in b. */
static inline struct lk_span
play_body(const struct lk_buf *b, uint8_t type)
{
    struct lk_frame f;
    assert_false(b->failed);
    assert_int_equal(lk_frame_next(lk_buf_span(b), UINT32_MAX, &f), LK_FRAME_WHOLE);
    assert_int_equal(f.total, b->len);
    assert_int_equal(f.type, type);
    return f.body;
}

/* One request to the login, and its answer, if it gives one, to the exchange. */
static inline void
play_turn(struct played *p, struct lk_exchange *x, struct lk_login *l, struct lk_buf *requests)
{
    struct lk_buf answers = {0};
    struct lk_span body = play_body(requests, 'R');
    size_t said = strlen(p->types);
    (void)snprintf(p->types + said, sizeof(p->types) - said, said ? " %d" : "%d", body.p[3]);
    p->login = lk_login_step(l, body, &answers, &p->login_why);
    lk_buf_clear(requests);
    if (p->login == LK_AUTH_MORE && answers.len > 0)
        p->exchange = lk_exchange_step(x, play_body(&answers, 'p'), requests, &p->exchange_why);
    lk_buf_clear(&answers);
}

static inline struct played
play(const struct lk_auth_request *request, const struct lk_login_credentials *credentials)
{
    struct played p = {.login = LK_AUTH_MORE};
    struct lk_buf requests = {0};
    struct lk_exchange *x = lk_exchange_new(request, &requests, &p.exchange, &p.exchange_why);
    struct lk_login *l = lk_login_new(credentials, play_nonce);
    while (p.exchange != LK_AUTH_FAILED && p.login == LK_AUTH_MORE) {
        if (requests.len == 0)
            lk_build_authentication(&requests, 0, lk_span_make(NULL, 0));
        play_turn(&p, x, l, &requests);
    }
    const char *password = lk_exchange_password(x);
    (void)snprintf(p.password, sizeof(p.password), "%s", password ? password : "(none)");
    p.has_client_key = lk_exchange_client_key(x, &p.client_key);
    p.has_login_key = lk_login_client_key(l, &p.login_key);
    lk_buf_clear(&requests);
    lk_exchange_free(x);
    lk_login_free(l);
    return p;
}

static inline struct played
play_simple(enum lk_auth_method method, const char *secret, const char *known)
{
    struct lk_auth_request request = play_request(method, secret);
    struct lk_login_credentials credentials = {.user = "ann", .secret = known};
    return play(&request, &credentials);
}

#endif
