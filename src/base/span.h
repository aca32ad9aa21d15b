/* A span is a borrowed run of bytes: it owns nothing and is never stored beyond the step that made it. */
#ifndef LK_BASE_SPAN_H
#define LK_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct lk_span {
    const uint8_t *p;
    size_t n;
};

static inline struct lk_span
lk_span_make(const void *p, size_t n)
{
    return (struct lk_span){(const uint8_t *)p, n};
}

/* The bytes of a NUL-terminated string, without the NUL. */
static inline struct lk_span
lk_span_str(const char *s)
{
    return lk_span_make(s, strlen(s));
}

static inline bool
lk_span_eq(struct lk_span a, struct lk_span b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool
lk_span_is(struct lk_span a, const char *s)
{
    return lk_span_eq(a, lk_span_str(s));
}

/* The span without its first n bytes; n may not exceed its length. */
static inline struct lk_span
lk_span_skip(struct lk_span a, size_t n)
{
    return lk_span_make(a.p + n, a.n - n);
}

static inline struct lk_span
lk_span_head(struct lk_span a, size_t n)
{
    return lk_span_make(a.p, n);
}

#endif
