#include "session/policy.h"

#include <stdio.h>

#include "lock/policy.h"
#include "session/tell.h"

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

bool
lk_policy_refuses(const struct lk_client *c, const struct lk_watch *watch, struct lk_error *e)
{
    if (!watch || c->pool->route.advisory_lock_policy != LK_POLICY_REJECT || !lk_watch_takes(watch))
        return false;
    explain(watch, e);
    return true;
}

void
lk_policy_refused(struct lk_core *core, struct lk_server *s, const struct lk_watch *watch)
{
    if (!watch)
        return;
    s->seat.pool->locks.rejected++;
    lk_tell_call(core, s, LK_EVENT_REJECTED, watch);
}
