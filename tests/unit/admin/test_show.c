#include "unit/admin/fake_core.h"

/* The answer of a view from one or two cores. */
static struct lk_table
answer_of(const char *name, const struct world *one, const struct world *two)
{
    const struct lk_view *view = lk_view_find(lk_span_str(name));
    assert_non_null(view);
    struct lk_table tables[2], answer;
    size_t count = two ? 2 : 1;
    lk_view_collect(view, &tables[0], &(struct lk_show){.core = &one->core, .journal = (void *)&fake, .now = NOW});
    if (two)
        lk_view_collect(view, &tables[1], &(struct lk_show){.core = &two->core, .now = NOW});
    lk_view_answer(view, &answer, (const struct lk_table *const[]){&tables[0], &tables[1]}, count);
    for (size_t i = 0; i < count; i++)
        lk_table_clear(&tables[i]);
    assert_false(answer.cut);
    assert_int_equal(answer.cells.len, answer.row_count * answer.column_count * sizeof(size_t));
    return answer;
}

static size_t
column(const struct lk_table *t, const char *name)
{
    for (size_t c = 0; c < t->column_count; c++) {
        if (strcmp(t->columns[c].name, name) == 0)
            return c;
    }
    fail_msg("no column %s", name);
    return 0;
}

static const char *
cell(const struct lk_table *t, size_t row, const char *name)
{
    assert_true(row < t->row_count);
    return lk_table_cell(t, row, column(t, name));
}

static size_t
row_of(const struct lk_table *t, const char *first)
{
    for (size_t row = 0; row < t->row_count; row++) {
        if (strcmp(lk_table_cell(t, row, 0), first) == 0)
            return row;
    }
    fail_msg("no row %s", first);
    return 0;
}

static void
assert_columns(const char *view, const char *expected)
{
    const struct lk_view *v = lk_view_find(lk_span_str(view));
    struct lk_buf got = {0};
    for (size_t c = 0; c < v->column_count; c++)
        lk_buf_add_format(&got, "%s%s:%u", c > 0 ? ", " : "", v->columns[c].name, v->columns[c].type);
    lk_buf_add_u8(&got, 0);
    assert_string_equal((const char *)got.data, expected);
    lk_buf_clear(&got);
}

#define ENDS                                                                                                           \
    "type:25, user:25, database:25, replication:25, state:25, addr:25, port:23, local_addr:25, local_port:23, "        \
    "connect_time:25, request_time:25, wait:23, wait_us:23, close_needed:23, ptr:25, link:25, remote_pid:23, tls:25, " \
    "application_name:25, prepared_statements:23, id:23"
#define BUFFERS ", recv_pos:23, pkt_pos:23, pkt_remain:23, send_pos:23, send_remain:23, pkt_avail:23, send_avail:23"

