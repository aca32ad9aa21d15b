#include "lock/deadlock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
assert_key(struct lk_key key, const char *text)
{
    char shown[LK_KEY_TEXT];
    lk_key_format(key, shown);
    assert_string_equal(shown, text);
}

static void
each_line_tells_who_waits_for_what_and_whom(void **state)
{
    struct lk_span detail = lk_span_str(
        "Process 7 waits for ExclusiveLock on advisory lock [5,4294967295,4294967295,1]; blocked by process 9.\n"
        "Process 9 waits for ShareLock on advisory lock [5,4294967289,9,2]; blocked by process 11.\n"
        "Process 11 waits for ShareLock on transaction 743; blocked by process 7.");
    struct lk_deadlock_line l;
    assert_true(lk_deadlock_next(&detail, &l));
    assert_true(l.waiter == 7 && l.blocker == 9 && l.advisory && l.mode == LK_MODE_EXCLUSIVE);
    assert_key(l.key, "-1");
    assert_true(lk_deadlock_next(&detail, &l));
    assert_true(l.waiter == 9 && l.blocker == 11 && l.advisory && l.mode == LK_MODE_SHARED);
    assert_key(l.key, "-7,9");
    assert_true(lk_deadlock_next(&detail, &l));
    assert_true(l.waiter == 11 && l.blocker == 7 && !l.advisory);
    assert_true(lk_span_is(l.lock, "waits for ShareLock on transaction 743"));
    assert_false(lk_deadlock_next(&detail, &l));
}

static void
another_language_is_read_by_its_numbers(void **state)
{
    struct lk_span detail = lk_span_str("Prozess 7 wartet auf ExclusiveLock-Sperre auf Advisory-Lock [5,0,42,1];"
                                        " blockiert von Prozess 9.");
    struct lk_deadlock_line l;
    assert_true(lk_deadlock_next(&detail, &l));
    assert_true(l.waiter == 7 && l.blocker == 9 && l.advisory);
    assert_key(l.key, "42");
}

static void
locks_of_extensions_keep_their_fourth_number(void **state)
{
    struct lk_span detail = lk_span_str("Process 7 waits for ShareLock on advisory lock [16385,822708183,0,11]; blocked by process 9.");
    struct lk_deadlock_line l;
    assert_true(lk_deadlock_next(&detail, &l) && l.advisory);
    assert_int_equal(l.key.subid, 11);
    assert_int_equal(lk_key_space(l.key), LK_SPACE_OTHER);
}

static void
what_is_no_such_line_is_passed_over(void **state)
{
    struct lk_span detail = lk_span_str("See server log for query details.\n;\nProcess x waits; blocked by process y.\n\n"
                                        "Process 1 waits for AccessShareLock on relation 5 of database 5; blocked by process 2.\n"
                                        "Process 3 waits for ExclusiveLock on advisory lock [1,2,3]; blocked by process 4.\n"
                                        "Process 99999999999 waits for a; blocked by process 4.");
    struct lk_deadlock_line l;
    assert_true(lk_deadlock_next(&detail, &l));
    assert_true(l.waiter == 1 && !l.advisory);
    assert_true(lk_deadlock_next(&detail, &l));
    assert_true(l.waiter == 3 && !l.advisory);
    assert_false(lk_deadlock_next(&detail, &l));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_tells_who_waits_for_what_and_whom),
        cmocka_unit_test(another_language_is_read_by_its_numbers),
        cmocka_unit_test(locks_of_extensions_keep_their_fourth_number),
        cmocka_unit_test(what_is_no_such_line_is_passed_over),
    };
    return cmocka_run_group_tests_name("lock/deadlock", tests, NULL, NULL);
}
