#include "lock/trust.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct lk_trust_scope shop = {1, 0};

static void
a_statement_is_trusted_after_its_third_clean_execution(void **state)
{
    struct lk_trust *t = lk_trust_new(100);
    assert_int_equal(lk_trust_look(t, &shop, 7, true, 3), LK_TRUST_UNKNOWN);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(lk_trust_look(t, &shop, 7, true, 3), LK_TRUST_UNKNOWN);
        lk_trust_evidence(t, &shop, 7, true, 10);
    }
    assert_int_equal(lk_trust_look(t, &shop, 7, true, 3), LK_TRUST_TRUSTED);
    assert_int_equal(lk_trust_look(t, &shop, 7, true, 4), LK_TRUST_UNKNOWN);
    assert_int_equal(lk_trust_count(t), 1);
    lk_trust_free(t);
}

static void
executions_of_no_rows_count_a_tenth(void **state)
{
    struct lk_trust *t = lk_trust_new(100);
    for (int i = 0; i < 29; i++)
        lk_trust_evidence(t, &shop, 7, true, 1);
    assert_int_equal(lk_trust_look(t, &shop, 7, true, 3), LK_TRUST_UNKNOWN);
    lk_trust_evidence(t, &shop, 7, true, 1);
    assert_int_equal(lk_trust_look(t, &shop, 7, true, 3), LK_TRUST_TRUSTED);
    lk_trust_free(t);
}

static void
evidence_counts_only_in_its_company_scope_and_generation(void **state)
{
    struct lk_trust *t = lk_trust_new(100);
    struct lk_trust_scope other = {2, 0}, after_ddl = {1, 1};
    lk_trust_evidence(t, &shop, 7, true, 30);
    assert_int_equal(lk_trust_look(t, &shop, 7, true, 3), LK_TRUST_TRUSTED);
    assert_int_equal(lk_trust_look(t, &shop, 7, false, 3), LK_TRUST_UNKNOWN);
    assert_int_equal(lk_trust_look(t, &other, 7, true, 3), LK_TRUST_UNKNOWN);
    assert_int_equal(lk_trust_look(t, &after_ddl, 7, true, 3), LK_TRUST_UNKNOWN);
    assert_int_equal(lk_trust_look(t, &shop, 8, true, 3), LK_TRUST_UNKNOWN);
    lk_trust_free(t);
}

static void
a_sole_suspect_becomes_a_touch_in_either_company_and_stays_one(void **state)
{
    struct lk_trust *t = lk_trust_new(100);
    lk_trust_blame(t, &shop, 7, true);
    lk_trust_evidence(t, &shop, 7, true, 100);
    lk_trust_blame(t, &shop, 7, false);
    assert_int_equal(lk_trust_look(t, &shop, 7, true, 3), LK_TRUST_TOUCH);
    assert_int_equal(lk_trust_look(t, &shop, 7, false, 0), LK_TRUST_TOUCH);
    struct lk_trust_scope after_ddl = {1, 1};
    assert_int_equal(lk_trust_look(t, &after_ddl, 7, true, 3), LK_TRUST_UNKNOWN);
    lk_trust_free(t);
}

static void
one_of_several_suspects_goes_back_to_no_evidence(void **state)
{
    struct lk_trust *t = lk_trust_new(100);
    lk_trust_evidence(t, &shop, 7, true, 30);
    lk_trust_evidence(t, &shop, 7, false, 30);
    lk_trust_blame(t, &shop, 7, false);
    lk_trust_blame(t, &shop, 8, false);
    assert_int_equal(lk_trust_look(t, &shop, 7, true, 3), LK_TRUST_BLAMED);
    assert_int_equal(lk_trust_look(t, &shop, 8, false, 1), LK_TRUST_BLAMED);
    assert_int_equal(lk_trust_count(t), 2);
    lk_trust_evidence(t, &shop, 7, true, 30);
    assert_int_equal(lk_trust_look(t, &shop, 7, true, 3), LK_TRUST_TRUSTED);
    lk_trust_free(t);
}

