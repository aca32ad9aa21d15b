#include "net/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "net/apply.h"
#include "net/master.h"
#include "net/resolve.h"
#include "net/socket.h"
#include "net/suspend.h"
#include "net/tls.h"
#include "session/holders.h"

/* How long the last bytes may take to leave at the end. */
#define ENDING_US (1 * LK_SECOND_US)

/* A console request that is not finished here yet. */
struct pending {
    struct lk_node node;
    struct lk_request *request;
};

void
lk_worker_wake(struct lk_worker *w)
{
    w->now = lk_clock_read();
    w->turn++;
}

/* --- the end --- */

static bool
flushing(const struct lk_worker *w)
{
    bool found = false;
    LK_LIST_EACH (&w->closing, struct lk_conn, node, c) {
        found = found || c->state == LK_CONN_FLUSHING;
    }
    return found;
}

static void
end_if_flushed(struct lk_worker *w)
{
    if (w->ending && (!flushing(w) || w->now.mono_us - w->ending_us > ENDING_US))
        (void)event_base_loopbreak(w->base);
}

static void
begin_end(struct lk_worker *w)
{
    if (w->ending)
        return;
    w->ending = true;
    w->ending_us = w->now.mono_us;
    lk_core_shutdown(w->core, w->now);
    lk_apply_effects(w);
}

static void
finish_turn(struct lk_worker *w)
{
    lk_apply_finish(w);
    if (w->stopping && !w->ending && lk_core_stopped(w->core)) {
        begin_end(w);
        lk_apply_finish(w);
    }
    end_if_flushed(w);
}

/* --- mail --- */

static void
take_client(struct lk_worker *w, const struct lk_message *m)
{
    int fd = m->u.client.fd;
    if (w->ending) {
        close(fd);
        atomic_fetch_sub_explicit(&w->clients, 1, memory_order_relaxed);
        return;
    }
    struct lk_socket_names names = {.remote = "unix", .local = "unix"};
    uint32_t uid = UINT32_MAX;
    char user[64];
    bool named = false;
    union lk_address local = {0};
    socklen_t n = sizeof(local);
    if (m->u.client.unix_socket) {
        uid = lk_socket_peer_uid(fd);
        named = w->settings->auth_type == LK_AUTH_TYPE_HBA && lk_socket_user_name(uid, user, sizeof(user));
    } else {
        lk_socket_text(&m->u.client.address, names.remote, sizeof(names.remote), &names.remote_port);
        if (getsockname(fd, &local.any, &n) == 0)
            lk_socket_text(&local, names.local, sizeof(names.local), &names.local_port);
    }
    struct lk_peer peer = {names.remote, names.remote_port, m->u.client.unix_socket, uid, names.local,
        names.local_port, named ? user : NULL};
    struct lk_end *end = lk_core_accept(w->core, &peer, w->now);
    lk_conn_start(lk_conn_new(w, end, fd, LK_CONN_OPENING));
    lk_apply_effects(w);
}

static void
take_settings(struct lk_worker *w, struct lk_settings *s, struct lk_tls *tls)
{
    lk_settings_unref(w->settings);
    w->settings = s;
    if (tls) {
        lk_tls_unref(w->tls);
        w->tls = tls;
    }
    lk_resolver_keep(w->resolver, s->dns_max_ttl_us, s->dns_nxdomain_ttl_us);
    lk_core_reload(w->core, s, w->now);
    lk_apply_effects(w);
}

static void
take_command(struct lk_worker *w, enum lk_command command)
{
    switch (command) {
    case LK_COMMAND_PAUSE:
        lk_core_pause(w->core, NULL, w->now);
        lk_holders_log(w->core, (struct lk_holders_wanted){0}, "PAUSE");
        break;
    case LK_COMMAND_RESUME:
        lk_core_resume(w->core, NULL, w->now);
        break;
    case LK_COMMAND_WAIT_FOR_SERVERS:
        w->stopping = true;
        lk_core_stop(w->core, LK_CORE_WAIT_FOR_SERVERS, w->now);
        lk_holders_log(w->core, (struct lk_holders_wanted){0}, "SHUTDOWN");
        break;
    case LK_COMMAND_WAIT_FOR_CLIENTS:
        w->stopping = true;
        lk_core_stop(w->core, LK_CORE_WAIT_FOR_CLIENTS, w->now);
        break;
    case LK_COMMAND_END:
        begin_end(w);
        break;
    }
    lk_apply_effects(w);
    lk_suspend_follow(w);
}

