/* Messages of a client that is logged in, on their way to a server: steps 4 to 9 of a query's walk. A handler notes in the
 * reply queue what answer its message is owed, then sends it. */
#include "session/step.h"

#include <stdio.h>
#include <stdlib.h>

#include "session/clean.h"
#include "session/extended.h"
#include "session/link.h"
#include "session/piggyback.h"
#include "session/policy.h"
#include "session/refuse.h"
#include "session/shorten.h"
#include "sql/gate.h"
#include "wire/frame.h"

/* A Bind or FunctionCall up to this length is looked at whole; a longer one is forwarded as it comes. */
#define WHOLE_MAX (64u * 1024)

enum outcome { DONE, NEED_MORE };

/* How a frame of the client's is dealt with. */
typedef enum outcome handler(struct lk_core *core, struct lk_client *c, const struct lk_frame *f, struct lk_span whole);

/* Takes the whole frame or what is there of it, and remembers the rest. Sends it on, or drops it. */
static void
take(struct lk_core *core, struct lk_client *c, const struct lk_frame *f, struct lk_span there, bool dropped)
{
    c->remain = f->total - (uint32_t)there.n;
    c->remain_dropped = dropped;
    if (!dropped)
        lk_step_send(core, &c->server->end, there);
}

static void
out_of_memory(struct lk_core *core, struct lk_client *c)
{
    struct lk_error e;
    lk_error_set(&e, "53200", "out of memory");
    lk_client_fail(core, c, &e, LK_REASON_CLIENT_ABORT);
}

static void
violation(struct lk_core *core, struct lk_client *c, const char *what)
{
    struct lk_error e;
    lk_error_set(&e, "08P01", "%s", what);
    lk_client_fail(core, c, &e, LK_REASON_CLIENT_ABORT);
}

struct lk_sql_mode
lk_forward_mode(struct lk_core *core, const struct lk_client *c)
{
    const char *strings = c->params.value[LK_PARAM_STANDARD_STRINGS];
    const char *encoding = c->params.value[LK_PARAM_CLIENT_ENCODING];
    if (encoding != core->encoding_seen) {
        core->encoding_seen = encoding;
        core->encoding_safe = !encoding || lk_encoding_ascii_safe(lk_span_str(encoding));
    }
    return (struct lk_sql_mode){
        .standard_strings = !strings || strcmp(strings, "off") != 0,
        .ascii_safe = core->encoding_safe,
    };
}

/* A Query's text is sent once and as it came, so that another of its shape may stand for it, unless records show it in
 * full. */
static struct lk_analysis *
analyse(struct lk_core *core, const struct lk_client *c, struct lk_span sql)
{
    const char *shown = core->settings->leak_log_query;
    struct lk_sql_mode mode = lk_forward_mode(core, c);
    if (shown && shown[0] == 'f')
        return lk_analysis_cache_get(core->analyses, sql, mode);
    return lk_analysis_cache_get_alike(core->analyses, sql, mode);
}

/* Notes the answer that the message is owed; takes over analysis and watch. NULL: no memory, which the client is told. */
static struct lk_reply *
owe(struct lk_core *core, struct lk_client *c, enum lk_reply_kind kind, struct lk_analysis *a, struct lk_watch *watch,
    bool failed)
{
    struct lk_reply *r = failed ? NULL : lk_replies_push(&c->server->replies, kind, LK_FOR_CLIENT);
    if (!r) {
        lk_watch_free(watch);
        lk_analysis_unref(a);
        out_of_memory(core, c);
        return NULL;
    }
    r->analysis = a;
    r->watch = watch;
    if (watch)
        watch->sent_us = core->now.mono_us;
    return r;
}

/* The message stays unread until the server has answered what is outstanding; a Flush sees to it that it does. */
static enum outcome
hold(struct lk_core *core, struct lk_client *c)
{
    static const uint8_t flush[] = {'H', 0, 0, 0, 4};
    c->held = true;
    c->end.paused = true;
    if (c->server->replies.unsynced)
        lk_step_send(core, &c->server->end, lk_span_make(flush, sizeof(flush)));
    return NEED_MORE;
}

/* The policy's verdict on a Query or FunctionCall: refused or held it is not sent. */
static enum lk_verdict
judge(struct lk_core *core, struct lk_client *c, const struct lk_frame *f, struct lk_span there, struct lk_watch *watch)
{
    struct lk_error e;
    bool decided = !watch || lk_shorten_decide(c, watch, there.n == f->total);
    enum lk_verdict verdict = decided ? lk_policy_judge(core, c, watch, &e) : LK_VERDICT_WAIT;
    if (verdict == LK_VERDICT_SEND)
        return verdict;
    if (verdict == LK_VERDICT_WAIT) {
        lk_watch_free(watch);
        (void)hold(core, c);
        return verdict;
    }
    take(core, c, f, there, true);
    if (!lk_refuse_query(core, c->server, &e, watch))
        out_of_memory(core, c);
    return verdict;
}

