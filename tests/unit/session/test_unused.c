#include "unit/session/world.h"

#include "base/log.h"
#include "session/cancel.h"
#include "session/sweeps.h"

#define STAR "[databases]\n* = host=127.0.0.1\n"

static void
pass(struct world *w, int seconds)
{
    w->now.mono_us += seconds * LK_SECOND_US;
    w->now.wall_us += seconds * LK_SECOND_US;
    lk_core_tick(w->core, w->now);
    settle(w);
}

static void
come(struct world *w, const char *database)
{
    accept_one(w);
    SAY_STARTUP(w, "user", "ann", "database", database);
}

static void
leave(struct world *w)
{
    lk_core_lost(w->core, w->client, "unexpected eof", w->now);
    settle(w);
}

/* A client logs in to the database, for which a server comes up, and leaves. */
static void
visit(struct world *w, const char *database)
{
    come(w, database);
    server_comes_up(w);
    assert_int_equal(w->core->servers.count, 1);
    leave(w);
}

static void
names_that_are_tried_in_vain_do_not_add_up(void **state)
{
    struct world *w = world_new("trust", STAR);
    size_t most = 0;
    for (int i = 0; i < 10000; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "db%d", i);
        come(w, name);
        lk_core_lost(w->core, w->server, "Connection refused", w->now);
        settle(w);
        assert_true(w->client_closed);
        most = w->core->pools.count > most ? w->core->pools.count : most;
        if (i % 100 == 99)
            pass(w, 1);
    }
    assert_in_range(most, 1500, 1800);
    pass(w, 16);
    assert_int_equal(w->core->pools.count, 0);
    assert_int_equal(lk_budgets_count(w->shared.budgets), 0);
    world_free(w);
}

static void
an_unused_pool_of_the_star_goes_when_its_servers_have_and_one_of_a_named_database_stays(void **state)
{
    struct world *w = world_new("trust", "autodb_idle_timeout = 100\nserver_idle_timeout = 50\n" STAR);
    visit(w, "any");
    pass(w, 49);
    assert_int_equal(w->core->servers.count, 1);
    pass(w, 2);
    assert_int_equal(w->core->servers.count, 0);
    visit(w, "shop");
    pass(w, 99);
    assert_int_equal(w->core->servers.count, 0);
    assert_int_equal(w->core->pools.count, 2);
    pass(w, 2);
    assert_int_equal(w->core->pools.count, 1);
    pass(w, 10000);
    assert_int_equal(w->core->pools.count, 1);
    world_free(w);
}

static void
a_pool_that_somebody_uses_stays(void **state)
{
    struct world *w = world_new("trust", "autodb_idle_timeout = 10\nserver_idle_timeout = 5\nserver_lifetime = 5\n" STAR);
    come(w, "any");
    server_comes_up(w);
    pass(w, 100);
    assert_int_equal(w->core->servers.count, 0);
    assert_int_equal(w->core->pools.count, 1);
    leave(w);
    pass(w, 9);
    assert_int_equal(w->core->pools.count, 1);
    pass(w, 2);
    assert_int_equal(w->core->pools.count, 0);
    world_free(w);
}

static void
without_a_limit_a_pool_of_the_star_that_worked_stays(void **state)
{
    struct world *w = world_new("trust", "autodb_idle_timeout = 0\nserver_idle_timeout = 5\n" STAR);
    visit(w, "any");
    pass(w, 6);
    pass(w, 100000);
    assert_int_equal(w->core->pools.count, 1);
    world_free(w);
}

static void
pool_idle_timeout_closes_servers_and_the_pool_goes_and_comes_again(void **state)
{
    struct world *w = world_new("trust", "pool_idle_timeout = 20\nserver_idle_timeout = 0\n");
    visit(w, "shop");
    pass(w, 19);
    assert_int_equal(w->core->servers.count, 1);
    pass(w, 2);
    assert_true(w->server_closed);
    assert_int_equal(w->core->servers.count, 0);
    pass(w, 1);
    assert_int_equal(w->core->pools.count, 0);
    assert_int_equal(lk_budgets_count(w->shared.budgets), 0);
    visit(w, "shop");
    assert_int_equal(w->core->pools.count, 1);
    world_free(w);
}

static void
a_pool_whose_database_is_no_longer_in_the_settings_goes(void **state)
{
    struct world *w = world_new("trust", "");
    come(w, "shop");
    server_comes_up(w);
    struct lk_settings *s = load(w, "trust", "");
    assert_int_equal(s->database_count, 2);
    free(s->databases[0].name);
    s->databases[0].name = lk_mem_dup("other");
    lk_core_reload(w->core, s, w->now);
    settle(w);
    assert_true(w->client_closed);
    pass(w, 1);
    assert_int_equal(w->core->pools.count, 0);
    lk_settings_unref(s);
    world_free(w);
}

