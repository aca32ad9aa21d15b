/* What Prometheus reads: this process in the text exposition format 0.0.4. The figures are those of SHOW POOLS, SHOW
 * STATS and SHOW LISTS, made from the same rows, and the lock counters of each pool. Pure. */
#ifndef LK_ADMIN_METRICS_H
#define LK_ADMIN_METRICS_H

#include "admin/show.h"

/* Rows of one table that are written, and bytes of a name: an answer stays below some 30 MB whatever clients call
 * databases and users. How many rows were left out is told. */
#define LK_METRICS_ROWS_MAX 2000u
#define LK_METRICS_NAME_MAX 128u

enum lk_metrics_table {
    LK_METRICS_POOLS,
    LK_METRICS_STATS,
    LK_METRICS_LISTS,
    LK_METRICS_LOCKS,
    LK_METRICS_SWEEPS,
    LK_METRICS_TABLES,
};

/* One worker's rows. A zeroed one is empty. */
struct lk_metrics {
    struct lk_table tables[LK_METRICS_TABLES];
};

/* What no worker knows. */
struct lk_metrics_process {
    int max_client_conn;
    bool paused;
    uint64_t records_dropped; /* of the leak log */
};

void lk_metrics_collect(struct lk_metrics *m, const struct lk_show *from);
void lk_metrics_clear(struct lk_metrics *m);
/* The whole text from the rows of all workers; out->failed: no memory. */
void lk_metrics_write(struct lk_buf *out, const struct lk_metrics *const *parts, size_t count,
    const struct lk_metrics_process *process);

#endif
