/* Errands: queries of our own on a pool's backends, one at a time on each, while no client has it. An errand's owner embeds
 * struct lk_errand and is called back with rows and an end. It needs no second login and never blocks.
 *
 * Whatever a client left behind on the backend, an errand runs without SET ROLE and, if it is the operator's query, with the
 * search_path that the login has by itself, temporary tables last; else with pg_catalog alone. All in one implicit
 * transaction. */
#ifndef LK_SESSION_ERRAND_H
#define LK_SESSION_ERRAND_H

#include "session/core.h"

struct lk_errand;

struct lk_errand_kind {
    const char *name; /* for log lines */
    bool queues;      /* waits for a backend, and may have one opened; else it takes an idle one that nobody waits for, or none */
    bool resets;      /* the query is the operator's and may do anything: the backend is cleaned after it */
    /* A DataRow's body. */
    void (*row)(struct lk_core *core, struct lk_errand *e, struct lk_span body);
    /* The errand has ended and is its owner's again; `why` is NULL when it succeeded. An error before its first row came from
     * the backend (its SQLSTATE), or is 08006 (no backend could be had, or it went away). */
    void (*done)(struct lk_core *core, struct lk_errand *e, const struct lk_error *why);
};

/* Zeroed: at rest. */
struct lk_errand {
    const struct lk_errand_kind *kind;
    struct lk_waiter place;    /* in its pool's errands, while it waits */
    struct lk_pool *pool;      /* NULL: at rest */
    struct lk_server *server;  /* while it runs */
    const char *text;          /* the owner's, until done */
    struct lk_span params[3];  /* text values, the owner's, until done */
    uint16_t param_count;
    int64_t deadline_us;       /* of core->now.mono_us: later it fails */
};

/* A backend that an errand which doesn't queue may have: idle, and nobody waits for one. It is taken as it is, without the check
 * that one which idled for long gets before it is lent: a query is as good. NULL: none. */
struct lk_server *lk_errand_spare(struct lk_core *core, struct lk_pool *pool);
/* Starts it in that pool, or lets it wait; kind, text, params and deadline are set before. False: it doesn't wait, and no
 * backend is free (done is not called). done may be called before this returns. */
bool lk_errand_begin(struct lk_core *core, struct lk_errand *e, struct lk_pool *pool);
/* Starts it on a connection of its own, beyond the pool's limits, which is closed afterwards. */
void lk_errand_begin_extra(struct lk_core *core, struct lk_errand *e, struct lk_pool *pool);
/* The connection that was opened for its errand is ready. */
void lk_errand_start(struct lk_core *core, struct lk_server *s);
/* Runs waiting errands on what is idle in the pool. */
void lk_errand_serve(struct lk_core *core, struct lk_pool *pool);
/* Ends those that wait in the pool with this error. */
void lk_errand_fail_waiting(struct lk_core *core, struct lk_pool *pool, const struct lk_error *why);
/* Ends those of the pool that are past their deadline. */
void lk_errand_check(struct lk_core *core, struct lk_pool *pool);

/* --- of the server that runs one --- */
void lk_errand_row(struct lk_core *core, struct lk_server *s, struct lk_span body);
/* Its ReadyForQuery has come. */
void lk_errand_answered(struct lk_core *core, struct lk_server *s);
/* The server is gone. */
void lk_errand_lost(struct lk_core *core, struct lk_server *s, const char *why);

#endif
