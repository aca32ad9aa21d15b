/* A set of names that the operator gave: databases that are paused, or disabled. They are few, and searched one by one.
 * A zeroed struct is an empty set. */
#ifndef LK_SESSION_NAMES_H
#define LK_SESSION_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct lk_names {
    char **items; /* owned, as are the names */
    size_t count;
};

bool lk_names_has(const struct lk_names *n, const char *name);
void lk_names_add(struct lk_names *n, const char *name);
/* NULL: all of them, and the memory too. */
void lk_names_drop(struct lk_names *n, const char *name);

#endif
