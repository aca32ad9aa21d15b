#include "sql/exact.h"

#include <stdlib.h>

#include "base/mem.h"
#include "sql/place.h"
#include "sql/tree.h"

/* A key as the server will compute it. */
struct value {
    enum lk_part_source source;
    int64_t constant;
    int32_t param;
    uint32_t innermost; /* the first cast put on a parameter; 0: none */
    uint32_t type;      /* as the server sees the whole; 0: not known, so the function's own */
};

/* The OID of a built-in type that the white list knows; 0: another type, an array, or one with modifiers. */
static uint32_t
type_of(const PgQuery__TypeName *t)
{
    static const struct {
        const char *name;
        uint32_t oid;
    } types[] = {{"bool", LK_TYPE_BOOL}, {"int2", LK_TYPE_INT2}, {"int4", LK_TYPE_INT4}, {"int8", LK_TYPE_INT8},
        {"text", LK_TYPE_TEXT}};
    if (!t || t->setof || t->pct_type || t->n_typmods > 0 || t->n_array_bounds > 0 || t->n_names == 0 || t->n_names > 2)
        return 0;
    if (t->n_names == 2 && strcmp(lk_tree_string(t->names[0]), "pg_catalog") != 0)
        return 0;
    for (size_t i = 0; i < LK_COUNT(types); i++)
        if (strcmp(lk_tree_string(t->names[t->n_names - 1]), types[i].name) == 0)
            return types[i].oid;
    return 0;
}

static bool
fits(uint32_t type, int64_t v)
{
    if (type == LK_TYPE_INT2)
        return v >= INT16_MIN && v <= INT16_MAX;
    return type != LK_TYPE_INT4 || (v >= INT32_MIN && v <= INT32_MAX);
}

/* Sign and digits, within int8; space around them where `literal`. */
static bool
read_integer(const char *s, bool literal, int64_t *out)
{
    static const char space[] = " \t\n\v\f\r";
    s += literal ? strspn(s, space) : 0;
    bool negative = *s == '-';
    s += *s == '-' || *s == '+';
    size_t n = strspn(s, "0123456789");
    if (n == 0 || s[n + (literal ? strspn(s + n, space) : 0)] != 0)
        return false;
    int64_t v = 0;
    for (size_t i = 0; i < n; i++) {
        int digit = s[i] - '0';
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, digit, &v))
            return false;
    }
    if (!negative && v == INT64_MIN)
        return false;
    *out = negative ? v : -v;
    return true;
}

static bool
resolve_constant(const PgQuery__AConst *c, struct value *v)
{
    *v = (struct value){.source = LK_PART_CONSTANT};
    if (c->isnull) {
        v->source = LK_PART_NULL;
        return true;
    }
    switch (c->val_case) {
    case PG_QUERY__A__CONST__VAL_IVAL:
        v->constant = c->ival->ival;
        v->type = LK_TYPE_INT4;
        return true;
    case PG_QUERY__A__CONST__VAL_FVAL: /* also integers beyond int4, which the server reads as int4 or int8 by size */
        if (!read_integer(c->fval->fval, false, &v->constant))
            return false;
        v->type = fits(LK_TYPE_INT4, v->constant) ? LK_TYPE_INT4 : LK_TYPE_INT8;
        return true;
    case PG_QUERY__A__CONST__VAL_SVAL:
        return read_integer(c->sval->sval, true, &v->constant);
    default:
        return false;
    }
}

static bool resolve(const PgQuery__Node *n, struct value *v);

static bool
resolve_cast(const PgQuery__TypeCast *cast, struct value *v)
{
    uint32_t type = type_of(cast->type_name);
    if ((type != LK_TYPE_INT2 && type != LK_TYPE_INT4 && type != LK_TYPE_INT8) || !resolve(cast->arg, v))
        return false;
    if (v->source == LK_PART_CONSTANT && !fits(type, v->constant))
        return false;
    if (v->source == LK_PART_PARAM && v->innermost == 0)
        v->innermost = type;
    v->type = type;
    return true;
}

/* A sign that the grammar didn't fold: +1, -(1::int8). */
static bool
resolve_sign(const PgQuery__AExpr *e, struct value *v)
{
    if (e->kind != PG_QUERY__A__EXPR__KIND__AEXPR_OP || e->n_name != 1 || e->lexpr || !e->rexpr ||
        !resolve(e->rexpr, v))
        return false;
    if (v->source != LK_PART_CONSTANT || v->type == 0)
        return false;
    const char *op = lk_tree_string(e->name[0]);
    if (strcmp(op, "+") == 0)
        return true;
    if (strcmp(op, "-") != 0 || v->constant == INT64_MIN)
        return false;
    v->constant = -v->constant;
    return fits(v->type, v->constant);
}

static bool
resolve(const PgQuery__Node *n, struct value *v)
{
    switch (n->node_case) {
    case PG_QUERY__NODE__NODE_A_CONST:
        return resolve_constant(n->a_const, v);
    case PG_QUERY__NODE__NODE_PARAM_REF:
        *v = (struct value){.source = LK_PART_PARAM, .param = n->param_ref->number};
        return v->param > 0 && v->param <= UINT16_MAX;
    case PG_QUERY__NODE__NODE_TYPE_CAST:
        return n->type_cast->arg && resolve_cast(n->type_cast, v);
    case PG_QUERY__NODE__NODE_A_EXPR:
        return resolve_sign(n->a_expr, v);
    default:
        return false;
    }
}

