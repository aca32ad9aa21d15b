/* The listening sockets: TCP for each address of listen_addr, a unix socket in unix_socket_dir. If systemd hands
 * over sockets (sd_listen_fds(3)) these are used instead. */
#ifndef LK_NET_ACCEPTOR_H
#define LK_NET_ACCEPTOR_H

#include <event2/event.h>
#include <event2/event_struct.h>

#include "config/settings.h"
#include "net/mailbox.h"

#define LK_ACCEPTOR_SOCKETS 32
/* For how long nothing is accepted when descriptors have run out. */
#define LK_ACCEPTOR_REST_US 100000

struct lk_acceptor;

struct lk_listener {
    struct lk_acceptor *acceptor;
    int fd;
    struct event event;
    bool unix_socket;
    char path[108]; /* the unix socket's file; empty: none */
};

struct lk_acceptor {
    struct lk_listener listeners[LK_ACCEPTOR_SOCKETS];
    size_t count;
    struct event_base *base; /* NULL: not accepting */
    struct event rest_event;
    int64_t complained_us;
    void *context;
    /* A client's connection, which is taken over. False: it could not be, and accepting rests a while. */
    bool (*accepted)(void *context, const struct lk_message *client);
};

/* Opens the sockets; false: what failed is logged. */
bool lk_acceptor_open(struct lk_acceptor *a, const struct lk_settings *s);
/* Begins to accept. */
void lk_acceptor_run(struct lk_acceptor *a, struct event_base *base,
    bool (*accepted)(void *context, const struct lk_message *client), void *context);
/* RELOAD: options of TCP sockets. */
void lk_acceptor_tune(struct lk_acceptor *a, const struct lk_settings *s);
/* Closes all and removes the unix socket's file. May be called twice. */
void lk_acceptor_close(struct lk_acceptor *a);

#endif
