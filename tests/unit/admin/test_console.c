#include "unit/admin/fake_core.h"

#include "wire/frame.h"
#include "wire/message.h"

/* A host of two workers, whose requests are carried out by the tests. */
struct host {
    struct lk_console_host is;
    struct lk_request *broadcast, *reload; /* what was posted and is not finished */
    int stopped;                           /* how; -1: not */
    struct world *worlds[2];
    struct lk_client *client; /* a console client of the first */
};

static void
on_broadcast(void *context, struct lk_request *r)
{
    struct host *h = context;
    h->broadcast = r;
}

static void
on_reload(void *context, struct lk_request *r)
{
    struct host *h = context;
    h->reload = r;
}

static void
on_shutdown(void *context, enum lk_stop how)
{
    struct host *h = context;
    h->stopped = (int)how;
}

static int
set_up(void **state)
{
    struct host *h = LK_NEW(struct host);
    h->is = (struct lk_console_host){h, NULL, 2, on_broadcast, on_reload, on_shutdown};
    h->stopped = -1;
    h->worlds[0] = world_new(0);
    h->worlds[1] = world_new(1);
    h->client = add_client(h->worlds[0], 1, LK_CLIENT_CONSOLE, NULL);
    h->client->admin = true;
    lk_buf_clear(&fake.reply);
    memset(&fake, 0, sizeof fake);
    *state = h;
    return 0;
}

static int
tear_down(void **state)
{
    struct host *h = *state;
    lk_buf_clear(&fake.reply);
    world_free(h->worlds[0]);
    world_free(h->worlds[1]);
    free(h);
    return 0;
}

static void
ask(struct host *h, const char *text)
{
    fake.reply.len = 0;
    fake.done = 0;
    lk_console_query(&h->is, &h->worlds[0]->core, h->client, lk_span_str(text));
}

/* Every worker's part; true: finished. */
static bool
run_all(struct host *h)
{
    bool last = false;
    for (size_t i = 0; i < 2; i++) {
        if (!lk_request_run(h->broadcast, &h->worlds[i]->core, NOW))
            return false;
        last = lk_request_leave(h->broadcast);
        assert_true(last == (i == 1));
    }
    lk_request_finish(&h->is, &h->worlds[0]->core, h->broadcast);
    return true;
}

/* The types of the frames of the answer, one letter each. */
static void
assert_frames(const char *types)
{
    assert_int_equal(fake.done, 1);
    struct lk_span rest = lk_buf_span(&fake.reply);
    char got[64] = "";
    for (size_t n = 0; rest.n > 0; n++) {
        struct lk_frame frame;
        assert_int_equal(lk_frame_next(rest, UINT32_MAX, &frame), LK_FRAME_WHOLE);
        got[n] = (char)frame.type;
        rest = lk_span_skip(rest, frame.total);
    }
    assert_string_equal(got, types);
}

static struct lk_span
body_of(size_t index)
{
    struct lk_span rest = lk_buf_span(&fake.reply);
    struct lk_frame frame;
    for (size_t i = 0; i <= index; i++) {
        assert_int_equal(lk_frame_next(rest, UINT32_MAX, &frame), LK_FRAME_WHOLE);
        rest = lk_span_skip(rest, frame.total);
    }
    return frame.body;
}

static void
assert_tag(const char *tag)
{
    assert_frames("C");
    assert_string_equal((const char *)body_of(0).p, tag);
}

static void
assert_error(const char *sqlstate, const char *message)
{
    assert_frames("E");
    assert_true(lk_span_is(lk_msg_error_field(body_of(0), 'C'), sqlstate));
    assert_string_equal((const char *)lk_msg_error_field(body_of(0), 'M').p, message);
}

static void
a_view_of_the_asker_alone_is_answered_at_once(void **state)
{
    struct host *h = *state;
    ask(h, "show version;");
    assert_frames("TDC");
    struct lk_msg_value value;
    assert_true(lk_msg_row_value(body_of(1), 0, &value, NULL));
    assert_true(lk_span_is(value.data, LK_VERSION_TEXT));
    assert_string_equal((const char *)body_of(2).p, "SHOW");
    assert_null(h->broadcast);
}

static void
a_view_of_all_is_answered_when_the_last_worker_has_left(void **state)
{
    struct host *h = *state;
    add_client(h->worlds[1], 2, LK_CLIENT_READY, &h->worlds[1]->pools[0]);
    ask(h, "SHOW CLIENTS");
    assert_int_equal(fake.done, 0);
    assert_true(run_all(h));
    assert_frames("TDDC");
}

