/* A console command that concerns all workers, or the main thread: made by the asking client's worker, carried out by
 * each worker in its own thread, answered by the asker's worker.
 *
 * The way of a request: lk_console_query makes it and hands it to host->broadcast (or host->reload). Every worker, the
 * asker's too, calls lk_request_run in its own thread, on each tick again while it returns false; once it has returned
 * true the worker calls lk_request_leave, and the one to which that says true mails the request to the worker `asker`,
 * which calls lk_request_finish. What the main thread asks (asker LK_REQUEST_OF_MAIN) is mailed to its mailbox instead, and
 * answered there (net/ask.h). A RELOAD goes to the main thread only, which sets `error` and `warnings` and mails it
 * back.
 *
 * Until then nothing but `parts[own worker]` is written by a worker. The shell carries out the core's effects after run
 * and finish, as after any step. */
#ifndef LK_ADMIN_REQUEST_H
#define LK_ADMIN_REQUEST_H

#include <stdatomic.h>

#include "admin/metrics.h"

struct lk_console_host;

#define LK_REQUEST_TELL_US (5 * LK_SECOND_US)

enum lk_request_kind {
    LK_REQUEST_SHOW,
    LK_REQUEST_PAUSE,
    LK_REQUEST_RESUME,
    LK_REQUEST_KILL,
    LK_REQUEST_RECONNECT,
    LK_REQUEST_WAIT_CLOSE,
    LK_REQUEST_SUSPEND,
    LK_REQUEST_STOPPING, /* tells whom a shutdown waits for; is never answered, since the process ends */
    LK_REQUEST_DISABLE,
    LK_REQUEST_ENABLE,
    LK_REQUEST_KILL_CLIENT,
    LK_REQUEST_SET, /* goes the way of a RELOAD */
    LK_REQUEST_RELOAD,
    LK_REQUEST_STATE,   /* of the main thread: whether workers turn, and what they are at */
    LK_REQUEST_METRICS, /* of the main thread: the same with all figures */
};

/* In place of a worker's number. */
#define LK_REQUEST_OF_MAIN UINT32_MAX

/* One worker's part of it. */
struct lk_request_part {
    bool begun;
    bool known;            /* there is such a database, or such a client */
    struct lk_error refused; /* why it can't be done now; SQLSTATE empty: it can */
    bool silent;           /* SUSPEND: written by the shell before each run: its connections are silent */
    bool undone;           /* PAUSE: somebody resumed before all servers were idle */
    struct lk_buf told;    /* whom it waits for, as last told */
    int64_t told_us;
    struct lk_table table; /* SHOW */
    const struct lk_show_hosts *hosts; /* SHOW: written by the shell before the run; NULL: none */
    enum lk_core_mode mode;     /* STATE and METRICS */
    struct lk_metrics *metrics; /* METRICS; owned */
};

struct lk_request {
    enum lk_request_kind kind;
    const struct lk_view *view; /* SHOW */
    char *database;             /* owned; NULL: all */
    uint64_t target;            /* KILL_CLIENT: the client's id */
    char *setting, *value;      /* SET; owned */
    uint32_t asker;             /* number of the worker of the client that asked */
    uint64_t client_id;         /* that client, which may be gone when the answer comes */
    uint32_t workers;
    atomic_uint outstanding;        /* workers that have not left */
    char *error;                    /* RELOAD, SET: what is wrong, lines; NULL: done. Owned, by free() */
    char *warnings;                 /* RELOAD, SET: lines, or NULL. Owned, by free() */
    struct lk_request_part parts[]; /* by worker */
};

/* `database` is taken over. */
struct lk_request *lk_request_new(
    enum lk_request_kind kind, char *database, uint32_t asker, uint64_t client_id, uint32_t workers);
void lk_request_free(struct lk_request *r);

/* Does the core's part. False: not finished; call it again at the next tick. */
bool lk_request_run(struct lk_request *r, struct lk_core *core, struct lk_now now);
/* After a run that was not the last: lines that the client that asked is to be told now, about whom it waits for. At once
 * if there is something to say, later when that has changed, at most every LK_REQUEST_TELL_US. NULL: nothing. The caller's,
 * by free(); to be mailed to the asker, which calls lk_request_tell. */
char *lk_request_news(struct lk_request *r, const struct lk_core *core, struct lk_now now);
/* In the asker's worker: NOTICEs for that client, if it is still there. */
void lk_request_tell(struct lk_core *core, uint64_t client_id, const char *lines);
/* Once after run returned true. True: all other workers have left; the caller mails r to r->asker. */
bool lk_request_leave(struct lk_request *r);
/* STATE and METRICS, after the last has left: did every worker take part? */
bool lk_request_whole(const struct lk_request *r);
/* The same: does some worker hold queries back? */
bool lk_request_paused(const struct lk_request *r);
/* In the asker's worker: answers the client if it is still there, and frees r. */
void lk_request_finish(const struct lk_console_host *host, struct lk_core *core, struct lk_request *r);

#endif
