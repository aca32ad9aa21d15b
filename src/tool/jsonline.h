/* Reads one line of JSON (RFC 8259) and tells the scalars of the object in it and of the objects directly in that one.
 * Whole lines are checked; nothing is built, and nothing allocated but the room for decoded strings: a million records
 * take seconds. Bytes that are no UTF-8 pass through. */
#ifndef LK_TOOL_JSONLINE_H
#define LK_TOOL_JSONLINE_H

#include "base/buf.h"

#define LK_JSONLINE_DEPTH_MAX 32u

/* `object` is the inner object's key, empty for the outer one. A string's value is decoded and `quoted`; a number,
 * true, false or null comes as it is written. Spans live until the next line. */
typedef void lk_jsonline_fn(
    void *context, struct lk_span object, struct lk_span key, struct lk_span value, bool quoted);

/* False: the line is not one JSON object, and what was told so far is void. `room` is the caller's, and kept. */
bool lk_jsonline_read(struct lk_span line, struct lk_buf *room, lk_jsonline_fn *each, void *context);

#endif
