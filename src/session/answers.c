/* Messages from a backend, matched with the head of its reply queue: steps 10 to 13 of a query's walk. */
#include "session/step.h"

#include <stdio.h>

#include "base/log.h"
#include "lock/policy.h"
#include "session/catalogs.h"
#include "session/clean.h"
#include "session/errand.h"
#include "session/evidence.h"
#include "session/link.h"
#include "session/policy.h"
#include "session/refuse.h"
#include "session/remark.h"
#include "session/shorten.h"
#include "session/tell.h"
#include "wire/frame.h"

/* Messages other than rows and copies are short; a longer one is a broken peer's. */
#define SHORT_MAX (1024u * 1024 * 1024)

static void
pass(struct lk_core *core, struct lk_server *s, const struct lk_reply *head, struct lk_span whole)
{
    if (s->client && (!head || head->purpose <= LK_FOR_CLIENT))
        lk_step_send(core, &s->client->end, whole);
}

/* Answers of ours that have come to the head of the queue go out. */
static void
answer_ours(struct lk_core *core, struct lk_server *s)
{
    for (;;) {
        struct lk_reply *r = lk_replies_head(&s->replies);
        if (!r || r->purpose != LK_FOR_NOBODY)
            return;
        static const uint8_t parsed[] = {'1', 0, 0, 0, 4}, closed[] = {'3', 0, 0, 0, 4};
        if (s->client && r->kind != LK_REPLY_COPY_END)
            lk_step_send(core, &s->client->end, lk_span_make(r->kind == LK_REPLY_PARSE ? parsed : closed, 5));
        lk_replies_pop(&s->replies);
    }
}

static void
pop(struct lk_core *core, struct lk_server *s)
{
    lk_replies_pop(&s->replies);
    answer_ours(core, s);
}

void
lk_answers_ours(struct lk_core *core, struct lk_server *s)
{
    answer_ours(core, s);
}

/* The entry's message was not carried out: what was noted when it was sent is taken back. */
static void
undo(struct lk_server *s, const struct lk_reply *r)
{
    struct lk_client *c = s->client;
    if (r->kind == LK_REPLY_PARSE && r->purpose == LK_FOR_PROBE) {
        s->probe_parsed = false;
    } else if (r->kind == LK_REPLY_PARSE && r->statement && r->name) {
        struct lk_span name = lk_span_str(r->name);
        if (c && r->purpose <= LK_FOR_NOBODY && lk_prepared_find(&c->prepared, name) == r->statement)
            lk_prepared_drop(&c->prepared, name);
        if (r->adds)
            lk_parsed_drop(&s->parsed, r->statement);
    } else if (r->kind == LK_REPLY_PARSE && r->statement) {
        if (s->unnamed == r->statement)
            lk_server_set_unnamed(s, NULL);
        if (c && c->unnamed == r->statement && r->purpose == LK_FOR_CLIENT)
            lk_client_set_unnamed(c, NULL);
    } else if (r->kind == LK_REPLY_BIND && c) {
        /* which of its portals are as we think is no longer known: an unknown one is a touch */
        lk_client_forget_portals(c);
    } else if (r->kind == LK_REPLY_CLOSE && r->statement) {
        if (r->purpose == LK_FOR_EVICT)
            lk_parsed_add(&s->parsed, r->statement);
        else if (c && r->name)
            lk_prepared_put(&c->prepared, lk_span_str(r->name), r->statement);
    }
}

/* After an error in the extended protocol the backend skips to Sync; so does the queue, the last note being undone first. */
static void
skip_to_sync(struct lk_server *s)
{
    uint32_t n = 0;
    const struct lk_reply *r;
    while ((r = lk_replies_at(&s->replies, n)) && r->kind != LK_REPLY_SYNC)
        n++;
    s->replies.skipping = r == NULL;
    for (uint32_t i = n; i-- > 0;)
        undo(s, lk_replies_at(&s->replies, i));
    while (n-- > 0)
        lk_replies_pop(&s->replies);
}

