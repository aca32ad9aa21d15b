#include "lock/text.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

struct lk_text *
lk_text_new(struct lk_span sql, uint64_t fingerprint)
{
    if (sql.n > SIZE_MAX - sizeof(struct lk_text) - 1)
        return NULL;
    struct lk_text *t = lk_mem_try(sizeof(*t) + sql.n + 1);
    if (!t)
        return NULL;
    t->refs = 1;
    t->fingerprint = fingerprint;
    t->n = sql.n;
    if (sql.n > 0)
        memcpy(t->sql, sql.p, sql.n);
    t->sql[sql.n] = '\0';
    return t;
}

struct lk_text *
lk_text_ref(struct lk_text *t)
{
    if (t) {
        assert(t->refs > 0);
        t->refs++;
    }
    return t;
}

void
lk_text_unref(struct lk_text *t)
{
    if (!t)
        return;
    assert(t->refs > 0);
    if (--t->refs == 0)
        free(t);
}
