#include "net/notify.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

static void
notify(const char *text)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    size_t n = path ? strlen(path) : 0;
    if (n < 2 || n >= sizeof(un.sun_path) || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(un.sun_path, path, n);
    if (path[0] == '@')
        un.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    /* A manager that doesn't listen is no reason to stop. */
    (void)sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&un, length);
    close(fd);
}

void
lk_notify_ready(void)
{
    notify("READY=1");
}

void
lk_notify_reloading(void)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRId64, lk_clock_read().mono_us);
    notify(text);
}

void
lk_notify_stopping(void)
{
    notify("STOPPING=1");
}

void
lk_notify_alive(void)
{
    notify("WATCHDOG=1");
}

int64_t
lk_notify_watchdog_us(void)
{
    const char *every = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    if (!every || (pid && strtoll(pid, NULL, 10) != getpid()))
        return 0;
    return strtoll(every, NULL, 10);
}