static enum outcome
on_query(struct lk_core *core, struct lk_client *c, const struct lk_frame *f, struct lk_span whole)
{
    struct lk_server *s = c->server;
    bool all = whole.n == f->total;
    struct lk_analysis *a = NULL;
    struct lk_watch *watch = NULL;
    bool failed = false;
    if (all) {
        const uint8_t *end = f->body.n > 0 ? memchr(f->body.p, 0, f->body.n) : NULL;
        if (!end) {
            violation(core, c, "invalid string in message");
            return DONE;
        }
        a = analyse(core, c, lk_span_make(f->body.p, (size_t)(end - f->body.p)));
        if (a)
            watch = lk_watch_query(a, &failed);
    }
    enum lk_verdict verdict = judge(core, c, f, whole, watch);
    if (verdict != LK_VERDICT_SEND) {
        lk_analysis_unref(a);
        if (verdict == LK_VERDICT_WAIT)
            return NEED_MORE;
        lk_client_set_unnamed(c, NULL);
        return DONE;
    }
    struct lk_span rewritten = {0}, shortened = {0};
    if (a && a->verb == LK_VERB_DEALLOCATE)
        lk_extended_deallocate(core, c, a, &rewritten);
    if (lk_shorten_any(watch)) {
        shortened = lk_shorten_query(core, watch);
        failed = shortened.n == 0;
    }
    bool reset = lk_piggyback_query(core, s, a);
    struct lk_reply *r = owe(core, c, LK_REPLY_QUERY, a, watch, failed || (all && !a));
    if (!r)
        return DONE;
    r->vouched = reset;
    s->reset_fresh = false;
    if (rewritten.n > 0)
        lk_extended_note_deallocate(c, a, r);
    lk_server_set_unnamed(s, NULL);
    lk_client_set_unnamed(c, NULL);
    if (rewritten.n > 0 || shortened.n > 0)
        lk_step_send(core, &s->end, rewritten.n > 0 ? rewritten : shortened);
    else
        take(core, c, f, whole, false);
    if (reset && !lk_clean_send_reset(core, s))
        out_of_memory(core, c);
    return DONE;
}

static enum outcome
on_fcall(struct lk_core *core, struct lk_client *c, const struct lk_frame *f, struct lk_span whole)
{
    struct lk_msg_fcall m;
    char text[40];
    bool failed = false;
    if (!lk_msg_fcall(f->body, &m)) {
        violation(core, c, "invalid message format");
        return DONE;
    }
    if (whole.n < f->total)
        m.rest = lk_span_make(NULL, 0);
    (void)snprintf(text, sizeof(text), "FunctionCall_%u", m.oid);
    struct lk_analysis *a = lk_analysis_cache_get(core->analyses, lk_span_str(text), lk_forward_mode(core, c));
    struct lk_watch *watch = a ? lk_watch_fcall(m.oid, m.rest, m.argument_count, a->text, &failed) : NULL;
    enum lk_verdict verdict = judge(core, c, f, whole, watch);
    if (verdict != LK_VERDICT_SEND) {
        lk_analysis_unref(a);
        return verdict == LK_VERDICT_WAIT ? NEED_MORE : DONE;
    }
    c->server->reset_fresh = false;
    struct lk_span shortened = {0};
    if (lk_shorten_any(watch)) {
        shortened = lk_shorten_fcall(core, watch, whole);
        failed = shortened.n == 0;
    }
    if (!owe(core, c, LK_REPLY_FCALL, a, watch, failed || !a))
        return DONE;
    if (shortened.n > 0)
        lk_step_send(core, &c->server->end, shortened);
    else
        take(core, c, f, whole, false);
    return DONE;
}

static enum outcome
on_sync(struct lk_core *core, struct lk_client *c, const struct lk_frame *f, struct lk_span whole)
{
    struct lk_server *s = c->server;
    bool reset = lk_piggyback_sync(core, s);
    /* in copy mode the backend passes over it, unless the data before it made the COPY fail */
    if (s->copy == LK_COPY_IN && !s->replies.data_sent && !lk_replies_copy_ended(&s->replies))
        take(core, c, f, whole, true);
    else if (!lk_replies_push(&s->replies, LK_REPLY_SYNC, LK_FOR_CLIENT))
        out_of_memory(core, c);
    else
        take(core, c, f, whole, false);
    if (reset && c->server && !lk_clean_send_reset(core, s))
        out_of_memory(core, c);
    return DONE;
}

static enum outcome
on_forwarded(struct lk_core *core, struct lk_client *c, const struct lk_frame *f, struct lk_span whole)
{
    take(core, c, f, whole, false);
    return DONE;
}

