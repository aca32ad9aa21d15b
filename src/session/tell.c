#include "session/tell.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "lock/deadlock.h"
#include "lock/policy.h"
#include "session/evidence.h"
#include "session/holds.h"
#include "session/keyname.h"
#include "session/pinned.h"
#include "session/policy.h"
#include "session/step.h"
#include "session/sweeps.h"
#include "sql/normalize.h"

#define LEAKS_MAX 100u

static struct lk_record *
record_of_pool(struct lk_core *core, const struct lk_route *route, const char *user, enum lk_event event)
{
    static const char *const modes[] = {"session", "transaction", "statement"};
    struct lk_record *r = lk_record_new(event, core->now);
    r->database = lk_mem_dup(route->database);
    r->user = lk_mem_dup(user);
    r->pool_mode = modes[route->mode];
    r->held_us = -1;
    return r;
}

static struct lk_record *
record_new(struct lk_core *core, const struct lk_server *s, enum lk_event event)
{
    const struct lk_route *route = &s->seat.pool->route;
    const struct lk_who *who = s->who;
    struct lk_record *r = record_of_pool(core, route, who && who->user ? who->user : route->user, event);
    if (who) {
        r->client.present = true;
        r->client.id = who->id;
        r->client.addr = lk_mem_dup(who->addr);
        r->client.port = who->port;
        r->client.application_name = lk_mem_dup(who->application_name);
    }
    r->backend.present = true;
    r->backend.id = s->id;
    r->backend.pid = s->pid;
    r->backend.addr = lk_mem_dup(s->remote_addr[0] ? s->remote_addr : s->host);
    r->backend.port = s->port;
    return r;
}

static void
set_lock(struct lk_core *core, const struct lk_server *s, struct lk_record *r, struct lk_key key, enum lk_lock_mode mode,
    uint32_t count)
{
    r->lock.present = true;
    r->lock.key_known = true;
    r->lock.key = key;
    r->lock.mode_known = true;
    r->lock.mode = mode;
    r->lock.count = count;
    r->lock.name = lk_mem_dup(lk_keyname_of(core->settings, s->seat.pool->route.dbname, key));
}

static void
set_text(struct lk_core *core, struct lk_record *r, const struct lk_text *text)
{
    const char *how = core->settings->leak_log_query;
    if (!text)
        return;
    struct lk_span sql = lk_span_make(text->sql, text->n);
    r->fingerprint = text->fingerprint;
    if (how && strcmp(how, "off") == 0)
        return;
    if (how && strcmp(how, "full") == 0)
        r->query = lk_mem_dup_span(sql.n > LK_RECORD_QUERY_MAX ? lk_span_head(sql, LK_RECORD_QUERY_MAX) : sql);
    else
        r->query = lk_sql_normalize(sql, LK_RECORD_QUERY_MAX);
    r->comment_source = lk_mem_dup_span(sql);
}

static void
set_held(struct lk_core *core, const struct lk_server *s, struct lk_record *r, const struct lk_held *h)
{
    static const enum lk_source sources[] = {
        [LK_HELD_LEDGER] = LK_SOURCE_LEDGER, [LK_HELD_PROBE] = LK_SOURCE_PROBE, [LK_HELD_SWEEP] = LK_SOURCE_SWEEP};
    set_lock(core, s, r, h->key, h->mode, h->count);
    r->held_us = core->now.mono_us - h->since.mono_us;
    r->acquired_wall_us = h->since.wall_us;
    r->source = sources[h->source];
    set_text(core, r, h->text);
}

static void
unpin(struct lk_core *core, struct lk_server *s)
{
    if (!s->locks_told)
        return;
    struct lk_record *r = record_new(core, s, LK_EVENT_UNPIN);
    set_lock(core, s, r, s->pinned_key, s->pinned_mode, 0);
    r->held_us = core->now.mono_us - s->pinned_since.mono_us;
    s->locks_told = false;
    lk_effects_record(&core->effects, r);
    lk_pinned_changed(core, s->seat.pool);
}

