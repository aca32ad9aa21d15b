#include "admin/show.h"

#include "admin/command.h"
#include "admin/views.h"

#define TEXT(name)                                                                                                     \
    {                                                                                                                  \
        name, LK_COLUMN_TEXT, LK_MERGE_KEEP                                                                            \
    }
#define INT4(name)                                                                                                     \
    {                                                                                                                  \
        name, LK_COLUMN_INT4, LK_MERGE_KEEP                                                                            \
    }
#define INT8(name)                                                                                                     \
    {                                                                                                                  \
        name, LK_COLUMN_INT8, LK_MERGE_KEEP                                                                            \
    }
#define BOOL(name)                                                                                                     \
    {                                                                                                                  \
        name, LK_COLUMN_BOOL, LK_MERGE_KEEP                                                                            \
    }
#define BYTES(name)                                                                                                    \
    {                                                                                                                  \
        name, LK_COLUMN_BYTEA, LK_MERGE_KEEP                                                                           \
    }
#define NUMERIC(name)                                                                                                  \
    {                                                                                                                  \
        name, LK_COLUMN_NUMERIC, LK_MERGE_ADD                                                                          \
    }
#define ADDED(name)                                                                                                    \
    {                                                                                                                  \
        name, LK_COLUMN_INT8, LK_MERGE_ADD                                                                             \
    }
#define KEY(name)                                                                                                      \
    {                                                                                                                  \
        name, LK_COLUMN_TEXT, LK_MERGE_KEY                                                                             \
    }
#define SUM(name)                                                                                                      \
    {                                                                                                                  \
        name, LK_COLUMN_INT4, LK_MERGE_ADD                                                                             \
    }
#define MOST(name)                                                                                                     \
    {                                                                                                                  \
        name, LK_COLUMN_INT4, LK_MERGE_MAX                                                                             \
    }

static const struct lk_column version[] = {TEXT("version")};
static const struct lk_column state[] = {TEXT("key"), TEXT("value")};
static const struct lk_column config[] = {TEXT("key"), TEXT("value"), TEXT("default"), TEXT("changeable")};
static const struct lk_column lists[] = {KEY("list"), SUM("items")};
static const struct lk_column mem[] = {KEY("name"), INT4("size"), SUM("used"), SUM("free"), SUM("memtotal")};

#define END_COLUMNS                                                                                                    \
    TEXT("type"), TEXT("user"), TEXT("database"), TEXT("replication"), TEXT("state"), TEXT("addr"), INT4("port"),      \
        TEXT("local_addr"), INT4("local_port"), TEXT("connect_time"), TEXT("request_time"), INT4("wait"),              \
        INT4("wait_us"), INT4("close_needed"), TEXT("ptr"), TEXT("link"), INT4("remote_pid"), TEXT("tls"),             \
        TEXT("application_name"), INT4("prepared_statements"), INT4("id")
static const struct lk_column clients[] = {END_COLUMNS};
static const struct lk_column servers[] = {END_COLUMNS, INT4("locks"), TEXT("pins")};
static const struct lk_column sockets[] = {
    END_COLUMNS,
    INT4("recv_pos"),
    INT4("pkt_pos"),
    INT4("pkt_remain"),
    INT4("send_pos"),
    INT4("send_remain"),
    INT4("pkt_avail"),
    INT4("send_avail"),
};
static const struct lk_column fds[] = {
    INT4("fd"),
    TEXT("task"),
    TEXT("user"),
    TEXT("database"),
    TEXT("addr"),
    INT4("port"),
    INT8("cancel"),
    INT4("link"),
    TEXT("client_encoding"),
    TEXT("std_strings"),
    TEXT("datestyle"),
    TEXT("timezone"),
    TEXT("password"),
    BYTES("scram_client_key"),
    BYTES("scram_server_key"),
};
static const struct lk_column dns_hosts[] = {KEY("hostname"), INT8("ttl"), TEXT("addrs")};
static const struct lk_column dns_zones[] = {TEXT("zonename"), INT8("serial"), INT4("count")};
static const struct lk_column zone_hosts[] = {KEY("zonename"), KEY("hostname")};
static const struct lk_column peers[] = {INT4("peer_id"), TEXT("host"), INT4("port"), INT4("pool_size")};
static const struct lk_column peer_pools[] = {
    INT4("peer_id"),
    INT4("cl_active_cancel_req"),
    INT4("cl_waiting_cancel_req"),
    INT4("sv_active_cancel"),
    INT4("sv_login"),
};