static void
columns_are_those_of_pgbouncer_with_ours_behind(void **state)
{
    assert_columns("VERSION", "version:25");
    assert_columns("CLIENTS", ENDS);
    assert_columns("SERVERS", ENDS ", locks:23, pins:25");
    assert_columns("POOLS",
        "database:25, user:25, cl_active:23, cl_waiting:23, cl_active_cancel_req:23, cl_waiting_cancel_req:23, "
        "sv_active:23, sv_active_cancel:23, sv_being_canceled:23, sv_idle:23, sv_used:23, sv_tested:23, sv_login:23, "
        "maxwait:23, maxwait_us:23, pool_mode:25, load_balance_hosts:25, sv_pinned:23");
    assert_columns("DATABASES",
        "name:25, host:25, port:23, database:25, force_user:25, pool_size:23, min_pool_size:23, reserve_pool_size:23, "
        "server_lifetime:23, pool_mode:25, load_balance_hosts:25, max_connections:23, current_connections:23, "
        "max_client_connections:23, current_client_connections:23, paused:23, disabled:23");
    assert_columns("USERS",
        "name:25, pool_size:25, reserve_pool_size:25, pool_mode:25, max_user_connections:23, current_connections:23, "
        "max_user_client_connections:23, current_client_connections:23");
    assert_columns("STATS",
        "database:25, total_server_assignment_count:1700, total_xact_count:1700, total_query_count:1700, "
        "total_received:1700, total_sent:1700, total_xact_time:1700, total_query_time:1700, total_wait_time:1700, "
        "total_client_parse_count:1700, total_server_parse_count:1700, total_bind_count:1700, "
        "avg_server_assignment_count:1700, avg_xact_count:1700, avg_query_count:1700, avg_recv:1700, avg_sent:1700, "
        "avg_xact_time:1700, avg_query_time:1700, avg_wait_time:1700, avg_client_parse_count:1700, "
        "avg_server_parse_count:1700, avg_bind_count:1700");
    assert_columns("STATS_TOTALS",
        "database:25, server_assignment_count:1700, xact_count:1700, query_count:1700, bytes_received:1700, "
        "bytes_sent:1700, xact_time:1700, query_time:1700, wait_time:1700, client_parse_count:1700, "
        "server_parse_count:1700, bind_count:1700");
    assert_columns("STATS_AVERAGES",
        "database:25, server_assignment_count:1700, xact_count:1700, query_count:1700, bytes_received:1700, "
        "bytes_sent:1700, xact_time:1700, query_time:1700, wait_time:1700, avg_client_parse_count:1700, "
        "avg_server_parse_count:1700, avg_bind_count:1700");
    assert_columns("TOTALS", "name:25, value:1700");
    assert_columns("LISTS", "list:25, items:23");
    assert_columns("MEM", "name:25, size:23, used:23, free:23, memtotal:23");
    assert_columns("STATE", "key:25, value:25");
    assert_columns("CONFIG", "key:25, value:25, default:25, changeable:25");
    assert_columns("SOCKETS", ENDS BUFFERS);
    assert_columns("ACTIVE_SOCKETS", ENDS BUFFERS);
    assert_columns("FDS",
        "fd:23, task:25, user:25, database:25, addr:25, port:23, cancel:20, link:23, client_encoding:25, "
        "std_strings:25, datestyle:25, timezone:25, password:25, scram_client_key:17, scram_server_key:17");
    assert_columns("DNS_HOSTS", "hostname:25, ttl:20, addrs:25");
    assert_columns("DNS_ZONES", "zonename:25, serial:20, count:23");
    assert_columns("PEERS", "peer_id:23, host:25, port:23, pool_size:23");
    assert_columns("LOCK_STATEMENTS",
        "database:25, fingerprint:25, state:25, why:25, executions:20, locks:20, failed_tries:20, leaks:20, refused:20, "
        "mean_hold_ms:20, longest_hold_ms:20, statement:25");
    assert_columns("PEER_POOLS",
        "peer_id:23, cl_active_cancel_req:23, cl_waiting_cancel_req:23, sv_active_cancel:23, sv_login:23");
}

static void
sockets_are_clients_and_servers_and_the_active_ones_are_at_work(void **state)
{
    struct world *w = world_new(0);
    add_client(w, 1, LK_CLIENT_READY, &w->pools[0]);
    struct lk_client *busy = add_client(w, 2, LK_CLIENT_LINKED, &w->pools[0]);
    struct lk_server *server = add_server(w, 3, LK_SERVER_LINKED, &w->pools[0], busy);
    add_server(w, 4, LK_SERVER_IDLE, &w->pools[0], NULL);
    busy->request_us = NOW.mono_us;
    busy->remain = 70000;
    assert_true(lk_replies_push(&server->replies, LK_REPLY_QUERY, LK_FOR_CLIENT) != NULL);
    struct lk_table all = answer_of("SOCKETS", w, NULL), active = answer_of("ACTIVE_SOCKETS", w, NULL);
    assert_int_equal(all.row_count, 4);
    assert_string_equal(cell(&all, 0, "id"), "1");
    assert_string_equal(cell(&all, 1, "pkt_remain"), "70000");
    assert_string_equal(cell(&all, 2, "type"), "S");
    assert_int_equal(active.row_count, 2);
    assert_string_equal(cell(&active, 0, "id"), "2");
    assert_string_equal(cell(&active, 1, "id"), "3");
    lk_table_clear(&all);
    lk_table_clear(&active);
    world_free(w);
}