static void
an_answer_for_a_client_that_is_gone_is_dropped(void **state)
{
    struct host *h = *state;
    ask(h, "SHOW POOLS");
    h->client->state = LK_CLIENT_GONE;
    assert_true(run_all(h));
    assert_int_equal(fake.reply.len, 0);
    assert_int_equal(fake.done, 0);
}

static void
help_is_a_notice_that_names_all_views(void **state)
{
    struct host *h = *state;
    ask(h, "SHOW HELP");
    assert_frames("NC");
    const char *detail = (const char *)lk_msg_error_field(body_of(0), 'D').p;
    assert_non_null(strstr(detail, "SHOW HELP|VERSION|CLIENTS|SERVERS|POOLS|"));
    assert_non_null(strstr(detail, "ADVISORY_LOCKS|LOCK_WAITS|LEAKS|PINS|LOCK_STATEMENTS\n"));
    assert_non_null(strstr(detail, "SHUTDOWN [WAIT_FOR_SERVERS|WAIT_FOR_CLIENTS]"));
}

static void
nonsense_is_an_error_and_nothing_is_an_empty_query(void **state)
{
    struct host *h = *state;
    ask(h, "select 1");
    assert_error("42601", "invalid command 'select 1', use SHOW HELP;");
    ask(h, "SHOW NOTHING");
    assert_error("42601", "invalid command 'SHOW NOTHING', use SHOW HELP;");
    ask(h, "SHUTDOWN SOON");
    assert_error("42601", "invalid command 'SHUTDOWN SOON', use SHOW HELP;");
    assert_int_equal(h->stopped, -1);
    ask(h, ";");
    assert_frames("I");
}

static void
who_may_only_look_changes_nothing(void **state)
{
    struct host *h = *state;
    h->client->admin = false;
    const char *const commands[] = {"RELOAD", "PAUSE", "RESUME sales", "KILL", "RECONNECT", "SHUTDOWN", "DISABLE sales",
        "ENABLE sales", "WAIT_CLOSE", "KILL_CLIENT 2", "SET verbose = 1", "SUSPEND"};
    for (size_t i = 0; i < LK_COUNT(commands); i++) {
        ask(h, commands[i]);
        assert_error("42501", "admin access needed");
    }
    assert_null(h->broadcast);
    assert_null(h->reload);
    assert_int_equal(h->stopped, -1);
    ask(h, "SHOW STATE");
    assert_frames("TDDDC");
}

static void
pause_waits_until_every_worker_is_idle(void **state)
{
    struct host *h = *state;
    ask(h, "PAUSE");
    assert_false(run_all(h));
    assert_string_equal(fake.last, "pause");
    assert_string_equal(fake.database, "");
    note("nothing", NULL);
    assert_false(run_all(h));
    assert_string_equal(fake.last, "nothing");
    assert_int_equal(fake.done, 0);
    fake.paused = true;
    assert_true(run_all(h));
    assert_tag("PAUSE");
}

static void
a_resume_ends_a_pause_that_waits(void **state)
{
    struct host *h = *state;
    ask(h, "PAUSE");
    assert_false(run_all(h));
    lk_core_resume(&h->worlds[0]->core, NULL, NOW);
    assert_true(lk_request_run(h->broadcast, &h->worlds[0]->core, NOW));
    assert_false(lk_request_leave(h->broadcast));
    assert_false(lk_request_run(h->broadcast, &h->worlds[1]->core, NOW));
    lk_core_resume(&h->worlds[1]->core, NULL, NOW);
    assert_true(lk_request_run(h->broadcast, &h->worlds[1]->core, NOW));
    assert_true(lk_request_leave(h->broadcast));
    lk_request_finish(&h->is, &h->worlds[0]->core, h->broadcast);
    assert_error("57014", "RESUME came before all servers were idle");
}

static void
resume_needs_something_that_is_paused(void **state)
{
    struct host *h = *state;
    ask(h, "RESUME");
    assert_true(run_all(h));
    assert_error("55000", "pooler is not paused/suspended");
    ask(h, "RESUME sales");
    assert_true(run_all(h));
    assert_error("55000", "database sales is not paused");
    for (size_t i = 0; i < 2; i++)
        lk_names_add(&h->worlds[i]->core.paused, "sales");
    ask(h, "resume \"sales\";");
    assert_true(run_all(h));
    assert_string_equal(fake.database, "sales");
    assert_tag("RESUME");
    ask(h, "RESUME");
    assert_true(run_all(h));
    assert_string_equal(fake.database, "");
    assert_tag("RESUME");
    for (size_t i = 0; i < 2; i++)
        lk_names_drop(&h->worlds[i]->core.paused, NULL);
}

