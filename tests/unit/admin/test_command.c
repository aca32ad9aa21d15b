#include "admin/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void
assert_command(const char *text, enum lk_command_kind kind, const char *argument)
{
    struct lk_command c;
    struct lk_error e;
    assert_true(lk_command_parse(lk_span_str(text), &c, &e));
    assert_int_equal(c.kind, kind);
    if (argument)
        assert_string_equal(c.argument, argument);
    else
        assert_null(c.argument);
    lk_command_clear(&c);
}

static void
assert_invalid(const char *text)
{
    struct lk_command c;
    struct lk_error e;
    assert_false(lk_command_parse(lk_span_str(text), &c, &e));
    assert_null(c.argument);
    assert_null(c.value);
    assert_string_equal(e.sqlstate, "42601");
    char expected[320];
    snprintf(expected, sizeof expected, "invalid command '%s', use SHOW HELP;", text);
    assert_string_equal(e.message, expected);
}

static void
words_are_read_in_any_case_with_or_without_a_semicolon(void **state)
{
    assert_command("SHOW POOLS", LK_COMMAND_SHOW, "POOLS");
    assert_command("show pools;", LK_COMMAND_SHOW, "pools");
    assert_command("\n\tShow  Stats_Totals ; ", LK_COMMAND_SHOW, "Stats_Totals");
    assert_command("RELOAD", LK_COMMAND_RELOAD, NULL);
    assert_command("reload ;", LK_COMMAND_RELOAD, NULL);
    assert_command("SHUTDOWN", LK_COMMAND_SHUTDOWN, NULL);
    assert_command("shutdown wait_for_servers;", LK_COMMAND_SHUTDOWN, "wait_for_servers");
    assert_command("help", LK_COMMAND_HELP, NULL);
    assert_command("kill_client 17;", LK_COMMAND_KILL_CLIENT, "17");
    assert_command("WAIT_CLOSE", LK_COMMAND_WAIT_CLOSE, NULL);
    assert_command("DISABLE sales", LK_COMMAND_DISABLE, "sales");
    assert_command("ENABLE 'sales'", LK_COMMAND_ENABLE, "sales");
    assert_command("SUSPEND", LK_COMMAND_SUSPEND, NULL);
}

static void
a_database_may_be_named_bare_or_in_quotes(void **state)
{
    assert_command("PAUSE", LK_COMMAND_PAUSE, NULL);
    assert_command("PAUSE;", LK_COMMAND_PAUSE, NULL);
    assert_command("PAUSE Sales-2;", LK_COMMAND_PAUSE, "Sales-2");
    assert_command("RESUME \"two words\";", LK_COMMAND_RESUME, "two words");
    assert_command("KILL \"a\"\"b\"", LK_COMMAND_KILL, "a\"b");
    assert_command("RECONNECT 'it''s'", LK_COMMAND_RECONNECT, "it's");
    assert_command("kill \"semi;colon\";", LK_COMMAND_KILL, "semi;colon");
}

static void
assert_set(const char *text, const char *name, const char *value)
{
    struct lk_command c;
    struct lk_error e;
    assert_true(lk_command_parse(lk_span_str(text), &c, &e));
    assert_int_equal(c.kind, LK_COMMAND_SET);
    assert_string_equal(c.argument, name);
    assert_string_equal(c.value, value);
    lk_command_clear(&c);
}

static void
set_takes_a_name_and_a_value(void **state)
{
    assert_set("SET max_client_conn = 7", "max_client_conn", "7");
    assert_set("set max_client_conn=7;", "max_client_conn", "7");
    assert_set("SET verbose TO 1", "verbose", "1");
    assert_set("SET server_reset_query = 'DISCARD ALL; SELECT ''x'''", "server_reset_query", "DISCARD ALL; SELECT 'x'");
    assert_set("SET server_reset_query = ''", "server_reset_query", "");
    assert_set("SET a = \"b c\" ;", "a", "b c");
    const char *const invalid[] = {
        "SET", "SET a", "SET a =", "SET = 7", "SET a 7", "SET a = 7 8", "SET a = 'x", "SET a = 7;;"};
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++)
        assert_invalid(invalid[i]);
}

static void
nothing_and_comments_are_the_empty_command(void **state)
{
    assert_command("", LK_COMMAND_EMPTY, NULL);
    assert_command(" ;", LK_COMMAND_EMPTY, NULL);
    assert_command("-- ping", LK_COMMAND_EMPTY, NULL);
    assert_command("-- which?\nSHOW -- this\n STATE", LK_COMMAND_SHOW, "STATE");
}

static void
other_texts_are_refused_as_pgbouncer_does(void **state)
{
    assert_invalid("select 1");
    assert_invalid("SHOW");
    assert_invalid("SHOWPOOLS");
    assert_invalid("RELOAD now");
    assert_invalid("PAUSE one two");
    assert_invalid("PAUSE one; PAUSE two");
    assert_invalid("PAUSE \"no end");
    assert_invalid("PAUSE \"\"");
    assert_invalid("PAUSE \"a\"b");
    assert_invalid("SHOW POOLS;;");
    assert_invalid("KILL_CLIENT");
    assert_invalid("SUSPEND app");
}

static void
a_long_text_is_quoted_in_part_and_in_whole_characters(void **state)
{
    size_t n = LK_COMMAND_TEXT_MAX + 1;
    char *text = malloc(n);
    memset(text, 'x', n);
    memcpy(text + 199, "\xC3\xA4", 2);
    struct lk_command c;
    struct lk_error e;
    assert_false(lk_command_parse(lk_span_make(text, n), &c, &e));
    assert_string_equal(e.message + strlen("invalid command '") + 198, "x', use SHOW HELP;");
    memcpy(text, "PAUSE ", 6);
    assert_false(lk_command_parse(lk_span_make(text, n), &c, &e));
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_read_in_any_case_with_or_without_a_semicolon),
        cmocka_unit_test(a_database_may_be_named_bare_or_in_quotes),
        cmocka_unit_test(set_takes_a_name_and_a_value),
        cmocka_unit_test(nothing_and_comments_are_the_empty_command),
        cmocka_unit_test(other_texts_are_refused_as_pgbouncer_does),
        cmocka_unit_test(a_long_text_is_quoted_in_part_and_in_whole_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
