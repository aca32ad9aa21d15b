#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sql/analysis.h"

static const struct lk_hash_key KEY = {1, 2};
static const struct lk_sql_mode SAFE = {true, true};

static struct lk_analysis *
analyse(const char *sql, struct lk_sql_mode mode)
{
    struct lk_analysis *a = lk_analysis_make(lk_span_str(sql), mode, &KEY);
    assert_non_null(a);
    return a;
}

static void
statements_that_cannot_lock_are_trusted_from_the_start(void **state)
{
    static const char *const always[] = {"", " ; -- x", "BEGIN", "begin isolation level serializable;",
        "start transaction read only", "savepoint a", "RELEASE a", "rollback", "ROLLBACK TO a", "abort", "set a = 'b'",
        "SET LOCAL lock_timeout = '1s'", "reset all", "show \"advisory\"", "listen x", "UNLISTEN *",
        "notify x, 'advisory lock'", "deallocate p", "DEALLOCATE ALL", "/* x */ set timezone to 'UTC' ;;"};
    static const char *const by_evidence[] = {"select 1", "commit", "end", "set constraints all immediate",
        "SET/**/CONSTRAINTS a DEFERRED", "begin; select f()", "set a = 1; set b = 2", "; select f()",
        "prepare p as select 1", "discard all", "\"begin\"", "beginning", "call set()"};
    for (size_t i = 0; i < LK_COUNT(always); i++) {
        struct lk_analysis *a = analyse(always[i], SAFE);
        if (a->trust != LK_TRUST_ALWAYS || a->plan)
            fail_msg("%s", always[i]);
        lk_analysis_unref(a);
    }
    for (size_t i = 0; i < LK_COUNT(by_evidence); i++) {
        struct lk_analysis *a = analyse(by_evidence[i], SAFE);
        if (a->trust != LK_TRUST_BY_EVIDENCE)
            fail_msg("%s", by_evidence[i]);
        lk_analysis_unref(a);
    }
}

static void
verbs_are_whole_texts(void **state)
{
    static const struct {
        const char *sql;
        enum lk_verb verb;
        const char *name;
    } rows[] = {
        {"BEGIN", LK_VERB_BEGIN, NULL},
        {"begin work;", LK_VERB_BEGIN, NULL},
        {"Begin Transaction ; -- x", LK_VERB_BEGIN, NULL},
        {"start transaction", LK_VERB_BEGIN, NULL},
        {"start", LK_VERB_OTHER, NULL},
        {"start work", LK_VERB_OTHER, NULL},
        {"start transaction read only", LK_VERB_OTHER, NULL},
        {"begin isolation level serializable", LK_VERB_OTHER, NULL},
        {"commit", LK_VERB_COMMIT, NULL},
        {"COMMIT TRANSACTION", LK_VERB_COMMIT, NULL},
        {"/* x */ end work", LK_VERB_COMMIT, NULL},
        {"commit and chain", LK_VERB_OTHER, NULL},
        {"commit prepared 'x'", LK_VERB_OTHER, NULL},
        {"rollback", LK_VERB_ROLLBACK, NULL},
        {"ABORT WORK", LK_VERB_ROLLBACK, NULL},
        {"rollback to a", LK_VERB_OTHER, NULL},
        {"rollback and no chain", LK_VERB_OTHER, NULL},
        {"begin; commit", LK_VERB_OTHER, NULL},
        {"; begin", LK_VERB_OTHER, NULL},
        {"\"begin\"", LK_VERB_OTHER, NULL},
        {"deallocate P1", LK_VERB_DEALLOCATE, "p1"},
        {"DEALLOCATE PREPARE \"P\"\"1\";", LK_VERB_DEALLOCATE, "P\"1"},
        {"deallocate prepare", LK_VERB_DEALLOCATE, "prepare"},
        {"deallocate \"all\"", LK_VERB_DEALLOCATE, "all"},
        {"deallocate all", LK_VERB_DEALLOCATE, NULL},
        {"deallocate prepare all", LK_VERB_DEALLOCATE, NULL},
        {"deallocate U&\"x\"", LK_VERB_OTHER, NULL},
        {"deallocate \"x", LK_VERB_OTHER, NULL},
        {"deallocate 1", LK_VERB_OTHER, NULL},
        {"deallocate a b", LK_VERB_OTHER, NULL},
        {"deallocate", LK_VERB_OTHER, NULL},
        {"select 1", LK_VERB_OTHER, NULL},
        {"", LK_VERB_OTHER, NULL},
    };
    for (size_t i = 0; i < LK_COUNT(rows); i++) {
        struct lk_analysis *a = analyse(rows[i].sql, SAFE);
        if (a->verb != rows[i].verb || !a->verb_name != !rows[i].name)
            fail_msg("%s", rows[i].sql);
        if (rows[i].name)
            assert_string_equal(a->verb_name, rows[i].name);
        lk_analysis_unref(a);
    }
}

