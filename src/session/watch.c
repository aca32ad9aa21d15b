#include "session/watch.h"

#include <stdlib.h>

#include "base/mem.h"
#include "wire/message.h"

static const struct lk_plan_statement *
statement_at(const struct lk_watch *w, uint16_t index)
{
    const struct lk_plan *plan = w->analysis ? w->analysis->plan : NULL;
    return plan && index < plan->count ? &plan->statements[index] : NULL;
}

static struct lk_watch *
watch_new(uint16_t calls, struct lk_text *text, bool *failed)
{
    struct lk_watch *w = lk_mem_try(sizeof(*w) + calls * sizeof(w->calls[0]));
    *failed = w == NULL;
    if (!w)
        return NULL;
    *w = (struct lk_watch){.call_count = calls};
    for (uint16_t i = 0; i < calls; i++)
        w->calls[i] = (struct lk_watched_call){.answer = LK_ANSWER_BAD};
    w->text = text ? lk_text_ref(text) : NULL;
    return w;
}

static bool
no_argument(void *context, uint16_t param, struct lk_argument *out)
{
    return false;
}

static struct lk_watch *
watch_text(struct lk_analysis *a, lk_argument_fn *argument, void *context, bool *failed)
{
    *failed = false;
    if (!a->plan)
        return NULL;
    uint16_t calls = 0;
    for (uint16_t i = 0; i < a->plan->count; i++)
        calls = (uint16_t)(calls + a->plan->statements[i].call_count);
    struct lk_watch *w = watch_new(calls, a->text, failed);
    if (!w)
        return NULL;
    w->analysis = lk_analysis_ref(a);
    struct lk_watched_call *at = w->calls;
    for (uint16_t i = 0; i < a->plan->count; i++) {
        const struct lk_plan_statement *s = &a->plan->statements[i];
        for (uint16_t k = 0; k < s->call_count; k++, at++) {
            at->call = &s->calls[k];
            at->bound = lk_call_key(at->call, argument, context, &at->key);
        }
    }
    return w;
}

struct lk_watch *
lk_watch_query(struct lk_analysis *a, bool *failed)
{
    return watch_text(a, no_argument, NULL, failed);
}

struct bound_params {
    struct lk_span rest;
    uint16_t type_count;
    const uint8_t *types;
};

static bool
bound_argument(void *context, uint16_t param, struct lk_argument *out)
{
    const struct bound_params *b = context;
    struct lk_msg_value v;
    if (b->rest.n == 0 || param == 0 || !lk_msg_bind_value(b->rest, param - 1u, &v))
        return false;
    *out = (struct lk_argument){.null = v.null, .binary = v.binary, .data = v.data};
    if (param <= b->type_count) {
        const uint8_t *t = b->types + 4 * (size_t)(param - 1);
        out->type = (uint32_t)t[0] << 24 | (uint32_t)t[1] << 16 | (uint32_t)t[2] << 8 | t[3];
    }
    return true;
}

struct lk_watch *
lk_watch_bind(struct lk_analysis *a, struct lk_span rest, uint16_t type_count, const uint8_t *types, bool *failed)
{
    struct bound_params params = {rest, type_count, types};
    struct lk_watch *w = watch_text(a, bound_argument, &params, failed);
    for (uint16_t i = 0; w && i < w->call_count; i++) {
        uint16_t format = 0;
        if (rest.n == 0 || !lk_msg_bind_result_format(rest, w->calls[i].call->column, &format))
            w->types_bad = true;
        w->calls[i].binary = format == 1;
    }
    return w;
}

struct fcall_params {
    struct lk_span rest;
    enum lk_space space;
};

static bool
fcall_argument(void *context, uint16_t param, struct lk_argument *out)
{
    const struct fcall_params *f = context;
    struct lk_msg_value v;
    if (param == 0 || !lk_msg_fcall_value(f->rest, param - 1u, &v))
        return false;
    *out = (struct lk_argument){.null = v.null,
        .binary = v.binary,
        .data = v.data,
        .type = f->space == LK_SPACE_INT4PAIR ? LK_TYPE_INT4 : LK_TYPE_INT8};
    return true;
}

