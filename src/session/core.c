#include "session/core.h"

#include <stdlib.h>
#include <stdio.h>
#include <strings.h>

#include "base/log.h"
#include "session/cancel.h"
#include "session/catalogs.h"
#include "session/clean.h"
#include "session/errand.h"
#include "session/link.h"
#include "session/remark.h"
#include "session/secrets.h"
#include "session/step.h"
#include "session/sweeps.h"

#define ANALYSES_BYTES ((size_t)16 * 1024 * 1024)

/* Names of track_extra_parameters that are not among the fixed ones. */
static void
read_extra_params(struct lk_core *core, const char *list)
{
    core->param_count = LK_PARAM_FIXED;
    char *copy = lk_mem_dup(list ? list : ""), *rest = copy, *name;
    while ((name = strsep(&rest, ",")) && core->param_count < LK_PARAM_MAX) {
        name += strspn(name, " \t");
        name[strcspn(name, " \t")] = '\0';
        if (name[0] && lk_param_find(core, lk_span_str(name)) < 0)
            core->extra_params[core->param_count++ - LK_PARAM_FIXED] = lk_mem_dup(name);
    }
    free(copy);
}

static struct lk_users *
read_users(const struct lk_settings *settings)
{
    struct lk_buf errors = {0};
    struct lk_span text = lk_span_make(settings->auth_file_text, settings->auth_file_text ? settings->auth_file_length : 0);
    struct lk_users *users = lk_users_parse(text, settings->auth_file ? settings->auth_file : "auth_file", &errors);
    if (errors.len > 0)
        lk_log(LK_LOG_WARNING, "%.*s", (int)errors.len, (const char *)errors.data);
    lk_buf_clear(&errors);
    return users;
}

struct lk_core *
lk_core_new(struct lk_shared *shared, uint32_t worker, struct lk_settings *settings, struct lk_now now)
{
    struct lk_core *core = LK_NEW(struct lk_core);
    core->shared = shared;
    core->worker = worker;
    core->settings = lk_settings_ref(settings);
    core->users = read_users(settings);
    core->now = now;
    core->stats_us = now.mono_us;
    lk_list_init(&core->clients);
    lk_list_init(&core->servers);
    lk_list_init(&core->cancellers);
    lk_list_init(&core->pools);
    for (size_t i = 0; i < LK_COUNT(core->dead); i++)
        lk_list_init(&core->dead[i]);
    core->analyses = lk_analysis_cache_new(ANALYSES_BYTES, shared->hash_key);
    core->trust = lk_trust_new(LK_TRUST_MAX);
    core->lock_statements = lk_statements_new(LK_STATEMENTS_MAX);
    read_extra_params(core, settings->track_extra_parameters);
    return core;
}

void
lk_core_free_pool(struct lk_core *core, struct lk_pool *pool)
{
    lk_list_remove(&core->pools, &pool->node);
    lk_catalogs_leave(core, pool);
    lk_sweeps_leave(core, pool);
    lk_remark_leave(pool);
    lk_welcome_forget(pool);
    lk_pool_free(pool, core->shared->budgets);
}

void
lk_core_free(struct lk_core *core)
{
    lk_core_settle(core);
    struct lk_error over;
    lk_error_set(&over, "57P01", "pooler is shutting down");
    LK_LIST_EACH(&core->pools, struct lk_pool, node, pool)
    {
        lk_errand_fail_waiting(core, pool, &over);
        lk_core_free_pool(core, pool);
    }
    lk_effects_clear(&core->effects);
    lk_arena_clear(&core->arena);
    lk_user_keys_free(core);
    lk_secrets_free(core);
    lk_catalogs_free(core);
    lk_sweeps_free(core);
    lk_analysis_cache_free(core->analyses);
    lk_trust_free(core->trust);
    free(core->remarks);
    lk_statements_free(core->lock_statements);
    lk_params_tidy(core, true);
    for (unsigned i = LK_PARAM_FIXED; i < core->param_count; i++)
        free((void *)(uintptr_t)core->extra_params[i - LK_PARAM_FIXED]);
    lk_names_drop(&core->paused, NULL);
    lk_names_drop(&core->disabled, NULL);
    lk_users_free(core->users);
    lk_settings_unref(core->settings);
    free(core);
}

