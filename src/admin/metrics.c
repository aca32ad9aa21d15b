#include "admin/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "admin/views.h"
#include "base/version.h"
#include "journal/utf8.h"
#include "session/sweeps.h"

/* A family with a sample for each row of a table. */
struct family {
    const char *name, *help;
    const char *column;
    bool microseconds; /* in the table; written in seconds */
};

static const struct family pool_gauges[] = {
    {"pools_client_active", "Clients that are linked to a server or need none.", "cl_active", false},
    {"pools_client_waiting", "Clients that wait for a server.", "cl_waiting", false},
    {"pools_client_active_cancel", "Cancel requests of clients that are under way.", "cl_active_cancel_req", false},
    {"pools_server_active", "Servers that are linked to a client.", "sv_active", false},
    {"pools_server_active_cancel", "Connections that carry a cancel request to a server.", "sv_active_cancel", false},
    {"pools_server_being_canceled", "Servers that wait for a cancel request to end.", "sv_being_canceled", false},
    {"pools_server_idle", "Servers that are free for a client.", "sv_idle", false},
    {"pools_server_tested", "Servers that are being reset.", "sv_tested", false},
    {"pools_server_login", "Servers that are being connected to.", "sv_login", false},
    {"pools_maxwait_seconds", "How long the first waiting client has waited.", "maxwait_us", true},
    {"advisory_pinned_backends", "Servers that stay with their client for its advisory locks.", "sv_pinned", false},
};

static const struct family stats_counters[] = {
    {"stats_server_assignments_total", "Times that a server was given to a client.", "total_server_assignment_count",
        false},
    {"stats_transactions_total", "Transactions.", "total_xact_count", false},
    {"stats_queries_total", "Queries.", "total_query_count", false},
    {"stats_received_bytes_total", "Bytes that came from clients.", "total_received", false},
    {"stats_sent_bytes_total", "Bytes that went to clients.", "total_sent", false},
    {"stats_transaction_seconds_total", "Time spent in transactions.", "total_xact_time", true},
    {"stats_query_seconds_total", "Time spent in queries.", "total_query_time", true},
    {"stats_wait_seconds_total", "Time that clients waited for a server.", "total_wait_time", true},
    {"stats_client_parses_total", "Prepared statements that clients made.", "total_client_parse_count", false},
    {"stats_server_parses_total", "Prepared statements that were made on servers.", "total_server_parse_count", false},
    {"stats_binds_total", "Times that a prepared statement was bound.", "total_bind_count", false},
};

static const struct family lock_counters[] = {
    {"advisory_leaks_total", "Session locks that were left on a server by their client.", "leaks", false},
    {"advisory_hidden_total", "Session locks that no statement's text showed.", "hidden", false},
    {"advisory_lost_total", "Session locks that went away with their server.", "lost", false},
    {"advisory_probes_total", "Times that a server was asked for its locks.", "probes", false},
    {"advisory_probes_skipped_total", "Probes that were left out to spare the server.", "probes_skipped", false},
    {"advisory_resets_total", "Times that a server's session locks were freed before it went to another client.",
        "resets", false},
    {"advisory_rejected_total", "Lock calls that the policy, or a limit, refused.", "rejected", false},
    {"advisory_released_total", "Session locks that policy release freed at the end of a transaction.", "released", false},
    {"advisory_observed_total", "Session locks that policy observe left on a server.", "observed", false},
    {"advisory_rewritten_total", "Session locks that policy rewrite shortened to their transaction.", "rewritten", false},
    {"advisory_unlock_failed_total", "Unlocks of what was not held.", "unlock_failed", false},
};

static const struct family lock_gauges[] = {
    {"advisory_waiting", "Servers with a lock call that waits, or has not been answered yet.", "waiting", false},
    {"advisory_held", "Session locks that servers hold for clients.", "held", false},
};

/* By server, as sweeps are. */
static const struct family sweep_counters[] = {
    {"advisory_sweeps_total", "Times that pg_locks was looked at for the whole server.", "sweeps", false},
};

static const struct lk_column sweep_columns[] = {
    {"server", LK_COLUMN_TEXT, LK_MERGE_KEY},
    {"sweeps", LK_COLUMN_INT8, LK_MERGE_ADD},
};

