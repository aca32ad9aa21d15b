#include "net/acceptor.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/socket.h"

/* Connections taken in one turn, so that signals and mail get theirs. */
#define ACCEPTS_MAX 64
#define LISTEN_FDS_START 3
#define COMPLAIN_US (10 * LK_SECOND_US)

static struct lk_listener *
add_listener(struct lk_acceptor *a, int fd, bool unix_socket)
{
    struct lk_listener *l = &a->listeners[a->count++];
    *l = (struct lk_listener){.acceptor = a, .fd = fd, .unix_socket = unix_socket};
    return l;
}

/* --- TCP --- */

static int
listen_on(const struct addrinfo *ai, const struct lk_settings *s)
{
    int one = 1;
    int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (s->so_reuseport)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
    if (ai->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
    lk_socket_tune(fd, s);
    if (s->tcp_defer_accept > 0)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &s->tcp_defer_accept, sizeof(s->tcp_defer_accept));
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) != 0 || listen(fd, s->listen_backlog) != 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

/* One name of listen_addr, NULL for all addresses. It may stand for several, of which those of a family that this
 * machine doesn't have are passed over. */
static bool
open_tcp(struct lk_acceptor *a, const struct lk_settings *s, const char *name)
{
    const char *shown = name ? name : "*";
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    char port[12];
    (void)snprintf(port, sizeof(port), "%d", s->listen_port);
    int rc = getaddrinfo(name, port, &hints, &found);
    if (rc != 0) {
        lk_log(LK_LOG_FATAL, "listen_addr: %s: %s", shown, gai_strerror(rc));
        return false;
    }
    size_t before = a->count;
    int error = 0;
    for (const struct addrinfo *ai = found; ai && a->count < LK_ACCEPTOR_SOCKETS - 1; ai = ai->ai_next) {
        int fd = listen_on(ai, s);
        if (fd >= 0)
            add_listener(a, fd, false);
        else if (error != EADDRINUSE)
            error = errno;
    }
    freeaddrinfo(found);
    if (a->count > before && error != EADDRINUSE)
        return true;
    lk_log(LK_LOG_FATAL, "could not listen on %s:%d: %s", shown, s->listen_port,
        error ? strerrordesc_np(error) : "too many addresses");
    return false;
}

/* --- the unix socket --- */

/* Removes a socket file that nobody listens on any more; false: somebody does. */
static bool
clear_path(const struct sockaddr_un *un, socklen_t length)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return true;
    bool alive = connect(fd, (const struct sockaddr *)un, length) == 0 || errno == EAGAIN;
    bool stale = !alive && errno == ECONNREFUSED;
    close(fd);
    if (stale && un->sun_path[0])
        (void)unlink(un->sun_path);
    return !alive;
}

static bool
set_owner(const char *path, const struct lk_settings *s)
{
    const char *group = s->unix_socket_group;
    if (group && group[0]) {
        char *end;
        unsigned long gid = strtoul(group, &end, 10);
        if (*end) {
            const struct group *g = getgrnam(group);
            if (!g) {
                lk_log(LK_LOG_FATAL, "unix_socket_group: no such group: %s", group);
                return false;
            }
            gid = g->gr_gid;
        }
        if (chown(path, (uid_t)-1, (gid_t)gid) != 0) {
            lk_log(LK_LOG_FATAL, "could not give %s to group %s: %s", path, group, strerrordesc_np(errno));
            return false;
        }
    }
    if (chmod(path, (mode_t)s->unix_socket_mode) == 0)
        return true;
    lk_log(LK_LOG_FATAL, "could not set the mode of %s: %s", path, strerrordesc_np(errno));
    return false;
}

static bool
open_unix(struct lk_acceptor *a, const struct lk_settings *s)
{
    const char *folder = s->unix_socket_dir;
    struct sockaddr_un un;
    socklen_t length = lk_socket_unix(&un, folder, s->listen_port);
    if (length == 0) {
        lk_log(LK_LOG_FATAL, "unix_socket_dir: the path is too long: %s", folder);
        return false;
    }
    if (!clear_path(&un, length)) {
        lk_log(LK_LOG_FATAL, "another process listens on %s/.s.PGSQL.%d", folder, s->listen_port);
        return false;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&un, length) != 0) {
        lk_log(LK_LOG_FATAL, "could not listen on %s/.s.PGSQL.%d: %s", folder, s->listen_port, strerrordesc_np(errno));
        if (fd >= 0)
            close(fd);
        return false;
    }
    struct lk_listener *l = add_listener(a, fd, true);
    memcpy(l->path, un.sun_path, sizeof(l->path));
    if (l->path[0] && !set_owner(l->path, s))
        return false;
    if (listen(fd, s->listen_backlog) == 0)
        return true;
    lk_log(LK_LOG_FATAL, "could not listen on %s: %s", l->path, strerrordesc_np(errno));
    return false;
}

/* --- sockets that systemd has opened --- */

static bool
adopt(struct lk_acceptor *a, const struct lk_settings *s, int fd)
{
    union lk_address at = {0};
    socklen_t n = sizeof(at);
    int listens = 0, type = 0;
    socklen_t size = sizeof(int);
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM ||
        getsockname(fd, &at.any, &n) != 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 ||
        evutil_make_socket_nonblocking(fd) != 0) {
        lk_log(LK_LOG_FATAL, "LISTEN_FDS: descriptor %d is no socket that listens for streams", fd);
        return false;
    }
    add_listener(a, fd, at.any.sa_family == AF_UNIX);
    if (at.any.sa_family != AF_UNIX)
        lk_socket_tune(fd, s);
    return true;
}

