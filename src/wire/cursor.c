#include "wire/cursor.h"

struct lk_span
lk_cursor_cstr(struct lk_cursor *c)
{
    const uint8_t *nul = c->bad || c->rest.n == 0 ? NULL : memchr(c->rest.p, 0, c->rest.n);
    if (!nul) {
        c->bad = true;
        return lk_span_make(NULL, 0);
    }
    struct lk_span s = lk_span_head(c->rest, (size_t)(nul - c->rest.p));
    c->rest = lk_span_skip(c->rest, s.n + 1);
    return s;
}