static const struct lk_column lock_columns[] = {
    {"database", LK_COLUMN_TEXT, LK_MERGE_KEY},
    {"user", LK_COLUMN_TEXT, LK_MERGE_KEY},
    {"leaks", LK_COLUMN_INT8, LK_MERGE_ADD},
    {"hidden", LK_COLUMN_INT8, LK_MERGE_ADD},
    {"lost", LK_COLUMN_INT8, LK_MERGE_ADD},
    {"probes", LK_COLUMN_INT8, LK_MERGE_ADD},
    {"probes_skipped", LK_COLUMN_INT8, LK_MERGE_ADD},
    {"resets", LK_COLUMN_INT8, LK_MERGE_ADD},
    {"rejected", LK_COLUMN_INT8, LK_MERGE_ADD},
    {"released", LK_COLUMN_INT8, LK_MERGE_ADD},
    {"observed", LK_COLUMN_INT8, LK_MERGE_ADD},
    {"rewritten", LK_COLUMN_INT8, LK_MERGE_ADD},
    {"unlock_failed", LK_COLUMN_INT8, LK_MERGE_ADD},
    {"held", LK_COLUMN_INT8, LK_MERGE_ADD},
    {"waiting", LK_COLUMN_INT8, LK_MERGE_ADD},
    {"hold_us", LK_COLUMN_INT8, LK_MERGE_ADD},
    /* holds by duration, see base/histogram.h */
    {"hold_0", LK_COLUMN_INT8, LK_MERGE_ADD},
    {"hold_1", LK_COLUMN_INT8, LK_MERGE_ADD},
    {"hold_2", LK_COLUMN_INT8, LK_MERGE_ADD},
    {"hold_3", LK_COLUMN_INT8, LK_MERGE_ADD},
    {"hold_4", LK_COLUMN_INT8, LK_MERGE_ADD},
    {"hold_5", LK_COLUMN_INT8, LK_MERGE_ADD},
    {"hold_6", LK_COLUMN_INT8, LK_MERGE_ADD},
    {"hold_7", LK_COLUMN_INT8, LK_MERGE_ADD},
    {"hold_8", LK_COLUMN_INT8, LK_MERGE_ADD},
};
/* Columns between the labels and the histogram; the last two are held and waiting. */
#define LOCK_COUNTS (LK_COUNT(lock_columns) - 2 - 1 - (LK_HISTOGRAM_BOUNDS + 1))
_Static_assert(LK_HISTOGRAM_BOUNDS == 8, "a column for each bucket");

static void
add_row(struct lk_table *t, const struct lk_pool *pool, const uint64_t *counts, const struct lk_histogram *holds)
{
    lk_table_add(t, pool->route.database);
    lk_table_add(t, pool->route.user);
    for (size_t i = 0; i < LOCK_COUNTS; i++)
        lk_table_add_uint(t, counts[i]);
    lk_table_add_uint(t, holds->sum_us);
    for (size_t i = 0; i <= LK_HISTOGRAM_BOUNDS; i++)
        lk_table_add_uint(t, holds->buckets[i]);
}

/* Rows of one pool are added up by the merge. */
static void
collect_locks(struct lk_table *t, const struct lk_core *core)
{
    lk_table_init(t, lock_columns, LK_COUNT(lock_columns));
    LK_LIST_EACH (&core->pools, struct lk_pool, node, pool) {
        const struct lk_lock_stats *l = &pool->locks;
        const uint64_t counts[LOCK_COUNTS] = {
            l->leaks, l->hidden, l->lost, l->probes, l->probes_skipped, l->resets, l->rejected,
            l->released, l->observed, l->rewritten, l->unlock_failed};
        add_row(t, pool, counts, &l->holds);
    }
    LK_LIST_EACH (&core->servers, struct lk_server, node, s) {
        bool waits = s->seat.pool && lk_show_waits(s);
        const uint64_t counts[LOCK_COUNTS] = {[LOCK_COUNTS - 2] = s->ledger.count, [LOCK_COUNTS - 1] = waits};
        if (s->seat.pool && (s->ledger.count > 0 || waits))
            add_row(t, s->seat.pool, counts, &(struct lk_histogram){0});
    }
}

static void
collect_sweeps(struct lk_table *t, const struct lk_core *core)
{
    lk_table_init(t, sweep_columns, LK_COUNT(sweep_columns));
    for (const struct lk_sweep *sw = core->sweeps; sw; sw = sw->next) {
        char server[LK_METRICS_NAME_MAX];
        (void)snprintf(server, sizeof(server), "%s:%d", sw->host, sw->port);
        lk_table_add(t, server);
        lk_table_add_uint(t, sw->made);
    }
}

