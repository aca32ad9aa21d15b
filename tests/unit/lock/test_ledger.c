#include "lock/ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct lk_now t1 = {1, 101}, t2 = {2, 102};

static bool
lock(struct lk_ledger *l, int64_t key)
{
    return lk_ledger_lock(l, lk_key_bigint(key), LK_MODE_EXCLUSIVE, NULL, t1);
}

static void
unlock(struct lk_ledger *l, int64_t key)
{
    lk_ledger_unlock(l, lk_key_bigint(key), LK_MODE_EXCLUSIVE);
}

static bool
row(struct lk_ledger *l, int64_t key)
{
    return lk_ledger_probe_row(l, lk_key_bigint(key), LK_MODE_EXCLUSIVE, NULL, t2);
}

static const struct lk_held *
find(const struct lk_ledger *l, int64_t key)
{
    return lk_ledger_find(l, lk_key_bigint(key), LK_MODE_EXCLUSIVE);
}

static void
a_zeroed_ledger_is_exact_and_holds_no_memory(void **state)
{
    struct lk_ledger l = {0};
    assert_true(lk_ledger_zero(&l));
    lk_ledger_unlock_all(&l);
    lk_ledger_probe_begin(&l);
    lk_ledger_probe_end(&l);
    assert_true(lk_ledger_zero(&l));
    assert_null(l.held);
    lk_ledger_clear(&l);
}

static void
a_lock_taken_twice_is_held_until_its_second_unlock(void **state)
{
    struct lk_ledger l = {0};
    assert_true(lock(&l, 5));
    assert_false(lock(&l, 5));
    assert_int_equal(find(&l, 5)->count, 2);
    unlock(&l, 5);
    assert_int_equal(find(&l, 5)->count, 1);
    unlock(&l, 5);
    assert_true(lk_ledger_zero(&l));
    assert_null(l.held);
}

static void
modes_and_key_spaces_are_entries_of_their_own(void **state)
{
    struct lk_ledger l = {0};
    assert_true(lk_ledger_lock(&l, lk_key_bigint(4294967298), LK_MODE_EXCLUSIVE, NULL, t1));
    assert_true(lk_ledger_lock(&l, lk_key_bigint(4294967298), LK_MODE_SHARED, NULL, t1));
    assert_true(lk_ledger_lock(&l, lk_key_pair(1, 2), LK_MODE_EXCLUSIVE, NULL, t1));
    assert_int_equal(l.count, 3);
    lk_ledger_unlock(&l, lk_key_bigint(4294967298), LK_MODE_SHARED);
    assert_null(lk_ledger_find(&l, lk_key_bigint(4294967298), LK_MODE_SHARED));
    assert_non_null(find(&l, 4294967298));
    assert_non_null(lk_ledger_find(&l, lk_key_pair(1, 2), LK_MODE_EXCLUSIVE));
    assert_int_equal(l.unsure, 0);
    lk_ledger_clear(&l);
}

static void
an_entry_keeps_the_time_and_statement_of_its_first_lock(void **state)
{
    struct lk_ledger l = {0};
    struct lk_text *first = lk_text_new(lk_span_str("first"), 1), *second = lk_text_new(lk_span_str("second"), 2);
    lk_ledger_lock(&l, lk_key_bigint(1), LK_MODE_EXCLUSIVE, first, t1);
    lk_ledger_lock(&l, lk_key_bigint(1), LK_MODE_EXCLUSIVE, second, t2);
    const struct lk_held *h = find(&l, 1);
    assert_ptr_equal(h->text, first);
    assert_true(h->since.wall_us == 101);
    assert_int_equal(h->source, LK_HELD_LEDGER);
    assert_int_equal(first->refs, 2);
    assert_int_equal(second->refs, 1);
    lk_ledger_clear(&l);
    assert_int_equal(first->refs, 1);
    lk_text_unref(first);
    lk_text_unref(second);
}

static void
every_way_out_gives_the_text_back(void **state)
{
    struct lk_ledger l = {0};
    struct lk_text *t = lk_text_new(lk_span_str("select"), 1);
    for (int64_t key = 0; key < 4; key++)
        lk_ledger_lock(&l, lk_key_bigint(key), LK_MODE_EXCLUSIVE, t, t1);
    assert_int_equal(t->refs, 5);
    unlock(&l, 1);
    assert_int_equal(t->refs, 4);
    lk_ledger_probe_begin(&l);
    row(&l, 2);
    lk_ledger_probe_row(&l, lk_key_bigint(9), LK_MODE_SHARED, t, t2);
    assert_int_equal(t->refs, 5);
    lk_ledger_probe_end(&l);
    assert_int_equal(t->refs, 3);
    lk_ledger_unlock_all(&l);
    assert_int_equal(t->refs, 1);
    lk_text_unref(t);
}

