#include "admin/views.h"

#include <stdio.h>

#include "base/version.h"
#include "config/option.h"

static void
add_time(struct lk_table *t, int64_t wall_us, size_t digits)
{
    if (wall_us == 0) {
        lk_table_add(t, NULL);
        return;
    }
    char text[28], out[40];
    lk_clock_logform(wall_us, text);
    snprintf(out, sizeof out, "%.*s UTC", (int)digits, text);
    lk_table_add(t, out);
}

void
lk_show_time(struct lk_table *t, int64_t wall_us)
{
    add_time(t, wall_us, strlen("2026-11-30 09:15:02"));
}

void
lk_show_time_ms(struct lk_table *t, int64_t wall_us)
{
    add_time(t, wall_us, strlen("2026-11-30 09:15:02.123"));
}

const char *
lk_show_pool_mode(int mode)
{
    static const char *const names[] = {"session", "transaction", "statement"};
    return mode >= 0 && (size_t)mode < LK_COUNT(names) ? names[mode] : NULL;
}

void
lk_show_pin_names(struct lk_table *t, unsigned pins)
{
    static const char *const names[] = {
        "transaction", "locks", "unsure", "pipeline", "copy", "cancelling", "session_mode"};
    char text[96] = "";
    size_t n = 0;
    for (size_t i = 0; i < LK_COUNT(names); i++) {
        if (pins & 1u << i)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n > 0 ? "," : "", names[i]);
    }
    lk_table_add(t, text);
}

bool
lk_show_logged_in(const struct lk_client *c)
{
    switch (c->state) {
    case LK_CLIENT_READY:
    case LK_CLIENT_WAITING:
    case LK_CLIENT_LINKED:
    case LK_CLIENT_CONSOLE:
        return true;
    default:
        return false;
    }
}

void
lk_show_version(struct lk_table *t, const struct lk_show *from)
{
    lk_table_add(t, LK_VERSION_TEXT);
}

void
lk_show_state(struct lk_table *t, const struct lk_show *from)
{
    enum lk_core_mode mode = from->core->mode;
    bool paused = mode == LK_CORE_PAUSED || mode == LK_CORE_WAIT_FOR_SERVERS;
    bool suspended = mode == LK_CORE_SUSPENDED;
    lk_table_add(t, "active");
    lk_table_add(t, paused || suspended ? "no" : "yes");
    lk_table_add(t, "paused");
    lk_table_add(t, paused ? "yes" : "no");
    lk_table_add(t, "suspended");
    lk_table_add(t, suspended ? "yes" : "no");
}

void
lk_show_config(struct lk_table *t, const struct lk_show *from)
{
    struct lk_buf value = {0};
    for (size_t i = 0; i < lk_option_count; i++) {
        const struct lk_option *o = &lk_options[i];
        if (o->flags & LK_OPTION_SECRET)
            continue;
        bool null = false;
        value.len = 0;
        lk_option_print(o, from->core->settings, &value, &null);
        lk_table_add(t, o->name);
        if (null)
            lk_table_add(t, NULL);
        else
            lk_table_add_span(t, lk_buf_span(&value));
        lk_table_add(t, o->initial);
        lk_table_add(t, o->flags & LK_OPTION_RESTART ? "no" : "yes");
    }
    lk_buf_clear(&value);
}

static void
add_item(struct lk_table *t, const char *name, size_t items)
{
    lk_table_add(t, name);
    lk_table_add_uint(t, items);
}

void
lk_show_lists(struct lk_table *t, const struct lk_show *from)
{
    const struct lk_core *core = from->core;
    size_t login = 0;
    LK_LIST_EACH (&core->clients, struct lk_client, node, c)
        login += c->state <= LK_CLIENT_WELCOME;
    /* What all workers have in common is told by the first one; the console's own database and pool are counted. */
    size_t first = core->worker == 0;
    size_t fallback = lk_settings_fallback(core->settings) != NULL;
    add_item(t, "databases", first * (core->settings->database_count - fallback + 1));
    add_item(t, "users", first * lk_users_count(core->users));
    struct lk_show_host_counts hosts = lk_show_count_hosts(from);
    add_item(t, "peers", first * core->settings->peer_count);
    add_item(t, "pools", core->pools.count + first);
    add_item(t, "peer_pools", first * core->settings->peer_count);
    add_item(t, "free_clients", 0);
    add_item(t, "used_clients", core->clients.count);
    add_item(t, "login_clients", login);
    add_item(t, "free_servers", 0);
    add_item(t, "used_servers", core->servers.count);
    add_item(t, "dns_names", hosts.names);
    add_item(t, "dns_zones", hosts.zones);
    add_item(t, "dns_queries", hosts.asking);
    add_item(t, "dns_pending", 0);
}

void
lk_show_mem(struct lk_table *t, const struct lk_show *from)
{
    const struct lk_core *core = from->core;
    const struct {
        const char *name;
        size_t size, used;
    } kinds[] = {
        {"pool_cache", sizeof(struct lk_pool), core->pools.count},
        {"server_cache", sizeof(struct lk_server), core->servers.count},
        {"client_cache", sizeof(struct lk_client), core->clients.count},
    };
    for (size_t i = 0; i < LK_COUNT(kinds); i++) {
        lk_table_add(t, kinds[i].name);
        lk_table_add_uint(t, kinds[i].size);
        lk_table_add_uint(t, kinds[i].used);
        lk_table_add_uint(t, 0);
        lk_table_add_uint(t, kinds[i].size * kinds[i].used);
    }
}

void
lk_show_nothing(struct lk_table *t, const struct lk_show *from)
{
}
