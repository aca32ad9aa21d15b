#include "sql/recognise.h"

#include <pg_query.h>
#include <stdlib.h>
#include <strings.h>

#include "base/mem.h"
#include "sql/analysis.h"
#include "sql/exact.h"
#include "sql/lex.h"
#include "sql/lint_tree.h"
#include "sql/tree.h"

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

/* What a walk goes for. */
struct walk {
    struct lk_plan_statement *statement;
    struct lk_recognised *text; /* NULL: what it finds is not executed by this text */
};

static void
add_taking(const PgQuery__FuncCall *call, const struct lk_function *fn, struct lk_recognised *out)
{
    struct lk_key key;
    if ((fn->op != LK_CALL_LOCK && fn->op != LK_CALL_TRY) || !lk_exact_constant_key(call, fn, &key))
        return;
    out->takings = lk_mem_grow(out->takings, (out->taking_count + 1u) * sizeof(*out->takings));
    out->takings[out->taking_count++] = (struct lk_taking){fn, key};
}

static void
on_call(const PgQuery__FuncCall *call, const struct walk *w)
{
    struct lk_plan_statement *s = w->statement;
    bool catalog;
    const struct lk_function *fn = lk_tree_function(call, &catalog);
    if (!fn)
        return;
    if (!catalog) {
        s->finds |= LK_FIND_FOREIGN;
        return;
    }
    if (w->text)
        add_taking(call, fn, w->text);
    s->functions |= 1u << lk_function_index(fn);
    if (fn->xact)
        s->finds |= LK_FIND_XACT;
    else
        s->finds |= fn->op == LK_CALL_LOCK || fn->op == LK_CALL_TRY ? LK_FIND_LOCK : LK_FIND_UNLOCK;
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

/* What a node lies in: the body of a DO or a function, whose strings are programs. */
enum { IN_BODY = 1 };

/* Looks at one node; false: what lies below it isn't executed by this statement. */
static bool
visit(const ProtobufCMessage *m, unsigned *in, void *context)
{
    const struct walk *w = context;
    struct lk_plan_statement *s = w->statement;
    const void *node = m;
    const ProtobufCMessageDescriptor *d = m->descriptor;
    if (d == &pg_query__func_call__descriptor) {
        on_call(node, w);
    } else if (d == &pg_query__a__const__descriptor) {
        const PgQuery__AConst *c = node;
        if (c->val_case == PG_QUERY__A__CONST__VAL_SVAL && string_speaks(c->sval))
            s->finds |= LK_FIND_STRING;
    } else if (d == &pg_query__string__descriptor) {
        if (*in & IN_BODY && string_speaks(node))
            s->finds |= LK_FIND_STRING;
    } else if (d == &pg_query__do_stmt__descriptor) {
        *in |= IN_BODY;
    } else if (d == &pg_query__execute_stmt__descriptor) {
        s->finds |= LK_FIND_EXECUTE;
    } else if (d == &pg_query__explain_stmt__descriptor) {
        return explain_runs(node);
    }
    return d != &pg_query__prepare_stmt__descriptor && d != &pg_query__create_function_stmt__descriptor &&
           d != &pg_query__view_stmt__descriptor && d != &pg_query__rule_stmt__descriptor &&
           d != &pg_query__variable_set_stmt__descriptor;
}

/* Does a new function take session locks when it is called? */
static bool
function_touches(const PgQuery__CreateFunctionStmt *f)
{
    struct lk_plan_statement inside = {0};
    struct walk w = {&inside, NULL};
    for (size_t i = 0; i < f->n_options; i++)
        lk_tree_walk(&f->options[i]->base, IN_BODY, visit, &w);
    for (size_t i = 0; i < f->n_parameters; i++)
        lk_tree_walk(&f->parameters[i]->base, 0, visit, &w);
    if (f->sql_body)
        lk_tree_walk(&f->sql_body->base, 0, visit, &w);
    return lk_plan_touches(&inside);
}

static void
add_name(char ***names, const char *name)
{
    size_t n = 0;
    while (*names && (*names)[n])
        n++;
    *names = lk_mem_grow(*names, (n + 2) * sizeof(char *));
    (*names)[n] = lk_mem_dup(name);
    (*names)[n + 1] = NULL;
}

/* Finds nothing but session-level calls by their own names? */
static bool
only_calls(unsigned finds)
{
    return finds != 0 && !(finds & ~(unsigned)(LK_FIND_LOCK | LK_FIND_UNLOCK));
}

static void
read_statement(struct lk_span sql, const PgQuery__Node *stmt, struct lk_recognised *out, uint16_t index)
{
    struct lk_plan_statement *s = &out->plan->statements[index];
    struct walk w = {s, out};
    lk_tree_walk(&stmt->base, 0, visit, &w);
    if (only_calls(s->finds) && stmt->node_case == PG_QUERY__NODE__NODE_SELECT_STMT)
        lk_exact_select(sql, stmt->select_stmt, s);
    out->lints |= lk_lint_statement(stmt, out->plan->count == 1);
    if (stmt->node_case != PG_QUERY__NODE__NODE_CREATE_FUNCTION_STMT)
        return;
    const PgQuery__CreateFunctionStmt *f = stmt->create_function_stmt;
    if (f->n_funcname > 0 && function_touches(f))
        add_name(&out->creates, lk_tree_string(f->funcname[f->n_funcname - 1]));
}

static void
read_tree(struct lk_span sql, const PgQuery__ParseResult *tree, struct lk_recognised *out)
{
    bool touch = false;
    out->plan = lk_plan_new((uint16_t)tree->n_stmts);
    for (uint16_t i = 0; i < tree->n_stmts; i++) {
        if (tree->stmts[i]->stmt)
            read_statement(sql, tree->stmts[i]->stmt, out, i);
        touch = touch || lk_plan_touches(&out->plan->statements[i]);
    }
    if (touch)
        return;
    lk_plan_free(out->plan);
    out->plan = NULL;
}

struct lk_plan *
lk_recognise_unsure(enum lk_unparsed why)
{
    struct lk_plan *plan = lk_plan_new(0);
    plan->unparsed = why;
    return plan;
}

static enum lk_unparsed
parse(struct lk_span sql, struct lk_recognised *out)
{
    if (sql.n > LK_SQL_TEXT_MAX)
        return LK_UNPARSED_LONG;
    if (lk_lex_count(sql, LK_SQL_TOKENS_MAX + 1) > LK_SQL_TOKENS_MAX)
        return LK_UNPARSED_TOKENS;
    if (memchr(sql.p, 0, sql.n))
        return LK_UNPARSED_SYNTAX;
    PgQueryProtobufParseResult parsed = pg_query_parse_protobuf((const char *)sql.p);
    PgQuery__ParseResult *tree = NULL;
    if (!parsed.error)
        tree = pg_query__parse_result__unpack(NULL, parsed.parse_tree.len, (const uint8_t *)parsed.parse_tree.data);
    pg_query_free_protobuf_parse_result(parsed);
    if (!tree)
        return LK_UNPARSED_SYNTAX;
    read_tree(sql, tree, out);
    pg_query__parse_result__free_unpacked(tree, NULL);
    return LK_UNPARSED_NOT;
}

struct lk_recognised
lk_recognise(struct lk_span sql)
{
    struct lk_recognised out = {0};
    enum lk_unparsed why = parse(sql, &out);
    if (why != LK_UNPARSED_NOT)
        out.plan = lk_recognise_unsure(why);
    return out;
}

void
lk_recognised_clear(struct lk_recognised *r)
{
    lk_plan_free(r->plan);
    lk_recognise_free_names(r->creates);
    free(r->takings);
    *r = (struct lk_recognised){0};
}

void
lk_recognise_free_names(char **names)
{
    for (size_t i = 0; names && names[i]; i++)
        free(names[i]);
    free(names);
}
