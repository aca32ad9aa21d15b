/* PostgreSQL's tokens, cut by hand: fast, without allocation, and never failing: what has no end runs to the end of the
 * text. It follows scan.l with standard_conforming_strings on. Not a parser: keywords are words like any other. */
#ifndef LK_SQL_LEX_H
#define LK_SQL_LEX_H

#include <strings.h>

#include "base/span.h"

enum lk_lex_kind {
    LK_LEX_END,
    LK_LEX_WORD,     /* keyword or identifier without quotes */
    LK_LEX_QUOTED,   /* "…" and U&"…" */
    LK_LEX_NUMBER,   /* without sign */
    LK_LEX_STRING,   /* '…', E'…', U&'…', B'…', X'…', $tag$…$tag$ */
    LK_LEX_PARAM,    /* $1 */
    LK_LEX_OPERATOR, /* a run of operator characters */
    LK_LEX_SELF,     /* one of , ( ) [ ] . ; : and any byte that starts nothing else */
};

struct lk_lexeme {
    enum lk_lex_kind kind;
    bool open;     /* a string or quoted identifier that the text's end cuts off */
    bool doubtful; /* a string that ends elsewhere when read under other settings or another encoding */
    const uint8_t *p;
    size_t n;
};

struct lk_lex {
    const uint8_t *p; /* where the next token is looked for */
    const uint8_t *end;
};

static inline struct lk_lex
lk_lex_start(struct lk_span sql)
{
    return (struct lk_lex){sql.p, sql.p + sql.n};
}

/* The next token, white space and comments left out. False at the end; t->kind is LK_LEX_END then. */
bool lk_lex_next(struct lk_lex *lex, struct lk_lexeme *t);

/* Is it this word? `word` in lower case. Most are told apart by their first letter. */
static inline bool
lk_lexeme_is(const struct lk_lexeme *t, const char *word)
{
    return t->kind == LK_LEX_WORD && (*t->p | 0x20) == (uint8_t)word[0] && t->n == strlen(word) &&
           strncasecmp((const char *)t->p, word, t->n) == 0;
}

/* A bound on the tokens that PostgreSQL's scanner would find (each operator character counts as one); stops counting at
 * `enough`. */
size_t lk_lex_count(struct lk_span sql, size_t enough);

#endif
