/* What the operator orders: PAUSE, RESUME, SUSPEND, KILL, KILL_CLIENT, RECONNECT, DISABLE, ENABLE, SHUTDOWN. */
#include "session/step.h"

#include "session/link.h"

static bool
meant(const struct lk_pool *pool, const char *database)
{
    return !database || strcmp(pool->route.database, database) == 0;
}

static void
close_idle(struct lk_core *core, const char *database, const char *why)
{
    LK_LIST_EACH(&core->servers, struct lk_server, node, s)
    if (s->state == LK_SERVER_IDLE && meant(s->seat.pool, database))
        lk_server_close(core, s, why, LK_REASON_ADMIN, true);
}

void
lk_core_pause(struct lk_core *core, const char *database, struct lk_now now)
{
    core->now = now;
    if (!database && core->mode == LK_CORE_ACTIVE)
        core->mode = LK_CORE_PAUSED;
    if (database)
        lk_names_add(&core->paused, database);
    LK_LIST_EACH(&core->pools, struct lk_pool, node, pool)
    if (database && meant(pool, database))
        pool->paused = true;
    close_idle(core, database, "pause");
}

bool
lk_core_paused(const struct lk_core *core, const char *database)
{
    LK_LIST_EACH(&core->servers, struct lk_server, node, s)
    if (meant(s->seat.pool, database) && (s->state == LK_SERVER_LINKED || s->state == LK_SERVER_ERRAND || s->state == LK_SERVER_CLEANING))
        return false;
    return true;
}

void
lk_core_resume(struct lk_core *core, const char *database, struct lk_now now)
{
    core->now = now;
    if (!database && (core->mode == LK_CORE_PAUSED || core->mode == LK_CORE_SUSPENDED))
        core->mode = LK_CORE_ACTIVE;
    lk_names_drop(&core->paused, database);
    LK_LIST_EACH(&core->pools, struct lk_pool, node, pool)
    {
        if (!meant(pool, database))
            continue;
        pool->paused = false;
        lk_link_serve(core, pool);
    }
    lk_link_serve_due(core);
}

void
lk_core_suspend(struct lk_core *core)
{
    if (core->mode == LK_CORE_ACTIVE)
        core->mode = LK_CORE_SUSPENDED;
}

bool
lk_core_suspends(const struct lk_end *end)
{
    const struct lk_client *c = (const struct lk_client *)(const void *)end;
    if (end->kind == LK_END_CLIENT)
        return c->state == LK_CLIENT_READY || c->state == LK_CLIENT_WAITING || c->state == LK_CLIENT_LINKED;
    return end->kind == LK_END_SERVER;
}

bool
lk_core_silent(const struct lk_end *end)
{
    const struct lk_server *s = (const struct lk_server *)(const void *)end;
    if (end->kind == LK_END_CLIENT)
        return ((const struct lk_client *)(const void *)end)->remain == 0;
    return (s->state == LK_SERVER_IDLE || s->state == LK_SERVER_LINKED) && s->remain == 0;
}

void
lk_core_suspend_late(struct lk_core *core, struct lk_end *end, struct lk_now now)
{
    struct lk_error e;
    core->now = now;
    lk_error_set(&e, "08P01", "suspend_timeout");
    if (end->kind == LK_END_CLIENT)
        lk_client_fail(core, (struct lk_client *)(void *)end, &e, LK_REASON_TIMEOUT);
    else
        lk_server_close(core, (struct lk_server *)(void *)end, "suspend_timeout", LK_REASON_TIMEOUT, false);
    lk_link_serve_due(core);
}

void
lk_core_kill(struct lk_core *core, const char *database, struct lk_now now)
{
    struct lk_error e;
    lk_core_pause(core, database, now);
    lk_error_set(&e, "57P01", "admin forced disconnect");
    LK_LIST_EACH(&core->servers, struct lk_server, node, s)
    if (meant(s->seat.pool, database))
        lk_server_close(core, s, "admin forced disconnect", LK_REASON_ADMIN, true);
    LK_LIST_EACH(&core->clients, struct lk_client, node, c)
    if (c->pool && meant(c->pool, database))
        lk_client_fail(core, c, &e, LK_REASON_ADMIN);
    lk_link_serve_due(core);
}

void
lk_core_reconnect(struct lk_core *core, const char *database, struct lk_now now)
{
    core->now = now;
    LK_LIST_EACH(&core->servers, struct lk_server, node, s)
    if (meant(s->seat.pool, database))
        s->close_after = true;
    close_idle(core, database, "reconnect");
    lk_link_serve_due(core);
}

bool
lk_core_reconnecting(const struct lk_core *core, const char *database)
{
    LK_LIST_EACH(&core->servers, struct lk_server, node, s)
    if (s->close_after && meant(s->seat.pool, database))
        return true;
    return false;
}

void
lk_core_disable(struct lk_core *core, const char *database)
{
    lk_names_add(&core->disabled, database);
}

void
lk_core_enable(struct lk_core *core, const char *database)
{
    lk_names_drop(&core->disabled, database);
}

bool
lk_core_kill_client(struct lk_core *core, uint64_t id, struct lk_now now)
{
    struct lk_error e;
    core->now = now;
    LK_LIST_EACH(&core->clients, struct lk_client, node, c)
    {
        if (c->who->id != id)
            continue;
        lk_error_set(&e, "57P01", "admin forced disconnect");
        lk_client_fail(core, c, &e, LK_REASON_ADMIN);
        lk_link_serve_due(core);
        return true;
    }
    return false;
}

void
lk_core_stop(struct lk_core *core, enum lk_core_mode mode, struct lk_now now)
{
    core->now = now;
    core->mode = mode;
    if (mode == LK_CORE_WAIT_FOR_SERVERS)
        close_idle(core, NULL, "shutting down");
}

bool
lk_core_stopped(const struct lk_core *core)
{
    if (core->mode == LK_CORE_WAIT_FOR_SERVERS)
        return lk_core_paused(core, NULL);
    if (core->mode != LK_CORE_WAIT_FOR_CLIENTS)
        return false;
    LK_LIST_EACH(&core->clients, struct lk_client, node, c)
    if (c->state != LK_CLIENT_CONSOLE)
        return false;
    return true;
}

void
lk_core_shutdown(struct lk_core *core, struct lk_now now)
{
    struct lk_error e;
    core->now = now;
    core->mode = LK_CORE_WAIT_FOR_SERVERS;
    lk_error_set(&e, "57P01", "pooler is shutting down");
    LK_LIST_EACH(&core->servers, struct lk_server, node, s)
    lk_server_close(core, s, "pooler is shutting down", LK_REASON_SHUTDOWN, true);
    LK_LIST_EACH(&core->clients, struct lk_client, node, c) lk_client_fail(core, c, &e, LK_REASON_SHUTDOWN);
    LK_LIST_EACH(&core->cancellers, struct lk_canceller, node, k) lk_core_lost(core, &k->end, "shutting down", now);
}