/* The worker's part is done; the last to leave mails the request to the worker that asked. */
static void
leave(struct lk_worker *w, struct lk_request *r)
{
    if (!lk_request_leave(r))
        return;
    const struct lk_message answer = {.kind = LK_MESSAGE_ANSWER, .u.request = r};
    if (!lk_mailbox_put(lk_master_asker(w->master, r), &answer)) {
        lk_log(LK_LOG_ERROR, "a request goes without an answer: the mailbox is full");
        lk_request_free(r);
    }
}

/* Whom a request waits for is told to the client that asked. */
static void
tell(struct lk_worker *w, struct lk_request *r)
{
    char *lines = lk_request_news(r, w->core, w->now);
    const struct lk_message news = {.kind = LK_MESSAGE_NEWS, .u.news = {r->client_id, lines}};
    if (lines && !lk_mailbox_put(lk_master_asker(w->master, r), &news))
        free(lines);
}

static bool
run_request(struct lk_worker *w, struct lk_request *r)
{
    if (r->kind == LK_REQUEST_SUSPEND)
        r->parts[w->number].silent = lk_suspend_done(w);
    r->parts[w->number].hosts = &w->hosts;
    bool done = lk_request_run(r, w->core, w->now);
    lk_apply_effects(w);
    lk_suspend_follow(w);
    if (done)
        leave(w, r);
    else
        tell(w, r);
    return done;
}

static void
take_request(struct lk_worker *w, struct lk_request *r)
{
    if (run_request(w, r))
        return;
    struct pending *p = LK_NEW(struct pending);
    p->request = r;
    lk_list_push(&w->requests, &p->node);
}

static void
take_message(struct lk_worker *w, const struct lk_message *m)
{
    switch (m->kind) {
    case LK_MESSAGE_CLIENT:
        take_client(w, m);
        break;
    case LK_MESSAGE_SETTINGS:
        take_settings(w, m->u.settings, m->tls);
        break;
    case LK_MESSAGE_COMMAND:
        take_command(w, m->u.command);
        break;
    case LK_MESSAGE_REQUEST:
        take_request(w, m->u.request);
        break;
    case LK_MESSAGE_ANSWER:
        lk_request_finish(w->host, w->core, m->u.request);
        lk_apply_effects(w);
        break;
    case LK_MESSAGE_NEWS:
        lk_request_tell(w->core, m->u.news.client_id, m->u.news.lines);
        free(m->u.news.lines);
        lk_apply_effects(w);
        break;
    case LK_MESSAGE_RELOAD:
    case LK_MESSAGE_STOP:
    case LK_MESSAGE_ENDED:
        break;
    }
}

static void
on_mail(evutil_socket_t fd, short what, void *arg)
{
    struct lk_worker *w = arg;
    struct lk_message m;
    lk_worker_wake(w);
    lk_mailbox_heard(&w->mailbox);
    while (lk_mailbox_take(&w->mailbox, &m)) {
        take_message(w, &m);
        lk_apply_todo(w);
    }
    finish_turn(w);
}

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct lk_worker *w = arg;
    lk_worker_wake(w);
    if (!w->ending) {
        lk_core_tick(w->core, w->now);
        lk_apply_effects(w);
    }
    lk_suspend_follow(w);
    LK_LIST_EACH (&w->requests, struct pending, node, p) {
        if (run_request(w, p->request)) {
            lk_list_remove(&w->requests, &p->node);
            free(p);
        }
    }
    lk_conn_tick(w);
    finish_turn(w);
}

/* --- the thread --- */

static void
drop_message(const struct lk_message *m)
{
    if (m->kind == LK_MESSAGE_CLIENT)
        close(m->u.client.fd);
    else if (m->kind == LK_MESSAGE_SETTINGS) {
        lk_settings_unref(m->u.settings);
        lk_tls_unref(m->tls);
    } else if (m->kind == LK_MESSAGE_NEWS)
        free(m->u.news.lines);
    else if (m->kind == LK_MESSAGE_ANSWER || (m->kind == LK_MESSAGE_REQUEST && lk_request_leave(m->u.request)))
        lk_request_free(m->u.request);
}