/* How many there are: sd_listen_fds(3). The variables are not for processes of our own. */
static int
inherited(void)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    bool ours = pid && count && strtol(pid, NULL, 10) == getpid();
    long n = ours ? strtol(count, NULL, 10) : 0;
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES");
    return n < 0 ? 0 : n > LK_ACCEPTOR_SOCKETS ? LK_ACCEPTOR_SOCKETS : (int)n;
}

static void
tell(const struct lk_acceptor *a)
{
    for (size_t i = 0; i < a->count; i++) {
        const struct lk_listener *l = &a->listeners[i];
        union lk_address at = {0};
        socklen_t n = sizeof(at);
        char text[64];
        int port = 0;
        if (l->unix_socket) {
            lk_log(LK_LOG_INFO, "listening on unix:%s", l->path[0] ? l->path : "(handed over, or abstract)");
        } else if (getsockname(l->fd, &at.any, &n) == 0) {
            lk_socket_text(&at, text, sizeof(text), &port);
            lk_log(LK_LOG_INFO, "listening on %s:%d", text, port);
        }
    }
}

static bool
open_all(struct lk_acceptor *a, const struct lk_settings *s)
{
    char *names = lk_mem_dup(s->listen_addr ? s->listen_addr : ""), *rest = names;
    bool ok = true;
    for (char *name; ok && (name = strsep(&rest, ", \t")) != NULL;)
        if (name[0])
            ok = open_tcp(a, s, strcmp(name, "*") == 0 ? NULL : name);
    free(names);
    if (ok && s->unix_socket_dir && s->unix_socket_dir[0])
        ok = open_unix(a, s);
    return ok;
}

bool
lk_acceptor_open(struct lk_acceptor *a, const struct lk_settings *s)
{
    int given = inherited();
    bool ok = given > 0 || open_all(a, s);
    for (int fd = LISTEN_FDS_START; ok && fd < LISTEN_FDS_START + given; fd++)
        ok = adopt(a, s, fd);
    if (ok && a->count == 0) {
        lk_log(LK_LOG_FATAL, "nowhere to listen: neither listen_addr nor unix_socket_dir is set");
        ok = false;
    }
    if (ok)
        tell(a);
    else
        lk_acceptor_close(a);
    return ok;
}

/* --- accepting --- */

static void
listen_all(struct lk_acceptor *a, bool on)
{
    for (size_t i = 0; i < a->count; i++)
        (void)(on ? event_add(&a->listeners[i].event, NULL) : event_del(&a->listeners[i].event));
}

static void
on_rested(evutil_socket_t fd, short what, void *arg)
{
    listen_all(arg, true);
}

static void
rest(struct lk_acceptor *a, const char *why)
{
    const struct timeval pause = {.tv_usec = LK_ACCEPTOR_REST_US};
    int64_t now = lk_clock_read().mono_us;
    if (a->complained_us == 0 || now - a->complained_us > COMPLAIN_US) {
        lk_log(LK_LOG_WARNING, "accepting clients rests for %d ms: %s", LK_ACCEPTOR_REST_US / 1000, why);
        a->complained_us = now;
    }
    listen_all(a, false);
    (void)evtimer_add(&a->rest_event, &pause);
}

static void
on_acceptable(evutil_socket_t listener, short what, void *arg)
{
    struct lk_listener *l = arg;
    struct lk_acceptor *a = l->acceptor;
    for (int i = 0; i < ACCEPTS_MAX && a->base; i++) {
        struct lk_message m = {.kind = LK_MESSAGE_CLIENT};
        socklen_t n = sizeof(m.u.client.address);
        m.u.client.unix_socket = l->unix_socket;
        m.u.client.fd = accept4(l->fd, l->unix_socket ? NULL : &m.u.client.address.any, l->unix_socket ? NULL : &n,
            SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (m.u.client.fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                rest(a, strerrordesc_np(errno));
            return;
        }
        if (!a->accepted(a->context, &m)) {
            close(m.u.client.fd);
            rest(a, "the workers' mailboxes are full");
            return;
        }
    }
}

void
lk_acceptor_run(struct lk_acceptor *a, struct event_base *base,
    bool (*accepted)(void *context, const struct lk_message *client), void *context)
{
    a->base = base;
    a->accepted = accepted;
    a->context = context;
    evtimer_assign(&a->rest_event, base, on_rested, a);
    for (size_t i = 0; i < a->count; i++) {
        struct lk_listener *l = &a->listeners[i];
        event_assign(&l->event, base, l->fd, EV_READ | EV_PERSIST, on_acceptable, l);
    }
    listen_all(a, true);
}

void
lk_acceptor_tune(struct lk_acceptor *a, const struct lk_settings *s)
{
    for (size_t i = 0; i < a->count; i++)
        if (!a->listeners[i].unix_socket)
            lk_socket_tune(a->listeners[i].fd, s);
}

void
lk_acceptor_close(struct lk_acceptor *a)
{
    if (a->base) {
        listen_all(a, false);
        (void)evtimer_del(&a->rest_event);
        a->base = NULL;
    }
    for (size_t i = 0; i < a->count; i++) {
        close(a->listeners[i].fd);
        if (a->listeners[i].path[0])
            (void)unlink(a->listeners[i].path);
    }
    a->count = 0;
}