static void
leak_unknown(struct lk_core *core, struct lk_server *s, enum lk_reason reason, enum lk_action action)
{
    struct lk_record *r = record_new(core, s, LK_EVENT_LEAK);
    r->lock.present = true;
    r->reason = reason;
    r->action = action;
    r->source = LK_SOURCE_LEDGER;
    set_text(core, r, lk_evidence_culprit(s));
    s->seat.pool->locks.leaks++;
    lk_effects_record(&core->effects, r);
}

/* Events that are told once for a client and statement. */
static bool
first_time(const struct lk_server *s, enum lk_event event, const struct lk_text *text)
{
    uint64_t fingerprint = text ? text->fingerprint : 0;
    return !s->who || lk_who_first(s->who, fingerprint * LK_EVENT_COUNT + (uint64_t)event);
}

/* Policies release and observe let a lock go, or would: the first of this client and statement. */
static void
let_go(struct lk_core *core, struct lk_server *s, const struct lk_held *h)
{
    struct lk_lock_stats *stats = &s->seat.pool->locks;
    bool released = s->seat.pool->route.advisory_lock_policy == LK_POLICY_RELEASE;
    if (!released && s->seat.pool->route.advisory_lock_policy != LK_POLICY_OBSERVE)
        return;
    *(released ? &stats->released : &stats->observed) += 1;
    enum lk_event event = released ? LK_EVENT_RELEASED : LK_EVENT_OBSERVED;
    if (!first_time(s, event, h->text))
        return;
    struct lk_record *r = record_new(core, s, event);
    set_held(core, s, r, h);
    lk_effects_record(&core->effects, r);
}

/* Of more locks than have records of their own only the number is told. */
static void
tell_rest(struct lk_core *core, struct lk_server *s, uint32_t all, enum lk_reason reason)
{
    if (all <= LEAKS_MAX)
        return;
    struct lk_record *r = record_new(core, s, LK_EVENT_LEAK_SUMMARY);
    r->omitted = all - LEAKS_MAX;
    r->reason = reason;
    lk_effects_record(&core->effects, r);
}

void
lk_tell_leaks(struct lk_core *core, struct lk_server *s, enum lk_reason reason, enum lk_action action)
{
    const struct lk_ledger *l = &s->ledger;
    uint32_t told = 0, all = lk_ledger_own(l) + l->beyond;
    for (uint32_t i = 0; i < l->count && told < LEAKS_MAX; i++) {
        if (l->held[i].left)
            continue;
        struct lk_record *r = record_new(core, s, LK_EVENT_LEAK);
        set_held(core, s, r, &l->held[i]);
        r->reason = reason;
        r->action = action;
        lk_effects_record(&core->effects, r);
        lk_holds_leaked(core, s, l->held[i].text);
        if (reason == LK_REASON_TRANSACTION_END)
            let_go(core, s, &l->held[i]);
        told++;
    }
    s->seat.pool->locks.leaks += all;
    tell_rest(core, s, all, reason);
    if (l->count == 0 && (l->unsure & ~(unsigned)LK_UNSURE_NEW))
        leak_unknown(core, s, reason, action);
    unpin(core, s);
}

void
lk_tell_lost(struct lk_core *core, struct lk_server *s)
{
    const struct lk_ledger *l = &s->ledger;
    uint32_t told = 0, all = lk_ledger_own(l) + l->beyond;
    for (uint32_t i = 0; i < l->count && told < LEAKS_MAX; i++) {
        if (l->held[i].left)
            continue;
        struct lk_record *r = record_new(core, s, LK_EVENT_LOST);
        set_held(core, s, r, &l->held[i]);
        lk_effects_record(&core->effects, r);
        told++;
    }
    s->seat.pool->locks.lost += all;
    tell_rest(core, s, all, LK_REASON_BACKEND_CLOSED);
    unpin(core, s);
}

