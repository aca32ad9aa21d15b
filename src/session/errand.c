#include "session/errand.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "session/clean.h"
#include "session/link.h"
#include "session/step.h"
#include "wire/build.h"

/* Ours name nothing but what is pg_catalog's. */
static const char own_settings_text[] =
    "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),"
    " pg_catalog.set_config('role', 'none', true), pg_catalog.set_config('statement_timeout', $1, true)";

/* A client may have left a search_path, a role or temporary tables behind that would make an operator's unqualified query
 * read another's tables. Local to the transaction, as is the time-out, so that nothing of it is left to the next client.
 * What the login has by itself may be empty. */
static const char settings_text[] =
    "SELECT pg_catalog.set_config('search_path',"
    " pg_catalog.ltrim(s.reset_val OPERATOR(pg_catalog.||) ', pg_temp', ', '), true),"
    " pg_catalog.set_config('role', 'none', true), pg_catalog.set_config('statement_timeout', $1, true)"
    " FROM pg_catalog.pg_settings AS s WHERE s.name OPERATOR(pg_catalog.=) 'search_path'";

static void
end(struct lk_core *core, struct lk_errand *e, const struct lk_error *why)
{
    lk_pool_leave_errand(e->pool, &e->place);
    /* upkeep must not keep a pool that nobody uses */
    if (e->kind->queues)
        e->pool->empty_since_us = core->now.mono_us;
    e->pool = NULL;
    e->server = NULL;
    if (why)
        lk_log(LK_LOG_DEBUG, "errand \"%s\" failed: %s %s", e->kind->name, why->sqlstate, why->message);
    e->kind->done(core, e, why);
}

static void
build(struct lk_buf *out, const struct lk_errand *e, int64_t left_ms)
{
    char limit[24];
    (void)snprintf(limit, sizeof(limit), "%" PRId64, left_ms);
    const struct lk_span settings[] = {lk_span_str(limit)};
    lk_build_parse(out, "", lk_span_str(e->kind->resets ? settings_text : own_settings_text), 0, lk_span_make(NULL, 0));
    lk_build_bind(out, "", settings, 1);
    lk_build_execute(out, "", 0);
    lk_build_parse(out, "", lk_span_str(e->text), 0, lk_span_make(NULL, 0));
    lk_build_bind(out, "", e->params, e->param_count);
    lk_build_execute(out, "", 0);
    lk_build_sync(out);
}

static void
run(struct lk_core *core, struct lk_errand *e, struct lk_server *s)
{
    static const enum lk_reply_kind before[] = {LK_REPLY_PARSE, LK_REPLY_BIND, LK_REPLY_EXECUTE},
                                    query[] = {LK_REPLY_PARSE, LK_REPLY_BIND, LK_REPLY_EXECUTE, LK_REPLY_SYNC};
    struct lk_buf out = {0};
    int64_t left_us = e->deadline_us - core->now.mono_us;
    lk_pool_leave_errand(e->pool, &e->place);
    e->server = s;
    s->errand = e;
    s->reset_fresh = s->reset_fresh && !e->kind->resets;
    lk_server_enter(core, s, LK_SERVER_ERRAND);
    lk_server_set_unnamed(s, NULL);
    build(&out, e, left_us > 1000 ? left_us / 1000 : 1);
    bool sent = lk_step_expect(s, LK_FOR_ERRAND_SETTINGS, before, LK_COUNT(before)) &&
        lk_step_expect(s, LK_FOR_ERRAND, query, LK_COUNT(query)) && lk_step_send_buf(core, &s->end, &out);
    lk_buf_clear(&out);
    if (!sent)
        lk_server_close(core, s, "out of memory", LK_REASON_BACKEND_CLOSED, false);
}

struct lk_server *
lk_errand_spare(struct lk_core *core, struct lk_pool *pool)
{
    if (pool->paused || !lk_core_lends(core) || lk_pool_first_waiter(pool) || lk_list_first(&pool->errands))
        return NULL;
    struct lk_seat *seat = lk_pool_idle(pool, false);
    return seat ? LK_CONTAINER(seat, struct lk_server, seat) : NULL;
}

bool
lk_errand_begin(struct lk_core *core, struct lk_errand *e, struct lk_pool *pool)
{
    struct lk_server *s = e->kind->queues ? lk_link_lendable(core, pool) : lk_errand_spare(core, pool);
    if (!e->kind->queues && !s)
        return false;
    e->pool = pool;
    if (s && !lk_list_first(&pool->errands)) {
        run(core, e, s);
        return true;
    }
    lk_pool_wait_errand(pool, &e->place, core->now.mono_us);
    lk_link_serve(core, pool);
    return true;
}

void
lk_errand_begin_extra(struct lk_core *core, struct lk_errand *e, struct lk_pool *pool)
{
    struct lk_server *s = lk_server_open(core, pool);
    s->seat.extra = true;
    s->errand = e;
    e->pool = pool;
    e->server = s;
}

void
lk_errand_start(struct lk_core *core, struct lk_server *s)
{
    lk_server_enter(core, s, LK_SERVER_IDLE);
    run(core, s->errand, s);
}

static struct lk_errand *
first_waiting(struct lk_pool *pool)
{
    struct lk_node *n = lk_list_first(&pool->errands);
    return n ? LK_CONTAINER(LK_LIST_ITEM(n, struct lk_waiter, node), struct lk_errand, place) : NULL;
}

void
lk_errand_serve(struct lk_core *core, struct lk_pool *pool)
{
    struct lk_errand *e;
    struct lk_server *s;
    while ((e = first_waiting(pool)) && (s = lk_link_lendable(core, pool))) run(core, e, s);
}

void
lk_errand_fail_waiting(struct lk_core *core, struct lk_pool *pool, const struct lk_error *why)
{
    struct lk_errand *e;
    while ((e = first_waiting(pool))) end(core, e, why);
}

void
lk_errand_check(struct lk_core *core, struct lk_pool *pool)
{
    struct lk_error late;
    struct lk_errand *e;
    lk_error_set(&late, "08006", "no server in time");
    while ((e = first_waiting(pool)) && core->now.mono_us > e->deadline_us) end(core, e, &late);
}

void
lk_errand_row(struct lk_core *core, struct lk_server *s, struct lk_span body)
{
    s->errand->kind->row(core, s->errand, body);
}

/* The backend goes home first, so that whatever the owner does next can have it. */
void
lk_errand_answered(struct lk_core *core, struct lk_server *s)
{
    struct lk_errand *e = s->errand;
    struct lk_error why;
    bool failed = s->ours_failed[0] != '\0';
    if (failed)
        lk_error_set(&why, s->ours_failed, "%s failed", e->kind->name);
    s->errand = NULL;
    s->ours_failed[0] = '\0';
    s->close_after |= s->seat.extra;
    if (e->kind->queues)
        s->unused_since_us = core->now.mono_us;
    lk_clean_begin(core, s, e->kind->resets ? LK_CLEAN_AUTHORIZATION : LK_CLEAN_DONE, LK_REASON_NONE);
    end(core, e, failed ? &why : NULL);
}

void
lk_errand_lost(struct lk_core *core, struct lk_server *s, const char *text)
{
    struct lk_errand *e = s->errand;
    struct lk_error why;
    lk_error_set(&why, "08006", "%s", text);
    s->errand = NULL;
    end(core, e, &why);
}
