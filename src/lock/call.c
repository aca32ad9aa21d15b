#include "lock/call.h"

#include <stdlib.h>

#include "base/mem.h"

#define TYPE_UNKNOWN 705u

/* The OIDs are the same in every version of PostgreSQL (pg_proc.dat). */
static const struct lk_function functions[LK_FUNCTIONS] = {
    {"pg_advisory_lock", 2880, 2886, LK_CALL_LOCK, LK_MODE_EXCLUSIVE, false},
    {"pg_advisory_lock_shared", 2881, 2887, LK_CALL_LOCK, LK_MODE_SHARED, false},
    {"pg_try_advisory_lock", 2882, 2888, LK_CALL_TRY, LK_MODE_EXCLUSIVE, false},
    {"pg_try_advisory_lock_shared", 2883, 2889, LK_CALL_TRY, LK_MODE_SHARED, false},
    {"pg_advisory_unlock", 2884, 2890, LK_CALL_UNLOCK, LK_MODE_EXCLUSIVE, false},
    {"pg_advisory_unlock_shared", 2885, 2891, LK_CALL_UNLOCK, LK_MODE_SHARED, false},
    {"pg_advisory_unlock_all", LK_OID_UNLOCK_ALL, 0, LK_CALL_UNLOCK_ALL, LK_MODE_EXCLUSIVE, false},
    {"pg_advisory_xact_lock", 3089, 3093, LK_CALL_LOCK, LK_MODE_EXCLUSIVE, true},
    {"pg_advisory_xact_lock_shared", 3090, 3094, LK_CALL_LOCK, LK_MODE_SHARED, true},
    {"pg_try_advisory_xact_lock", 3091, 3095, LK_CALL_TRY, LK_MODE_EXCLUSIVE, true},
    {"pg_try_advisory_xact_lock_shared", 3092, 3096, LK_CALL_TRY, LK_MODE_SHARED, true},
};

const struct lk_function *
lk_function_by_name(struct lk_span name)
{
    for (size_t i = 0; i < LK_COUNT(functions); i++)
        if (lk_span_is(name, functions[i].name))
            return &functions[i];
    return NULL;
}

unsigned
lk_function_index(const struct lk_function *fn)
{
    return (unsigned)(fn - functions);
}

const struct lk_function *
lk_function_at(unsigned index)
{
    return &functions[index];
}

const struct lk_function *
lk_function_by_oid(uint32_t oid, enum lk_space *space)
{
    for (size_t i = 0; oid != 0 && i < LK_COUNT(functions); i++) {
        const struct lk_function *f = &functions[i];
        if (oid != f->oid_bigint && oid != f->oid_pair)
            continue;
        if (f->op == LK_CALL_UNLOCK_ALL)
            *space = LK_SPACE_NONE;
        else
            *space = oid == f->oid_bigint ? LK_SPACE_BIGINT : LK_SPACE_INT4PAIR;
        return f;
    }
    return NULL;
}

const struct lk_function *
lk_function_xact(const struct lk_function *fn)
{
    for (size_t i = 0; i < LK_COUNT(functions); i++)
        if (functions[i].xact && !fn->xact && functions[i].op == fn->op && functions[i].mode == fn->mode)
            return &functions[i];
    return NULL;
}

struct lk_plan *
lk_plan_new(uint16_t statements)
{
    struct lk_plan *p = LK_NEW(struct lk_plan);
    p->count = statements;
    if (statements > 0)
        p->statements = lk_mem_new(statements * sizeof(*p->statements));
    return p;
}

void
lk_plan_free(struct lk_plan *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->count; i++)
        free(p->statements[i].calls);
    free(p->statements);
    free(p);
}

static bool
in_range(uint32_t type, int64_t v)
{
    switch (type) {
    case LK_TYPE_INT2:
        return v >= INT16_MIN && v <= INT16_MAX;
    case LK_TYPE_INT4:
        return v >= INT32_MIN && v <= INT32_MAX;
    default:
        return true;
    }
}

