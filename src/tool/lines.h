/* The lines of a file, gzip or plain, or of standard input. */
#ifndef LK_TOOL_LINES_H
#define LK_TOOL_LINES_H

#include "base/buf.h"

/* A longer one counts as a line that is no record. */
#define LK_LINES_LONGEST (1024u * 1024u)

struct lk_lines; /* opaque */

/* "-" is standard input. NULL: errno. */
struct lk_lines *lk_lines_open(const char *file);
void lk_lines_close(struct lk_lines *l);
/* The next line without its newline; one that is too long comes as an empty span with *too_long. False: the end, or an
 * error that lk_lines_error tells. The span lives until the next call. */
bool lk_lines_next(struct lk_lines *l, struct lk_span *line, bool *too_long);
/* NULL: none. A gzip file that ends too early is one. */
const char *lk_lines_error(struct lk_lines *l);

#endif
