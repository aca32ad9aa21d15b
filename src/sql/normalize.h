/* A text with its constants replaced, for records. */
#ifndef LK_SQL_NORMALIZE_H
#define LK_SQL_NORMALIZE_H

#include "base/span.h"

/* By libpg_query; a text that it can't read is written as the fingerprint pass leaves it: words, operators and `?` for each
 * constant, never a constant itself. At most max bytes, cut at a character's border. Owner: the caller, by free(). */
char *lk_sql_normalize(struct lk_span sql, size_t max);

#endif
