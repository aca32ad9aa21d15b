#include "session/catalogs.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "session/errand.h"
#include "session/link.h"
#include "session/step.h"
#include "sql/catalog_search.h"

#define DEADLINE_US ((int64_t)5 * LK_SECOND_US)
#define AGAIN_US ((int64_t)300 * LK_SECOND_US)
/* DDL mostly comes in crowds. */
#define AFTER_DDL_US LK_SECOND_US
struct lk_catalog {
    struct lk_errand errand; /* first */
    struct lk_catalog *next; /* in core->catalogs */
    char *host, *dbname;     /* owned */
    int port;
    uint32_t pools;          /* of that database; without one it goes, once its errand has ended */
    struct lk_catalog_names *names;   /* in force; NULL: never read */
    struct lk_catalog_search search;  /* the reading under way; without names: none is */
    bool old_server;       /* without pg_proc.prosqlbody */
    bool given_up;         /* the last reading failed */
    int64_t wanted_us;     /* since when it is tried in vain; 0: not yet */
    int64_t due_us;        /* of the next reading or round */
    int64_t began_us, changed_us; /* the reading under way; the last DDL */
    uint64_t queries;      /* of its pools, when it was read last */
};

/* --- pools --- */

static bool
is_of(const struct lk_catalog *c, const struct lk_route *r)
{
    return c->port == r->port && strcmp(c->host, r->host) == 0 && strcmp(c->dbname, r->dbname) == 0;
}

static void
free_catalog(struct lk_catalog *c)
{
    lk_catalog_search_end(&c->search);
    lk_catalog_names_free(c->names);
    free(c->host);
    free(c->dbname);
    free(c);
}

static void
drop_if_unused(struct lk_core *core, struct lk_catalog *c)
{
    if (c->pools > 0 || c->errand.pool)
        return;
    struct lk_catalog **at = &core->catalogs;
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    free_catalog(c);
}

void
lk_catalogs_leave(struct lk_core *core, struct lk_pool *pool)
{
    struct lk_catalog *c = pool->catalog;
    pool->catalog = NULL;
    if (!c)
        return;
    c->pools--;
    drop_if_unused(core, c);
}

void
lk_catalogs_join(struct lk_core *core, struct lk_pool *pool)
{
    const struct lk_route *r = &pool->route;
    struct lk_catalog *c = core->catalogs;
    if (!r->advisory_catalog || core->shared->no_errands) {
        lk_catalogs_leave(core, pool);
        return;
    }
    while (c && !is_of(c, r)) c = c->next;
    if (!c) {
        c = LK_NEW(struct lk_catalog);
        c->host = lk_mem_dup(r->host);
        c->dbname = lk_mem_dup(r->dbname);
        c->port = r->port;
        c->next = core->catalogs;
        core->catalogs = c;
    }
    if (c == pool->catalog)
        return;
    lk_catalogs_leave(core, pool);
    c->pools++;
    pool->catalog = c;
}

bool
lk_catalogs_settled(const struct lk_pool *pool)
{
    const struct lk_catalog *c = pool->catalog;
    return !c || c->names || c->given_up;
}

bool
lk_catalogs_hit(const struct lk_pool *pool, const struct lk_text *text)
{
    const struct lk_catalog *c = pool->catalog;
    return c && c->names && text && lk_catalog_names_hit(c->names, lk_span_make(text->sql, text->n));
}

void
lk_catalogs_doubt(const struct lk_pool *pool, struct lk_watch *w)
{
    const struct lk_catalog *c = pool->catalog;
    if (!w->analysis || !c || !c->names || lk_catalog_names_count(c->names, LK_CATALOG_OVERLOAD) == 0)
        return;
    for (uint16_t i = 0; i < w->call_count; i++) {
        const struct lk_call *call = w->calls[i].call;
        if (!call->place.qualified && lk_catalog_names_have(c->names, LK_CATALOG_OVERLOAD, lk_span_str(call->fn->name)))
            w->types_bad = true;
    }
}

/* What was learned of the statements of its pools is void. */
static void
void_trust(struct lk_core *core, const struct lk_catalog *c)
{
    LK_LIST_EACH(&core->pools, struct lk_pool, node, pool)
    if (pool->catalog == c)
        pool->scope.generation++;
}

void
lk_catalogs_changed(struct lk_core *core, struct lk_pool *pool, const struct lk_analysis *a)
{
    struct lk_catalog *c = pool->catalog;
    if (!c)
        return;
    c->changed_us = core->now.mono_us;
    if (!c->search.names && c->names)
        c->due_us = core->now.mono_us + AFTER_DDL_US;
    for (char **name = a ? a->creates : NULL; name && *name; name++) {
        if (c->names)
            (void)lk_catalog_names_add(c->names, LK_CATALOG_USED, lk_span_str(*name));
        if (c->search.names)
            (void)lk_catalog_names_add(c->search.names, LK_CATALOG_USED, lk_span_str(*name));
    }
}

/* --- reading --- */

static void
on_row(struct lk_core *core, struct lk_errand *e, struct lk_span body)
{
    struct lk_catalog *c = (struct lk_catalog *)(void *)e;
    struct lk_msg_value kind, name, oid;
    if (!lk_msg_row_value(body, 0, &kind, NULL) || !lk_msg_row_value(body, 1, &name, NULL) ||
        !lk_msg_row_value(body, 2, &oid, NULL) || kind.data.n != 1 || name.null || oid.null)
        return;
    lk_catalog_search_row(&c->search, (char)kind.data.p[0], name.data, oid.data);
}

