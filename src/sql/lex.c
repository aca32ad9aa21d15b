#include "sql/lex.h"

enum { START = 1, IDENT = 2, DIGIT = 4, SPACE = 8, OP = 16 };

/* clang-format off */
/* The classes of each byte; bytes from 0x80 are letters, as in scan.l. */
static const uint8_t CLASS[256] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    8, 16, 0, 16, 2, 16, 16, 0, 0, 0, 16, 16, 0, 16, 0, 16,
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 0, 0, 16, 16, 16, 16,
    16, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0, 0, 0, 16, 3,
    16, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0, 16, 0, 16, 0,
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3
};
/* clang-format on */

/* Behind the comment that opens at p, nested ones included. */
static const uint8_t *
skip_block_comment(const uint8_t *p, const uint8_t *end)
{
    unsigned depth = 1;
    p += 2;
    while (depth > 0 && end - p >= 2) {
        if (p[0] == '*' && p[1] == '/') {
            depth--;
            p += 2;
        } else if (p[0] == '/' && p[1] == '*') {
            depth++;
            p += 2;
        } else {
            p++;
        }
    }
    return depth == 0 ? p : end;
}

static const uint8_t *
skip_line(const uint8_t *p, const uint8_t *end)
{
    while (p < end && *p != '\n' && *p != '\r')
        p++;
    return p;
}

static inline bool
opens_comment(const uint8_t *p, const uint8_t *end)
{
    return end - p >= 2 && ((p[0] == '-' && p[1] == '-') || (p[0] == '/' && p[1] == '*'));
}

static inline const uint8_t *
skip_blank(const uint8_t *p, const uint8_t *end)
{
    for (;;) {
        while (p < end && CLASS[*p] & SPACE)
            p++;
        if (!opens_comment(p, end))
            return p;
        p = *p == '-' ? skip_line(p, end) : skip_block_comment(p, end);
    }
}

/* From the opening quote at p to behind the closing one; doubled quotes stay inside. */
static const uint8_t *
skip_quoted(const uint8_t *p, const uint8_t *end, uint8_t quote, struct lk_lexeme *t)
{
    const uint8_t *q = p + 1;
    for (;;) {
        q = q < end ? memchr(q, quote, (size_t)(end - q)) : NULL;
        if (!q) {
            t->open = true;
            return end;
        }
        if (q[-1] == '\\')
            t->doubtful = true;
        if (end - q < 2 || q[1] != quote)
            return q + 1;
        q += 2;
    }
}

/* B'…' and X'…' know no doubled quotes. */
static const uint8_t *
skip_bits(const uint8_t *p, const uint8_t *end, struct lk_lexeme *t)
{
    const uint8_t *q = ++p < end ? memchr(p, '\'', (size_t)(end - p)) : NULL;
    t->open = !q;
    return q ? q + 1 : end;
}

/* Where the string goes on after white space with a line break (scan.l: quotecontinue): its next opening quote, or
 * NULL. */
static const uint8_t *
continuation(const uint8_t *p, const uint8_t *end)
{
    bool broken = false;
    while (p < end) {
        if (CLASS[*p] & SPACE) {
            broken = broken || *p == '\n' || *p == '\r';
            p++;
        } else if (end - p >= 2 && p[0] == '-' && p[1] == '-') {
            p = skip_line(p, end);
        } else {
            return broken && *p == '\'' ? p : NULL;
        }
    }
    return NULL;
}

/* E'…' with its backslashes, from the quote at p. Continued pieces keep them, so they belong to the token. */
static const uint8_t *
skip_escaped(const uint8_t *p, const uint8_t *end, struct lk_lexeme *t)
{
    p++;
    while (p < end) {
        if (*p == '\\') {
            /* The byte may be the second half of a character: SJIS and others have 0x5c there. */
            if (p[-1] >= 0x80)
                t->doubtful = true;
            p += end - p >= 2 ? 2 : 1;
        } else if (*p != '\'') {
            p++;
        } else if (end - p >= 2 && p[1] == '\'') {
            p += 2;
        } else {
            const uint8_t *more = continuation(p + 1, end);
            if (!more)
                return p + 1;
            p = more + 1;
        }
    }
    t->open = true;
    return end;
}

/* $tag$…$tag$, a parameter, or a lone dollar. */
static const uint8_t *
lex_dollar(const uint8_t *p, const uint8_t *end, struct lk_lexeme *t)
{
    const uint8_t *q = p + 1;
    if (q < end && CLASS[*q] & DIGIT) {
        t->kind = LK_LEX_PARAM;
        while (q < end && CLASS[*q] & DIGIT)
            q++;
        return q;
    }
    if (q < end && CLASS[*q] & START)
        while (q < end && CLASS[*q] & IDENT && *q != '$')
            q++;
    if (q == end || *q != '$') {
        t->kind = LK_LEX_SELF;
        return p + 1;
    }
    t->kind = LK_LEX_STRING;
    size_t tag = (size_t)(q + 1 - p);
    for (q++; (q = q < end ? memchr(q, '$', (size_t)(end - q)) : NULL); q++)
        if ((size_t)(end - q) >= tag && memcmp(q, p, tag) == 0)
            return q + tag;
    t->open = true;
    return end;
}

