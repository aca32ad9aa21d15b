/* The main thread: starts the workers, accepts clients and hands them over, takes signals, reloads the settings, and
 * ends the process. It holds no session; what it wants of a worker goes through the worker's mailbox, and theirs
 * through its own. */
#ifndef LK_NET_MASTER_H
#define LK_NET_MASTER_H

#include "net/acceptor.h"
#include "net/ask.h"
#include "net/worker.h"

/* From the command line. */
struct lk_start {
    const char *ini;
    const char *user; /* -u; NULL: the setting */
    bool daemon, quiet;
    int verbose;
};

#define LK_MASTER_SIGNALS 6

struct lk_master {
    const struct lk_start *start;
    struct lk_settings *settings; /* a reference */
    struct lk_tls *tls;           /* a reference: what belongs to the settings */
    struct lk_shared shared;
    struct lk_journal *journal;
    struct lk_console_host host;
    struct lk_mailbox mailbox;
    struct event_base *base;
    struct event mail_event, signal_events[LK_MASTER_SIGNALS];
    struct lk_acceptor acceptor;
    struct lk_asks asks;
    struct evhttp *http;          /* owned; NULL: no metrics */
    struct event watchdog_event;
    bool watched;                 /* systemd wants the watchdog */
    struct lk_worker **workers; /* owned */
    uint32_t worker_count, running;
    bool stopping; /* a stop was asked for: the next one ends at once */
};

/* Where the answer to a request goes. From any thread. */
struct lk_mailbox *lk_master_asker(struct lk_master *m, const struct lk_request *r);
/* Runs the daemon until it is told to end; the process's exit code. */
int lk_master_run(const struct lk_start *start);
/* `lockkeeper check`: prints every mistake and warning of the configuration; the process's exit code. */
int lk_master_check(const char *ini);

#endif
