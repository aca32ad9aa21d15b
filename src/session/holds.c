#include "session/holds.h"

static void
heard(void *context, enum lk_ledger_event what, const struct lk_held *held, struct lk_text *text)
{
    struct lk_server *s = context;
    if (what == LK_LEDGER_GONE)
        lk_histogram_add(&s->seat.pool->locks.holds, s->core->now.mono_us - held->since.mono_us);
}

void
lk_holds_listen(struct lk_core *core, struct lk_server *s)
{
    s->core = core;
    s->ledger.listener = (struct lk_ledger_listener){heard, s};
}
