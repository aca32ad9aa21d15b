/* A core put together by hand for the tests of the console, and stand-ins for the core's functions that the console
 * calls: they note what they were asked. Included by one test program each. */
#ifndef LK_TESTS_FAKE_CORE_H
#define LK_TESTS_FAKE_CORE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "admin/console.h"
#include "base/version.h"
#include "session/sweeps.h"

/* --- stand-ins --- */
static struct {
    struct lk_buf reply;      /* all frames since the last done */
    unsigned done;            /* how many commands were ended */
    char last[32];            /* "pause", … */
    char database[32];        /* its argument; "" for all */
    bool paused;              /* what lk_core_paused says, and lk_core_reconnecting says not */
    struct lk_record *recent; /* what the journal has */
} fake;

void
lk_core_console_reply(struct lk_core *core, struct lk_client *client, struct lk_span frames)
{
    lk_buf_add_span(&fake.reply, frames);
}

void
lk_core_console_done(struct lk_core *core, struct lk_client *client)
{
    fake.done++;
}

void
lk_core_console_news(struct lk_core *core, struct lk_client *client, struct lk_span frames)
{
    lk_buf_add_span(&fake.reply, frames);
}

static void
note(const char *what, const char *database)
{
    snprintf(fake.last, sizeof fake.last, "%s", what);
    snprintf(fake.database, sizeof fake.database, "%s", database ? database : "");
}

void
lk_core_pause(struct lk_core *core, const char *database, struct lk_now now)
{
    note("pause", database);
    core->mode = database ? core->mode : LK_CORE_PAUSED;
}

void
lk_core_suspend(struct lk_core *core)
{
    note("suspend", NULL);
    core->mode = LK_CORE_SUSPENDED;
}

bool
lk_core_stopped(const struct lk_core *core)
{
    return fake.paused;
}

bool
lk_core_paused(const struct lk_core *core, const char *database)
{
    return fake.paused;
}

void
lk_core_resume(struct lk_core *core, const char *database, struct lk_now now)
{
    note("resume", database);
    core->mode = LK_CORE_ACTIVE;
}

void
lk_core_kill(struct lk_core *core, const char *database, struct lk_now now)
{
    note("kill", database);
}

void
lk_core_reconnect(struct lk_core *core, const char *database, struct lk_now now)
{
    note("reconnect", database);
}

bool
lk_core_reconnecting(const struct lk_core *core, const char *database)
{
    return !fake.paused;
}

void
lk_core_disable(struct lk_core *core, const char *database)
{
    note("disable", database);
}

void
lk_core_enable(struct lk_core *core, const char *database)
{
    note("enable", database);
}

bool
lk_core_kill_client(struct lk_core *core, uint64_t id, struct lk_now now)
{
    LK_LIST_EACH (&core->clients, struct lk_client, node, c) {
        if (c->who->id != id)
            continue;
        note("kill_client", c->user);
        return true;
    }
    return false;
}

struct lk_server *
lk_sweep_server(const struct lk_core *core, const struct lk_sweep *sw, uint32_t pid)
{
    return NULL;
}

const struct lk_sweep_row *
lk_sweep_holder(const struct lk_sweep *sw, const struct lk_sweep_row *waiter)
{
    return NULL;
}

unsigned
lk_server_pins(const struct lk_core *core, const struct lk_server *server)
{
    unsigned pins = server->status == 'T' ? LK_PIN_TRANSACTION : 0;
    pins |= server->ledger.count > 0 ? LK_PIN_LOCKS : 0;
    return pins | (server->ledger.unsure != 0 ? LK_PIN_UNSURE : 0);
}

void
lk_journal_recent(struct lk_journal *j, void (*each)(void *context, const struct lk_record *r), void *context)
{
    if (fake.recent)
        each(context, fake.recent);
}

/* --- the core --- */
/* 2026-11-30 09:15:02.123456 UTC; the monotonic clock stands at 1000 s. */
static const struct lk_now NOW = {.mono_us = 1000 * LK_SECOND_US, .wall_us = 1796030102123456};

struct world {
    struct lk_core core;
    struct lk_settings settings;
    struct lk_database_settings databases[3];
    struct lk_pool pools[2]; /* ("sales", "app") in transaction mode, ("web", "app") in session mode */
    struct lk_route routes[2];
};

static char *
owned(const char *s)
{
    return lk_mem_dup(s);
}

