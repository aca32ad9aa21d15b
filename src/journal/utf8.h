/* Bytes from a peer as valid UTF-8 (RFC 3629). */
#ifndef LK_JOURNAL_UTF8_H
#define LK_JOURNAL_UTF8_H

#include "base/buf.h"

/* Appends the text to out, each byte that belongs to no character as U+FFFD; at most max bytes, cut at a character's
 * border. */
void lk_utf8_repair(struct lk_span in, size_t max, struct lk_buf *out);

/* The same for a line that people read: backslashes and control characters, those of U+0080 to U+009F too, are escaped (\n,
 * \u001b), and, where the text stands in quotes, quotes. At most max bytes before that. */
void lk_utf8_escape(struct lk_span in, size_t max, bool quoted, struct lk_buf *out);

#endif
