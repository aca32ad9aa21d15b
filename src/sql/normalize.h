/* A text with its constants replaced, for records. */
#ifndef LK_SQL_NORMALIZE_H
#define LK_SQL_NORMALIZE_H

#include "base/span.h"

/* By libpg_query ($1, $2, …); what it leaves, and texts that it can't read, by our own tokens: `?` for each constant,
 * comments left out, white space as one space. Never a constant, whatever the text is. At most max bytes, cut at a
 * character's border. Owner: the caller, by free(). */
char *lk_sql_normalize(struct lk_span sql, size_t max);

#endif