static void
single_means_no_semicolon_but_at_the_end(void **state)
{
    static const struct {
        const char *sql;
        bool single, single_if_doubted;
    } rows[] = {
        {"select 1", true, true},
        {"select 1;", true, true},
        {"select 1 ; -- x\n ;", true, false},
        {"select ';', \";\" /* ; */", true, false},
        {"do $$ begin; end; $$", true, false},
        {"select 1; select 2", false, false},
        {"; select 1", false, false},
        {"", true, true},
        {"select 'a\\' || '; select 2; --'", true, false},
    };
    for (size_t i = 0; i < LK_COUNT(rows); i++) {
        struct lk_analysis *a = analyse(rows[i].sql, SAFE);
        struct lk_analysis *b = analyse(rows[i].sql, (struct lk_sql_mode){false, true});
        struct lk_analysis *c = analyse(rows[i].sql, (struct lk_sql_mode){true, false});
        if (a->single != rows[i].single || b->single != rows[i].single_if_doubted || c->single != b->single)
            fail_msg("%s", rows[i].sql);
        lk_analysis_unref(a);
        lk_analysis_unref(b);
        lk_analysis_unref(c);
    }
}

static void
doubtful_settings_never_trust_and_do_not_parse(void **state)
{
    static const struct lk_sql_mode modes[] = {{false, true}, {true, false}, {false, false}};
    for (size_t i = 0; i < LK_COUNT(modes); i++) {
        struct lk_analysis *a = analyse("select pg_advisory_lock(1)", modes[i]);
        assert_int_equal(a->trust, LK_TRUST_NEVER);
        assert_non_null(a->plan);
        assert_int_equal(a->plan->count, 0);
        lk_analysis_unref(a);
        a = analyse("begin", modes[i]);
        assert_int_equal(a->trust, LK_TRUST_NEVER);
        assert_int_equal(a->verb, LK_VERB_BEGIN);
        assert_null(a->plan);
        lk_analysis_unref(a);
    }
    struct lk_analysis *a = analyse("deallocate \xe8x", modes[1]);
    assert_int_equal(a->verb, LK_VERB_OTHER);
    lk_analysis_unref(a);
}

static void
a_plan_is_there_only_for_touches(void **state)
{
    struct lk_analysis *a = analyse("select pg_advisory_lock(7)", SAFE);
    assert_int_equal(a->trust, LK_TRUST_BY_EVIDENCE);
    assert_non_null(a->plan);
    assert_true(a->plan->count == 1 && a->plan->statements[0].exact);
    assert_true(a->fingerprint != 0 && a->fingerprint == a->text->fingerprint);
    assert_string_equal(a->text->sql, "select pg_advisory_lock(7)");
    struct lk_analysis *b = analyse("select pg_advisory_xact_lock(7)", SAFE);
    assert_null(b->plan);
    assert_true(a->fingerprint != b->fingerprint);
    lk_analysis_unref(a);
    lk_analysis_unref(b);
}

static void
only_what_runs_a_prepared_statement_is_a_touch_for_the_word_execute(void **state)
{
    static const struct {
        const char *sql;
        bool touch;
    } rows[] = {
        {"execute p(1)", true},
        {"begin; execute p; commit", true},
        {"explain (analyze) execute p", true},
        {"create table t as execute p", true},
        {"explain execute p", false},
        {"grant execute on function f() to public", false},
        {"create trigger t after insert on a execute function f()", false},
        {"select execute from t", false},
    };
    for (size_t i = 0; i < LK_COUNT(rows); i++) {
        struct lk_analysis *a = analyse(rows[i].sql, SAFE);
        if ((a->plan != NULL) != rows[i].touch)
            fail_msg("%s", rows[i].sql);
        lk_analysis_unref(a);
    }
}

static void
long_texts_are_searched_and_never_trusted(void **state)
{
    size_t n = LK_SQL_TEXT_MAX + 100;
    char *sql = lk_mem_new(n);
    memset(sql, ' ', n);
    memcpy(sql, "set a=1", 7);
    struct lk_analysis *a = lk_analysis_make(lk_span_make(sql, n), SAFE, &KEY);
    assert_int_equal(a->trust, LK_TRUST_NEVER);
    assert_false(a->single);
    assert_null(a->plan);
    lk_analysis_unref(a);
    memcpy(sql + n - 8, "advisory", 8);
    a = lk_analysis_make(lk_span_make(sql, n), SAFE, &KEY);
    assert_non_null(a->plan);
    assert_int_equal(a->plan->count, 0);
    assert_int_equal(a->text->n, n);
    lk_analysis_unref(a);
    free(sql);
}

static void
an_analysis_lives_as_long_as_a_reference(void **state)
{
    struct lk_analysis *a = analyse("deallocate a", SAFE);
    assert_ptr_equal(lk_analysis_ref(a), a);
    lk_analysis_unref(a);
    assert_string_equal(a->verb_name, "a");
    lk_analysis_unref(a);
    lk_analysis_unref(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_that_cannot_lock_are_trusted_from_the_start),
        cmocka_unit_test(verbs_are_whole_texts),
        cmocka_unit_test(single_means_no_semicolon_but_at_the_end),
        cmocka_unit_test(doubtful_settings_never_trust_and_do_not_parse),
        cmocka_unit_test(a_plan_is_there_only_for_touches),
        cmocka_unit_test(only_what_runs_a_prepared_statement_is_a_touch_for_the_word_execute),
        cmocka_unit_test(long_texts_are_searched_and_never_trusted),
        cmocka_unit_test(an_analysis_lives_as_long_as_a_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