void
lk_core_settle(struct lk_core *core)
{
    core->effects.count = 0;
    lk_arena_reset(&core->arena);
    LK_LIST_EACH(&core->dead[LK_END_CLIENT], struct lk_client, node, c)
    {
        lk_list_remove(&core->dead[LK_END_CLIENT], &c->node);
        lk_client_free(core, c);
    }
    LK_LIST_EACH(&core->dead[LK_END_SERVER], struct lk_server, node, s)
    {
        lk_list_remove(&core->dead[LK_END_SERVER], &s->node);
        lk_server_free(core, s);
    }
    LK_LIST_EACH(&core->dead[LK_END_CANCEL], struct lk_canceller, node, k)
    {
        lk_list_remove(&core->dead[LK_END_CANCEL], &k->node);
        lk_buf_clear(&k->packet);
        free(k);
    }
}

/* --- pools --- */

static struct lk_pool *
find_pool(struct lk_core *core, const struct lk_route *r)
{
    LK_LIST_EACH(&core->pools, struct lk_pool, node, pool)
    if (strcmp(pool->route.database, r->database) == 0 && strcmp(pool->route.user, r->user) == 0)
        return pool;
    return NULL;
}

/* Takes the route over. */
static struct lk_pool *
pool_of_route(struct lk_core *core, struct lk_route route)
{
    struct lk_pool *pool = find_pool(core, &route);
    if (pool) {
        lk_route_clear(&route);
        return pool;
    }
    pool = lk_pool_new(&route, core->shared->budgets, core->now.mono_us);
    pool->scope.id = ++core->next_scope;
    lk_catalogs_join(core, pool);
    lk_sweeps_join(core, pool);
    pool->paused = lk_names_has(&core->paused, pool->route.database);
    lk_list_push(&core->pools, &pool->node);
    return pool;
}

struct lk_pool *
lk_core_pool(struct lk_core *core, const char *database, const char *user)
{
    struct lk_route route = {0};
    return lk_route_make(&route, core->settings, database, user) ? pool_of_route(core, route) : NULL;
}

struct lk_pool *
lk_core_pool_of(struct lk_core *core, const char *database, const char *user)
{
    struct lk_route route = {0};
    return lk_route_make_as(&route, core->settings, database, user) ? pool_of_route(core, route) : NULL;
}

/* --- steps --- */

struct lk_end *
lk_core_accept(struct lk_core *core, const struct lk_peer *peer, struct lk_now now)
{
    core->now = now;
    return &lk_client_new(core, peer)->end;
}

size_t
lk_core_input(struct lk_core *core, struct lk_end *end, struct lk_span in, struct lk_now now)
{
    core->now = now;
    size_t done = in.n;
    /* nothing that comes in the clear while the handshake is awaited may be believed */
    if (end->dead || end->securing)
        return in.n;
    if (end->kind == LK_END_CLIENT)
        done = lk_client_input(core, (struct lk_client *)(void *)end, in);
    else if (end->kind == LK_END_SERVER)
        done = lk_answers_input(core, (struct lk_server *)(void *)end, in);
    else
        done = lk_cancel_input(core, (struct lk_canceller *)(void *)end, in);
    lk_link_serve_due(core);
    return done;
}

void
lk_core_opened(struct lk_core *core, struct lk_end *end, const struct lk_peer *peer, struct lk_now now)
{
    core->now = now;
    if (end->kind == LK_END_CANCEL) {
        lk_cancel_opened(core, (struct lk_canceller *)(void *)end, peer->unix_socket);
        return;
    }
    struct lk_server *s = (struct lk_server *)(void *)end;
    (void)snprintf(s->remote_addr, sizeof(s->remote_addr), "%s", peer->addr ? peer->addr : "");
    (void)snprintf(s->local_addr, sizeof(s->local_addr), "%s", peer->local_addr ? peer->local_addr : "");
    s->local_port = peer->local_port;
    lk_server_login_begin(core, s, peer->unix_socket);
    lk_link_serve_due(core);
}

