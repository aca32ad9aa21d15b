#include "session/clean.h"

#include <stdlib.h>

#include "base/log.h"
#include "lock/policy.h"
#include "session/errand.h"
#include "session/evidence.h"
#include "session/link.h"
#include "session/step.h"
#include "session/tell.h"
#include "wire/build.h"

#define PROBE_NAME "lk_probe"

/* Everything qualified, the operators too: a search_path with an `=` of its own must not fool us. */
static const char probe_text[] =
    "SELECT classid, objid, objsubid, mode FROM pg_catalog.pg_locks"
    " WHERE locktype OPERATOR(pg_catalog.=) 'advisory'::pg_catalog.text"
    " AND granted AND pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid()";

/* --- sending statements of ours --- */

static bool
send_query(struct lk_core *core, struct lk_server *s, const char *text, enum lk_reply_purpose purpose)
{
    struct lk_buf out = {0};
    static const enum lk_reply_kind kinds[] = {LK_REPLY_QUERY};
    lk_build_query(&out, lk_span_str(text));
    bool sent = lk_step_expect(s, purpose, kinds, 1) && lk_step_send_buf(core, &s->end, &out);
    lk_buf_clear(&out);
    lk_server_set_unnamed(s, NULL);
    return sent;
}

bool
lk_clean_send_reset(struct lk_core *core, struct lk_server *s)
{
    static const enum lk_reply_kind kinds[] = {LK_REPLY_FCALL};
    /* FunctionCall of OID 2892: no argument formats, no arguments, result in text */
    static const uint8_t fcall[] = {'F', 0, 0, 0, 14, 0, 0, 0x0b, 0x4c, 0, 0, 0, 0, 0, 0};
    s->seat.pool->locks.resets++;
    if (s->no_fcall)
        return send_query(core, s, "SELECT pg_catalog.pg_advisory_unlock_all()", LK_FOR_RESET);
    if (!lk_step_expect(s, LK_FOR_RESET, kinds, 1))
        return false;
    lk_step_send(core, &s->end, lk_span_make(fcall, sizeof(fcall)));
    return true;
}

bool
lk_probe_send(struct lk_core *core, struct lk_server *s)
{
    static const enum lk_reply_kind kinds[] = {LK_REPLY_PARSE, LK_REPLY_BIND, LK_REPLY_EXECUTE, LK_REPLY_SYNC};
    struct lk_buf out = {0};
    size_t from = s->probe_parsed ? 1 : 0;
    if (from == 0 && s->names_doubtful) {
        static const enum lk_reply_kind closing[] = {LK_REPLY_CLOSE};
        lk_build_target(&out, 'C', 'S', PROBE_NAME);
        if (!lk_step_expect(s, LK_FOR_PROBE, closing, 1))
            return false;
    }
    if (from == 0)
        lk_build_parse(&out, PROBE_NAME, lk_span_str(probe_text), 0, lk_span_make(NULL, 0));
    lk_build_bind(&out, PROBE_NAME, NULL, 0);
    lk_build_execute(&out, "", 0);
    lk_build_sync(&out);
    bool sent = lk_step_expect(s, LK_FOR_PROBE, kinds + from, LK_COUNT(kinds) - from) && lk_step_send_buf(core, &s->end, &out);
    lk_buf_clear(&out);
    if (!sent)
        return false;
    s->probe_parsed = true;
    s->probe_found = 0;
    s->probe_began_us = core->now.mono_us;
    s->probe_metered = lk_ledger_zero(&s->ledger);
    s->seat.pool->locks.probes++;
    lk_ledger_probe_begin(&s->ledger);
    return true;
}

static bool
text_u32(struct lk_span row, unsigned column, uint32_t *out)
{
    struct lk_msg_value v;
    uint64_t n = 0;
    if (!lk_msg_row_value(row, column, &v, NULL) || v.null || v.data.n == 0 || v.data.n > 10)
        return false;
    for (size_t i = 0; i < v.data.n; i++) {
        if (v.data.p[i] < '0' || v.data.p[i] > '9')
            return false;
        n = n * 10 + (uint64_t)(v.data.p[i] - '0');
    }
    *out = (uint32_t)n;
    return n <= UINT32_MAX;
}