static const uint8_t *
skip_digits(const uint8_t *p, const uint8_t *end)
{
    while (p < end && (CLASS[*p] & DIGIT || (*p == '_' && end - p >= 2 && CLASS[p[1]] & DIGIT)))
        p++;
    return p;
}

static inline bool
is_hex(uint8_t c)
{
    return CLASS[c] & DIGIT || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* Also the forms that came with PostgreSQL 16: 0x1F, 0o17, 0b11, 1_000. */
static const uint8_t *
lex_number(const uint8_t *p, const uint8_t *end)
{
    uint8_t base = end - p >= 3 && *p == '0' ? p[1] | 0x20 : 0;
    if ((base == 'x' && is_hex(p[2])) || ((base == 'o' || base == 'b') && CLASS[p[2]] & DIGIT)) {
        p += 2;
        while (p < end && (*p == '_' || is_hex(*p)))
            p++;
        return p;
    }
    p = skip_digits(p, end);
    if (p < end && *p == '.' && !(end - p >= 2 && p[1] == '.'))
        p = skip_digits(p + 1, end);
    if (p < end && (*p | 0x20) == 'e') {
        const uint8_t *q = p + 1;
        if (q < end && (*q == '+' || *q == '-'))
            q++;
        if (q < end && CLASS[*q] & DIGIT)
            p = skip_digits(q, end);
    }
    return p;
}

/* A run of operator characters, as scan.l cuts it: before a comment, and without + and - at its end unless one of the
 * characters that only operators of several characters have stands before. */
static const uint8_t *
lex_operator(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *q = p;
    bool special = false;
    while (q < end && CLASS[*q] & OP && !opens_comment(q, end)) {
        special = special || strchr("~!@#^&|`?%", *q);
        q++;
    }
    while (q - p > 1 && (q[-1] == '+' || q[-1] == '-') && !special)
        q--;
    return q;
}

/* A word, or what a one-letter prefix makes of the quote behind it. */
static inline const uint8_t *
lex_word(const uint8_t *p, const uint8_t *end, struct lk_lexeme *t)
{
    const uint8_t *q = p + 1;
    while (q < end && CLASS[*q] & IDENT)
        q++;
    t->kind = LK_LEX_WORD;
    if (q - p > 1 || q == end || (*q != '\'' && *q != '&'))
        return q;
    uint8_t prefix = *p | 0x20;
    if (*q == '\'' && (prefix == 'e' || prefix == 'b' || prefix == 'x')) {
        t->kind = LK_LEX_STRING;
        return prefix == 'e' ? skip_escaped(q, end, t) : skip_bits(q, end, t);
    }
    if (prefix == 'u' && *q == '&' && end - q >= 2 && (q[1] == '\'' || q[1] == '"')) {
        t->kind = q[1] == '"' ? LK_LEX_QUOTED : LK_LEX_STRING;
        return skip_quoted(q + 1, end, q[1], t);
    }
    return q;
}

bool
lk_lex_next(struct lk_lex *lex, struct lk_lexeme *t)
{
    const uint8_t *end = lex->end, *p = skip_blank(lex->p, end), *q;
    t->p = p;
    t->open = t->doubtful = false;
    if (p == end) {
        t->kind = LK_LEX_END;
        t->n = 0;
        lex->p = p;
        return false;
    }
    uint8_t c = *p, class = CLASS[c];
    if (class & START) {
        q = lex_word(p, end, t);
    } else if (class & DIGIT || (c == '.' && end - p >= 2 && CLASS[p[1]] & DIGIT)) {
        t->kind = LK_LEX_NUMBER;
        q = lex_number(p, end);
    } else if (class & OP) {
        t->kind = LK_LEX_OPERATOR;
        q = lex_operator(p, end);
    } else if (c == '\'' || c == '"') {
        t->kind = c == '"' ? LK_LEX_QUOTED : LK_LEX_STRING;
        q = skip_quoted(p, end, c, t);
    } else if (c == '$') {
        q = lex_dollar(p, end, t);
    } else {
        t->kind = LK_LEX_SELF;
        q = p + 1;
    }
    t->n = (size_t)(q - p);
    lex->p = q;
    return true;
}

size_t
lk_lex_count(struct lk_span sql, size_t enough)
{
    struct lk_lex lex = lk_lex_start(sql);
    struct lk_lexeme t;
    size_t count = 0;
    while (count < enough && lk_lex_next(&lex, &t))
        count += t.kind == LK_LEX_OPERATOR ? t.n : 1;
    return count;
}
