/* The white list: the SELECTs whose answer tells exactly which calls locked what. They have output columns only (no
 * FROM, WHERE, DISTINCT, LIMIT, …), each a call with keys that are constants or parameters, maybe cast, or a constant
 * or parameter as it stands. Only sql/recognise uses it. */
#ifndef LK_SQL_EXACT_H
#define LK_SQL_EXACT_H

#include <pg_query/pg_query.pb-c.h>

#include "lock/call.h"

/* Fills in exact, columns and calls of a statement of `sql` that is known to touch; leaves them if the statement is not
 * on the list. */
void lk_exact_select(struct lk_span sql, const PgQuery__SelectStmt *select, struct lk_plan_statement *out);

/* The key of a call of that function, of any level and anywhere in a statement, if it is constant. */
bool lk_exact_constant_key(const PgQuery__FuncCall *f, const struct lk_function *fn, struct lk_key *key);

#endif
