/* Which statements of a text touch session locks: parses with libpg_query and walks the whole tree. For texts that hit
 * the gate only. Whether the answer tells the outcome exactly is sql/exact's matter.
 *
 * The parser's stack grows with the text and is not guarded: at most LK_SQL_TOKENS_MAX tokens are parsed. libpg_query
 * keeps its memory per thread; a thread that has used it may call pg_query_exit at its end. */
#ifndef LK_SQL_RECOGNISE_H
#define LK_SQL_RECOGNISE_H

#include "lock/call.h"

struct lk_recognised {
    struct lk_plan *plan; /* owned; NULL: no touch. One that is unparsed: all of it is one unsure touch. */
    unsigned lints;       /* bits of enum lk_lint, sql/lint.h */
    struct lk_taking *takings; /* owned: as in struct lk_analysis */
    uint16_t taking_count;
    char **creates; /* owned: the names, without schema, of new functions that touch; ends with NULL; may be NULL */
};

/* `sql` has a NUL behind its last byte. Owner: the caller. */
struct lk_recognised lk_recognise(struct lk_span sql);
void lk_recognised_clear(struct lk_recognised *r);
/* Accepts NULL. */
void lk_recognise_free_names(char **names);

/* The plan of a text that is not parsed. */
struct lk_plan *lk_recognise_unsure(enum lk_unparsed why);

/* Does a string constant speak of session locks? Not if it is just 'advisory' (pg_locks.locktype) or names only
 * transaction-level functions. U&" in it counts: it may spell anything. */
bool lk_recognise_string(struct lk_span s);

#endif
