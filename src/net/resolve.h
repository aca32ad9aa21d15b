/* Names of hosts to addresses, without blocking: libevent's resolver (DNS and /etc/hosts) behind a cache. Addresses are
 * kept for dns_max_ttl, failures for dns_nxdomain_ttl. One a worker; of its thread. */
#ifndef LK_NET_RESOLVE_H
#define LK_NET_RESOLVE_H

#include <event2/event.h>

#include "admin/show.h"
#include "base/list.h"
#include "net/mailbox.h"

#define LK_RESOLVE_ADDRESSES 8

struct lk_resolver;

struct lk_addresses {
    size_t count;                                /* 0: failed */
    const char *why;                             /* then: the reason, a constant */
    union lk_address list[LK_RESOLVE_ADDRESSES]; /* their ports are not set */
};

/* One who waits for a name. On its way from lk_resolve until `answer` is called or lk_resolve_cancel. */
struct lk_asker {
    struct lk_node node;
    struct lk_list *queue; /* the resolver's: where it waits */
    void *context;
    void (*answer)(void *context, const struct lk_addresses *found); /* from the event loop */
};

/* resolv_conf: the file to read; NULL or "": /etc/resolv.conf. */
struct lk_resolver *lk_resolver_new(struct event_base *base, const char *resolv_conf);
/* Nobody may be waiting any more. */
void lk_resolver_free(struct lk_resolver *r);
/* How long answers are good for (RELOAD). */
void lk_resolver_keep(struct lk_resolver *r, int64_t good_us, int64_t bad_us);
/* True: *found is the answer. False: the asker's answer will be called. A numeric address is answered at once. */
bool lk_resolve(
    struct lk_resolver *r, const char *name, int64_t now_us, struct lk_asker *asker, struct lk_addresses *found);
/* Every name that is kept (struct lk_show_hosts). */
void lk_resolver_each(
    void *resolver, struct lk_now now, void (*host)(void *to, const struct lk_show_host *h), void *to);
/* Also when it is not waiting. */
void lk_resolve_cancel(struct lk_asker *asker);

#endif
