#include "session/pinned.h"

#include "lock/policy.h"
#include "session/step.h"
#include "session/tell.h"

static bool
is_pinned(const struct lk_server *s)
{
    return lk_policy_pins((enum lk_policy)s->seat.pool->route.advisory_lock_policy) && lk_ledger_own(&s->ledger) > 0;
}

/* The touch that the server is at. */
static const struct lk_watch *
under_way(const struct lk_server *s)
{
    const struct lk_reply *r = lk_replies_head(&s->replies);
    return r && r->purpose == LK_FOR_CLIENT ? r->watch : NULL;
}

/* Has the server been silent for more than a moment since its turn came? */
static bool
is_silent(const struct lk_core *core, const struct lk_server *s, const struct lk_watch *w)
{
    int64_t since = w->sent_us > s->heard_us ? w->sent_us : s->heard_us;
    return core->now.mono_us - since > LK_PINNED_MOMENT_US;
}

/* Is it inside a call that waits for a lock? */
static bool
is_waiting(const struct lk_core *core, const struct lk_server *s)
{
    bool unknown = false;
    const struct lk_watch *w = under_way(s);
    return w && is_silent(core, s, w) && (lk_watch_waiting_call(w, &unknown) || unknown);
}

struct lk_pinned
lk_pinned_count(const struct lk_core *core, const struct lk_pool *pool)
{
    struct lk_pinned n = {0};
    LK_LIST_EACH(&pool->seats[LK_SEAT_LINKED], struct lk_server, seat.node, s)
    {
        const struct lk_held *held = lk_ledger_oldest(&s->ledger);
        n.waiting += is_waiting(core, s);
        if (!is_pinned(s))
            continue;
        n.pinned++;
        if (!n.oldest || held->since.mono_us < lk_ledger_oldest(&n.oldest->ledger)->since.mono_us)
            n.oldest = s;
    }
    return n;
}

void
lk_pinned_changed(struct lk_core *core, struct lk_pool *pool)
{
    struct lk_pinned n = lk_pinned_count(core, pool);
    bool full = 2 * n.pinned >= (unsigned)pool->route.pool_size;
    if (full && !pool->pins_full && n.oldest)
        lk_tell_pins_full(core, &n);
    pool->pins_full = full;
}

/* --- limits --- */

/* Is a call that takes a lock on its way to it? */
static bool
takes(const struct lk_server *s)
{
    for (uint32_t i = 0; i < s->replies.count; i++) {
        const struct lk_reply *r = lk_replies_at(&s->replies, i);
        if (r->purpose == LK_FOR_CLIENT && r->watch && lk_watch_takes(r->watch))
            return true;
    }
    return false;
}

/* Calls on their way count, as they may pin at once; those that wait are the other limit's. */
static bool
beyond_pins(const struct lk_core *core, const struct lk_server *mine)
{
    const struct lk_pool *pool = mine->seat.pool;
    unsigned pinned = 0;
    if (pool->route.advisory_max_pins == 0 || is_pinned(mine) || takes(mine))
        return false;
    LK_LIST_EACH(&pool->seats[LK_SEAT_LINKED], struct lk_server, seat.node, s)
    pinned += is_pinned(s) || (takes(s) && !is_waiting(core, s));
    return pinned >= pool->route.advisory_max_pins;
}

/* Do the two exclude each other? */
static bool
excludes(const struct lk_watched_call *a, const struct lk_watched_call *b)
{
    bool known = a->bound == LK_BOUND_KEY && b->bound == LK_BOUND_KEY;
    return known && lk_key_eq(a->key, b->key) &&
           (a->call->fn->mode == LK_MODE_EXCLUSIVE || b->call->fn->mode == LK_MODE_EXCLUSIVE);
}

/* Calls for the same lock count at once, others when they have waited for a moment. */
static bool
beyond_waits(const struct lk_core *core, const struct lk_server *mine, const struct lk_watch *watch)
{
    const struct lk_pool *pool = mine->seat.pool;
    bool unknown = false, ignored;
    unsigned waiting = 0;
    const struct lk_watched_call *call = lk_watch_waiting_call(watch, &unknown);
    if (pool->route.advisory_max_waits == 0 || !(call || unknown))
        return false;
    if (call && call->bound == LK_BOUND_KEY && lk_ledger_find(&mine->ledger, call->key, call->call->fn->mode))
        return false;
    LK_LIST_EACH(&pool->seats[LK_SEAT_LINKED], struct lk_server, seat.node, s)
    {
        const struct lk_watch *w = s == mine ? NULL : under_way(s);
        const struct lk_watched_call *other = w ? lk_watch_waiting_call(w, &ignored) : NULL;
        waiting += w && (is_waiting(core, s) || (call && other && excludes(call, other)));
    }
    return waiting >= pool->route.advisory_max_waits;
}

bool
lk_pinned_beyond(const struct lk_core *core, const struct lk_client *c, const struct lk_watch *watch, struct lk_error *e)
{
    const struct lk_route *route = &c->pool->route;
    bool may_pin = lk_watch_takes(watch) && lk_policy_pins((enum lk_policy)route->advisory_lock_policy);
    bool pins = may_pin && beyond_pins(core, c->server);
    if (!pins && !beyond_waits(core, c->server, watch))
        return false;
    if (pins)
        lk_error_set(e, "53300", "too many servers of this pool are pinned by session locks (advisory_max_pins = %u)",
            route->advisory_max_pins);
    else
        lk_error_set(e, "53300", "too many servers of this pool wait for session locks (advisory_max_waits = %u)",
            route->advisory_max_waits);
    lk_error_hint(e, "Try again later, or take locks at the transaction level.");
    return true;
}

/* --- idling --- */

bool
lk_pinned_idle(struct lk_core *core, struct lk_client *c)
{
    struct lk_server *s = c->server;
    int64_t idle_us = core->now.mono_us - c->state_us, limit_us = c->pool->route.advisory_pin_timeout_us;
    int64_t told_us = core->settings->advisory_idle_hold_log_us;
    const struct lk_held *held = lk_ledger_oldest(&s->ledger);
    if (!held || !lk_replies_quiet(&s->replies))
        return false;
    if (told_us > 0 && idle_us > told_us)
        lk_tell_idle_hold(core, s);
    if (limit_us == 0 || idle_us <= limit_us || s->status != 'I' || !is_pinned(s))
        return false;
    struct lk_error e;
    char key[LK_KEY_TEXT];
    lk_key_format(held->key, key);
    lk_tell_pin_timeout(core, s);
    lk_error_set(&e, "57P05", "closed: idle with session lock %s for too long (advisory_pin_timeout)", key);
    lk_client_fail(core, c, &e, LK_REASON_PIN_TIMEOUT);
    return true;
}
