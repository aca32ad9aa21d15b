#include "sql/normalize.h"

#include <pg_query.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "sql/analysis.h"
#include "sql/lex.h"

#define PARSED_MAX (64u * 1024u)

/* Where the text, cut at n bytes, last ends with a whole character. */
static size_t
character_border(const uint8_t *p, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        uint8_t c = p[n - back];
        if (c < 0x80)
            return n;
        if (c >= 0xc0) {
            size_t width = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
            return width > back ? n - back : n;
        }
    }
    return n;
}

static bool
is_constant(const struct lk_lexeme *t)
{
    return t->kind == LK_LEX_NUMBER || t->kind == LK_LEX_STRING || (t->kind == LK_LEX_QUOTED && t->open);
}

/* Words and operators as they stand, ? for each constant, one space where there was white space or a comment: comments
 * may hold constants. Whatever the text is, no byte of a constant gets through; so a string of which one can't tell
 * where it ends is the last thing written. */
static char *
write_tokens(struct lk_span sql, size_t max)
{
    struct lk_buf out = {0};
    struct lk_lex lex = lk_lex_start(sql);
    struct lk_lexeme t = {.kind = LK_LEX_END};
    const uint8_t *behind = sql.p;
    bool number = false, doubtful = false;
    while (!doubtful && out.len <= max && lk_lex_next(&lex, &t)) {
        bool joined = t.p == behind;
        behind = lex.p;
        /* 12ab is no PostgreSQL, but all of it may be meant as a constant. */
        if (number && joined && t.kind == LK_LEX_WORD)
            continue;
        if (!joined && out.len > 0)
            lk_buf_add(&out, " ", 1);
        number = t.kind == LK_LEX_NUMBER;
        if (is_constant(&t))
            lk_buf_add(&out, "?", 1);
        else
            lk_buf_add(&out, t.p, t.n);
        doubtful = t.doubtful && t.kind == LK_LEX_STRING;
    }
    size_t n = out.len <= max ? out.len : character_border(out.data, max);
    char *text = lk_mem_dup_span(lk_span_make(out.data, n));
    lk_buf_clear(&out);
    return text;
}

/* May libpg_query see it? Not if its stack or its reading of the strings is in doubt. */
static bool
parseable(struct lk_span sql)
{
    if (sql.n > PARSED_MAX || (sql.n > 0 && memchr(sql.p, 0, sql.n)))
        return false;
    struct lk_lex lex = lk_lex_start(sql);
    struct lk_lexeme t;
    while (lk_lex_next(&lex, &t))
        if (t.open || (t.doubtful && t.kind == LK_LEX_STRING))
            return false;
    return lk_lex_count(sql, LK_SQL_TOKENS_MAX + 1) <= LK_SQL_TOKENS_MAX;
}

char *
lk_sql_normalize(struct lk_span sql, size_t max)
{
    if (!parseable(sql))
        return write_tokens(sql, max);
    char *copy = lk_mem_try(sql.n + 1);
    if (!copy)
        return write_tokens(sql, max);
    if (sql.n > 0)
        memcpy(copy, sql.p, sql.n);
    copy[sql.n] = 0;
    PgQueryNormalizeResult result = pg_query_normalize(copy);
    free(copy);
    /* It leaves comments, and constants that its grammar holds as names: NOTIFY's payload, COMMENT's text. */
    char *text = write_tokens(result.error ? sql : lk_span_str(result.normalized_query), max);
    pg_query_free_normalize_result(result);
    return text;
}
