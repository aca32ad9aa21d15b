#include "auth/exchange.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "unit/auth/play.h"

#define WRONG_PASSWORD "password authentication failed for user \"ann\""
#define WRONG_SCRAM "SASL authentication failed"

static enum lk_auth_verdict
decided_at_once(enum lk_auth_method method, const char *secret, struct lk_error *why)
{
    struct lk_auth_request request = play_request(method, secret);
    struct lk_buf out = {0};
    enum lk_auth_verdict verdict;
    struct lk_exchange *x = lk_exchange_new(&request, &out, &verdict, why);
    assert_int_equal(out.len, 0);
    assert_null(lk_exchange_password(x));
    lk_exchange_free(x);
    return verdict;
}

static void
trust_lets_in_whoever_is_listed(void **state)
{
    struct lk_error why;
    assert_int_equal(decided_at_once(LK_AUTH_TRUST, "", &why), LK_AUTH_OK);
    assert_int_equal(decided_at_once(LK_AUTH_TRUST, NULL, &why), LK_AUTH_FAILED);
    assert_string_equal(why.sqlstate, "28P01");
    assert_string_equal(why.message, WRONG_PASSWORD);
}

static void
any_lets_in_everybody_and_reject_nobody(void **state)
{
    struct lk_error why;
    assert_int_equal(decided_at_once(LK_AUTH_ANY, NULL, &why), LK_AUTH_OK);
    assert_int_equal(decided_at_once(LK_AUTH_REJECT, "x", &why), LK_AUTH_FAILED);
    assert_string_equal(why.sqlstate, "28000");
}

struct combination {
    enum lk_auth_method method;
    const char *secret;
    const char *types;   /* requests of a login that succeeds, then Ok */
    const char *learned; /* password that the exchange learns */
};

static const struct combination combinations[] = {
    {LK_AUTH_PLAIN, PLAINTEXT, "3 0", PLAINTEXT},
    {LK_AUTH_PLAIN, MD5_SECRET, "3 0", PLAINTEXT},
    {LK_AUTH_PLAIN, SCRAM_SECRET, "3 0", PLAINTEXT},
    {LK_AUTH_MD5, PLAINTEXT, "5 0", "(none)"},
    {LK_AUTH_MD5, MD5_SECRET, "5 0", "(none)"},
    {LK_AUTH_MD5, SCRAM_SECRET, "10 11 12 0", "(none)"},
    {LK_AUTH_SCRAM, PLAINTEXT, "10 11 12 0", "(none)"},
    {LK_AUTH_SCRAM, SCRAM_SECRET, "10 11 12 0", "(none)"},
};

static void
the_right_password_passes_by_every_method_and_kind_of_secret(void **state)
{
    for (size_t i = 0; i < LK_COUNT(combinations); i++) {
        const struct combination *c = &combinations[i];
        struct played p = play_simple(c->method, c->secret, PLAINTEXT);
        assert_int_equal(p.exchange, LK_AUTH_OK);
        assert_int_equal(p.login, LK_AUTH_OK);
        assert_string_equal(p.types, c->types);
        assert_string_equal(p.password, c->learned);
    }
}

static void
a_wrong_password_fails_by_every_method_and_kind_of_secret(void **state)
{
    static const char *const guesses[] = {"", "Pencil", "pencil ", "pencilpencil"};
    for (size_t i = 0; i < LK_COUNT(combinations); i++) {
        const struct combination *c = &combinations[i];
        struct played p = play_simple(c->method, c->secret, guesses[i % LK_COUNT(guesses)]);
        bool scram = strcmp(c->types, "10 11 12 0") == 0;
        assert_int_equal(p.exchange, LK_AUTH_FAILED);
        assert_string_equal(p.exchange_why.sqlstate, "28P01");
        assert_string_equal(p.exchange_why.message, scram ? WRONG_SCRAM : WRONG_PASSWORD);
        assert_string_equal(p.password, "(none)");
        assert_false(p.has_client_key || p.has_login_key);
    }
}

static void
an_empty_password_is_a_password(void **state)
{
    for (enum lk_auth_method m = LK_AUTH_PLAIN; m <= LK_AUTH_SCRAM; m++) {
        assert_int_equal(play_simple(m, "", "").exchange, LK_AUTH_OK);
        assert_int_equal(play_simple(m, "", "x").exchange, LK_AUTH_FAILED);
    }
    assert_string_equal(play_simple(LK_AUTH_PLAIN, "", "").password, "");
}

