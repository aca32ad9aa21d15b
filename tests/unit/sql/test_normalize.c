#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sql/normalize.h"

static void
constants_are_replaced(void **state)
{
    static const struct {
        const char *sql, *normal;
    } rows[] = {
        {"SELECT  pg_advisory_lock(42)\n", "SELECT pg_advisory_lock($1)"},
        {"select $1, -5, 'a' from t -- secret", "select $1, $2, $3 from t"},
        {"select /* secret */ 'secret'", "select $1"},
        {"NOTIFY x, 'secret'", "NOTIFY x, ?"},
        {"COMMENT ON TABLE t IS 'secret'", "COMMENT ON TABLE t IS ?"},
        {"DO $$ secret $$", "DO $1"},
        {"", ""},
        /* what libpg_query can't read */
        {"selec 'secret', 42, a.b from \"T\"", "selec ?, ?, a.b from \"T\""},
        {"select 0xdeadbeef, 12secret, 1_000", "select ?, ?, ?"},
        {"select 'secret", "select ?"},
        {"select E'secret\\' more", "select ?"},
        {"select $x$ secret", "select ?"},
        {"select \"secret", "select ?"},
        {"select /* secret", "select"},
        {"select 'it\\'s secret', 'more'", "select ?"},
        {"select E'\x95\\', secret, '", "select ?"},
        {"select U&'secret' b'1' X'2' from", "select ? ? ? from"},
    };
    for (size_t i = 0; i < LK_COUNT(rows); i++) {
        char *got = lk_sql_normalize(lk_span_str(rows[i].sql), 1024);
        assert_string_equal(got, rows[i].normal);
        free(got);
    }
}

static void
a_text_is_cut_at_a_characters_border(void **state)
{
    static const struct {
        size_t max;
        const char *normal;
    } rows[] = {{0, ""}, {3, "sel"}, {8, "select x"}, {9, "select x"}, {10, "select x\xc3\xa9"},
        {11, "select x\xc3\xa9"}, {13, "select x\xc3\xa9\xe2\x82\xac"}, {16, "select x\xc3\xa9\xe2\x82\xac"},
        {17, "select x\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x92"}, {99, "select x\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x92"}};
    for (size_t i = 0; i < LK_COUNT(rows); i++) {
        char *got = lk_sql_normalize(lk_span_str("select x\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x92"), rows[i].max);
        assert_string_equal(got, rows[i].normal);
        free(got);
    }
}

static void
texts_too_long_for_the_parser_are_written_all_the_same(void **state)
{
    char *sql = lk_mem_new(70001);
    memset(sql, '(', 70000);
    memcpy(sql, "select 1 + 'x' ", 15);
    char *got = lk_sql_normalize(lk_span_str(sql), 18);
    assert_string_equal(got, "select ? + ? (((((");
    free(got);
    free(sql);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_are_replaced),
        cmocka_unit_test(a_text_is_cut_at_a_characters_border),
        cmocka_unit_test(texts_too_long_for_the_parser_are_written_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