struct lk_watch *
lk_watch_fcall(uint32_t oid, struct lk_span rest, uint16_t argument_count, struct lk_text *text, bool *failed)
{
    enum lk_space space;
    const struct lk_function *fn = lk_function_by_oid(oid, &space);
    *failed = false;
    if (!fn || fn->xact)
        return NULL;
    struct lk_watch *w = watch_new(1, text, failed);
    if (!w)
        return NULL;
    w->fcall = LK_NEW(struct lk_call);
    *w->fcall = (struct lk_call){.fn = fn, .space = space};
    w->fcall->part[0] = (struct lk_part){.source = LK_PART_PARAM, .param = 1};
    w->fcall->part[1] = (struct lk_part){.source = LK_PART_PARAM, .param = 2};
    w->fcall->result_type = fn->op == LK_CALL_LOCK || fn->op == LK_CALL_UNLOCK_ALL ? LK_TYPE_VOID : LK_TYPE_BOOL;
    struct fcall_params params = {rest, space};
    w->calls[0].call = w->fcall;
    w->calls[0].bound = lk_call_key(w->fcall, fcall_argument, &params, &w->calls[0].key);
    /* the result's format code is the last int16 of the message */
    w->calls[0].binary = rest.n > 0 && rest.p[rest.n - 1] == 1;
    return w;
}

struct lk_watch *
lk_watch_copy(const struct lk_watch *w)
{
    size_t size = sizeof(*w) + w->call_count * sizeof(w->calls[0]);
    struct lk_watch *copy = lk_mem_try(size);
    if (!copy)
        return NULL;
    memcpy(copy, w, size);
    if (copy->analysis)
        lk_analysis_ref(copy->analysis);
    if (copy->text)
        lk_text_ref(copy->text);
    return copy;
}

void
lk_watch_free(struct lk_watch *w)
{
    if (!w)
        return;
    lk_analysis_unref(w->analysis);
    lk_text_unref(w->text);
    free(w->fcall);
    free(w);
}

static bool
takes(const struct lk_function *fn)
{
    return !fn->xact && (fn->op == LK_CALL_LOCK || fn->op == LK_CALL_TRY);
}

bool
lk_watch_takes(const struct lk_watch *w)
{
    for (uint16_t i = 0; i < w->call_count; i++)
        if (takes(w->calls[i].call->fn) && !w->calls[i].shortened)
            return true;
    const struct lk_plan *plan = w->analysis ? w->analysis->plan : NULL;
    for (uint16_t i = 0; plan && i < plan->count; i++)
        if (!plan->statements[i].exact && plan->statements[i].finds & LK_FIND_LOCK)
            return true;
    return false;
}

const struct lk_watched_call *
lk_watch_taking_call(const struct lk_watch *w)
{
    for (uint16_t i = 0; i < w->call_count; i++)
        if (takes(w->calls[i].call->fn))
            return &w->calls[i];
    return NULL;
}

const struct lk_watched_call *
lk_watch_waiting_call(const struct lk_watch *w, bool *unknown)
{
    uint16_t first = 0;
    for (uint16_t i = 0; i < w->statement && statement_at(w, i); i++)
        first = (uint16_t)(first + statement_at(w, i)->call_count);
    for (uint16_t i = first; i < w->call_count; i++)
        if (w->calls[i].call->fn->op == LK_CALL_LOCK)
            return &w->calls[i];
    *unknown = false;
    for (uint16_t i = w->statement; statement_at(w, i); i++)
        *unknown |= !statement_at(w, i)->exact && statement_at(w, i)->finds & LK_FIND_LOCK;
    return NULL;
}

bool
lk_watch_wants_row(const struct lk_watch *w)
{
    const struct lk_plan_statement *s = statement_at(w, w->statement);
    return s && s->exact && w->rows == 0;
}

/* The calls of the statement being answered. */
static struct lk_watched_call *
current_calls(struct lk_watch *w, uint16_t *count)
{
    if (w->fcall) {
        *count = 1;
        return w->calls;
    }
    struct lk_watched_call *at = w->calls;
    for (uint16_t i = 0; i < w->statement; i++)
        at += statement_at(w, i)->call_count;
    const struct lk_plan_statement *s = statement_at(w, w->statement);
    *count = s ? s->call_count : 0;
    return at;
}

void
lk_watch_row_description(struct lk_watch *w, struct lk_span body)
{
    const struct lk_plan_statement *s = statement_at(w, w->statement);
    if (!s || !s->exact)
        return;
    uint16_t count, columns = 0;
    struct lk_watched_call *call = current_calls(w, &count);
    for (uint16_t i = 0; i < count; i++) {
        uint32_t type;
        if (!lk_msg_row_type(body, call[i].call->column, &type, &columns) || type != call[i].call->result_type)
            w->types_bad = true;
    }
    if (columns != s->columns)
        w->types_bad = true;
}

