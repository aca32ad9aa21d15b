/* Memory. The plain forms abort when there is none: they are for small things whose size is ours. What a peer sizes is
 * allocated with lk_mem_try (or lk_buf), whose failure is that peer's 53200. */
#ifndef LK_BASE_MEM_H
#define LK_BASE_MEM_H

#include <stddef.h>

#include "base/span.h"

/* Zeroed memory; never NULL. Owner: the caller, by free(). */
void *lk_mem_new(size_t size);
/* Grows or shrinks; never NULL for size > 0. */
void *lk_mem_grow(void *old, size_t size);
/* Uninitialised memory or NULL. */
void *lk_mem_try(size_t size);
/* A copy of a string; NULL gives NULL. */
char *lk_mem_dup(const char *s);
/* A NUL-terminated copy of a span. */
char *lk_mem_dup_span(struct lk_span s);
/* Overwrites before freeing, for secrets. Accepts NULL. */
void lk_mem_wipe_free(char *secret);

#define LK_NEW(type) ((type *)lk_mem_new(sizeof(type)))
#define LK_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LK_CONTAINER(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
