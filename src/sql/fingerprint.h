/* One pass over a text: its fingerprint and what its words alone tell. No allocation.
 *
 * The fingerprint is a keyed 64-bit hash (SipHash-1-3 in shape) of the tokens. Left out: constants and numbers of
 * parameters (each kind leaves its mark), a sign right before a number where no operand precedes it, comments and white
 * space. Letters of words count in one case. Of the items of IN (…) and ARRAY […], and of the rows of VALUES, each form
 * counts once; up to LK_FINGERPRINT_LISTS lists inside each other. The strings of a DO are hashed as they stand. */
#ifndef LK_SQL_FINGERPRINT_H
#define LK_SQL_FINGERPRINT_H

#include "base/hash.h"
#include "sql/verb.h"

#define LK_FINGERPRINT_LISTS 4

struct lk_fingerprint {
    uint64_t hash;
    bool single;               /* no ';' but at the end */
    bool executes;             /* has the word EXECUTE, which may run a text that stands elsewhere */
    struct lk_verb_head first; /* of the first statement; borrows from the text */
};

void lk_fingerprint_make(struct lk_span sql, const struct lk_hash_key *key, struct lk_fingerprint *out);

#endif
