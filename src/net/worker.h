/* A worker: a thread with an event loop, a core, and everything that its clients and servers need. Workers share
 * nothing that a query touches; what must reach one comes by its mailbox. */
#ifndef LK_NET_WORKER_H
#define LK_NET_WORKER_H

#include "admin/console.h"
#include "net/conn.h"
#include "net/mailbox.h"
#include "session/core.h"

struct lk_resolver;
struct lk_tls;
struct lk_master;

#define LK_WORKER_STACK_BYTES ((size_t)16 << 20)
#define LK_WORKER_TICK_US 100000

struct lk_worker {
    struct lk_master *master; /* only its mailbox, host and journal are used */
    uint32_t number;
    pthread_t thread;
    bool started;
    struct lk_mailbox mailbox;
    atomic_int clients; /* counted up by the main thread as it hands them over */

    /* from here on the thread's own */
    struct event_base *base;
    struct event mail_event, tick_event;
    struct lk_core *core;
    struct lk_settings *settings; /* a reference */
    struct lk_tls *tls;           /* a reference: what belongs to the settings */
    struct lk_resolver *resolver;
    struct lk_show_hosts hosts; /* the resolver's, for the console */
    struct lk_journal *journal;
    const struct lk_console_host *host;
    struct lk_now now;                         /* of the callback under way */
    uint64_t turn;                             /* counts callbacks */
    struct lk_conn *source;                    /* whose input is being processed */
    struct lk_list conns, deaf, closing, dead; /* struct lk_conn.node */
    struct lk_list todo;                       /* struct lk_conn.todo_node */
    struct lk_list requests;                   /* of the console, that take longer */
    int64_t suspended_us;                      /* since when SUSPEND holds; 0: it doesn't */
    bool stopping;                             /* ends when the core says so */
    bool ending;                               /* the core is shut down; last bytes leave */
    int64_t ending_us;                         /* since when */
    uint8_t input[LK_CONN_HEAD_ROOM + LK_CONN_READ_BYTES];
};

struct lk_worker *lk_worker_new(struct lk_master *master, uint32_t number);
/* Starts its thread. False: why is logged. */
bool lk_worker_start(struct lk_worker *w, struct lk_shared *shared, struct lk_settings *settings, struct lk_tls *tls);
/* Waits for the thread's end. */
void lk_worker_join(struct lk_worker *w);
/* After the threads of all workers have ended. */
void lk_worker_free(struct lk_worker *w);
/* The start of a callback: reads the clock. */
void lk_worker_wake(struct lk_worker *w);

#endif