static void
unlocking_what_it_does_not_hold_makes_it_unsure(void **state)
{
    struct lk_ledger l = {0};
    unlock(&l, 5);
    assert_int_equal(l.unsure, LK_UNSURE_COUNT);
    assert_int_equal(l.count, 0);
    lk_ledger_clear(&l);
    assert_true(lk_ledger_zero(&l));
}

static void
unlock_all_makes_it_empty_and_exact(void **state)
{
    struct lk_ledger l = {0};
    lock(&l, 1);
    lock(&l, 1);
    lk_ledger_doubt(&l, LK_UNSURE_TOUCH);
    lk_ledger_doubt(&l, LK_UNSURE_NEW);
    lk_ledger_unlock_all(&l);
    assert_true(lk_ledger_zero(&l));
    assert_null(l.held);
}

static void
a_probe_adds_what_no_entry_explains_and_drops_what_it_does_not_see(void **state)
{
    struct lk_ledger l = {0};
    struct lk_text *suspect = lk_text_new(lk_span_str("select f()"), 3);
    lock(&l, 1);
    lock(&l, 2);
    lk_ledger_doubt(&l, LK_UNSURE_ERROR);
    lk_ledger_probe_begin(&l);
    assert_false(row(&l, 2));
    assert_true(lk_ledger_probe_row(&l, lk_key_bigint(3), LK_MODE_SHARED, suspect, t2));
    lk_ledger_probe_end(&l);
    assert_int_equal(l.unsure, 0);
    assert_int_equal(l.count, 2);
    assert_null(find(&l, 1));
    const struct lk_held *h = lk_ledger_find(&l, lk_key_bigint(3), LK_MODE_SHARED);
    assert_int_equal(h->count, 0);
    assert_int_equal(h->source, LK_HELD_PROBE);
    assert_ptr_equal(h->text, suspect);
    assert_true(h->since.wall_us == 102);
    lk_ledger_clear(&l);
    lk_text_unref(suspect);
}

static void
a_probe_after_untrusted_statements_leaves_known_counts(void **state)
{
    struct lk_ledger l = {0};
    lock(&l, 1);
    lock(&l, 1);
    lk_ledger_probe_begin(&l);
    assert_false(row(&l, 1));
    lk_ledger_probe_end(&l);
    assert_int_equal(find(&l, 1)->count, 2);
    assert_int_equal(find(&l, 1)->source, LK_HELD_LEDGER);
    lk_ledger_clear(&l);
}

static void
a_touch_that_does_not_tell_makes_every_count_unknown(void **state)
{
    static const enum lk_unsure spoilers[] = {LK_UNSURE_TOUCH, LK_UNSURE_ERROR, LK_UNSURE_ANSWER, LK_UNSURE_HIDDEN};
    for (size_t i = 0; i < 4; i++) {
        struct lk_ledger l = {0};
        lock(&l, 1);
        lk_ledger_doubt(&l, spoilers[i]);
        assert_true(lock(&l, 2));
        assert_int_equal(find(&l, 1)->count, 0);
        assert_int_equal(find(&l, 2)->count, 0);
        lk_ledger_clear(&l);
    }
    struct lk_ledger l = {0};
    lock(&l, 1);
    lk_ledger_doubt(&l, LK_UNSURE_NEW);
    assert_int_equal(find(&l, 1)->count, 1);
    lk_ledger_clear(&l);
}

static void
an_unlock_of_an_unknown_count_waits_for_a_probe(void **state)
{
    struct lk_ledger l = {0};
    lk_ledger_probe_begin(&l);
    row(&l, 1);
    row(&l, 2);
    lk_ledger_probe_end(&l);
    assert_false(lock(&l, 1));
    assert_int_equal(find(&l, 1)->count, 0);
    assert_int_equal(l.unsure, 0);
    unlock(&l, 1);
    unlock(&l, 2);
    assert_int_equal(l.unsure, LK_UNSURE_COUNT);
    assert_int_equal(l.count, 2);
    lk_ledger_probe_begin(&l);
    assert_false(row(&l, 1));
    lk_ledger_probe_end(&l);
    assert_int_equal(l.unsure, 0);
    assert_non_null(find(&l, 1));
    assert_null(find(&l, 2));
    lk_ledger_clear(&l);
}

