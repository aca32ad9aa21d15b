#include "net/dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/apply.h"
#include "net/resolve.h"
#include "net/socket.h"

struct lk_dial {
    struct lk_asker asker;
    struct lk_addresses addresses;
    size_t next; /* of addresses: to be tried */
    int port;
    bool unix_socket;
    bool waiting; /* conn->event waits for the connect */
};

static void try_next(struct lk_conn *c);

static void
failed(struct lk_conn *c, const char *why)
{
    c->why = NULL;
    lk_conn_todo(c, LK_TODO_LOST, why);
}

static void
stop_waiting(struct lk_conn *c)
{
    if (c->dial->waiting)
        (void)event_del(&c->event);
    c->dial->waiting = false;
}

static void
on_connected(evutil_socket_t fd, short what, void *arg)
{
    struct lk_conn *c = arg;
    struct lk_worker *w = c->worker;
    lk_worker_wake(w);
    stop_waiting(c);
    int error = 0;
    socklen_t n = sizeof(error);
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) != 0)
        error = errno;
    if (error == 0) {
        lk_conn_todo(c, LK_TODO_OPENED, NULL);
    } else {
        c->why = strerrordesc_np(error);
        try_next(c);
    }
    lk_apply_finish(w);
}

/* Starts connecting to one address; false: it failed at once, and c->why says why. */
static bool
start(struct lk_conn *c, const struct sockaddr *to, socklen_t length)
{
    struct lk_worker *w = c->worker;
    if (c->fd >= 0)
        close(c->fd);
    c->fd = socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0) {
        c->why = strerrordesc_np(errno);
        return false;
    }
    if (to->sa_family != AF_UNIX)
        lk_socket_tune(c->fd, w->settings);
    if (connect(c->fd, to, length) == 0) {
        lk_conn_todo(c, LK_TODO_OPENED, NULL);
        return true;
    }
    if (errno != EINPROGRESS) {
        c->why = strerrordesc_np(errno);
        return false;
    }
    event_assign(&c->event, w->base, c->fd, EV_WRITE | EV_PERSIST, on_connected, c);
    c->dial->waiting = event_add(&c->event, NULL) == 0;
    return true;
}

static void
try_next(struct lk_conn *c)
{
    struct lk_dial *d = c->dial;
    while (d->next < d->addresses.count) {
        union lk_address *a = &d->addresses.list[d->next++];
        bool v6 = a->any.sa_family == AF_INET6;
        if (v6)
            a->v6.sin6_port = htons((uint16_t)d->port);
        else
            a->v4.sin_port = htons((uint16_t)d->port);
        if (start(c, &a->any, v6 ? sizeof(a->v6) : sizeof(a->v4)))
            return;
    }
    failed(c, c->why ? c->why : "no address");
}

static void
on_resolved(void *context, const struct lk_addresses *found)
{
    struct lk_conn *c = context;
    lk_worker_wake(c->worker);
    c->dial->addresses = *found;
    c->why = found->why;
    try_next(c);
    lk_apply_finish(c->worker);
}

static void
dial_unix(struct lk_conn *c, const char *folder)
{
    struct sockaddr_un un;
    socklen_t length = lk_socket_unix(&un, folder, c->dial->port);
    if (length == 0)
        failed(c, "path of the unix socket is too long");
    else if (!start(c, (struct sockaddr *)&un, length))
        failed(c, c->why);
}

void
lk_dial(struct lk_worker *w, struct lk_end *end, const char *host, int port)
{
    struct lk_conn *c = lk_conn_new(w, end, -1, LK_CONN_OPENING);
    struct lk_dial *d = c->dial = LK_NEW(struct lk_dial);
    d->port = port;
    if (!host || !host[0])
        host = w->settings->unix_socket_dir && w->settings->unix_socket_dir[0] ? w->settings->unix_socket_dir : "/tmp";
    d->unix_socket = host[0] == '/' || host[0] == '@';
    d->asker = (struct lk_asker){.context = c, .answer = on_resolved};
    if (d->unix_socket) {
        dial_unix(c, host);
    } else if (lk_resolve(w->resolver, host, w->now.mono_us, &d->asker, &d->addresses)) {
        c->why = d->addresses.why;
        try_next(c);
    }
}

void
lk_dial_opened(struct lk_conn *c)
{
    struct lk_worker *w = c->worker;
    struct lk_socket_names names;
    lk_socket_names(c->fd, c->dial->unix_socket, &names);
    lk_dial_free(c);
    c->why = NULL;
    lk_conn_start(c);
    struct lk_peer peer = {.addr = names.remote,
        .port = names.remote_port,
        .unix_socket = names.unix_socket,
        .uid = UINT32_MAX,
        .local_addr = names.local,
        .local_port = names.local_port};
    lk_core_opened(w->core, c->end, &peer, w->now);
    lk_apply_effects(w);
}

void
lk_dial_free(struct lk_conn *c)
{
    if (!c->dial)
        return;
    stop_waiting(c);
    lk_resolve_cancel(&c->dial->asker);
    free(c->dial);
    c->dial = NULL;
}
