/* Cutting a byte stream into the frames of protocol version 3 (PostgreSQL documentation, "Message Formats"): a type
 * byte (absent in a startup packet), a length that counts itself, a body. Nothing is copied. */
#ifndef LK_WIRE_FRAME_H
#define LK_WIRE_FRAME_H

#include "base/span.h"

enum lk_frame_status {
    LK_FRAME_WHOLE, /* the whole frame lies in the input */
    LK_FRAME_PART,  /* the head (type, length) is there, the body not entirely */
    LK_FRAME_MORE,  /* not even the head */
    LK_FRAME_BAD,   /* a length that no frame can have */
};

#define LK_FRAME_HEAD 5u
/* Longest body of a startup packet, as PostgreSQL has it (MAX_STARTUP_PACKET_LENGTH). */
#define LK_FRAME_STARTUP_MAX 10000u

struct lk_frame {
    uint8_t type;        /* 0 for a startup packet */
    uint32_t total;      /* bytes of the whole frame, its head included */
    struct lk_span body; /* the bytes of the body that lie in the input; all of them when WHOLE */
};

/* The frame at the start of `in`. `max_total` bounds total (BAD beyond); no bound reaches above a length of 2^31 - 1.
 * *out is zeroed for MORE and BAD. */
static inline enum lk_frame_status
lk_frame_next(struct lk_span in, uint32_t max_total, struct lk_frame *out)
{
    *out = (struct lk_frame){0};
    if (in.n < LK_FRAME_HEAD)
        return LK_FRAME_MORE;
    uint32_t length = (uint32_t)in.p[1] << 24 | (uint32_t)in.p[2] << 16 | (uint32_t)in.p[3] << 8 | in.p[4];
    if (length < 4 || length > INT32_MAX || length >= max_total)
        return LK_FRAME_BAD;
    out->type = in.p[0];
    out->total = length + 1;
    bool whole = in.n >= out->total;
    out->body = lk_span_make(in.p + LK_FRAME_HEAD, (whole ? out->total : in.n) - LK_FRAME_HEAD);
    return whole ? LK_FRAME_WHOLE : LK_FRAME_PART;
}

/* The same for the untyped first packet of a connection: its body has 4 to LK_FRAME_STARTUP_MAX bytes. */
enum lk_frame_status lk_frame_startup(struct lk_span in, struct lk_frame *out);

#endif
