#include "net/resolve.h"

#include <arpa/inet.h>
#include <event2/dns.h>
#include <event2/util.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

/* Names are those of the configuration; the cache is emptied of what has expired when it holds more. */
#define NAMES_MAX 256

struct name {
    struct lk_node node;
    struct lk_resolver *resolver;
    char *text;
    bool asking;                               /* an answer is awaited */
    struct evdns_getaddrinfo_request *request; /* NULL: none, or answered while it was being made */
    int64_t good_until_us;
    struct lk_addresses found;
    struct lk_list askers;
};

struct lk_resolver {
    struct event_base *base;
    struct evdns_base *dns; /* made when the first name is looked up */
    char *resolv_conf;
    int64_t good_us, bad_us;
    struct lk_list names;
};

struct lk_resolver *
lk_resolver_new(struct event_base *base, const char *resolv_conf)
{
    struct lk_resolver *r = LK_NEW(struct lk_resolver);
    r->base = base;
    r->resolv_conf = lk_mem_dup(resolv_conf && resolv_conf[0] ? resolv_conf : "/etc/resolv.conf");
    r->good_us = r->bad_us = 15 * LK_SECOND_US;
    lk_list_init(&r->names);
    return r;
}

static void
free_name(struct lk_resolver *r, struct name *n)
{
    lk_list_remove(&r->names, &n->node);
    free(n->text);
    free(n);
}

void
lk_resolver_free(struct lk_resolver *r)
{
    if (!r)
        return;
    LK_LIST_EACH (&r->names, struct name, node, n) {
        if (n->request)
            evdns_getaddrinfo_cancel(n->request);
    }
    if (r->dns) {
        evdns_base_free(r->dns, 1);
        /* Cancelled requests call back from the loop, and free themselves then. */
        (void)event_base_loop(r->base, EVLOOP_NONBLOCK);
    }
    LK_LIST_EACH (&r->names, struct name, node, n) {
        free_name(r, n);
    }
    free(r->resolv_conf);
    free(r);
}

void
lk_resolver_keep(struct lk_resolver *r, int64_t good_us, int64_t bad_us)
{
    r->good_us = good_us;
    r->bad_us = bad_us;
}

static void
add_address(struct lk_addresses *a, const struct sockaddr *sa)
{
    if (a->count == LK_RESOLVE_ADDRESSES)
        return;
    union lk_address *to = &a->list[a->count];
    if (sa->sa_family == AF_INET)
        memcpy(&to->v4, sa, sizeof(to->v4));
    else if (sa->sa_family == AF_INET6)
        memcpy(&to->v6, sa, sizeof(to->v6));
    else
        return;
    a->count++;
}

static void
on_answer(int result, struct evutil_addrinfo *res, void *arg)
{
    struct name *n = arg;
    n->request = NULL;
    n->asking = false;
    if (result == EVUTIL_EAI_CANCEL)
        return;
    n->found = (struct lk_addresses){.why = result ? evutil_gai_strerror(result) : "no address"};
    for (struct evutil_addrinfo *a = res; a; a = a->ai_next)
        add_address(&n->found, a->ai_addr);
    if (res)
        evutil_freeaddrinfo(res);
    struct lk_resolver *r = n->resolver;
    n->good_until_us = lk_clock_read().mono_us + (n->found.count ? r->good_us : r->bad_us);
    struct lk_node *node;
    while ((node = lk_list_first(&n->askers)) != NULL) {
        struct lk_asker *asker = LK_LIST_ITEM(node, struct lk_asker, node);
        lk_list_remove(&n->askers, node);
        asker->answer(asker->context, &n->found);
    }
}

static bool
numeric(const char *text, struct lk_addresses *found)
{
    *found = (struct lk_addresses){0};
    union lk_address *a = &found->list[0];
    if (inet_pton(AF_INET, text, &a->v4.sin_addr) == 1)
        a->any.sa_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &a->v6.sin6_addr) == 1)
        a->any.sa_family = AF_INET6;
    else
        return false;
    found->count = 1;
    return true;
}

static struct name *
name_of(struct lk_resolver *r, const char *text, int64_t now_us)
{
    LK_LIST_EACH (&r->names, struct name, node, n) {
        if (strcmp(n->text, text) == 0)
            return n;
        if (r->names.count > NAMES_MAX && !n->asking && n->good_until_us <= now_us)
            free_name(r, n);
    }
    struct name *made = LK_NEW(struct name);
    made->resolver = r;
    made->text = lk_mem_dup(text);
    lk_list_init(&made->askers);
    lk_list_push(&r->names, &made->node);
    return made;
}

static bool
open_dns(struct lk_resolver *r)
{
    if (r->dns)
        return true;
    r->dns = evdns_base_new(r->base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    if (!r->dns)
        return false;
    if (evdns_base_resolv_conf_parse(r->dns, DNS_OPTIONS_ALL, r->resolv_conf) != 0)
        lk_log(LK_LOG_WARNING, "%s gives no name servers; names are looked up in /etc/hosts and on 127.0.0.1",
            r->resolv_conf);
    return true;
}

bool
lk_resolve(struct lk_resolver *r, const char *text, int64_t now_us, struct lk_asker *asker, struct lk_addresses *found)
{
    if (numeric(text, found))
        return true;
    struct name *n = name_of(r, text, now_us);
    if (!n->asking && n->good_until_us <= now_us) {
        if (!open_dns(r)) {
            *found = (struct lk_addresses){.why = "no resolver"};
            return true;
        }
        struct evutil_addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
        n->asking = true;
        struct evdns_getaddrinfo_request *request = evdns_getaddrinfo(r->dns, text, NULL, &hints, on_answer, n);
        /* A name of /etc/hosts has been answered by now, and the request is gone. */
        n->request = n->asking ? request : NULL;
    }
    if (n->asking) {
        asker->queue = &n->askers;
        lk_list_push(&n->askers, &asker->node);
        return false;
    }
    *found = n->found;
    return true;
}

void
lk_resolve_cancel(struct lk_asker *asker)
{
    if (lk_node_on_list(&asker->node))
        lk_list_remove(asker->queue, &asker->node);
}

static void
print_addresses(const struct lk_addresses *a, char *out, size_t room)
{
    size_t used = 0;
    *out = '\0';
    for (size_t i = 0; i < a->count; i++) {
        const union lk_address *at = &a->list[i];
        const void *bytes = at->any.sa_family == AF_INET ? (const void *)&at->v4.sin_addr : &at->v6.sin6_addr;
        if (i > 0 && used + 1 < room)
            out[used++] = ',';
        if (!inet_ntop(at->any.sa_family, bytes, out + used, (socklen_t)(room - used)))
            break;
        used += strlen(out + used);
    }
}

void
lk_resolver_each(void *resolver, struct lk_now now, void (*host)(void *to, const struct lk_show_host *h), void *to)
{
    struct lk_resolver *r = resolver;
    LK_LIST_EACH (&r->names, struct name, node, n) {
        char addresses[LK_RESOLVE_ADDRESSES * (INET6_ADDRSTRLEN + 1)];
        int64_t left_us = n->good_until_us - now.mono_us;
        print_addresses(&n->found, addresses, sizeof(addresses));
        host(to, &(struct lk_show_host){n->text, n->asking, left_us > 0 ? left_us : 0, addresses});
    }
}
