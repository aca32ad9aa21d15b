/* Which statements of a text touch session locks: parses with libpg_query and walks the whole tree. For texts that hit
 * the gate only. Whether the answer tells the outcome exactly is sql/exact's matter.
 *
 * The parser's stack grows with the text and is not guarded: at most LK_SQL_TOKENS_MAX tokens are parsed. libpg_query
 * keeps its memory per thread; a thread that has used it may call pg_query_exit at its end. */
#ifndef LK_SQL_RECOGNISE_H
#define LK_SQL_RECOGNISE_H

#include "lock/call.h"

/* `sql` has a NUL behind its last byte. NULL: no touch. A plan of no statements: all of it is one unsure touch, because
 * it can't be parsed or is too long. Owner: the caller. */
struct lk_plan *lk_recognise(struct lk_span sql);

/* A plan of no statements. */
struct lk_plan *lk_recognise_unsure(void);

/* Does a string constant speak of session locks? Not if it is just 'advisory' (pg_locks.locktype) or names only
 * transaction-level functions. U&" in it counts: it may spell anything. */
bool lk_recognise_string(struct lk_span s);

#endif
