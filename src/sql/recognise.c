#include "sql/recognise.h"

#include <pg_query.h>
#include <pg_query/pg_query.pb-c.h>
#include <strings.h>

#include "sql/analysis.h"
#include "sql/exact.h"
#include "sql/lex.h"

/* What a statement's tree holds. */
struct findings {
    bool call;  /* a session-level function, by its own name */
    bool other; /* a touch that no plan describes: a name in another schema, dynamic SQL, EXECUTE */
};

static const char WORD[] = "advisory";
#define WORD_N (sizeof(WORD) - 1)
static const char XACT[] = "_xact_";
#define XACT_N (sizeof(XACT) - 1)

static bool
at_is(struct lk_span s, size_t i, const char *word, size_t n)
{
    return s.n - i >= n && strncasecmp((const char *)s.p + i, word, n) == 0;
}

bool
lk_recognise_string(struct lk_span s)
{
    if (s.n == WORD_N && at_is(s, 0, WORD, WORD_N))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (at_is(s, i, "u&\"", 3))
            return true;
        if (at_is(s, i, WORD, WORD_N) && !at_is(s, i + WORD_N, XACT, XACT_N))
            return true;
    }
    return false;
}

static bool
string_speaks(const PgQuery__String *s)
{
    return s && s->sval && lk_recognise_string(lk_span_str(s->sval));
}

/* The name's last part, and whether it can only be pg_catalog's or is unqualified. */
static const char *
function_name(const PgQuery__FuncCall *call, bool *ours)
{
    size_t n = call->n_funcname;
    if (n == 0 || call->funcname[n - 1]->node_case != PG_QUERY__NODE__NODE_STRING)
        return "";
    *ours = n == 1;
    if (n > 1 && call->funcname[n - 2]->node_case == PG_QUERY__NODE__NODE_STRING)
        *ours = strcmp(call->funcname[n - 2]->string->sval, "pg_catalog") == 0;
    return call->funcname[n - 1]->string->sval;
}

static void
on_call(const PgQuery__FuncCall *call, struct findings *f)
{
    bool ours = false;
    const struct lk_function *fn = lk_function_by_name(lk_span_str(function_name(call, &ours)));
    if (!fn)
        return;
    if (!ours)
        f->other = true;
    else if (!fn->xact)
        f->call = true;
}

static void
on_do(const PgQuery__DoStmt *stmt, struct findings *f)
{
    for (size_t i = 0; i < stmt->n_args; i++) {
        const PgQuery__Node *arg = stmt->args[i];
        const PgQuery__Node *body = arg->node_case == PG_QUERY__NODE__NODE_DEF_ELEM ? arg->def_elem->arg : NULL;
        if (body && body->node_case == PG_QUERY__NODE__NODE_STRING && string_speaks(body->string))
            f->other = true;
    }
}

/* EXPLAIN runs its statement only with ANALYZE; anything but a clear no counts as that. */
static bool
explain_runs(const PgQuery__ExplainStmt *stmt)
{
    bool runs = false;
    for (size_t i = 0; i < stmt->n_options; i++) {
        const PgQuery__Node *o = stmt->options[i];
        if (o->node_case != PG_QUERY__NODE__NODE_DEF_ELEM || strcmp(o->def_elem->defname, "analyze") != 0)
            continue;
        const PgQuery__Node *v = o->def_elem->arg;
        bool no = v && v->node_case == PG_QUERY__NODE__NODE_STRING &&
                  (strcasecmp(v->string->sval, "false") == 0 || strcasecmp(v->string->sval, "off") == 0);
        no = no || (v && v->node_case == PG_QUERY__NODE__NODE_INTEGER && v->integer->ival == 0);
        runs = !no;
    }
    return runs;
}

