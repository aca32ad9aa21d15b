/* A growable buffer of bytes. Growth is checked: a failed allocation leaves the buffer as it was, sets `failed` and drops
 * what was to be added, so that a message can be built without a test after each field and checked once at its end. */
#ifndef LK_BASE_BUF_H
#define LK_BASE_BUF_H

#include "base/span.h"

struct lk_buf {
    uint8_t *data; /* owned; NULL while cap is 0 */
    size_t len;
    size_t cap;
    bool failed;
};

/* Frees the memory; the buffer is empty and usable again. A zeroed struct is a valid empty buffer. */
void lk_buf_clear(struct lk_buf *b);
/* Room for `more` bytes behind len; false when there is no memory. */
bool lk_buf_reserve(struct lk_buf *b, size_t more);
bool lk_buf_add(struct lk_buf *b, const void *p, size_t n);
bool lk_buf_add_span(struct lk_buf *b, struct lk_span s);
/* The string with its NUL. */
bool lk_buf_add_cstr(struct lk_buf *b, const char *s);
bool lk_buf_add_u8(struct lk_buf *b, uint8_t v);
/* Network byte order. */
bool lk_buf_add_u16(struct lk_buf *b, uint16_t v);
bool lk_buf_add_u32(struct lk_buf *b, uint32_t v);
bool lk_buf_add_format(struct lk_buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Drops n bytes from the front. */
void lk_buf_drop(struct lk_buf *b, size_t n);

static inline struct lk_span
lk_buf_span(const struct lk_buf *b)
{
    return lk_span_make(b->data, b->len);
}

#endif
