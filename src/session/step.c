#include "session/step.h"

bool
lk_step_send_buf(struct lk_core *core, struct lk_end *end, const struct lk_buf *b)
{
    struct lk_span bytes = b->failed ? lk_span_make(NULL, 0) : lk_arena_copy(&core->arena, lk_buf_span(b));
    if (!bytes.p)
        return false;
    lk_effects_send(&core->effects, end, bytes);
    return true;
}

bool
lk_step_expect(struct lk_server *s, enum lk_reply_purpose purpose, const enum lk_reply_kind *kinds, size_t count)
{
    if (s->replies.count + count > LK_REPLIES_MAX)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!lk_replies_push(&s->replies, kinds[i], purpose))
            return false;
    return true;
}
