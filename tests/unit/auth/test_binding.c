#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "unit/auth/play.h"

/* Hashes of certificates, of the length of a SHA-256. */
#define OURS "0123456789abcdef0123456789ABCDEF"
#define ANOTHERS "0123456789abcdef0123456789ABCDEE"
/* base64 of "p=tls-server-end-point,," and OURS behind it. */
#define HEAD_BASE64 "cD10bHMtc2VydmVyLWVuZC1wb2ludCws"
#define OURS_BASE64 "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlBQkNERUY="
/* What the exchange makes of play_request's randomness, and base64 of play_nonce. */
#define NONCE "nonceMDEyMzQ1Njc4OWFiY2RlZmdo"
#define LOGIN_NONCE "YWJjZGVmZ2hpamtsbW5vcHEA"
#define ZERO_PROOF "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

static const char *const secrets[] = {SCRAM_SECRET, PLAINTEXT, NULL};

static struct lk_auth_request
request_bound(const char *secret, const char *binding)
{
    struct lk_auth_request r = play_request(LK_AUTH_SCRAM, secret);
    r.binding = lk_span_str(binding);
    return r;
}

static struct played
play_bound(const char *secret, const char *shown, const char *known, const char *seen)
{
    struct lk_auth_request r = request_bound(secret, shown);
    struct lk_login_credentials c = {.user = "ann", .secret = known, .binding = lk_span_str(seen)};
    return play(&r, &c);
}

static void
assert_refused(struct played p, const char *sqlstate, const char *message)
{
    assert_int_equal(p.exchange, LK_AUTH_FAILED);
    assert_string_equal(p.exchange_why.sqlstate, sqlstate);
    assert_string_equal(p.exchange_why.message, message);
}

/* The exchange's first request. */
static void
assert_offers(enum lk_auth_method method, const char *secret, const char *binding, const char *list, size_t n)
{
    struct lk_auth_request r = request_bound(secret, binding);
    struct lk_buf out = {0};
    struct lk_error why;
    enum lk_auth_verdict verdict;
    r.method = method;
    struct lk_exchange *x = lk_exchange_new(&r, &out, &verdict, &why);
    struct lk_span body = play_body(&out, 'R');
    assert_int_equal(body.p[3], 10);
    assert_true(lk_span_eq(lk_span_skip(body, 4), lk_span_make(list, n)));
    lk_exchange_free(x);
    lk_buf_clear(&out);
}

static void
binding_is_offered_first_where_there_is_something_to_bind_to(void **state)
{
    static const char both[] = "SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0", one[] = "SCRAM-SHA-256\0";
    for (size_t i = 0; i < LK_COUNT(secrets); i++) {
        assert_offers(LK_AUTH_SCRAM, secrets[i], OURS, both, sizeof(both));
        assert_offers(LK_AUTH_SCRAM, secrets[i], "", one, sizeof(one));
    }
    assert_offers(LK_AUTH_MD5, SCRAM_SECRET, OURS, both, sizeof(both));
}

static void
both_ends_of_one_connection_agree_and_those_of_two_do_not(void **state)
{
    for (size_t i = 0; i < LK_COUNT(secrets); i++) {
        bool known = secrets[i] != NULL;
        struct played same = play_bound(secrets[i], OURS, PLAINTEXT, OURS);
        assert_int_equal(same.exchange, known ? LK_AUTH_OK : LK_AUTH_FAILED);
        assert_string_equal(same.types, known ? "10 11 12 0" : "10 11");
        assert_refused(play_bound(secrets[i], OURS, "wrong", OURS), "28P01", "SASL authentication failed");
        assert_refused(
            play_bound(secrets[i], OURS, PLAINTEXT, ANOTHERS), "28000", "SCRAM channel binding check failed");
    }
}

static void
who_cannot_bind_goes_without(void **state)
{
    assert_int_equal(play_bound(SCRAM_SECRET, OURS, PLAINTEXT, "").exchange, LK_AUTH_OK);
    assert_int_equal(play_bound(SCRAM_SECRET, "", PLAINTEXT, OURS).exchange, LK_AUTH_OK);
    assert_int_equal(play_bound(SCRAM_SECRET, "", PLAINTEXT, "").exchange, LK_AUTH_OK);
}

static void
the_longest_hash_fits(void **state)
{
    static const char sha512[] = OURS ANOTHERS;
    assert_int_equal(sizeof(sha512) - 1, LK_SCRAM_BINDING_MAX);
    assert_int_equal(play_bound(SCRAM_SECRET, sha512, PLAINTEXT, sha512).exchange, LK_AUTH_OK);
    assert_int_equal(play_bound(SCRAM_SECRET, sha512, PLAINTEXT, OURS).exchange, LK_AUTH_FAILED);
}

