#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sql/gate.h"

static const struct {
    const char *sql;
    bool hit;
} rows[] = {
    {"select pg_advisory_lock(1)", true},
    {"SELECT PG_ADVISORY_LOCK(1)", true},
    {"advisory", true},
    {"xADVisory", true},
    {"vvvadvisory", true},
    {"advisor", false},
    {"dvisory advisor y", false},
    {"select 1 from v where v = 'V'", false},
    {"", false},
    {"v", false},
    {"PREPARE p AS SELECT pg_advisory_lock(1)", true},
    {"select U&\"\\0061\"", true},
    {"select u&\"\\0061\"", true},
    {"select u&'x', a &\"b\", u &\"c\"", false},
    {"&\"", false},
    {"EXECUTE p", true},
    {"execute\tp(1)", true},
    {"execute", false},
    {" -- c\n /* x /* y **/ */;\r\n EXECUTE p", true},
    {"/*/ x */ execute p", true},
    {"/**/execute/**/p", true},
    {"/* execute p */ select 1", false},
    {"-- execute p", false},
    {"executed p", false},
    {"execute_ p", false},
    {"execute\xc3\xa9 p", false},
    {"exec p", false},
    {"select 1; execute p", false},
    {"- execute p", false},
    {"/ execute p", false},
    {"\"execute\" p", false},
};

static void
texts_that_deserve_a_parse_hit(void **state)
{
    for (size_t i = 0; i < LK_COUNT(rows); i++)
        if (lk_gate(lk_span_str(rows[i].sql)) != rows[i].hit)
            fail_msg("%s", rows[i].sql);
}

/* Feeds exact copies, so that a sanitizer sees any byte read beside a piece. */
static void
feed_copy(struct lk_gate_window *w, const char *p, size_t n)
{
    char *copy = lk_mem_dup_span(lk_span_make(p, n));
    char *exact = realloc(copy, n > 0 ? n : 1);
    lk_gate_feed(w, lk_span_make(exact, n));
    free(exact);
}

static void
any_split_of_a_text_gives_what_the_whole_gives(void **state)
{
    for (size_t i = 0; i < LK_COUNT(rows); i++) {
        size_t n = strlen(rows[i].sql);
        for (size_t a = 0; a <= n; a++) {
            for (size_t b = a; b <= n; b++) {
                struct lk_gate_window w = {0};
                feed_copy(&w, rows[i].sql, a);
                feed_copy(&w, rows[i].sql + a, b - a);
                feed_copy(&w, rows[i].sql + b, n - b);
                if (w.hit != rows[i].hit)
                    fail_msg("%s cut at %zu and %zu", rows[i].sql, a, b);
            }
        }
        struct lk_gate_window w = {0};
        for (size_t a = 0; a < n; a++)
            feed_copy(&w, rows[i].sql + a, 1);
        assert_int_equal(w.hit, rows[i].hit);
    }
}

static void
encodings_are_told_apart_by_any_spelling_of_their_name(void **state)
{
    static const char *const safe[] = {"UTF8", "utf-8", "UNICODE", "LATIN1", "latin-9", "SQL_ASCII", "EUC_JP",
        "EUC_JIS_2004", "WIN1252", "windows-1251", "ISO_8859_5", "KOI8-R", "MULE_INTERNAL", "WIN866", "WIN874"};
    static const char *const unsafe[] = {"SJIS", "Shift_JIS", "shift_jis_2004", "BIG5", "GBK", "UHC", "GB18030",
        "JOHAB", "win932", "windows-936", "win949", "WIN950", "mskanji", "", "no_such_encoding_under_the_sun"};
    for (size_t i = 0; i < LK_COUNT(safe); i++)
        if (!lk_encoding_ascii_safe(lk_span_str(safe[i])))
            fail_msg("%s", safe[i]);
    for (size_t i = 0; i < LK_COUNT(unsafe); i++)
        if (lk_encoding_ascii_safe(lk_span_str(unsafe[i])))
            fail_msg("%s", unsafe[i]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_that_deserve_a_parse_hit),
        cmocka_unit_test(any_split_of_a_text_gives_what_the_whole_gives),
        cmocka_unit_test(encodings_are_told_apart_by_any_spelling_of_their_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
