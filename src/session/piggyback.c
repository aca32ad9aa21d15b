#include "session/piggyback.h"

#include "lock/policy.h"
#include "session/evidence.h"

/* A batch of more messages than this is left to cleaning. */
#define BATCH_MAX 16u

/* Nothing but the message at hand keeps the server, as far as its own state tells. */
static bool
free_but_for_this(const struct lk_core *core, const struct lk_server *s)
{
    const struct lk_route *route = &s->seat.pool->route;
    return !core->shared->separate_resets && route->advisory_lock_policy != LK_POLICY_OBSERVE && route->mode == LK_POOL_TRANSACTION && route->advisory_unlock_all == LK_UNLOCK_ALWAYS &&
           lk_ledger_zero(&s->ledger) && s->cancels == 0 && s->copy == LK_COPY_NONE && !s->no_fcall &&
           !s->probe_failed && s->run.suspect_count == 0 && !s->run.bound;
}

static bool
trusted(struct lk_core *core, const struct lk_server *s, const struct lk_analysis *a, bool alone)
{
    if (a->plan || a->trust == LK_TRUST_NEVER)
        return false;
    return a->trust == LK_TRUST_ALWAYS ||
           lk_evidence_trusted(core, s, a->fingerprint, a->text, alone) == LK_TRUST_TRUSTED;
}

/* Counts this release, unless its turn has come to be sampled by a probe: then the reset must come after that. */
static bool
not_sampled(struct lk_pool *pool)
{
    uint32_t sample = pool->route.advisory_probe_sample;
    if (sample > 0 && (pool->releases + 1) % sample == 0)
        return false;
    pool->releases++;
    return true;
}

/* One autocommit statement and nothing before it since the server was lent. */
static bool
one_statement(struct lk_core *core, struct lk_server *s, const struct lk_analysis *a)
{
    return s->status == 'I' && s->run.texts == 0 && a->plain && trusted(core, s, a, true);
}

bool
lk_piggyback_query(struct lk_core *core, struct lk_server *s, const struct lk_analysis *a)
{
    if (!a || !lk_replies_quiet(&s->replies) || !free_but_for_this(core, s))
        return false;
    bool ends = (a->verb == LK_VERB_COMMIT || a->verb == LK_VERB_ROLLBACK) && s->status != 'I' && s->run.texts > 0;
    if (ends) {
        lk_evidence_company(core, s);
        ends = s->run.suspect_count == 0 && lk_ledger_zero(&s->ledger) && trusted(core, s, a, false);
    }
    return (ends || one_statement(core, s, a)) && not_sampled(s->seat.pool);
}

bool
lk_piggyback_sync(struct lk_core *core, struct lk_server *s)
{
    struct lk_reply *execute = NULL;
    uint32_t n = s->replies.count, bound = 0;
    if (n == 0 || n > BATCH_MAX || s->replies.skipping || !free_but_for_this(core, s))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        struct lk_reply *r = lk_replies_at(&s->replies, i);
        bool known = r->purpose == LK_FOR_CLIENT || r->purpose == LK_FOR_PREPARE || r->purpose == LK_FOR_EVICT;
        bool batch = r->kind == LK_REPLY_PARSE || r->kind == LK_REPLY_BIND || r->kind == LK_REPLY_DESCRIBE ||
                     r->kind == LK_REPLY_CLOSE || r->kind == LK_REPLY_EXECUTE;
        bound += r->kind == LK_REPLY_BIND;
        if (!known || !batch || bound > 1 || (r->kind == LK_REPLY_EXECUTE && execute))
            return false;
        if (r->kind == LK_REPLY_EXECUTE)
            execute = r;
    }
    if (!execute || !execute->analysis || !one_statement(core, s, execute->analysis) || !not_sampled(s->seat.pool))
        return false;
    execute->vouched = true;
    return true;
}
