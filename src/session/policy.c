#include "session/policy.h"

#include <stdio.h>

#include "lock/policy.h"
#include "session/holds.h"
#include "session/pinned.h"
#include "session/step.h"
#include "session/tell.h"
#include "wire/build.h"

/* The same call at the transaction level: "pg_try_advisory_lock_shared" becomes "pg_try_advisory_xact_lock_shared". */
static void
sibling(const struct lk_function *fn, char *out, size_t n)
{
    const char *lock = strstr(fn->name, "lock");
    (void)snprintf(out, n, "%.*sxact_%s", (int)(lock - fn->name), fn->name, lock);
}

static void
explain(const struct lk_watch *watch, struct lk_error *e)
{
    char instead[64] = "pg_advisory_xact_lock or pg_try_advisory_xact_lock";
    const struct lk_watched_call *call = lk_watch_taking_call(watch);
    if (call)
        sibling(call->call->fn, instead, sizeof(instead));
    lk_error_set(e, "0A000", "session-level advisory locks are not allowed here");
    lk_error_hint(e, "Use %s inside a transaction; or see advisory_lock_policy, a setting of the connection pooler.", instead);
}

static bool
probe_under_way(const struct lk_server *s)
{
    for (uint32_t i = 0; i < s->replies.count; i++)
        if (lk_replies_at(&s->replies, i)->purpose == LK_FOR_PROBE)
            return true;
    return false;
}

/* Is it not for this pool to take session locks as such? What rewrite could have shortened is not asked after here. */
static bool
rejects(const struct lk_route *route)
{
    return route->advisory_lock_policy == LK_POLICY_REJECT ||
           (route->advisory_lock_policy == LK_POLICY_REWRITE && route->advisory_rewrite_fallback == LK_POLICY_REJECT);
}

enum lk_verdict
lk_policy_judge(const struct lk_core *core, const struct lk_client *c, const struct lk_watch *watch, struct lk_error *e)
{
    const struct lk_route *route = &c->pool->route;
    if (!watch)
        return LK_VERDICT_SEND;
    bool takes = lk_watch_takes(watch);
    if (takes && rejects(route)) {
        explain(watch, e);
        return LK_VERDICT_REFUSE;
    }
    if (takes && route->advisory_max_pins > 0 && c->server->ledger.unsure && probe_under_way(c->server))
        return LK_VERDICT_WAIT;
    return lk_pinned_beyond(core, c, watch, e) ? LK_VERDICT_REFUSE : LK_VERDICT_SEND;
}

void
lk_policy_refused(struct lk_core *core, struct lk_server *s, const struct lk_watch *watch)
{
    if (!watch)
        return;
    s->seat.pool->locks.rejected++;
    lk_holds_refused(core, s, watch->text);
    lk_tell_call(core, s, LK_EVENT_REJECTED, watch);
}

static void
warn(struct lk_core *core, struct lk_server *s, struct lk_key key, const char *what)
{
    if (!s->seat.pool->route.advisory_lock_notice || !s->client)
        return;
    char text[LK_KEY_TEXT];
    struct lk_error e;
    struct lk_buf out = {0};
    lk_key_format(key, text);
    lk_error_set(&e, "01000", "session lock %s %s", text, what);
    lk_error_hint(&e, "See advisory_lock_policy, a setting of the connection pooler.");
    lk_build_error(&out, "WARNING", &e, true);
    (void)lk_step_send_buf(core, &s->client->end, &out);
    lk_buf_clear(&out);
}

void
lk_policy_notice(struct lk_core *core, struct lk_server *s, struct lk_key key)
{
    const struct lk_route *route = &s->seat.pool->route;
    if (route->mode == LK_POOL_SESSION)
        return;
    if (lk_policy_pins((enum lk_policy)route->advisory_lock_policy))
        warn(core, s, key, "keeps a server connection until it is unlocked");
    else if (route->advisory_lock_policy == LK_POLICY_RELEASE)
        warn(core, s, key, "is freed at the end of the transaction");
}

/* A call was sent as one of the transaction level, and has its lock. */
static void
shortened(struct lk_core *core, struct lk_server *s, const struct lk_watch *watch, const struct lk_watched_call *c)
{
    s->seat.pool->locks.rewritten++;
    if (s->block.savepoints > 0)
        lk_ledger_nest(&s->block.shortened, c->key, c->call->fn->mode);
    warn(core, s, c->key, "is shortened to the transaction");
    lk_tell_call(core, s, LK_EVENT_REWRITTEN, watch);
}

void
lk_policy_complete(struct lk_core *core, struct lk_server *s, struct lk_watch *watch, bool suspended)
{
    lk_watch_complete(watch, &s->ledger, &s->block.shortened, suspended, core->now);
    for (uint16_t i = 0; i < watch->call_count; i++) {
        struct lk_watched_call *c = &watch->calls[i];
        if (c->news == LK_NEWS_LOCKED)
            lk_policy_notice(core, s, c->key);
        else if (c->news == LK_NEWS_SHORTENED)
            shortened(core, s, watch, c);
        else if (c->news == LK_NEWS_NOT_UNLOCKED)
            lk_tell_unlock_failed(core, s, watch, c);
        c->news = LK_NEWS_NONE;
    }
}