static void
on_error(struct lk_core *core, struct lk_server *s, struct lk_span whole, struct lk_span body)
{
    struct lk_reply *r = lk_replies_head(&s->replies);
    bool fatal = lk_span_is(lk_msg_error_field(body, 'V'), "FATAL") || lk_span_is(lk_msg_error_field(body, 'V'), "PANIC");
    if (s->copy == LK_COPY_IN)
        lk_replies_copy_over(&s->replies, true);
    s->copy = LK_COPY_NONE;
    if (fatal) {
        struct lk_span text = lk_msg_error_field(body, 'M');
        lk_log(LK_LOG_WARNING, "%s: server said: %.*s", lk_server_label(s), (int)text.n, (const char *)text.p);
        s->said_farewell = s->client != NULL;
        if (s->client)
            lk_step_send(core, &s->client->end, whole);
        return;
    }
    if (!r)
        return;
    r->failed = true;
    if (lk_span_is(lk_msg_error_field(body, 'C'), "40P01"))
        lk_tell_deadlock(core, s, lk_msg_error_field(body, 'D'));
    if (r->purpose == LK_FOR_REFUSAL) {
        if (lk_refuse_answer(core, s, r, whole, body))
            lk_policy_refused(core, s, r->watch);
    } else if (r->purpose <= LK_FOR_PREPARE) {
        if (s->client)
            lk_step_send(core, &s->client->end, whole);
        if (r->watch)
            lk_watch_failed(r->watch, &s->ledger);
        /* a statement that we thought it had: a function ran DISCARD ALL or DEALLOCATE ALL unseen */
        bool uses = r->kind == LK_REPLY_BIND || r->kind == LK_REPLY_DESCRIBE;
        if (uses && r->statement && lk_span_is(lk_msg_error_field(body, 'C'), "26000"))
            lk_answers_forget_parsed(s);
    } else {
        struct lk_span code = lk_msg_error_field(body, 'C'), text = lk_msg_error_field(body, 'M');
        (void)snprintf(s->ours_failed, sizeof(s->ours_failed), "%.*s", (int)code.n, (const char *)code.p);
        bool operators = r->purpose == LK_FOR_ERRAND && s->errand->kind->resets;
        lk_log(operators ? LK_LOG_WARNING : LK_LOG_DEBUG, "%s: a statement of ours failed: %s %.*s", lk_server_label(s), s->ours_failed, (int)text.n,
            (const char *)text.p);
    }
    if (r->kind == LK_REPLY_QUERY || r->kind == LK_REPLY_FCALL || r->kind == LK_REPLY_SYNC)
        return;
    if (r->kind == LK_REPLY_EXECUTE && r->purpose == LK_FOR_CLIENT)
        lk_evidence_ran(core, s, r);
    if (r->kind == LK_REPLY_BIND && r->purpose == LK_FOR_CLIENT)
        lk_evidence_bound(core, s, r);
    skip_to_sync(s);
}

void
lk_answers_forget_parsed(struct lk_server *s)
{
    lk_parsed_clear(&s->parsed);
    s->probe_parsed = false;
    for (uint32_t i = 1; s->replies.adding > 0 && i < s->replies.count; i++) {
        const struct lk_reply *r = lk_replies_at(&s->replies, i);
        if (r->adds)
            lk_parsed_add(&s->parsed, r->statement);
    }
}

/* The client's statements are gone, but for those that it has parsed behind. */
static void
forget_statements(struct lk_server *s)
{
    lk_answers_forget_parsed(s);
    if (!s->client)
        return;
    lk_prepared_clear(&s->client->prepared);
    for (uint32_t i = 1; i < s->replies.count; i++) {
        const struct lk_reply *r = lk_replies_at(&s->replies, i);
        if (r->kind == LK_REPLY_PARSE && r->statement && r->name && r->purpose <= LK_FOR_NOBODY)
            lk_prepared_put(&s->client->prepared, lk_span_str(r->name), r->statement);
    }
}

