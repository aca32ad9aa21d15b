#include "admin/views.h"

#include <stdlib.h>

/* What is counted of one pool. */
struct tally {
    const struct lk_pool *pool;
    uint32_t cl_active, cl_waiting, cl_cancelling;
    uint32_t sv_active, sv_cancelling, sv_being_canceled, sv_idle, sv_tested, sv_login, sv_pinned;
    int64_t longest_us;
};

struct tallies {
    struct tally *of; /* owned; by the pool's address */
    size_t count;
};

static int
compare_tallies(const void *a, const void *b)
{
    uintptr_t pool_a = (uintptr_t)((const struct tally *)a)->pool, pool_b = (uintptr_t)((const struct tally *)b)->pool;
    return (pool_a > pool_b) - (pool_a < pool_b);
}

/* NULL: no such pool. */
static struct tally *
tally_of(const struct tallies *all, const struct lk_pool *pool)
{
    struct tally key = {.pool = pool};
    return all->count > 0 ? bsearch(&key, all->of, all->count, sizeof key, compare_tallies) : NULL;
}

static void
tally_client(struct tally *tally, const struct lk_client *c, int64_t mono_us)
{
    switch (c->state) {
    case LK_CLIENT_READY:
    case LK_CLIENT_LINKED:
        tally->cl_active++;
        break;
    case LK_CLIENT_WELCOME:
        tally->cl_waiting++;
        break;
    case LK_CLIENT_WAITING:
        tally->cl_waiting++;
        if (mono_us - c->place.since_us > tally->longest_us)
            tally->longest_us = mono_us - c->place.since_us;
        break;
    default:
        break;
    }
}

static void
tally_server(struct tally *tally, const struct lk_core *core, const struct lk_server *s)
{
    switch (s->state) {
    case LK_SERVER_CONNECT:
    case LK_SERVER_LOGIN:
    case LK_SERVER_SETUP:
        tally->sv_login++;
        break;
    case LK_SERVER_IDLE:
        tally->sv_idle++;
        break;
    case LK_SERVER_LINKED:
        tally->sv_active++;
        tally->sv_pinned += (lk_server_pins(core, s) & (LK_PIN_LOCKS | LK_PIN_UNSURE)) != 0;
        break;
    case LK_SERVER_ERRAND:
    case LK_SERVER_CLEANING:
        if (s->cancels > 0)
            tally->sv_being_canceled++;
        else
            tally->sv_tested++;
        break;
    default:
        break;
    }
}

static void
tally_all(struct tallies *all, const struct lk_show *from)
{
    const struct lk_core *core = from->core;
    *all = (struct tallies){.of = lk_mem_new((core->pools.count + 1) * sizeof(struct tally))};
    LK_LIST_EACH (&core->pools, struct lk_pool, node, pool)
        all->of[all->count++].pool = pool;
    qsort(all->of, all->count, sizeof *all->of, compare_tallies);
    LK_LIST_EACH (&core->clients, struct lk_client, node, c) {
        struct tally *tally = tally_of(all, c->pool);
        if (tally)
            tally_client(tally, c, from->now.mono_us);
    }
    LK_LIST_EACH (&core->servers, struct lk_server, node, s) {
        struct tally *tally = tally_of(all, s->seat.pool);
        if (tally)
            tally_server(tally, core, s);
    }
    LK_LIST_EACH (&core->cancellers, struct lk_canceller, node, k) {
        struct tally *tally = k->server ? tally_of(all, k->server->seat.pool) : NULL;
        if (tally) {
            tally->sv_cancelling++;
            tally->cl_cancelling += k->client != NULL;
        }
    }
}

static void
add_pool(struct lk_table *t, const char *database, const char *user, const struct tally *tally, const char *mode)
{
    lk_table_add(t, database);
    lk_table_add(t, user);
    lk_table_add_uint(t, tally->cl_active);
    lk_table_add_uint(t, tally->cl_waiting);
    lk_table_add_uint(t, tally->cl_cancelling);
    lk_table_add_uint(t, 0);
    lk_table_add_uint(t, tally->sv_active);
    lk_table_add_uint(t, tally->sv_cancelling);
    lk_table_add_uint(t, tally->sv_being_canceled);
    lk_table_add_uint(t, tally->sv_idle);
    lk_table_add_uint(t, 0);
    lk_table_add_uint(t, tally->sv_tested);
    lk_table_add_uint(t, tally->sv_login);
    lk_table_add_uint(t, 0);
    lk_table_add_int(t, tally->longest_us); /* the finish splits it */
    lk_table_add(t, mode);
    lk_table_add(t, NULL);
    lk_table_add_uint(t, tally->sv_pinned);
}

enum { POOLS_MAXWAIT = 13, POOLS_MAXWAIT_US };

void
lk_show_pools(struct lk_table *t, const struct lk_show *from)
{
    struct tallies all;
    tally_all(&all, from);
    LK_LIST_EACH (&from->core->pools, struct lk_pool, node, pool) {
        add_pool(t, pool->route.database, pool->route.user, tally_of(&all, pool), lk_show_pool_mode(pool->route.mode));
    }
    free(all.of);
    struct tally console = {0};
    LK_LIST_EACH (&from->core->clients, struct lk_client, node, c)
        console.cl_active += c->state == LK_CLIENT_CONSOLE;
    add_pool(t, "pgbouncer", "pgbouncer", &console, "statement");
}

