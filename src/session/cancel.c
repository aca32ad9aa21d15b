#include "session/cancel.h"

#include <stdlib.h>

#include "base/log.h"
#include "session/link.h"
#include "session/negotiate.h"
#include "session/step.h"
#include "wire/build.h"

/* More at once on their way to one server add nothing, and would keep it from settling. */
#define CANCELS_MAX 4u

static struct lk_client *
find_by_key(struct lk_core *core, uint32_t pid, struct lk_span secret)
{
    uint32_t key[2] = {pid, 0};
    struct lk_client *c = NULL;
    if (secret.n != 4)
        return NULL;
    key[1] = (uint32_t)secret.p[0] << 24 | (uint32_t)secret.p[1] << 16 | (uint32_t)secret.p[2] << 8 | secret.p[3];
    HASH_FIND(by_key, core->keys, key, sizeof(key), c);
    return c;
}

/* It has sent a query that no server has seen yet: it gets the error at once, and keeps its connection. */
static void
cancel_waiting(struct lk_core *core, struct lk_client *c)
{
    lk_pool_leave(c->pool, &c->place);
    c->cancelled = true;
    lk_client_enter(core, c, LK_CLIENT_READY);
    lk_effects_resume(&core->effects, &c->end);
}

void
lk_cancel_request(struct lk_core *core, struct lk_client *asker, uint32_t pid, struct lk_span secret)
{
    struct lk_client *c = find_by_key(core, pid, secret);
    if (c && c->state == LK_CLIENT_WAITING)
        cancel_waiting(core, c);
    /* a cancel that would hit only statements of ours is dropped */
    if (!c || !c->server || lk_replies_ours_only(&c->server->replies) || c->server->cancels >= CANCELS_MAX) {
        lk_client_close(core, asker);
        return;
    }
    lk_cancel_server(core, c->server, asker);
}

void
lk_cancel_server(struct lk_core *core, struct lk_server *s, struct lk_client *asker)
{
    struct lk_canceller *k = LK_NEW(struct lk_canceller);
    k->end.kind = LK_END_CANCEL;
    k->server = s;
    k->client = asker;
    k->since_us = core->now.mono_us;
    k->encrypt = s->end.tls != NULL;
    lk_build_cancel(&k->packet, s->pid, lk_span_make(s->secret, s->secret_n));
    lk_list_push(&core->cancellers, &k->node);
    s->cancels++;
    lk_effects_open(&core->effects, &k->end, s->host, s->port);
}

void
lk_cancel_opened(struct lk_core *core, struct lk_canceller *k, bool unix_socket)
{
    if (k->encrypt && lk_negotiate_begin(core, &k->end, unix_socket))
        k->tls_asked = true;
    else
        (void)lk_step_send_buf(core, &k->end, &k->packet);
}

size_t
lk_cancel_input(struct lk_core *core, struct lk_canceller *k, struct lk_span in)
{
    const char *why = "the server has gone";
    enum lk_negotiation n = LK_NEGOTIATION_FAILED;
    if (!k->tls_asked || in.n == 0)
        return in.n;
    if (k->server)
        n = lk_negotiate_answer(core, &k->end, k->server->host, in, &why);
    k->tls_asked = false;
    if (n == LK_NEGOTIATION_PLAIN) {
        (void)lk_step_send_buf(core, &k->end, &k->packet);
    } else if (n == LK_NEGOTIATION_FAILED) {
        if (k->server)
            lk_log(LK_LOG_WARNING, "%s: cancel request failed: %s", lk_server_label(k->server), why);
        lk_cancel_ended(core, k);
    }
    return in.n;
}

void
lk_cancel_secured(struct lk_core *core, struct lk_canceller *k)
{
    (void)lk_step_send_buf(core, &k->end, &k->packet);
}

void
lk_cancel_ended(struct lk_core *core, struct lk_canceller *k)
{
    struct lk_server *s = k->server;
    if (k->end.dead)
        return;
    k->end.dead = true;
    lk_effects_close(&core->effects, &k->end, true);
    lk_list_remove(&core->cancellers, &k->node);
    lk_list_push(&core->dead[LK_END_CANCEL], &k->node);
    struct lk_client *asker = k->client;
    k->client = NULL;
    k->server = NULL;
    if (asker)
        lk_client_close(core, asker);
    if (s && --s->cancels == 0)
        lk_link_settle(core, s);
}

void
lk_cancel_forget(struct lk_core *core, const struct lk_server *s, const struct lk_client *c)
{
    LK_LIST_EACH(&core->cancellers, struct lk_canceller, node, k)
    {
        if (s && k->server == s)
            k->server = NULL;
        if (c && k->client == c)
            k->client = NULL;
    }
}