static void
disabled_databases_are_told_from_others(void **state)
{
    struct world *w = world_new(0);
    lk_names_add(&w->core.disabled, "sales");
    struct lk_table t = answer_of("DATABASES", w, NULL);
    assert_string_equal(cell(&t, row_of(&t, "sales"), "disabled"), "1");
    assert_string_equal(cell(&t, row_of(&t, "web"), "disabled"), "0");
    lk_table_clear(&t);
    lk_names_drop(&w->core.disabled, NULL);
    world_free(w);
}

static void
clients_are_shown_once_they_have_logged_in(void **state)
{
    struct world *w = world_new(0);
    add_client(w, 1, LK_CLIENT_STARTUP, NULL);
    struct lk_client *linked = add_client(w, 2, LK_CLIENT_LINKED, &w->pools[0]);
    struct lk_server *server = add_server(w, 9, LK_SERVER_LINKED, &w->pools[0], linked);
    struct lk_client *waiting = add_client(w, 3, LK_CLIENT_WAITING, &w->pools[0]);
    waiting->place.since_us = NOW.mono_us - 2500000;
    add_client(w, 4, LK_CLIENT_CONSOLE, NULL);
    struct lk_table t = answer_of("clients", w, NULL);
    assert_int_equal(t.row_count, 3);
    assert_string_equal(cell(&t, 0, "id"), "2");
    assert_string_equal(cell(&t, 0, "type"), "C");
    assert_string_equal(cell(&t, 0, "state"), "active");
    assert_string_equal(cell(&t, 0, "database"), "sales");
    assert_string_equal(cell(&t, 0, "addr"), "127.0.0.1");
    assert_string_equal(cell(&t, 0, "port"), "40000");
    assert_string_equal(cell(&t, 0, "connect_time"), "2026-11-30 09:15:02 UTC");
    assert_null(cell(&t, 0, "request_time"));
    char pointer[24];
    snprintf(pointer, sizeof pointer, "%p", (void *)server);
    assert_string_equal(cell(&t, 0, "link"), pointer);
    assert_string_equal(cell(&t, 1, "state"), "waiting");
    assert_string_equal(cell(&t, 1, "wait"), "2");
    assert_string_equal(cell(&t, 1, "wait_us"), "500000");
    assert_string_equal(cell(&t, 1, "link"), "");
    assert_string_equal(cell(&t, 2, "state"), "active");
    assert_string_equal(cell(&t, 2, "database"), "lockkeeper");
    lk_table_clear(&t);
    world_free(w);
}

static void
servers_tell_their_state_locks_and_pins(void **state)
{
    struct world *w = world_new(0);
    struct lk_client *holder = add_client(w, 2, LK_CLIENT_LINKED, &w->pools[0]);
    struct lk_server *linked = add_server(w, 9, LK_SERVER_LINKED, &w->pools[0], holder);
    linked->status = 'T';
    lk_ledger_lock(&linked->ledger, lk_key_bigint(9527), LK_MODE_EXCLUSIVE, NULL, NOW);
    add_server(w, 10, LK_SERVER_IDLE, &w->pools[0], NULL);
    add_server(w, 11, LK_SERVER_LOGIN, &w->pools[1], NULL);
    struct lk_server *cleaning = add_server(w, 12, LK_SERVER_CLEANING, &w->pools[1], NULL);
    struct lk_canceller canceller = {.server = cleaning, .since_us = NOW.mono_us};
    lk_list_push(&w->core.cancellers, &canceller.node);
    cleaning->cancels = 1;
    struct lk_table t = answer_of("servers", w, NULL);
    assert_int_equal(t.row_count, 5);
    const char *const states[] = {"active", "idle", "new", "being_canceled", "active_cancel"};
    for (size_t row = 0; row < 5; row++)
        assert_string_equal(cell(&t, row, "state"), states[row]);
    assert_string_equal(cell(&t, 0, "remote_pid"), "70009");
    assert_string_equal(cell(&t, 0, "addr"), "unix");
    assert_string_equal(cell(&t, 0, "locks"), "1");
    assert_string_equal(cell(&t, 0, "pins"), "transaction,locks");
    assert_string_equal(cell(&t, 1, "pins"), "");
    assert_string_equal(cell(&t, 4, "database"), "web");
    lk_table_clear(&t);
    world_free(w);
}

