#include "session/remark.h"

#include "session/core.h"
#include "session/tell.h"
#include "sql/lint.h"
#include "sql/uses.h"

/* Remarks that share a place, the latest first: few enough to go through, too many for a few statements to push each other
 * out. */
#define WAYS 8u

/* Has this not been told lately? */
static bool
is_news(struct lk_core *core, const struct lk_server *s, const struct lk_text *text, unsigned lint)
{
    uint64_t what = text->fingerprint ^ (s->seat.pool->scope.id << 8 | lint);
    if (!core->remarks)
        core->remarks = lk_mem_new(LK_REMARKS * sizeof(*core->remarks));
    uint64_t *set = &core->remarks[(what ^ what >> 32) % (LK_REMARKS / WAYS) * WAYS];
    for (unsigned i = 0; i < WAYS; i++)
        if (set[i] == what)
            return false;
    memmove(set + 1, set, (WAYS - 1) * sizeof(*set));
    set[0] = what;
    return true;
}

static void
tell(struct lk_core *core, struct lk_server *s, const struct lk_text *text, unsigned lints)
{
    for (unsigned bit = 1; lints >= bit; bit <<= 1)
        if (lints & bit && is_news(core, s, text, bit))
            lk_tell_lint(core, s, text, NULL, lk_lint_name(bit));
}

/* The table of the pool's database: another pool's, if there is one. */
static struct lk_uses *
uses_of(struct lk_core *core, struct lk_pool *pool)
{
    const struct lk_route *mine = &pool->route;
    LK_LIST_EACH(&core->pools, struct lk_pool, node, other)
    {
        const struct lk_route *r = &other->route;
        if (!pool->uses && other->uses && r->port == mine->port && strcmp(r->host, mine->host) == 0 &&
            strcmp(r->dbname, mine->dbname) == 0)
            pool->uses = lk_uses_ref(other->uses);
    }
    if (!pool->uses)
        pool->uses = lk_uses_new(LK_USES_MAX);
    return pool->uses;
}

void
lk_remark_leave(struct lk_pool *pool)
{
    lk_uses_unref(pool->uses);
    pool->uses = NULL;
}

static void
note(struct lk_core *core, struct lk_server *s, const struct lk_text *text, struct lk_taking lock)
{
    struct lk_pool *pool = s->seat.pool;
    struct lk_uses *uses = pool->uses ? pool->uses : uses_of(core, pool);
    unsigned lints = lk_uses_note(uses, lock.key, lock.fn->xact);
    for (unsigned bit = 1; lints >= bit; bit <<= 1)
        if (lints & bit)
            lk_tell_lint(core, s, text, &lock, lk_lint_name(bit));
}

/* Session-level locks that the answer granted; shortened ones are what their text says. */
static void
note_granted(struct lk_core *core, struct lk_server *s, const struct lk_watch *w)
{
    if (w->types_bad)
        return;
    for (uint16_t i = 0; i < w->call_count; i++) {
        const struct lk_watched_call *c = &w->calls[i];
        bool takes = c->call->fn->op == LK_CALL_LOCK || c->call->fn->op == LK_CALL_TRY;
        if (takes && c->bound == LK_BOUND_KEY && c->answer == LK_ANSWER_TRUE)
            note(core, s, w->text, (struct lk_taking){c->call->fn, c->key});
    }
}

void
lk_remark_clear(struct lk_server *s)
{
    lk_text_unref(s->only_locked);
    s->only_locked = NULL;
    s->ran = 0;
}

void
lk_remark_ran(struct lk_core *core, struct lk_server *s, const struct lk_reply *r)
{
    const struct lk_analysis *a = r->analysis;
    if (r->failed)
        return;
    s->ran++;
    if (r->watch)
        note_granted(core, s, r->watch);
    for (uint16_t i = 0; a && i < a->taking_count; i++)
        if (a->takings[i].fn->xact)
            note(core, s, a->text, a->takings[i]);
    if (!a || a->lints == 0)
        return;
    unsigned at_once = a->lints & ~(unsigned)LK_LINT_XACT_ALONE;
    if (s->seat.pool->route.mode == LK_POOL_SESSION)
        at_once &= ~(unsigned)LK_LINT_SET_TIMEOUT;
    tell(core, s, a->text, at_once);
    if (a->lints & LK_LINT_XACT_ALONE && !s->only_locked)
        s->only_locked = lk_text_ref(a->text);
}

void
lk_remark_ready(struct lk_core *core, struct lk_server *s)
{
    if (s->only_locked && s->ran == 1 && s->status == 'I')
        tell(core, s, s->only_locked, LK_LINT_XACT_ALONE);
    lk_remark_clear(s);
}
