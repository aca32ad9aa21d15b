#include "session/keyname.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
the_operators_name_goes_before_the_tools(void **state)
{
    struct lk_name_settings named[] = {
        {.pattern = (char[]){"72707369"}, .name = (char[]){"deploy"}},
        {.pattern = (char[]){"1001,*"}, .name = (char[]){"job_sync"}},
    };
    const struct lk_settings with = {.names = named, .name_count = 2}, without = {0};
    assert_string_equal(lk_keyname_of(&with, "shop", lk_key_bigint(72707369)), "deploy");
    assert_string_equal(lk_keyname_of(&with, "shop", lk_key_pair(1001, -5)), "job_sync");
    assert_string_equal(lk_keyname_of(&with, "shop", lk_key_bigint(41730001)), "Marten");
    assert_string_equal(lk_keyname_of(&without, "shop", lk_key_bigint(72707369)), "Prisma Migrate");
    assert_string_equal(
        lk_keyname_of(&without, "shop", lk_key_bigint(INT64_C(5939944341529942170))), "Rails migrations");
    assert_null(lk_keyname_of(&without, "shop", lk_key_bigint(7)));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_operators_name_goes_before_the_tools),
    };
    return cmocka_run_group_tests_name("session/keyname", tests, NULL, NULL);
}
