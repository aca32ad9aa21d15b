#include "net/master.h"

#include <errno.h>
#include <openssl/rand.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/version.h"
#include "net/daemon.h"
#include "net/http.h"
#include "net/notify.h"
#include "net/reload.h"
#include "net/tls.h"
#include "net/watchdog.h"

static const int signals[LK_MASTER_SIGNALS] = {SIGHUP, SIGTERM, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2};

static void
random_bytes(uint8_t *out, size_t n)
{
    if (RAND_bytes(out, (int)n) != 1) {
        lk_log(LK_LOG_FATAL, "no random numbers to be had");
        abort();
    }
}

/* --- what workers are told --- */

static void
command_all(struct lk_master *m, enum lk_command command)
{
    const struct lk_message mail = {.kind = LK_MESSAGE_COMMAND, .u.command = command};
    for (uint32_t i = 0; i < m->worker_count; i++)
        if (!lk_mailbox_put(&m->workers[i]->mailbox, &mail))
            lk_log(LK_LOG_ERROR, "worker %u missed a command: its mailbox is full", i);
}

/* A client goes to the worker that has the fewest. */
static bool
hand_over(void *context, const struct lk_message *client)
{
    struct lk_master *m = context;
    struct lk_worker *to = m->workers[0];
    for (uint32_t i = 1; i < m->worker_count; i++)
        if (atomic_load(&m->workers[i]->clients) < atomic_load(&to->clients))
            to = m->workers[i];
    atomic_fetch_add(&to->clients, 1);
    if (lk_mailbox_put(&to->mailbox, client))
        return true;
    atomic_fetch_sub(&to->clients, 1);
    return false;
}

static void
stop(struct lk_master *m, enum lk_command how)
{
    if (m->stopping)
        how = LK_COMMAND_END;
    m->stopping = true;
    lk_notify_stopping();
    lk_log(LK_LOG_INFO, "%s",
        how == LK_COMMAND_END                ? "shutting down at once"
        : how == LK_COMMAND_WAIT_FOR_SERVERS ? "shutting down when no server is in use"
                                             : "shutting down when the last client has left");
    lk_acceptor_close(&m->acceptor);
    command_all(m, how);
}

static void
on_signal(evutil_socket_t number, short what, void *arg)
{
    struct lk_master *m = arg;
    switch (number) {
    case SIGHUP:
        lk_log(LK_LOG_INFO, "got SIGHUP, reading the settings again");
        lk_reload(m, NULL);
        break;
    case SIGTERM:
        stop(m, LK_COMMAND_WAIT_FOR_CLIENTS);
        break;
    case SIGINT:
        stop(m, LK_COMMAND_WAIT_FOR_SERVERS);
        break;
    case SIGQUIT:
        stop(m, LK_COMMAND_END);
        break;
    case SIGUSR1:
        lk_log(LK_LOG_INFO, "got SIGUSR1, pausing");
        command_all(m, LK_COMMAND_PAUSE);
        break;
    case SIGUSR2:
        lk_log(LK_LOG_INFO, "got SIGUSR2, resuming");
        command_all(m, LK_COMMAND_RESUME);
        break;
    default:
        break;
    }
}

/* --- what workers ask for; these run in their threads --- */

struct lk_mailbox *
lk_master_asker(struct lk_master *m, const struct lk_request *r)
{
    return r->asker == LK_REQUEST_OF_MAIN ? &m->mailbox : &m->workers[r->asker]->mailbox;
}

static void
broadcast(void *context, struct lk_request *r)
{
    struct lk_master *m = context;
    const struct lk_message mail = {.kind = LK_MESSAGE_REQUEST, .u.request = r};
    const struct lk_message answer = {.kind = LK_MESSAGE_ANSWER, .u.request = r};
    struct lk_mailbox *asker = lk_master_asker(m, r);
    uint32_t count = m->worker_count;
    for (uint32_t i = 0; i < count; i++) {
        if (lk_mailbox_put(&m->workers[i]->mailbox, &mail))
            continue;
        lk_log(LK_LOG_ERROR, "worker %u takes no part in a request: its mailbox is full", i);
        if (lk_request_leave(r) && !lk_mailbox_put(asker, &answer))
            lk_request_free(r);
    }
}

static void
ask_reload(void *context, struct lk_request *r)
{
    struct lk_master *m = context;
    const struct lk_message mail = {.kind = LK_MESSAGE_RELOAD, .u.request = r};
    if (!lk_mailbox_put(&m->mailbox, &mail))
        lk_request_free(r);
}

static void
ask_stop(void *context, enum lk_stop how)
{
    struct lk_master *m = context;
    struct lk_message mail = {.kind = LK_MESSAGE_STOP, .u.command = LK_COMMAND_END};
    if (how == LK_STOP_WAIT_FOR_SERVERS)
        mail.u.command = LK_COMMAND_WAIT_FOR_SERVERS;
    else if (how == LK_STOP_WAIT_FOR_CLIENTS)
        mail.u.command = LK_COMMAND_WAIT_FOR_CLIENTS;
    (void)lk_mailbox_put(&m->mailbox, &mail);
}

