#include "session/link.h"

#include <stdlib.h>

#include "base/log.h"
#include "lock/policy.h"
#include "session/cancel.h"
#include "session/clean.h"
#include "session/errand.h"
#include "session/evidence.h"
#include "session/step.h"
#include "session/tell.h"

/* A CopyData that its client left half sent is filled up to this length; a longer one costs the backend. */
#define FILL_MAX (64u * 1024)

static struct lk_client *
client_of_waiter(struct lk_waiter *w)
{
    return LK_CONTAINER(w, struct lk_client, place);
}

static void
link_up(struct lk_core *core, struct lk_client *c, struct lk_server *s)
{
    c->server = s;
    s->client = c;
    if (s->who != c->who) {
        lk_who_unref(s->who);
        s->who = lk_who_ref(c->who);
    }
    lk_server_enter(core, s, LK_SERVER_LINKED);
    lk_client_enter(core, c, LK_CLIENT_LINKED);
    s->used_us = core->now.mono_us;
    s->probe_settled = s->reset_fresh = false;
    s->run.began_exact = lk_ledger_zero(&s->ledger);
    c->pool->stats.assignments++;
    lk_params_follow(core, s);
}

struct lk_server *
lk_link_lendable(struct lk_core *core, struct lk_pool *pool)
{
    struct lk_seat *seat;
    if (pool->paused || !lk_core_lends(core))
        return NULL;
    while ((seat = lk_pool_idle(pool, core->settings->server_round_robin))) {
        struct lk_server *s = LK_CONTAINER(seat, struct lk_server, seat);
        int64_t idle_us = core->now.mono_us - seat->since_us;
        const char *check = core->settings->server_check_query;
        if (!check || !check[0] || idle_us <= core->settings->server_check_delay_us)
            return s;
        lk_clean_begin(core, s, LK_CLEAN_CHECK, LK_REASON_NONE);
    }
    return NULL;
}

bool
lk_link_acquire(struct lk_core *core, struct lk_client *c)
{
    struct lk_pool *pool = c->pool;
    struct lk_server *s = pool->waiters.count == 0 ? lk_link_lendable(core, pool) : NULL;
    if (s) {
        link_up(core, c, s);
        return true;
    }
    lk_client_enter(core, c, LK_CLIENT_WAITING);
    lk_pool_wait(pool, &c->place, core->now.mono_us);
    lk_link_serve(core, pool);
    return false;
}

/* At a limit of the database or user: the longest idle server of another pool makes room. */
static bool
evict_idle(struct lk_core *core, struct lk_pool *pool, enum lk_budget_kind kind)
{
    struct lk_seat *oldest = NULL;
    LK_LIST_EACH(&core->pools, struct lk_pool, node, other)
    {
        struct lk_node *n = lk_list_first(&other->seats[LK_SEAT_IDLE]);
        if (other == pool || other->budgets.of[kind] != pool->budgets.of[kind] || !n || lk_list_first(&other->waiters))
            continue;
        struct lk_seat *seat = LK_LIST_ITEM(n, struct lk_seat, node);
        if (!oldest || seat->since_us < oldest->since_us)
            oldest = seat;
    }
    if (!oldest)
        return false;
    lk_server_close(core, LK_CONTAINER(oldest, struct lk_server, seat), "evicted", LK_REASON_ADMIN, true);
    return true;
}

static void
open_more(struct lk_core *core, struct lk_pool *pool)
{
    for (;;) {
        enum lk_budget_kind denied = LK_BUDGET_POOL;
        const struct lk_settings *st = core->settings;
        if (!lk_core_lends(core))
            return;
        if (lk_pool_may_open(pool, core->now.mono_us, st->server_login_retry_us, st->reserve_pool_timeout_us, &denied))
            (void)lk_server_open(core, pool);
        else if (denied == LK_BUDGET_POOL || (!lk_list_first(&pool->waiters) && !lk_list_first(&pool->errands)) || !evict_idle(core, pool, denied))
            return;
    }
}

void
lk_link_serve(struct lk_core *core, struct lk_pool *pool)
{
    struct lk_waiter *w = lk_pool_first_waiter(pool);
    if (!w && !lk_list_first(&pool->errands) && pool->route.min_pool_size == 0)
        return;
    lk_errand_serve(core, pool);
    for (; w; w = lk_pool_first_waiter(pool)) {
        struct lk_client *c = client_of_waiter(w);
        if (c->state == LK_CLIENT_WELCOME) {
            if (!pool->welcome_known)
                break;
            lk_pool_leave(pool, w);
            lk_startup_welcome(core, c);
        } else {
            struct lk_server *s = lk_link_lendable(core, pool);
            if (!s)
                break;
            lk_pool_leave(pool, w);
            pool->stats.wait_us += (uint64_t)(core->now.mono_us - w->since_us);
            link_up(core, c, s);
        }
        lk_effects_resume(&core->effects, &c->end);
    }
    open_more(core, pool);
}

