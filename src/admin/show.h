/* The views behind SHOW: which columns, and how a worker fills the rows from its core. Names, types and order of the
 * columns are PgBouncer 1.25's; Lockkeeper's own columns stand behind. Pure: rows are a function of what is handed in.
 */
#ifndef LK_ADMIN_SHOW_H
#define LK_ADMIN_SHOW_H

#include "admin/table.h"
#include "journal/journal.h"
#include "session/core.h"

/* A name of a host that the shell has looked up. */
struct lk_show_host {
    const char *name;
    bool asking;           /* an answer is awaited */
    int64_t left_us;       /* how long the last answer is still good; 0: no longer */
    const char *addresses; /* "10.0.0.1,fe80::1"; empty: none was found */
};

/* Where the names of a worker are: `each` calls `host` for every one. */
struct lk_show_hosts {
    void *context;
    void (*each)(void *context, struct lk_now now, void (*host)(void *to, const struct lk_show_host *h), void *to);
};

/* What a view may look at. */
struct lk_show {
    const struct lk_core *core;
    struct lk_journal *journal; /* NULL: none */
    const struct lk_show_hosts *hosts; /* NULL: none */
    struct lk_now now;
};

struct lk_view {
    const char *name;                /* "CLIENTS" */
    const struct lk_column *columns; /* of the answer */
    size_t column_count;
    bool everywhere; /* rows of all workers; else the asker's alone, which knows it all */
    bool sorted;
    /* Appends rows. */
    void (*collect)(struct lk_table *t, const struct lk_show *from);
    /* What is collected when that differs from the answer; NULL columns: it doesn't. */
    const struct lk_column *raw_columns;
    size_t raw_count;
    /* Makes the answer from the merged rows; NULL: they are the answer. */
    void (*finish)(struct lk_table *answer, const struct lk_table *merged);
};

/* By name in any case; NULL: no such view. */
const struct lk_view *lk_view_find(struct lk_span name);
/* One worker's rows; *t is initialised here. */
void lk_view_collect(const struct lk_view *v, struct lk_table *t, const struct lk_show *from);
/* The answer from the tables of all workers, in their order; *answer is initialised here. */
void lk_view_answer(
    const struct lk_view *v, struct lk_table *answer, const struct lk_table *const *tables, size_t count);
/* The names of all views joined by '|', for SHOW HELP. */
void lk_view_names(struct lk_buf *out);

#endif