static void
a_full_ledger_counts_what_it_cannot_hold(void **state)
{
    struct lk_ledger l = {0};
    for (int64_t key = 0; key < LK_LEDGER_MAX; key++)
        assert_true(lock(&l, key));
    assert_int_equal(l.unsure, 0);
    assert_false(lock(&l, 5000));
    assert_false(lock(&l, 0));
    assert_int_equal(l.unsure, LK_UNSURE_FULL);
    assert_int_equal(l.count, LK_LEDGER_MAX);
    assert_int_equal(l.beyond, 1);
    assert_int_equal(find(&l, 0)->count, 2);
    assert_null(find(&l, 5000));
    lk_ledger_clear(&l);
}

static void
a_full_ledger_is_exact_again_once_a_probe_sees_no_more_than_it_holds(void **state)
{
    struct lk_ledger l = {0};
    for (int64_t key = 0; key <= LK_LEDGER_MAX; key++)
        lock(&l, key);
    lk_ledger_probe_begin(&l);
    for (int64_t key = LK_LEDGER_MAX; key >= 0; key--)
        assert_int_equal(row(&l, key), key == LK_LEDGER_MAX);
    lk_ledger_probe_end(&l);
    assert_int_equal(l.unsure, LK_UNSURE_FULL);
    assert_int_equal(l.count, LK_LEDGER_MAX);
    assert_int_equal(l.beyond, 1);
    lk_ledger_probe_begin(&l);
    for (int64_t key = LK_LEDGER_MAX; key > 0; key--)
        row(&l, key);
    lk_ledger_probe_end(&l);
    assert_int_equal(l.unsure, 0);
    assert_int_equal(l.count, LK_LEDGER_MAX);
    assert_non_null(find(&l, LK_LEDGER_MAX));
    assert_null(find(&l, 0));
    lk_ledger_clear(&l);
}

static void
a_probe_of_ten_thousand_locks_keeps_a_thousand_and_the_number(void **state)
{
    struct lk_ledger l = {0};
    struct lk_text *t = lk_text_new(lk_span_str("select"), 1);
    lk_ledger_probe_begin(&l);
    for (int64_t key = 0; key < 10000; key++)
        assert_true(lk_ledger_probe_row(&l, lk_key_bigint(key), LK_MODE_EXCLUSIVE, t, t1));
    lk_ledger_probe_end(&l);
    assert_int_equal(l.count, LK_LEDGER_MAX);
    assert_int_equal(l.beyond, 9000);
    assert_int_equal(l.unsure, LK_UNSURE_FULL);
    assert_int_equal(t->refs, LK_LEDGER_MAX + 1);
    lk_ledger_unlock_all(&l);
    assert_true(lk_ledger_zero(&l));
    assert_int_equal(l.beyond, 0);
    assert_int_equal(t->refs, 1);
    lk_text_unref(t);
}

static void
modes_have_the_names_of_the_leak_log(void **state)
{
    assert_string_equal(lk_mode_name(LK_MODE_EXCLUSIVE), "exclusive");
    assert_string_equal(lk_mode_name(LK_MODE_SHARED), "shared");
}

struct heard {
    unsigned taken, gone, refused;
    struct lk_key last;
    const struct lk_text *text;
};

static void
hear(void *context, enum lk_ledger_event what, const struct lk_held *held, struct lk_text *text)
{
    struct heard *h = context;
    unsigned *counts[] = {[LK_LEDGER_TAKEN] = &h->taken, [LK_LEDGER_GONE] = &h->gone, [LK_LEDGER_REFUSED] = &h->refused};
    ++*counts[what];
    assert_true((held != NULL) == (what != LK_LEDGER_REFUSED));
    if (held)
        h->last = held->key;
    h->text = text;
}