static void
trust_after_none_trusts_all_but_touches(void **state)
{
    struct lk_trust *t = lk_trust_new(100);
    assert_int_equal(lk_trust_look(t, &shop, 7, true, 0), LK_TRUST_TRUSTED);
    assert_int_equal(lk_trust_look(t, &shop, 0, true, 0), LK_TRUST_TRUSTED);
    lk_trust_free(t);
}

static void
a_statement_without_a_fingerprint_is_never_learned(void **state)
{
    struct lk_trust *t = lk_trust_new(100);
    lk_trust_evidence(t, &shop, 0, true, 1000);
    lk_trust_blame(t, &shop, 0, true);
    assert_int_equal(lk_trust_look(t, &shop, 0, true, 3), LK_TRUST_UNKNOWN);
    assert_int_equal(lk_trust_count(t), 0);
    lk_trust_free(t);
}

static void
evidence_does_not_overflow(void **state)
{
    struct lk_trust *t = lk_trust_new(100);
    lk_trust_evidence(t, &shop, 7, true, UINT32_MAX);
    lk_trust_evidence(t, &shop, 7, true, 10);
    assert_int_equal(lk_trust_look(t, &shop, 7, true, 1000000), LK_TRUST_TRUSTED);
    assert_int_equal(lk_trust_look(t, &shop, 7, true, UINT32_MAX), LK_TRUST_UNKNOWN);
    lk_trust_free(t);
}

static void
all_entries_are_found_again_while_the_table_grows(void **state)
{
    enum { STATEMENTS = 5000 };
    struct lk_trust *t = lk_trust_new(STATEMENTS);
    for (uint64_t f = 1; f <= STATEMENTS; f++)
        lk_trust_evidence(t, &shop, f * 0x9e3779b97f4a7c15u, true, (uint32_t)f);
    assert_int_equal(lk_trust_count(t), STATEMENTS);
    for (uint64_t f = 10; f <= STATEMENTS; f += 10) {
        uint32_t executions = (uint32_t)f / 10;
        assert_int_equal(lk_trust_look(t, &shop, f * 0x9e3779b97f4a7c15u, true, executions), LK_TRUST_TRUSTED);
        assert_int_equal(lk_trust_look(t, &shop, f * 0x9e3779b97f4a7c15u, true, executions + 1), LK_TRUST_UNKNOWN);
    }
    lk_trust_free(t);
}

static void
touches_and_what_is_in_use_outlive_a_flood_of_new_statements(void **state)
{
    enum { MAX = 64, FLOOD = 10000 };
    struct lk_trust *t = lk_trust_new(MAX);
    for (uint64_t f = 1; f <= MAX / 2; f++)
        lk_trust_blame(t, &shop, f, true);
    lk_trust_evidence(t, &shop, 1000, true, 30);
    lk_trust_evidence(t, &shop, 1001, true, 30);
    for (uint64_t f = 0; f < FLOOD; f++) {
        lk_trust_evidence(t, &shop, 100000 + f * 7919, true, 30);
        assert_int_equal(lk_trust_look(t, &shop, 1000, true, 3), LK_TRUST_TRUSTED);
        assert_true(lk_trust_count(t) <= MAX);
    }
    for (uint64_t f = 1; f <= MAX / 2; f++)
        assert_int_equal(lk_trust_look(t, &shop, f, true, 3), LK_TRUST_TOUCH);
    assert_int_equal(lk_trust_look(t, &shop, 1001, true, 3), LK_TRUST_UNKNOWN);
    assert_int_equal(lk_trust_look(t, &shop, 100000 + (FLOOD - 1) * 7919, true, 3), LK_TRUST_TRUSTED);
    lk_trust_free(t);
}