void
lk_core_secured(struct lk_core *core, struct lk_end *end, struct lk_now now)
{
    core->now = now;
    end->securing = false;
    if (end->kind == LK_END_SERVER)
        lk_server_login_secured(core, (struct lk_server *)(void *)end);
    else if (end->kind == LK_END_CANCEL)
        lk_cancel_secured(core, (struct lk_canceller *)(void *)end);
    lk_link_serve_due(core);
}

void
lk_core_lost(struct lk_core *core, struct lk_end *end, const char *why, struct lk_now now)
{
    core->now = now;
    if (end->dead)
        return;
    switch (end->kind) {
    case LK_END_CLIENT:
        lk_client_lost(core, (struct lk_client *)(void *)end, why);
        break;
    case LK_END_SERVER:
        lk_server_lost(core, (struct lk_server *)(void *)end, why);
        break;
    case LK_END_CANCEL:
        lk_cancel_ended(core, (struct lk_canceller *)(void *)end);
        break;
    }
    lk_link_serve_due(core);
}

/* --- RELOAD --- */

/* The pool's database is no longer in the settings. */
static void
drop_pool(struct lk_core *core, struct lk_pool *pool)
{
    struct lk_error e;
    pool->unwanted = true;
    lk_error_set(&e, "3D000", "database configuration changed");
    LK_LIST_EACH(&core->clients, struct lk_client, node, c)
    if (c->pool == pool)
        lk_client_fail(core, c, &e, LK_REASON_ADMIN);
    lk_errand_fail_waiting(core, pool, &e);
    LK_LIST_EACH(&core->servers, struct lk_server, node, s)
    if (s->seat.pool == pool)
        s->close_after = true;
}

static void
doubt_server(struct lk_core *core, struct lk_server *s)
{
    lk_ledger_doubt(&s->ledger, LK_UNSURE_NEW);
    if (s->state == LK_SERVER_IDLE)
        lk_clean_begin(core, s, LK_CLEAN_PROBE, LK_REASON_ADMIN);
    else
        lk_link_settle(core, s);
}

static void
reload_pool(struct lk_core *core, struct lk_pool *pool)
{
    struct lk_route route = {0};
    bool made = pool->route.as_given ? lk_route_make_as(&route, core->settings, pool->route.database, pool->route.user)
                                     : lk_route_make(&route, core->settings, pool->route.database, pool->route.user);
    if (!made) {
        drop_pool(core, pool);
        return;
    }
    pool->unwanted = false;
    bool moved = !lk_route_same_server(&pool->route, &route);
    bool doubt = pool->route.advisory_lock_policy != route.advisory_lock_policy ||
        pool->route.advisory_unlock_all != route.advisory_unlock_all;
    lk_pool_reroute(pool, &route, core->shared->budgets);
    lk_catalogs_join(core, pool);
    lk_sweeps_join(core, pool);
    if (moved) {
        pool->failed_us = 0;
        pool->scope.generation++; /* what statements do there is not known */
        lk_remark_leave(pool);
    }
    LK_LIST_EACH(&core->servers, struct lk_server, node, s)
    {
        if (s->seat.pool != pool)
            continue;
        s->close_after |= moved;
        if (doubt && !moved)
            doubt_server(core, s);
    }
}

void
lk_core_reload(struct lk_core *core, struct lk_settings *settings, struct lk_now now)
{
    core->now = now;
    struct lk_settings *old = core->settings;
    core->settings = lk_settings_ref(settings);
    lk_users_free(core->users);
    core->users = read_users(settings);
    lk_secrets_doubt_all(core);
    LK_LIST_EACH(&core->clients, struct lk_client, node, c)
    c->limits = c->user ? lk_settings_user(settings, c->user) : NULL;
    LK_LIST_EACH(&core->pools, struct lk_pool, node, pool) reload_pool(core, pool);
    lk_server_login_reload(core, old);
    lk_settings_unref(old);
    lk_core_tick(core, now);
}