/* Tags that change what we know, whoever's statement it was and however it was hidden. */
static void
on_tag(struct lk_core *core, struct lk_server *s, const struct lk_reply *r, struct lk_span tag)
{
    if (lk_span_is(tag, "DISCARD ALL")) {
        forget_statements(s);
        if (r->purpose == LK_FOR_DISCARD)
            lk_tell_leaks(core, s, s->clean_reason, LK_ACTION_DISCARD_ALL);
        lk_ledger_unlock_all(&s->ledger);
    } else if (lk_span_is(tag, "DEALLOCATE ALL")) {
        forget_statements(s);
    } else if (lk_span_is(tag, "DEALLOCATE") && !r->statement) {
        /* of a name that we don't know: it may have been one of ours, and free for another text now */
        s->names_doubtful = true;
        lk_answers_forget_parsed(s);
    } else if (lk_span_is(tag, "DEALLOCATE")) {
        lk_parsed_drop(&s->parsed, r->statement);
        if (s->client && r->name)
            lk_prepared_drop(&s->client->prepared, lk_span_str(r->name));
    } else {
        lk_evidence_ddl(core, s, tag, r->analysis);
    }
}

static bool
tag_says_none(struct lk_span tag)
{
    return tag.n > 2 && tag.p[tag.n - 1] == '0' && tag.p[tag.n - 2] == ' ';
}

/* CommandComplete, EmptyQueryResponse, PortalSuspended. */
static void
on_complete(struct lk_core *core, struct lk_server *s, struct lk_frame *f, struct lk_span whole)
{
    struct lk_reply *r = lk_replies_head(&s->replies);
    pass(core, s, r, whole);
    if (s->copy == LK_COPY_IN)
        lk_replies_copy_over(&s->replies, false);
    s->copy = LK_COPY_NONE;
    if (f->type == 'C' && f->body.n > 1) {
        struct lk_span tag = lk_span_head(f->body, f->body.n - 1);
        uint8_t first = tag.p[0];
        r->no_rows = tag_says_none(tag);
        if (first == 'D' || first == 'C' || first == 'A')
            on_tag(core, s, r, tag);
        if (s->seat.pool->route.advisory_lock_policy == LK_POLICY_REWRITE)
            lk_shorten_tag(s, r, tag);
    }
    if (r->watch) {
        lk_catalogs_doubt(s->seat.pool, r->watch);
        lk_policy_complete(core, s, r->watch, f->type == 's');
    }
    if (r->kind != LK_REPLY_EXECUTE)
        return;
    if (r->purpose == LK_FOR_CLIENT) {
        lk_evidence_ran(core, s, r);
        lk_remark_ran(core, s, r);
    }
    pop(core, s);
}

static void
on_row(struct lk_core *core, struct lk_server *s, struct lk_span whole, struct lk_span body)
{
    struct lk_reply *r = lk_replies_head(&s->replies);
    if (r->watch)
        lk_watch_row(r->watch, body);
    if (r->purpose == LK_FOR_PROBE)
        lk_probe_row(core, s, body);
    else if (r->purpose == LK_FOR_PARAMS)
        lk_params_settled(core, s, body);
    else if (r->purpose == LK_FOR_ERRAND)
        lk_errand_row(core, s, body);
    pass(core, s, r, whole);
}

/* In statement mode a server is lent for one statement: a transaction left open costs its client the connection. */
static bool
opens_block(const struct lk_server *s, enum lk_reply_purpose purpose)
{
    return s->client && purpose == LK_FOR_CLIENT && s->status != 'I' && s->seat.pool->route.mode == LK_POOL_STATEMENT;
}

static void
refuse_block(struct lk_core *core, struct lk_client *c)
{
    struct lk_error e;
    lk_error_set(&e, "08P01", "transaction blocks not allowed in statement pooling mode");
    lk_client_fail(core, c, &e, LK_REASON_CLIENT_ABORT);
}

static void
count_ready(struct lk_core *core, struct lk_server *s)
{
    struct lk_stats *stats = &s->seat.pool->stats;
    stats->queries++;
    stats->query_us += (uint64_t)(core->now.mono_us - s->request_us);
    if (s->status == 'I') {
        stats->transactions++;
        if (s->client && s->client->transaction_us)
            stats->transaction_us += (uint64_t)(core->now.mono_us - s->client->transaction_us);
        if (s->client) /* the next one of a pipeline begins here */
            s->client->transaction_us = s->replies.count > 1 ? core->now.mono_us : 0;
    }
    if (s->client)
        s->client->state_us = core->now.mono_us;
}