static enum outcome
on_copy_data(struct lk_core *core, struct lk_client *c, const struct lk_frame *f, struct lk_span whole)
{
    c->server->replies.data_sent = true;
    take(core, c, f, whole, false);
    return DONE;
}

static enum outcome
on_copy_end(struct lk_core *core, struct lk_client *c, const struct lk_frame *f, struct lk_span whole)
{
    struct lk_server *s = c->server;
    if (s->replies.count > 0 && !lk_replies_push(&s->replies, LK_REPLY_COPY_END, LK_FOR_NOBODY)) {
        out_of_memory(core, c);
        return DONE;
    }
    take(core, c, f, whole, false);
    return DONE;
}

void
lk_forward_unhold(struct lk_core *core, struct lk_client *c)
{
    if (!c->held)
        return;
    c->held = false;
    c->end.paused = false;
    lk_effects_resume(&core->effects, &c->end);
}

static enum outcome
extended(struct lk_core *core, struct lk_client *c, enum lk_extended outcome)
{
    if (outcome == LK_EXTENDED_HOLD)
        return hold(core, c);
    if (outcome == LK_EXTENDED_NO_MEMORY)
        out_of_memory(core, c);
    else if (outcome == LK_EXTENDED_BAD)
        violation(core, c, "invalid message format");
    return DONE;
}

static enum outcome
on_parse(struct lk_core *core, struct lk_client *c, const struct lk_frame *f, struct lk_span whole)
{
    return extended(core, c, lk_extended_parse(core, c, f->body, whole));
}

static enum outcome
on_bind(struct lk_core *core, struct lk_client *c, const struct lk_frame *f, struct lk_span whole)
{
    struct lk_msg_bind m;
    if (!lk_msg_bind(f->body, &m)) {
        violation(core, c, "invalid message format");
        return DONE;
    }
    c->remain = f->total - (uint32_t)whole.n;
    c->remain_dropped = false;
    return extended(core, c, lk_extended_bind(core, c, &m, f->total, whole));
}

static enum outcome
on_describe(struct lk_core *core, struct lk_client *c, const struct lk_frame *f, struct lk_span whole)
{
    return extended(core, c, lk_extended_describe(core, c, f->body, whole));
}

static enum outcome
on_execute(struct lk_core *core, struct lk_client *c, const struct lk_frame *f, struct lk_span whole)
{
    return extended(core, c, lk_extended_execute(core, c, f->body, whole));
}

static enum outcome
on_close(struct lk_core *core, struct lk_client *c, const struct lk_frame *f, struct lk_span whole)
{
    return extended(core, c, lk_extended_close(core, c, f->body, whole));
}

static const struct rule {
    handler *linked;
    uint32_t whole_max; /* up to this length it is waited for; beyond, it is forwarded as it comes (0: never waited for) */
    bool always_whole;
} rules[256] = {
    ['Q'] = {on_query, LK_SQL_TEXT_MAX, false},
    ['P'] = {on_parse, 0, true},
    ['B'] = {on_bind, WHOLE_MAX, false},
    ['D'] = {on_describe, 0, true},
    ['E'] = {on_execute, 0, true},
    ['C'] = {on_close, 0, true},
    ['S'] = {on_sync, 0, true},
    ['H'] = {on_forwarded, 0, true},
    ['F'] = {on_fcall, WHOLE_MAX, false},
    ['d'] = {on_copy_data, 0, false},
    ['c'] = {on_copy_end, 0, true},
    ['f'] = {on_copy_end, 0, true},
    ['X'] = {on_forwarded, 0, true},
};

/* Must more of it be here before anything is done with it? */
static bool
must_wait(const struct rule *rule, const struct lk_frame *f, struct lk_span there)
{
    struct lk_msg_bind bind;
    if (there.n == f->total)
        return false;
    if (rule->always_whole || f->total <= rule->whole_max)
        return true;
    return (f->type == 'B' && !lk_msg_bind(f->body, &bind)) || (f->type == 'F' && f->body.n < 64);
}

/* What needs no server when the client has none. True: it was dealt with. */
static bool
without_server(struct lk_core *core, struct lk_client *c, const struct lk_frame *f, struct lk_span whole)
{
    static const uint8_t ready[] = {'Z', 0, 0, 0, 5, 'I'}, closed[] = {'3', 0, 0, 0, 4};
    struct lk_msg_target target;
    switch (f->type) {
    case 'S':
        lk_step_send(core, &c->end, lk_span_make(ready, sizeof(ready)));
        return true;
    case 'H':
        return true;
    case 'C':
        if (!lk_msg_target(f->body, &target))
            return false;
        if (target.kind == 'S' && target.name.n == 0)
            lk_client_set_unnamed(c, NULL);
        else if (target.kind == 'S')
            lk_prepared_drop(&c->prepared, target.name);
        lk_step_send(core, &c->end, lk_span_make(closed, sizeof(closed)));
        return true;
    case 'd':
    case 'c':
    case 'f':
        take(core, c, f, whole, true);
        return true;
    default:
        return false;
    }
}

