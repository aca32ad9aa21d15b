/* A client's machine: its states, its end, and who reads its bytes in which state. */
#include "session/step.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "session/cancel.h"
#include "session/link.h"
#include "wire/build.h"

typedef size_t reader(struct lk_core *core, struct lk_client *c, struct lk_span in);

static size_t
read_nothing(struct lk_core *core, struct lk_client *c, struct lk_span in)
{
    return 0;
}

static size_t
read_away(struct lk_core *core, struct lk_client *c, struct lk_span in)
{
    return in.n;
}

#define TO(state) (1u << (LK_CLIENT_##state))

/* Who reads in a state, and what may come after it. */
static const struct {
    reader *read;
    unsigned next;
} rules[LK_CLIENT_STATES] = {
    [LK_CLIENT_STARTUP] = {lk_startup_input,
        TO(LOOKUP) | TO(AUTH) | TO(WELCOME) | TO(READY) | TO(CONSOLE) | TO(CANCEL) | TO(GONE)},
    [LK_CLIENT_LOOKUP] = {read_nothing, TO(AUTH) | TO(GONE)},
    [LK_CLIENT_AUTH] = {lk_startup_input, TO(WELCOME) | TO(READY) | TO(CONSOLE) | TO(GONE)},
    [LK_CLIENT_WELCOME] = {read_nothing, TO(READY) | TO(GONE)},
    [LK_CLIENT_READY] = {lk_forward_input, TO(WAITING) | TO(LINKED) | TO(GONE)},
    [LK_CLIENT_WAITING] = {read_nothing, TO(READY) | TO(LINKED) | TO(GONE)},
    [LK_CLIENT_LINKED] = {lk_forward_input, TO(READY) | TO(GONE)},
    [LK_CLIENT_CONSOLE] = {lk_console_input, TO(GONE)},
    [LK_CLIENT_CANCEL] = {read_away, TO(GONE)},
    [LK_CLIENT_GONE] = {read_away, 0},
};

void
lk_client_enter(struct lk_core *core, struct lk_client *c, enum lk_client_state to)
{
    if (!(rules[c->state].next & 1u << to))
        abort();
    c->state = to;
    c->state_us = core->now.mono_us;
    c->end.paused = to == LK_CLIENT_LOOKUP || to == LK_CLIENT_WELCOME || to == LK_CLIENT_WAITING;
    c->wait_told = false;
}

const char *
lk_client_label(const struct lk_client *c)
{
    static _Thread_local char label[256];
    (void)snprintf(label, sizeof(label), "C-%" PRIu64 " %s/%s@%s:%d", c->who->id, c->database ? c->database : "(nodb)",
        c->user ? c->user : "(nouser)", c->who->addr, c->who->port);
    return label;
}

struct lk_client *
lk_client_new(struct lk_core *core, const struct lk_peer *peer)
{
    struct lk_client *c = LK_NEW(struct lk_client);
    c->end.kind = LK_END_CLIENT;
    c->who = lk_who_new(atomic_fetch_add(&core->shared->next_id, 1) + 1, peer->addr, peer->port);
    c->unix_socket = peer->unix_socket;
    c->peer_uid = peer->uid;
    c->peer_user = lk_mem_dup(peer->user);
    (void)snprintf(c->local_addr, sizeof(c->local_addr), "%s", peer->local_addr ? peer->local_addr : "");
    c->local_port = peer->local_port;
    c->connect_us = c->state_us = core->now.mono_us;
    c->connect_wall_us = core->now.wall_us;
    lk_list_push(&core->clients, &c->node);
    atomic_fetch_add(&core->shared->clients, 1);
    return c;
}

void
lk_client_free(struct lk_core *core, struct lk_client *c)
{
    lk_who_unref(c->who);
    free(c->peer_user);
    free(c->database);
    free(c->user);
    if (c->exchange)
        lk_exchange_free(c->exchange);
    lk_mem_wipe_free(c->auth_secret);
    lk_prepared_clear(&c->prepared);
    lk_client_set_unnamed(c, NULL);
    lk_client_forget_portals(c);
    lk_buf_clear(&c->console_text);
    free(c);
}

