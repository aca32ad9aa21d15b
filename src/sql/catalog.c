#include "sql/catalog.h"

#include <ctype.h>
#include <stdlib.h>

#include <uthash.h>

#include "base/mem.h"
#include "sql/lex.h"

/* PostgreSQL's names are shorter (NAMEDATALEN); what is longer in a text is cut there. */
#define NAME_MOST 63u

struct name {
    bool is[LK_CATALOG_KINDS];
    UT_hash_handle hh;
    size_t length;
    char text[NAME_MOST];
};

struct lk_catalog_names {
    struct name *all; /* uthash by text */
    size_t count[LK_CATALOG_KINDS];
};

struct lk_catalog_names *
lk_catalog_names_new(void)
{
    return LK_NEW(struct lk_catalog_names);
}

void
lk_catalog_names_free(struct lk_catalog_names *n)
{
    struct name *at, *next;
    if (!n)
        return;
    HASH_ITER(hh, n->all, at, next)
    {
        HASH_DEL(n->all, at);
        free(at);
    }
    free(n);
}

static struct name *
find(const struct lk_catalog_names *n, const void *text, size_t length)
{
    struct name *found = NULL;
    HASH_FIND(hh, n->all, text, length, found);
    return found;
}

bool
lk_catalog_names_add(struct lk_catalog_names *n, enum lk_catalog_kind kind, struct lk_span name)
{
    if (name.n == 0 || name.n > NAME_MOST)
        return false;
    struct name *at = find(n, name.p, name.n);
    if (!at) {
        if (HASH_COUNT(n->all) >= LK_CATALOG_NAMES_MAX)
            return false;
        at = LK_NEW(struct name);
        at->length = name.n;
        memcpy(at->text, name.p, name.n);
        HASH_ADD(hh, n->all, text, at->length, at);
    }
    if (at->is[kind])
        return false;
    at->is[kind] = true;
    n->count[kind]++;
    return true;
}

size_t
lk_catalog_names_count(const struct lk_catalog_names *n, enum lk_catalog_kind kind)
{
    return n->count[kind];
}

bool
lk_catalog_names_have(const struct lk_catalog_names *n, enum lk_catalog_kind kind, struct lk_span name)
{
    const struct name *at = n->count[kind] > 0 ? find(n, name.p, name.n) : NULL;
    return at && at->is[kind];
}

bool
lk_catalog_names_same(const struct lk_catalog_names *a, const struct lk_catalog_names *b)
{
    if (memcmp(a->count, b->count, sizeof(a->count)) != 0 || HASH_COUNT(a->all) != HASH_COUNT(b->all))
        return false;
    for (const struct name *at = a->all; at; at = at->hh.next) {
        const struct name *other = find(b, at->text, at->length);
        if (!other || memcmp(at->is, other->is, sizeof(at->is)) != 0)
            return false;
    }
    return true;
}

/* --- texts --- */

/* The name as the catalogue would have it; 0: none (U&"…" may spell anything, and hits the gate). */
static size_t
fold(const struct lk_lexeme *t, char out[NAME_MOST])
{
    size_t n = 0;
    if (t->kind == LK_LEX_WORD) {
        for (; n < t->n && n < NAME_MOST; n++)
            out[n] = (char)tolower(t->p[n]);
        return n;
    }
    if (t->kind != LK_LEX_QUOTED || t->p[0] != '"' || t->open)
        return 0;
    for (size_t i = 1; i + 1 < t->n && n < NAME_MOST; i++) {
        out[n++] = (char)t->p[i];
        i += t->p[i] == '"'; /* doubled within quotes */
    }
    return n;
}

static bool
writes(const struct lk_lexeme *t)
{
    static const char *const verbs[] = {"insert", "update", "delete", "merge", "copy", "truncate"};
    for (size_t i = 0; i < LK_COUNT(verbs); i++)
        if (lk_lexeme_is(t, verbs[i]))
            return true;
    return false;
}

bool
lk_catalog_names_hit(const struct lk_catalog_names *n, struct lk_span sql)
{
    struct lk_lex lex = lk_lex_start(sql);
    struct lk_lexeme t;
    bool written = false, writing = false;
    if (n->count[LK_CATALOG_USED] + n->count[LK_CATALOG_WRITTEN] == 0)
        return false;
    while (lk_lex_next(&lex, &t)) {
        char text[NAME_MOST];
        size_t length = fold(&t, text);
        const struct name *at = length > 0 ? find(n, text, length) : NULL;
        if (at && at->is[LK_CATALOG_USED])
            return true;
        written |= at && at->is[LK_CATALOG_WRITTEN];
        writing |= writes(&t);
        if (written && writing)
            return true;
    }
    return false;
}
