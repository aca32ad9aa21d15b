/* Pools that nobody uses: after pool_idle_timeout without clients a pool's servers are closed and it goes; one made from the
 * "*" line goes after autodb_idle_timeout without clients and servers, and sooner if its server never let anybody in, so
 * that the names which clients try do not add up. A pool whose database is no longer in the settings goes at once. */
#include "session/step.h"

static bool
longer_than(const struct lk_core *core, int64_t since_us, int64_t limit_us)
{
    return limit_us > 0 && core->now.mono_us - since_us > limit_us;
}

static void
close_servers(struct lk_core *core, struct lk_pool *pool)
{
    LK_LIST_EACH(&core->servers, struct lk_server, node, s)
    {
        if (s->seat.pool != pool)
            continue;
        s->close_after = true;
        if (s->state == LK_SERVER_IDLE)
            lk_server_close(core, s, "pool idle timeout", LK_REASON_TIMEOUT, true);
    }
}

/* How long a pool without clients and servers is kept; 0: for ever. */
static int64_t
keep_us(const struct lk_core *core, const struct lk_pool *pool)
{
    const struct lk_settings *st = core->settings;
    int64_t keep = pool->route.autodb ? st->autodb_idle_timeout_us : 0;
    bool tried_in_vain = pool->route.autodb && !pool->welcome_known;
    return tried_in_vain && (keep == 0 || keep > st->server_login_retry_us) ? st->server_login_retry_us : keep;
}

void
lk_unused_tidy(struct lk_core *core)
{
    int64_t idle_us = core->settings->pool_idle_timeout_us;
    LK_LIST_EACH(&core->pools, struct lk_pool, node, pool)
    {
        if (pool->clients > 0 || lk_list_first(&pool->errands))
            continue;
        bool idle = longer_than(core, pool->empty_since_us, idle_us);
        size_t seats = lk_pool_seats(pool);
        int64_t last_us = pool->empty_since_us > pool->deserted_since_us ? pool->empty_since_us : pool->deserted_since_us;
        if (idle && seats > 0)
            close_servers(core, pool);
        else if (seats == 0 && core->dead[LK_END_SERVER].count == 0 && (idle || pool->unwanted || longer_than(core, last_us, keep_us(core, pool))))
            lk_core_free_pool(core, pool);
    }
}