void
lk_probe_row(struct lk_core *core, struct lk_server *s, struct lk_span row)
{
    struct lk_key key;
    struct lk_msg_value mode;
    if (!text_u32(row, 0, &key.classid) || !text_u32(row, 1, &key.objid) || !text_u32(row, 2, &key.subid) ||
        !lk_msg_row_value(row, 3, &mode, NULL) || lk_key_space(key) == LK_SPACE_OTHER)
        return;
    enum lk_lock_mode m = lk_span_is(mode.data, "ShareLock") ? LK_MODE_SHARED : LK_MODE_EXCLUSIVE;
    if (!lk_ledger_probe_row(&s->ledger, key, m, lk_evidence_culprit(s), s->run.texts > 0 ? s->run.ended : core->now))
        return;
    s->probe_found++;
    const struct lk_held *held = lk_ledger_find(&s->ledger, key, m);
    if (held && lk_evidence_hidden(s) && !(s->ledger.unsure & LK_UNSURE_FULL))
        lk_tell_hidden(core, s, held);
}

static void
probe_done(struct lk_core *core, struct lk_server *s)
{
    struct lk_pool *pool = s->seat.pool;
    int64_t took = core->now.mono_us - s->probe_began_us;
    if (s->ours_failed[0]) {
        /* 26000: a DO block ran DISCARD ALL or DEALLOCATE ALL unseen; 57014: a cancel meant for the client's statement */
        bool gone = strcmp(s->ours_failed, "26000") == 0, cancelled = strcmp(s->ours_failed, "57014") == 0;
        bool again = (gone || cancelled) && s->tries++ == 0;
        if (gone)
            lk_answers_forget_parsed(s);
        s->probe_failed = !again;
        lk_ledger_doubt(&s->ledger, LK_UNSURE_ERROR);
        return;
    }
    s->tries = 0;
    s->probe_settled = true;
    uint32_t before = s->ledger.count;
    lk_ledger_probe_end(&s->ledger);
    uint32_t vanished = before - s->ledger.count;
    lk_probe_meter_add(&pool->meter, core->now.mono_us, core->now.mono_us - s->used_us, s->probe_metered ? took : 0);
    s->used_us = core->now.mono_us;
    lk_evidence_probed(core, s, s->probe_found, vanished);
}

void
lk_clean_sync(struct lk_core *core, struct lk_server *s)
{
    static const enum lk_reply_kind kinds[] = {LK_REPLY_SYNC};
    static const uint8_t sync[] = {'S', 0, 0, 0, 4};
    if (!s->replies.unsynced && !s->replies.skipping)
        return;
    if (lk_step_expect(s, LK_FOR_DRAIN, kinds, 1))
        lk_step_send(core, &s->end, lk_span_make(sync, sizeof(sync)));
    else
        lk_server_close(core, s, "out of memory", LK_REASON_BACKEND_CLOSED, false);
}

void
lk_clean_end_copy(struct lk_core *core, struct lk_server *s)
{
    struct lk_buf out = {0};
    lk_replies_copy_over(&s->replies, false);
    lk_build_copy_fail(&out, "client went away");
    (void)lk_step_send_buf(core, &s->end, &out);
    lk_buf_clear(&out);
    lk_clean_sync(core, s);
}

/* --- answers --- */

/* The answer to a reset that went behind a client's message. If it failed, cleaning resets again. */
static void
piggyback_done(struct lk_server *s)
{
    s->reset_fresh = !s->ours_failed[0] && s->replies.count == 0 && !s->replies.unsynced;
    if (s->ours_failed[0])
        return;
    lk_ledger_unlock_all(&s->ledger);
    /* what ran before was vouched for: a statement that the client sent meanwhile is alone, as after a release */
    if (s->run.suspect_count == 0 && !s->run.first_pending)
        lk_evidence_reset(s);
}

static void
reset_done(struct lk_core *core, struct lk_server *s)
{
    if (!s->ours_failed[0]) {
        lk_tell_leaks(core, s, s->clean_reason, LK_ACTION_UNLOCK_ALL);
        lk_ledger_unlock_all(&s->ledger);
        s->clean = LK_CLEAN_QUERY;
        return;
    }
    bool no_fcall = strcmp(s->ours_failed, "0A000") == 0 || strcmp(s->ours_failed, "08P01") == 0;
    if (no_fcall && !s->no_fcall) {
        s->no_fcall = true;
        return;
    }
    if (strcmp(s->ours_failed, "57014") == 0 && s->tries++ == 0)
        return;
    lk_log(LK_LOG_WARNING, "%s: pg_advisory_unlock_all failed (%s): DISCARD ALL instead", lk_server_label(s), s->ours_failed);
    s->clean = LK_CLEAN_QUERY;
    if (!send_query(core, s, "DISCARD ALL", LK_FOR_DISCARD))
        lk_server_close(core, s, "out of memory", LK_REASON_TIMEOUT, false);
}

