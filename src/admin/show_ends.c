#include "admin/views.h"

#include <stdio.h>

static void
add_pointer(struct lk_table *t, const void *p)
{
    char text[24] = "";
    if (p)
        snprintf(text, sizeof text, "%p", p);
    lk_table_add(t, text);
}

static void
add_address(struct lk_table *t, const char *addr, int port)
{
    lk_table_add(t, addr);
    lk_table_add_int(t, port);
}

/* Is a cancel connection of ours under way for this client? */
static bool
cancel_runs(const struct lk_core *core, const struct lk_client *client)
{
    LK_LIST_EACH (&core->cancellers, struct lk_canceller, node, k) {
        if (k->client == client)
            return true;
    }
    return false;
}

/* NULL: not shown, it has not logged in. */
static const char *
client_state(const struct lk_core *core, const struct lk_client *c)
{
    switch (c->state) {
    case LK_CLIENT_WELCOME:
    case LK_CLIENT_WAITING:
        return "waiting";
    case LK_CLIENT_READY:
    case LK_CLIENT_LINKED:
    case LK_CLIENT_CONSOLE:
        return "active";
    case LK_CLIENT_CANCEL:
        return cancel_runs(core, c) ? "active_cancel_req" : "waiting_cancel_req";
    default:
        return NULL;
    }
}

static void
add_client(struct lk_table *t, const struct lk_show *from, const struct lk_client *c, const char *state)
{
    int64_t waited_us = c->state == LK_CLIENT_WAITING ? from->now.mono_us - c->place.since_us : 0;
    lk_table_add(t, "C");
    lk_table_add(t, c->user);
    lk_table_add(t, c->database);
    lk_table_add(t, "none");
    lk_table_add(t, state);
    add_address(t, c->who->addr, c->who->port);
    add_address(t, c->local_addr, c->local_port);
    lk_show_time(t, c->connect_wall_us);
    lk_show_time(t, c->request_wall_us);
    lk_table_add_int(t, waited_us / LK_SECOND_US);
    lk_table_add_int(t, waited_us % LK_SECOND_US);
    lk_table_add_int(t, 0);
    add_pointer(t, c);
    add_pointer(t, c->server);
    lk_table_add_int(t, 0);
    lk_table_add(t, c->end.tls ? c->end.tls : "");
    lk_table_add(t, c->who->application_name);
    lk_table_add_uint(t, lk_prepared_count(&c->prepared));
    lk_table_add_uint(t, c->who->id);
}

void
lk_show_clients(struct lk_table *t, const struct lk_show *from)
{
    LK_LIST_EACH (&from->core->clients, struct lk_client, node, c) {
        const char *state = client_state(from->core, c);
        if (state)
            add_client(t, from, c, state);
    }
}

/* NULL: not shown. */
static const char *
server_state(const struct lk_server *s)
{
    switch (s->state) {
    case LK_SERVER_CONNECT:
    case LK_SERVER_LOGIN:
    case LK_SERVER_SETUP:
        return "new";
    case LK_SERVER_IDLE:
        return "idle";
    case LK_SERVER_LINKED:
        return "active";
    case LK_SERVER_ERRAND:
    case LK_SERVER_CLEANING:
        return s->cancels > 0 ? "being_canceled" : "tested";
    default:
        return NULL;
    }
}

/* The columns up to request_time, which a server and a connection that cancels on it have in common. */
static void
add_server_head(struct lk_table *t, const struct lk_server *s, const char *state)
{
    const struct lk_route *route = &s->seat.pool->route;
    lk_table_add(t, "S");
    lk_table_add(t, route->user);
    lk_table_add(t, route->database);
    lk_table_add(t, "none");
    lk_table_add(t, state);
    add_address(t, s->remote_addr[0] ? s->remote_addr : s->host, s->port);
}