void
lk_link_serve_later(struct lk_core *core, struct lk_pool *pool)
{
    pool->serve_due = true;
    core->serve_due = true;
}

void
lk_link_serve_due(struct lk_core *core)
{
    while (core->serve_due) {
        core->serve_due = false;
        LK_LIST_EACH(&core->pools, struct lk_pool, node, pool)
        {
            if (!pool->serve_due)
                continue;
            pool->serve_due = false;
            lk_link_serve(core, pool);
        }
    }
}

static void
release(struct lk_core *core, struct lk_server *s, enum lk_reason reason)
{
    struct lk_client *c = s->client;
    s->client = NULL;
    c->server = NULL;
    s->unused_since_us = core->now.mono_us;
    lk_client_forget_portals(c);
    if (c->state == LK_CLIENT_LINKED)
        lk_client_enter(core, c, LK_CLIENT_READY);
    lk_forward_unhold(core, c);
    lk_clean_begin(core, s, LK_CLEAN_ROLLBACK, reason);
}

/* The policy keeps who holds locks, nothing is outstanding, outside a transaction: does the ledger know? True: a probe is on its way. */
static bool
ask_if_unsure(struct lk_core *core, struct lk_server *s)
{
    struct lk_pool *pool = s->seat.pool;
    if (s->probe_failed || s->probe_settled)
        return false;
    if (s->ledger.unsure)
        return lk_probe_send(core, s);
    if (s->run.suspect_count == 0)
        return false;
    if (s->run.blamed || lk_probe_meter_allows(&pool->meter, core->now.mono_us))
        return lk_probe_send(core, s);
    pool->locks.probes_skipped++;
    s->untrusted_release = true;
    lk_evidence_reset(s);
    return false;
}

void
lk_link_settle(struct lk_core *core, struct lk_server *s)
{
    if (s->state == LK_SERVER_SETUP || s->state == LK_SERVER_CLEANING) {
        lk_clean_step(core, s);
        return;
    }
    if (s->state != LK_SERVER_LINKED || s->status != 'I' || !lk_replies_quiet(&s->replies) || s->client->remain > 0 ||
        s->cancels > 0)
        return;
    const struct lk_route *route = &s->seat.pool->route;
    lk_evidence_rest(core, s);
    if (route->mode == LK_POOL_SESSION && !s->close_after)
        return;
    if (lk_policy_pins((enum lk_policy)route->advisory_lock_policy)) {
        if (ask_if_unsure(core, s))
            return;
        lk_tell_pins(core, s);
        if (lk_ledger_own(&s->ledger) > 0)
            return;
    }
    if (route->mode != LK_POOL_SESSION)
        release(core, s, LK_REASON_TRANSACTION_END);
}

/* Ends the half-sent frame of a client that is gone. False: it can't be. */
static bool
fill_frame(struct lk_core *core, struct lk_client *c, struct lk_server *s)
{
    if (c->remain == 0 || c->remain_dropped)
        return true;
    uint8_t *fill = s->copy == LK_COPY_IN && c->remain <= FILL_MAX ? lk_arena_take(&core->arena, c->remain) : NULL;
    if (!fill)
        return false;
    memset(fill, 0, c->remain);
    lk_step_send(core, &s->end, lk_span_make(fill, c->remain));
    return true;
}

void
lk_link_abandon(struct lk_core *core, struct lk_client *c, enum lk_reason reason)
{
    struct lk_server *s = c->server;
    bool filled = fill_frame(core, c, s);
    s->close_after |= !filled; /* nobody else may have it, should it be clean at once */
    if (lk_replies_quiet(&s->replies) && s->status == 'I')
        lk_evidence_rest(core, s);
    release(core, s, reason);
    if (s->state == LK_SERVER_GONE)
        return;
    if (!filled) {
        lk_server_close(core, s, "client went away inside a message", reason, false);
        return;
    }
    if (s->copy == LK_COPY_IN)
        lk_clean_end_copy(core, s);
    lk_clean_sync(core, s);
    if (s->state == LK_SERVER_GONE)
        return;
    if (!lk_replies_quiet(&s->replies) && !lk_replies_ours_only(&s->replies))
        lk_cancel_server(core, s, NULL);
}
