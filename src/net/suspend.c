#include "net/suspend.h"

#include "net/apply.h"

bool
lk_suspend_holds(const struct lk_conn *c)
{
    return c->worker->core->mode == LK_CORE_SUSPENDED && lk_core_suspends(c->end) && lk_core_silent(c->end) &&
           (c->in.len == 0 || c->end->paused);
}

static void
listen_all(struct lk_list *conns)
{
    LK_LIST_EACH (conns, struct lk_conn, node, c) {
        lk_conn_listen(c);
    }
}

void
lk_suspend_follow(struct lk_worker *w)
{
    bool suspended = w->core->mode == LK_CORE_SUSPENDED;
    if (!suspended && w->suspended_us == 0)
        return;
    if (!suspended)
        w->suspended_us = 0;
    else if (w->suspended_us == 0)
        w->suspended_us = w->now.mono_us;
    listen_all(&w->conns);
    listen_all(&w->deaf);
}

/* Those of a list that are not silent; late: they are closed. */
static size_t
loud(struct lk_worker *w, struct lk_list *conns, bool late)
{
    size_t count = 0;
    LK_LIST_EACH (conns, struct lk_conn, node, c) {
        bool open = c->state == LK_CONN_OPEN || c->state == LK_CONN_OPENING;
        if (!open || !c->end || !lk_core_suspends(c->end) || (lk_suspend_holds(c) && !c->out))
            continue;
        count++;
        if (late)
            lk_core_suspend_late(w->core, c->end, w->now);
    }
    return count;
}

bool
lk_suspend_done(struct lk_worker *w)
{
    int64_t since_us = w->now.mono_us - w->suspended_us;
    bool late = w->suspended_us != 0 && since_us >= w->settings->suspend_timeout_us;
    size_t count = loud(w, &w->conns, late) + loud(w, &w->deaf, late);
    if (late)
        lk_apply_effects(w);
    return count == 0 || late;
}
