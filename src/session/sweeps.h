/* Sweeps: one look at pg_locks for each server (host, port), which shows the advisory locks of all its backends, ours and
 * others'. It is an errand on any idle backend there; when none could be spared for three intervals, on a connection of its
 * own, closed afterwards. What it finds on a backend that should hold nothing makes that backend unsure, and so does a pin of
 * which it sees nothing; the probe that follows tells. It feeds the views, and the records of long waits. */
#ifndef LK_SESSION_SWEEPS_H
#define LK_SESSION_SWEEPS_H

#include "session/core.h"
#include "session/errand.h"

/* Rows kept of one sweep, those that wait first. */
#define LK_SWEEP_ROWS 20000u

struct lk_sweep_row {
    uint32_t pid; /* 0: a prepared transaction */
    bool granted;
    enum lk_lock_mode mode;
    struct lk_key key;
    int64_t waited_us;  /* when the sweep was made; -1: granted, or not known */
    char database[64];
};

struct lk_sweep {
    struct lk_errand errand; /* first */
    struct lk_sweep *next;   /* in core->sweeps */
    char *host;              /* owned */
    int port;
    uint32_t pools;          /* of that server; without one it goes, once its errand has ended */
    struct lk_sweep_row *rows;    /* owned; of the last one */
    uint32_t count, room;
    struct lk_sweep_row *reading; /* owned; of the one under way */
    uint32_t reading_count;
    uint64_t made_by;   /* id of the pool's server that the last or running one was sent on; 0: none of them */
    int64_t began_us;   /* of the last or running one */
    int64_t done_us;    /* of the last; 0: none yet */
    int64_t due_us;
    bool old_server;    /* without pg_locks.waitstart (before 14) */
    uint64_t made;      /* how many succeeded */
};

/* Makes what is due. */
void lk_sweeps_tick(struct lk_core *core);
/* The pool is made, or goes to another server. */
void lk_sweeps_join(struct lk_core *core, struct lk_pool *pool);
/* The pool goes; what is known of a server that no pool is of goes too. */
void lk_sweeps_leave(struct lk_core *core, struct lk_pool *pool);
void lk_sweeps_free(struct lk_core *core);

/* Our server that this row is of; NULL: none of ours. */
struct lk_server *lk_sweep_server(const struct lk_core *core, const struct lk_sweep *sw, uint32_t pid);
/* A granted row that stands in the way of this waiting one; NULL: none is seen. */
const struct lk_sweep_row *lk_sweep_holder(const struct lk_sweep *sw, const struct lk_sweep_row *waiter);

#endif
