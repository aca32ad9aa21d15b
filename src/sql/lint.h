/* Lints: uses of advisory locks that work, but hardly as they were meant. Found by the text alone; what needs to know a
 * session's state is the session's matter. */
#ifndef LK_SQL_LINT_H
#define LK_SQL_LINT_H

#include "sql/verb.h"

enum lk_lint {
    LK_LINT_XACT_ALONE =
        1,             /* only takes transaction-level locks: outside a transaction block it holds them for nothing */
    LK_LINT_LIMIT = 2, /* a lock call under LIMIT or OFFSET: may lock more rows than it returns */
    LK_LINT_HASHTEXT = 4, /* a key of 32 bits of a hash: different names may meet */
    LK_LINT_SET_TIMEOUT =
        8, /* lock_timeout or statement_timeout set for the session: stays with the server connection */
    /* These come of several texts, sql/uses.h, and are in no analysis: */
    LK_LINT_BOTH_KEY_SPACES = 16, /* one number as bigint key and as pair of int4 keys: the two never meet */
    LK_LINT_BOTH_LEVELS = 32,     /* one key taken for the session and for the transaction: unlocking frees the one only */
};
#define LK_LINT_COUNT 6

/* "xact_lock_in_autocommit", …; what is wrong, as a sentence. `lint`: one bit. */
const char *lk_lint_name(enum lk_lint lint);
const char *lk_lint_text(enum lk_lint lint);

/* By the first words of a text's first statement: LK_LINT_SET_TIMEOUT or 0. */
unsigned lk_lint_words(const struct lk_verb_head *h);

#endif