static const struct lk_column pools[] = {
    KEY("database"),
    KEY("user"),
    SUM("cl_active"),
    SUM("cl_waiting"),
    SUM("cl_active_cancel_req"),
    SUM("cl_waiting_cancel_req"),
    SUM("sv_active"),
    SUM("sv_active_cancel"),
    SUM("sv_being_canceled"),
    SUM("sv_idle"),
    SUM("sv_used"),
    SUM("sv_tested"),
    SUM("sv_login"),
    MOST("maxwait"),
    MOST("maxwait_us"),
    TEXT("pool_mode"),
    TEXT("load_balance_hosts"),
    SUM("sv_pinned"),
};
static const struct lk_column databases[] = {
    KEY("name"),
    TEXT("host"),
    INT4("port"),
    TEXT("database"),
    TEXT("force_user"),
    INT4("pool_size"),
    INT4("min_pool_size"),
    INT4("reserve_pool_size"),
    INT4("server_lifetime"),
    TEXT("pool_mode"),
    TEXT("load_balance_hosts"),
    INT4("max_connections"),
    SUM("current_connections"),
    INT4("max_client_connections"),
    SUM("current_client_connections"),
    MOST("paused"),
    MOST("disabled"),
};
static const struct lk_column users[] = {
    KEY("name"),
    TEXT("pool_size"),
    TEXT("reserve_pool_size"),
    TEXT("pool_mode"),
    INT4("max_user_connections"),
    SUM("current_connections"),
    INT4("max_user_client_connections"),
    SUM("current_client_connections"),
};

static const struct lk_column stats[] = {
    KEY("database"),
    NUMERIC("total_server_assignment_count"),
    NUMERIC("total_xact_count"),
    NUMERIC("total_query_count"),
    NUMERIC("total_received"),
    NUMERIC("total_sent"),
    NUMERIC("total_xact_time"),
    NUMERIC("total_query_time"),
    NUMERIC("total_wait_time"),
    NUMERIC("total_client_parse_count"),
    NUMERIC("total_server_parse_count"),
    NUMERIC("total_bind_count"),
    NUMERIC("avg_server_assignment_count"),
    NUMERIC("avg_xact_count"),
    NUMERIC("avg_query_count"),
    NUMERIC("avg_recv"),
    NUMERIC("avg_sent"),
    NUMERIC("avg_xact_time"),
    NUMERIC("avg_query_time"),
    NUMERIC("avg_wait_time"),
    NUMERIC("avg_client_parse_count"),
    NUMERIC("avg_server_parse_count"),
    NUMERIC("avg_bind_count"),
};
static const struct lk_column stats_totals[] = {
    KEY("database"),
    NUMERIC("server_assignment_count"),
    NUMERIC("xact_count"),
    NUMERIC("query_count"),
    NUMERIC("bytes_received"),
    NUMERIC("bytes_sent"),
    NUMERIC("xact_time"),
    NUMERIC("query_time"),
    NUMERIC("wait_time"),
    NUMERIC("client_parse_count"),
    NUMERIC("server_parse_count"),
    NUMERIC("bind_count"),
};
static const struct lk_column stats_averages[] = {
    KEY("database"),
    NUMERIC("server_assignment_count"),
    NUMERIC("xact_count"),
    NUMERIC("query_count"),
    NUMERIC("bytes_received"),
    NUMERIC("bytes_sent"),
    NUMERIC("xact_time"),
    NUMERIC("query_time"),
    NUMERIC("wait_time"),
    NUMERIC("avg_client_parse_count"),
    NUMERIC("avg_server_parse_count"),
    NUMERIC("avg_bind_count"),
};
static const struct lk_column totals[] = {TEXT("name"), NUMERIC("value")};

