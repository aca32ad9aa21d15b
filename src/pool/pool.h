/* A pool: the server connections of one (database, server user) and the clients that wait for one. First come, first
 * served. Knows seats and waiters only; what sits there is the session's. */
#ifndef LK_POOL_POOL_H
#define LK_POOL_POOL_H

#include "base/clock.h"
#include "base/histogram.h"
#include "base/list.h"
#include "lock/trust.h"
#include "pool/budget.h"
#include "pool/route.h"

enum lk_seat_list {
    LK_SEAT_NONE,
    LK_SEAT_OPENING,  /* connecting, logging in, being cleaned for the first time */
    LK_SEAT_IDLE,
    LK_SEAT_LINKED,
    LK_SEAT_CLEANING, /* let go by its client, not yet fit for another */
    LK_SEAT_LISTS,
};

struct lk_catalog;
struct lk_sweep;
struct lk_uses;

/* A server's seat; embedded in struct lk_server. */
struct lk_seat {
    struct lk_node node;
    struct lk_pool *pool;
    enum lk_seat_list list; /* written by lk_pool_move only */
    int64_t since_us;       /* on this list */
    int64_t born_us;
    bool extra;             /* beyond the pool's limits: no unit of a budget is taken for it, and no client will get it */
};

/* A waiting client; embedded in struct lk_client. */
struct lk_waiter {
    struct lk_node node;
    int64_t since_us;
};

/* What SHOW STATS counts; times in µs. */
struct lk_stats {
    uint64_t assignments, transactions, queries, received, sent, transaction_us, query_us, wait_us;
    uint64_t client_parses, server_parses, binds;
};

/* Lock counters. */
struct lk_lock_stats {
    uint64_t leaks, hidden, lost, probes, probes_skipped, resets, pins;
    uint64_t rejected, released, observed, rewritten, rewritten_lost, unlock_failed;
    struct lk_histogram holds; /* how long session locks were held */
};

struct lk_pool {
    struct lk_node node; /* in the core's list of pools */
    struct lk_route route;
    struct lk_budget_set budgets;
    struct lk_list seats[LK_SEAT_LISTS];
    struct lk_list waiters;
    struct lk_list errands; /* struct lk_waiter: our own queries that wait; they go before the clients */
    uint32_t clients;     /* logged in to it */
    bool pins_full;       /* at the last pin or unpin, pinned servers were half of it or more (session/pinned) */
    bool paused;          /* PAUSE: no server is lent or opened */
    bool serve_due;       /* a server went: its waiters are to be looked at when the step ends */
    bool welcome_known;   /* parameters of a server of this pool are known (session/params) */
    int64_t failed_us;    /* last failed login to the server; 0: none since the last good one */
    char *failure;        /* its message; owned */
    int64_t empty_since_us;    /* when its last client left; of use while it has none */
    int64_t deserted_since_us; /* when its last server left */
    bool unwanted;             /* its database is no longer in the settings */
    struct lk_trust_scope scope;
    struct lk_probe_meter meter;
    uint64_t releases;    /* after trusted statements, for sampling */
    struct lk_stats stats;       /* since start */
    struct lk_stats last_stats;  /* at the last stats_period */
    struct lk_stats average;     /* per second over the last stats_period */
    struct lk_lock_stats locks;
    struct lk_catalog *catalog;  /* the session's: of its database; NULL: none is read */
    struct lk_sweep *sweep;      /* the session's: of its server */
    struct lk_uses *uses;        /* the session's: keys of its database, shared with its other pools; NULL: none taken yet */
    void *welcome;        /* the session's: parameter values of the pool's servers */
};

/* Takes the route over. */
struct lk_pool *lk_pool_new(struct lk_route *route, struct lk_budgets *budgets, int64_t now_us);
/* All lists must be empty. */
void lk_pool_free(struct lk_pool *p, struct lk_budgets *budgets);
/* RELOAD: the new route is taken over and the budgets' limits are set. */
void lk_pool_reroute(struct lk_pool *p, struct lk_route *route, struct lk_budgets *budgets);

/* How many seats it has: connections, on their way or there. */
size_t lk_pool_seats(const struct lk_pool *p);
/* Puts a seat on another list of its pool: the only writer of seat->list. NONE takes it off. */
void lk_pool_move(struct lk_pool *p, struct lk_seat *seat, enum lk_seat_list to, int64_t now_us);
/* The idle seat to lend next (last used first; with round_robin the longest idle), or NULL. Does not move it. */
struct lk_seat *lk_pool_idle(struct lk_pool *p, bool round_robin);
void lk_pool_wait(struct lk_pool *p, struct lk_waiter *w, int64_t now_us);
void lk_pool_leave(struct lk_pool *p, struct lk_waiter *w);
void lk_pool_wait_errand(struct lk_pool *p, struct lk_waiter *w, int64_t now_us);
void lk_pool_leave_errand(struct lk_pool *p, struct lk_waiter *w);
/* The longest waiting, or NULL. */
struct lk_waiter *lk_pool_first_waiter(struct lk_pool *p);
/* Should a server be opened now, and may the reserve be used for it? Takes the budget units if so. Considers waiters
 * without a connection on its way, min_pool_size, login back-off (server_login_retry), pause. */
bool lk_pool_may_open(
    struct lk_pool *p, int64_t now_us, int64_t login_retry_us, int64_t reserve_timeout_us, enum lk_budget_kind *denied);

#endif