static void
touches_of_forgotten_generations_make_room(void **state)
{
    enum { MAX = 64 };
    struct lk_trust *t = lk_trust_new(MAX);
    for (uint32_t generation = 0; generation < 1000; generation++) {
        struct lk_trust_scope scope = {1, generation};
        lk_trust_blame(t, &scope, 7, true);
        assert_int_equal(lk_trust_look(t, &scope, 7, true, 3), LK_TRUST_TOUCH);
        lk_trust_evidence(t, &scope, 8, true, 30);
        assert_int_equal(lk_trust_look(t, &scope, 8, true, 3), LK_TRUST_TRUSTED);
    }
    assert_int_equal(lk_trust_count(t), MAX);
    lk_trust_free(t);
}

static void
a_table_of_one_entry_works(void **state)
{
    struct lk_trust *t = lk_trust_new(1);
    lk_trust_blame(t, &shop, 1, true);
    lk_trust_evidence(t, &shop, 2, true, 30);
    assert_int_equal(lk_trust_count(t), 1);
    assert_int_equal(lk_trust_look(t, &shop, 2, true, 3), LK_TRUST_TRUSTED);
    assert_int_equal(lk_trust_look(t, &shop, 1, true, 3), LK_TRUST_UNKNOWN);
    lk_trust_free(t);
    lk_trust_free(NULL);
}

static void
probes_over_a_tenth_of_the_last_second_are_not_allowed_in_the_next(void **state)
{
    struct lk_probe_meter m = {0};
    assert_true(lk_probe_meter_allows(&m, 50 * LK_SECOND_US));
    lk_probe_meter_add(&m, 50 * LK_SECOND_US, 4 * LK_SECOND_US, 400001);
    assert_true(lk_probe_meter_allows(&m, 51 * LK_SECOND_US - 1));
    assert_false(lk_probe_meter_allows(&m, 51 * LK_SECOND_US));
    lk_probe_meter_add(&m, 51 * LK_SECOND_US, 4 * LK_SECOND_US, 400000);
    assert_false(lk_probe_meter_allows(&m, 52 * LK_SECOND_US - 1));
    assert_true(lk_probe_meter_allows(&m, 52 * LK_SECOND_US));
}

static void
an_idle_pool_has_a_second_of_time_too(void **state)
{
    struct lk_probe_meter m = {0};
    lk_probe_meter_add(&m, 50 * LK_SECOND_US, 100000, 100000);
    assert_true(lk_probe_meter_allows(&m, 51 * LK_SECOND_US));
    lk_probe_meter_add(&m, 51 * LK_SECOND_US, 100001, 100001);
    assert_false(lk_probe_meter_allows(&m, 52 * LK_SECOND_US));
}

static void
a_pause_forgets_the_second_before_it(void **state)
{
    struct lk_probe_meter m = {0};
    lk_probe_meter_add(&m, 50 * LK_SECOND_US, LK_SECOND_US, LK_SECOND_US);
    assert_true(lk_probe_meter_allows(&m, 52 * LK_SECOND_US));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_statement_is_trusted_after_its_third_clean_execution),
        cmocka_unit_test(executions_of_no_rows_count_a_tenth),
        cmocka_unit_test(evidence_counts_only_in_its_company_scope_and_generation),
        cmocka_unit_test(a_sole_suspect_becomes_a_touch_in_either_company_and_stays_one),
        cmocka_unit_test(one_of_several_suspects_goes_back_to_no_evidence),
        cmocka_unit_test(trust_after_none_trusts_all_but_touches),
        cmocka_unit_test(a_statement_without_a_fingerprint_is_never_learned),
        cmocka_unit_test(evidence_does_not_overflow),
        cmocka_unit_test(all_entries_are_found_again_while_the_table_grows),
        cmocka_unit_test(touches_and_what_is_in_use_outlive_a_flood_of_new_statements),
        cmocka_unit_test(touches_of_forgotten_generations_make_room),
        cmocka_unit_test(a_table_of_one_entry_works),
        cmocka_unit_test(probes_over_a_tenth_of_the_last_second_are_not_allowed_in_the_next),
        cmocka_unit_test(an_idle_pool_has_a_second_of_time_too),
        cmocka_unit_test(a_pause_forgets_the_second_before_it),
    };
    return cmocka_run_group_tests_name("lock/trust", tests, NULL, NULL);
}
