#include "session/refuse.h"

#include <stdlib.h>

#include "session/step.h"
#include "wire/build.h"
#include "wire/message.h"

/* Names are cut at 63 bytes, with a NOTICE: it must be shorter. */
static const char *const texts[] = {
    [LK_REFUSAL_PARSE] = "refused by the connection pooler",
    [LK_REFUSAL_NAME] = "SELECT \"refused by the connection pooler: session lock\"",
};

static struct lk_reply *
push(struct lk_server *s, enum lk_reply_kind kind, const struct lk_error *e, struct lk_watch *watch)
{
    struct lk_reply *r = lk_replies_push(&s->replies, kind, LK_FOR_REFUSAL);
    if (!r) {
        lk_watch_free(watch);
        return NULL;
    }
    r->error = LK_NEW(struct lk_error);
    *r->error = *e;
    r->watch = watch;
    return r;
}

static struct lk_reply *
send(struct lk_core *core, struct lk_server *s, struct lk_reply *r, struct lk_buf *message)
{
    bool sent = r && lk_step_send_buf(core, &s->end, message);
    lk_buf_clear(message);
    return sent ? r : NULL;
}

struct lk_reply *
lk_refuse_extended(
    struct lk_core *core, struct lk_server *s, enum lk_refusal how, const struct lk_error *e, struct lk_watch *watch)
{
    struct lk_buf out = {0};
    lk_build_parse(&out, "lk_refused", lk_span_str(texts[how]), 0, lk_span_make(NULL, 0));
    return send(core, s, push(s, LK_REPLY_PARSE, e, watch), &out);
}

struct lk_reply *
lk_refuse_query(struct lk_core *core, struct lk_server *s, const struct lk_error *e, struct lk_watch *watch)
{
    struct lk_buf out = {0};
    lk_build_query(&out, lk_span_str(texts[LK_REFUSAL_NAME]));
    lk_server_set_unnamed(s, NULL);
    return send(core, s, push(s, LK_REPLY_QUERY, e, watch), &out);
}

bool
lk_refuse_answer(struct lk_core *core, struct lk_server *s, const struct lk_reply *r, struct lk_span whole, struct lk_span body)
{
    struct lk_buf out = {0};
    bool ours = !lk_span_is(lk_msg_error_field(body, 'C'), "25P02");
    if (!s->client)
        return ours;
    if (!ours) {
        lk_step_send(core, &s->client->end, whole);
        return false;
    }
    lk_build_error(&out, "ERROR", r->error, false);
    (void)lk_step_send_buf(core, &s->client->end, &out);
    lk_buf_clear(&out);
    return true;
}