static const struct lk_column advisory_locks[] = {
    INT8("backend_id"),
    INT4("pid"),
    INT8("client_id"),
    TEXT("application_name"),
    TEXT("database"),
    TEXT("user"),
    TEXT("space"),
    TEXT("key"),
    TEXT("name"),
    TEXT("mode"),
    INT8("count"),
    BOOL("granted"),
    TEXT("since"),
    TEXT("waiting_since"),
    TEXT("statement"),
};
static const struct lk_column pins[] = {
    TEXT("database"),
    TEXT("user"),
    INT8("backend_id"),
    INT4("pid"),
    INT8("client_id"),
    TEXT("addr"),
    TEXT("application_name"),
    TEXT("reasons"),
    INT4("locks"),
    TEXT("since"),
    INT8("held_ms"),
    TEXT("statement"),
};
static const struct lk_column lock_waits[] = {
    TEXT("database"),
    INT8("waiter_client_id"),
    TEXT("waiter_application_name"),
    INT4("waiter_pid"),
    TEXT("space"),
    TEXT("key"),
    TEXT("name"),
    TEXT("mode"),
    INT8("holder_client_id"),
    TEXT("holder_application_name"),
    INT4("holder_pid"),
    INT8("waited_ms"),
    INT8("seen_ms_ago"),
};
static const struct lk_column leaks[] = {
    TEXT("ts"),
    TEXT("event"),
    TEXT("database"),
    TEXT("user"),
    INT8("client_id"),
    TEXT("addr"),
    TEXT("application_name"),
    INT4("backend_pid"),
    TEXT("space"),
    TEXT("key"),
    TEXT("mode"),
    INT8("count"),
    INT8("held_ms"),
    TEXT("reason"),
    TEXT("action"),
    TEXT("query"),
};

/* As workers count; the mean is made of what they add up to. */
#define LOCK_STATEMENT_HEAD                                                                                            \
    KEY("database"), KEY("fingerprint"), TEXT("state"), TEXT("why"), ADDED("executions"), ADDED("locks"),              \
        ADDED("failed_tries"), ADDED("leaks"), ADDED("refused")
static const struct lk_column lock_statement_counts[] = {
    LOCK_STATEMENT_HEAD,
    ADDED("holds"),
    ADDED("held_us"),
    {"longest_us", LK_COLUMN_INT8, LK_MERGE_MAX},
    TEXT("statement"),
};
static const struct lk_column lock_statements[] = {
    LOCK_STATEMENT_HEAD,
    INT8("mean_hold_ms"),
    INT8("longest_hold_ms"),
    TEXT("statement"),
};

#define COLUMNS(array) .columns = (array), .column_count = LK_COUNT(array)
#define FROM_STATS(made_by)                                                                                            \
    .everywhere = true, .collect = lk_show_stats, .raw_columns = stats, .raw_count = LK_COUNT(stats),                  \
    .finish = (made_by)

