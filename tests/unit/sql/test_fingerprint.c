#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sql/fingerprint.h"

static const struct lk_hash_key KEY = {0x0123456789abcdef, 0xfedcba9876543210};

/* Of a copy without a byte behind it, so that a sanitizer sees any that is read there. */
static uint64_t
fingerprint(const char *sql)
{
    size_t n = strlen(sql);
    char *copy = malloc(n > 0 ? n : 1);
    memcpy(copy, sql, n);
    struct lk_fingerprint f;
    lk_fingerprint_make(lk_span_make(copy, n), &KEY, &f);
    free(copy);
    return f.hash;
}

struct pair {
    const char *a, *b;
};

static void
texts_that_differ_in_constants_and_layout_are_the_same(void **state)
{
    static const struct pair rows[] = {
        {"select 1", "SELECT  2"},
        {"select 1", "select 'x';"},
        {"select 1", "/* a */ select -- b\n 1.5e3 ; ;"},
        {"select 'a'", "select E'it\\'s'"},
        {"select 'a'", "select $q$ it's $q$"},
        {"select x'ff'", "select b'0'"},
        {"select U&'a'", "select 'a'"},
        {"select $1", "select $2"},
        {"select averylongcolumnname from T", "SELECT AVeryLongColumnName FROM t"},
        {"select a from t where id=1", "select a from t where id = -1"},
        {"select f(-1, 2)", "select f(1, -2)"},
        {"select a->-1", "select a -> 1"},
        {"a in (1)", "a in (1,2,3)"},
        {"a in (1, -2)", "a IN (NULL)"},
        {"a in ($1)", "a in ($1, $2, $3)"},
        {"a in ('x'::text, 'y'::text)", "a in ('z'::text)"},
        {"a in ((1,2),(3,4))", "a in ((1,2))"},
        {"a not in (1) and b in (1, 2)", "a not in (1, 2) and b in (3)"},
        {"array[1]", "ARRAY [1, 2]"},
        {"array[[1,2],[3,4]]", "array[[1,2]]"},
        {"insert into t values (1, 'a')", "insert into t values (1, 'a'), (2, 'b'), (3, null)"},
        {"insert into t values ($1, $2)", "insert into t values ($1, $2), ($3, $4)"},
        {"insert into t values (1, now()) on conflict do nothing",
            "insert into t values (1, now()), (2, now()) on conflict do nothing"},
        {"insert into t values (1), (default)", "insert into t values (1), (default), (2), (default)"},
        {"select * from (values (1),(2)) v(i)", "select * from (values (1)) v(i)"},
        {"insert into t values (a in (1,2)), (a in (3))", "insert into t values (a in (4))"},
        {"insert into t values ((select 1 from x where y in (values (1),(2))))",
            "insert into t values ((select 1 from x where y in (values (1))))"},
        {"begin; select 1; commit", "BEGIN;SELECT 2;COMMIT;"},
        {"do $$ x $$", "DO  $$ x $$;"},
        {"", " -- nothing\n;"},
    };
    for (size_t i = 0; i < LK_COUNT(rows); i++)
        if (fingerprint(rows[i].a) != fingerprint(rows[i].b))
            fail_msg("%s\n%s", rows[i].a, rows[i].b);
}

static void
texts_that_do_something_else_differ(void **state)
{
    static const struct pair rows[] = {
        {"select a", "select b"},
        {"select a", "select \"a\""},
        {"select \"A\"", "select \"a\""},
        {"select \xc3\xa9", "select \xc3\x89"},
        {"select a_", "select a"},
        {"select 1", "select $1"},
        {"select 1", "select a"},
        {"select f(1)", "select f(1, 2)"},
        {"select f(1)", "select f(1), f(2)"},
        {"select f(1)", "select f (1) g"},
        {"select ab c", "select a bc"},
        {"select abcdefgh", "select abcdefg h"},
        {"select abcdefghi", "select abcdefgh i"},
        {"select abcdefgh", "select abcdefgh a"},
        {"select a @> -1", "select a @>- 1"},
        {"select a - 1", "select a + 1"},
        {"select a b", "select a.b"},
        {"select a-1", "select a"},
        {"a in (1, f(2))", "a in (1, 2)"},
        {"a in (f(1), g(1))", "a in (f(1))"},
        {"a in (1)", "a in ($1)"},
        {"a in (1), 2", "a in (1)"},
        {"array[1]", "array(1)"},
        {"insert into t values (1, 2)", "insert into t values (1), (2)"},
        {"insert into t values (1, 2)", "insert into t values (1, 2, 3)"},
        {"insert into t values (1), (f(1))", "insert into t values (1)"},
        {"insert into t values (1), (f(1))", "insert into t values (1), (g(1))"},
        {"values (1), (2) limit 1", "values (1) order by 1"},
        {"select a is null", "select a is true"},
        {"do $$ x $$", "do $$ y $$"},
        {"select 1; do $$ x $$", "select 1; do $$ y $$"},
        {"begin; select 1", "begin select 1"},
        {"select 1; select 1", "select 1"},
        {"select 1 /* open", "select 2 /* open */ + 3"},
        {"U&\"a\"", "\"a\""},
    };
    for (size_t i = 0; i < LK_COUNT(rows); i++)
        if (fingerprint(rows[i].a) == fingerprint(rows[i].b))
            fail_msg("%s\n%s", rows[i].a, rows[i].b);
}

static void
another_key_gives_another_fingerprint(void **state)
{
    struct lk_hash_key other = {KEY.k0, KEY.k1 + 1};
    struct lk_fingerprint a, b;
    lk_fingerprint_make(lk_span_str("select a"), &KEY, &a);
    lk_fingerprint_make(lk_span_str("select a"), &other, &b);
    assert_true(a.hash != b.hash);
}

static void
lists_deeper_than_kept_are_read_without_collapsing(void **state)
{
    const char *a = "a in (b in (c in (d in (e in (1, 2)))))";
    const char *b = "a in (b in (c in (d in (e in (1)))))";
    const char *c = "a in (b in (c in (d in (1, 2))))";
    const char *d = "a in (b in (c in (d in (1))))";
    assert_true(fingerprint(a) != fingerprint(b));
    assert_true(fingerprint(c) == fingerprint(d));
}

static void
the_word_execute_is_seen_wherever_it_stands(void **state)
{
    static const struct {
        const char *sql;
        bool executes;
    } rows[] = {
        {"EXECUTE p", true},
        {" -- c\n /* x /* y **/ */;\r\n execute\tp(1)", true},
        {"select 1; Execute p", true},
        {"explain analyze execute/**/p", true},
        {"grant execute on function f to x", true},
        {"/* execute p */ select 1 -- execute p", false},
        {"executed p", false},
        {"execute_ p", false},
        {"execute\xc3\xa9 p", false},
        {"exec ute p", false},
        {"\"execute\" p", false},
        {"select 'execute p'", false},
        {"", false},
    };
    for (size_t i = 0; i < LK_COUNT(rows); i++) {
        struct lk_fingerprint f;
        lk_fingerprint_make(lk_span_str(rows[i].sql), &KEY, &f);
        if (f.executes != rows[i].executes)
            fail_msg("%s", rows[i].sql);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_that_differ_in_constants_and_layout_are_the_same),
        cmocka_unit_test(texts_that_do_something_else_differ),
        cmocka_unit_test(another_key_gives_another_fingerprint),
        cmocka_unit_test(lists_deeper_than_kept_are_read_without_collapsing),
        cmocka_unit_test(the_word_execute_is_seen_wherever_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
