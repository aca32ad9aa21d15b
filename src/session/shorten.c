#include "session/shorten.h"

#include <stdlib.h>

#include "lock/policy.h"
#include "session/extended.h"
#include "session/step.h"
#include "session/tell.h"
#include "sql/rewrite.h"
#include "wire/build.h"

/* int4eq(int4, int4): what is called for an unlock that has to say true. */
#define OID_INT4EQ 65u

/* --- the transaction that a message will meet --- */

/* Leaves it the transaction's state as it is? */
static bool
is_neutral(const struct lk_reply *r)
{
    return r->kind == LK_REPLY_FCALL || (r->analysis && r->analysis->single && r->analysis->plain);
}

/* What the transaction will be once everything outstanding is answered: 'I', 'T', 'E'; '?': that can't be told. A BEGIN of
 * an earlier batch may have been passed over, one of the batch at hand only together with what stands behind it. */
static uint8_t
foresee(const struct lk_server *s)
{
    uint8_t state = s->block.state;
    bool extended = false, begun = false;
    for (uint32_t i = 0; i < s->replies.count; i++) {
        const struct lk_reply *r = lk_replies_at(&s->replies, i);
        bool runs = r->kind == LK_REPLY_QUERY || r->kind == LK_REPLY_EXECUTE || r->kind == LK_REPLY_FCALL;
        if (r->kind == LK_REPLY_SYNC && begun)
            return '?';
        extended = r->kind != LK_REPLY_SYNC && (extended || (r->kind != LK_REPLY_QUERY && r->kind != LK_REPLY_FCALL));
        if (!runs || r->purpose != LK_FOR_CLIENT)
            continue;
        enum lk_verb verb = r->analysis ? r->analysis->verb : LK_VERB_OTHER;
        if (r->watch || (r->kind == LK_REPLY_QUERY && extended))
            return '?';
        if (verb == LK_VERB_BEGIN)
            state = state == 'I' ? 'T' : state;
        else if (verb == LK_VERB_COMMIT || verb == LK_VERB_ROLLBACK)
            state = 'I';
        else if (!is_neutral(r))
            return '?';
        begun = begun || (verb == LK_VERB_BEGIN && r->kind == LK_REPLY_EXECUTE);
    }
    return state;
}

/* --- which calls --- */

static uint32_t
count_of(const struct lk_watch *w, uint16_t before, const struct lk_ledger *shortened, const struct lk_watched_call *c)
{
    const struct lk_held *h = lk_ledger_find(shortened, c->key, c->call->fn->mode);
    uint32_t n = h ? h->count : 0;
    for (uint16_t i = 0; i < before; i++) {
        const struct lk_watched_call *other = &w->calls[i];
        if (!other->shortened || !lk_key_eq(other->key, c->key) || other->call->fn->mode != c->call->fn->mode)
            continue;
        if (other->call->fn->op == LK_CALL_UNLOCK)
            n -= n > 0;
        else
            n++;
    }
    return n;
}

static bool
free_of_session_locks(const struct lk_watch *w, uint16_t before, const struct lk_ledger *l, struct lk_key key)
{
    for (uint16_t i = 0; i < before; i++) {
        const struct lk_watched_call *other = &w->calls[i];
        bool takes = other->call->fn->op == LK_CALL_LOCK || other->call->fn->op == LK_CALL_TRY;
        if (takes && !other->shortened && (other->bound != LK_BOUND_KEY || lk_key_eq(other->key, key)))
            return false;
    }
    return !lk_ledger_find(l, key, LK_MODE_EXCLUSIVE) && !lk_ledger_find(l, key, LK_MODE_SHARED);
}

static void
mark(const struct lk_server *s, struct lk_watch *w)
{
    for (uint16_t i = 0; i < w->call_count; i++) {
        struct lk_watched_call *c = &w->calls[i];
        if (c->bound != LK_BOUND_KEY || c->call->fn->op == LK_CALL_UNLOCK_ALL)
            continue;
        if (c->call->fn->op == LK_CALL_UNLOCK)
            c->shortened = count_of(w, i, &s->block.shortened, c) > 0;
        else
            c->shortened = s->block.savepoints == 0 && s->ledger.unsure == 0 && free_of_session_locks(w, i, &s->ledger, c->key);
    }
}

