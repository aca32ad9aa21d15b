#include "net/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"

/* Descriptors beside those of clients and servers: logs, listeners, event loops, resolver. */
#define OTHER_DESCRIPTORS 100

bool
lk_daemon_become(const char *user)
{
    if (user && user[0]) {
        const struct passwd *pw = getpwnam(user);
        if (!pw) {
            lk_log(LK_LOG_FATAL, "could not find user '%s' to switch to", user);
            return false;
        }
        bool same = getuid() == pw->pw_uid;
        if (!same && (initgroups(user, pw->pw_gid) != 0 || setgid(pw->pw_gid) != 0 || setuid(pw->pw_uid) != 0)) {
            lk_log(LK_LOG_FATAL, "could not switch to user '%s': %s", user, strerrordesc_np(errno));
            return false;
        }
    }
    if (getuid() != 0 && geteuid() != 0)
        return true;
    lk_log(LK_LOG_FATAL, "Lockkeeper should not run as root: set user, or use -u");
    return false;
}

int
lk_daemon_detach(void)
{
    int ends[2];
    char byte;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t pid = fork();
    if (pid < 0)
        return -1;
    if (pid > 0) {
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) == 1 ? 0 : 1);
    }
    close(ends[0]);
    if (setsid() < 0)
        return -1;
    /* The second fork takes the leadership of the session away, so that no terminal can become its own. */
    pid = fork();
    if (pid < 0)
        return -1;
    if (pid > 0)
        _exit(0);
    return ends[1];
}

void
lk_daemon_ready(int ready_fd)
{
    if (ready_fd < 0)
        return;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; null >= 0 && fd < 3; fd++)
        (void)dup2(null, fd);
    if (null > 2)
        close(null);
    while (write(ready_fd, "1", 1) < 0 && errno == EINTR) {
    }
    close(ready_fd);
}

bool
lk_pidfile_check(const char *path)
{
    FILE *f = fopen(path, "re");
    long pid = 0;
    if (!f)
        return true;
    bool found = fscanf(f, "%ld", &pid) == 1 && pid > 0;
    (void)fclose(f);
    if (found && pid != (long)getpid() && (kill((pid_t)pid, 0) == 0 || errno == EPERM)) {
        lk_log(LK_LOG_FATAL, "pidfile %s belongs to process %ld, which runs", path, pid);
        return false;
    }
    lk_log(LK_LOG_INFO, "removing pidfile %s of a process that is gone", path);
    (void)unlink(path);
    return true;
}

bool
lk_pidfile_write(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    bool ok = fd >= 0 && dprintf(fd, "%d\n", (int)getpid()) > 0;
    if (!ok)
        lk_log(LK_LOG_FATAL, "could not write pidfile %s: %s", path, strerrordesc_np(errno));
    if (fd >= 0)
        close(fd);
    return ok;
}

void
lk_daemon_limits(const struct lk_settings *s)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) != 0)
        return;
    r.rlim_cur = r.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &r);
    rlim_t clients = (rlim_t)s->max_client_conn + OTHER_DESCRIPTORS;
    rlim_t servers = (rlim_t)s->default_pool_size * (s->database_count + 1);
    if (r.rlim_max != RLIM_INFINITY && clients + servers > r.rlim_max)
        lk_log(LK_LOG_WARNING, "max_client_conn and pool sizes may need %llu descriptors, the limit is %llu",
            (unsigned long long)(clients + servers), (unsigned long long)r.rlim_max);
}