void
lk_clean_ours_done(struct lk_core *core, struct lk_server *s, enum lk_reply_purpose purpose)
{
    bool failed = s->ours_failed[0] != '\0';
    switch (purpose) {
    case LK_FOR_PARAMS:
        s->following = 0;
        if (failed && s->client) {
            struct lk_error e;
            lk_error_set(&e, s->ours_failed, "a parameter of this connection was refused by the server");
            lk_client_fail(core, s->client, &e, LK_REASON_CLIENT_ABORT);
        }
        break;
    case LK_FOR_PROBE:
        probe_done(core, s);
        break;
    case LK_FOR_RESET:
        if (s->state == LK_SERVER_LINKED || s->clean < LK_CLEAN_RESET)
            piggyback_done(s);
        else
            reset_done(core, s);
        break;
    case LK_FOR_ERRAND:
        lk_errand_answered(core, s);
        return;
    case LK_FOR_DRAIN:
        break;
    default:
        if (failed)
            lk_server_close(core, s, "could not be cleaned", LK_REASON_BACKEND_CLOSED, false);
    }
    s->ours_failed[0] = '\0';
}

/* --- the steps --- */

enum progress { ON, WAIT };

static enum progress
ask(struct lk_core *core, struct lk_server *s, bool sent)
{
    if (!sent)
        lk_server_close(core, s, "out of memory", LK_REASON_BACKEND_CLOSED, false);
    return WAIT;
}

static enum progress
rollback(struct lk_core *core, struct lk_server *s)
{
    if (s->status == 'I') {
        s->clean = LK_CLEAN_PROBE;
        lk_evidence_rest(core, s);
        return ON;
    }
    if (s->tries++ > 0) {
        lk_server_close(core, s, "ROLLBACK did not end its transaction", LK_REASON_BACKEND_CLOSED, false);
        return WAIT;
    }
    return ask(core, s, send_query(core, s, "ROLLBACK", LK_FOR_ROLLBACK));
}

/* Policy observe: locks stay on the backend, and the ledger follows them from client to client. */
static bool
observes(const struct lk_server *s)
{
    return s->seat.pool->route.advisory_lock_policy == LK_POLICY_OBSERVE;
}

/* Locks in the ledger, unsure, untrusted, or chosen for a sample. */
static bool
probe_is_due(struct lk_core *core, struct lk_server *s)
{
    struct lk_pool *pool = s->seat.pool;
    if (s->probe_failed || s->probe_settled)
        return false;
    if (s->ledger.unsure || (s->ledger.count > 0 && !observes(s)))
        return true;
    uint32_t sample = pool->route.advisory_probe_sample;
    bool sampled = !s->reset_fresh && s->run.suspect_count == 0 && s->run.texts > 0 && sample > 0 && ++pool->releases % sample == 0;
    if (!sampled && s->run.suspect_count == 0)
        return false;
    if (s->run.blamed || lk_probe_meter_allows(&pool->meter, core->now.mono_us))
        return true;
    pool->locks.probes_skipped++;
    s->untrusted_release = true;
    lk_evidence_reset(s);
    return false;
}

static enum progress
probe(struct lk_core *core, struct lk_server *s)
{
    if (probe_is_due(core, s))
        return ask(core, s, lk_probe_send(core, s));
    s->clean = LK_CLEAN_AUTHORIZATION;
    return ON;
}

static bool
needs_reset(const struct lk_server *s)
{
    const struct lk_route *route = &s->seat.pool->route;
    return (route->advisory_unlock_all == LK_UNLOCK_ALWAYS && !s->reset_fresh) || !lk_ledger_zero(&s->ledger) || s->untrusted_release;
}

