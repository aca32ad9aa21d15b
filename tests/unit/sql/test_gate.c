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
    {"EXECUTE p", false},
};

static void
texts_that_deserve_a_parse_hit(void **state)
{
    for (size_t i = 0; i < LK_COUNT(rows); i++) {
        /* Without the NUL, so that a sanitizer sees any byte read behind the text. */
        size_t n = strlen(rows[i].sql);
        char *exact = realloc(lk_mem_dup(rows[i].sql), n > 0 ? n : 1);
        if (lk_gate(lk_span_make(exact, n)) != rows[i].hit)
            fail_msg("%s", rows[i].sql);
        free(exact);
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
        cmocka_unit_test(encodings_are_told_apart_by_any_spelling_of_their_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