static void
what_is_paused_is_not_paused_again(void **state)
{
    struct host *h = *state;
    const char *const commands[] = {"PAUSE", "KILL", "SUSPEND"};
    for (size_t i = 0; i < LK_COUNT(commands); i++) {
        h->worlds[0]->core.mode = h->worlds[1]->core.mode = i == 0 ? LK_CORE_SUSPENDED : LK_CORE_PAUSED;
        ask(h, commands[i]);
        assert_true(run_all(h));
        assert_error("55000", "already suspended/paused");
        assert_string_equal(fake.last, "");
    }
}

static void
suspend_is_refused_while_a_database_is_paused(void **state)
{
    struct host *h = *state;
    for (size_t i = 0; i < 2; i++)
        lk_names_add(&h->worlds[i]->core.paused, "sales");
    ask(h, "SUSPEND");
    assert_true(run_all(h));
    assert_error("55000", "cannot suspend with paused databases");
    for (size_t i = 0; i < 2; i++)
        lk_names_drop(&h->worlds[i]->core.paused, NULL);
}

static void
suspend_waits_until_every_worker_is_silent(void **state)
{
    struct host *h = *state;
    ask(h, "SUSPEND");
    assert_false(run_all(h));
    assert_string_equal(fake.last, "suspend");
    h->broadcast->parts[0].silent = h->broadcast->parts[1].silent = true;
    assert_true(run_all(h));
    assert_tag("SUSPEND");
}

static void
hold(struct lk_server *s, int64_t key)
{
    (void)lk_ledger_lock(&s->ledger, lk_key_bigint(key), LK_MODE_EXCLUSIVE, NULL, NOW);
}

/* What the client that asked is told now; NULL: nothing. */
static void
assert_news(struct host *h, int64_t later_us, const char *wanted)
{
    const struct lk_now now = {.mono_us = NOW.mono_us + later_us, .wall_us = NOW.wall_us};
    char *lines = lk_request_news(h->broadcast, &h->worlds[0]->core, now);
    if (wanted)
        assert_string_equal(lines, wanted);
    else
        assert_null(lines);
    free(lines);
}

static void
pause_names_the_holders_it_waits_for_and_says_so_again_when_they_change(void **state)
{
    struct host *h = *state;
    struct world *w = h->worlds[0];
    struct lk_client *c = add_client(w, 17, LK_CLIENT_LINKED, &w->pools[0]);
    c->who->user = owned("ann");
    c->who->database = owned("sales");
    free(c->who->application_name);
    c->who->application_name = owned("bil\nling");
    struct lk_server *s = add_server(w, 4, LK_SERVER_LINKED, &w->pools[0], c);
    ask(h, "PAUSE");
    assert_false(lk_request_run(h->broadcast, &w->core, NOW));
    assert_news(h, 0, NULL);
    hold(s, 9527);
    assert_news(h, 1, "PAUSE waits for 1 server that session locks keep with its client\n"
        "client 17 ann@sales (bil?ling) holds 9527 since 2026-11-30 09:15:02.123 UTC\n");
    hold(s, 9528);
    assert_news(h, LK_REQUEST_TELL_US, NULL);
    assert_news(h, LK_REQUEST_TELL_US + 1, "PAUSE waits for 1 server that session locks keep with its client\n"
        "client 17 ann@sales (bil?ling) holds 9527 and 1 more since 2026-11-30 09:15:02.123 UTC\n");
    assert_news(h, 10 * LK_REQUEST_TELL_US, NULL);
    fake.paused = true;
    assert_true(run_all(h));
}

