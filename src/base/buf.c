#include "base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void
lk_buf_clear(struct lk_buf *b)
{
    free(b->data);
    *b = (struct lk_buf){0};
}

bool
lk_buf_reserve(struct lk_buf *b, size_t more)
{
    if (b->cap - b->len >= more)
        return true;
    if (more > SIZE_MAX / 2 - b->len) {
        b->failed = true;
        return false;
    }
    size_t need = b->len + more;
    size_t cap = b->cap ? b->cap : 64;
    while (cap < need)
        cap *= 2;
    uint8_t *grown = realloc(b->data, cap);
    if (!grown) {
        b->failed = true;
        return false;
    }
    b->data = grown;
    b->cap = cap;
    return true;
}

bool
lk_buf_add(struct lk_buf *b, const void *p, size_t n)
{
    if (!lk_buf_reserve(b, n))
        return false;
    if (n > 0)
        memcpy(b->data + b->len, p, n);
    b->len += n;
    return true;
}

bool
lk_buf_add_span(struct lk_buf *b, struct lk_span s)
{
    return lk_buf_add(b, s.p, s.n);
}

bool
lk_buf_add_cstr(struct lk_buf *b, const char *s)
{
    return lk_buf_add(b, s, strlen(s) + 1);
}

bool
lk_buf_add_u8(struct lk_buf *b, uint8_t v)
{
    return lk_buf_add(b, &v, 1);
}

bool
lk_buf_add_u16(struct lk_buf *b, uint16_t v)
{
    uint8_t be[2] = {(uint8_t)(v >> 8), (uint8_t)v};
    return lk_buf_add(b, be, sizeof(be));
}

bool
lk_buf_add_u32(struct lk_buf *b, uint32_t v)
{
    uint8_t be[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};
    return lk_buf_add(b, be, sizeof(be));
}

bool
lk_buf_add_format(struct lk_buf *b, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    assert(n >= 0);
    bool room = lk_buf_reserve(b, (size_t)n + 1);
    if (room) {
        (void)vsnprintf((char *)b->data + b->len, (size_t)n + 1, format, again);
        b->len += (size_t)n;
    }
    va_end(again);
    return room;
}

void
lk_buf_drop(struct lk_buf *b, size_t n)
{
    assert(n <= b->len);
    b->len -= n;
    if (b->len > 0 && n > 0)
        memmove(b->data, b->data + n, b->len);
}
