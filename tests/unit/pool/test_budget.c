#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pool/budget.h"

static void
a_budget_lives_until_it_is_put_back_as_often_as_it_was_got(void **state)
{
    struct lk_budgets *b = lk_budgets_new();
    struct lk_budget *first = lk_budgets_get(b, LK_BUDGET_POOL, "shop", 2, 0);
    assert_ptr_equal(lk_budgets_get(b, LK_BUDGET_POOL, "shop", 3, 1), first);
    assert_int_equal(first->limit, 3);
    struct lk_budget *other = lk_budgets_get(b, LK_BUDGET_USER, "shop", 0, 0);
    assert_ptr_not_equal(other, first);
    assert_int_equal(lk_budgets_count(b), 2);
    lk_budgets_put(b, first);
    assert_int_equal(lk_budgets_count(b), 2);
    lk_budgets_put(b, first);
    lk_budgets_put(b, other);
    lk_budgets_put(b, NULL);
    assert_int_equal(lk_budgets_count(b), 0);
    lk_budgets_free(b);
}

static void
a_connection_needs_a_unit_of_each_budget_or_takes_none(void **state)
{
    struct lk_budgets *b = lk_budgets_new();
    struct lk_budget_set set = {{lk_budgets_get(b, LK_BUDGET_POOL, "p", 5, 0),
        lk_budgets_get(b, LK_BUDGET_DATABASE, "d", 0, 0), lk_budgets_get(b, LK_BUDGET_USER, "u", 1, 0)}};
    enum lk_budget_kind denied;
    assert_true(lk_budget_take(&set, false, &denied));
    assert_false(lk_budget_take(&set, false, &denied));
    assert_int_equal(denied, LK_BUDGET_USER);
    for (int i = 0; i < LK_BUDGET_KINDS; i++)
        assert_int_equal(set.of[i]->used, 1);
    lk_budget_give(&set);
    assert_true(lk_budget_take(&set, false, &denied));
    lk_budgets_free(b);
}

static void
units_that_are_out_move_to_another_set_even_above_its_limits(void **state)
{
    struct lk_budgets *b = lk_budgets_new();
    struct lk_budget *shared = lk_budgets_get(b, LK_BUDGET_DATABASE, "d", 0, 0);
    struct lk_budget_set from = {{lk_budgets_get(b, LK_BUDGET_POOL, "p", 5, 0), shared,
        lk_budgets_get(b, LK_BUDGET_USER, "u", 0, 0)}};
    struct lk_budget_set to = {{lk_budgets_get(b, LK_BUDGET_POOL, "q", 1, 0), shared,
        lk_budgets_get(b, LK_BUDGET_USER, "v", 0, 0)}};
    for (int i = 0; i < 3; i++)
        assert_true(lk_budget_take(&from, false, NULL));
    assert_true(lk_budget_take(&to, false, NULL));
    lk_budget_shift(&from, &to, 3);
    assert_int_equal(from.of[LK_BUDGET_POOL]->used, 0);
    assert_int_equal(from.of[LK_BUDGET_USER]->used, 0);
    assert_int_equal(to.of[LK_BUDGET_POOL]->used, 4);
    assert_int_equal(to.of[LK_BUDGET_USER]->used, 4);
    assert_int_equal(shared->used, 4);
    assert_true(lk_budget_over(&to));
    assert_false(lk_budget_over(&from));
    lk_budgets_free(b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_budget_lives_until_it_is_put_back_as_often_as_it_was_got),
        cmocka_unit_test(a_connection_needs_a_unit_of_each_budget_or_takes_none),
        cmocka_unit_test(units_that_are_out_move_to_another_set_even_above_its_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