void
lk_metrics_collect(struct lk_metrics *m, const struct lk_show *from)
{
    lk_view_collect(lk_view_find(lk_span_str("POOLS")), &m->tables[LK_METRICS_POOLS], from);
    lk_view_collect(lk_view_find(lk_span_str("STATS")), &m->tables[LK_METRICS_STATS], from);
    lk_view_collect(lk_view_find(lk_span_str("LISTS")), &m->tables[LK_METRICS_LISTS], from);
    collect_locks(&m->tables[LK_METRICS_LOCKS], from->core);
    collect_sweeps(&m->tables[LK_METRICS_SWEEPS], from->core);
}

void
lk_metrics_clear(struct lk_metrics *m)
{
    for (size_t i = 0; i < LK_METRICS_TABLES; i++)
        lk_table_clear(&m->tables[i]);
}

/* --- the text --- */

static void
write_head(struct lk_buf *out, const char *name, const char *type, const char *help)
{
    lk_buf_add_format(out, "# HELP lockkeeper_%s %s\n# TYPE lockkeeper_%s %s\n", name, help, name, type);
}

static void
write_one(struct lk_buf *out, const char *name, const char *type, const char *help, uint64_t value)
{
    write_head(out, name, type, help);
    lk_buf_add_format(out, "lockkeeper_%s %" PRIu64 "\n", name, value);
}

static void
write_label(struct lk_buf *out, const char *name, const char *value)
{
    struct lk_buf text = {0};
    lk_utf8_repair(lk_span_str(value ? value : ""), LK_METRICS_NAME_MAX, &text);
    lk_buf_add_format(out, "%s=\"", name);
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\n')
            lk_buf_add(out, "\\n", 2);
        else if (text.data[i] == '"' || text.data[i] == '\\')
            lk_buf_add_format(out, "\\%c", text.data[i]);
        else
            lk_buf_add_u8(out, text.data[i]);
    }
    lk_buf_add_u8(out, '"');
    out->failed = out->failed || text.failed;
    lk_buf_clear(&text);
}

/* The columns that are no figures: database, and in some tables user behind it. `bound`: a bucket's; NULL: none. */
static void
write_labels(struct lk_buf *out, const struct lk_table *t, size_t row, const char *bound)
{
    lk_buf_add_u8(out, '{');
    for (size_t c = 0; c < t->column_count && t->columns[c].merge == LK_MERGE_KEY; c++) {
        if (c > 0)
            lk_buf_add_u8(out, ',');
        write_label(out, t->columns[c].name, lk_table_cell(t, row, c));
    }
    if (bound)
        lk_buf_add_format(out, ",le=\"%s\"", bound);
    lk_buf_add(out, "} ", 2);
}

static void
write_seconds(struct lk_buf *out, uint64_t us)
{
    lk_buf_add_format(out, "%" PRIu64 ".%06" PRIu64 "\n", us / LK_SECOND_US, us % LK_SECOND_US);
}

static size_t
column_of(const struct lk_table *t, const char *name)
{
    size_t c = 0;
    while (strcmp(t->columns[c].name, name) != 0)
        c++;
    return c;
}

static size_t
rows_of(const struct lk_table *t)
{
    return t->row_count < LK_METRICS_ROWS_MAX ? t->row_count : LK_METRICS_ROWS_MAX;
}

static void
write_families(struct lk_buf *out, const struct lk_table *t, const struct family *families, size_t count,
    const char *type)
{
    for (size_t i = 0; i < count; i++) {
        const struct family *f = &families[i];
        size_t column = column_of(t, f->column);
        write_head(out, f->name, type, f->help);
        for (size_t row = 0; row < rows_of(t); row++) {
            uint64_t value = lk_table_uint(t, row, column);
            lk_buf_add_format(out, "lockkeeper_%s", f->name);
            write_labels(out, t, row, NULL);
            if (f->microseconds)
                write_seconds(out, value);
            else
                lk_buf_add_format(out, "%" PRIu64 "\n", value);
        }
    }
}

