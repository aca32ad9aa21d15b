/* Bytes from a peer as valid UTF-8 (RFC 3629). */
#ifndef LK_JOURNAL_UTF8_H
#define LK_JOURNAL_UTF8_H

#include "base/buf.h"

/* Appends the text to out, each byte that belongs to no character as U+FFFD; at most max bytes, cut at a character's
 * border. */
void lk_utf8_repair(struct lk_span in, size_t max, struct lk_buf *out);

#endif
