#include "session/holds.h"

static struct lk_lock_statement *
row(struct lk_core *core, const struct lk_server *s, struct lk_text *text)
{
    return lk_statements_get(core->lock_statements, s->seat.pool->route.database, text);
}

static void
count_hold(struct lk_lock_statement *st, int64_t held_us)
{
    st->holds++;
    st->held_us += held_us;
    st->longest_us = held_us > st->longest_us ? held_us : st->longest_us;
}

static void
heard(void *context, enum lk_ledger_event what, const struct lk_held *held, struct lk_text *text)
{
    struct lk_server *s = context;
    struct lk_lock_statement *st = row(s->core, s, text);
    int64_t held_us = held ? s->core->now.mono_us - held->since.mono_us : 0;
    if (what == LK_LEDGER_GONE)
        lk_histogram_add(&s->seat.pool->locks.holds, held_us);
    if (!st)
        return;
    if (what == LK_LEDGER_GONE)
        count_hold(st, held_us);
    else if (what == LK_LEDGER_TAKEN)
        st->locks++;
    else
        st->failed_tries++;
}

void
lk_holds_listen(struct lk_core *core, struct lk_server *s)
{
    s->core = core;
    s->ledger.listener = (struct lk_ledger_listener){heard, s};
}

static bool
is_exact(const struct lk_plan *plan)
{
    for (uint16_t i = 0; i < plan->count; i++)
        if (lk_plan_touches(&plan->statements[i]) && !plan->statements[i].exact)
            return false;
    return plan->count > 0;
}

void
lk_holds_touched(struct lk_core *core, struct lk_server *s, struct lk_text *text, const struct lk_plan *plan)
{
    struct lk_lock_statement *st = row(core, s, text);
    if (!st)
        return;
    st->executions++;
    st->why = plan && is_exact(plan) ? LK_WHY_EXACT : LK_WHY_UNSURE;
}

void
lk_holds_suspected(struct lk_core *core, struct lk_server *s, struct lk_text *text)
{
    struct lk_lock_statement *st = row(core, s, text);
    if (!st)
        return;
    st->executions++;
    if (st->why != LK_WHY_LEARNED)
        st->why = LK_WHY_BLAMED;
}

void
lk_holds_blamed(struct lk_core *core, struct lk_server *s, struct lk_text *text, bool sole)
{
    struct lk_lock_statement *st = row(core, s, text);
    if (!st)
        return;
    /* What came before it was blamed was not counted; this execution is the first that is. */
    st->executions += st->executions == 0;
    if (sole)
        st->why = LK_WHY_LEARNED;
    else if (st->why != LK_WHY_LEARNED)
        st->why = LK_WHY_BLAMED;
}

void
lk_holds_leaked(struct lk_core *core, struct lk_server *s, struct lk_text *text)
{
    struct lk_lock_statement *st = row(core, s, text);
    if (st)
        st->leaks++;
}

void
lk_holds_refused(struct lk_core *core, struct lk_server *s, struct lk_text *text)
{
    struct lk_lock_statement *st = row(core, s, text);
    if (st)
        st->refused++;
}
