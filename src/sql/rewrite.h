/* Policy rewrite: a text with some of its session-level calls shortened to their transaction. A lock or try becomes its
 * transaction-level sibling, an unlock the constant true; output columns keep name and type, parameters keep number,
 * order and type. `shorten` has one entry for each call of the plan, in order, statement by statement; it may not be
 * set for pg_advisory_unlock_all. */
#ifndef LK_SQL_REWRITE_H
#define LK_SQL_REWRITE_H

#include "base/buf.h"
#include "lock/call.h"

/* Can calls of this text be shortened at all? Only if every statement that touches is exact. */
bool lk_rewrite_possible(const struct lk_plan *plan);

/* Appends the new text of `sql`, of which `plan` was made; it must be possible. out->failed: no memory. */
void lk_rewrite_text(struct lk_span sql, const struct lk_plan *plan, const bool *shorten, struct lk_buf *out);

/* An unlock that became true mentions no parameter any more. As what type parameter $n (from 1) must be declared in
 * Parse, where the client's Parse leaves that open (0 or unknown); 0: that may stay open. */
uint32_t lk_rewrite_param_type(const struct lk_plan *plan, const bool *shorten, uint16_t param);
/* The highest parameter for which that is not 0; 0: there is none. */
uint16_t lk_rewrite_param_last(const struct lk_plan *plan, const bool *shorten);

#endif
