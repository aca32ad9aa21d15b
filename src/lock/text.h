/* The text of a statement, shared by reference: the analysis cache, the ledger's entries and the records of one
 * statement hold the same one. Not thread-safe: a text belongs to its worker. */
#ifndef LK_LOCK_TEXT_H
#define LK_LOCK_TEXT_H

#include "base/span.h"

struct lk_text {
    unsigned refs;
    uint64_t fingerprint; /* of sql/fingerprint; 0: none */
    size_t n;
    char sql[]; /* n bytes and a NUL */
};

/* NULL when there is no memory (the size is a peer's). Owner: the caller, one reference. */
struct lk_text *lk_text_new(struct lk_span sql, uint64_t fingerprint);
struct lk_text *lk_text_ref(struct lk_text *t);
/* Accepts NULL. */
void lk_text_unref(struct lk_text *t);

#endif
