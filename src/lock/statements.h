/* What is known of the statements that take session locks, or may: by database and fingerprint. Bounded: the one that was
 * longest not heard of goes. One table a worker, of its thread. */
#ifndef LK_LOCK_STATEMENTS_H
#define LK_LOCK_STATEMENTS_H

#include <uthash.h>

#include "base/list.h"
#include "lock/text.h"

#define LK_STATEMENTS_MAX 1024u
/* Of a longer text only its beginning is kept. */
#define LK_STATEMENTS_TEXT_MAX 4096u

/* Why it is here. */
enum lk_statement_why {
    LK_WHY_UNSURE,  /* its text may take a lock; a probe tells whether it did */
    LK_WHY_EXACT,   /* its text says what it takes, and its answer whether it got it */
    LK_WHY_LEARNED, /* it left a lock that no text explains */
    LK_WHY_BLAMED,  /* one of several of which one did */
};

struct lk_lock_statement {
    struct lk_node node;  /* longest not heard of first */
    char *database;       /* owned */
    uint64_t fingerprint;
    struct lk_text *text; /* a reference; NULL: no memory */
    enum lk_statement_why why;
    uint64_t executions;
    uint64_t locks;        /* that were not held before */
    uint64_t failed_tries;
    uint64_t leaks;
    uint64_t refused;      /* executions that the policy refused */
    uint64_t holds;        /* that are over */
    int64_t held_us;       /* all of them together */
    int64_t longest_us;
    uint64_t id;           /* of database and fingerprint */
    UT_hash_handle hh;
};

struct lk_statements;

struct lk_statements *lk_statements_new(unsigned most);
void lk_statements_free(struct lk_statements *t);
/* The row of that statement, made if there is none (UNSURE, all zero); valid until the next call. NULL: the text is NULL or
 * has no fingerprint. */
struct lk_lock_statement *lk_statements_get(struct lk_statements *t, const char *database, struct lk_text *text);
/* The last heard of first. */
void lk_statements_each(
    const struct lk_statements *t, void (*each)(void *context, const struct lk_lock_statement *s), void *context);
unsigned lk_statements_count(const struct lk_statements *t);
/* "exact", "unsure", "learned", "blamed". */
const char *lk_statement_why_name(enum lk_statement_why why);

#endif
