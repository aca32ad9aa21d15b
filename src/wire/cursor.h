/* Reading fields from a message body. A cursor never reads past its end: the first read that would sets `bad`, and
 * every read after it gives zero or an empty span, so a parser checks once, at its end. */
#ifndef LK_WIRE_CURSOR_H
#define LK_WIRE_CURSOR_H

#include "base/span.h"

struct lk_cursor {
    struct lk_span rest;
    bool bad;
};

static inline struct lk_cursor
lk_cursor_make(struct lk_span body)
{
    return (struct lk_cursor){body, false};
}

static inline struct lk_span
lk_cursor_bytes(struct lk_cursor *c, size_t n)
{
    if (c->bad || n > c->rest.n) {
        c->bad = true;
        return lk_span_make(NULL, 0);
    }
    struct lk_span taken = lk_span_head(c->rest, n);
    c->rest = lk_span_skip(c->rest, n);
    return taken;
}

static inline uint8_t
lk_cursor_u8(struct lk_cursor *c)
{
    struct lk_span s = lk_cursor_bytes(c, 1);
    return s.n ? s.p[0] : 0;
}

/* Numbers stand in network byte order. */
static inline uint16_t
lk_cursor_u16(struct lk_cursor *c)
{
    struct lk_span s = lk_cursor_bytes(c, 2);
    return (uint16_t)(s.n ? s.p[0] << 8 | s.p[1] : 0);
}

static inline uint32_t
lk_cursor_u32(struct lk_cursor *c)
{
    struct lk_span s = lk_cursor_bytes(c, 4);
    return s.n ? (uint32_t)s.p[0] << 24 | (uint32_t)s.p[1] << 16 | (uint32_t)s.p[2] << 8 | s.p[3] : 0;
}

static inline int32_t
lk_cursor_i32(struct lk_cursor *c)
{
    return (int32_t)lk_cursor_u32(c);
}

/* Up to the next NUL, which is passed over and is not in the span. */
struct lk_span lk_cursor_cstr(struct lk_cursor *c);
/* Whether every read found its bytes and none are left: what a parser returns at its end. */
static inline bool
lk_cursor_done(const struct lk_cursor *c)
{
    return !c->bad && c->rest.n == 0;
}

#endif
