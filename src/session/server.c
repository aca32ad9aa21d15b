/* A server connection: its states, its reasons to stay, its end. What it says is read in session/answers.c. */
#include "session/step.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "lock/policy.h"
#include "session/cancel.h"
#include "session/errand.h"
#include "session/evidence.h"
#include "session/holds.h"
#include "session/link.h"
#include "session/remark.h"
#include "session/tell.h"

static const uint16_t allowed_next[LK_SERVER_STATES] = {
    [LK_SERVER_CONNECT] = 1u << LK_SERVER_LOGIN | 1u << LK_SERVER_GONE,
    [LK_SERVER_LOGIN] = 1u << LK_SERVER_SETUP | 1u << LK_SERVER_GONE,
    [LK_SERVER_SETUP] = 1u << LK_SERVER_IDLE | 1u << LK_SERVER_GONE,
    [LK_SERVER_IDLE] = 1u << LK_SERVER_LINKED | 1u << LK_SERVER_ERRAND | 1u << LK_SERVER_CLEANING | 1u << LK_SERVER_GONE,
    [LK_SERVER_LINKED] = 1u << LK_SERVER_CLEANING | 1u << LK_SERVER_GONE,
    [LK_SERVER_ERRAND] = 1u << LK_SERVER_CLEANING | 1u << LK_SERVER_GONE,
    [LK_SERVER_CLEANING] = 1u << LK_SERVER_IDLE | 1u << LK_SERVER_GONE,
    [LK_SERVER_GONE] = 0,
};

static const enum lk_seat_list seat_of[LK_SERVER_STATES] = {
    [LK_SERVER_CONNECT] = LK_SEAT_OPENING,
    [LK_SERVER_LOGIN] = LK_SEAT_OPENING,
    [LK_SERVER_SETUP] = LK_SEAT_OPENING,
    [LK_SERVER_IDLE] = LK_SEAT_IDLE,
    [LK_SERVER_LINKED] = LK_SEAT_LINKED,
    [LK_SERVER_ERRAND] = LK_SEAT_CLEANING,
    [LK_SERVER_CLEANING] = LK_SEAT_CLEANING,
    [LK_SERVER_GONE] = LK_SEAT_NONE,
};

static void
set_state(struct lk_core *core, struct lk_server *s, enum lk_server_state to)
{
    s->state = to;
    s->state_us = core->now.mono_us;
    if (s->seat.list != seat_of[to])
        lk_pool_move(s->seat.pool, &s->seat, seat_of[to], core->now.mono_us);
}

void
lk_server_enter(struct lk_core *core, struct lk_server *s, enum lk_server_state to)
{
    if (s->state == to)
        return;
    if (!(allowed_next[s->state] & 1u << to))
        abort();
    set_state(core, s, to);
}

const char *
lk_server_label(const struct lk_server *s)
{
    static _Thread_local char label[256];
    (void)snprintf(label, sizeof(label), "S-%" PRIu64 " %s/%s@%s:%d pid %u", s->id, s->seat.pool->route.database,
        s->seat.pool->route.user, s->remote_addr[0] ? s->remote_addr : s->host, s->port, s->pid);
    return label;
}

struct lk_server *
lk_server_open(struct lk_core *core, struct lk_pool *pool)
{
    struct lk_server *s = LK_NEW(struct lk_server);
    s->end.kind = LK_END_SERVER;
    s->seat.pool = pool;
    s->seat.born_us = s->unused_since_us = core->now.mono_us;
    s->connect_wall_us = core->now.wall_us;
    s->host = lk_mem_dup(pool->route.host);
    s->port = pool->route.port;
    s->id = atomic_fetch_add(&core->shared->next_id, 1) + 1;
    s->status = s->block.state = 'I';
    lk_holds_listen(core, s);
    lk_ledger_doubt(&s->ledger, LK_UNSURE_NEW);
    lk_parsed_init(&s->parsed);
    lk_list_push(&core->servers, &s->node);
    set_state(core, s, LK_SERVER_CONNECT);
    lk_effects_open(&core->effects, &s->end, s->host, s->port);
    return s;
}

void
lk_server_free(struct lk_core *core, struct lk_server *s)
{
    lk_replies_clear(&s->replies);
    lk_evidence_reset(s);
    lk_remark_clear(s);
    lk_ledger_clear(&s->ledger);
    lk_ledger_clear(&s->block.shortened);
    lk_login_free(s->login);
    lk_parsed_clear(&s->parsed);
    lk_server_set_unnamed(s, NULL);
    lk_who_unref(s->who);
    free(s->authorization);
    free(s->host);
    explicit_bzero(s->secret, sizeof(s->secret));
    free(s);
}

