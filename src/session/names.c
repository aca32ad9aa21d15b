#include "session/names.h"

#include <stdlib.h>

#include "base/mem.h"

bool
lk_names_has(const struct lk_names *n, const char *name)
{
    for (size_t i = 0; i < n->count; i++)
        if (strcmp(n->items[i], name) == 0)
            return true;
    return false;
}

void
lk_names_add(struct lk_names *n, const char *name)
{
    if (lk_names_has(n, name))
        return;
    n->items = lk_mem_grow(n->items, (n->count + 1) * sizeof(char *));
    n->items[n->count++] = lk_mem_dup(name);
}

void
lk_names_drop(struct lk_names *n, const char *name)
{
    for (size_t i = n->count; i-- > 0;) {
        if (name && strcmp(n->items[i], name) != 0)
            continue;
        free(n->items[i]);
        n->items[i] = n->items[--n->count];
    }
    if (n->count == 0) {
        free(n->items);
        n->items = NULL;
    }
}
