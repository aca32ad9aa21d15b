/* Questions of the main thread to all workers, for /metrics, /healthz and the watchdog: a request (admin/request.h)
 * goes to each worker, and the answer, or its absence, comes back exactly once. Main thread only. */
#ifndef LK_NET_ASK_H
#define LK_NET_ASK_H

#include <event2/event.h>

#include "admin/console.h"

/* Open questions at most, and how long one stays open. */
#define LK_ASKS_MAX 32u
#define LK_ASK_WAIT_US (2 * LK_SECOND_US)

/* `r` NULL: a worker did not answer in time. It is not kept. */
typedef void lk_answered_fn(void *context, const struct lk_request *r);

struct lk_asks {
    struct event_base *base;            /* NULL: not open */
    const struct lk_console_host *host; /* its broadcast and number of workers */
    struct lk_list open;
    uint64_t last_id;
};

void lk_asks_init(struct lk_asks *a, struct event_base *base, const struct lk_console_host *host);
/* Calls back for all that are open. May be called twice. */
void lk_asks_close(struct lk_asks *a);
/* False: too many are open, and nothing will be called. */
bool lk_asks_put(struct lk_asks *a, enum lk_request_kind kind, lk_answered_fn *answered, void *context);
/* A request has come back from the workers; frees it. */
void lk_asks_answer(struct lk_asks *a, struct lk_request *r);

#endif
