#include "auth/md5.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
a_secret_is_md5_and_32_lower_case_digits(void **state)
{
    assert_true(lk_md5_is_secret("md528754acffc5400623f44a44d30b50393"));
    assert_false(lk_md5_is_secret("md528754ACFFC5400623f44a44d30b50393"));
    assert_false(lk_md5_is_secret("md528754acffc5400623f44a44d30b5039"));
    assert_false(lk_md5_is_secret("md528754acffc5400623f44a44d30b503933"));
    assert_false(lk_md5_is_secret(""));
}

static void
secret_and_answer_are_those_that_postgresql_computes(void **state)
{
    char secret[LK_MD5_SECRET_SIZE], answer[LK_MD5_SECRET_SIZE];
    assert_true(lk_md5_secret("ann", "pencil", secret));
    assert_string_equal(secret, "md528754acffc5400623f44a44d30b50393");
    const uint8_t salt[LK_MD5_SALT_BYTES] = {1, 2, 3, 4};
    assert_true(lk_md5_answer(secret, salt, answer));
    assert_string_equal(answer, "md57a54f810f22603a6e57c5628653701a4");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_is_md5_and_32_lower_case_digits),
        cmocka_unit_test(secret_and_answer_are_those_that_postgresql_computes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