static void
pools_count_their_clients_and_servers_over_all_workers(void **state)
{
    struct world *one = world_new(0), *two = world_new(1);
    struct lk_client *holder = add_client(one, 2, LK_CLIENT_LINKED, &one->pools[0]);
    struct lk_server *pinned = add_server(one, 9, LK_SERVER_LINKED, &one->pools[0], holder);
    lk_ledger_lock(&pinned->ledger, lk_key_bigint(1), LK_MODE_SHARED, NULL, NOW);
    add_client(one, 3, LK_CLIENT_WAITING, &one->pools[0])->place.since_us = NOW.mono_us - 1000000;
    add_client(one, 4, LK_CLIENT_CONSOLE, NULL);
    add_client(two, 5, LK_CLIENT_WAITING, &two->pools[0])->place.since_us = NOW.mono_us - 3250000;
    add_client(two, 6, LK_CLIENT_READY, &two->pools[0]);
    add_server(two, 10, LK_SERVER_IDLE, &two->pools[0], NULL);
    add_server(two, 11, LK_SERVER_CLEANING, &two->pools[0], NULL);
    add_server(two, 12, LK_SERVER_CONNECT, &two->pools[0], NULL);
    struct lk_table t = answer_of("pools", one, two);
    assert_int_equal(t.row_count, 3);
    size_t row = row_of(&t, "sales");
    const struct {
        const char *name, *value;
    } expected[] = {
        {"user", "app"},
        {"cl_active", "2"},
        {"cl_waiting", "2"},
        {"sv_active", "1"},
        {"sv_idle", "1"},
        {"sv_tested", "1"},
        {"sv_login", "1"},
        {"sv_used", "0"},
        {"maxwait", "3"},
        {"maxwait_us", "250000"},
        {"pool_mode", "transaction"},
        {"sv_pinned", "1"},
    };
    for (size_t i = 0; i < LK_COUNT(expected); i++)
        assert_string_equal(cell(&t, row, expected[i].name), expected[i].value);
    assert_string_equal(cell(&t, row_of(&t, "web"), "pool_mode"), "session");
    row = row_of(&t, "pgbouncer");
    assert_string_equal(cell(&t, row, "cl_active"), "1");
    assert_string_equal(cell(&t, row, "pool_mode"), "statement");
    lk_table_clear(&t);
    world_free(one);
    world_free(two);
}

static void
databases_have_a_line_each_and_the_fallback_none(void **state)
{
    struct world *w = world_new(0);
    w->databases[1].pool_size = 7;
    w->databases[1].pool_mode = LK_POOL_SESSION;
    w->pools[0].paused = true;
    add_client(w, 1, LK_CLIENT_READY, &w->pools[0]);
    add_server(w, 2, LK_SERVER_IDLE, &w->pools[0], NULL);
    struct lk_table t = answer_of("databases", w, NULL);
    assert_int_equal(t.row_count, 3);
    size_t row = row_of(&t, "sales");
    assert_string_equal(cell(&t, row, "database"), "sales");
    assert_null(cell(&t, row, "host"));
    assert_string_equal(cell(&t, row, "pool_size"), "20");
    assert_string_equal(cell(&t, row, "server_lifetime"), "3600");
    assert_null(cell(&t, row, "pool_mode"));
    assert_string_equal(cell(&t, row, "current_connections"), "1");
    assert_string_equal(cell(&t, row, "current_client_connections"), "1");
    assert_string_equal(cell(&t, row, "paused"), "1");
    row = row_of(&t, "web");
    assert_string_equal(cell(&t, row, "pool_size"), "7");
    assert_string_equal(cell(&t, row, "pool_mode"), "session");
    assert_string_equal(cell(&t, row, "paused"), "0");
    assert_string_equal(cell(&t, row_of(&t, "pgbouncer"), "port"), "6432");
    lk_table_clear(&t);
    world_free(w);
}

