#include "auth/login.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "unit/auth/play.h"

static void
an_ok_at_once_is_trust(void **state)
{
    struct played p = play_simple(LK_AUTH_ANY, NULL, NULL);
    assert_int_equal(p.login, LK_AUTH_OK);
    assert_string_equal(p.types, "0");
    assert_false(p.has_login_key);
}

static void
an_md5_secret_answers_an_md5_request_as_the_plaintext_does(void **state)
{
    assert_int_equal(play_simple(LK_AUTH_MD5, MD5_SECRET, MD5_SECRET).exchange, LK_AUTH_OK);
    assert_int_equal(play_simple(LK_AUTH_MD5, PLAINTEXT, MD5_SECRET).exchange, LK_AUTH_OK);
}

static void
what_the_server_asks_for_and_is_not_known_is_told_at_once(void **state)
{
    static const struct {
        enum lk_auth_method method;
        const char *known;
        const char *told;
    } cases[] = {
        {LK_AUTH_PLAIN, NULL, "none is known"},
        {LK_AUTH_MD5, NULL, "none is known"},
        {LK_AUTH_SCRAM, NULL, "none is known"},
        {LK_AUTH_PLAIN, MD5_SECRET, "only the md5 hash is known"},
        {LK_AUTH_SCRAM, MD5_SECRET, "only the md5 hash is known"},
        {LK_AUTH_PLAIN, SCRAM_SECRET, "only a SCRAM verifier is known"},
        {LK_AUTH_MD5, SCRAM_SECRET, "only a SCRAM verifier is known"},
        {LK_AUTH_SCRAM, SCRAM_SECRET, "only a SCRAM verifier is known"},
    };
    for (size_t i = 0; i < LK_COUNT(cases); i++) {
        struct played p = play_simple(cases[i].method, PLAINTEXT, cases[i].known);
        assert_int_equal(p.login, LK_AUTH_FAILED);
        assert_string_equal(p.login_why.sqlstate, "28P01");
        assert_non_null(strstr(p.login_why.message, cases[i].told));
        assert_null(strstr(p.login_why.message, "SHA-256$"));
    }
}

static void
the_clients_own_login_gives_the_key_for_the_servers(void **state)
{
    struct played client = play_simple(LK_AUTH_SCRAM, SCRAM_SECRET, PLAINTEXT);
    assert_true(client.has_client_key);
    struct lk_auth_request server = play_request(LK_AUTH_SCRAM, SCRAM_SECRET);
    struct lk_login_credentials credentials = {.user = "ann", .secret = SCRAM_SECRET, .client_key = &client.client_key};
    struct played p = play(&server, &credentials);
    assert_int_equal(p.exchange, LK_AUTH_OK);
    assert_int_equal(p.login, LK_AUTH_OK);

    /* A server whose verifier has another salt. */
    server.secret = PLAINTEXT;
    p = play(&server, &credentials);
    assert_int_equal(p.login, LK_AUTH_FAILED);
    assert_string_equal(p.login_why.sqlstate, "28P01");
    assert_non_null(strstr(p.login_why.message, "another one"));

    /* With the plaintext at hand, the key that doesn't fit is no harm. */
    credentials.secret = PLAINTEXT;
    assert_int_equal(play(&server, &credentials).exchange, LK_AUTH_OK);
}

static void
a_login_by_password_leaves_the_key_that_spares_the_next_one_its_work(void **state)
{
    struct played first = play_simple(LK_AUTH_SCRAM, SCRAM_SECRET, PLAINTEXT);
    assert_true(first.has_login_key);
    struct lk_auth_request server = play_request(LK_AUTH_SCRAM, SCRAM_SECRET);
    struct lk_login_credentials credentials = {.user = "ann", .client_key = &first.login_key};
    assert_int_equal(play(&server, &credentials).exchange, LK_AUTH_OK);
}

