#include "sql/place.h"

#include "sql/lex.h"

static bool
is_self(const struct lk_lexeme *t, char c)
{
    return t->kind == LK_LEX_SELF && *t->p == (uint8_t)c;
}

/* From one part of a name, in t, to the token behind it: U&"…" may have UESCAPE and a string behind it. Returns the
 * part's end; NULL: not a name. */
static const uint8_t *
skip_part(struct lk_lex *lex, struct lk_lexeme *t)
{
    if (t->kind != LK_LEX_WORD && t->kind != LK_LEX_QUOTED)
        return NULL;
    const uint8_t *end = t->p + t->n;
    bool escapes = t->kind == LK_LEX_QUOTED && *t->p != '"';
    (void)lk_lex_next(lex, t);
    if (!escapes || !lk_lexeme_is(t, "uescape") || !lk_lex_next(lex, t))
        return end;
    end = t->p + t->n;
    (void)lk_lex_next(lex, t);
    return end;
}

/* Behind the parenthesis that closes the one in t; NULL: none does. */
static const uint8_t *
skip_arguments(struct lk_lex *lex, struct lk_lexeme *t)
{
    size_t depth = 0;
    do {
        if (is_self(t, '('))
            depth++;
        else if (is_self(t, ')') && --depth == 0)
            return t->p + 1;
    } while (lk_lex_next(lex, t));
    return NULL;
}

/* Behind the last token of the output column that begins at p. */
static const uint8_t *
column_end(const uint8_t *p, const uint8_t *text_end)
{
    struct lk_lex lex = {p, text_end};
    struct lk_lexeme t;
    size_t depth = 0;
    while (lk_lex_next(&lex, &t)) {
        if (is_self(&t, '('))
            depth++;
        else if (depth == 0 && (is_self(&t, ',') || is_self(&t, ';') || is_self(&t, ')')))
            break;
        else if (is_self(&t, ')'))
            depth--;
        p = t.p + t.n;
    }
    return p;
}

void
lk_place_call(struct lk_span sql, size_t name, size_t target, struct lk_call *c)
{
    if (name >= sql.n || target > name)
        return;
    const uint8_t *end = sql.p + sql.n;
    struct lk_lex lex = {sql.p + name, end};
    struct lk_lexeme t;
    (void)lk_lex_next(&lex, &t);
    if (t.p != sql.p + name)
        return;
    const uint8_t *name_end = skip_part(&lex, &t);
    bool qualified = name_end && is_self(&t, '.');
    if (qualified && lk_lex_next(&lex, &t))
        name_end = skip_part(&lex, &t);
    const uint8_t *call_end = name_end && is_self(&t, '(') ? skip_arguments(&lex, &t) : NULL;
    if (!call_end)
        return;
    c->place = (struct lk_place){.at = (uint32_t)name,
        .len = (uint32_t)(call_end - (sql.p + name)),
        .name_len = (uint32_t)(name_end - (sql.p + name)),
        .column_end = (uint32_t)(column_end(sql.p + target, end) - sql.p),
        .qualified = qualified};
}