static void
users_are_those_of_the_list_with_their_connections(void **state)
{
    struct world *w = world_new(0);
    add_client(w, 1, LK_CLIENT_READY, &w->pools[0]);
    add_client(w, 2, LK_CLIENT_CONSOLE, NULL);
    add_server(w, 3, LK_SERVER_IDLE, &w->pools[0], NULL);
    struct lk_table t = answer_of("users", w, NULL);
    assert_int_equal(t.row_count, 2);
    assert_string_equal(cell(&t, row_of(&t, "ann"), "current_client_connections"), "2");
    assert_string_equal(cell(&t, row_of(&t, "ann"), "current_connections"), "0");
    assert_string_equal(cell(&t, row_of(&t, "app"), "current_connections"), "1");
    assert_null(cell(&t, row_of(&t, "app"), "pool_size"));
    lk_table_clear(&t);
    world_free(w);
}

static void
statistics_are_added_up_before_the_averages_are_made(void **state)
{
    struct world *one = world_new(0), *two = world_new(1);
    one->pools[0].stats = (struct lk_stats){.assignments = 3, .queries = 10, .received = 5, .binds = 7};
    two->pools[0].stats = (struct lk_stats){.queries = 5, .received = 6};
    one->pools[0].average = (struct lk_stats){
        .queries = 1, .query_us = 100, .transactions = 2, .transaction_us = 7, .wait_us = 9, .sent = 1};
    two->pools[0].average = (struct lk_stats){.queries = 3, .query_us = 20, .assignments = 3};
    struct lk_table t = answer_of("stats", one, two);
    assert_int_equal(t.row_count, 2);
    const struct {
        const char *name, *value;
    } expected[] = {
        {"database", "sales"},
        {"total_server_assignment_count", "3"},
        {"total_query_count", "15"},
        {"total_received", "11"},
        {"total_bind_count", "7"},
        {"avg_query_count", "4"},
        {"avg_query_time", "30"},
        {"avg_xact_time", "3"},
        {"avg_wait_time", "3"},
        {"avg_sent", "1"},
    };
    for (size_t i = 0; i < LK_COUNT(expected); i++)
        assert_string_equal(cell(&t, 0, expected[i].name), expected[i].value);
    assert_string_equal(cell(&t, 1, "total_query_count"), "0");
    assert_string_equal(cell(&t, 1, "avg_query_time"), "0");
    lk_table_clear(&t);
    t = answer_of("stats_averages", one, two);
    assert_string_equal(cell(&t, 0, "query_time"), "30");
    lk_table_clear(&t);
    t = answer_of("stats_totals", one, two);
    assert_string_equal(cell(&t, 0, "query_count"), "15");
    lk_table_clear(&t);
    t = answer_of("totals", one, two);
    assert_int_equal(t.row_count, 22);
    assert_string_equal(cell(&t, row_of(&t, "total_query_count"), "value"), "15");
    assert_string_equal(cell(&t, row_of(&t, "avg_query_time"), "value"), "30");
    lk_table_clear(&t);
    world_free(one);
    world_free(two);
}