static void
on_mail(evutil_socket_t fd, short what, void *arg)
{
    struct lk_master *m = arg;
    struct lk_message mail;
    lk_mailbox_heard(&m->mailbox);
    while (lk_mailbox_take(&m->mailbox, &mail)) {
        if (mail.kind == LK_MESSAGE_RELOAD) {
            if (mail.u.request->kind == LK_REQUEST_SET)
                lk_reload_set(m, mail.u.request);
            else
                lk_reload(m, mail.u.request);
            mail.kind = LK_MESSAGE_ANSWER;
            if (!lk_mailbox_put(&m->workers[mail.u.request->asker]->mailbox, &mail))
                lk_request_free(mail.u.request);
        } else if (mail.kind == LK_MESSAGE_ANSWER) {
            lk_asks_answer(&m->asks, mail.u.request);
        } else if (mail.kind == LK_MESSAGE_STOP) {
            stop(m, mail.u.command);
        } else if (mail.kind == LK_MESSAGE_ENDED && --m->running == 0) {
            (void)event_base_loopbreak(m->base);
        }
    }
}

/* --- start and end --- */

static void
block_signals(bool block)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < LK_MASTER_SIGNALS; i++)
        sigaddset(&set, signals[i]);
    (void)pthread_sigmask(block ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

static bool
open_journal(struct lk_master *m)
{
    const struct lk_journal_options options = lk_reload_journal(m->settings);
    m->journal = lk_journal_open(&options);
    if (!m->journal)
        lk_log(LK_LOG_FATAL, "could not open leak_log %s: %s", options.target, strerrordesc_np(errno));
    return m->journal != NULL;
}

static bool
init_shared(struct lk_master *m)
{
    struct lk_shared *s = &m->shared;
    s->budgets = lk_budgets_new();
    s->random = random_bytes;
    s->pid = (uint32_t)getpid();
    s->uid = (uint32_t)getuid();
    random_bytes((uint8_t *)&s->hash_key, sizeof(s->hash_key));
    random_bytes(s->mock_key, sizeof(s->mock_key));
    m->host = (struct lk_console_host){.context = m,
        .journal = m->journal,
        .workers = 1,
        .broadcast = broadcast,
        .reload = ask_reload,
        .shutdown = ask_stop};
    return s->budgets != NULL;
}

static bool
start_workers(struct lk_master *m)
{
    uint32_t count = m->host.workers;
    m->workers = lk_mem_new(count * sizeof(struct lk_worker *));
    for (m->worker_count = 0; m->worker_count < count; m->worker_count++)
        m->workers[m->worker_count] = lk_worker_new(m, m->worker_count);
    while (m->running < count && lk_worker_start(m->workers[m->running], &m->shared, m->settings, m->tls))
        m->running++;
    return m->running == count;
}

/* Ends the workers that run, if the loop didn't wait for them, and frees everything. */
static void
end(struct lk_master *m)
{
    struct lk_message mail;
    lk_acceptor_close(&m->acceptor);
    if (m->running > 0)
        command_all(m, LK_COMMAND_END);
    for (uint32_t i = 0; i < m->worker_count; i++)
        lk_worker_join(m->workers[i]);
    for (uint32_t i = 0; i < m->worker_count; i++)
        lk_worker_free(m->workers[i]);
    free(m->workers);
    lk_asks_close(&m->asks);
    lk_http_close(m);
    lk_watchdog_close(m);
    while (m->mailbox.ring && lk_mailbox_take(&m->mailbox, &mail))
        if (mail.kind == LK_MESSAGE_RELOAD || mail.kind == LK_MESSAGE_ANSWER)
            lk_request_free(mail.u.request);
    if (m->base) {
        for (size_t i = 0; i < LK_MASTER_SIGNALS; i++)
            (void)event_del(&m->signal_events[i]);
        (void)event_del(&m->mail_event);
        event_base_free(m->base);
    }
    lk_mailbox_clear(&m->mailbox);
    if (m->journal)
        lk_journal_close(m->journal);
    if (m->shared.budgets)
        lk_budgets_free(m->shared.budgets);
}

static void
on_libevent_log(int severity, const char *text)
{
    if (severity >= EVENT_LOG_WARN)
        lk_log(LK_LOG_WARNING, "libevent: %s", text);
}

static bool
open_loop(struct lk_master *m)
{
    event_set_log_callback(on_libevent_log);
    m->base = event_base_new();
    if (!m->base || !lk_mailbox_init(&m->mailbox)) {
        lk_log(LK_LOG_FATAL, "could not open the event loop: %s", strerrordesc_np(errno));
        return false;
    }
    event_assign(&m->mail_event, m->base, m->mailbox.fd, EV_READ | EV_PERSIST, on_mail, m);
    (void)event_add(&m->mail_event, NULL);
    lk_asks_init(&m->asks, m->base, &m->host);
    for (size_t i = 0; i < LK_MASTER_SIGNALS; i++) {
        evsignal_assign(&m->signal_events[i], m->base, signals[i], on_signal, m);
        (void)event_add(&m->signal_events[i], NULL);
    }
    return true;
}

/* From the open log to the end of the process. */
static bool
serve(struct lk_master *m, int ready_fd)
{
    /* Threads made from here on inherit the mask: signals are the main thread's. */
    block_signals(true);
    lk_daemon_limits(m->settings);
    bool ok = lk_acceptor_open(&m->acceptor, m->settings) && open_journal(m) && init_shared(m) && open_loop(m) &&
              lk_http_open(m) && start_workers(m);
    block_signals(false);
    if (ok) {
        lk_acceptor_run(&m->acceptor, m->base, hand_over, m);
        lk_log(LK_LOG_INFO, "process up: %s, libevent %s, %s", LK_VERSION_TEXT, event_get_version(),
            OpenSSL_version(OPENSSL_VERSION));
        lk_daemon_ready(ready_fd);
        if (m->start->daemon)
            (void)lk_reload_open_log(m->settings, m->start, false);
        lk_watchdog_open(m);
        lk_notify_ready();
        (void)event_base_dispatch(m->base);
        lk_log(LK_LOG_INFO, "process ends");
    }
    end(m);
    return ok;
}

static void
print(const struct lk_buf *lines)
{
    if (lines->len > 0)
        (void)fwrite(lines->data, 1, lines->len, stderr);
}

static struct lk_tls *
open_tls(const struct lk_settings *s)
{
    struct lk_buf errors = {0};
    struct lk_tls *t = lk_tls_new(s, &errors);
    print(&errors);
    lk_buf_clear(&errors);
    return t;
}

static bool
run(struct lk_master *m, const struct lk_buf *warnings)
{
    const struct lk_start *start = m->start;
    const char *pidfile = m->settings->pidfile;
    int ready_fd = -1;
    if (!lk_daemon_become(start->user ? start->user : m->settings->user))
        return false;
    /* as the user who will read the files again at RELOAD */
    m->tls = open_tls(m->settings);
    if (!m->tls)
        return false;
    if (!lk_reload_open_log(m->settings, start, !start->quiet)) {
        lk_log(LK_LOG_FATAL, "could not open logfile %s: %s", m->settings->logfile, strerrordesc_np(errno));
        return false;
    }
    lk_reload_log(LK_LOG_WARNING, warnings);
    pidfile = pidfile && pidfile[0] ? pidfile : NULL;
    if (start->daemon && !pidfile) {
        lk_log(LK_LOG_FATAL, "-d needs pidfile to be set");
        return false;
    }
    if (pidfile && !lk_pidfile_check(pidfile))
        return false;
    if (start->daemon && (ready_fd = lk_daemon_detach()) < 0) {
        lk_log(LK_LOG_FATAL, "could not go to the background: %s", strerrordesc_np(errno));
        return false;
    }
    char *written = lk_mem_dup(pidfile);
    bool ok = (!written || lk_pidfile_write(written)) && serve(m, ready_fd);
    if (written)
        (void)unlink(written);
    free(written);
    return ok;
}

static struct lk_settings *
load(const char *ini, struct lk_buf *warnings)
{
    struct lk_buf errors = {0};
    struct lk_settings *s = lk_settings_load(ini, &errors, warnings);
    print(&errors);
    lk_buf_clear(&errors);
    return s;
}

int
lk_master_run(const struct lk_start *start)
{
    struct lk_buf warnings = {0};
    struct lk_settings *s = load(start->ini, &warnings);
    bool ok = false;
    (void)signal(SIGPIPE, SIG_IGN);
    if (s) {
        struct lk_master *m = LK_NEW(struct lk_master);
        m->start = start;
        m->settings = s;
        m->mailbox.fd = -1;
        ok = run(m, &warnings);
        lk_tls_unref(m->tls);
        lk_settings_unref(m->settings);
        free(m);
    }
    lk_buf_clear(&warnings);
    lk_log_close();
    libevent_global_shutdown();
    return ok ? 0 : 1;
}

int
lk_master_check(const char *ini)
{
    struct lk_buf warnings = {0};
    struct lk_settings *s = load(ini, &warnings);
    print(&warnings);
    lk_buf_clear(&warnings);
    struct lk_tls *tls = s ? open_tls(s) : NULL;
    if (tls)
        (void)printf("%s: ok\n", ini);
    lk_settings_unref(s);
    lk_tls_unref(tls);
    return tls ? 0 : 1;
}