static void
an_md5_secret_cannot_pass_scram(void **state)
{
    struct played p = play_simple(LK_AUTH_SCRAM, MD5_SECRET, PLAINTEXT);
    assert_int_equal(p.exchange, LK_AUTH_FAILED);
    assert_string_equal(p.exchange_why.message, WRONG_SCRAM);
    assert_string_equal(p.types, "10 11");
    assert_int_equal(play_simple(LK_AUTH_SCRAM, MD5_SECRET, "").exchange, LK_AUTH_FAILED);
}

/* The secrets themselves are no passwords, but under md5, where the hash is all that is needed. */
static void
a_stolen_hash_is_no_password(void **state)
{
    struct lk_buf out = {0};
    static const char *const secrets[] = {MD5_SECRET, SCRAM_SECRET};
    for (size_t i = 0; i < LK_COUNT(secrets); i++) {
        struct lk_auth_request request = play_request(LK_AUTH_PLAIN, secrets[i]);
        enum lk_auth_verdict verdict;
        struct lk_error why;
        struct lk_exchange *x = lk_exchange_new(&request, &out, &verdict, &why);
        struct lk_span body = lk_span_make(secrets[i], strlen(secrets[i]) + 1);
        assert_int_equal(lk_exchange_step(x, body, &out, &why), LK_AUTH_FAILED);
        lk_exchange_free(x);
        lk_buf_clear(&out);
    }
}

static void
an_unknown_user_sees_what_a_wrong_password_shows(void **state)
{
    /* Also with the empty password, from which a mock's verifier is made. */
    static const char *const guesses[] = {"guess", ""};
    for (size_t i = 0; i < LK_COUNT(combinations) * 2; i++) {
        const struct combination *c = &combinations[i / 2];
        struct lk_auth_request listed = play_request(c->method, c->secret);
        struct lk_auth_request unknown = play_request(c->method, NULL);
        unknown.mock_scram = c->secret[0] == 'S';
        struct lk_login_credentials credentials = {.user = "ann", .secret = guesses[i % 2]};
        struct played a = play(&listed, &credentials), b = play(&unknown, &credentials);
        assert_int_equal(b.exchange, LK_AUTH_FAILED);
        assert_string_equal(a.types, b.types);
        assert_memory_equal(&a.exchange_why, &b.exchange_why, sizeof(a.exchange_why));
    }
}

/* The server's first SCRAM message, without its head. */
static void
server_first(const struct lk_auth_request *request, char out[256])
{
    struct lk_buf b = {0};
    struct lk_error why;
    enum lk_auth_verdict verdict;
    struct lk_exchange *x = lk_exchange_new(request, &b, &verdict, &why);
    lk_buf_clear(&b);
    static const char first[] = "SCRAM-SHA-256\0\0\0\0\x0dn,,n=,r=nonce";
    assert_int_equal(lk_exchange_step(x, lk_span_make(first, sizeof(first) - 1), &b, &why), LK_AUTH_MORE);
    struct lk_span body = lk_span_skip(play_body(&b, 'R'), 4);
    (void)snprintf(out, 256, "%.*s", (int)body.n, (const char *)body.p);
    lk_buf_clear(&b);
    lk_exchange_free(x);
}

static void
salts_of_stored_and_made_and_mock_verifiers_stay_the_same(void **state)
{
    char first[256], again[256], unknown[256];
    struct lk_auth_request request = play_request(LK_AUTH_SCRAM, SCRAM_SECRET);
    server_first(&request, first);
    /* 18 random bytes in base64 behind the client's nonce. */
    assert_string_equal(first, "r=nonceMDEyMzQ1Njc4OWFiY2RlZmdo,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096");

    request = play_request(LK_AUTH_SCRAM, PLAINTEXT);
    server_first(&request, first);
    request.random[0] = 'x';
    server_first(&request, again);
    assert_string_not_equal(first, again);
    assert_string_equal(strchr(first, ','), strchr(again, ','));

    request = play_request(LK_AUTH_SCRAM, NULL);
    server_first(&request, unknown);
    assert_string_equal(first, unknown);
    request.mock_scram = true;
    server_first(&request, unknown);
    assert_string_equal(first, unknown);

    request.user = "bob";
    server_first(&request, unknown);
    assert_string_not_equal(first, unknown);
    assert_int_equal(strlen(first), strlen(unknown));
}

static void
the_client_key_is_known_after_scram_against_a_stored_verifier_only(void **state)
{
    for (size_t i = 0; i < LK_COUNT(combinations); i++) {
        const struct combination *c = &combinations[i];
        struct played p = play_simple(c->method, c->secret, PLAINTEXT);
        bool expected = c->method != LK_AUTH_PLAIN && c->secret[0] == 'S';
        assert_int_equal(p.has_client_key, expected);
        if (expected)
            assert_memory_equal(&p.client_key, &p.login_key, sizeof(p.client_key));
    }
}

