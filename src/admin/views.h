/* What fills the views: one function a view, called by show.c only. Each appends whole rows in the order of the view's
 * columns (collect), or makes the answer's rows from the merged ones (finish). See struct lk_view. */
#ifndef LK_ADMIN_VIEWS_H
#define LK_ADMIN_VIEWS_H

#include "admin/show.h"

/* show_general.c */
void lk_show_version(struct lk_table *t, const struct lk_show *from);
void lk_show_state(struct lk_table *t, const struct lk_show *from);
void lk_show_config(struct lk_table *t, const struct lk_show *from);
void lk_show_lists(struct lk_table *t, const struct lk_show *from);
void lk_show_mem(struct lk_table *t, const struct lk_show *from);
/* Views of what there is none of. */
void lk_show_nothing(struct lk_table *t, const struct lk_show *from);

/* show_pools.c */
void lk_show_pools(struct lk_table *t, const struct lk_show *from);
void lk_show_pools_finish(struct lk_table *answer, const struct lk_table *merged);
void lk_show_databases(struct lk_table *t, const struct lk_show *from);
void lk_show_users(struct lk_table *t, const struct lk_show *from);

/* show_ends.c */
void lk_show_clients(struct lk_table *t, const struct lk_show *from);
void lk_show_servers(struct lk_table *t, const struct lk_show *from);
void lk_show_sockets(struct lk_table *t, const struct lk_show *from);
void lk_show_active_sockets(struct lk_table *t, const struct lk_show *from);

/* show_stats.c; all four from the same rows: database, counts since start, counts a second */
void lk_show_stats(struct lk_table *t, const struct lk_show *from);
void lk_show_stats_finish(struct lk_table *answer, const struct lk_table *merged);
void lk_show_stats_totals_finish(struct lk_table *answer, const struct lk_table *merged);
void lk_show_stats_averages_finish(struct lk_table *answer, const struct lk_table *merged);
void lk_show_totals_finish(struct lk_table *answer, const struct lk_table *merged);

/* show_locks.c */
void lk_show_advisory_locks(struct lk_table *t, const struct lk_show *from);
void lk_show_pins(struct lk_table *t, const struct lk_show *from);
void lk_show_lock_statements(struct lk_table *t, const struct lk_show *from);
void lk_show_lock_statements_finish(struct lk_table *answer, const struct lk_table *merged);
/* Has it a lock call that waits, or has not been answered yet? */
bool lk_show_waits(const struct lk_server *s);
void lk_show_leaks(struct lk_table *t, const struct lk_show *from);

/* show_sweeps.c */
void lk_show_foreign_locks(struct lk_table *t, const struct lk_show *from);
void lk_show_lock_waits(struct lk_table *t, const struct lk_show *from);

/* show_hosts.c */
void lk_show_dns_hosts(struct lk_table *t, const struct lk_show *from);
/* Names with the zones they are in, from which the zones are counted. */
void lk_show_zone_hosts(struct lk_table *t, const struct lk_show *from);
void lk_show_dns_zones_finish(struct lk_table *answer, const struct lk_table *merged);
void lk_show_peers(struct lk_table *t, const struct lk_show *from);
void lk_show_peer_pools(struct lk_table *t, const struct lk_show *from);
struct lk_show_host_counts {
    size_t names, zones, asking;
};
struct lk_show_host_counts lk_show_count_hosts(const struct lk_show *from);

/* cells that several views have (show_general.c) */
/* "2026-11-30 09:15:02 UTC"; NULL for 0. */
void lk_show_time(struct lk_table *t, int64_t wall_us);
/* The same with milliseconds. */
void lk_show_time_ms(struct lk_table *t, int64_t wall_us);
const char *lk_show_pool_mode(int mode);
/* A set of enum lk_pin: "transaction,locks"; empty for none. */
void lk_show_pin_names(struct lk_table *t, unsigned pins);
/* A client that has logged in, on the console too. */
bool lk_show_logged_in(const struct lk_client *c);

#endif