static const struct lk_view views[] = {
    {.name = "VERSION", COLUMNS(version), .collect = lk_show_version},
    {.name = "CLIENTS", COLUMNS(clients), .everywhere = true, .collect = lk_show_clients},
    {.name = "SERVERS", COLUMNS(servers), .everywhere = true, .collect = lk_show_servers},
    {.name = "POOLS",
        COLUMNS(pools),
        .everywhere = true,
        .collect = lk_show_pools,
        .raw_columns = pools,
        .raw_count = LK_COUNT(pools),
        .finish = lk_show_pools_finish},
    {.name = "DATABASES", COLUMNS(databases), .everywhere = true, .collect = lk_show_databases},
    {.name = "USERS", COLUMNS(users), .everywhere = true, .collect = lk_show_users},
    {.name = "STATS", COLUMNS(stats), FROM_STATS(lk_show_stats_finish)},
    {.name = "STATS_TOTALS", COLUMNS(stats_totals), FROM_STATS(lk_show_stats_totals_finish)},
    {.name = "STATS_AVERAGES", COLUMNS(stats_averages), FROM_STATS(lk_show_stats_averages_finish)},
    {.name = "TOTALS", COLUMNS(totals), FROM_STATS(lk_show_totals_finish)},
    {.name = "LISTS", COLUMNS(lists), .everywhere = true, .collect = lk_show_lists},
    {.name = "SOCKETS", COLUMNS(sockets), .everywhere = true, .collect = lk_show_sockets},
    {.name = "ACTIVE_SOCKETS", COLUMNS(sockets), .everywhere = true, .collect = lk_show_active_sockets},
    {.name = "FDS", COLUMNS(fds), .collect = lk_show_nothing},
    {.name = "DNS_HOSTS", COLUMNS(dns_hosts), .everywhere = true, .collect = lk_show_dns_hosts},
    {.name = "DNS_ZONES",
        COLUMNS(dns_zones),
        .everywhere = true,
        .collect = lk_show_zone_hosts,
        .raw_columns = zone_hosts,
        .raw_count = LK_COUNT(zone_hosts),
        .finish = lk_show_dns_zones_finish},
    {.name = "PEERS", COLUMNS(peers), .collect = lk_show_peers},
    {.name = "PEER_POOLS", COLUMNS(peer_pools), .collect = lk_show_peer_pools},
    {.name = "CONFIG", COLUMNS(config), .sorted = true, .collect = lk_show_config},
    {.name = "STATE", COLUMNS(state), .collect = lk_show_state},
    {.name = "MEM", COLUMNS(mem), .everywhere = true, .collect = lk_show_mem},
    {.name = "ADVISORY_LOCKS", COLUMNS(advisory_locks), .everywhere = true, .collect = lk_show_advisory_locks},
    {.name = "LOCK_WAITS", COLUMNS(lock_waits), .everywhere = true, .collect = lk_show_lock_waits},
    {.name = "LEAKS", COLUMNS(leaks), .collect = lk_show_leaks},
    {.name = "PINS", COLUMNS(pins), .everywhere = true, .collect = lk_show_pins},
    {.name = "LOCK_STATEMENTS",
        COLUMNS(lock_statements),
        .everywhere = true,
        .collect = lk_show_lock_statements,
        .raw_columns = lock_statement_counts,
        .raw_count = LK_COUNT(lock_statement_counts),
        .finish = lk_show_lock_statements_finish},
};

const struct lk_view *
lk_view_find(struct lk_span name)
{
    for (size_t i = 0; i < LK_COUNT(views); i++) {
        if (lk_command_word_is(name, views[i].name))
            return &views[i];
    }
    return NULL;
}

void
lk_view_names(struct lk_buf *out)
{
    for (size_t i = 0; i < LK_COUNT(views); i++)
        lk_buf_add_format(out, "%s%s", i > 0 ? "|" : "", views[i].name);
}

void
lk_view_collect(const struct lk_view *v, struct lk_table *t, const struct lk_show *from)
{
    if (v->raw_columns)
        lk_table_init(t, v->raw_columns, v->raw_count);
    else
        lk_table_init(t, v->columns, v->column_count);
    v->collect(t, from);
}

void
lk_view_answer(const struct lk_view *v, struct lk_table *answer, const struct lk_table *const *tables, size_t count)
{
    lk_table_init(answer, v->columns, v->column_count);
    if (v->finish) {
        struct lk_table merged;
        lk_table_init(&merged, v->raw_columns, v->raw_count);
        lk_table_merge(&merged, tables, count);
        v->finish(answer, &merged);
        answer->cut = answer->cut || merged.cut;
        lk_table_clear(&merged);
    } else {
        lk_table_merge(answer, tables, count);
    }
    if (v->sorted)
        lk_table_sort(answer);
}
