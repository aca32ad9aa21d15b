#include "net/watchdog.h"

#include "net/master.h"
#include "net/notify.h"

static void
answered(void *context, const struct lk_request *r)
{
    if (r && lk_request_whole(r))
        lk_notify_alive();
}

/* Workers that have ended no longer answer; a shutdown may take as long as its clients do. */
static void
on_watchdog(evutil_socket_t fd, short what, void *arg)
{
    struct lk_master *m = arg;
    if (m->stopping)
        lk_notify_alive();
    else
        (void)lk_asks_put(&m->asks, LK_REQUEST_STATE, answered, NULL);
}

void
lk_watchdog_open(struct lk_master *m)
{
    int64_t every_us = lk_notify_watchdog_us() / 2;
    if (every_us <= 0)
        return;
    const struct timeval every = {.tv_sec = every_us / LK_SECOND_US, .tv_usec = every_us % LK_SECOND_US};
    event_assign(&m->watchdog_event, m->base, -1, EV_PERSIST, on_watchdog, m);
    (void)event_add(&m->watchdog_event, &every);
    m->watched = true;
}

void
lk_watchdog_close(struct lk_master *m)
{
    if (m->watched)
        (void)event_del(&m->watchdog_event);
    m->watched = false;
}