/* Looks at one node; false: what lies below it isn't executed by this statement. */
static bool
visit(const ProtobufCMessage *m, struct findings *f)
{
    const void *node = m;
    const ProtobufCMessageDescriptor *d = m->descriptor;
    if (d == &pg_query__func_call__descriptor) {
        on_call(node, f);
    } else if (d == &pg_query__a__const__descriptor) {
        const PgQuery__AConst *c = node;
        if (c->val_case == PG_QUERY__A__CONST__VAL_SVAL && string_speaks(c->sval))
            f->other = true;
    } else if (d == &pg_query__do_stmt__descriptor) {
        on_do(node, f);
    } else if (d == &pg_query__execute_stmt__descriptor) {
        f->other = true;
    } else if (d == &pg_query__explain_stmt__descriptor) {
        return explain_runs(node);
    }
    return d != &pg_query__prepare_stmt__descriptor && d != &pg_query__create_function_stmt__descriptor &&
           d != &pg_query__variable_set_stmt__descriptor;
}

static const ProtobufCMessage *
pointer_at(const uint8_t *where)
{
    const ProtobufCMessage *m;
    memcpy(&m, where, sizeof(m));
    return m;
}

/* Depth first, by protobuf-c's own description of each node, so that no kind of node is forgotten. */
static void
walk(const ProtobufCMessage *m, struct findings *f)
{
    if (!visit(m, f))
        return;
    const uint8_t *base = (const uint8_t *)m;
    for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *d = &m->descriptor->fields[i];
        if (d->type != PROTOBUF_C_TYPE_MESSAGE)
            continue;
        if (d->label == PROTOBUF_C_LABEL_REPEATED) {
            size_t n;
            memcpy(&n, base + d->quantifier_offset, sizeof(n));
            const uint8_t *items = (const uint8_t *)pointer_at(base + d->offset);
            for (size_t j = 0; j < n; j++)
                walk(pointer_at(items + j * sizeof(void *)), f);
            continue;
        }
        if (d->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
            uint32_t which;
            memcpy(&which, base + d->quantifier_offset, sizeof(which));
            if (which != d->id)
                continue;
        }
        const ProtobufCMessage *child = pointer_at(base + d->offset);
        if (child)
            walk(child, f);
    }
}

static void
plan_statement(struct lk_span sql, const PgQuery__Node *stmt, struct lk_plan_statement *out)
{
    struct findings f = {0};
    walk(&stmt->base, &f);
    out->touch = f.call || f.other;
    if (f.call && !f.other && stmt->node_case == PG_QUERY__NODE__NODE_SELECT_STMT)
        lk_exact_select(sql, stmt->select_stmt, out);
}

static struct lk_plan *
plan_tree(struct lk_span sql, const PgQuery__ParseResult *tree)
{
    struct lk_plan *plan = lk_plan_new((uint16_t)tree->n_stmts);
    bool touch = false;
    for (size_t i = 0; i < tree->n_stmts; i++) {
        if (tree->stmts[i]->stmt)
            plan_statement(sql, tree->stmts[i]->stmt, &plan->statements[i]);
        touch = touch || plan->statements[i].touch;
    }
    if (touch)
        return plan;
    lk_plan_free(plan);
    return NULL;
}

struct lk_plan *
lk_recognise_unsure(void)
{
    return lk_plan_new(0);
}

struct lk_plan *
lk_recognise(struct lk_span sql)
{
    if (sql.n > LK_SQL_TEXT_MAX || memchr(sql.p, 0, sql.n) ||
        lk_lex_count(sql, LK_SQL_TOKENS_MAX + 1) > LK_SQL_TOKENS_MAX)
        return lk_recognise_unsure();
    struct lk_plan *plan;
    PgQueryProtobufParseResult parsed = pg_query_parse_protobuf((const char *)sql.p);
    PgQuery__ParseResult *tree = NULL;
    if (!parsed.error)
        tree = pg_query__parse_result__unpack(NULL, parsed.parse_tree.len, (const uint8_t *)parsed.parse_tree.data);
    plan = tree ? plan_tree(sql, tree) : lk_recognise_unsure();
    if (tree)
        pg_query__parse_result__free_unpacked(tree, NULL);
    pg_query_free_protobuf_parse_result(parsed);
    return plan;
}