void
lk_watch_row(struct lk_watch *w, struct lk_span body)
{
    const struct lk_plan_statement *s = statement_at(w, w->statement);
    w->rows++;
    if (!s || !s->exact)
        return;
    uint16_t count, columns = 0;
    struct lk_watched_call *call = current_calls(w, &count);
    for (uint16_t i = 0; i < count; i++) {
        struct lk_msg_value v;
        if (lk_msg_row_value(body, call[i].call->column, &v, &columns))
            call[i].answer = lk_call_answer(call[i].call, v.null, call[i].binary, v.data);
    }
    if (columns != s->columns)
        w->types_bad = true;
}

void
lk_watch_fcall_result(struct lk_watch *w, struct lk_span body)
{
    struct lk_span value = body.n >= 4 ? lk_span_skip(body, 4) : lk_span_make(NULL, 0);
    bool null = body.n == 4 && body.p[0] == 0xff;
    if (!w->fcall || body.n < 4)
        return;
    w->rows++;
    w->calls[0].answer = lk_call_answer(w->fcall, null, w->calls[0].binary, value);
}

static void
grant(struct lk_watched_call *c, struct lk_ledger *l, struct lk_text *text, struct lk_now now)
{
    bool new = lk_ledger_lock(l, c->key, c->call->fn->mode, text, now);
    if (c->shortened)
        c->news = LK_NEWS_SHORTENED;
    else if (new)
        c->news = LK_NEWS_LOCKED;
}

/* One call to which the server gave its answer. */
static void
settle_call(struct lk_watched_call *c, struct lk_ledger *l, struct lk_text *text, struct lk_now now)
{
    const struct lk_function *fn = c->call->fn;
    if (c->bound == LK_BOUND_NULL || c->answer == LK_ANSWER_NULL) {
        if (c->bound != LK_BOUND_NULL || c->answer != LK_ANSWER_NULL)
            lk_ledger_doubt(l, LK_UNSURE_ANSWER);
        return;
    }
    if (c->answer == LK_ANSWER_BAD) {
        lk_ledger_doubt(l, LK_UNSURE_ANSWER);
        return;
    }
    bool yes = c->answer == LK_ANSWER_TRUE;
    switch (fn->op) {
    case LK_CALL_UNLOCK_ALL:
        lk_ledger_unlock_all(l);
        return;
    case LK_CALL_LOCK:
    case LK_CALL_TRY:
        if (!yes)
            lk_ledger_refuse(l, text);
        else if (c->bound == LK_BOUND_UNKNOWN)
            lk_ledger_doubt(l, LK_UNSURE_TOUCH);
        else
            grant(c, l, text, now);
        return;
    case LK_CALL_UNLOCK:
        c->news = yes ? LK_NEWS_NONE : LK_NEWS_NOT_UNLOCKED;
        if (c->bound == LK_BOUND_UNKNOWN)
            lk_ledger_doubt(l, LK_UNSURE_TOUCH);
        else if (yes)
            lk_ledger_unlock(l, c->key, fn->mode);
        else if (lk_ledger_find(l, c->key, fn->mode))
            lk_ledger_doubt(l, LK_UNSURE_ANSWER);
        return;
    }
}

/* Is the statement that is being answered nothing but calls that were shortened? */
static bool
all_shortened(struct lk_watch *w)
{
    uint16_t count;
    const struct lk_watched_call *call = current_calls(w, &count);
    for (uint16_t i = 0; i < count; i++)
        if (!call[i].shortened)
            return false;
    return count > 0;
}

void
lk_watch_complete(
    struct lk_watch *w, struct lk_ledger *l, struct lk_ledger *shortened, bool suspended, struct lk_now now)
{
    const struct lk_plan_statement *s = statement_at(w, w->statement);
    bool touch = w->fcall || !w->analysis || w->analysis->plan->count == 0 || !s || lk_plan_touches(s);
    bool exact = (w->fcall || (s && s->exact)) && w->rows == 1 && !w->types_bad && !suspended && !w->limited;
    uint16_t count;
    struct lk_watched_call *call = current_calls(w, &count);
    if (touch && (exact || all_shortened(w))) {
        for (uint16_t i = 0; i < count; i++) {
            settle_call(&call[i], call[i].shortened ? shortened : l, w->text, now);
            if (call[i].call->fn->op == LK_CALL_UNLOCK_ALL)
                lk_ledger_unlock_all(shortened);
        }
    } else if (touch) {
        lk_ledger_doubt(l, LK_UNSURE_TOUCH);
    }
    w->rows = 0;
    if (s)
        w->statement++;
}

void
lk_watch_failed(struct lk_watch *w, struct lk_ledger *l)
{
    const struct lk_plan_statement *s = statement_at(w, w->statement);
    if ((w->fcall || !s || lk_plan_touches(s)) && !all_shortened(w))
        lk_ledger_doubt(l, LK_UNSURE_ERROR);
}