void
lk_show_pools_finish(struct lk_table *answer, const struct lk_table *merged)
{
    for (size_t row = 0; row < merged->row_count; row++) {
        uint64_t longest_us = lk_table_uint(merged, row, POOLS_MAXWAIT_US);
        for (size_t c = 0; c < merged->column_count; c++) {
            if (c == POOLS_MAXWAIT)
                lk_table_add_uint(answer, longest_us / LK_SECOND_US);
            else if (c == POOLS_MAXWAIT_US)
                lk_table_add_uint(answer, longest_us % LK_SECOND_US);
            else
                lk_table_add(answer, lk_table_cell(merged, row, c));
        }
    }
}

static int
pick(int special, int general)
{
    return special >= 0 ? special : general;
}

/* A database's line as settings have it, with what is counted of one of its pools, or 0. */
static void
add_database(struct lk_table *t, const struct lk_core *core, const struct lk_database_settings *d, const char *name,
    const struct lk_pool *pool, size_t connections)
{
    const struct lk_settings *s = core->settings;
    int64_t lifetime_us = d->server_lifetime_us >= 0 ? d->server_lifetime_us : s->server_lifetime_us;
    lk_table_add(t, name);
    lk_table_add(t, d->host);
    lk_table_add_int(t, d->port);
    lk_table_add(t, d->dbname ? d->dbname : name);
    lk_table_add(t, d->user);
    lk_table_add_int(t, pick(d->pool_size, s->default_pool_size));
    lk_table_add_int(t, pick(d->min_pool_size, s->min_pool_size));
    lk_table_add_int(t, pick(d->reserve_pool_size, s->reserve_pool_size));
    lk_table_add_int(t, lifetime_us / LK_SECOND_US);
    lk_table_add(t, lk_show_pool_mode(d->pool_mode));
    lk_table_add(t, d->load_balance_hosts);
    lk_table_add_int(t, pick(d->max_db_connections, s->max_db_connections));
    lk_table_add_uint(t, connections);
    lk_table_add_int(t, pick(d->max_db_client_connections, s->max_db_client_connections));
    lk_table_add_uint(t, pool ? pool->clients : 0);
    lk_table_add_int(t, pool ? pool->paused : lk_names_has(&core->paused, name));
    lk_table_add_int(t, lk_names_has(&core->disabled, name));
}

static size_t
connections_of(const struct lk_pool *pool)
{
    size_t count = 0;
    for (int list = LK_SEAT_NONE + 1; list < LK_SEAT_LISTS; list++)
        count += pool->seats[list].count;
    return count;
}

static void
add_console_database(struct lk_table *t, const struct lk_core *core)
{
    size_t clients = 0;
    LK_LIST_EACH (&core->clients, struct lk_client, node, c)
        clients += c->state == LK_CLIENT_CONSOLE;
    char name[] = "pgbouncer";
    struct lk_database_settings d = {
        .port = core->settings->listen_port,
        .user = name,
        .pool_size = 2,
        .pool_mode = LK_POOL_STATEMENT,
        .server_lifetime_us = -1,
    };
    struct lk_pool counts = {.clients = (uint32_t)clients};
    add_database(t, core, &d, name, &counts, 0);
}

void
lk_show_databases(struct lk_table *t, const struct lk_show *from)
{
    const struct lk_settings *s = from->core->settings;
    const struct lk_database_settings *fallback = lk_settings_fallback(s);
    for (size_t i = 0; i < s->database_count; i++) {
        if (&s->databases[i] != fallback)
            add_database(t, from->core, &s->databases[i], s->databases[i].name, NULL, 0);
    }
    LK_LIST_EACH (&from->core->pools, struct lk_pool, node, pool) {
        const struct lk_database_settings *d = lk_settings_database(s, pool->route.database);
        d = d ? d : fallback;
        if (d) /* else a RELOAD took it out of the settings */
            add_database(t, from->core, d, pool->route.database, pool, connections_of(pool));
    }
    add_console_database(t, from->core);
}

static void
add_size(struct lk_table *t, int size)
{
    if (size >= 0)
        lk_table_add_int(t, size);
    else
        lk_table_add(t, NULL);
}

static void
add_user(struct lk_table *t, const struct lk_settings *s, const char *name, size_t connections, size_t clients)
{
    const struct lk_user_settings *u = lk_settings_user(s, name);
    lk_table_add(t, name);
    add_size(t, u ? u->pool_size : -1);
    add_size(t, u ? u->reserve_pool_size : -1);
    lk_table_add(t, lk_show_pool_mode(u ? u->pool_mode : -1));
    lk_table_add_int(t, pick(u ? u->max_user_connections : -1, s->max_user_connections));
    lk_table_add_uint(t, connections);
    lk_table_add_int(t, pick(u ? u->max_user_client_connections : -1, s->max_user_client_connections));
    lk_table_add_uint(t, clients);
}

void
lk_show_users(struct lk_table *t, const struct lk_show *from)
{
    const struct lk_core *core = from->core;
    const struct lk_settings *s = core->settings;
    for (size_t i = 0; core->worker == 0 && i < lk_users_count(core->users); i++)
        add_user(t, s, lk_users_name(core->users, i), 0, 0);
    for (size_t i = 0; core->worker == 0 && i < s->user_count; i++)
        add_user(t, s, s->users[i].name, 0, 0);
    LK_LIST_EACH (&core->pools, struct lk_pool, node, pool)
        add_user(t, s, pool->route.user, connections_of(pool), 0);
    LK_LIST_EACH (&core->clients, struct lk_client, node, c) {
        if (lk_show_logged_in(c) && c->user)
            add_user(t, s, c->user, 0, 1);
    }
}