static void
what_workers_have_in_common_is_counted_once(void **state)
{
    struct world *one = world_new(0), *two = world_new(1);
    add_client(one, 1, LK_CLIENT_AUTH, NULL);
    add_client(two, 2, LK_CLIENT_READY, &two->pools[0]);
    struct lk_table t = answer_of("lists", one, two);
    assert_int_equal(t.row_count, 14);
    assert_string_equal(cell(&t, row_of(&t, "databases"), "items"), "3");
    assert_string_equal(cell(&t, row_of(&t, "users"), "items"), "2");
    assert_string_equal(cell(&t, row_of(&t, "used_clients"), "items"), "2");
    assert_string_equal(cell(&t, row_of(&t, "login_clients"), "items"), "1");
    assert_string_equal(cell(&t, row_of(&t, "pools"), "items"), "5");
    lk_table_clear(&t);
    t = answer_of("mem", one, two);
    assert_string_equal(cell(&t, row_of(&t, "client_cache"), "used"), "2");
    lk_table_clear(&t);
    world_free(one);
    world_free(two);
}

static void
config_comes_from_the_table_of_options_in_order(void **state)
{
    struct world *w = world_new(0);
    struct lk_table t = answer_of("config", w, NULL);
    for (size_t row = 1; row < t.row_count; row++)
        assert_true(strcmp(lk_table_cell(&t, row - 1, 0), lk_table_cell(&t, row, 0)) < 0);
    size_t row = row_of(&t, "listen_port");
    assert_string_equal(cell(&t, row, "value"), "6432");
    assert_string_equal(cell(&t, row, "changeable"), "no");
    row = row_of(&t, "pool_mode");
    assert_string_equal(cell(&t, row, "value"), "transaction");
    assert_string_equal(cell(&t, row, "default"), "session");
    assert_string_equal(cell(&t, row, "changeable"), "yes");
    assert_null(cell(&t, row_of(&t, "auth_user"), "value"));
    lk_table_clear(&t);
    world_free(w);
}

static void
state_tells_of_a_pause(void **state)
{
    struct world *w = world_new(0);
    struct lk_table t = answer_of("STATE", w, NULL);
    assert_string_equal(cell(&t, row_of(&t, "active"), "value"), "yes");
    assert_string_equal(cell(&t, row_of(&t, "paused"), "value"), "no");
    lk_table_clear(&t);
    w->core.mode = LK_CORE_PAUSED;
    t = answer_of("STATE", w, NULL);
    assert_string_equal(cell(&t, row_of(&t, "active"), "value"), "no");
    assert_string_equal(cell(&t, row_of(&t, "paused"), "value"), "yes");
    assert_string_equal(cell(&t, row_of(&t, "suspended"), "value"), "no");
    lk_table_clear(&t);
    t = answer_of("version", w, NULL);
    assert_string_equal(cell(&t, 0, "version"), LK_VERSION_TEXT);
    lk_table_clear(&t);
    world_free(w);
}

/* A server of client 2 that holds 9527 by a statement. */
static struct lk_server *
add_holder(struct world *w)
{
    struct lk_client *holder = add_client(w, 2, LK_CLIENT_LINKED, &w->pools[0]);
    struct lk_server *s = add_server(w, 9, LK_SERVER_LINKED, &w->pools[0], holder);
    struct lk_text *text = lk_text_new(lk_span_str("select pg_advisory_lock(9527)"), 1);
    struct lk_now then = {.mono_us = NOW.mono_us - 1500000, .wall_us = NOW.wall_us - 1500000};
    lk_ledger_lock(&s->ledger, lk_key_bigint(9527), LK_MODE_EXCLUSIVE, text, then);
    lk_text_unref(text);
    return s;
}

