#include "wire/frame.h"

#include "wire/cursor.h"

#define STARTUP_HEAD 4u

enum lk_frame_status
lk_frame_startup(struct lk_span in, struct lk_frame *out)
{
    *out = (struct lk_frame){0};
    if (in.n < STARTUP_HEAD)
        return LK_FRAME_MORE;
    struct lk_cursor c = lk_cursor_make(in);
    uint32_t total = lk_cursor_u32(&c);
    if (total < STARTUP_HEAD + 4 || total > STARTUP_HEAD + LK_FRAME_STARTUP_MAX)
        return LK_FRAME_BAD;
    out->total = total;
    bool whole = in.n >= total;
    out->body = whole ? lk_span_head(c.rest, total - STARTUP_HEAD) : c.rest;
    return whole ? LK_FRAME_WHOLE : LK_FRAME_PART;
}