static void
add_server(struct lk_table *t, const struct lk_server *s, const char *state)
{
    const char *application_name = s->params.value[LK_PARAM_APPLICATION_NAME];
    add_server_head(t, s, state);
    add_address(t, s->local_addr, s->local_port);
    lk_show_time(t, s->connect_wall_us);
    lk_show_time(t, s->request_wall_us);
    lk_table_add_int(t, 0);
    lk_table_add_int(t, 0);
    lk_table_add_int(t, s->close_after);
    add_pointer(t, s);
    add_pointer(t, s->client);
    lk_table_add_uint(t, s->pid);
    lk_table_add(t, s->end.tls ? s->end.tls : "");
    lk_table_add(t, application_name ? application_name : "");
    lk_table_add_uint(t, lk_parsed_count(&s->parsed));
    lk_table_add_uint(t, s->id);
}

static void
add_canceller(struct lk_table *t, const struct lk_show *from, const struct lk_canceller *k)
{
    int64_t since_wall_us = from->now.wall_us - (from->now.mono_us - k->since_us);
    add_server_head(t, k->server, "active_cancel");
    add_address(t, "", 0);
    lk_show_time(t, since_wall_us);
    lk_show_time(t, since_wall_us);
    lk_table_add_int(t, 0);
    lk_table_add_int(t, 0);
    lk_table_add_int(t, 0);
    add_pointer(t, k);
    add_pointer(t, k->client);
    lk_table_add_int(t, 0);
    lk_table_add(t, k->end.tls ? k->end.tls : "");
    lk_table_add(t, "");
    lk_table_add_int(t, 0);
    lk_table_add_int(t, 0);
}

void
lk_show_servers(struct lk_table *t, const struct lk_show *from)
{
    LK_LIST_EACH (&from->core->servers, struct lk_server, node, s) {
        const char *state = s->seat.pool ? server_state(s) : NULL;
        if (!state)
            continue;
        add_server(t, s, state);
        lk_table_add_uint(t, s->ledger.count);
        lk_show_pin_names(t, s->state == LK_SERVER_LINKED ? lk_server_pins(from->core, s) : 0);
    }
    LK_LIST_EACH (&from->core->cancellers, struct lk_canceller, node, k) {
        if (!k->server || !k->server->seat.pool)
            continue;
        add_canceller(t, from, k);
        lk_table_add_int(t, 0);
        lk_table_add(t, "");
    }
}

/* Of the buffers only this is known here: how much of the message at hand is still to come. */
static void
add_buffers(struct lk_table *t, uint32_t pkt_remain)
{
    enum { PKT_REMAIN = 2, COLUMNS = 7 };
    for (int column = 0; column < COLUMNS; column++)
        lk_table_add_uint(t, column == PKT_REMAIN ? pkt_remain : 0);
}

/* Does it wait for an answer, or is half a message under way? */
static bool
client_works(const struct lk_client *c)
{
    return c->request_us != 0 || c->remain > 0 || c->console_busy || c->state == LK_CLIENT_WAITING;
}

static bool
server_works(const struct lk_server *s)
{
    return s->state != LK_SERVER_IDLE && (!lk_replies_quiet(&s->replies) || s->remain > 0 || s->copy != LK_COPY_NONE);
}

static void
show_sockets(struct lk_table *t, const struct lk_show *from, bool at_work_only)
{
    LK_LIST_EACH (&from->core->clients, struct lk_client, node, c) {
        const char *state = client_state(from->core, c);
        if (!state || (at_work_only && !client_works(c)))
            continue;
        add_client(t, from, c, state);
        add_buffers(t, c->remain);
    }
    LK_LIST_EACH (&from->core->servers, struct lk_server, node, s) {
        const char *state = s->seat.pool ? server_state(s) : NULL;
        if (!state || (at_work_only && !server_works(s)))
            continue;
        add_server(t, s, state);
        add_buffers(t, s->remain);
    }
    LK_LIST_EACH (&from->core->cancellers, struct lk_canceller, node, k) {
        if (!k->server || !k->server->seat.pool)
            continue;
        add_canceller(t, from, k);
        add_buffers(t, 0);
    }
}

void
lk_show_sockets(struct lk_table *t, const struct lk_show *from)
{
    show_sockets(t, from, false);
}

void
lk_show_active_sockets(struct lk_table *t, const struct lk_show *from)
{
    show_sockets(t, from, true);
}
