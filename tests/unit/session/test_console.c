#include "unit/session/world.h"

static void
console_login(struct world *w, const char *user)
{
    accept_one(w);
    SAY_STARTUP(w, "user", user, "database", "pgbouncer");
    assert_string_equal(types(w), "RSSSSSSSSKZ");
    lk_buf_clear(&w->to_client);
}

static void
answer_show(struct world *w)
{
    static const struct lk_build_column column = {"version", 25};
    static const char *const value = "1";
    struct lk_buf b = {0};
    struct lk_client *c = LK_CONTAINER(w->client, struct lk_client, end);
    lk_build_row_description(&b, &column, 1);
    lk_build_data_row(&b, &value, 1);
    lk_build_command_complete(&b, "SHOW");
    lk_core_console_reply(w->core, c, lk_buf_span(&b));
    lk_core_console_done(w->core, c);
    settle(w);
    lk_buf_clear(&b);
    resume(w);
}

static void
a_console_command_is_answered_before_the_next_is_read(void **state)
{
    struct world *w = world_new("trust", "");
    struct lk_buf b = {0};
    console_login(w, "stats");
    assert_false(LK_CONTAINER(w->client, struct lk_client, end)->admin);
    lk_build_query(&b, lk_span_str("SHOW VERSION"));
    lk_build_query(&b, lk_span_str("SHOW POOLS"));
    say(w, &b);
    assert_int_equal(w->commands, 1);
    assert_true(lk_span_is(lk_buf_span(&w->command), "SHOW VERSION"));
    assert_true(w->client->paused);
    answer_show(w);
    assert_string_equal(types(w), "TDCZ");
    assert_int_equal(w->resumed, 1);
    assert_int_equal(w->commands, 2);
    assert_true(lk_span_is(lk_buf_span(&w->command), "SHOW POOLS"));
    world_free(w);
}

static void
the_console_speaks_the_extended_protocol(void **state)
{
    struct world *w = world_new("trust", "");
    struct lk_buf b = {0};
    console_login(w, "admin");
    assert_true(LK_CONTAINER(w->client, struct lk_client, end)->admin);
    lk_build_parse(&b, "s1", lk_span_str(" show version"), 0, lk_span_make(NULL, 0));
    lk_build_target(&b, 'D', 'S', "s1");
    lk_build_sync(&b);
    say(w, &b);
    answer_show(w);
    assert_string_equal(types(w), "1tTZ");
    lk_buf_clear(&w->to_client);
    lk_build_bind(&b, "s1", NULL, 0);
    lk_build_target(&b, 'D', 'P', "");
    lk_build_execute(&b, "", 0);
    lk_build_target(&b, 'C', 'S', "s1");
    lk_build_sync(&b);
    say(w, &b);
    answer_show(w);
    answer_show(w);
    assert_string_equal(types(w), "2TDC3Z");
    assert_int_equal(w->commands, 3);
    world_free(w);
}

static void
an_error_on_the_console_skips_to_sync(void **state)
{
    struct world *w = world_new("trust", "");
    struct lk_buf b = {0};
    struct lk_span one = lk_span_str("1");
    console_login(w, "admin");
    lk_build_parse(&b, "", lk_span_str("SHUTDOWN"), 0, lk_span_make(NULL, 0));
    lk_build_target(&b, 'D', 'S', "");
    lk_build_bind(&b, "", &one, 1);
    lk_build_execute(&b, "", 0);
    lk_build_sync(&b);
    lk_build_bind(&b, "other", NULL, 0);
    lk_build_execute(&b, "", 0);
    lk_build_sync(&b);
    say(w, &b);
    assert_string_equal(types(w), "1tnEZEZ");
    assert_int_equal(w->commands, 0);
    world_free(w);
}

static void
broken_console_messages_end_it(void **state)
{
    struct world *w = world_new("trust", "");
    struct lk_buf b = {0};
    console_login(w, "admin");
    lk_buf_add_u8(&b, 'Q');
    lk_buf_add_u32(&b, 1u << 17);
    say(w, &b);
    assert_refused(w, "08P01", "a message on the console is broken or too long");
    console_login(w, "admin");
    lk_buf_add(&b, "d\0\0\0\4", 5);
    say(w, &b);
    assert_refused(w, "08P01", "unexpected message on the console");
    world_free(w);
}

static void
the_process_owner_needs_no_password_over_the_unix_socket(void **state)
{
    static const struct lk_peer owner = {.addr = "unix", .unix_socket = true, .uid = 1000};
    static const struct lk_peer other = {.addr = "unix", .unix_socket = true, .uid = 1001};
    struct world *w = world_new("md5", "");
    accept_from(w, &owner);
    SAY_STARTUP(w, "user", "pgbouncer", "database", "lockkeeper");
    assert_string_equal(types(w), "RSSSSSSSSKZ");
    assert_true(LK_CONTAINER(w->client, struct lk_client, end)->admin);
    accept_from(w, &other);
    SAY_STARTUP(w, "user", "pgbouncer", "database", "lockkeeper");
    assert_refused(w, "08P01", "not allowed");
    world_free(w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_console_command_is_answered_before_the_next_is_read),
        cmocka_unit_test(the_console_speaks_the_extended_protocol),
        cmocka_unit_test(an_error_on_the_console_skips_to_sync),
        cmocka_unit_test(broken_console_messages_end_it),
        cmocka_unit_test(the_process_owner_needs_no_password_over_the_unix_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