static void
on_ready(struct lk_core *core, struct lk_server *s, struct lk_span whole, struct lk_span body)
{
    struct lk_reply *r = lk_replies_head(&s->replies);
    enum lk_reply_purpose purpose = (enum lk_reply_purpose)r->purpose;
    bool awaited = r->kind == LK_REPLY_QUERY || r->kind == LK_REPLY_SYNC || r->kind == LK_REPLY_FCALL;
    if (body.n != 1 || !memchr("ITE", body.p[0], 3) || !awaited) {
        lk_server_close(core, s, "unexpected ReadyForQuery", LK_REASON_BACKEND_CLOSED, false);
        return;
    }
    s->status = body.p[0];
    s->copy = LK_COPY_NONE;
    lk_shorten_ready(core, s);
    bool refused = opens_block(s, purpose), ours = purpose > LK_FOR_REFUSAL;
    if (r->kind == LK_REPLY_FCALL && r->watch && !r->failed)
        lk_policy_complete(core, s, r->watch, false);
    if (!refused && !ours && s->client)
        lk_step_send(core, &s->client->end, whole);
    if (purpose == LK_FOR_CLIENT && r->kind != LK_REPLY_SYNC) {
        lk_evidence_ran(core, s, r);
        lk_remark_ran(core, s, r);
    }
    lk_remark_ready(core, s);
    if (!ours)
        count_ready(core, s);
    pop(core, s);
    if (refused) {
        refuse_block(core, s->client);
        return;
    }
    if (s->client && lk_replies_quiet(&s->replies)) {
        s->client->request_us = 0;
        if (s->status == 'I')
            lk_client_forget_portals(s->client);
    }
    if (ours)
        lk_clean_ours_done(core, s, purpose);
    if (s->state != LK_SERVER_GONE)
        lk_link_settle(core, s);
}

static void
on_copy_in(struct lk_core *core, struct lk_server *s, struct lk_span whole)
{
    struct lk_reply *r = lk_replies_head(&s->replies);
    bool execute = r->kind == LK_REPLY_EXECUTE;
    pass(core, s, r, whole);
    s->copy = LK_COPY_IN;
    /* the backend passes over a Sync in copy mode: those sent ahead of any data get no answer */
    struct lk_reply kept = *r;
    *r = (struct lk_reply){0};
    lk_replies_pop(&s->replies);
    while (s->replies.count > 0 && lk_replies_head(&s->replies)->kind == LK_REPLY_SYNC &&
           !lk_replies_head(&s->replies)->after_data) {
        lk_replies_pop(&s->replies);
        if (s->replies.count == 0)
            s->replies.unsynced = execute;
    }
    *lk_replies_unpop(&s->replies) = kept;
    if (s->state == LK_SERVER_CLEANING)
        lk_clean_end_copy(core, s);
}

/* Everything that may only come as an answer. False: it may not. */
static bool
on_answer(struct lk_core *core, struct lk_server *s, struct lk_frame *f, struct lk_span whole)
{
    struct lk_reply *r = lk_replies_head(&s->replies);
    switch (f->type) {
    case 'D':
        on_row(core, s, whole, f->body);
        return true;
    case 'C':
    case 'I':
    case 's':
        on_complete(core, s, f, whole);
        return true;
    case 'Z':
        on_ready(core, s, whole, f->body);
        return true;
    case '1':
        if (r->adds)
            lk_parsed_add(&s->parsed, r->statement);
        pass(core, s, r, whole);
        pop(core, s);
        return true;
    case '2':
        if (r->purpose == LK_FOR_CLIENT)
            lk_evidence_bound(core, s, r);
        pass(core, s, r, whole);
        pop(core, s);
        return true;
    case '3':
    case 'n':
        pass(core, s, r, whole);
        pop(core, s);
        return true;
    case 'T':
        if (r->watch)
            lk_watch_row_description(r->watch, f->body);
        pass(core, s, r, whole);
        if (r->kind == LK_REPLY_DESCRIBE)
            pop(core, s);
        return true;
    case 'V':
        if (r->watch)
            lk_watch_fcall_result(r->watch, f->body);
        pass(core, s, r, whole);
        return true;
    case 'G':
        on_copy_in(core, s, whole);
        return true;
    case 'H':
        s->copy = LK_COPY_OUT;
        pass(core, s, r, whole);
        return true;
    case 't':
    case 'c':
    case 'd':
        pass(core, s, r, whole);
        return true;
    default:
        return false;
    }
}