static enum progress
authorization(struct lk_core *core, struct lk_server *s)
{
    s->clean = LK_CLEAN_RESET;
    s->tries = 0;
    if (!s->authorization || strcmp(s->authorization, s->seat.pool->route.user) == 0)
        return ON;
    return ask(core, s, send_query(core, s, "RESET SESSION AUTHORIZATION", LK_FOR_AUTHORIZATION));
}

static enum progress
connect_query(struct lk_core *core, struct lk_server *s)
{
    const char *query = s->seat.pool->route.connect_query;
    s->clean = LK_CLEAN_RESET;
    if (!query || !query[0])
        return ON;
    return ask(core, s, send_query(core, s, query, LK_FOR_CONNECT));
}

/* No reset of ours: what is held is told once, and left there. */
static enum progress
leave(struct lk_core *core, struct lk_server *s)
{
    if (s->state != LK_SERVER_SETUP && !lk_ledger_zero(&s->ledger))
        lk_tell_leaks(core, s, s->clean_reason, LK_ACTION_NONE);
    lk_ledger_leave(&s->ledger);
    s->clean = LK_CLEAN_QUERY;
    return ON;
}

static enum progress
reset(struct lk_core *core, struct lk_server *s)
{
    if (observes(s))
        return leave(core, s);
    if (!needs_reset(s)) {
        s->clean = LK_CLEAN_QUERY;
        return ON;
    }
    return ask(core, s, lk_clean_send_reset(core, s));
}

static enum progress
reset_query(struct lk_core *core, struct lk_server *s)
{
    const char *query = core->settings->server_reset_query;
    bool wanted = s->seat.pool->route.mode == LK_POOL_SESSION || core->settings->server_reset_query_always;
    bool fresh = s->state == LK_SERVER_SETUP;
    s->clean = LK_CLEAN_DONE;
    if (fresh || !wanted || !query || !query[0])
        return ON;
    return ask(core, s, send_query(core, s, query, LK_FOR_RESET_QUERY));
}

static enum progress
check(struct lk_core *core, struct lk_server *s)
{
    const char *query = core->settings->server_check_query;
    s->clean = LK_CLEAN_DONE;
    return ask(core, s, send_query(core, s, strcmp(query, "<empty>") == 0 ? "" : query, LK_FOR_CHECK));
}

static enum progress
done(struct lk_core *core, struct lk_server *s)
{
    struct lk_pool *pool = s->seat.pool;
    lk_evidence_reset(s);
    lk_who_unref(s->who);
    s->who = NULL;
    s->untrusted_release = false;
    s->probe_failed = false;
    const char *why;
    if (s->status != 'I' || !(observes(s) || lk_ledger_zero(&s->ledger))) {
        lk_server_close(core, s, "could not be cleaned", LK_REASON_BACKEND_CLOSED, false);
        return WAIT;
    }
    if (s->errand) {
        lk_errand_start(core, s);
        return WAIT;
    }
    if (lk_server_worn_out(core, s, &why)) {
        lk_server_close(core, s, why, LK_REASON_ADMIN, true);
        return WAIT;
    }
    lk_server_enter(core, s, LK_SERVER_IDLE);
    if (s->end.stalled)
        lk_effects_resume(&core->effects, &s->end);
    lk_link_serve(core, pool);
    return WAIT;
}

static enum progress (*const steps[])(struct lk_core *core, struct lk_server *s) = {
    [LK_CLEAN_ROLLBACK] = rollback,
    [LK_CLEAN_PROBE] = probe,
    [LK_CLEAN_AUTHORIZATION] = authorization,
    [LK_CLEAN_CONNECT] = connect_query,
    [LK_CLEAN_RESET] = reset,
    [LK_CLEAN_QUERY] = reset_query,
    [LK_CLEAN_CHECK] = check,
    [LK_CLEAN_DONE] = done,
};

void
lk_clean_step(struct lk_core *core, struct lk_server *s)
{
    while (s->state != LK_SERVER_GONE && lk_replies_quiet(&s->replies) && s->cancels == 0)
        if (steps[s->clean](core, s) == WAIT)
            return;
}

void
lk_clean_begin(struct lk_core *core, struct lk_server *s, enum lk_clean_stage from, enum lk_reason reason)
{
    s->clean = from;
    s->clean_reason = reason;
    s->tries = 0;
    if (s->state != LK_SERVER_SETUP)
        lk_server_enter(core, s, LK_SERVER_CLEANING);
    lk_clean_step(core, s);
}
