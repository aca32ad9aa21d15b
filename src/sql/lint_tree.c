#include "sql/lint_tree.h"

#include <strings.h>

#include "sql/lint.h"
#include "sql/tree.h"

/* What a node lies in. */
enum {
    IN_LIMITED = 1, /* a SELECT from something, of which LIMIT or OFFSET leaves rows out */
    IN_KEY = 2,     /* the arguments of a lock call */
    IN_NARROW = 4,  /* a cast to int4 or int2 in there */
};

static bool
leaves_rows_out(const PgQuery__SelectStmt *s)
{
    const PgQuery__Node *n = s->limit_count;
    bool all = !n || (n->node_case == PG_QUERY__NODE__NODE_A_CONST && n->a_const->isnull);
    return (!all || s->limit_offset) && (s->n_from_clause > 0 || s->larg);
}

static bool
narrows(const PgQuery__TypeCast *cast)
{
    const PgQuery__TypeName *t = cast->type_name;
    const char *name = t && t->n_names > 0 ? lk_tree_string(t->names[t->n_names - 1]) : "";
    return strcmp(name, "int4") == 0 || strcmp(name, "int2") == 0;
}

static void
on_call(const PgQuery__FuncCall *call, unsigned *in, unsigned *lints)
{
    bool catalog;
    const char *name = lk_tree_function_name(call, &catalog);
    const struct lk_function *fn = lk_tree_function(call, &catalog);
    if (*in & IN_KEY && (strcmp(name, "hashtext") == 0 || (*in & IN_NARROW && strcmp(name, "hashtextextended") == 0)))
        *lints |= LK_LINT_HASHTEXT;
    if (!fn)
        return;
    if (*in & IN_LIMITED && (fn->op == LK_CALL_LOCK || fn->op == LK_CALL_TRY))
        *lints |= LK_LINT_LIMIT;
    *in |= IN_KEY;
}

static bool
visit(const ProtobufCMessage *m, unsigned *in, void *context)
{
    unsigned *lints = context;
    const void *node = m;
    const ProtobufCMessageDescriptor *d = m->descriptor;
    if (d == &pg_query__func_call__descriptor) {
        on_call(node, in, lints);
    } else if (d == &pg_query__select_stmt__descriptor) {
        if (leaves_rows_out(node))
            *in |= IN_LIMITED;
    } else if (d == &pg_query__type_cast__descriptor) {
        if (*in & IN_KEY && narrows(node))
            *in |= IN_NARROW;
    } else if (d == &pg_query__variable_set_stmt__descriptor) {
        const PgQuery__VariableSetStmt *set = node;
        if (!set->is_local &&
            (strcasecmp(set->name, "lock_timeout") == 0 || strcasecmp(set->name, "statement_timeout") == 0) &&
            set->kind != PG_QUERY__VARIABLE_SET_KIND__VAR_RESET)
            *lints |= LK_LINT_SET_TIMEOUT;
    }
    return true;
}

/* A transaction-level lock call, casts of its result aside. */
static bool
is_xact_call(const PgQuery__Node *n)
{
    while (n && n->node_case == PG_QUERY__NODE__NODE_TYPE_CAST)
        n = n->type_cast->arg;
    if (!n || n->node_case != PG_QUERY__NODE__NODE_FUNC_CALL)
        return false;
    bool catalog;
    const struct lk_function *fn = lk_tree_function(n->func_call, &catalog);
    return fn && fn->xact && catalog;
}

/* A SELECT that does nothing but take transaction-level locks. */
static bool
only_locks(const PgQuery__SelectStmt *s)
{
    if (s->n_target_list == 0 || s->into_clause || s->with_clause || s->larg || s->n_locking_clause > 0)
        return false;
    for (size_t i = 0; i < s->n_from_clause; i++)
        if (s->from_clause[i]->node_case != PG_QUERY__NODE__NODE_RANGE_VAR)
            return false;
    size_t calls = 0;
    for (size_t i = 0; i < s->n_target_list; i++) {
        const PgQuery__Node *n = s->target_list[i];
        const PgQuery__Node *val = n->node_case == PG_QUERY__NODE__NODE_RES_TARGET ? n->res_target->val : NULL;
        if (!val)
            return false;
        bool inert = val->node_case == PG_QUERY__NODE__NODE_A_CONST || val->node_case == PG_QUERY__NODE__NODE_PARAM_REF;
        if (!inert && !is_xact_call(val))
            return false;
        calls += !inert;
    }
    return calls > 0;
}

unsigned
lk_lint_statement(const PgQuery__Node *stmt, bool single)
{
    unsigned lints = 0;
    lk_tree_walk(&stmt->base, 0, visit, &lints);
    if (single && stmt->node_case == PG_QUERY__NODE__NODE_SELECT_STMT && only_locks(stmt->select_stmt))
        lints |= LK_LINT_XACT_ALONE;
    return lints;
}
