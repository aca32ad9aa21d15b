#include "session/sweeps.h"

#include <stdlib.h>

#include "base/log.h"
#include "session/clean.h"
#include "session/link.h"
#include "session/step.h"
#include "session/tell.h"

#define DEADLINE_US ((int64_t)5 * LK_SECOND_US)
/* A wait that becomes long is looked at at once, but no more often than this. */
#define SOONEST_US LK_SECOND_US
#define MISSED_MAX 3u

#define SWEEP_TEXT(waited)                                                                                                 \
    "SELECT l.pid, l.granted, l.mode, l.classid, l.objid, l.objsubid, " waited ", d.datname"                               \
    " FROM pg_catalog.pg_locks AS l LEFT JOIN pg_catalog.pg_database AS d ON d.oid = l.database"                           \
    " WHERE l.locktype = 'advisory' ORDER BY l.granted LIMIT 20000"

static const char sweep_text[] =
    SWEEP_TEXT("(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - l.waitstart) * 1000000)::pg_catalog.int8");
static const char sweep_text_13[] = SWEEP_TEXT("NULL");

/* --- the servers that are swept --- */

static void
free_sweep(struct lk_sweep *sw)
{
    free(sw->host);
    free(sw->rows);
    free(sw->reading);
    free(sw);
}

static void
drop_if_unused(struct lk_core *core, struct lk_sweep *sw)
{
    if (sw->pools > 0 || sw->errand.pool)
        return;
    struct lk_sweep **at = &core->sweeps;
    while (*at != sw) at = &(*at)->next;
    *at = sw->next;
    free_sweep(sw);
}

void
lk_sweeps_leave(struct lk_core *core, struct lk_pool *pool)
{
    struct lk_sweep *sw = pool->sweep;
    pool->sweep = NULL;
    if (!sw)
        return;
    sw->pools--;
    drop_if_unused(core, sw);
}

void
lk_sweeps_join(struct lk_core *core, struct lk_pool *pool)
{
    const struct lk_route *r = &pool->route;
    struct lk_sweep *sw = core->sweeps;
    while (sw && (sw->port != r->port || strcmp(sw->host, r->host) != 0)) sw = sw->next;
    if (!sw) {
        sw = LK_NEW(struct lk_sweep);
        sw->host = lk_mem_dup(r->host);
        sw->port = r->port;
        sw->due_us = core->now.mono_us + core->settings->advisory_sweep_interval_us;
        sw->next = core->sweeps;
        core->sweeps = sw;
    }
    if (sw == pool->sweep)
        return;
    lk_sweeps_leave(core, pool);
    sw->pools++;
    pool->sweep = sw;
}

void
lk_sweeps_free(struct lk_core *core)
{
    struct lk_sweep *sw;
    while ((sw = core->sweeps)) {
        core->sweeps = sw->next;
        free_sweep(sw);
    }
}

struct lk_server *
lk_sweep_server(const struct lk_core *core, const struct lk_sweep *sw, uint32_t pid)
{
    LK_LIST_EACH(&core->servers, struct lk_server, node, s)
    if (s->pid == pid && pid != 0 && s->seat.pool->sweep == sw)
        return s;
    return NULL;
}

static bool
same_lock(const struct lk_sweep_row *a, const struct lk_sweep_row *b)
{
    return a->key.classid == b->key.classid && a->key.objid == b->key.objid && a->key.subid == b->key.subid &&
           strcmp(a->database, b->database) == 0;
}

const struct lk_sweep_row *
lk_sweep_holder(const struct lk_sweep *sw, const struct lk_sweep_row *waiter)
{
    for (uint32_t i = 0; i < sw->count; i++) {
        const struct lk_sweep_row *r = &sw->rows[i];
        bool in_the_way = r->mode == LK_MODE_EXCLUSIVE || waiter->mode == LK_MODE_EXCLUSIVE;
        if (r->granted && in_the_way && r->pid != waiter->pid && same_lock(r, waiter))
            return r;
    }
    return NULL;
}

/* --- what a row says --- */

static uint64_t
number(struct lk_msg_value v)
{
    uint64_t n = 0;
    for (size_t i = 0; !v.null && i < v.data.n && i < 19; i++) {
        if (v.data.p[i] < '0' || v.data.p[i] > '9')
            return n;
        n = n * 10 + (uint64_t)(v.data.p[i] - '0');
    }
    return n;
}

