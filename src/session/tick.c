/* Time-outs and upkeep: everything that happens because time passes. */
#include "session/step.h"

#include <inttypes.h>

#include "base/log.h"
#include "session/cancel.h"
#include "session/catalogs.h"
#include "session/errand.h"
#include "session/evidence.h"
#include "session/link.h"
#include "session/pinned.h"
#include "session/sweeps.h"
#include "wire/build.h"

#define CANCEL_AGAIN_US ((int64_t)200000)
/* By then the backend's own statement_timeout has ended an errand, unless it hangs. */
#define ERRAND_GRACE_US LK_SECOND_US

static bool
over(const struct lk_core *core, int64_t since_us, int64_t limit_us)
{
    return limit_us > 0 && core->now.mono_us - since_us > limit_us;
}

static void
time_out(struct lk_core *core, struct lk_client *c, const char *message)
{
    struct lk_error e;
    lk_error_set(&e, "08P01", "%s", message);
    lk_client_fail(core, c, &e, LK_REASON_TIMEOUT);
}

/* A wait for a server that was too long: says who fills the pool. */
static void
wait_time_out(struct lk_core *core, struct lk_client *c)
{
    struct lk_error e;
    struct lk_pinned n = lk_pinned_count(core, c->pool);
    lk_error_set(&e, "08P01", "query_wait_timeout");
    if (n.oldest) {
        char key[LK_KEY_TEXT];
        const struct lk_held *held = lk_ledger_oldest(&n.oldest->ledger);
        lk_key_format(held->key, key);
        lk_error_detail(&e,
            "%u of the pool's %d servers are pinned by session locks, %u wait for locks; the oldest holder is client %" PRIu64
            " (%s), with lock %s for %" PRId64 " s",
            n.pinned, c->pool->route.pool_size, n.waiting, n.oldest->who->id, n.oldest->who->application_name, key,
            (core->now.mono_us - held->since.mono_us) / LK_SECOND_US);
    } else if (n.waiting > 0) {
        lk_error_detail(&e, "%u of the pool's %d servers wait for session locks", n.waiting, c->pool->route.pool_size);
    }
    lk_client_fail(core, c, &e, LK_REASON_TIMEOUT);
}

static int64_t
user_limit(int64_t of_user, int64_t general)
{
    return of_user >= 0 ? of_user : general;
}

static void
check_linked(struct lk_core *core, struct lk_client *c)
{
    const struct lk_settings *st = core->settings;
    const struct lk_server *s = c->server;
    const struct lk_user_settings *u = c->limits;
    int64_t transaction_us = user_limit(u ? u->transaction_timeout_us : -1, st->transaction_timeout_us);
    bool quiet = lk_replies_quiet(&s->replies);
    if (lk_pinned_idle(core, c))
        return;
    if (c->transaction_us && over(core, c->transaction_us, transaction_us))
        time_out(core, c, "transaction timeout");
    else if (!quiet && c->request_us && over(core, c->request_us, user_limit(u ? u->query_timeout_us : -1, st->query_timeout_us)))
        time_out(core, c, "query_timeout");
    else if (quiet && s->status != 'I' &&
        over(core, c->state_us, user_limit(u ? u->idle_transaction_timeout_us : -1, st->idle_transaction_timeout_us)))
        time_out(core, c, "idle transaction timeout");
    else if (quiet && s->status == 'I' &&
        over(core, c->state_us, user_limit(u ? u->client_idle_timeout_us : -1, st->client_idle_timeout_us)))
        time_out(core, c, "client_idle_timeout");
}

static void
check_waiting(struct lk_core *core, struct lk_client *c)
{
    struct lk_error e;
    struct lk_buf out = {0};
    if (c->pool->paused || !lk_core_lends(core))
        return;
    if (over(core, c->place.since_us, c->pool->route.query_wait_timeout_us)) {
        wait_time_out(core, c);
        return;
    }
    if (c->wait_told || !over(core, c->place.since_us, core->settings->query_wait_notify_us))
        return;
    c->wait_told = true;
    lk_error_set(&e, "00000", "No server connection available in postgres backend, client being queued");
    lk_build_error(&out, "NOTICE", &e, true);
    (void)lk_step_send_buf(core, &c->end, &out);
    lk_buf_clear(&out);
}

static void
check_client(struct lk_core *core, struct lk_client *c)
{
    const struct lk_settings *st = core->settings;
    switch (c->state) {
    case LK_CLIENT_STARTUP:
    case LK_CLIENT_LOOKUP:
    case LK_CLIENT_AUTH:
    case LK_CLIENT_WELCOME:
        if (over(core, c->connect_us, st->client_login_timeout_us))
            time_out(core, c, "client_login_timeout");
        break;
    case LK_CLIENT_READY:
        if (over(core, c->state_us, c->limits ? user_limit(c->limits->client_idle_timeout_us, st->client_idle_timeout_us)
                                              : st->client_idle_timeout_us))
            time_out(core, c, "client_idle_timeout");
        break;
    case LK_CLIENT_WAITING:
        check_waiting(core, c);
        break;
    case LK_CLIENT_LINKED:
        check_linked(core, c);
        break;
    default:
        break;
    }
}

bool
lk_server_worn_out(const struct lk_core *core, const struct lk_server *s, const char **why)
{
    const struct lk_pool *pool = s->seat.pool;
    int64_t age = core->now.mono_us - s->seat.born_us, lifetime = pool->route.server_lifetime_us;
    *why = NULL;
    if (s->close_after)
        *why = "no longer wanted";
    else if (pool->paused || (!lk_core_lends(core) && core->mode != LK_CORE_SUSPENDED))
        *why = "paused";
    else if (lk_budget_over(&pool->budgets))
        *why = "above its pool's limit";
    else if (s->state != LK_SERVER_SETUP && age >= lifetime)
        *why = "server lifetime over";
    return *why != NULL;
}

