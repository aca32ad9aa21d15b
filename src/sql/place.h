/* Where a call stands in its text, by byte positions: for those who rewrite it. Reads the text as sql/lex does, with
 * standard_conforming_strings on. Only sql/exact uses it. */
#ifndef LK_SQL_PLACE_H
#define LK_SQL_PLACE_H

#include "lock/call.h"

/* Fills in c->place but for `aliased`. `name` and `target`: where the parser saw the function's name and the output
 * column that it stands in begin. If the text there is no call, the place stays empty. */
void lk_place_call(struct lk_span sql, size_t name, size_t target, struct lk_call *c);

#endif
