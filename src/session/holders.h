/* Whose session locks keep servers from becoming free: what PAUSE, WAIT_CLOSE and a shutdown that waits for servers say
 * about whom they wait for. Pure. */
#ifndef LK_SESSION_HOLDERS_H
#define LK_SESSION_HOLDERS_H

#include "base/buf.h"
#include "session/core.h"

/* Holders that are named; of the others their number is said. */
#define LK_HOLDERS_NAMED 10u

struct lk_holders_wanted {
    const char *database; /* NULL: all */
    bool closing;         /* only servers that are to be closed */
};

/* A line that says how many servers `what` ("PAUSE") waits for, then one for each client that holds locks on one, those of
 * the oldest connections to servers first. Nothing when there are none. The same lines as long as the same clients hold the
 * same locks. out->failed: no memory. */
void lk_holders_tell(const struct lk_core *core, struct lk_holders_wanted wanted, const char *what, struct lk_buf *out);
/* The same as one line of the main log. */
void lk_holders_log(const struct lk_core *core, struct lk_holders_wanted wanted, const char *what);

#endif