static void
a_listener_hears_of_each_lock_once_when_it_comes_and_once_when_it_goes(void **state)
{
    struct heard h = {0};
    struct lk_ledger l = {.listener = {hear, &h}};
    struct lk_now now = {1, 1};
    struct lk_text *text = lk_text_new(lk_span_str("select 1"), 7);
    (void)lk_ledger_lock(&l, lk_key_bigint(1), LK_MODE_EXCLUSIVE, text, now);
    (void)lk_ledger_lock(&l, lk_key_bigint(1), LK_MODE_EXCLUSIVE, text, now);
    assert_int_equal(h.taken, 1);
    assert_ptr_equal(h.text, text);
    lk_ledger_unlock(&l, lk_key_bigint(1), LK_MODE_EXCLUSIVE);
    assert_int_equal(h.gone, 0);
    lk_ledger_unlock(&l, lk_key_bigint(1), LK_MODE_EXCLUSIVE);
    assert_int_equal(h.gone, 1);
    assert_true(lk_key_eq(h.last, lk_key_bigint(1)));
    lk_ledger_refuse(&l, text);
    assert_int_equal(h.refused, 1);
    (void)lk_ledger_lock(&l, lk_key_bigint(2), LK_MODE_EXCLUSIVE, NULL, now);
    (void)lk_ledger_lock(&l, lk_key_bigint(3), LK_MODE_EXCLUSIVE, NULL, now);
    lk_ledger_probe_begin(&l);
    (void)lk_ledger_probe_row(&l, lk_key_bigint(3), LK_MODE_EXCLUSIVE, NULL, now);
    (void)lk_ledger_probe_row(&l, lk_key_bigint(4), LK_MODE_SHARED, NULL, now);
    lk_ledger_probe_end(&l);
    assert_int_equal(h.taken, 4);
    assert_int_equal(h.gone, 2);
    assert_true(lk_key_eq(h.last, lk_key_bigint(2)));
    lk_ledger_unlock_all(&l);
    assert_int_equal(h.gone, 4);
    (void)lk_ledger_lock(&l, lk_key_bigint(5), LK_MODE_EXCLUSIVE, NULL, now);
    lk_ledger_clear(&l);
    assert_int_equal(h.taken, 5);
    assert_int_equal(h.gone, 5);
    lk_text_unref(text);
}

static void
what_a_sweep_saw_is_held_in_doubt_until_a_probe_has_looked(void **state)
{
    struct lk_ledger l = {0};
    lock(&l, 1);
    lk_ledger_swept(&l, lk_key_bigint(1), LK_MODE_EXCLUSIVE, t2);
    lk_ledger_swept(&l, lk_key_bigint(2), LK_MODE_EXCLUSIVE, t2);
    lk_ledger_swept(&l, lk_key_bigint(3), LK_MODE_EXCLUSIVE, t2);
    assert_int_equal(l.count, 3);
    assert_int_equal(l.unsure, LK_UNSURE_HIDDEN);
    assert_int_equal(find(&l, 1)->source, LK_HELD_LEDGER);
    assert_int_equal(find(&l, 2)->source, LK_HELD_SWEEP);
    lk_ledger_probe_begin(&l);
    assert_false(row(&l, 1));
    assert_false(row(&l, 2));
    lk_ledger_probe_end(&l);
    assert_int_equal(l.count, 2);
    assert_int_equal(l.unsure, 0);
    assert_int_equal(find(&l, 2)->source, LK_HELD_SWEEP);
    assert_null(find(&l, 3));
    lk_ledger_clear(&l);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_zeroed_ledger_is_exact_and_holds_no_memory),
        cmocka_unit_test(a_lock_taken_twice_is_held_until_its_second_unlock),
        cmocka_unit_test(modes_and_key_spaces_are_entries_of_their_own),
        cmocka_unit_test(an_entry_keeps_the_time_and_statement_of_its_first_lock),
        cmocka_unit_test(every_way_out_gives_the_text_back),
        cmocka_unit_test(unlocking_what_it_does_not_hold_makes_it_unsure),
        cmocka_unit_test(unlock_all_makes_it_empty_and_exact),
        cmocka_unit_test(a_probe_adds_what_no_entry_explains_and_drops_what_it_does_not_see),
        cmocka_unit_test(a_probe_after_untrusted_statements_leaves_known_counts),
        cmocka_unit_test(a_touch_that_does_not_tell_makes_every_count_unknown),
        cmocka_unit_test(an_unlock_of_an_unknown_count_waits_for_a_probe),
        cmocka_unit_test(a_full_ledger_counts_what_it_cannot_hold),
        cmocka_unit_test(a_full_ledger_is_exact_again_once_a_probe_sees_no_more_than_it_holds),
        cmocka_unit_test(a_probe_of_ten_thousand_locks_keeps_a_thousand_and_the_number),
        cmocka_unit_test(a_listener_hears_of_each_lock_once_when_it_comes_and_once_when_it_goes),
        cmocka_unit_test(what_a_sweep_saw_is_held_in_doubt_until_a_probe_has_looked),
        cmocka_unit_test(modes_have_the_names_of_the_leak_log),
    };
    return cmocka_run_group_tests_name("lock/ledger", tests, NULL, NULL);
}