static void
advisory_locks_are_those_of_the_ledgers(void **state)
{
    struct world *w = world_new(0);
    struct lk_server *s = add_holder(w);
    struct lk_name_settings named[] = {{.pattern = (char[]){"9527"}, .name = (char[]){"nightly billing"}}};
    w->settings.names = named;
    w->settings.name_count = 1;
    lk_ledger_lock(&s->ledger, lk_key_pair(-1, 42), LK_MODE_SHARED, NULL, NOW);
    lk_ledger_lock(&s->ledger, lk_key_pair(-1, 42), LK_MODE_SHARED, NULL, NOW);
    struct lk_table t = answer_of("ADVISORY_LOCKS", w, NULL);
    assert_int_equal(t.row_count, 2);
    const struct {
        const char *name, *value;
    } expected[] = {
        {"backend_id", "9"},
        {"pid", "70009"},
        {"client_id", "2"},
        {"application_name", ""},
        {"database", "sales"},
        {"user", "app"},
        {"space", "bigint"},
        {"key", "9527"},
        {"name", "nightly billing"},
        {"mode", "exclusive"},
        {"count", "1"},
        {"granted", "t"},
        {"since", "2026-11-30 09:15:00.623 UTC"},
        {"statement", "select pg_advisory_lock($1)"},
    };
    for (size_t i = 0; i < LK_COUNT(expected); i++)
        assert_string_equal(cell(&t, 0, expected[i].name), expected[i].value);
    assert_null(cell(&t, 0, "waiting_since"));
    assert_string_equal(cell(&t, 1, "space"), "int4pair");
    assert_string_equal(cell(&t, 1, "key"), "-1,42");
    assert_null(cell(&t, 1, "name"));
    assert_string_equal(cell(&t, 1, "mode"), "shared");
    assert_string_equal(cell(&t, 1, "count"), "2");
    assert_null(cell(&t, 1, "statement"));
    lk_table_clear(&t);
    world_free(w);
}

static void
the_statement_is_shown_as_the_leak_log_shows_it(void **state)
{
    struct world *w = world_new(0);
    add_holder(w);
    char full[] = "full", off[] = "off";
    w->settings.leak_log_query = full;
    struct lk_table t = answer_of("ADVISORY_LOCKS", w, NULL);
    assert_string_equal(cell(&t, 0, "statement"), "select pg_advisory_lock(9527)");
    lk_table_clear(&t);
    w->settings.leak_log_query = off;
    t = answer_of("ADVISORY_LOCKS", w, NULL);
    assert_null(cell(&t, 0, "statement"));
    lk_table_clear(&t);
    world_free(w);
}

static void
a_lock_call_without_its_answer_is_not_granted(void **state)
{
    struct world *w = world_new(0);
    struct lk_server *s =
        add_server(w, 9, LK_SERVER_LINKED, &w->pools[0], add_client(w, 2, LK_CLIENT_LINKED, &w->pools[0]));
    s->request_wall_us = NOW.wall_us;
    struct lk_reply *reply = lk_replies_push(&s->replies, LK_REPLY_FCALL, LK_FOR_CLIENT);
    struct lk_watch *watch = lk_mem_new(sizeof *watch + sizeof watch->calls[0]);
    watch->fcall = LK_NEW(struct lk_call);
    watch->fcall->fn = lk_function_by_name(lk_span_str("pg_advisory_lock_shared"));
    watch->call_count = 1;
    watch->calls[0] = (struct lk_watched_call){.call = watch->fcall, .bound = LK_BOUND_KEY, .key = lk_key_bigint(-5)};
    reply->watch = watch;
    struct lk_table t = answer_of("ADVISORY_LOCKS", w, NULL);
    assert_int_equal(t.row_count, 1);
    assert_string_equal(cell(&t, 0, "key"), "-5");
    assert_string_equal(cell(&t, 0, "mode"), "shared");
    assert_string_equal(cell(&t, 0, "granted"), "f");
    assert_null(cell(&t, 0, "since"));
    assert_string_equal(cell(&t, 0, "waiting_since"), "2026-11-30 09:15:02.123 UTC");
    lk_table_clear(&t);
    world_free(w);
}

