/* Reading fields from a message body. A cursor never reads past its end: the first read that would sets `bad`, and every
 * read after it gives zero or an empty span, so a parser checks once, at its end. */
#ifndef LK_WIRE_CURSOR_H
#define LK_WIRE_CURSOR_H

#include "base/span.h"

struct lk_cursor {
    struct lk_span rest;
    bool bad;
};

struct lk_cursor lk_cursor_make(struct lk_span body);
uint8_t lk_cursor_u8(struct lk_cursor *c);
uint16_t lk_cursor_u16(struct lk_cursor *c);
uint32_t lk_cursor_u32(struct lk_cursor *c);
int32_t lk_cursor_i32(struct lk_cursor *c);
struct lk_span lk_cursor_bytes(struct lk_cursor *c, size_t n);
/* Up to the next NUL, which is passed over and is not in the span. */
struct lk_span lk_cursor_cstr(struct lk_cursor *c);

#endif
