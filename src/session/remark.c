#include "session/remark.h"

#include "session/core.h"
#include "session/tell.h"
#include "sql/lint.h"

/* Has this not been told lately? */
static bool
is_news(struct lk_core *core, const struct lk_server *s, const struct lk_text *text, unsigned lint)
{
    uint64_t what = text->fingerprint ^ (s->seat.pool->scope.id << 8 | lint);
    if (!core->remarks)
        core->remarks = lk_mem_new(LK_REMARKS * sizeof(*core->remarks));
    uint64_t *slot = &core->remarks[(what ^ what >> 32) % LK_REMARKS];
    bool news = *slot != what;
    *slot = what;
    return news;
}

static void
tell(struct lk_core *core, struct lk_server *s, const struct lk_text *text, unsigned lints)
{
    for (unsigned bit = 1; lints >= bit; bit <<= 1)
        if (lints & bit && is_news(core, s, text, bit))
            lk_tell_lint(core, s, text, lk_lint_name(bit));
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