static void
of_many_holders_ten_are_named(void **state)
{
    struct host *h = *state;
    struct world *w = h->worlds[0];
    for (uint64_t i = 0; i < 13; i++) {
        struct lk_client *c = add_client(w, 20 + i, LK_CLIENT_LINKED, &w->pools[i == 0]);
        c->who->user = owned("ann");
        c->who->database = owned(w->pools[i == 0].route.database);
        hold(add_server(w, 50 + i, LK_SERVER_LINKED, &w->pools[i == 0], c), (int64_t)i);
    }
    w->pools[0].paused = true;
    ask(h, "PAUSE sales");
    assert_false(lk_request_run(h->broadcast, &w->core, NOW));
    char *lines = lk_request_news(h->broadcast, &w->core, NOW);
    assert_non_null(strstr(lines, "PAUSE waits for 12 servers"));
    assert_null(strstr(lines, "client 20 "));
    assert_non_null(strstr(lines, "client 30 "));
    assert_null(strstr(lines, "client 31 "));
    assert_non_null(strstr(lines, "\nand 2 others\n"));
    lk_request_tell(&w->core, h->client->who->id, lines);
    assert_int_equal(fake.done, 0);
    fake.done = 1;
    assert_frames("NNNNNNNNNNNN");
    free(lines);
    fake.paused = true;
    fake.reply.len = 0;
    assert_true(run_all(h));
}

static void
wait_close_names_holders_of_servers_that_are_to_be_closed_only(void **state)
{
    struct host *h = *state;
    struct world *w = h->worlds[0];
    struct lk_client *c = add_client(w, 17, LK_CLIENT_LINKED, &w->pools[0]);
    c->who->user = owned("ann");
    c->who->database = owned("sales");
    struct lk_server *s = add_server(w, 4, LK_SERVER_LINKED, &w->pools[0], c);
    hold(s, 1);
    ask(h, "WAIT_CLOSE");
    assert_false(lk_request_run(h->broadcast, &w->core, NOW));
    assert_news(h, 0, NULL);
    s->close_after = true;
    assert_news(h, 0, "WAIT_CLOSE waits for 1 server that session locks keep with its client\n"
        "client 17 ann@sales () holds 1 since 2026-11-30 09:15:02.123 UTC\n");
    lk_request_free(h->broadcast);
}

static void
commands_reach_the_core_with_their_database(void **state)
{
    struct host *h = *state;
    const struct {
        const char *text, *core, *database, *tag;
    } commands[] = {
        {"KILL web", "kill", "web", "KILL"},
        {"RECONNECT", "reconnect", "", "RECONNECT"},
        {"DISABLE sales", "disable", "sales", "DISABLE"},
        {"ENABLE sales", "enable", "sales", "ENABLE"},
    };
    for (size_t i = 0; i < LK_COUNT(commands); i++) {
        ask(h, commands[i].text);
        assert_true(run_all(h));
        assert_string_equal(fake.last, commands[i].core);
        assert_string_equal(fake.database, commands[i].database);
        assert_tag(commands[i].tag);
    }
}

static void
an_unknown_database_is_told_and_nothing_done(void **state)
{
    struct host *h = *state;
    ask(h, "KILL nowhere");
    assert_true(run_all(h));
    assert_error("3D000", "no such database: nowhere");
    assert_string_equal(fake.last, "");
    ask(h, "PAUSE pgbouncer");
    assert_error("0A000", "PAUSE does not work on the console's database: pgbouncer");
    ask(h, "DISABLE");
    assert_error("08P01", "a database is required");
    ask(h, "DISABLE lockkeeper");
    assert_error("0A000", "DISABLE does not work on the console's database: lockkeeper");
}

static void
a_database_made_by_the_fallback_is_known_where_it_has_a_pool(void **state)
{
    struct host *h = *state;
    char *name = h->worlds[1]->pools[0].route.database;
    h->worlds[1]->pools[0].route.database = owned("other");
    free(name);
    ask(h, "KILL other");
    assert_true(run_all(h));
    assert_string_equal(fake.database, "other");
    assert_tag("KILL");
}

static void
reload_tells_what_is_wrong(void **state)
{
    struct host *h = *state;
    ask(h, "RELOAD");
    assert_non_null(h->reload);
    lk_request_finish(&h->is, &h->worlds[0]->core, h->reload);
    assert_tag("RELOAD");
    ask(h, "RELOAD");
    h->reload->warnings = owned("a.ini:1: no effect yet\n");
    h->reload->error = owned("a.ini:2: bad\na.ini:3: worse\n");
    lk_request_finish(&h->is, &h->worlds[0]->core, h->reload);
    assert_frames("NNNE");
    assert_true(lk_span_is(lk_msg_error_field(body_of(0), 'M'), "a.ini:1: no effect yet"));
    assert_true(lk_span_is(lk_msg_error_field(body_of(2), 'M'), "a.ini:3: worse"));
    assert_true(lk_span_is(lk_msg_error_field(body_of(3), 'C'), "F0000"));
}