static void
on_row(struct lk_core *core, struct lk_errand *e, struct lk_span body)
{
    struct lk_sweep *sw = (struct lk_sweep *)(void *)e;
    struct lk_msg_value v[8];
    for (unsigned i = 0; i < LK_COUNT(v); i++)
        if (!lk_msg_row_value(body, i, &v[i], NULL))
            return;
    if (sw->reading_count == sw->room) {
        uint32_t room = sw->room ? sw->room * 2 : 64;
        struct lk_sweep_row *more = sw->room < LK_SWEEP_ROWS ? realloc(sw->reading, room * sizeof(*more)) : NULL;
        if (!more)
            return;
        sw->reading = more;
        sw->room = room;
    }
    struct lk_sweep_row *r = &sw->reading[sw->reading_count++];
    *r = (struct lk_sweep_row){
        .pid = (uint32_t)number(v[0]),
        .granted = lk_span_is(v[1].data, "t"),
        .mode = lk_span_is(v[2].data, "ShareLock") ? LK_MODE_SHARED : LK_MODE_EXCLUSIVE,
        .key = {.classid = (uint32_t)number(v[3]), .objid = (uint32_t)number(v[4]), .subid = (uint32_t)number(v[5])},
        .waited_us = v[6].null ? -1 : (int64_t)number(v[6]),
    };
    size_t n = v[7].data.n < sizeof(r->database) ? v[7].data.n : sizeof(r->database) - 1;
    if (!v[7].null)
        memcpy(r->database, v[7].data.p, n);
}

/* --- what it means for our servers --- */

/* Nothing has happened on it since before the sweep began, and it is outside a transaction: what the sweep saw is what it
 * holds for the session. */
static bool
at_rest_since(const struct lk_server *s, const struct lk_sweep *sw)
{
    int64_t began_us = sw->began_us;
    /* the one that made the sweep was idle, and is again */
    if (s->state == LK_SERVER_IDLE)
        return s->state_us < began_us || s->id == sw->made_by;
    return s->state == LK_SERVER_LINKED && s->status == 'I' && lk_replies_quiet(&s->replies) && s->cancels == 0 &&
           s->client->remain == 0 && s->state_us < began_us && s->client->state_us < began_us;
}

/* One of them, while a sweep's rows are gone through. */
struct resting {
    uint32_t pid;
    uint32_t seen; /* session locks that the sweep shows on it */
    struct lk_server *server;
};

static int
by_pid(const void *a, const void *b)
{
    uint32_t x = ((const struct resting *)a)->pid, y = ((const struct resting *)b)->pid;
    return (x > y) - (x < y);
}

static struct resting *
collect_resting(const struct lk_core *core, const struct lk_sweep *sw, size_t *count)
{
    struct resting *all = lk_mem_new((core->servers.count + 1) * sizeof(*all));
    *count = 0;
    LK_LIST_EACH(&core->servers, struct lk_server, node, s)
    if (s->seat.pool->sweep == sw && !s->ledger.unsure && at_rest_since(s, sw))
        all[(*count)++] = (struct resting){.pid = s->pid, .server = s};
    qsort(all, *count, sizeof(*all), by_pid);
    return all;
}

/* Each lock that the ledger doesn't have is noted there. */
static void
note_row(struct lk_core *core, const struct lk_sweep_row *r, struct resting *all, size_t count)
{
    struct resting wanted = {.pid = r->pid};
    struct resting *found = count > 0 ? bsearch(&wanted, all, count, sizeof(*all), by_pid) : NULL;
    if (!found || !r->granted || lk_key_space(r->key) == LK_SPACE_OTHER)
        return;
    found->seen++;
    if (!lk_ledger_find(&found->server->ledger, r->key, r->mode))
        lk_ledger_swept(&found->server->ledger, r->key, r->mode, core->now);
}

static void
judge(struct lk_core *core, const struct lk_sweep *sw, const struct resting *x)
{
    struct lk_server *s = x->server;
    /* a full sweep may have left its rows out */
    if (x->seen < s->ledger.count && sw->count < LK_SWEEP_ROWS)
        lk_ledger_doubt(&s->ledger, LK_UNSURE_HIDDEN);
    if (!s->ledger.unsure)
        return;
    s->probe_settled = false;
    if (s->state == LK_SERVER_IDLE)
        lk_clean_begin(core, s, LK_CLEAN_PROBE, LK_REASON_TRANSACTION_END);
    else
        lk_link_settle(core, s);
}