void
lk_client_set_unnamed(struct lk_client *c, struct lk_statement *st)
{
    if (c->unnamed == st)
        return;
    lk_statement_unref(c->unnamed);
    c->unnamed = st ? lk_statement_ref(st) : NULL;
}

size_t
lk_client_input(struct lk_core *core, struct lk_client *c, struct lk_span in)
{
    size_t done = 0;
    for (;;) {
        enum lk_client_state before = c->state;
        done += rules[before].read(core, c, lk_span_skip(in, done));
        if (c->state == before || c->end.paused || done == in.n || c->state == LK_CLIENT_GONE)
            break;
    }
    if (c->pool)
        c->pool->stats.received += done;
    return c->state == LK_CLIENT_GONE ? in.n : done;
}

/* Takes it off every list; its server has been let go before. */
static void
detach(struct lk_core *core, struct lk_client *c)
{
    if (c->pool) {
        lk_pool_leave(c->pool, &c->place);
        if (--c->pool->clients == 0)
            c->pool->empty_since_us = core->now.mono_us;
    }
    if (c->cancel_pid != 0) {
        HASH_DELETE(by_key, core->keys, c);
        c->cancel_pid = 0;
    }
    for (size_t i = 0; i < LK_COUNT(c->budgets); i++) {
        if (c->budgets[i])
            lk_budget_give_one(c->budgets[i]);
        lk_budgets_put(core->shared->budgets, c->budgets[i]);
        c->budgets[i] = NULL;
    }
    lk_cancel_forget(core, NULL, c);
    atomic_fetch_sub(&core->shared->clients, 1);
    lk_list_remove(&core->clients, &c->node);
    lk_list_push(&core->dead[LK_END_CLIENT], &c->node);
}

static void
end_client(struct lk_core *core, struct lk_client *c, enum lk_reason reason)
{
    if (c->state == LK_CLIENT_GONE)
        return;
    if (c->server)
        lk_link_abandon(core, c, reason);
    lk_client_enter(core, c, LK_CLIENT_GONE);
    c->end.dead = true;
    c->end.paused = false;
    lk_effects_close(&core->effects, &c->end, false);
    detach(core, c);
}

void
lk_client_close(struct lk_core *core, struct lk_client *c)
{
    bool logged_in = c->state >= LK_CLIENT_WELCOME && c->state <= LK_CLIENT_CONSOLE;
    if (logged_in && core->settings->log_disconnections)
        lk_log(LK_LOG_INFO, "%s: closing: %s (age %" PRId64 "s)", lk_client_label(c),
            c->terminated ? "client close request" : "client gone", (core->now.mono_us - c->connect_us) / LK_SECOND_US);
    end_client(core, c, c->terminated ? LK_REASON_CLIENT_DISCONNECT : LK_REASON_CLIENT_ABORT);
}

static void
send_error(struct lk_core *core, struct lk_client *c, const char *severity, const struct lk_error *e)
{
    struct lk_buf out = {0};
    lk_build_error(&out, severity, e, false);
    (void)lk_step_send_buf(core, &c->end, &out);
    lk_buf_clear(&out);
}

void
lk_client_error(struct lk_core *core, struct lk_client *c, const struct lk_error *e)
{
    send_error(core, c, "ERROR", e);
}

void
lk_client_fail(struct lk_core *core, struct lk_client *c, const struct lk_error *e, enum lk_reason reason)
{
    if (c->state == LK_CLIENT_GONE)
        return;
    if (core->settings->log_pooler_errors)
        lk_log(LK_LOG_WARNING, "%s: pooler error: %s", lk_client_label(c), e->message);
    send_error(core, c, "FATAL", e);
    end_client(core, c, reason);
}

void
lk_client_lost(struct lk_core *core, struct lk_client *c, const char *why)
{
    if (core->settings->log_disconnections && (c->state != LK_CLIENT_STARTUP || c->end.securing))
        lk_log(LK_LOG_INFO, "%s: closing: client unexpectedly went away: %s", lk_client_label(c), why);
    end_client(core, c, LK_REASON_CLIENT_ABORT);
}
