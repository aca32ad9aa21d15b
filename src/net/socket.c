#include "net/socket.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static void
set(int fd, int level, int option, int value)
{
    /* What this kernel doesn't know is not worth a connection. */
    (void)setsockopt(fd, level, option, &value, sizeof(value));
}

void
lk_socket_tune(int fd, const struct lk_settings *s)
{
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set(fd, SOL_SOCKET, SO_KEEPALIVE, s->tcp_keepalive);
    if (s->tcp_keepalive && s->tcp_keepcnt > 0)
        set(fd, IPPROTO_TCP, TCP_KEEPCNT, s->tcp_keepcnt);
    if (s->tcp_keepalive && s->tcp_keepidle > 0)
        set(fd, IPPROTO_TCP, TCP_KEEPIDLE, s->tcp_keepidle);
    if (s->tcp_keepalive && s->tcp_keepintvl > 0)
        set(fd, IPPROTO_TCP, TCP_KEEPINTVL, s->tcp_keepintvl);
    if (s->tcp_user_timeout > 0)
        set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, s->tcp_user_timeout);
    if (s->tcp_socket_buffer > 0) {
        set(fd, SOL_SOCKET, SO_SNDBUF, s->tcp_socket_buffer);
        set(fd, SOL_SOCKET, SO_RCVBUF, s->tcp_socket_buffer);
    }
}

socklen_t
lk_socket_unix(struct sockaddr_un *un, const char *folder, int port)
{
    *un = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(un->sun_path, sizeof(un->sun_path), "%s/.s.PGSQL.%d", folder, port);
    if (n < 0 || (size_t)n >= sizeof(un->sun_path))
        return 0;
    if (folder[0] != '@')
        return (socklen_t)sizeof(*un);
    un->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n);
}

void
lk_socket_text(const union lk_address *a, char *out, size_t room, int *port)
{
    const void *bytes = &a->v4.sin_addr;
    *port = ntohs(a->v4.sin_port);
    if (a->any.sa_family == AF_INET6) {
        bytes = &a->v6.sin6_addr;
        *port = ntohs(a->v6.sin6_port);
    }
    if (!inet_ntop(a->any.sa_family, bytes, out, (socklen_t)room))
        (void)snprintf(out, room, "unknown");
}

void
lk_socket_names(int fd, bool unix_socket, struct lk_socket_names *out)
{
    *out = (struct lk_socket_names){.unix_socket = unix_socket, .remote = "unix", .local = "unix"};
    if (unix_socket)
        return;
    union lk_address a = {0};
    socklen_t n = sizeof(a);
    if (getpeername(fd, &a.any, &n) == 0)
        lk_socket_text(&a, out->remote, sizeof(out->remote), &out->remote_port);
    n = sizeof(a);
    if (getsockname(fd, &a.any, &n) == 0)
        lk_socket_text(&a, out->local, sizeof(out->local), &out->local_port);
}

uint32_t
lk_socket_peer_uid(int fd)
{
    struct ucred cred;
    socklen_t n = sizeof(cred);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) == 0 ? cred.uid : UINT32_MAX;
}

bool
lk_socket_user_name(uint32_t uid, char *out, size_t room)
{
    struct passwd entry, *found = NULL;
    char strings[4096];
    if (getpwuid_r(uid, &entry, strings, sizeof(strings), &found) != 0 || !found || strlen(entry.pw_name) >= room)
        return false;
    memcpy(out, entry.pw_name, strlen(entry.pw_name) + 1);
    return true;
}