static void
on_message(struct lk_core *core, struct lk_server *s, struct lk_frame *f, struct lk_span whole)
{
    struct lk_msg_param param;
    const struct lk_reply *r = lk_replies_head(&s->replies);
    switch (f->type) {
    case 'E':
        on_error(core, s, whole, f->body);
        return;
    case 'N':
        pass(core, s, r, whole);
        return;
    case 'A':
        pass(core, s, NULL, whole);
        return;
    case 'S':
        if (lk_msg_parameter_status(f->body, &param) && lk_params_reported(core, s, &param))
            pass(core, s, NULL, whole);
        return;
    default:
        if (!r || !on_answer(core, s, f, whole))
            lk_server_close(core, s, "unexpected message from server", LK_REASON_BACKEND_CLOSED, false);
    }
}

/* A frame that is not wholly here: true if it goes on in pieces, false if it must be waited for. */
static bool
begin_long(struct lk_core *core, struct lk_server *s, const struct lk_frame *f, struct lk_span rest)
{
    const struct lk_reply *r = lk_replies_head(&s->replies);
    bool bulk = f->type == 'D' || f->type == 'd' || f->type == 'V';
    if (!r || !bulk || r->purpose > LK_FOR_REFUSAL)
        return false;
    if (r->watch && f->total <= LK_SQL_TEXT_MAX && (f->type == 'V' || lk_watch_wants_row(r->watch)))
        return false;
    if (r->watch)
        lk_watch_row(r->watch, lk_span_make(NULL, 0));
    s->remain_passed = r->purpose <= LK_FOR_CLIENT;
    s->remain = f->total - (uint32_t)rest.n;
    pass(core, s, r, rest);
    return true;
}

size_t
lk_answers_input(struct lk_core *core, struct lk_server *s, struct lk_span in)
{
    struct lk_span rest = in;
    if (s->tls_asked)
        return lk_server_login_answer(core, s, in);
    s->heard_us = core->now.mono_us;
    s->seat.pool->stats.sent += in.n;
    while (rest.n > 0 && s->state != LK_SERVER_GONE) {
        struct lk_frame f;
        if (s->remain > 0) {
            size_t n = rest.n < s->remain ? rest.n : s->remain;
            if (s->remain_passed && s->client)
                lk_step_send(core, &s->client->end, lk_span_head(rest, n));
            s->remain -= (uint32_t)n;
            rest = lk_span_skip(rest, n);
            continue;
        }
        enum lk_frame_status status = lk_frame_next(rest, 0x7fffffffu, &f);
        if (status == LK_FRAME_BAD || (status == LK_FRAME_PART && f.total > SHORT_MAX && f.type != 'D' && f.type != 'd' &&
                                          f.type != 'V')) {
            lk_server_close(core, s, "broken message from server", LK_REASON_BACKEND_CLOSED, false);
            break;
        }
        if (status == LK_FRAME_MORE || (status == LK_FRAME_PART && !begin_long(core, s, &f, rest)))
            break;
        if (status == LK_FRAME_PART)
            return in.n;
        if (s->state == LK_SERVER_LOGIN)
            lk_server_login_frame(core, s, f.type, f.body);
        else
            on_message(core, s, &f, lk_span_head(rest, f.total));
        rest = lk_span_skip(rest, f.total);
    }
    if (s->client && s->client->held && s->replies.count == 0)
        lk_forward_unhold(core, s->client);
    s->seat.pool->stats.sent -= s->state == LK_SERVER_GONE ? 0 : rest.n;
    return s->state == LK_SERVER_GONE ? in.n : in.n - rest.n;
}
