#include "net/ask.h"

#include <event2/event_struct.h>
#include <stdlib.h>

struct ask {
    struct lk_node node;
    struct lk_asks *asks;
    uint64_t id; /* the request's client_id: it may come back when nobody waits for it any more */
    struct event late_event;
    lk_answered_fn *answered;
    void *context;
};

void
lk_asks_init(struct lk_asks *a, struct event_base *base, const struct lk_console_host *host)
{
    *a = (struct lk_asks){.base = base, .host = host};
    lk_list_init(&a->open);
}

static void
end(struct ask *ask, const struct lk_request *r)
{
    lk_answered_fn *answered = ask->answered;
    void *context = ask->context;
    lk_list_remove(&ask->asks->open, &ask->node);
    (void)event_del(&ask->late_event);
    free(ask);
    answered(context, r);
}

void
lk_asks_close(struct lk_asks *a)
{
    struct lk_node *n;
    while (a->base && (n = lk_list_first(&a->open)) != NULL)
        end(LK_LIST_ITEM(n, struct ask, node), NULL);
    a->base = NULL;
}

static void
on_late(evutil_socket_t fd, short what, void *arg)
{
    end(arg, NULL);
}

bool
lk_asks_put(struct lk_asks *a, enum lk_request_kind kind, lk_answered_fn *answered, void *context)
{
    const struct timeval wait = {.tv_sec = LK_ASK_WAIT_US / LK_SECOND_US};
    if (!a->base || a->open.count >= LK_ASKS_MAX)
        return false;
    struct ask *ask = LK_NEW(struct ask);
    *ask = (struct ask){.asks = a, .id = ++a->last_id, .answered = answered, .context = context};
    lk_list_push(&a->open, &ask->node);
    evtimer_assign(&ask->late_event, a->base, on_late, ask);
    (void)evtimer_add(&ask->late_event, &wait);
    a->host->broadcast(a->host->context, lk_request_new(kind, NULL, LK_REQUEST_OF_MAIN, ask->id, a->host->workers));
    return true;
}

void
lk_asks_answer(struct lk_asks *a, struct lk_request *r)
{
    struct ask *found = NULL;
    LK_LIST_EACH (&a->open, struct ask, node, ask) {
        if (ask->id == r->client_id)
            found = ask;
    }
    if (found)
        end(found, r);
    lk_request_free(r);
}