/* The client has an error of ours in a batch: what stands before its Sync is passed over. */
static void
pass_over(struct lk_core *core, struct lk_client *c, const struct lk_frame *f, struct lk_span whole)
{
    static const uint8_t ready[] = {'Z', 0, 0, 0, 5, 'I'};
    if (f->type == 'S') {
        c->skip_to_sync = false;
        lk_step_send(core, &c->end, lk_span_make(ready, sizeof(ready)));
    } else {
        take(core, c, f, whole, true);
    }
}

/* Its message was cancelled in the queue: an error takes the place of its answer. */
static void
answer_cancelled(struct lk_core *core, struct lk_client *c, const struct lk_frame *f, struct lk_span there)
{
    static const uint8_t ready[] = {'Z', 0, 0, 0, 5, 'I'};
    struct lk_error e;
    c->cancelled = false;
    lk_error_set(&e, "57014", "canceling statement due to user request");
    lk_client_error(core, c, &e);
    take(core, c, f, there, true);
    if (f->type == 'Q' || f->type == 'F')
        lk_step_send(core, &c->end, lk_span_make(ready, sizeof(ready)));
    else
        c->skip_to_sync = true;
}

/* Is it owed an answer? The data of a COPY is not, nor what a client still sends of one that has failed. */
static bool
asks(uint8_t type)
{
    return type != 'd' && type != 'c' && type != 'f' && type != 'H';
}

static void
begin_request(struct lk_core *core, struct lk_client *c)
{
    c->request_us = core->now.mono_us;
    c->request_wall_us = core->now.wall_us;
    c->server->request_us = core->now.mono_us;
    c->server->request_wall_us = core->now.wall_us;
    if (c->transaction_us == 0)
        c->transaction_us = core->now.mono_us;
}

static enum outcome
on_frame(struct lk_core *core, struct lk_client *c, const struct lk_frame *f, struct lk_span there)
{
    const struct rule *rule = &rules[f->type];
    if (!rule->linked) {
        violation(core, c, "invalid frontend message type");
        return DONE;
    }
    if (must_wait(rule, f, there))
        return NEED_MORE;
    if (f->type == 'X') {
        c->terminated = true;
        lk_client_close(core, c);
        return DONE;
    }
    if (c->skip_to_sync) {
        pass_over(core, c, f, there);
        return DONE;
    }
    if (c->state == LK_CLIENT_READY && without_server(core, c, f, there))
        return DONE;
    if (c->cancelled) {
        answer_cancelled(core, c, f, there);
        return DONE;
    }
    if (c->state == LK_CLIENT_READY && !lk_link_acquire(core, c))
        return NEED_MORE;
    if (c->server->replies.skipping && f->type != 'S') {
        take(core, c, f, there, true);
        return DONE;
    }
    if (c->server->replies.count >= LK_REPLIES_MANY)
        return hold(core, c);
    if (c->request_us == 0 && asks(f->type))
        begin_request(core, c);
    return rule->linked(core, c, f, there);
}

size_t
lk_forward_input(struct lk_core *core, struct lk_client *c, struct lk_span in)
{
    struct lk_span rest = in;
    uint32_t most = (uint32_t)core->settings->max_packet_size;
    while (rest.n > 0 && !c->held && (c->state == LK_CLIENT_READY || c->state == LK_CLIENT_LINKED)) {
        struct lk_frame f;
        if (c->remain > 0) {
            size_t n = rest.n < c->remain ? rest.n : c->remain;
            if (!c->remain_dropped && c->server)
                lk_step_send(core, &c->server->end, lk_span_head(rest, n));
            c->remain -= (uint32_t)n;
            rest = lk_span_skip(rest, n);
            continue;
        }
        enum lk_frame_status status = lk_frame_next(rest, most, &f);
        if (status == LK_FRAME_BAD) {
            violation(core, c, "invalid message length");
            break;
        }
        if (status == LK_FRAME_MORE)
            break;
        struct lk_span there = status == LK_FRAME_WHOLE ? lk_span_head(rest, f.total) : rest;
        if (on_frame(core, c, &f, there) == NEED_MORE)
            break;
        rest = lk_span_skip(rest, there.n);
    }
    /* a frame's end may be all that kept its server: the backend had answered before it came */
    if (c->server && c->remain == 0 && lk_replies_quiet(&c->server->replies))
        lk_link_settle(core, c->server);
    return c->state == LK_CLIENT_GONE ? in.n : in.n - rest.n;
}
