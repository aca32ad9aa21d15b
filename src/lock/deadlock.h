/* The DETAIL of a deadlock's error (40P01), line by line: "Process 7 waits for ShareLock on advisory lock [5,0,42,1]; blocked
 * by process 9." Read by its numbers and punctuation, which are the same in every language. */
#ifndef LK_LOCK_DEADLOCK_H
#define LK_LOCK_DEADLOCK_H

#include "base/span.h"
#include "lock/call.h"

struct lk_deadlock_line {
    uint32_t waiter, blocker; /* pids */
    bool advisory;
    struct lk_key key;        /* if advisory; of whatever key space */
    enum lk_lock_mode mode;   /* if advisory */
    struct lk_span lock;      /* what it waits for in PostgreSQL's words; points into the DETAIL */
};

/* Takes the next line off *detail; false at the end. Lines of another shape are passed over. */
bool lk_deadlock_next(struct lk_span *detail, struct lk_deadlock_line *out);

#endif
