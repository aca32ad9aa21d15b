#include "unit/config/files.h"

#include "config/entry.h"
#include "config/option.h"
#include "config/snapshot.h"

static char printed_text[512];

static const char *
printed(const struct lk_settings *s, const char *name)
{
    struct lk_buf out = {0};
    bool null = false;
    lk_option_print(lk_option_find(name), s, &out, &null);
    if (null)
        strcpy(printed_text, "NULL");
    else
        snprintf(printed_text, sizeof(printed_text), "%.*s", (int)out.len, out.data ? (const char *)out.data : "");
    lk_buf_clear(&out);
    return printed_text;
}

static bool
parses(struct lk_settings *s, const char *name, const char *value)
{
    struct lk_buf why = {0};
    const struct lk_option *o = lk_option_find(name);
    bool ok = lk_option_parse(o, value, (char *)s + o->offset, &why);
    assert_int_equal(ok, why.len == 0);
    lk_buf_clear(&why);
    return ok;
}

static void
names_are_unique_and_no_two_options_share_a_field(void **state)
{
    for (size_t i = 0; i < lk_option_count; i++)
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(lk_options[i].name, lk_options[j].name);
            assert_int_not_equal(lk_options[i].offset, lk_options[j].offset);
        }
}

static void
each_default_prints_as_the_table_writes_it(void **state)
{
    struct lk_settings *s = lk_snapshot_new();
    for (size_t i = 0; i < lk_option_count; i++) {
        const struct lk_option *o = &lk_options[i];
        const char *want = o->initial ? o->initial : o->type == LK_OPTION_STRING ? "NULL" : "0";
        assert_string_equal(printed(s, o->name), want);
        assert_true(strlen(o->help) > 5);
    }
    lk_settings_unref(s);
}

static void
defaults_are_those_of_pgbouncer(void **state)
{
    struct lk_settings *s = lk_snapshot_new();
    assert_int_equal(s->listen_port, 6432);
    assert_int_equal(s->pool_mode, LK_POOL_SESSION);
    assert_int_equal(s->auth_type, LK_AUTH_TYPE_MD5);
    assert_int_equal(s->default_pool_size, 20);
    assert_int_equal(s->max_client_conn, 100);
    assert_int_equal(s->query_wait_timeout_us, 120000000);
    assert_int_equal(s->server_lifetime_us, 3600000000);
    assert_int_equal(s->unix_socket_mode, 0777);
    assert_int_equal(s->max_packet_size, 2147483647);
    assert_string_equal(s->server_reset_query, "DISCARD ALL");
    assert_string_equal(s->unix_socket_dir, "/tmp");
    assert_string_equal(s->listen_addr, "");
    assert_null(s->auth_file);
    assert_null(s->user);
    assert_true(s->log_connections);
    lk_settings_unref(s);
}

static void
defaults_of_the_locks_are_the_contract(void **state)
{
    struct lk_settings *s = lk_snapshot_new();
    assert_string_equal(printed(s, "advisory_lock_policy"), "pin");
    assert_string_equal(printed(s, "advisory_unlock_all"), "always");
    assert_int_equal(s->advisory_lock_policy, 0);
    assert_int_equal(s->advisory_trust_after, 3);
    assert_int_equal(s->advisory_probe_sample, 1000);
    assert_int_equal(s->advisory_sweep_interval_us, 10000000);
    assert_int_equal(s->advisory_idle_hold_log_us, 60000000);
    assert_string_equal(s->leak_log_query, "normalized");
    assert_string_equal(s->leak_log_events, "all");
    assert_string_equal(s->leak_log, "");
    lk_settings_unref(s);
}

static void
values_print_as_show_config_does(void **state)
{
    struct lk_settings *s = lk_snapshot_new();
    assert_true(parses(s, "log_stats", "off"));
    assert_string_equal(printed(s, "log_stats"), "0");
    assert_true(parses(s, "unix_socket_mode", "0750"));
    assert_string_equal(printed(s, "unix_socket_mode"), "0750");
    assert_true(parses(s, "unix_socket_mode", "7"));
    assert_string_equal(printed(s, "unix_socket_mode"), "0007");
    assert_true(parses(s, "server_lifetime", "1.5"));
    assert_string_equal(printed(s, "server_lifetime"), "1.5");
    assert_true(parses(s, "server_lifetime", "100"));
    assert_string_equal(printed(s, "server_lifetime"), "100");
    assert_true(parses(s, "pool_mode", "Transaction"));
    assert_string_equal(printed(s, "pool_mode"), "transaction");
    assert_string_equal(printed(s, "job_name"), "lockkeeper");
    assert_string_equal(printed(s, "auth_user"), "NULL");
    lk_settings_unref(s);
}