void
lk_tell_pins(struct lk_core *core, struct lk_server *s)
{
    struct lk_pool *pool = s->seat.pool;
    if (lk_ledger_own(&s->ledger) == 0) {
        unpin(core, s);
        return;
    }
    if (s->locks_told)
        return;
    const struct lk_held *h = lk_ledger_oldest(&s->ledger);
    struct lk_record *r = record_new(core, s, LK_EVENT_PIN);
    set_lock(core, s, r, h->key, h->mode, h->count);
    r->held_us = core->now.mono_us - h->since.mono_us;
    s->locks_told = true;
    s->pinned_since = core->now;
    s->pinned_key = h->key;
    s->pinned_mode = h->mode;
    lk_effects_record(&core->effects, r);
    if (h->source == LK_HELD_PROBE)
        lk_policy_notice(core, s, h->key);
    if (pool->locks.pins++ == 0) {
        char key[LK_KEY_TEXT];
        lk_key_format(h->key, key);
        lk_log(LK_LOG_WARNING, "%s: holds the session lock %s: its server stays with it until it is unlocked"
            " (first time for this database and user)", lk_client_label(s->client), key);
    }
    lk_pinned_changed(core, pool);
}

static struct lk_party
party(const struct lk_server *s)
{
    return (struct lk_party){.present = true,
        .client_id = s->who->id,
        .addr = lk_mem_dup(s->who->addr),
        .port = s->who->port,
        .application_name = lk_mem_dup(s->who->application_name),
        .pid = s->pid};
}

void
lk_tell_pins_full(struct lk_core *core, const struct lk_pinned *n)
{
    const struct lk_held *held = lk_ledger_oldest(&n->oldest->ledger);
    const struct lk_route *route = &n->oldest->seat.pool->route;
    struct lk_record *r = record_of_pool(core, route, route->user, LK_EVENT_PINS_FULL);
    set_held(core, n->oldest, r, held);
    r->holder = party(n->oldest);
    r->pinned = n->pinned;
    r->waiting = n->waiting;
    r->pool_size = (uint32_t)route->pool_size;
    lk_effects_record(&core->effects, r);
}

void
lk_tell_rewritten_lost(struct lk_core *core, struct lk_server *s, const struct lk_held *held)
{
    struct lk_record *r = record_new(core, s, LK_EVENT_REWRITTEN_LOST);
    set_held(core, s, r, held);
    s->seat.pool->locks.rewritten_lost++;
    lk_effects_record(&core->effects, r);
}

void
lk_tell_idle_hold(struct lk_core *core, struct lk_server *s)
{
    const struct lk_held *held = lk_ledger_idles(&s->ledger);
    if (!held)
        return;
    struct lk_record *r = record_new(core, s, LK_EVENT_IDLE_HOLD);
    set_held(core, s, r, held);
    lk_effects_record(&core->effects, r);
}

void
lk_tell_pin_timeout(struct lk_core *core, struct lk_server *s)
{
    struct lk_record *r = record_new(core, s, LK_EVENT_PIN_TIMEOUT);
    set_held(core, s, r, lk_ledger_oldest(&s->ledger));
    lk_effects_record(&core->effects, r);
}

void
lk_tell_call(struct lk_core *core, struct lk_server *s, enum lk_event event, const struct lk_watch *w)
{
    if (!first_time(s, event, w->text))
        return;
    struct lk_record *r = record_new(core, s, event);
    const struct lk_watched_call *c = lk_watch_taking_call(w);
    if (c && c->bound == LK_BOUND_KEY)
        set_lock(core, s, r, c->key, c->call->fn->mode, 0);
    set_text(core, r, w->text);
    lk_effects_record(&core->effects, r);
}

void
lk_tell_lint(struct lk_core *core, struct lk_server *s, const struct lk_text *text, const struct lk_taking *lock,
    const char *lint)
{
    struct lk_record *r = record_new(core, s, LK_EVENT_LINT);
    r->lint = lint;
    if (lock)
        set_lock(core, s, r, lock->key, lock->fn->mode, 0);
    set_text(core, r, text);
    lk_effects_record(&core->effects, r);
}

/* Which of our clients holds the lock, in the same database of the same server. */
static void
find_holder(struct lk_core *core, const struct lk_server *s, const struct lk_watched_call *c, struct lk_party *out)
{
    LK_LIST_EACH(&core->servers, struct lk_server, node, other)
    {
        const struct lk_held *h = lk_ledger_find(&other->ledger, c->key, LK_MODE_EXCLUSIVE);
        if (!h)
            h = lk_ledger_find(&other->ledger, c->key, LK_MODE_SHARED);
        if (out->present || !other->who || !h || h->left ||
            !lk_route_same_database(&other->seat.pool->route, &s->seat.pool->route))
            continue;
        *out = party(other);
    }
}