static void
the_key_that_a_bound_login_reveals_is_good_on_any_connection(void **state)
{
    struct played client = play_bound(SCRAM_SECRET, OURS, PLAINTEXT, OURS);
    assert_true(client.has_client_key);
    static const char *const bindings[] = {"", OURS, ANOTHERS};
    for (size_t i = 0; i < LK_COUNT(bindings); i++) {
        struct lk_auth_request server = request_bound(SCRAM_SECRET, bindings[i]);
        struct lk_login_credentials c = {
            .user = "ann", .client_key = &client.client_key, .binding = lk_span_str(bindings[i])};
        struct played p = play(&server, &c);
        assert_int_equal(p.exchange, LK_AUTH_OK);
        assert_int_equal(p.login, LK_AUTH_OK);
    }
}

/* --- what clients say --- */

/* What an exchange that offers binding makes of these two messages; final may be NULL. */
static enum lk_auth_verdict
after(const char *mechanism, const char *first, const char *final, struct lk_error *why)
{
    struct lk_auth_request r = request_bound(SCRAM_SECRET, OURS);
    struct lk_buf out = {0}, message = {0};
    enum lk_auth_verdict verdict;
    struct lk_exchange *x = lk_exchange_new(&r, &out, &verdict, why);
    *why = (struct lk_error){0};
    lk_build_sasl_initial(&message, mechanism, lk_span_str(first));
    verdict = lk_exchange_step(x, play_body(&message, 'p'), &out, why);
    if (verdict == LK_AUTH_MORE && final)
        verdict = lk_exchange_step(x, lk_span_str(final), &out, why);
    lk_exchange_free(x);
    lk_buf_clear(&out);
    lk_buf_clear(&message);
    return verdict;
}

static void
the_flag_must_fit_the_mechanism_and_the_offer(void **state)
{
    static const struct {
        const char *mechanism, *first, *sqlstate;
    } cases[] = {
        {LK_SCRAM_PLUS, "p=tls-server-end-point,,n=,r=nonce", ""},
        {LK_SCRAM_PLAIN, "n,,n=,r=nonce", ""},
        {LK_SCRAM_PLAIN, "y,,n=,r=nonce", "28000"},
        {LK_SCRAM_PLUS, "n,,n=,r=nonce", "08P01"},
        {LK_SCRAM_PLUS, "y,,n=,r=nonce", "08P01"},
        {LK_SCRAM_PLAIN, "p=tls-server-end-point,,n=,r=nonce", "08P01"},
        {LK_SCRAM_PLUS, "p=tls-unique,,n=,r=nonce", "08P01"},
        {LK_SCRAM_PLUS, "p=tls-exporter,,n=,r=nonce-that-is-longer", "08P01"},
        {LK_SCRAM_PLUS, "p=tls-server-end-points,,n=,r=nonce", "08P01"},
        {LK_SCRAM_PLUS, "p=tls-server-end-poin", "08P01"},
        {LK_SCRAM_PLUS, "p=tls-server-end-point", "08P01"},
        {LK_SCRAM_PLUS, "p=tls-server-end-point,", "08P01"},
        {LK_SCRAM_PLUS, "p=tls-server-end-point,,", "08P01"},
        {LK_SCRAM_PLUS, "p=tls-server-end-point,a=bob,n=,r=nonce", "08P01"},
        {LK_SCRAM_PLUS, "p", "08P01"},
        {LK_SCRAM_PLUS, "P=tls-server-end-point,,n=,r=nonce", "08P01"},
        {LK_SCRAM_PLUS, "", "08P01"},
    };
    for (size_t i = 0; i < LK_COUNT(cases); i++) {
        struct lk_error why;
        enum lk_auth_verdict verdict = after(cases[i].mechanism, cases[i].first, NULL, &why);
        assert_int_equal(verdict, cases[i].sqlstate[0] ? LK_AUTH_FAILED : LK_AUTH_MORE);
        assert_string_equal(why.sqlstate, cases[i].sqlstate);
    }
}

static void
a_client_that_was_kept_from_the_offer_is_told_so(void **state)
{
    struct lk_error why;
    assert_int_equal(after(LK_SCRAM_PLAIN, "y,,n=,r=nonce", NULL, &why), LK_AUTH_FAILED);
    assert_string_equal(why.message, "SCRAM channel binding negotiation error");
}

