#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sql/lex.h"

/* Tokens as KIND:TEXT, separated by spaces; '!' behind a kind: doubtful, '<': open. */
static void
describe(const char *sql, char *out, size_t room)
{
    static const char kinds[] = "eWQNSPO.";
    struct lk_lex lex = lk_lex_start(lk_span_str(sql));
    struct lk_lexeme t;
    size_t n = 0;
    out[0] = 0;
    while (lk_lex_next(&lex, &t))
        n += (size_t)snprintf(out + n, room - n, "%s%c%s%s:%.*s", n > 0 ? " " : "", kinds[t.kind],
            t.doubtful ? "!" : "", t.open ? "<" : "", (int)t.n, (const char *)t.p);
}

static void
texts_are_cut_as_postgresql_cuts_them(void **state)
{
    static const struct {
        const char *sql, *tokens;
    } rows[] = {
        {"", ""},
        {" \t\r\n\f ", ""},
        {"select a_1$,\xc3\xa9t FROM \"T \"\"x\"", "W:select W:a_1$ .:, W:\xc3\xa9t W:FROM Q:\"T \"\"x\""},
        {"1 1.5 .5 1. 1e5 1.5E-3 1e 1e+", "N:1 N:1.5 N:.5 N:1. N:1e5 N:1.5E-3 N:1 W:e N:1 W:e O:+"},
        {"0x1F 0b11 0o17 1_000 0xg 1..2 1a", "N:0x1F N:0b11 N:0o17 N:1_000 N:0 W:xg N:1 .:. N:.2 N:1 W:a"},
        {"$1 $23a $ $a", "P:$1 P:$23 W:a .:$ .:$ W:a"},
        {"'a''b' 'c'", "S:'a''b' S:'c'"},
        {"E'a\\'b' e'\\\\' 'c'", "S:E'a\\'b' S:e'\\\\' S:'c'"},
        {"B'01' x'1F' U&'\\0041' N'x' te'x'", "S:B'01' S:x'1F' S:U&'\\0041' W:N S:'x' W:te S:'x'"},
        {"x'a''b' B'1", "S:x'a' S:'b' S<:B'1"},
        {"U&\"a b\" u &\"x\" a&'x'", "Q:U&\"a b\" W:u O:& Q:\"x\" W:a O:& S:'x'"},
        {"$$a'$b$ $$ $t$ $$ $T$ $t$", "S:$$a'$b$ $$ S:$t$ $$ $T$ $t$"},
        {"a$b$c$b$", "W:a$b$c$b$"},
        {"a--b\nc /* /* x */ y */ d/**/e", "W:a W:c W:d W:e"},
        {"a-b<=c->>d::e:=f=>g", "W:a O:- W:b O:<= W:c O:->> W:d .:: .:: W:e .:: O:= W:f O:=> W:g"},
        {"a=-1 a@-1 a*/*x*/-1 a+--x", "W:a O:= O:- N:1 W:a O:@- N:1 W:a O:* O:- N:1 W:a O:+"},
        {"E'a'\n 'b\\'c' d", "S:E'a'\n 'b\\'c' W:d"},
        {"E'a' -- x\n 'b\\'c'", "S:E'a' -- x\n 'b\\'c'"},
        {"E'a' 'b\\' c", "S:E'a' S!:'b\\' W:c"},
        {"'it\\'s'", "S!:'it\\' W:s S<:'"},
        {"E'\xe8\\'s'", "S!:E'\xe8\\'s'"},
        {"'open", "S<:'open"},
        {"\"open", "Q<:\"open"},
        {"$x$open$x", "S<:$x$open$x"},
        {"E'open\\", "S<:E'open\\"},
        {"/* open /* x */", ""},
        {"f(a[1]);", "W:f .:( W:a .:[ N:1 .:] .:) .:;"},
        {"\\ { \x01", ".:\\ .:{ .:\x01"},
    };
    for (size_t i = 0; i < LK_COUNT(rows); i++) {
        char got[512];
        describe(rows[i].sql, got, sizeof(got));
        assert_string_equal(got, rows[i].tokens);
    }
}

static void
a_word_is_compared_in_any_case(void **state)
{
    struct lk_lex lex = lk_lex_start(lk_span_str("DealLocate \"do\""));
    struct lk_lexeme t;
    lk_lex_next(&lex, &t);
    assert_true(lk_lexeme_is(&t, "deallocate"));
    assert_false(lk_lexeme_is(&t, "deallocat"));
    lk_lex_next(&lex, &t);
    assert_false(lk_lexeme_is(&t, "do"));
}

static void
counting_stops_at_enough(void **state)
{
    assert_int_equal(lk_lex_count(lk_span_str("a b <=> c"), 100), 6);
    assert_int_equal(lk_lex_count(lk_span_str("a b c d e f"), 3), 3);
    assert_int_equal(lk_lex_count(lk_span_str(""), 3), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_cut_as_postgresql_cuts_them),
        cmocka_unit_test(a_word_is_compared_in_any_case),
        cmocka_unit_test(counting_stops_at_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
