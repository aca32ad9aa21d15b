#include "lock/known.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *
name_of(int64_t key)
{
    return lk_known_name("shop", lk_key_bigint(key));
}

static void
tools_that_always_take_one_key_are_named(void **state)
{
    assert_string_equal(name_of(72707369), "Prisma Migrate");
    assert_string_equal(name_of(INT64_C(7241865325823964)), "node-pg-migrate");
    assert_string_equal(name_of(INT64_C(-8525285245963000605)), "postgres-migrations or supabase storage");
    assert_string_equal(name_of(INT64_C(4097083626)), "goose");
    assert_string_equal(name_of(INT64_C(9628173550095224)), "tern");
    assert_string_equal(name_of(INT64_C(8318549251334697844)), "sqlx test harness");
    assert_string_equal(name_of(41730001), "Marten");
    assert_string_equal(name_of(INT64_C(0x2c03057fb9525b)), "pgroll");
    assert_string_equal(name_of(INT64_C(7812448408176979826)), "lockkeeper doctor");
}

static void
keys_made_from_the_databases_name_are_named(void **state)
{
    assert_string_equal(name_of(INT64_C(2053462845) * 2892647586), "Rails migrations");
    assert_string_equal(name_of(INT64_C(5939944341529942170)), "Rails migrations");
    assert_string_equal(name_of(INT64_C(2969972169318647292)), "sqlx migrations");
    assert_string_equal(name_of(INT64_C(3689236698)), "golang-migrate");
    assert_null(lk_known_name("shop2", lk_key_bigint(INT64_C(5939944341529942170))));
    assert_null(lk_known_name(NULL, lk_key_bigint(INT64_C(5939944341529942170))));
    assert_string_equal(lk_known_name(NULL, lk_key_bigint(72707369)), "Prisma Migrate");
}

static void
flyways_keys_are_a_range_around_its_name(void **state)
{
    const int64_t flyway = INT64_C(77431708279161);
    assert_string_equal(name_of(INT64_C(77433833903597)), "Flyway"); /* "public"."flyway_schema_history" */
    assert_string_equal(name_of(flyway + INT32_MIN), "Flyway");
    assert_string_equal(name_of(flyway + INT32_MAX), "Flyway");
    assert_null(name_of(flyway + INT32_MIN - 1));
    assert_null(name_of(flyway + INT32_MAX + INT64_C(1)));
}

static void
ordinary_keys_and_pairs_have_no_name(void **state)
{
    assert_null(name_of(0));
    assert_null(name_of(42));
    assert_null(name_of(-1));
    assert_null(name_of(1000));
    assert_null(lk_known_name("shop", lk_key_pair(0, 72707369)));
    assert_null(lk_known_name("", lk_key_bigint(1)));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tools_that_always_take_one_key_are_named),
        cmocka_unit_test(keys_made_from_the_databases_name_are_named),
        cmocka_unit_test(flyways_keys_are_a_range_around_its_name),
        cmocka_unit_test(ordinary_keys_and_pairs_have_no_name),
    };
    return cmocka_run_group_tests_name("lock/known", tests, NULL, NULL);
}
