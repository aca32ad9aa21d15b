#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sql/analysis.h"

static const struct lk_hash_key KEY = {3, 4};
static const struct lk_sql_mode SAFE = {true, true};

/* Is the text's analysis still the one kept? */
static bool
same(struct lk_analysis_cache *c, const char *sql, struct lk_sql_mode mode, const struct lk_analysis *kept)
{
    struct lk_analysis *a = lk_analysis_cache_get(c, lk_span_str(sql), mode);
    bool is = a == kept;
    lk_analysis_unref(a);
    return is;
}

static void
a_text_is_analysed_once_for_each_mode(void **state)
{
    struct lk_analysis_cache *c = lk_analysis_cache_new(1 << 20, KEY);
    struct lk_sql_mode other = {false, true};
    struct lk_analysis *a = lk_analysis_cache_get(c, lk_span_str("select 1"), SAFE);
    struct lk_analysis *b = lk_analysis_cache_get(c, lk_span_str("select 1"), other);
    assert_int_equal(a->trust, LK_TRUST_BY_EVIDENCE);
    assert_int_equal(b->trust, LK_TRUST_NEVER);
    assert_true(same(c, "select 1", SAFE, a));
    assert_true(same(c, "select 1", other, b));
    assert_false(same(c, "select 2", SAFE, a));
    lk_analysis_unref(a);
    lk_analysis_unref(b);
    lk_analysis_cache_free(c);
}

static void
the_least_recently_used_goes_and_lives_on_with_its_holders(void **state)
{
    struct lk_analysis_cache *c = lk_analysis_cache_new(16384, KEY);
    struct lk_analysis *kept = lk_analysis_cache_get(c, lk_span_str("select kept"), SAFE);
    struct lk_analysis *gone = lk_analysis_cache_get(c, lk_span_str("select pg_advisory_lock(1)"), SAFE);
    for (int i = 0; i < 500; i++) {
        char sql[64];
        snprintf(sql, sizeof(sql), "select %d", i);
        lk_analysis_unref(lk_analysis_cache_get(c, lk_span_str(sql), SAFE));
        assert_true(same(c, "select kept", SAFE, kept));
    }
    assert_false(same(c, "select pg_advisory_lock(1)", SAFE, gone));
    assert_int_equal(gone->refs, 1);
    assert_int_equal(gone->plan->statements[0].call_count, 1);
    lk_analysis_cache_free(c);
    assert_int_equal(kept->refs, 1);
    lk_analysis_unref(kept);
    lk_analysis_unref(gone);
    lk_analysis_cache_free(NULL);
}

static void
long_texts_and_texts_beyond_the_cache_are_made_anew(void **state)
{
    struct lk_analysis_cache *c = lk_analysis_cache_new(1 << 20, KEY);
    char *sql = lk_mem_new(20001);
    memset(sql, ' ', 20000);
    memcpy(sql, "select", 6);
    struct lk_analysis *a = lk_analysis_cache_get(c, lk_span_str(sql), SAFE);
    assert_int_equal(a->refs, 1);
    assert_false(same(c, sql, SAFE, a));
    lk_analysis_unref(a);
    lk_analysis_cache_free(c);
    free(sql);
    c = lk_analysis_cache_new(10, KEY);
    a = lk_analysis_cache_get(c, lk_span_str("select 1"), SAFE);
    assert_int_equal(a->refs, 1);
    lk_analysis_unref(a);
    lk_analysis_cache_free(c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_analysed_once_for_each_mode),
        cmocka_unit_test(the_least_recently_used_goes_and_lives_on_with_its_holders),
        cmocka_unit_test(long_texts_and_texts_beyond_the_cache_are_made_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
