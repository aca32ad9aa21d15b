#include "auth/users.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

static struct lk_users *
parse(const char *text, struct lk_buf *errors)
{
    return lk_users_parse(lk_span_str(text), "userlist.txt", errors);
}

static void
names_and_secrets_are_read_as_they_stand(void **state)
{
    struct lk_buf errors = {0};
    struct lk_users *u = parse("; a comment\n"
                               "# another\n"
                               "\"ann\" \"pencil\"\n"
                               "\n"
                               "  \"bob\"\t\"md528754acffc5400623f44a44d30b50393\" trailing words\r\n"
                               "\"empty\" \"\"\n"
                               "\"a \"\"b\"\"\" \"p\"\"w;#\"\n"
                               "\"last\" \"no newline\"",
        &errors);
    assert_int_equal(errors.len, 0);
    assert_int_equal(lk_users_count(u), 5);
    assert_string_equal(lk_users_name(u, 0), "ann");
    assert_string_equal(lk_users_name(u, 4), "last");
    assert_string_equal(lk_users_secret(u, "ann"), "pencil");
    assert_string_equal(lk_users_secret(u, "bob"), "md528754acffc5400623f44a44d30b50393");
    assert_string_equal(lk_users_secret(u, "empty"), "");
    assert_string_equal(lk_users_secret(u, "a \"b\""), "p\"w;#");
    assert_string_equal(lk_users_secret(u, "last"), "no newline");
    assert_null(lk_users_secret(u, "Ann"));
    assert_null(lk_users_secret(u, ""));
    lk_users_free(u);
}

static void
every_mistake_is_told_with_its_line_and_costs_only_that_line(void **state)
{
    struct lk_buf errors = {0};
    struct lk_users *u = parse("ann pencil\n"
                               "\"bob\" pencil\n"
                               "\"ok\" \"x\"\n"
                               "\"open\n"
                               "\"carol\" \"open\n"
                               "\"only\"\n",
        &errors);
    assert_int_equal(lk_users_count(u), 1);
    assert_string_equal(lk_users_secret(u, "ok"), "x");
    lk_buf_add_u8(&errors, 0);
    assert_string_equal((const char *)errors.data, "userlist.txt:1: expected a string in double quotes\n"
                                                   "userlist.txt:2: expected a string in double quotes\n"
                                                   "userlist.txt:4: the closing double quote is missing\n"
                                                   "userlist.txt:5: the closing double quote is missing\n"
                                                   "userlist.txt:6: expected a string in double quotes\n");
    lk_buf_clear(&errors);
    lk_users_free(u);
}

static void
a_nul_byte_is_a_mistake(void **state)
{
    struct lk_buf errors = {0};
    static const char text[] = "\"a\0b\" \"x\"\n";
    struct lk_users *u = lk_users_parse(lk_span_make(text, sizeof(text) - 1), "f", &errors);
    assert_int_equal(lk_users_count(u), 0);
    assert_true(errors.len > 0);
    lk_buf_clear(&errors);
    lk_users_free(u);
}

static void
of_a_name_listed_twice_the_later_secret_counts(void **state)
{
    struct lk_buf errors = {0};
    struct lk_users *u = parse("\"ann\" \"old\"\n\"bob\" \"x\"\n\"ann\" \"new\"\n", &errors);
    assert_int_equal(errors.len, 0);
    assert_int_equal(lk_users_count(u), 2);
    assert_string_equal(lk_users_secret(u, "ann"), "new");
    lk_users_free(u);
}

static void
an_empty_file_lists_nobody(void **state)
{
    struct lk_buf errors = {0};
    struct lk_users *u = parse("", &errors);
    assert_int_equal(lk_users_count(u), 0);
    assert_null(lk_users_secret(u, "ann"));
    assert_false(lk_users_mostly_scram(u));
    lk_users_free(u);
}

static void
each_of_ten_thousand_users_is_found(void **state)
{
    struct lk_buf text = {0}, errors = {0};
    for (int i = 0; i < 10000; i++)
        lk_buf_add_format(&text, "\"user%d\" \"secret%d\"\n", i, i);
    struct lk_users *u = lk_users_parse(lk_buf_span(&text), "f", &errors);
    assert_int_equal(lk_users_count(u), 10000);
    for (int i = 0; i < 10000; i++) {
        char name[32], secret[32];
        (void)snprintf(name, sizeof(name), "user%d", i);
        (void)snprintf(secret, sizeof(secret), "secret%d", i);
        assert_string_equal(lk_users_secret(u, name), secret);
    }
    assert_null(lk_users_secret(u, "user10000"));
    lk_buf_clear(&text);
    lk_users_free(u);
}

#define SCRAM                                                                                                          \
    "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"                        \
    "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="

static void
a_list_is_mostly_scram_when_more_than_half_of_it_is(void **state)
{
    struct lk_buf errors = {0};
    struct lk_users *u = parse("\"a\" \"" SCRAM "\"\n\"b\" \"x\"\n", &errors);
    assert_false(lk_users_mostly_scram(u));
    lk_users_free(u);
    u = parse("\"a\" \"" SCRAM "\"\n\"b\" \"x\"\n\"b\" \"" SCRAM "\"\n", &errors);
    assert_true(lk_users_mostly_scram(u));
    lk_users_free(u);
    u = parse("\"a\" \"" SCRAM "\"\n\"a\" \"x\"\n", &errors);
    assert_false(lk_users_mostly_scram(u));
    lk_users_free(u);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_secrets_are_read_as_they_stand),
        cmocka_unit_test(every_mistake_is_told_with_its_line_and_costs_only_that_line),
        cmocka_unit_test(a_nul_byte_is_a_mistake),
        cmocka_unit_test(of_a_name_listed_twice_the_later_secret_counts),
        cmocka_unit_test(an_empty_file_lists_nobody),
        cmocka_unit_test(each_of_ten_thousand_users_is_found),
        cmocka_unit_test(a_list_is_mostly_scram_when_more_than_half_of_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