static void
wait_close_waits_until_old_servers_are_gone_everywhere(void **state)
{
    struct host *h = *state;
    ask(h, "WAIT_CLOSE sales");
    assert_false(run_all(h));
    assert_int_equal(fake.done, 0);
    fake.paused = true;
    assert_true(run_all(h));
    assert_tag("WAIT_CLOSE");
}

static void
a_client_is_killed_by_its_id_wherever_it_is(void **state)
{
    struct host *h = *state;
    add_client(h->worlds[1], 17, LK_CLIENT_READY, &h->worlds[1]->pools[0]);
    ask(h, "KILL_CLIENT 17");
    assert_true(run_all(h));
    assert_tag("KILL_CLIENT");
    assert_string_equal(fake.last, "kill_client");
    ask(h, "KILL_CLIENT 18");
    assert_true(run_all(h));
    assert_error("22023", "no such client: 18");
    ask(h, "KILL_CLIENT many");
    assert_error("42601", "invalid command 'KILL_CLIENT many', use SHOW HELP;");
    ask(h, "KILL_CLIENT 99999999999999999999");
    assert_error("42601", "invalid command 'KILL_CLIENT 99999999999999999999', use SHOW HELP;");
}

static void
set_is_the_main_threads_and_its_answer_names_what_was_set(void **state)
{
    struct host *h = *state;
    ask(h, "SET query_timeout = '1.5'");
    assert_int_equal(h->reload->kind, LK_REQUEST_SET);
    assert_string_equal(h->reload->setting, "query_timeout");
    assert_string_equal(h->reload->value, "1.5");
    h->reload->warnings = owned("no effect yet");
    lk_request_finish(&h->is, &h->worlds[0]->core, h->reload);
    assert_frames("NC");
    assert_string_equal((const char *)body_of(1).p, "SET query_timeout=1.5");
    ask(h, "SET nonsense = 1");
    h->reload->error = owned("no such setting: nonsense\nmore");
    lk_request_finish(&h->is, &h->worlds[0]->core, h->reload);
    assert_error("22023", "no such setting: nonsense");
}

static void
shutdown_is_answered_before_it_happens(void **state)
{
    struct host *h = *state;
    ask(h, "SHUTDOWN");
    assert_tag("SHUTDOWN");
    assert_int_equal(h->stopped, LK_STOP_NOW);
    ask(h, "shutdown wait_for_servers;");
    assert_int_equal(h->stopped, LK_STOP_WAIT_FOR_SERVERS);
    assert_int_equal(h->broadcast->kind, LK_REQUEST_STOPPING);
    assert_int_equal(fake.done, 1);
    fake.paused = true;
    assert_true(run_all(h));
    assert_tag("SHUTDOWN");
    ask(h, "SHUTDOWN WAIT_FOR_CLIENTS");
    assert_int_equal(h->stopped, LK_STOP_WAIT_FOR_CLIENTS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_view_of_the_asker_alone_is_answered_at_once),
        TEST(a_view_of_all_is_answered_when_the_last_worker_has_left),
        TEST(an_answer_for_a_client_that_is_gone_is_dropped),
        TEST(help_is_a_notice_that_names_all_views),
        TEST(nonsense_is_an_error_and_nothing_is_an_empty_query),
        TEST(who_may_only_look_changes_nothing),
        TEST(pause_waits_until_every_worker_is_idle),
        TEST(a_resume_ends_a_pause_that_waits),
        TEST(resume_needs_something_that_is_paused),
        TEST(what_is_paused_is_not_paused_again),
        TEST(suspend_is_refused_while_a_database_is_paused),
        TEST(suspend_waits_until_every_worker_is_silent),
        TEST(pause_names_the_holders_it_waits_for_and_says_so_again_when_they_change),
        TEST(of_many_holders_ten_are_named),
        TEST(wait_close_names_holders_of_servers_that_are_to_be_closed_only),
        TEST(commands_reach_the_core_with_their_database),
        TEST(an_unknown_database_is_told_and_nothing_done),
        TEST(a_database_made_by_the_fallback_is_known_where_it_has_a_pool),
        TEST(reload_tells_what_is_wrong),
        TEST(wait_close_waits_until_old_servers_are_gone_everywhere),
        TEST(a_client_is_killed_by_its_id_wherever_it_is),
        TEST(set_is_the_main_threads_and_its_answer_names_what_was_set),
        TEST(shutdown_is_answered_before_it_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