/* A histogram: its sum's column, with those of the buckets behind. */
static void
write_histogram(struct lk_buf *out, const struct lk_table *t, const char *name, const char *help, const char *sum)
{
    size_t column = column_of(t, sum);
    write_head(out, name, "histogram", help);
    for (size_t row = 0; row < rows_of(t); row++) {
        uint64_t count = 0;
        for (size_t i = 0; i <= LK_HISTOGRAM_BOUNDS; i++) {
            char bound[32] = "+Inf";
            if (i < LK_HISTOGRAM_BOUNDS)
                (void)snprintf(bound, sizeof(bound), "%g", (double)lk_histogram_bounds_us[i] / (double)LK_SECOND_US);
            count += lk_table_uint(t, row, column + 1 + i);
            lk_buf_add_format(out, "lockkeeper_%s_bucket", name);
            write_labels(out, t, row, bound);
            lk_buf_add_format(out, "%" PRIu64 "\n", count);
        }
        lk_buf_add_format(out, "lockkeeper_%s_sum", name);
        write_labels(out, t, row, NULL);
        write_seconds(out, lk_table_uint(t, row, column));
        lk_buf_add_format(out, "lockkeeper_%s_count", name);
        write_labels(out, t, row, NULL);
        lk_buf_add_format(out, "%" PRIu64 "\n", count);
    }
}

static uint64_t
item_of(const struct lk_table *lists, const char *name)
{
    for (size_t row = 0; row < lists->row_count; row++)
        if (strcmp(lk_table_cell(lists, row, 0), name) == 0)
            return lk_table_uint(lists, row, 1);
    return 0;
}

static void
write_process(struct lk_buf *out, const struct lk_metrics *all, const struct lk_metrics_process *process)
{
    const struct lk_table *lists = &all->tables[LK_METRICS_LISTS];
    uint64_t omitted = 0;
    for (size_t i = 0; i < LK_METRICS_TABLES; i++)
        omitted += all->tables[i].row_count - rows_of(&all->tables[i]);
    write_one(out, "up", "gauge", "1: this process answers.", 1);
    write_head(out, "build_info", "gauge", "The version, as a label.");
    lk_buf_add_format(out, "lockkeeper_build_info{version=\"%s\"} 1\n", LK_VERSION);
    write_one(out, "paused", "gauge", "1: PAUSE, or a shutdown that waits for servers, holds back new queries.",
        process->paused);
    write_one(out, "clients", "gauge", "Connections of clients, those that log in and those of the console included.",
        item_of(lists, "used_clients"));
    write_one(out, "login_clients", "gauge", "Clients that have not logged in yet.", item_of(lists, "login_clients"));
    write_one(out, "servers", "gauge", "Connections to servers.", item_of(lists, "used_servers"));
    write_one(out, "config_max_client_conn", "gauge", "The setting max_client_conn.",
        (uint64_t)process->max_client_conn);
    write_one(out, "advisory_records_dropped_total", "counter", "Records that the leak log could not take.",
        process->records_dropped);
    write_one(out, "metrics_omitted_rows", "gauge", "Pools and databases that are left out here, there being too many.",
        omitted);
}

void
lk_metrics_write(struct lk_buf *out, const struct lk_metrics *const *parts, size_t count,
    const struct lk_metrics_process *process)
{
    struct lk_metrics all;
    const struct lk_table **tables = lk_mem_new(count * sizeof *tables);
    for (size_t i = 0; i < LK_METRICS_TABLES; i++) {
        const struct lk_table *first = &parts[0]->tables[i];
        lk_table_init(&all.tables[i], first->columns, first->column_count);
        for (size_t p = 0; p < count; p++)
            tables[p] = &parts[p]->tables[i];
        lk_table_merge(&all.tables[i], tables, count);
    }
    free(tables);
    write_process(out, &all, process);
    write_families(out, &all.tables[LK_METRICS_POOLS], pool_gauges, LK_COUNT(pool_gauges), "gauge");
    write_families(out, &all.tables[LK_METRICS_STATS], stats_counters, LK_COUNT(stats_counters), "counter");
    write_families(out, &all.tables[LK_METRICS_LOCKS], lock_counters, LK_COUNT(lock_counters), "counter");
    write_families(out, &all.tables[LK_METRICS_LOCKS], lock_gauges, LK_COUNT(lock_gauges), "gauge");
    write_histogram(out, &all.tables[LK_METRICS_LOCKS], "advisory_hold_seconds",
        "How long session locks were held, of those that are held no more.", "hold_us");
    write_families(out, &all.tables[LK_METRICS_SWEEPS], sweep_counters, LK_COUNT(sweep_counters), "counter");
    lk_metrics_clear(&all);
}