void
lk_server_set_unnamed(struct lk_server *s, struct lk_statement *st)
{
    if (s->unnamed == st)
        return;
    lk_statement_unref(s->unnamed);
    s->unnamed = st ? lk_statement_ref(st) : NULL;
}

unsigned
lk_server_pins(const struct lk_core *core, const struct lk_server *s)
{
    unsigned pins = 0;
    const struct lk_route *route = &s->seat.pool->route;
    if (s->status != 'I')
        pins |= LK_PIN_TRANSACTION;
    if (!lk_replies_quiet(&s->replies) || s->remain > 0 || (s->client && s->client->remain > 0))
        pins |= LK_PIN_PIPELINE;
    if (s->copy != LK_COPY_NONE)
        pins |= LK_PIN_COPY;
    if (s->cancels > 0)
        pins |= LK_PIN_CANCELLING;
    if (route->mode == LK_POOL_SESSION)
        pins |= LK_PIN_SESSION_MODE;
    bool keeps = lk_policy_pins((enum lk_policy)route->advisory_lock_policy);
    if (keeps && lk_ledger_own(&s->ledger) > 0)
        pins |= LK_PIN_LOCKS;
    if (keeps && s->ledger.unsure && !s->probe_failed)
        pins |= LK_PIN_UNSURE;
    return pins;
}

/* --- closing --- */

static void
fail_client_of(struct lk_core *core, struct lk_server *s, const char *why, enum lk_reason reason)
{
    struct lk_client *c = s->client;
    struct lk_error e;
    s->client = NULL;
    c->server = NULL;
    lk_error_set(&e, reason == LK_REASON_ADMIN || reason == LK_REASON_SHUTDOWN ? "57P01" : "08006", "%s", why);
    if (s->said_farewell)
        lk_client_close(core, c);
    else
        lk_client_fail(core, c, &e, LK_REASON_BACKEND_CLOSED);
}

void
lk_server_close(struct lk_core *core, struct lk_server *s, const char *why, enum lk_reason reason, bool polite)
{
    struct lk_pool *pool = s->seat.pool;
    if (s->state == LK_SERVER_GONE)
        return;
    if (!s->failure.sqlstate[0])
        lk_error_set(&s->failure, "08006", "%s", why);
    if (s->client)
        lk_tell_lost(core, s);
    else if (s->state == LK_SERVER_CLEANING)
        lk_tell_leaks(core, s, s->clean_reason ? s->clean_reason : reason, LK_ACTION_CLOSE);
    lk_log(LK_LOG_INFO, "%s: closing: %s (age %" PRId64 "s)", lk_server_label(s), why,
        (core->now.mono_us - s->seat.born_us) / LK_SECOND_US);
    if (polite && s->state > LK_SERVER_LOGIN) {
        static const uint8_t terminate[] = {'X', 0, 0, 0, 4};
        lk_step_send(core, &s->end, lk_span_make(terminate, sizeof(terminate)));
    }
    if (s->state < LK_SERVER_IDLE && !s->seat.extra && reason == LK_REASON_BACKEND_CLOSED)
        lk_server_login_failed(core, pool, &s->failure);
    lk_effects_close(&core->effects, &s->end, !polite);
    s->end.dead = true;
    lk_cancel_forget(core, s, NULL);
    lk_server_enter(core, s, LK_SERVER_GONE);
    if (!s->seat.extra)
        lk_budget_give(&pool->budgets);
    lk_list_remove(&core->servers, &s->node);
    lk_list_push(&core->dead[LK_END_SERVER], &s->node);
    if (s->client)
        fail_client_of(core, s, why, reason);
    if (s->errand)
        lk_errand_lost(core, s, why);
    lk_link_serve_later(core, pool);
}

void
lk_server_lost(struct lk_core *core, struct lk_server *s, const char *why)
{
    if (s->state < LK_SERVER_IDLE) {
        lk_log(LK_LOG_WARNING, "%s: cannot connect to the server: %s", lk_server_label(s), why);
        lk_server_close(core, s, why, LK_REASON_BACKEND_CLOSED, false);
        return;
    }
    if (s->client)
        lk_log(LK_LOG_WARNING, "%s: server conn crashed? %s", lk_server_label(s), why);
    lk_server_close(core, s, "server conn crashed?", LK_REASON_BACKEND_CLOSED, false);
}
