#include "tool/split.h"

#include "sql/lex.h"

/* Where a statement stands in its nesting. */
struct nesting {
    size_t words;  /* of the statement, so far */
    bool function; /* CREATE [OR REPLACE] FUNCTION or PROCEDURE */
    bool creates;
    size_t parens;
    size_t begins; /* BEGIN and CASE that wait for their END, in a function */
};

static void
on_word(struct nesting *n, const struct lk_lexeme *t)
{
    if (n->words == 0)
        n->creates = lk_lexeme_is(t, "create");
    else if (n->words < 4 && n->creates && (lk_lexeme_is(t, "function") || lk_lexeme_is(t, "procedure")))
        n->function = true;
    n->words++;
    if (!n->function || n->parens > 0)
        return;
    if (lk_lexeme_is(t, "begin") || (n->begins > 0 && lk_lexeme_is(t, "case")))
        n->begins++;
    else if (n->begins > 0 && lk_lexeme_is(t, "end"))
        n->begins--;
}

/* Does this token end the statement? */
static bool
ends(struct nesting *n, const struct lk_lexeme *t)
{
    if (t->kind == LK_LEX_WORD)
        on_word(n, t);
    if (t->kind != LK_LEX_SELF)
        return false;
    if (*t->p == '(')
        n->parens++;
    else if (*t->p == ')' && n->parens > 0)
        n->parens--;
    return *t->p == ';' && n->parens == 0 && n->begins == 0;
}

static unsigned
lines_in(const uint8_t *from, const uint8_t *to)
{
    unsigned n = 0;
    for (; from < to; from++)
        n += *from == '\n';
    return n;
}

struct lk_split
lk_split_start(struct lk_span script)
{
    return (struct lk_split){script, 1};
}

bool
lk_split_next(struct lk_split *s, struct lk_script_statement *out)
{
    struct lk_lex lex = lk_lex_start(s->rest);
    struct lk_lexeme t;
    struct nesting nesting = {0};
    const uint8_t *first = NULL, *behind = NULL;
    while (lk_lex_next(&lex, &t)) {
        bool over = ends(&nesting, &t);
        if (over && first)
            break;
        if (over)
            continue;
        if (!first)
            first = t.p;
        behind = t.p + t.n;
    }
    if (!first)
        return false;
    out->text = lk_span_make(first, (size_t)(behind - first));
    out->line = s->line + lines_in(s->rest.p, first);
    s->line = out->line + lines_in(first, lex.p);
    s->rest = lk_span_make(lex.p, (size_t)(lex.end - lex.p));
    return true;
}

bool
lk_split_block_after(struct lk_span statement, bool in_block)
{
    struct lk_lex lex = lk_lex_start(statement);
    struct lk_lexeme first, t;
    (void)lk_lex_next(&lex, &first);
    bool more = lk_lex_next(&lex, &t);
    if (lk_lexeme_is(&first, "begin") || lk_lexeme_is(&first, "start"))
        return true;
    if (lk_lexeme_is(&first, "prepare"))
        return in_block && !(more && lk_lexeme_is(&t, "transaction"));
    bool commits = lk_lexeme_is(&first, "commit") || lk_lexeme_is(&first, "end");
    if (!commits && !lk_lexeme_is(&first, "rollback") && !lk_lexeme_is(&first, "abort"))
        return in_block;
    /* ROLLBACK TO a savepoint and AND CHAIN leave one open; COMMIT PREPARED is another transaction's. */
    bool no = false;
    for (; more; more = lk_lex_next(&lex, &t)) {
        if (lk_lexeme_is(&t, "to") || lk_lexeme_is(&t, "prepared"))
            return in_block;
        if (lk_lexeme_is(&t, "chain"))
            return !no && in_block;
        no = no || lk_lexeme_is(&t, "no");
    }
    return false;
}