static void
bool_words_are_taken_in_any_case_and_others_refused(void **state)
{
    struct lk_settings *s = lk_snapshot_new();
    const char *yes[] = {"1", "on", "true", "yes", "ON", "True", "t", "y"};
    const char *no[] = {"0", "off", "false", "no", "OFF", "No", "f", "n"};
    const char *bad[] = {"", "2", "maybe", "01", "on off", "-1"};
    for (size_t i = 0; i < 8; i++) {
        s->log_stats = false;
        assert_true(parses(s, "log_stats", yes[i]));
        assert_true(s->log_stats);
        assert_true(parses(s, "log_stats", no[i]));
        assert_false(s->log_stats);
    }
    for (size_t i = 0; i < 6; i++)
        assert_false(parses(s, "log_stats", bad[i]));
    lk_settings_unref(s);
}

static void
numbers_outside_their_range_are_refused_and_change_nothing(void **state)
{
    struct lk_settings *s = lk_snapshot_new();
    const char *bad[] = {"", "0", "-1", "65536", "99999999999999999999", "64x", "x", "6 4", "0x", "1.0", "+5", " 5"};
    for (size_t i = 0; i < 12; i++)
        assert_false(parses(s, "listen_port", bad[i]));
    assert_int_equal(s->listen_port, 6432);
    assert_true(parses(s, "listen_port", "65535"));
    assert_int_equal(s->listen_port, 65535);
    assert_true(parses(s, "listen_port", "0x10"));
    assert_int_equal(s->listen_port, 16);
    const char *bad_modes[] = {"", "8", "0778", "1000", "-1", "0x7"};
    for (size_t i = 0; i < 6; i++)
        assert_false(parses(s, "unix_socket_mode", bad_modes[i]));
    lk_settings_unref(s);
}

static void
times_are_seconds_with_decimals(void **state)
{
    struct lk_settings *s = lk_snapshot_new();
    struct {
        const char *text;
        int64_t us;
    } good[] = {{"0", 0}, {"1", 1000000}, {"0.25", 250000}, {".5", 500000}, {"2.", 2000000}, {"0.000001", 1},
        {"0.0000019", 1}, {"2147483647", 2147483647000000}};
    for (size_t i = 0; i < 8; i++) {
        assert_true(parses(s, "query_timeout", good[i].text));
        assert_int_equal(s->query_timeout_us, good[i].us);
    }
    const char *bad[] = {"", ".", "-1", "1s", "1,5", "1e3", "2147483648", "99999999999999999999999999", "1.2.3", "nan"};
    for (size_t i = 0; i < 10; i++)
        assert_false(parses(s, "query_timeout", bad[i]));
    lk_settings_unref(s);
}

static void
a_misspelt_name_finds_its_neighbour(void **state)
{
    assert_string_equal(lk_option_nearest(lk_options, lk_option_count, "defualt_pool_size"), "default_pool_size");
    assert_string_equal(lk_option_nearest(lk_options, lk_option_count, "POOL_MODE"), "pool_mode");
    assert_string_equal(lk_option_nearest(lk_database_options, lk_database_option_count, "hots"), "host");
    assert_null(lk_option_nearest(lk_options, lk_option_count, "zzzzzzzzzzzzzz"));
    assert_null(lk_option_nearest(lk_options, lk_option_count, ""));
    char longest[5000];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_null(lk_option_nearest(lk_options, lk_option_count, longest));
}

static void
older_names_find_the_same_option(void **state)
{
    assert_ptr_equal(lk_option_find("service_name"), lk_option_find("job_name"));
    assert_ptr_equal(lk_option_find("reserve_pool"), lk_option_find("reserve_pool_size"));
    assert_non_null(lk_option_find("job_name"));
    assert_null(lk_option_find("no_such"));
}

static void
help_names_every_option(void **state)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    lk_option_help(out);
    fclose(out);
    for (size_t i = 0; i < lk_option_count; i++)
        assert_non_null(strstr(text, lk_options[i].name));
    assert_non_null(strstr(text, "listen_port (1..65535; default 6432)"));
    assert_non_null(strstr(text, "advisory_unlock_all (always|tracked; default always)"));
    assert_non_null(strstr(text, "query_timeout (seconds; default 0)"));
    assert_non_null(strstr(text, "connect_query"));
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique_and_no_two_options_share_a_field),
        cmocka_unit_test(each_default_prints_as_the_table_writes_it),
        cmocka_unit_test(defaults_are_those_of_pgbouncer),
        cmocka_unit_test(defaults_of_the_locks_are_the_contract),
        cmocka_unit_test(values_print_as_show_config_does),
        cmocka_unit_test(bool_words_are_taken_in_any_case_and_others_refused),
        cmocka_unit_test(numbers_outside_their_range_are_refused_and_change_nothing),
        cmocka_unit_test(times_are_seconds_with_decimals),
        cmocka_unit_test(a_misspelt_name_finds_its_neighbour),
        cmocka_unit_test(older_names_find_the_same_option),
        cmocka_unit_test(help_names_every_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