static void
end_reading(struct lk_core *core, struct lk_catalog *c, int64_t again_us)
{
    lk_catalog_search_end(&c->search);
    c->due_us = core->now.mono_us + again_us;
}

static void
take_over(struct lk_core *core, struct lk_catalog *c)
{
    struct lk_catalog_names *before = c->names;
    bool same = before && lk_catalog_names_same(before, c->search.names);
    c->names = c->search.names;
    c->search.names = NULL;
    c->given_up = false;
    lk_catalog_names_free(before);
    end_reading(core, c, c->changed_us >= c->began_us ? AFTER_DDL_US : AGAIN_US);
    if (same)
        return;
    lk_log(LK_LOG_INFO, "catalogue of %s at %s:%d: %zu functions and views take or free session locks, and %zu tables when written",
        c->dbname, c->host, c->port, lk_catalog_names_count(c->names, LK_CATALOG_USED),
        lk_catalog_names_count(c->names, LK_CATALOG_WRITTEN));
    if (lk_catalog_names_count(c->names, LK_CATALOG_OVERLOAD) > 0)
        lk_log(LK_LOG_WARNING, "%s at %s:%d has functions outside pg_catalog by the names of lock functions:"
            " calls by unqualified names are not believed", c->dbname, c->host, c->port);
    void_trust(core, c);
}

static void
on_done(struct lk_core *core, struct lk_errand *e, const struct lk_error *why)
{
    struct lk_catalog *c = (struct lk_catalog *)(void *)e;
    if (c->pools == 0)
        drop_if_unused(core, c);
    else if (why && strcmp(why->sqlstate, "42703") == 0 && !c->old_server) {
        c->old_server = true;
        end_reading(core, c, 0);
    } else if (why && strcmp(why->sqlstate, "08006") == 0) {
        end_reading(core, c, LK_SECOND_US);
    } else if (why) {
        lk_log(LK_LOG_WARNING, "catalogue of %s at %s:%d can't be read (%s): functions that lock are found by probes only",
            c->dbname, c->host, c->port, why->sqlstate);
        c->given_up = true;
        end_reading(core, c, AGAIN_US);
    } else if (lk_catalog_search_more(&c->search)) {
        c->due_us = core->now.mono_us;
    } else {
        take_over(core, c);
    }
}

static const struct lk_errand_kind reads = {.name = "catalogue", .row = on_row, .done = on_done};

static uint64_t
queries_of(const struct lk_core *core, const struct lk_catalog *c)
{
    uint64_t n = 0;
    LK_LIST_EACH(&core->pools, struct lk_pool, node, pool)
    n += pool->catalog == c ? pool->stats.queries : 0;
    return n;
}

/* The next round begins on that pool's idle backend, if it has one to spare. */
static void
begin_round(struct lk_core *core, struct lk_catalog *c, struct lk_pool *pool)
{
    bool first = c->search.round == 0;
    if (!lk_errand_spare(core, pool))
        return;
    if (first) {
        c->began_us = core->now.mono_us;
        c->queries = queries_of(core, c);
        lk_catalog_search_begin(&c->search);
    }
    struct lk_buf params[LK_CATALOG_SEARCH_PARAMS];
    lk_catalog_search_round(&c->search, params);
    for (size_t i = 0; i < LK_COUNT(params); i++) {
        struct lk_span kept = lk_arena_copy(&core->arena, lk_buf_span(&params[i]));
        c->errand.params[i] = kept;
        lk_buf_clear(&params[i]);
    }
    c->errand.kind = &reads;
    c->errand.text = lk_catalog_search_text(c->old_server);
    c->errand.param_count = LK_COUNT(params);
    c->errand.deadline_us = core->now.mono_us + DEADLINE_US;
    if (!lk_errand_begin(core, &c->errand, pool))
        end_reading(core, c, 0);
}

static bool
is_due(struct lk_core *core, struct lk_catalog *c)
{
    int64_t now = core->now.mono_us;
    if (c->errand.pool || now < c->due_us)
        return false;
    uint64_t queries = queries_of(core, c);
    if (!c->names && !c->given_up) {
        if (c->wanted_us == 0 && queries > 0)
            c->wanted_us = now;
        /* nobody can be spared for it: evidence must do until then */
        c->given_up = c->wanted_us > 0 && now - c->wanted_us > DEADLINE_US;
        return true;
    }
    return c->search.round > 0 || c->names == NULL || queries != c->queries || c->changed_us > c->began_us;
}

void
lk_catalogs_tick(struct lk_core *core)
{
    for (struct lk_catalog *c = core->catalogs; c; c = c->next) {
        if (!is_due(core, c))
            continue;
        LK_LIST_EACH(&core->pools, struct lk_pool, node, pool)
        {
            if (pool->catalog == c && !c->errand.pool && c->due_us <= core->now.mono_us)
                begin_round(core, c, pool);
        }
    }
}

void
lk_catalogs_free(struct lk_core *core)
{
    struct lk_catalog *c;
    while ((c = core->catalogs)) {
        core->catalogs = c->next;
        free_catalog(c);
    }
}