/* A login that has had these requests, ended by one with code -1; the last one's verdict. */
struct request {
    int code;
    const char *data;
    size_t n;
};

static enum lk_auth_verdict
verdict_after(const struct request *requests, struct lk_error *why, struct lk_buf *answers)
{
    struct lk_login_credentials credentials = {.user = "ann", .secret = PLAINTEXT};
    struct lk_login *l = lk_login_new(&credentials, play_nonce);
    enum lk_auth_verdict verdict = LK_AUTH_MORE;
    *why = (struct lk_error){0};
    for (; requests->code >= 0; requests++) {
        assert_int_equal(verdict, LK_AUTH_MORE);
        struct lk_buf message = {0};
        lk_buf_clear(answers);
        lk_build_authentication(&message, (uint32_t)requests->code, lk_span_make(requests->data, requests->n));
        verdict = lk_login_step(l, play_body(&message, 'R'), answers, why);
        lk_buf_clear(&message);
    }
    lk_login_free(l);
    return verdict;
}

#define R(code, text)                                                                                                  \
    {                                                                                                                  \
        code, text, sizeof(text) - 1                                                                                   \
    }
#define END                                                                                                            \
    {                                                                                                                  \
        -1, NULL, 0                                                                                                    \
    }
#define SASL R(10, "SCRAM-SHA-256\0")
/* base64 of play_nonce. */
#define OURS "YWJjZGVmZ2hpamtsbW5vcHEA"
#define FIRST R(11, "r=" OURS "xyz,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")

static void
plain_answers_are_strings_and_sasl_answers_are_not(void **state)
{
    struct lk_error why;
    struct lk_buf out = {0};
    const struct request plain[] = {R(3, ""), END};
    assert_int_equal(verdict_after(plain, &why, &out), LK_AUTH_MORE);
    assert_true(lk_span_eq(play_body(&out, 'p'), lk_span_make(PLAINTEXT, sizeof(PLAINTEXT))));
    const struct request md5[] = {R(5, "\1\2\3\4"), END};
    assert_int_equal(verdict_after(md5, &why, &out), LK_AUTH_MORE);
    assert_true(lk_span_eq(play_body(&out, 'p'), lk_span_make("md57a54f810f22603a6e57c5628653701a4", 36)));
    const struct request sasl[] = {R(10, "SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0"), END};
    assert_int_equal(verdict_after(sasl, &why, &out), LK_AUTH_MORE);
    static const char initial[] = "SCRAM-SHA-256\0\0\0\0\x20n,,n=,r=" OURS;
    assert_true(lk_span_eq(play_body(&out, 'p'), lk_span_make(initial, sizeof(initial) - 1)));
    const struct request first[] = {SASL, FIRST, END};
    assert_int_equal(verdict_after(first, &why, &out), LK_AUTH_MORE);
    static const char final[] = "c=biws,r=" OURS "xyz,p=";
    struct lk_span body = play_body(&out, 'p');
    assert_int_equal(body.n, sizeof(final) - 1 + LK_SCRAM_BASE64_SIZE - 1);
    assert_memory_equal(body.p, final, sizeof(final) - 1);
    lk_buf_clear(&out);
}

static void
a_server_that_does_not_prove_itself_is_refused(void **state)
{
    struct lk_error why;
    struct lk_buf out = {0};
    static const struct request cases[][5] = {
        {SASL, R(0, ""), END},
        {SASL, FIRST, R(0, ""), END},
        {SASL, FIRST, R(12, "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="), END},
        {SASL, FIRST, R(12, "v=AAAA"), END},
        {SASL, FIRST, R(12, "v="), END},
        {SASL, FIRST, R(12, "e=invalid-proof"), END},
    };
    for (size_t i = 0; i < LK_COUNT(cases); i++)
        assert_int_equal(verdict_after(cases[i], &why, &out), LK_AUTH_FAILED);
    lk_buf_clear(&out);
}