static const char *
sqlstate_of_step(enum lk_auth_method method, const char *secret, const void *body, size_t n)
{
    static struct lk_error why;
    struct lk_auth_request request = play_request(method, secret);
    struct lk_buf out = {0};
    enum lk_auth_verdict verdict;
    struct lk_exchange *x = lk_exchange_new(&request, &out, &verdict, &why);
    assert_int_equal(verdict, LK_AUTH_MORE);
    assert_int_equal(lk_exchange_step(x, lk_span_make(body, n), &out, &why), LK_AUTH_FAILED);
    char first[6];
    (void)snprintf(first, sizeof(first), "%s", why.sqlstate);
    /* What failed once stays failed. */
    assert_int_equal(lk_exchange_step(x, lk_span_make(PLAINTEXT, 7), &out, &why), LK_AUTH_FAILED);
    (void)snprintf(why.sqlstate, sizeof(why.sqlstate), "%s", first);
    lk_exchange_free(x);
    lk_buf_clear(&out);
    return why.sqlstate;
}

static void
a_password_message_must_be_one_string(void **state)
{
    static uint8_t long_one[70000];
    memset(long_one, 'x', sizeof(long_one) - 1);
    const enum lk_auth_method methods[] = {LK_AUTH_PLAIN, LK_AUTH_MD5};
    for (size_t i = 0; i < LK_COUNT(methods); i++) {
        assert_string_equal(sqlstate_of_step(methods[i], PLAINTEXT, "", 0), "08P01");
        assert_string_equal(sqlstate_of_step(methods[i], PLAINTEXT, "pencil", 6), "08P01");
        assert_string_equal(sqlstate_of_step(methods[i], PLAINTEXT, "pencil\0x\0", 9), "08P01");
        assert_string_equal(sqlstate_of_step(methods[i], NULL, "pencil", 6), "08P01");
        assert_string_equal(sqlstate_of_step(methods[i], PLAINTEXT, long_one, sizeof(long_one)), "08P01");
        assert_string_equal(sqlstate_of_step(methods[i], PLAINTEXT, "md5", 4), "28P01");
    }
}

#define INITIAL(length, text) "SCRAM-SHA-256\0\0\0\0" length text

static void
a_malformed_first_scram_message_is_told_so(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
    } wrong[] = {
#define CASE(literal) {literal, sizeof(literal) - 1}
        CASE(""),
        CASE("SCRAM-SHA-256"),
        CASE("SCRAM-SHA-256\0"),
        CASE("SCRAM-SHA-256\0\xff\xff\xff\xff"),
        CASE("SCRAM-SHA-256\0\x7f\xff\xff\xffn,,n=,r=x"),
        CASE("SCRAM-SHA-256-PLUS\0\0\0\0\x09n,,n=,r=x"),
        CASE("SCRAM-SHA-1\0\0\0\0\x09n,,n=,r=x"),
        CASE(INITIAL("\x09", "n,,n=,r=")),
        CASE(INITIAL("\x08", "n,,n=,r=x")),
        CASE(INITIAL("\x00", "")),
        CASE(INITIAL("\x01", "n")),
        CASE(INITIAL("\x08", "n,,n=,r=")),
        CASE(INITIAL("\x05", "n,,n=")),
        CASE(INITIAL("\x06", "n,,n=,")),
        CASE(INITIAL("\x09", "n,,r=x,n=")),
        CASE(INITIAL("\x09", "x,,n=,r=x")),
        CASE(INITIAL("\x0d", "n,a=ann,n=,r=x")),
        CASE(INITIAL("\x0d", "n,,m=x,n=,r=x")),
        CASE(INITIAL("\x15", "p=tls-unique,,n=,r=xx")),
        CASE(INITIAL("\x0a", "n,,n=,r=\x01x")),
    };
    for (size_t i = 0; i < LK_COUNT(wrong); i++)
        assert_string_equal(sqlstate_of_step(LK_AUTH_SCRAM, SCRAM_SECRET, wrong[i].bytes, wrong[i].n), "08P01");
    uint8_t long_one[1100] = "SCRAM-SHA-256\0\0\0\x04\x38n,,n=,r=";
    memset(long_one + 26, 'x', sizeof(long_one) - 26);
    assert_string_equal(sqlstate_of_step(LK_AUTH_SCRAM, SCRAM_SECRET, long_one, sizeof(long_one)), "08P01");
}

