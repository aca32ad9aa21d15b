/* Whatever bytes come: nothing reads beside the text, the token bound holds against libpg_query's scanner, the
 * fingerprint doesn't see layout, and no constant is left in a normalised text. LK_SEED=n plays one run again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pg_query.h>
#include <pg_query/pg_query.pb-c.h>

#include "base/mem.h"
#include "sql/analysis.h"
#include "sql/fingerprint.h"
#include "sql/gate.h"
#include "sql/normalize.h"

#define ROUNDS 4000
#define ROOM 400

static const struct lk_hash_key KEY = {5, 6};
static uint64_t dice;

static uint32_t
roll(uint32_t sides)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (uint32_t)(dice >> 33) % sides;
}

static const char *const PIECES[] = {"select", "pg_advisory_lock", "pg_try_advisory_lock(1)", "(", ")", ",", ";", "'",
    "''", "'x'", "E'", "\\", "\\'", "\"", "\"a\"", "U&\"", "U&'", "$$", "$a$", "$1", "1", "1.5e", "0x", "--", "\n",
    "/*", "*/", " ", "-", "+", "@", "::int8", "::", "in (", "values (", "array[", "]", "null", "do", "execute", "begin",
    "set", "from t", "advisory", "_xact_", ".", "pg_catalog", "\xc3\xa9", "\x95", "explain analyze", "with a as",
    "case", "end", "<>", "?"};

/* Pieces of SQL in any order, or noise; without a NUL, and without \v, which is white space only from PostgreSQL 16 on.
 */
static size_t
make_text(char *out)
{
    size_t n = 0;
    bool noise = roll(8) == 0;
    for (uint32_t left = roll(40); left > 0; left--) {
        if (noise) {
            char c = (char)(1 + roll(255));
            out[n++] = c == '\v' ? ' ' : c;
            continue;
        }
        const char *piece = PIECES[roll(LK_COUNT(PIECES))];
        size_t len = strlen(piece);
        if (n + len + 1 >= ROOM)
            break;
        memcpy(out + n, piece, len);
        n += len;
        if (roll(2))
            out[n++] = ' ';
    }
    out[n] = 0;
    return n;
}

static void
start(const char *name)
{
    const char *fixed = getenv("LK_SEED");
    dice = fixed ? strtoull(fixed, NULL, 10) : 20231130;
    print_message("%s: LK_SEED=%llu\n", name, (unsigned long long)dice);
}

static void
any_text_can_be_analysed(void **state)
{
    start("analysis");
    struct lk_analysis_cache *cache = lk_analysis_cache_new(20000, KEY);
    for (int i = 0; i < ROUNDS; i++) {
        char text[ROOM];
        size_t n = make_text(text);
        char *exact = malloc(n > 0 ? n : 1);
        memcpy(exact, text, n);
        struct lk_sql_mode mode = {roll(8) > 0, roll(8) > 0};
        struct lk_analysis *a = lk_analysis_cache_get(cache, lk_span_make(exact, n), mode);
        assert_non_null(a);
        struct lk_fingerprint f;
        lk_fingerprint_make(lk_span_make(exact, n), &KEY, &f);
        if (a->plan)
            assert_true(f.executes || lk_gate(lk_span_make(exact, n)));
        lk_analysis_unref(a);
        free(exact);
    }
    lk_analysis_cache_free(cache);
}

static void
the_token_bound_is_no_less_than_the_scanner_finds(void **state)
{
    start("tokens");
    for (int i = 0; i < ROUNDS; i++) {
        char text[ROOM];
        size_t n = make_text(text), tokens = 0;
        PgQueryScanResult scan = pg_query_scan(text);
        if (!scan.error) {
            PgQuery__ScanResult *r =
                pg_query__scan_result__unpack(NULL, scan.pbuf.len, (const uint8_t *)scan.pbuf.data);
            assert_non_null(r);
            for (size_t j = 0; j < r->n_tokens; j++)
                tokens += r->tokens[j]->token != PG_QUERY__TOKEN__SQL_COMMENT &&
                          r->tokens[j]->token != PG_QUERY__TOKEN__C_COMMENT;
            pg_query__scan_result__free_unpacked(r, NULL);
        }
        pg_query_free_scan_result(scan);
        if (lk_lex_count(lk_span_make(text, n), SIZE_MAX) < tokens)
            fail_msg("%zu tokens: %s", tokens, text);
    }
}

/* The same tokens with other white space and comments between them. */
static size_t
lay_out_anew(struct lk_span sql, char *out)
{
    static const char *const gaps[] = {" ", "\n", "/* x */", "\t--'\n", "  "};
    struct lk_lex lex = lk_lex_start(sql);
    struct lk_lexeme t;
    size_t n = 0;
    const uint8_t *behind = sql.p;
    while (lk_lex_next(&lex, &t)) {
        if (t.p != behind) {
            /* The line break that continues a string is no mere layout. */
            const char *gap = n > 0 && *t.p == '\'' ? " " : gaps[roll(LK_COUNT(gaps))];
            memcpy(out + n, gap, strlen(gap));
            n += strlen(gap);
        }
        memcpy(out + n, t.p, t.n);
        n += t.n;
        behind = lex.p;
    }
    return n;
}

static void
the_fingerprint_does_not_see_layout(void **state)
{
    start("layout");
    for (int i = 0; i < ROUNDS; i++) {
        char text[ROOM], other[8 * ROOM];
        size_t n = make_text(text);
        size_t m = lay_out_anew(lk_span_make(text, n), other);
        struct lk_fingerprint a, b;
        lk_fingerprint_make(lk_span_make(text, n), &KEY, &a);
        lk_fingerprint_make(lk_span_make(other, m), &KEY, &b);
        if (a.hash != b.hash || a.single != b.single)
            fail_msg("%s\n%.*s", text, (int)m, other);
    }
}

/* A text of words, operators and secrets in each form of a constant, now and then cut off. */
static size_t
make_secrets(char *out)
{
    static const char *const forms[] = {"'secret'", "'it''s secret'", "E'a\\' secret'", "U&'secret'", "$$ secret ' $$",
        "$x$secret$$ $x$", "/* secret */", "-- secret\n", "/* a /* b */ secret */", "E'x'\n'\\' secret'"};
    static const char *const words[] = {"select", "insert into t values (", ")", ",", "+", "=", "notify x,", "a",
        "::text", "$1", "7", "from t where", "comment on table t is", ";", "set a ="};
    size_t n = 0;
    for (uint32_t left = 1 + roll(20); left > 0; left--) {
        const char *piece = roll(2) ? forms[roll(LK_COUNT(forms))] : words[roll(LK_COUNT(words))];
        n += (size_t)sprintf(out + n, "%s ", piece);
    }
    if (roll(3) == 0)
        n = 1 + roll((uint32_t)n);
    out[n] = 0;
    return n;
}

static void
no_constant_is_left_in_a_normalised_text(void **state)
{
    start("constants");
    for (int i = 0; i < ROUNDS; i++) {
        char text[1000];
        size_t n = make_secrets(text);
        char *normal = lk_sql_normalize(lk_span_make(text, n), roll(4) ? 1024 : roll(60));
        if (strstr(normal, "ecre") || strstr(normal, "7"))
            fail_msg("%s\n%s", text, normal);
        free(normal);
        n = make_text(text);
        free(lk_sql_normalize(lk_span_make(text, n), roll(200)));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_text_can_be_analysed),
        cmocka_unit_test(the_token_bound_is_no_less_than_the_scanner_finds),
        cmocka_unit_test(the_fingerprint_does_not_see_layout),
        cmocka_unit_test(no_constant_is_left_in_a_normalised_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