static void
compare(struct lk_core *core, const struct lk_sweep *sw)
{
    size_t count;
    struct resting *all = collect_resting(core, sw, &count);
    for (uint32_t i = 0; i < sw->count; i++) note_row(core, &sw->rows[i], all, count);
    for (size_t i = 0; i < count; i++) judge(core, sw, &all[i]);
    free(all);
}

/* The request that waits is told of once. */
static void
tell_wait(struct lk_core *core, const struct lk_sweep *sw, const struct lk_sweep_row *r)
{
    struct lk_server *s = r->granted || r->waited_us < core->settings->advisory_wait_log_us
        ? NULL : lk_sweep_server(core, sw, r->pid);
    if (!s || s->state != LK_SERVER_LINKED || s->wait_told_us == s->request_us)
        return;
    const struct lk_sweep_row *holder = lk_sweep_holder(sw, r);
    s->wait_told_us = s->request_us;
    lk_tell_wait(core, s, r->key, r->mode, r->waited_us, holder ? lk_sweep_server(core, sw, holder->pid) : NULL,
        holder ? holder->pid : 0);
}

static void
on_done(struct lk_core *core, struct lk_errand *e, const struct lk_error *why)
{
    struct lk_sweep *sw = (struct lk_sweep *)(void *)e;
    if (sw->pools == 0) {
        drop_if_unused(core, sw);
        return;
    }
    sw->due_us = sw->began_us + core->settings->advisory_sweep_interval_us;
    if (why) {
        if (strcmp(why->sqlstate, "42703") == 0 && !sw->old_server) {
            sw->old_server = true;
            sw->due_us = core->now.mono_us;
        } else {
            lk_log(LK_LOG_INFO, "sweep of %s:%d failed: %s", sw->host, sw->port, why->sqlstate);
        }
        return;
    }
    free(sw->rows);
    sw->rows = sw->reading;
    sw->count = sw->reading_count;
    sw->reading = NULL;
    sw->reading_count = sw->room = 0;
    sw->done_us = core->now.mono_us;
    sw->made++;
    for (uint32_t i = 0; i < sw->count; i++) tell_wait(core, sw, &sw->rows[i]);
    compare(core, sw);
}

static const struct lk_errand_kind sweeps = {.name = "sweep", .row = on_row, .done = on_done};

/* --- when --- */

/* Has a client of ours waited for a recognised lock long enough to be told of? */
static bool
somebody_waits(const struct lk_core *core, const struct lk_sweep *sw)
{
    int64_t limit_us = core->settings->advisory_wait_log_us;
    LK_LIST_EACH(&core->servers, struct lk_server, node, s)
    {
        const struct lk_reply *r = s->state == LK_SERVER_LINKED ? lk_replies_head(&s->replies) : NULL;
        if (r && r->watch && s->seat.pool->sweep == sw && s->wait_told_us != s->request_us &&
            core->now.mono_us - s->request_us > limit_us)
            return true;
    }
    return false;
}

static void
begin(struct lk_core *core, struct lk_sweep *sw)
{
    sw->errand.kind = &sweeps;
    sw->errand.text = sw->old_server ? sweep_text_13 : sweep_text;
    sw->errand.deadline_us = core->now.mono_us + DEADLINE_US;
    sw->reading_count = 0;
    struct lk_pool *any = NULL;
    LK_LIST_EACH(&core->pools, struct lk_pool, node, pool)
    {
        if (pool->sweep != sw || sw->errand.pool)
            continue;
        if (lk_pool_seats(pool) > 0)
            any = pool;
        sw->began_us = core->now.mono_us;
        sw->made_by = lk_errand_begin(core, &sw->errand, pool) && sw->errand.server ? sw->errand.server->id : 0;
    }
    if (sw->errand.pool || !any)
        return;
    if (core->now.mono_us >= sw->due_us + MISSED_MAX * core->settings->advisory_sweep_interval_us)
        lk_errand_begin_extra(core, &sw->errand, any);
}

void
lk_sweeps_tick(struct lk_core *core)
{
    if (core->settings->advisory_sweep_interval_us == 0 || core->shared->no_errands || !lk_core_lends(core))
        return;
    for (struct lk_sweep *sw = core->sweeps; sw; sw = sw->next) {
        bool soon = core->now.mono_us - sw->began_us >= SOONEST_US && somebody_waits(core, sw);
        if (!sw->errand.pool && (core->now.mono_us >= sw->due_us || soon))
            begin(core, sw);
    }
}