static void
put_database(struct lk_database_settings *d, const char *name)
{
    *d = (struct lk_database_settings){.name = owned(name),
        .port = 5432,
        .pool_size = -1,
        .min_pool_size = -1,
        .reserve_pool_size = -1,
        .max_db_connections = -1,
        .max_db_client_connections = -1,
        .pool_mode = -1,
        .server_lifetime_us = -1};
}

static void
put_pool(struct world *w, size_t i, const char *database, enum lk_pool_mode mode)
{
    struct lk_pool *pool = &w->pools[i];
    pool->route.database = owned(database);
    pool->route.user = owned("app");
    pool->route.host = owned("/run/pg");
    pool->route.port = 5432;
    pool->route.mode = mode;
    for (size_t list = 0; list < LK_SEAT_LISTS; list++)
        lk_list_init(&pool->seats[list]);
    lk_list_init(&pool->waiters);
    lk_list_push(&w->core.pools, &pool->node);
}

/* Databases sales, web and "*"; user list ann and app. */
static struct world *
world_new(uint32_t worker)
{
    struct world *w = LK_NEW(struct world);
    w->settings.databases = w->databases;
    w->settings.database_count = 3;
    w->settings.default_pool_size = 20;
    w->settings.listen_port = 6432;
    w->settings.server_lifetime_us = 3600 * LK_SECOND_US;
    w->settings.pool_mode = LK_POOL_TRANSACTION;
    put_database(&w->databases[0], "sales");
    put_database(&w->databases[1], "web");
    put_database(&w->databases[2], "*");
    struct lk_buf errors = {0};
    w->core.users = lk_users_parse(lk_span_str("\"ann\" \"x\"\n\"app\" \"y\"\n"), "users", &errors);
    assert_int_equal(errors.len, 0);
    w->core.worker = worker;
    w->core.settings = &w->settings;
    w->core.now = NOW;
    lk_list_init(&w->core.clients);
    lk_list_init(&w->core.servers);
    lk_list_init(&w->core.cancellers);
    lk_list_init(&w->core.pools);
    put_pool(w, 0, "sales", LK_POOL_TRANSACTION);
    put_pool(w, 1, "web", LK_POOL_SESSION);
    return w;
}

static inline struct lk_client *
add_client(struct world *w, uint64_t id, enum lk_client_state state, struct lk_pool *pool)
{
    struct lk_client *c = LK_NEW(struct lk_client);
    c->who = lk_who_new(id, "127.0.0.1", 40000);
    c->state = state;
    c->user = owned("ann");
    c->database = owned(pool ? pool->route.database : "lockkeeper");
    c->pool = pool;
    c->connect_wall_us = NOW.wall_us;
    snprintf(c->local_addr, sizeof c->local_addr, "127.0.0.2");
    c->local_port = 6432;
    if (pool)
        pool->clients++;
    lk_list_push(&w->core.clients, &c->node);
    return c;
}

static inline struct lk_server *
add_server(struct world *w, uint64_t id, enum lk_server_state state, struct lk_pool *pool, struct lk_client *client)
{
    struct lk_server *s = LK_NEW(struct lk_server);
    s->id = id;
    s->pid = 70000 + (uint32_t)id;
    s->state = state;
    s->status = 'I';
    s->seat.pool = pool;
    s->client = client;
    s->connect_wall_us = NOW.wall_us;
    s->port = pool ? pool->route.port : 0;
    snprintf(s->remote_addr, sizeof s->remote_addr, "unix");
    if (client) {
        client->server = s;
        s->who = lk_who_ref(client->who);
    }
    lk_list_push(&pool->seats[state == LK_SERVER_IDLE ? LK_SEAT_IDLE : LK_SEAT_LINKED], &s->seat.node);
    lk_list_push(&w->core.servers, &s->node);
    return s;
}

static void
world_free(struct world *w)
{
    LK_LIST_EACH (&w->core.clients, struct lk_client, node, c) {
        lk_who_unref(c->who);
        free(c->user);
        free(c->database);
        free(c);
    }
    LK_LIST_EACH (&w->core.servers, struct lk_server, node, s) {
        lk_who_unref(s->who);
        lk_ledger_clear(&s->ledger);
        lk_replies_clear(&s->replies);
        free(s);
    }
    for (size_t i = 0; i < LK_COUNT(w->pools); i++)
        lk_route_clear(&w->pools[i].route);
    for (size_t i = 0; i < LK_COUNT(w->databases); i++)
        free(w->databases[i].name);
    lk_users_free(w->core.users);
    free(w);
}

#endif
