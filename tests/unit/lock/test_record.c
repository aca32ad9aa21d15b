#include "lock/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "lock/policy.h"

static void
a_new_record_knows_nothing_but_its_event_and_time(void **state)
{
    struct lk_record *r = lk_record_new(LK_EVENT_HIDDEN, (struct lk_now){1, 2});
    assert_int_equal(r->event, LK_EVENT_HIDDEN);
    assert_true(r->at.mono_us == 1 && r->at.wall_us == 2);
    assert_true(r->held_us == -1 && r->waited_us == -1);
    assert_false(r->client.present || r->backend.present || r->lock.present);
    lk_record_free(r);
}

static void
a_record_frees_what_it_owns(void **state)
{
    struct lk_record *r = lk_record_new(LK_EVENT_LEAK, (struct lk_now){0, 0});
    char **const strings[] = {&r->database, &r->user, &r->client.addr, &r->client.application_name, &r->backend.addr,
        &r->lock.name, &r->query, &r->comment_source};
    for (size_t i = 0; i < LK_COUNT(strings); i++)
        *strings[i] = lk_mem_dup("text");
    struct lk_deadlock_wait *w = lk_record_add_wait(r);
    struct lk_party *const parties[] = {&r->holder, &w->waiter, &w->blocked_by};
    for (size_t i = 0; i < LK_COUNT(parties); i++) {
        parties[i]->addr = lk_mem_dup("text");
        parties[i]->application_name = lk_mem_dup("text");
    }
    w->lock_name = lk_mem_dup("text");
    w->lock_text = lk_mem_dup("text");
    lk_record_free(r);
    lk_record_free(NULL);
}

static void
a_deadlock_has_room_for_sixteen_waits(void **state)
{
    struct lk_record *r = lk_record_new(LK_EVENT_DEADLOCK, (struct lk_now){0, 0});
    for (unsigned i = 0; i < LK_RECORD_WAITS; i++) {
        struct lk_deadlock_wait *w = lk_record_add_wait(r);
        assert_false(w->waiter.present || w->blocked_by.present || w->key_known);
        w->waiter.pid = i;
    }
    assert_null(lk_record_add_wait(r));
    assert_int_equal(r->wait_count, 16);
    assert_int_equal(r->waits[15].waiter.pid, 15);
    lk_record_free(r);
}

static void
every_event_has_a_name_and_a_level(void **state)
{
    for (int e = 0; e < LK_EVENT_COUNT; e++) {
        assert_non_null(lk_event_name((enum lk_event)e));
        assert_non_null(lk_event_level((enum lk_event)e));
    }
}

static void
names_are_those_of_the_leak_log(void **state)
{
    assert_string_equal(lk_event_name(LK_EVENT_LEAK_SUMMARY), "leak_summary");
    assert_string_equal(lk_event_name(LK_EVENT_UNPIN), "unpin");
    assert_string_equal(lk_event_level(LK_EVENT_LEAK), "warning");
    assert_string_equal(lk_event_level(LK_EVENT_LOST), "error");
    assert_string_equal(lk_event_level(LK_EVENT_PIN), "info");
    assert_string_equal(lk_event_name(LK_EVENT_LINT), "lint");
    assert_string_equal(lk_event_level(LK_EVENT_WAIT), "notice");
    assert_string_equal(lk_event_level(LK_EVENT_DEADLOCK), "warning");
    assert_string_equal(lk_reason_name(LK_REASON_CLIENT_ABORT), "client_abort");
    assert_string_equal(lk_reason_name(LK_REASON_SHUTDOWN), "shutdown");
    assert_string_equal(lk_reason_name(LK_REASON_NONE), "");
    assert_string_equal(lk_action_name(LK_ACTION_NONE), "none");
    assert_string_equal(lk_action_name(LK_ACTION_DISCARD_ALL), "discard_all");
    assert_string_equal(lk_source_name(LK_SOURCE_SWEEP), "sweep");
    assert_string_equal(lk_policy_name(LK_POLICY_PIN), "pin");
    assert_string_equal(lk_policy_name(LK_POLICY_OBSERVE), "observe");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_record_knows_nothing_but_its_event_and_time),
        cmocka_unit_test(a_record_frees_what_it_owns),
        cmocka_unit_test(a_deadlock_has_room_for_sixteen_waits),
        cmocka_unit_test(every_event_has_a_name_and_a_level),
        cmocka_unit_test(names_are_those_of_the_leak_log),
    };
    return cmocka_run_group_tests_name("lock/record", tests, NULL, NULL);
}