static void
close_all(struct lk_list *conns)
{
    LK_LIST_EACH (conns, struct lk_conn, node, c) {
        c->end = NULL;
        lk_conn_destroy(c);
    }
}

static void *
run(void *arg)
{
    struct lk_worker *w = arg;
    (void)event_base_dispatch(w->base);
    close_all(&w->conns);
    close_all(&w->deaf);
    close_all(&w->closing);
    lk_conn_bury(w);
    const struct lk_message ended = {.kind = LK_MESSAGE_ENDED};
    (void)lk_mailbox_put(&w->master->mailbox, &ended);
    return NULL;
}

static bool
start_thread(struct lk_worker *w)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, LK_WORKER_STACK_BYTES);
    int rc = pthread_create(&w->thread, &attr, run, w);
    pthread_attr_destroy(&attr);
    w->started = rc == 0;
    if (rc != 0)
        lk_log(LK_LOG_FATAL, "could not start a worker: %s", strerrordesc_np(rc));
    return w->started;
}

/* A base without locks: all its events are added by one thread. */
static struct event_base *
new_base(void)
{
    struct event_config *config = event_config_new();
    if (!config)
        return NULL;
    (void)event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    struct event_base *base = event_base_new_with_config(config);
    event_config_free(config);
    return base;
}

struct lk_worker *
lk_worker_new(struct lk_master *master, uint32_t number)
{
    struct lk_worker *w = LK_NEW(struct lk_worker);
    w->master = master;
    w->number = number;
    w->journal = master->journal;
    w->host = &master->host;
    w->mailbox.fd = -1;
    struct lk_list *lists[] = {&w->conns, &w->deaf, &w->closing, &w->dead, &w->todo, &w->requests};
    for (size_t i = 0; i < LK_COUNT(lists); i++)
        lk_list_init(lists[i]);
    return w;
}

bool
lk_worker_start(struct lk_worker *w, struct lk_shared *shared, struct lk_settings *settings, struct lk_tls *tls)
{
    w->base = new_base();
    if (!w->base || !lk_mailbox_init(&w->mailbox)) {
        lk_log(LK_LOG_FATAL, "could not start a worker: %s", strerrordesc_np(errno));
        return false;
    }
    w->settings = lk_settings_ref(settings);
    w->tls = lk_tls_ref(tls);
    w->resolver = lk_resolver_new(w->base, settings->resolv_conf);
    lk_resolver_keep(w->resolver, settings->dns_max_ttl_us, settings->dns_nxdomain_ttl_us);
    w->hosts = (struct lk_show_hosts){w->resolver, lk_resolver_each};
    w->core = lk_core_new(shared, w->number, settings, lk_clock_read());
    event_assign(&w->mail_event, w->base, w->mailbox.fd, EV_READ | EV_PERSIST, on_mail, w);
    event_assign(&w->tick_event, w->base, -1, EV_PERSIST, on_tick, w);
    const struct timeval tick = {.tv_usec = LK_WORKER_TICK_US};
    (void)event_add(&w->mail_event, NULL);
    (void)event_add(&w->tick_event, &tick);
    return start_thread(w);
}

void
lk_worker_join(struct lk_worker *w)
{
    if (w->started)
        (void)pthread_join(w->thread, NULL);
    w->started = false;
}

void
lk_worker_free(struct lk_worker *w)
{
    struct lk_message m;
    while (w->mailbox.ring && lk_mailbox_take(&w->mailbox, &m))
        drop_message(&m);
    if (w->core) {
        (void)event_del(&w->mail_event);
        (void)event_del(&w->tick_event);
        lk_core_free(w->core);
    }
    LK_LIST_EACH (&w->requests, struct pending, node, p) {
        if (lk_request_leave(p->request))
            lk_request_free(p->request);
        free(p);
    }
    lk_resolver_free(w->resolver);
    lk_settings_unref(w->settings);
    lk_tls_unref(w->tls);
    if (w->base)
        event_base_free(w->base);
    lk_mailbox_clear(&w->mailbox);
    free(w);
}