static void
pins_are_servers_that_locks_keep_with_their_client(void **state)
{
    struct world *w = world_new(0);
    struct lk_server *s = add_holder(w);
    s->pinned_since = (struct lk_now){.mono_us = NOW.mono_us - 1000000, .wall_us = NOW.wall_us - 1000000};
    add_server(w, 10, LK_SERVER_LINKED, &w->pools[0], add_client(w, 3, LK_CLIENT_LINKED, &w->pools[0]))->status = 'T';
    struct lk_table t = answer_of("PINS", w, NULL);
    assert_int_equal(t.row_count, 1);
    const struct {
        const char *name, *value;
    } expected[] = {
        {"database", "sales"},
        {"user", "app"},
        {"backend_id", "9"},
        {"pid", "70009"},
        {"client_id", "2"},
        {"addr", "127.0.0.1"},
        {"reasons", "locks"},
        {"locks", "1"},
        {"since", "2026-11-30 09:15:01.123 UTC"},
        {"held_ms", "1000"},
        {"statement", "select pg_advisory_lock($1)"},
    };
    for (size_t i = 0; i < LK_COUNT(expected); i++)
        assert_string_equal(cell(&t, 0, expected[i].name), expected[i].value);
    lk_table_clear(&t);
    world_free(w);
}

static void
leaks_are_the_journals_recent_records(void **state)
{
    struct world *w = world_new(0);
    struct lk_record *r = lk_record_new(LK_EVENT_LEAK, NOW);
    r->database = owned("sales");
    r->user = owned("app");
    r->client.present = true;
    r->client.id = 77;
    r->client.addr = owned("unix");
    r->client.application_name = owned("job");
    r->lock.present = r->lock.key_known = r->lock.mode_known = true;
    r->lock.key = lk_key_bigint(9527);
    r->lock.count = 2;
    r->held_us = 1234567;
    r->reason = LK_REASON_CLIENT_ABORT;
    r->query = owned("select pg_advisory_lock($1)");
    fake.recent = r;
    struct lk_table t = answer_of("LEAKS", w, NULL);
    fake.recent = NULL;
    assert_int_equal(t.row_count, 1);
    const struct {
        const char *name, *value;
    } expected[] = {
        {"ts", "2026-11-30T09:15:02.123456Z"},
        {"event", "leak"},
        {"database", "sales"},
        {"client_id", "77"},
        {"addr", "unix"},
        {"application_name", "job"},
        {"space", "bigint"},
        {"key", "9527"},
        {"mode", "exclusive"},
        {"count", "2"},
        {"held_ms", "1234"},
        {"reason", "client_abort"},
        {"query", "select pg_advisory_lock($1)"},
    };
    for (size_t i = 0; i < LK_COUNT(expected); i++)
        assert_string_equal(cell(&t, 0, expected[i].name), expected[i].value);
    assert_null(cell(&t, 0, "backend_pid"));
    assert_string_equal(cell(&t, 0, "action"), "none");
    lk_table_clear(&t);
    lk_record_free(r);
    world_free(w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_those_of_pgbouncer_with_ours_behind),
        cmocka_unit_test(sockets_are_clients_and_servers_and_the_active_ones_are_at_work),
        cmocka_unit_test(disabled_databases_are_told_from_others),
        cmocka_unit_test(clients_are_shown_once_they_have_logged_in),
        cmocka_unit_test(servers_tell_their_state_locks_and_pins),
        cmocka_unit_test(pools_count_their_clients_and_servers_over_all_workers),
        cmocka_unit_test(databases_have_a_line_each_and_the_fallback_none),
        cmocka_unit_test(users_are_those_of_the_list_with_their_connections),
        cmocka_unit_test(statistics_are_added_up_before_the_averages_are_made),
        cmocka_unit_test(what_workers_have_in_common_is_counted_once),
        cmocka_unit_test(config_comes_from_the_table_of_options_in_order),
        cmocka_unit_test(state_tells_of_a_pause),
        cmocka_unit_test(advisory_locks_are_those_of_the_ledgers),
        cmocka_unit_test(the_statement_is_shown_as_the_leak_log_shows_it),
        cmocka_unit_test(a_lock_call_without_its_answer_is_not_granted),
        cmocka_unit_test(pins_are_servers_that_locks_keep_with_their_client),
        cmocka_unit_test(leaks_are_the_journals_recent_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