/* Names that clients make up must not leave a trace of what was to be read of their databases and servers. */
static void
what_is_known_of_a_database_goes_with_its_last_pool(void **state)
{
    struct world *w = world_new("trust", "autodb_idle_timeout = 10\n" STAR);
    w->shared.no_errands = false;
    for (int i = 0; i < 100; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "db%d", i);
        come(w, name);
        lk_core_lost(w->core, w->server, "Connection refused", w->now);
        settle(w);
    }
    assert_non_null(w->core->catalogs);
    assert_non_null(w->core->sweeps);
    pass(w, 16);
    assert_int_equal(w->core->pools.count, 0);
    assert_null(w->core->catalogs);
    assert_null(w->core->sweeps);
    world_free(w);
}

static void
what_is_known_of_a_server_goes_when_a_reload_names_another(void **state)
{
    struct world *w = world_new("trust", "");
    w->shared.no_errands = false;
    come(w, "shop");
    server_comes_up(w);
    const struct lk_catalog *catalog = w->core->catalogs;
    assert_non_null(catalog);
    struct lk_settings *s = load(w, "trust", "server_round_robin = 1\n");
    lk_core_reload(w->core, s, w->now);
    settle(w);
    assert_ptr_equal(w->core->catalogs, catalog);
    free(s->databases[0].host);
    s->databases[0].host = lk_mem_dup("127.0.0.2");
    lk_core_reload(w->core, s, w->now);
    settle(w);
    assert_string_equal(w->core->sweeps->host, "127.0.0.2");
    assert_null(w->core->sweeps->next);
    lk_settings_unref(s);
    world_free(w);
}

/* It has taken no unit of a budget: none may move with it. */
static void
a_reload_moves_no_unit_for_a_connection_beyond_the_limits(void **state)
{
    struct world *w = world_new("trust", "");
    come(w, "shop");
    server_comes_up(w);
    struct lk_pool *pool = LK_LIST_ITEM(lk_list_first(&w->core->pools), struct lk_pool, node);
    struct lk_seat beyond = {.pool = pool, .extra = true};
    lk_pool_move(pool, &beyond, LK_SEAT_OPENING, w->now.mono_us);
    struct lk_settings *s = load(w, "trust", "");
    s->databases[0].user = lk_mem_dup("sue");
    lk_core_reload(w->core, s, w->now);
    settle(w);
    assert_string_equal(pool->route.user, "sue");
    lk_pool_move(pool, &beyond, LK_SEAT_NONE, w->now.mono_us);
    pass(w, 1);
    assert_int_equal(lk_pool_seats(pool), 0);
    for (int i = 0; i < LK_BUDGET_KINDS; i++)
        assert_int_equal(pool->budgets.of[i]->used, 0);
    lk_settings_unref(s);
    world_free(w);
}

/* A query that runs while a RELOAD sends its database elsewhere is cancelled where it runs. */
static void
a_cancel_goes_to_where_its_server_was_opened(void **state)
{
    struct world *w = world_new("trust", "");
    come(w, "shop");
    server_comes_up(w);
    struct lk_server *server = (struct lk_server *)(void *)w->server;
    struct lk_settings *s = load(w, "trust", "");
    free(s->databases[0].host);
    s->databases[0].host = lk_mem_dup("127.0.0.2");
    s->databases[0].port = 5433;
    assert_int_equal(server->state, LK_SERVER_IDLE);
    lk_server_enter(w->core, server, LK_SERVER_CLEANING);
    lk_core_reload(w->core, s, w->now);
    settle(w);
    assert_string_equal(server->seat.pool->route.host, "127.0.0.2");
    lk_cancel_server(w->core, server, NULL);
    const struct lk_effect *last = &w->core->effects.items[w->core->effects.count - 1];
    assert_int_equal(last->kind, LK_EFFECT_OPEN);
    assert_string_equal(last->u.open.host, "127.0.0.1");
    assert_int_equal(last->u.open.port, 5432);
    lk_settings_unref(s);
    world_free(w);
}

int
main(void)
{
    const struct lk_log_options quiet = {0};
    (void)lk_log_open(&quiet);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_are_tried_in_vain_do_not_add_up),
        cmocka_unit_test(an_unused_pool_of_the_star_goes_when_its_servers_have_and_one_of_a_named_database_stays),
        cmocka_unit_test(a_pool_that_somebody_uses_stays),
        cmocka_unit_test(without_a_limit_a_pool_of_the_star_that_worked_stays),
        cmocka_unit_test(pool_idle_timeout_closes_servers_and_the_pool_goes_and_comes_again),
        cmocka_unit_test(a_pool_whose_database_is_no_longer_in_the_settings_goes),
        cmocka_unit_test(what_is_known_of_a_database_goes_with_its_last_pool),
        cmocka_unit_test(what_is_known_of_a_server_goes_when_a_reload_names_another),
        cmocka_unit_test(a_cancel_goes_to_where_its_server_was_opened),
        cmocka_unit_test(a_reload_moves_no_unit_for_a_connection_beyond_the_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