static bool
read_part(const PgQuery__Node *arg, bool pair, struct lk_part *part)
{
    struct value v;
    if (!resolve(arg, &v))
        return false;
    /* PostgreSQL has no (bigint, int). */
    if (pair && (v.type == LK_TYPE_INT8 || (v.source == LK_PART_CONSTANT && !fits(LK_TYPE_INT4, v.constant))))
        return false;
    part->source = v.source;
    part->constant = v.source == LK_PART_CONSTANT ? v.constant : 0;
    part->param = (uint16_t)v.param;
    part->cast_type = v.innermost;
    return true;
}

/* A call of out->fn with nothing but its keys. */
static bool
read_keys(const PgQuery__FuncCall *f, struct lk_call *out)
{
    if (f->n_agg_order > 0 || f->agg_filter || f->over || f->agg_within_group || f->agg_star || f->agg_distinct ||
        f->func_variadic)
        return false;
    bool no_keys = out->fn->op == LK_CALL_UNLOCK_ALL;
    if (no_keys ? f->n_args != 0 : f->n_args != 1 && f->n_args != 2)
        return false;
    bool pair = f->n_args == 2;
    out->space = no_keys ? LK_SPACE_NONE : pair ? LK_SPACE_INT4PAIR : LK_SPACE_BIGINT;
    for (size_t i = 0; i < f->n_args; i++)
        if (!read_part(f->args[i], pair, &out->part[i]))
            return false;
    return true;
}

bool
lk_exact_constant_key(const PgQuery__FuncCall *f, const struct lk_function *fn, struct lk_key *key)
{
    struct lk_call c = {.fn = fn};
    return fn->op != LK_CALL_UNLOCK_ALL && read_keys(f, &c) && lk_call_key(&c, NULL, NULL, key) == LK_BOUND_KEY;
}

static bool
read_call(const PgQuery__FuncCall *f, struct lk_call *out)
{
    bool catalog;
    out->fn = lk_tree_function(f, &catalog);
    if (!out->fn || out->fn->xact || !catalog || !read_keys(f, out))
        return false;
    bool boolean = out->fn->op == LK_CALL_TRY || out->fn->op == LK_CALL_UNLOCK;
    out->result_type = boolean ? LK_TYPE_BOOL : LK_TYPE_VOID;
    return true;
}

/* An output column that is a call under at most one cast of its result. */
static bool
read_column(struct lk_span sql, const PgQuery__ResTarget *target, struct lk_call *out)
{
    const PgQuery__Node *n = target->val;
    const PgQuery__TypeCast *cast = n->node_case == PG_QUERY__NODE__NODE_TYPE_CAST ? n->type_cast : NULL;
    if (cast)
        n = cast->arg;
    if (!n || n->node_case != PG_QUERY__NODE__NODE_FUNC_CALL || !read_call(n->func_call, out))
        return false;
    lk_place_call(sql, (size_t)n->func_call->location, (size_t)target->location, out);
    out->place.aliased = target->name[0] != 0;
    if (!cast)
        return true;
    uint32_t type = type_of(cast->type_name);
    bool possible =
        type == LK_TYPE_TEXT || (out->result_type == LK_TYPE_BOOL && (type == LK_TYPE_BOOL || type == LK_TYPE_INT4));
    out->result_type = type;
    return possible;
}

/* A target without a call: a constant or a parameter as it stands. */
static bool
is_inert(const PgQuery__Node *n)
{
    return n->node_case == PG_QUERY__NODE__NODE_A_CONST ||
           (n->node_case == PG_QUERY__NODE__NODE_PARAM_REF && n->param_ref->number > 0);
}

static bool
only_targets(const PgQuery__SelectStmt *s)
{
    return s->n_target_list > 0 && s->n_target_list <= UINT16_MAX && s->n_distinct_clause == 0 && !s->into_clause &&
           s->n_from_clause == 0 && !s->where_clause && s->n_group_clause == 0 && !s->group_distinct &&
           !s->having_clause && s->n_window_clause == 0 && s->n_values_lists == 0 && s->n_sort_clause == 0 &&
           !s->limit_offset && !s->limit_count && s->n_locking_clause == 0 && !s->with_clause &&
           s->op <= PG_QUERY__SET_OPERATION__SETOP_NONE && !s->larg && !s->rarg;
}

void
lk_exact_select(struct lk_span sql, const PgQuery__SelectStmt *select, struct lk_plan_statement *out)
{
    if (!only_targets(select))
        return;
    struct lk_call *calls = lk_mem_new(select->n_target_list * sizeof(*calls));
    uint16_t count = 0;
    for (size_t i = 0; i < select->n_target_list; i++) {
        const PgQuery__Node *node = select->target_list[i];
        const PgQuery__ResTarget *target = node->node_case == PG_QUERY__NODE__NODE_RES_TARGET ? node->res_target : NULL;
        if (!target || target->n_indirection > 0 || !target->val)
            goto not_listed;
        if (is_inert(target->val))
            continue;
        if (!read_column(sql, target, &calls[count]))
            goto not_listed;
        calls[count++].column = (uint16_t)i;
    }
    out->exact = true;
    out->columns = (uint16_t)select->n_target_list;
    out->call_count = count;
    out->calls = calls;
    return;
not_listed:
    free(calls);
}
