/* SUSPEND: connections are read no more as soon as they are silent, which is to say that what was read of them has been
 * passed on and what is to be sent to them has left. Peers may go on sending, to the kernel; RESUME reads on. The core's
 * mode says whether it holds. Of the worker's thread. */
#ifndef LK_NET_SUSPEND_H
#define LK_NET_SUSPEND_H

#include "net/worker.h"

/* After a step that may have changed the core's mode, and on each tick: reads, or doesn't, as the mode wants it. */
void lk_suspend_follow(struct lk_worker *w);
/* Is the connection to be read no more for now? */
bool lk_suspend_holds(const struct lk_conn *c);
/* Closes what is not silent after suspend_timeout. Are all silent? */
bool lk_suspend_done(struct lk_worker *w);

#endif