static void
check_idle(struct lk_core *core, struct lk_server *s)
{
    const char *why;
    struct lk_pool *pool = s->seat.pool;
    bool spare = pool->clients == 0 ||
        pool->seats[LK_SEAT_IDLE].count + pool->seats[LK_SEAT_LINKED].count > (size_t)pool->route.min_pool_size;
    if (lk_server_worn_out(core, s, &why))
        lk_server_close(core, s, why, LK_REASON_ADMIN, true);
    else if (spare && over(core, s->unused_since_us, core->settings->server_idle_timeout_us))
        lk_server_close(core, s, "server idle timeout", LK_REASON_TIMEOUT, true);
}

/* A server that owes answers to a client that is gone is cancelled again and again: a cancel that comes before its query has
 * begun is lost, and one ends only one of several. */
static void
check_cleaning(struct lk_core *core, struct lk_server *s)
{
    bool busy = !lk_replies_quiet(&s->replies) && !lk_replies_ours_only(&s->replies);
    bool late = over(core, s->state_us, core->settings->cancel_wait_timeout_us);
    if (busy && (late || (s->cancels == 0 && over(core, s->state_us, CANCEL_AGAIN_US))))
        lk_cancel_server(core, s, NULL);
    if (!late)
        return;
    lk_evidence_unanswered(core, s);
    lk_server_close(core, s, "could not be cleaned in time", LK_REASON_TIMEOUT, false);
}

static void
check_server(struct lk_core *core, struct lk_server *s)
{
    const struct lk_settings *st = core->settings;
    switch (s->state) {
    case LK_SERVER_CONNECT:
    case LK_SERVER_LOGIN:
        if (over(core, s->seat.born_us, st->server_connect_timeout_us))
            lk_server_lost(core, s, "connect timeout");
        break;
    case LK_SERVER_SETUP:
    case LK_SERVER_CLEANING:
        check_cleaning(core, s);
        break;
    case LK_SERVER_IDLE:
        check_idle(core, s);
        break;
    case LK_SERVER_ERRAND:
        if (core->now.mono_us > s->errand->deadline_us + ERRAND_GRACE_US)
            lk_server_close(core, s, "a query of our own took too long", LK_REASON_TIMEOUT, false);
        break;
    default:
        break;
    }
}

static uint64_t
mean(uint64_t now, uint64_t before, uint64_t of)
{
    return of > 0 ? (now - before) / of : 0;
}

static void
average(struct lk_pool *pool, int64_t period_us)
{
    const struct lk_stats *n = &pool->stats, *b = &pool->last_stats;
    uint64_t s = (uint64_t)(period_us / LK_SECOND_US);
    pool->average = (struct lk_stats){
        .assignments = mean(n->assignments, b->assignments, s),
        .transactions = mean(n->transactions, b->transactions, s),
        .queries = mean(n->queries, b->queries, s),
        .received = mean(n->received, b->received, s),
        .sent = mean(n->sent, b->sent, s),
        .client_parses = mean(n->client_parses, b->client_parses, s),
        .server_parses = mean(n->server_parses, b->server_parses, s),
        .binds = mean(n->binds, b->binds, s),
        .transaction_us = mean(n->transaction_us, b->transaction_us, s),
        .query_us = mean(n->query_us, b->query_us, s),
        .wait_us = mean(n->wait_us, b->wait_us, s),
    };
    pool->last_stats = pool->stats;
}

static void
log_stats(const struct lk_pool *pool)
{
    const struct lk_stats *a = &pool->average;
    lk_log(LK_LOG_INFO,
        "stats %s/%s: %" PRIu64 " xacts/s, %" PRIu64 " queries/s, in %" PRIu64 " B/s, out %" PRIu64 " B/s, xact %" PRIu64
        " us, query %" PRIu64 " us, wait %" PRIu64 " us",
        pool->route.database, pool->route.user, a->transactions, a->queries, a->received, a->sent,
        mean(a->transaction_us, 0, a->transactions), mean(a->query_us, 0, a->queries), mean(a->wait_us, 0, a->assignments));
}

static void
check_pools(struct lk_core *core)
{
    bool period = over(core, core->stats_us, core->settings->stats_period_us);
    LK_LIST_EACH(&core->pools, struct lk_pool, node, pool)
    {
        lk_errand_check(core, pool);
        if (lk_list_first(&pool->waiters) || lk_list_first(&pool->errands) || (pool->clients > 0 && pool->route.min_pool_size > 0))
            lk_link_serve(core, pool);
        if (!period)
            continue;
        average(pool, core->now.mono_us - core->stats_us);
        if (core->settings->log_stats)
            log_stats(pool);
    }
    if (period)
        core->stats_us = core->now.mono_us;
}

void
lk_core_tick(struct lk_core *core, struct lk_now now)
{
    core->now = now;
    if (core->mode == LK_CORE_SUSPENDED) {
        lk_link_serve_due(core); /* of a RELOAD */
        return;
    }
    LK_LIST_EACH(&core->clients, struct lk_client, node, c) check_client(core, c);
    LK_LIST_EACH(&core->servers, struct lk_server, node, s) check_server(core, s);
    LK_LIST_EACH(&core->cancellers, struct lk_canceller, node, k)
    if (over(core, k->since_us, core->settings->cancel_wait_timeout_us))
        lk_cancel_ended(core, k);
    check_pools(core);
    lk_unused_tidy(core);
    lk_catalogs_tick(core);
    lk_sweeps_tick(core);
    lk_params_tidy(core, false);
    lk_link_serve_due(core);
}