/* An unlock behind a try of its own text: whether there is something to unlock is not known when both are sent. */
static bool
tells_beforehand(const struct lk_watch *w)
{
    bool tries = false;
    for (uint16_t i = 0; i < w->call_count; i++) {
        if (tries && w->calls[i].call->fn->op == LK_CALL_UNLOCK)
            return false;
        tries = tries || w->calls[i].call->fn->op == LK_CALL_TRY;
    }
    return true;
}

/* Every statement of the text is known: none is BEGIN, SAVEPOINT or the like. */
static bool
is_known(const struct lk_watch *w)
{
    const struct lk_plan *plan = w->analysis ? w->analysis->plan : NULL;
    if (w->fcall)
        return true;
    if (!plan || !lk_rewrite_possible(plan))
        return false;
    for (uint16_t i = 0; i < plan->count; i++)
        if (!plan->statements[i].exact)
            return false;
    return true;
}

bool
lk_shorten_decide(const struct lk_client *c, struct lk_watch *w, bool whole)
{
    const struct lk_server *s = c->server;
    if (c->pool->route.advisory_lock_policy != LK_POLICY_REWRITE || !whole || !is_known(w) || !tells_beforehand(w))
        return true;
    uint8_t state = s->cancels > 0 ? '?' : foresee(s);
    /* while data of a COPY is awaited, the client can't be made to wait */
    if (s->replies.count > 0 && state == '?' && s->copy == LK_COPY_NONE)
        return false;
    if (state == 'T')
        mark(s, w);
    return true;
}

bool
lk_shorten_any(const struct lk_watch *w)
{
    for (uint16_t i = 0; w && i < w->call_count; i++)
        if (w->calls[i].shortened)
            return true;
    return false;
}

/* --- what is sent --- */

static bool *
marks(struct lk_core *core, const struct lk_watch *w)
{
    bool *out = (bool *)(void *)lk_arena_take(&core->arena, w->call_count);
    for (uint16_t i = 0; out && i < w->call_count; i++)
        out[i] = w->calls[i].shortened;
    return out;
}

/* The text, of which the caller frees the buffer; false: no memory. */
static bool
make_text(struct lk_core *core, const struct lk_watch *w, struct lk_buf *out)
{
    const struct lk_text *text = w->analysis->text;
    const bool *shorten = marks(core, w);
    if (shorten)
        lk_rewrite_text(lk_span_make(text->sql, text->n), w->analysis->plan, shorten, out);
    return shorten && !out->failed;
}

static struct lk_span
to_arena(struct lk_core *core, struct lk_buf *b)
{
    struct lk_span span = b->failed ? lk_span_make(NULL, 0) : lk_arena_copy(&core->arena, lk_buf_span(b));
    lk_buf_clear(b);
    return span;
}

struct lk_span
lk_shorten_query(struct lk_core *core, const struct lk_watch *w)
{
    struct lk_buf text = {0}, out = {0};
    if (make_text(core, w, &text))
        lk_build_query(&out, lk_buf_span(&text));
    lk_buf_clear(&text);
    return to_arena(core, &out);
}

/* A call of int4eq(1, 1), its result in the client's format. */
static void
build_true(struct lk_buf *b, const uint8_t result_format[2])
{
    static const uint8_t arguments[] = {0, 1, 0, 1, 0, 2, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 1};
    size_t at = lk_build_begin(b, 'F');
    (void)lk_buf_add_u32(b, OID_INT4EQ);
    (void)lk_buf_add(b, arguments, sizeof(arguments));
    (void)lk_buf_add(b, result_format, 2);
    lk_build_end(b, at);
}

struct lk_span
lk_shorten_fcall(struct lk_core *core, const struct lk_watch *w, struct lk_span whole)
{
    struct lk_buf out = {0};
    const struct lk_function *sibling = lk_function_xact(w->fcall->fn);
    if (!sibling) {
        build_true(&out, whole.p + whole.n - 2);
        return to_arena(core, &out);
    }
    (void)lk_buf_add(&out, whole.p, 5);
    (void)lk_buf_add_u32(&out, w->fcall->space == LK_SPACE_INT4PAIR ? sibling->oid_pair : sibling->oid_bigint);
    (void)lk_buf_add(&out, whole.p + 9, whole.n - 9);
    return to_arena(core, &out);
}