void
lk_tell_unlock_failed(
    struct lk_core *core, struct lk_server *s, const struct lk_watch *w, const struct lk_watched_call *c)
{
    struct lk_record *r = record_new(core, s, LK_EVENT_UNLOCK_FAILED);
    r->lock.present = true;
    if (c->bound == LK_BOUND_KEY) {
        set_lock(core, s, r, c->key, c->call->fn->mode, 0);
        find_holder(core, s, c, &r->holder);
    }
    set_text(core, r, w->text);
    s->seat.pool->locks.unlock_failed++;
    lk_effects_record(&core->effects, r);
}

void
lk_tell_hidden(struct lk_core *core, struct lk_server *s, const struct lk_held *held)
{
    const struct lk_run *run = &s->run;
    struct lk_record *r = record_new(core, s, LK_EVENT_HIDDEN);
    set_held(core, s, r, held);
    r->held_us = -1;
    r->source = LK_SOURCE_PROBE;
    if (run->suspect_count > 1)
        for (uint32_t i = 0; i < run->suspect_count && i < LK_SUSPECTS && i < LK_RECORD_SUSPECTS; i++)
            r->suspects[r->suspect_count++] = run->suspects[i].fingerprint;
    s->seat.pool->locks.hidden++;
    lk_effects_record(&core->effects, r);
}

/* Who is at the other end of that backend: a client of ours, or just a process. */
static void
set_party(struct lk_party *p, const struct lk_server *s, uint32_t pid)
{
    p->present = s || pid != 0;
    p->pid = pid;
    if (!s || !s->who)
        return;
    p->client_id = s->who->id;
    p->addr = lk_mem_dup(s->who->addr);
    p->port = s->who->port;
    p->application_name = lk_mem_dup(s->who->application_name);
}

void
lk_tell_wait(struct lk_core *core, struct lk_server *s, struct lk_key key, enum lk_lock_mode mode, int64_t waited_us,
    const struct lk_server *holder, uint32_t holder_pid)
{
    const struct lk_reply *head = lk_replies_head(&s->replies);
    struct lk_record *r = record_new(core, s, LK_EVENT_WAIT);
    set_lock(core, s, r, key, mode, 0);
    r->waited_us = waited_us;
    set_party(&r->holder, holder, holder ? holder->pid : holder_pid);
    if (head && head->analysis)
        set_text(core, r, head->analysis->text);
    lk_effects_record(&core->effects, r);
}

static void
set_wait(struct lk_core *core, struct lk_deadlock_wait *w, const struct lk_server *s, const struct lk_deadlock_line *l)
{
    const struct lk_pool *pool = s->seat.pool;
    set_party(&w->waiter, lk_sweep_server(core, pool->sweep, l->waiter), l->waiter);
    set_party(&w->blocked_by, lk_sweep_server(core, pool->sweep, l->blocker), l->blocker);
    if (!l->advisory) {
        w->lock_text = lk_mem_dup_span(l->lock);
        return;
    }
    w->key_known = w->mode_known = true;
    w->key = l->key;
    w->mode = l->mode;
    w->lock_name = lk_mem_dup(lk_keyname_of(core->settings, pool->route.dbname, l->key));
}

void
lk_tell_deadlock(struct lk_core *core, struct lk_server *s, struct lk_span detail)
{
    struct lk_deadlock_line line;
    struct lk_span rest = detail;
    bool advisory = false;
    while (lk_deadlock_next(&rest, &line)) advisory |= line.advisory;
    if (!advisory)
        return;
    struct lk_record *r = record_new(core, s, LK_EVENT_DEADLOCK);
    struct lk_deadlock_wait *w;
    while (lk_deadlock_next(&detail, &line) && (w = lk_record_add_wait(r))) set_wait(core, w, s, &line);
    lk_effects_record(&core->effects, r);
}
