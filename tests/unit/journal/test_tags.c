#include "journal/tags.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* The pairs as "key=value|key=value". */
static void
expect(const char *sql, const char *pairs)
{
    struct lk_tag tags[LK_TAGS_MAX];
    char out[4096] = "";
    size_t n = 0, count = lk_tags_read(lk_span_str(sql), tags);
    for (size_t i = 0; i < count; i++)
        n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%s=%.*s", i ? "|" : "", tags[i].key, (int)tags[i].value_n,
            (const char *)tags[i].value);
    assert_string_equal(out, pairs);
}

static void
sqlcommenter_pairs_are_decoded(void **state)
{
    expect("select 1 /*route='%2Fpay',traceparent='00-5bd6-01'*/", "route=/pay|traceparent=00-5bd6-01");
    expect("select 1 /* action='a%20b' , db_driver='x:1.0'  */;", "action=a b|db_driver=x:1.0");
    expect("select 1 /*name='O\\'Brien',empty=''*/", "name=O'Brien|empty=");
    expect("select 1 /*p='100%',q='%zz%4'*/", "p=100%|q=%zz%4");
    expect("select 1 /*db%2Fname='a'*/", "db/name=a");
    expect("select 1 /*a%20b='1'*/", "");
    expect("select 1 /*a%='1'*/", "");
}

static void
marginalia_pairs_are_read(void **state)
{
    expect("/*application:Shop,controller:pay,action:show*/ select 1", "application=Shop|controller=pay|action=show");
    expect("select 1 /* line:/app/x.rb:12:in 'pay' */", "line=/app/x.rb:12:in 'pay'");
}

static void
the_pairs_of_all_comments_come_in_their_order(void **state)
{
    expect("/*a:1*/ select /*b='2'*/ 1 /*c:3*/", "a=1|b=2|c=3");
    expect("/*a:1,b:2*/ select 1 /*a:3,c:4,c:5*/", "a=1|b=2|c=4");
}

static void
a_comment_of_prose_or_hints_gives_nothing(void **state)
{
    expect("select 1", "");
    expect("select 1 /* the nightly job */", "");
    expect("select 1 /* note: see below */", "");
    expect("select 1 /*+ SeqScan(t) */", "");
    expect("select 1 /* a='1', then b */", "");
    expect("select 1 /*a='1*/", "");
    expect("select 1 /*a='1'b='2'*/", "");
    expect("select 1 /*a:*/", "");
    expect("select 1 /**/", "");
    expect("select 1 /*a:1", "");
    expect("select 1 /*", "");
    expect("select 1 /*/", "");
    expect("select 1 -- a='1'", "");
}

static void
what_stands_in_strings_names_and_line_comments_is_no_comment(void **state)
{
    expect("select '/*a:1*/' /*b:2*/", "b=2");
    expect("select 'it''s /*a:1*/' /*b:2*/", "b=2");
    expect("select E'\\'/*a:1*/' /*b:2*/", "b=2");
    expect("select type'\\' /*b:2*/", "b=2");
    expect("select \"/*a:1*/\" /*b:2*/", "b=2");
    expect("do $$ /*a:1*/ $$ /*b:2*/", "b=2");
    expect("do $x$ $$ /*a:1*/ $x$ /*b:2*/", "b=2");
    expect("select $1 /*b:2*/, $2", "b=2");
    expect("select a$b$ /*b:2*/ c$b$", "b=2");
    expect("select 1 -- /*a:1*/\n/*b:2*/", "b=2");
    expect("select '/*a:1*/", "");
    expect("select E'\\", "");
    expect("do $$ /*a:1*/", "");
    expect("select 1 /* x /*a:1*/ y */ /*b:2*/", "b=2");
}

static void
pairs_keys_and_values_are_bounded(void **state)
{
    char sql[8192] = "/*";
    struct lk_tag tags[LK_TAGS_MAX];
    size_t n = 2;
    for (int i = 0; i < 40; i++)
        n += (size_t)snprintf(sql + n, sizeof(sql) - n, "%sk%d:v", i ? "," : "", i);
    (void)snprintf(sql + n, sizeof(sql) - n, "*//*more:1*/");
    assert_int_equal(lk_tags_read(lk_span_str(sql), tags), 32);
    assert_string_equal(tags[31].key, "k31");
    (void)snprintf(sql, sizeof(sql), "/*k:%0400d*/", 0);
    assert_int_equal(lk_tags_read(lk_span_str(sql), tags), 1);
    assert_int_equal(tags[0].value_n, LK_TAG_VALUE_MAX);
    (void)snprintf(sql, sizeof(sql), "/*%064d:1*/", 0);
    assert_int_equal(lk_tags_read(lk_span_str(sql), tags), 1);
    (void)snprintf(sql, sizeof(sql), "/*%065d:1*/", 0);
    assert_int_equal(lk_tags_read(lk_span_str(sql), tags), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sqlcommenter_pairs_are_decoded),
        cmocka_unit_test(marginalia_pairs_are_read),
        cmocka_unit_test(the_pairs_of_all_comments_come_in_their_order),
        cmocka_unit_test(a_comment_of_prose_or_hints_gives_nothing),
        cmocka_unit_test(what_stands_in_strings_names_and_line_comments_is_no_comment),
        cmocka_unit_test(pairs_keys_and_values_are_bounded),
    };
    return cmocka_run_group_tests_name("journal/tags", tests, NULL, NULL);
}
