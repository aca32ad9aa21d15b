#include "auth/scram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"

/* RFC 7677 section 3: the example exchange of user "user" with password "pencil". */
#define SALT "W22ZaJ0SNY7soEsUEjb6gQ=="
#define VERIFIER                                                                                                       \
    "SCRAM-SHA-256$4096:" SALT                                                                                         \
    "$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
#define AUTH_MESSAGE                                                                                                   \
    "n=user,r=rOprNGfwEbeRWgbNEkqO,"                                                                                   \
    "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=" SALT ",i=4096,"                                          \
    "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
#define PROOF "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
#define SIGNATURE "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="

static struct lk_scram_client_key
rfc_key(void)
{
    uint8_t salt[16];
    size_t n;
    assert_true(lk_scram_unbase64(lk_span_str(SALT), salt, sizeof(salt), &n));
    struct lk_scram_client_key key;
    assert_true(lk_scram_client_key_make("pencil", lk_span_make(salt, n), 4096, &key));
    return key;
}

static void
the_example_of_rfc_7677_gives_its_proof_and_signature(void **state)
{
    struct lk_scram_client_key key = rfc_key();
    uint8_t proof[LK_SCRAM_KEY_BYTES], signature[LK_SCRAM_KEY_BYTES];
    char text[LK_SCRAM_BASE64_SIZE];
    assert_true(lk_scram_client_proof(key.client_key, lk_span_str(AUTH_MESSAGE), proof));
    lk_scram_base64(lk_span_make(proof, sizeof(proof)), text);
    assert_string_equal(text, PROOF);
    assert_true(lk_scram_server_signature(key.verifier.server_key, lk_span_str(AUTH_MESSAGE), signature));
    lk_scram_base64(lk_span_make(signature, sizeof(signature)), text);
    assert_string_equal(text, SIGNATURE);
}

static void
a_right_proof_reveals_the_client_key_and_a_wrong_one_fails(void **state)
{
    struct lk_scram_client_key key = rfc_key();
    struct lk_scram_verifier stored;
    assert_true(lk_scram_verifier_parse(VERIFIER, &stored));
    uint8_t proof[LK_SCRAM_KEY_BYTES], revealed[LK_SCRAM_KEY_BYTES];
    size_t n;
    assert_true(lk_scram_unbase64(lk_span_str(PROOF), proof, sizeof(proof), &n));
    assert_true(lk_scram_proof_check(&stored, lk_span_str(AUTH_MESSAGE), proof, revealed));
    assert_memory_equal(revealed, key.client_key, sizeof(revealed));
    assert_false(lk_scram_proof_check(&stored, lk_span_str(AUTH_MESSAGE "x"), proof, revealed));
    proof[31] ^= 1;
    assert_false(lk_scram_proof_check(&stored, lk_span_str(AUTH_MESSAGE), proof, revealed));
}

static void
a_stored_verifier_is_read_and_equals_the_one_made_from_its_password(void **state)
{
    struct lk_scram_verifier read, made = rfc_key().verifier;
    assert_true(lk_scram_verifier_parse(VERIFIER, &read));
    assert_int_equal(read.iterations, 4096);
    assert_int_equal(read.salt_n, 16);
    assert_memory_equal(&read, &made, sizeof(read));
}

static void
what_is_not_wholly_a_verifier_is_none(void **state)
{
    static const char *const wrong[] = {
        "",
        "SCRAM-SHA-256",
        "SCRAM-SHA-256$",
        "SCRAM-SHA-256$4096",
        "SCRAM-SHA-256$4096:" SALT,
        "SCRAM-SHA-256$4096:" SALT "$",
        "SCRAM-SHA-256$4096:" SALT "$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=",
        "SCRAM-SHA-256$4096:" SALT "$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:",
        "SCRAM-SHA-256$0:" SALT "$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:" SIGNATURE,
        "SCRAM-SHA-256$4x:" SALT "$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:" SIGNATURE,
        "SCRAM-SHA-256$99999999999999999999:" SALT "$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:" SIGNATURE,
        "SCRAM-SHA-256$4096:$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:" SIGNATURE,
        "SCRAM-SHA-256$4096:" SALT "$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT:" SIGNATURE,
        "SCRAM-SHA-256$4096:" SALT "$" SIGNATURE ":" SIGNATURE "AAAA",
        "scram-sha-256$4096:" SALT "$" SIGNATURE ":" SIGNATURE,
    };
    struct lk_scram_verifier v;
    for (size_t i = 0; i < LK_COUNT(wrong); i++)
        assert_false(lk_scram_verifier_parse(wrong[i], &v));
}

static void
iterations_that_would_block_for_seconds_are_refused(void **state)
{
    struct lk_scram_verifier v;
    assert_false(lk_scram_verifier_make("x", lk_span_str("salt"), 0, &v));
    assert_false(lk_scram_verifier_make("x", lk_span_str("salt"), LK_SCRAM_ITERATIONS_MAX + 1, &v));
    assert_true(lk_scram_verifier_make("", lk_span_str("salt"), 1, &v));
}

static void
base64_has_the_vectors_of_rfc_4648(void **state)
{
    static const char *const pairs[][2] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < LK_COUNT(pairs); i++) {
        char text[16];
        uint8_t bytes[16];
        size_t n;
        lk_scram_base64(lk_span_str(pairs[i][0]), text);
        assert_string_equal(text, pairs[i][1]);
        assert_true(lk_scram_unbase64(lk_span_str(text), bytes, sizeof(bytes), &n));
        assert_true(lk_span_is(lk_span_make(bytes, n), pairs[i][0]));
        assert_true(n == 0 || !lk_scram_unbase64(lk_span_str(text), bytes, n - 1, &n));
    }
}

static void
base64_that_is_not_strict_is_refused(void **state)
{
    static const char *const wrong[] = {"Z", "Zg", "Zg=", "====", "Z===", "Zg==Zg==", "Zm 9", "Zm9v\n", "Zm-v", "=g=="};
    uint8_t bytes[16];
    size_t n;
    for (size_t i = 0; i < LK_COUNT(wrong); i++)
        assert_false(lk_scram_unbase64(lk_span_str(wrong[i]), bytes, sizeof(bytes), &n));
}

static void
attributes_are_taken_one_by_one(void **state)
{
    struct lk_span rest = lk_span_str("c=biws,r=,p=a=b"), value;
    char name;
    assert_true(lk_scram_attribute(&rest, &name, &value) && name == 'c' && lk_span_is(value, "biws"));
    assert_true(lk_scram_attribute(&rest, &name, &value) && name == 'r' && value.n == 0);
    assert_true(lk_scram_attribute(&rest, &name, &value) && name == 'p' && lk_span_is(value, "a=b"));
    assert_false(lk_scram_attribute(&rest, &name, &value));
    rest = lk_span_str("cb=x");
    assert_false(lk_scram_attribute(&rest, &name, &value));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_rfc_7677_gives_its_proof_and_signature),
        cmocka_unit_test(a_right_proof_reveals_the_client_key_and_a_wrong_one_fails),
        cmocka_unit_test(a_stored_verifier_is_read_and_equals_the_one_made_from_its_password),
        cmocka_unit_test(what_is_not_wholly_a_verifier_is_none),
        cmocka_unit_test(iterations_that_would_block_for_seconds_are_refused),
        cmocka_unit_test(base64_has_the_vectors_of_rfc_4648),
        cmocka_unit_test(base64_that_is_not_strict_is_refused),
        cmocka_unit_test(attributes_are_taken_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