static void
a_server_that_breaks_the_protocol_is_told_so(void **state)
{
    struct lk_error why;
    struct lk_buf out = {0};
    static const struct request cases[][5] = {
        {R(5, "abc"), END},
        {R(5, "abcde"), END},
        {R(11, "r=x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"), END},
        {R(12, "v=x"), END},
        {SASL, SASL, END},
        {SASL, R(3, ""), END},
        {SASL, R(5, "\1\2\3\4"), END},
        {SASL, FIRST, FIRST, END},
        {SASL, R(12, "v=x"), END},
        {SASL, R(11, ""), END},
        {SASL, R(11, "m=x,r=" OURS "xyz,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"), END},
        {SASL, R(11, "r=" OURS ",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"), END},
        {SASL, R(11, "r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"), END},
        {SASL, R(11, "r=" OURS "xyz,s=%,i=4096"), END},
        {SASL, R(11, "r=" OURS "xyz,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=0"), END},
        {SASL, R(11, "r=" OURS "xyz,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4x"), END},
        {SASL, R(11, "r=" OURS "xyz,s=W22ZaJ0SNY7soEsUEjb6gQ=="), END},
        {SASL, R(11, "r=" OURS "xyz,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=99999999999999999999"), END},
        {SASL, FIRST, R(12, ""), END},
        {SASL, FIRST, R(12, "x=y"), END},
    };
    for (size_t i = 0; i < LK_COUNT(cases); i++) {
        assert_int_equal(verdict_after(cases[i], &why, &out), LK_AUTH_FAILED);
        assert_string_equal(why.sqlstate, "08P01");
    }
    lk_buf_clear(&out);
    struct lk_login_credentials credentials = {.user = "ann", .secret = PLAINTEXT};
    struct lk_login *l = lk_login_new(&credentials, play_nonce);
    assert_int_equal(lk_login_step(l, lk_span_make("\0\0\0", 3), &out, &why), LK_AUTH_FAILED);
    lk_login_free(l);
}

static void
methods_that_are_not_spoken_are_refused(void **state)
{
    struct lk_error why;
    struct lk_buf out = {0};
    static const struct request cases[][2] = {{R(7, ""), END}, {R(9, ""), END}, {R(2, ""), END}, {R(6, ""), END},
        {R(10, "SCRAM-SHA-256-PLUS\0"), END}, {R(10, ""), END}, {R(4000000, ""), END}};
    for (size_t i = 0; i < LK_COUNT(cases); i++) {
        assert_int_equal(verdict_after(cases[i], &why, &out), LK_AUTH_FAILED);
        assert_string_equal(why.sqlstate, "28P01");
        assert_int_equal(out.len, 0);
    }
}

static void
an_absurd_count_of_iterations_is_refused(void **state)
{
    struct lk_error why;
    struct lk_buf out = {0};
    const struct request many[] = {SASL, R(11, "r=" OURS "xyz,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=2000000000"), END};
    assert_int_equal(verdict_after(many, &why, &out), LK_AUTH_FAILED);
    assert_non_null(strstr(why.message, "too many SCRAM iterations"));
    lk_buf_clear(&out);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ok_at_once_is_trust),
        cmocka_unit_test(an_md5_secret_answers_an_md5_request_as_the_plaintext_does),
        cmocka_unit_test(what_the_server_asks_for_and_is_not_known_is_told_at_once),
        cmocka_unit_test(the_clients_own_login_gives_the_key_for_the_servers),
        cmocka_unit_test(a_login_by_password_leaves_the_key_that_spares_the_next_one_its_work),
        cmocka_unit_test(plain_answers_are_strings_and_sasl_answers_are_not),
        cmocka_unit_test(a_server_that_does_not_prove_itself_is_refused),
        cmocka_unit_test(a_server_that_breaks_the_protocol_is_told_so),
        cmocka_unit_test(methods_that_are_not_spoken_are_refused),
        cmocka_unit_test(an_absurd_count_of_iterations_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
