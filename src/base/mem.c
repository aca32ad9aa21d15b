#include "base/mem.h"

#include <stdlib.h>

void *
lk_mem_new(size_t size)
{
    void *p = calloc(1, size);
    if (!p)
        abort();
    return p;
}

void *
lk_mem_grow(void *old, size_t size)
{
    void *p = realloc(old, size);
    if (!p && size > 0)
        abort();
    return p;
}

void *
lk_mem_try(size_t size)
{
    return malloc(size);
}

char *
lk_mem_dup(const char *s)
{
    return s ? lk_mem_dup_span(lk_span_str(s)) : NULL;
}

char *
lk_mem_dup_span(struct lk_span s)
{
    char *copy = lk_mem_new(s.n + 1);
    if (s.n > 0)
        memcpy(copy, s.p, s.n);
    return copy;
}

void
lk_mem_wipe_free(char *secret)
{
    if (!secret)
        return;
    explicit_bzero(secret, strlen(secret));
    free(secret);
}