static bool
is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* [space][sign]digits[space]: what int8in accepts in every version. Newer ones also take 0x10 and 1_000. */
static bool
read_text(struct lk_span s, int64_t *out)
{
    while (s.n > 0 && is_space(s.p[0]))
        s = lk_span_skip(s, 1);
    while (s.n > 0 && is_space(s.p[s.n - 1]))
        s = lk_span_head(s, s.n - 1);
    bool negative = s.n > 0 && s.p[0] == '-';
    if (negative || (s.n > 0 && s.p[0] == '+'))
        s = lk_span_skip(s, 1);
    if (s.n == 0)
        return false;
    uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    uint64_t v = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(s.p[i] - '0');
        if (v > (limit - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *out = (int64_t)(negative ? 0 - v : v);
    return true;
}

static bool
read_binary(uint32_t type, struct lk_span s, int64_t *out)
{
    size_t width = type == LK_TYPE_INT2 ? 2 : type == LK_TYPE_INT4 ? 4 : 8;
    if (s.n != width)
        return false;
    uint64_t v = 0;
    for (size_t i = 0; i < width; i++)
        v = v << 8 | s.p[i];
    if (type == LK_TYPE_INT2)
        *out = (int16_t)v;
    else if (type == LK_TYPE_INT4)
        *out = (int32_t)v;
    else
        *out = (int64_t)v;
    return true;
}

static enum lk_bound
read_param(const struct lk_part *part, enum lk_space space, lk_argument_fn *argument, void *context, int64_t *out)
{
    struct lk_argument a = {0};
    if (!argument || !argument(context, part->param, &a))
        return LK_BOUND_UNKNOWN;
    if (a.null)
        return LK_BOUND_NULL;
    uint32_t type = a.type;
    if (type == 0 || type == TYPE_UNKNOWN)
        type = part->cast_type;
    if (type == 0)
        type = space == LK_SPACE_INT4PAIR ? LK_TYPE_INT4 : LK_TYPE_INT8;
    if (type != LK_TYPE_INT2 && type != LK_TYPE_INT4 && type != LK_TYPE_INT8)
        return LK_BOUND_UNKNOWN;
    bool read = a.binary ? read_binary(type, a.data, out) : read_text(a.data, out);
    if (!read || !in_range(type, *out) || !in_range(part->cast_type, *out))
        return LK_BOUND_UNKNOWN;
    return LK_BOUND_KEY;
}

static enum lk_bound
read_part(const struct lk_part *part, enum lk_space space, lk_argument_fn *argument, void *context, int64_t *out)
{
    enum lk_bound bound = LK_BOUND_KEY;
    switch (part->source) {
    case LK_PART_CONSTANT:
        *out = part->constant;
        break;
    case LK_PART_NULL:
        return LK_BOUND_NULL;
    case LK_PART_PARAM:
        bound = read_param(part, space, argument, context, out);
        break;
    }
    if (bound == LK_BOUND_KEY && space == LK_SPACE_INT4PAIR && !in_range(LK_TYPE_INT4, *out))
        return LK_BOUND_UNKNOWN;
    return bound;
}

enum lk_bound
lk_call_key(const struct lk_call *c, lk_argument_fn *argument, void *context, struct lk_key *key)
{
    int64_t v[2] = {0, 0};
    if (c->fn->op == LK_CALL_UNLOCK_ALL)
        return LK_BOUND_KEY;
    enum lk_bound first = read_part(&c->part[0], c->space, argument, context, &v[0]);
    if (c->space == LK_SPACE_BIGINT) {
        if (first == LK_BOUND_KEY)
            *key = lk_key_bigint(v[0]);
        return first;
    }
    enum lk_bound second = read_part(&c->part[1], c->space, argument, context, &v[1]);
    /* The functions are STRICT: one NULL is enough, whatever the other argument is. */
    if (first == LK_BOUND_NULL || second == LK_BOUND_NULL)
        return LK_BOUND_NULL;
    if (first == LK_BOUND_UNKNOWN || second == LK_BOUND_UNKNOWN)
        return LK_BOUND_UNKNOWN;
    *key = lk_key_pair((int32_t)v[0], (int32_t)v[1]);
    return LK_BOUND_KEY;
}

static enum lk_answer
either(struct lk_span data, const void *yes, const void *no, size_t yes_n, size_t no_n)
{
    if (lk_span_eq(data, lk_span_make(yes, yes_n)))
        return LK_ANSWER_TRUE;
    return lk_span_eq(data, lk_span_make(no, no_n)) ? LK_ANSWER_FALSE : LK_ANSWER_BAD;
}

enum lk_answer
lk_call_answer(const struct lk_call *c, bool null, bool binary, struct lk_span data)
{
    if (null)
        return LK_ANSWER_NULL;
    bool gives_void = c->fn->op == LK_CALL_LOCK || c->fn->op == LK_CALL_UNLOCK_ALL;
    if (gives_void) {
        bool fits = c->result_type == LK_TYPE_VOID || c->result_type == LK_TYPE_TEXT;
        return fits && data.n == 0 ? LK_ANSWER_TRUE : LK_ANSWER_BAD;
    }
    switch (c->result_type) {
    case LK_TYPE_BOOL:
        return binary ? either(data, "\1", "\0", 1, 1) : either(data, "t", "f", 1, 1);
    case LK_TYPE_INT4:
        return binary ? either(data, "\0\0\0\1", "\0\0\0\0", 4, 4) : either(data, "1", "0", 1, 1);
    case LK_TYPE_TEXT:
        return either(data, "true", "false", 4, 5);
    default:
        return LK_ANSWER_BAD;
    }
}