/* The SQLSTATE that client-final meets after a fixed client-first with that flag. */
static const char *
sqlstate_of_final(const char *flag, const char *final)
{
    static struct lk_error why;
    struct lk_auth_request request = play_request(LK_AUTH_SCRAM, SCRAM_SECRET);
    struct lk_buf out = {0}, message = {0}, first = {0};
    enum lk_auth_verdict verdict;
    struct lk_exchange *x = lk_exchange_new(&request, &out, &verdict, &why);
    lk_buf_add_format(&first, "%s,,n=,r=nonce", flag);
    lk_build_sasl_initial(&message, "SCRAM-SHA-256", lk_buf_span(&first));
    assert_int_equal(lk_exchange_step(x, play_body(&message, 'p'), &out, &why), LK_AUTH_MORE);
    assert_int_equal(lk_exchange_step(x, lk_span_str(final), &out, &why), LK_AUTH_FAILED);
    lk_buf_clear(&out);
    lk_buf_clear(&message);
    lk_buf_clear(&first);
    lk_exchange_free(x);
    return why.sqlstate;
}

#define NONCE "nonceMDEyMzQ1Njc4OWFiY2RlZmdo"
#define ZERO_PROOF "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

static void
a_malformed_last_scram_message_is_told_so(void **state)
{
    static const char *const wrong[] = {"", "c", "c=biws", "r=" NONCE ",c=biws,p=" ZERO_PROOF,
        "c=eSws,r=" NONCE ",p=" ZERO_PROOF, "c=biws,r=nonce,p=" ZERO_PROOF, "c=biws,r=" NONCE "x,p=" ZERO_PROOF,
        "c=biws,r=" NONCE, "c=biws,r=" NONCE ",", "c=biws,r=" NONCE ",x=y",
        "c=biws,r=" NONCE ",p=", "c=biws,r=" NONCE ",p=AAAA", "c=biws,r=" NONCE ",p=" ZERO_PROOF "AAAA",
        "c=biws,r=" NONCE ",p=%%%%", "c=biws,r=" NONCE ",p=" ZERO_PROOF ",x=y", "p=" ZERO_PROOF};
    for (size_t i = 0; i < LK_COUNT(wrong); i++)
        assert_string_equal(sqlstate_of_final("n", wrong[i]), "08P01");
    assert_string_equal(sqlstate_of_final("y", "c=biws,r=" NONCE ",p=" ZERO_PROOF), "08P01");
    /* Well formed, but no proof; an unknown optional extension is no mistake. */
    assert_string_equal(sqlstate_of_final("n", "c=biws,r=" NONCE ",p=" ZERO_PROOF), "28P01");
    assert_string_equal(sqlstate_of_final("n", "c=biws,r=" NONCE ",x=y,p=" ZERO_PROOF), "28P01");
    assert_string_equal(sqlstate_of_final("y", "c=eSws,r=" NONCE ",p=" ZERO_PROOF), "28P01");
}

static void
a_password_beyond_ascii_is_taken_byte_by_byte(void **state)
{
    static const char *const passwords[] = {"Schl\xc3\xbcssel", "\xff\xfe not UTF-8"};
    for (size_t i = 0; i < LK_COUNT(passwords); i++) {
        assert_int_equal(play_simple(LK_AUTH_SCRAM, passwords[i], passwords[i]).exchange, LK_AUTH_OK);
        assert_int_equal(play_simple(LK_AUTH_SCRAM, passwords[i], "Schlussel").exchange, LK_AUTH_FAILED);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trust_lets_in_whoever_is_listed),
        cmocka_unit_test(any_lets_in_everybody_and_reject_nobody),
        cmocka_unit_test(the_right_password_passes_by_every_method_and_kind_of_secret),
        cmocka_unit_test(a_wrong_password_fails_by_every_method_and_kind_of_secret),
        cmocka_unit_test(an_empty_password_is_a_password),
        cmocka_unit_test(an_md5_secret_cannot_pass_scram),
        cmocka_unit_test(a_stolen_hash_is_no_password),
        cmocka_unit_test(an_unknown_user_sees_what_a_wrong_password_shows),
        cmocka_unit_test(salts_of_stored_and_made_and_mock_verifiers_stay_the_same),
        cmocka_unit_test(the_client_key_is_known_after_scram_against_a_stored_verifier_only),
        cmocka_unit_test(a_password_message_must_be_one_string),
        cmocka_unit_test(a_malformed_first_scram_message_is_told_so),
        cmocka_unit_test(a_malformed_last_scram_message_is_told_so),
        cmocka_unit_test(a_password_beyond_ascii_is_taken_byte_by_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