static void
the_last_message_repeats_head_and_hash_exactly(void **state)
{
    static const struct {
        const char *bound, *sqlstate;
    } cases[] = {
        {HEAD_BASE64 OURS_BASE64, "28P01"}, /* right, but for the proof */
        {HEAD_BASE64, "28000"},
        {OURS_BASE64, "28000"},
        {"biws", "28000"},
        {"eSws", "28000"},
        {"", "28000"},
        {HEAD_BASE64 "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlBQkNERUU=", "28000"},
        {HEAD_BASE64 "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlBQkNERUYA", "28000"},
        {HEAD_BASE64 "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlBQkNERUY", "28000"},
        {HEAD_BASE64 "%%%%", "28000"},
    };
    for (size_t i = 0; i < LK_COUNT(cases); i++) {
        char final[256];
        struct lk_error why;
        (void)snprintf(final, sizeof(final), "c=%s,r=" NONCE ",p=" ZERO_PROOF, cases[i].bound);
        assert_int_equal(after(LK_SCRAM_PLUS, "p=tls-server-end-point,,n=,r=nonce", final, &why), LK_AUTH_FAILED);
        assert_string_equal(why.sqlstate, cases[i].sqlstate);
    }
    struct lk_error why;
    static const char bound_after_all[] = "c=" HEAD_BASE64 OURS_BASE64 ",r=" NONCE ",p=" ZERO_PROOF;
    assert_int_equal(after(LK_SCRAM_PLAIN, "n,,n=,r=nonce", bound_after_all, &why), LK_AUTH_FAILED);
    assert_string_equal(why.sqlstate, "08P01");
}

/* --- what we say to servers --- */

/* Our answers to a server's offer and to its first message. */
static void
assert_says(
    const char *binding, const char *offer, size_t n, const char *mechanism, const char *first, const char *final)
{
    struct lk_login_credentials c = {.user = "ann", .secret = PLAINTEXT, .binding = lk_span_str(binding)};
    struct lk_login *l = lk_login_new(&c, play_nonce);
    struct lk_buf request = {0}, out = {0}, expected = {0};
    struct lk_error why;
    lk_build_authentication(&request, 10, lk_span_make(offer, n));
    assert_int_equal(lk_login_step(l, play_body(&request, 'R'), &out, &why), LK_AUTH_MORE);
    lk_build_sasl_initial(&expected, mechanism, lk_span_str(first));
    assert_true(lk_span_eq(lk_buf_span(&out), lk_buf_span(&expected)));
    lk_buf_clear(&out);
    lk_buf_clear(&request);
    lk_build_authentication(&request, 11, lk_span_str("r=" LOGIN_NONCE "xyz,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"));
    assert_int_equal(lk_login_step(l, play_body(&request, 'R'), &out, &why), LK_AUTH_MORE);
    struct lk_span said = play_body(&out, 'p');
    assert_true(said.n > strlen(final) && memcmp(said.p, final, strlen(final)) == 0);
    lk_login_free(l);
    lk_buf_clear(&request);
    lk_buf_clear(&out);
    lk_buf_clear(&expected);
}

#define ASSERT_SAYS(binding, offer, mechanism, head, bound)                                                            \
    assert_says(                                                                                                       \
        binding, offer, sizeof(offer) - 1, mechanism, head "n=,r=" LOGIN_NONCE, "c=" bound ",r=" LOGIN_NONCE "xyz,p=")

static void
a_server_is_answered_with_the_best_of_what_it_offers(void **state)
{
    ASSERT_SAYS(OURS, "SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0", LK_SCRAM_PLUS, "p=tls-server-end-point,,",
        HEAD_BASE64 OURS_BASE64);
    ASSERT_SAYS(OURS, "SCRAM-SHA-256\0SCRAM-SHA-256-PLUS\0", LK_SCRAM_PLUS, "p=tls-server-end-point,,",
        HEAD_BASE64 OURS_BASE64);
    ASSERT_SAYS(OURS, "SCRAM-SHA-256-PLUS\0", LK_SCRAM_PLUS, "p=tls-server-end-point,,", HEAD_BASE64 OURS_BASE64);
    ASSERT_SAYS(OURS, "SCRAM-SHA-256\0", LK_SCRAM_PLAIN, "y,,", "eSws");
    ASSERT_SAYS("", "SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0", LK_SCRAM_PLAIN, "n,,", "biws");
    ASSERT_SAYS("", "SCRAM-SHA-256\0", LK_SCRAM_PLAIN, "n,,", "biws");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binding_is_offered_first_where_there_is_something_to_bind_to),
        cmocka_unit_test(both_ends_of_one_connection_agree_and_those_of_two_do_not),
        cmocka_unit_test(who_cannot_bind_goes_without),
        cmocka_unit_test(the_longest_hash_fits),
        cmocka_unit_test(the_key_that_a_bound_login_reveals_is_good_on_any_connection),
        cmocka_unit_test(the_flag_must_fit_the_mechanism_and_the_offer),
        cmocka_unit_test(a_client_that_was_kept_from_the_offer_is_told_so),
        cmocka_unit_test(the_last_message_repeats_head_and_hash_exactly),
        cmocka_unit_test(a_server_is_answered_with_the_best_of_what_it_offers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
