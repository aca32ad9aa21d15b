/* auth_query as the sessions see it: who waits for it, and what happens meanwhile. */
#include "unit/session/world.h"

#include "base/log.h"

#define ASKS(query) "auth_user = ann\nauth_query = " query "\n"

/* Does this stand in what the server was sent? */
static bool
was_sent(const struct world *w, const char *text)
{
    return memmem(w->to_server.data, w->to_server.len, text, strlen(text)) != NULL;
}

static void
a_query_that_waits_for_its_server_is_asked_as_it_stood_when_settings_change(void **state)
{
    struct world *w = world_new("md5", ASKS("SELECT usename, passwd FROM users_before WHERE usename = $1"));
    accept_one(w);
    SAY_STARTUP(w, "user", "stranger", "database", "shop");
    assert_int_equal(w->opened, 1);
    struct lk_settings *s = load(w, "md5", ASKS("SELECT usename, passwd FROM users_after WHERE usename = $1"));
    lk_core_reload(w->core, s, w->now);
    lk_settings_unref(s);
    settle(w);
    server_opens(w);
    server_greets(w);
    struct lk_buf reset = {0};
    size_t at = lk_build_begin(&reset, 'V');
    lk_buf_add_u32(&reset, 0);
    lk_build_end(&reset, at);
    lk_build_ready(&reset, 'I');
    server_says(w, &reset);
    assert_true(was_sent(w, "users_before"));
    assert_false(was_sent(w, "users_after"));
    world_free(w);
}

int
main(void)
{
    const struct lk_log_options quiet = {0};
    (void)lk_log_open(&quiet);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_query_that_waits_for_its_server_is_asked_as_it_stood_when_settings_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