/* The declared types, and those of parameters that the text mentions no more. */
static struct lk_span
make_types(struct lk_core *core, const struct lk_statement *st, const struct lk_watch *w, uint16_t *count)
{
    const bool *shorten = marks(core, w);
    uint16_t last = shorten ? lk_rewrite_param_last(w->analysis->plan, shorten) : 0;
    *count = last > st->type_count ? last : st->type_count;
    uint8_t *types = lk_arena_take(&core->arena, (size_t)*count * 4 + 1);
    if (!shorten || !types)
        return lk_span_make(NULL, 0);
    memset(types, 0, (size_t)*count * 4 + 1);
    if (st->type_count > 0)
        memcpy(types, st->types, (size_t)st->type_count * 4);
    for (uint16_t i = 0; i < last; i++) {
        uint8_t *t = types + 4 * (size_t)i;
        uint32_t oid = lk_rewrite_param_type(w->analysis->plan, shorten, (uint16_t)(i + 1));
        if (oid == 0 || t[0] | t[1] | t[2] | t[3])
            continue;
        t[0] = (uint8_t)(oid >> 24);
        t[1] = (uint8_t)(oid >> 16);
        t[2] = (uint8_t)(oid >> 8);
        t[3] = (uint8_t)oid;
    }
    return lk_span_make(types, (size_t)*count * 4);
}

struct lk_statement *
lk_shorten_statement(
    struct lk_core *core, const struct lk_client *c, const struct lk_statement *st, const struct lk_watch *w)
{
    uint16_t count;
    struct lk_buf text = {0};
    struct lk_statement *instead = NULL;
    struct lk_span types = make_types(core, st, w, &count);
    if (types.p && make_text(core, w, &text))
        instead = lk_statement_get(core, lk_buf_span(&text), count, types, lk_forward_mode(core, c));
    lk_buf_clear(&text);
    return instead;
}

/* --- what answers tell --- */

void
lk_shorten_tag(struct lk_server *s, const struct lk_reply *r, struct lk_span tag)
{
    struct lk_block *b = &s->block;
    if (lk_span_is(tag, "BEGIN") || lk_span_is(tag, "START TRANSACTION")) {
        b->state = 'T';
    } else if (lk_span_is(tag, "SAVEPOINT")) {
        b->savepoints++;
    } else if (lk_span_is(tag, "RELEASE")) {
        b->savepoints -= b->savepoints > 0;
    } else if (lk_span_is(tag, "COMMIT") || lk_span_is(tag, "PREPARE TRANSACTION")) {
        /* COMMIT AND CHAIN begins another transaction at once */
        b->state = '?';
        b->savepoints = 0;
        lk_ledger_clear(&b->shortened);
    } else if (lk_span_is(tag, "ROLLBACK")) {
        const struct lk_text *text = r->analysis ? r->analysis->text : NULL;
        b->state = '?';
        b->rolled_back = true;
        if (text && strcasestr(text->sql, "chain"))
            lk_ledger_clear(&b->shortened);
    }
}

/* Takes out what the transaction lost: all, or what was taken with a savepoint open. */
static void
lose(struct lk_core *core, struct lk_server *s, bool all)
{
    struct lk_ledger *l = &s->block.shortened;
    for (uint32_t i = l->count; i-- > 0;) {
        const struct lk_held *h = &l->held[i];
        if (!all && !h->nested)
            continue;
        lk_tell_rewritten_lost(core, s, h);
        for (uint32_t n = h->count; n > 0; n--)
            lk_ledger_unlock(l, h->key, h->mode);
    }
}

void
lk_shorten_ready(struct lk_core *core, struct lk_server *s)
{
    struct lk_block *b = &s->block;
    if (s->status == 'I') {
        /* no COMMIT, no ROLLBACK: it was not in the transaction that it was meant for */
        if (b->shortened.count > 0 && !b->rolled_back)
            lose(core, s, true);
        lk_ledger_clear(&b->shortened);
        b->savepoints = 0;
    } else if (b->rolled_back) {
        lose(core, s, false);
    }
    b->state = s->status;
    b->rolled_back = false;
}
