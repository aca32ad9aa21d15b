#include "unit/config/files.h"

#include "config/entry.h"

/* "key|value;" for each pair, then "." at the end or "!" at a mistake. */
static const char *
pairs(const char *text)
{
    static char out[512];
    char line[512], *cursor = line, *key, *value;
    const char *why = NULL;
    strcpy(line, text);
    out[0] = '\0';
    int found;
    while ((found = lk_entry_next(&cursor, &key, &value, &why)) > 0)
        sprintf(out + strlen(out), "%s|%s;", key, value);
    if (found < 0)
        assert_non_null(why);
    strcat(out, found < 0 ? "!" : ".");
    return out;
}

static void
pairs_are_cut_as_pgbouncer_cuts_them(void **state)
{
    assert_string_equal(pairs(""), ".");
    assert_string_equal(pairs("   "), ".");
    assert_string_equal(pairs("host=a port=5"), "host|a;port|5;.");
    assert_string_equal(pairs("  host = a \t port= 5  "), "host|a;port|5;.");
    assert_string_equal(pairs("password='it''s' user=b"), "password|it's;user|b;.");
    assert_string_equal(pairs("password='' user=b"), "password|;user|b;.");
    assert_string_equal(pairs("password='a ;b = c'"), "password|a ;b = c;.");
    assert_string_equal(pairs("password=''''"), "password|';.");
    assert_string_equal(pairs("password=a'b"), "password|a'b;.");
    assert_string_equal(pairs("user=\"q\""), "user|\"q\";.");
    assert_string_equal(pairs("dbname=a=b"), "dbname|a=b;.");
    assert_string_equal(pairs("dbname="), "dbname|;.");
}

static void
what_is_no_list_of_pairs_is_refused(void **state)
{
    assert_string_equal(pairs("host"), "!");
    assert_string_equal(pairs("=a"), "!");
    assert_string_equal(pairs("host=a ; comment"), "host|a;!");
    assert_string_equal(pairs("password='open"), "!");
    assert_string_equal(pairs("password='open''"), "!");
    assert_string_equal(pairs("password='a'b"), "!");
}

static void
an_entry_begins_with_every_key_unset(void **state)
{
    struct lk_database_settings d = {0};
    lk_entry_init(&d, lk_database_options, lk_database_option_count);
    for (size_t i = 0; i < lk_database_option_count; i++)
        if (strcmp(lk_database_options[i].name, "port") != 0)
            assert_true(lk_entry_unset(&lk_database_options[i], &d));
    assert_int_equal(d.port, 5432);
    assert_int_equal(d.pool_size, -1);
    assert_int_equal(d.advisory_catalog, -1);
    assert_int_equal(d.server_lifetime_us, -1);
    assert_null(d.host);
    struct lk_user_settings u = {0};
    lk_entry_init(&u, lk_user_options, lk_user_option_count);
    for (size_t i = 0; i < lk_user_option_count; i++)
        assert_true(lk_entry_unset(&lk_user_options[i], &u));
}

static void
a_password_is_never_printed(void **state)
{
    struct lk_database_settings d = {0};
    struct lk_buf out = {0};
    bool null;
    const struct lk_option *o = lk_option_find_in(lk_database_options, lk_database_option_count, "password");
    assert_true(lk_option_parse(o, "hunter2", &d.password, NULL));
    lk_option_print_at(o, &d.password, &out, &null);
    assert_false(null);
    assert_null(memmem(out.data, out.len, "hunter2", 7));
    lk_buf_clear(&out);
    lk_entry_clear(&d, lk_database_options, lk_database_option_count);
    assert_null(d.password);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_cut_as_pgbouncer_cuts_them),
        cmocka_unit_test(what_is_no_list_of_pairs_is_refused),
        cmocka_unit_test(an_entry_begins_with_every_key_unset),
        cmocka_unit_test(a_password_is_never_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
