/* Small things about sockets: options from the settings, unix addresses, names for SHOW and log. */
#ifndef LK_NET_SOCKET_H
#define LK_NET_SOCKET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/un.h>

#include "config/settings.h"
#include "net/mailbox.h"

struct lk_socket_names {
    bool unix_socket;
    char remote[64], local[64]; /* an address, or "unix" */
    int remote_port, local_port;
};

/* TCP_NODELAY, keepalive, time-out and buffer size of a TCP socket. What accept() gives inherits them from the
 * listener. */
void lk_socket_tune(int fd, const struct lk_settings *s);
/* The address of folder/.s.PGSQL.port; "@" at the start means the abstract name space. 0: too long. */
socklen_t lk_socket_unix(struct sockaddr_un *un, const char *folder, int port);
/* Asks the kernel for both ends' addresses. */
void lk_socket_names(int fd, bool unix_socket, struct lk_socket_names *out);
/* The uid of a unix socket's peer, or UINT32_MAX. */
uint32_t lk_socket_peer_uid(int fd);
/* The system's name of a user; false: it knows none. */
bool lk_socket_user_name(uint32_t uid, char *out, size_t room);
/* The text of an address, and its port. */
void lk_socket_text(const union lk_address *a, char *out, size_t room, int *port);

#endif
