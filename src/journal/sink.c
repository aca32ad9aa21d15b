#include "journal/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/uio.h>
#include <syslog.h>
#include <unistd.h>

#include "base/log.h"

/* How often a line that waits for room asks whether to give up. */
#define ASK_EVERY_MS 50

bool
lk_sink_open(struct lk_sink *s, const char *target)
{
    *s = (struct lk_sink){.kind = LK_SINK_MAIN_LOG, .fd = -1};
    if (strcmp(target, "stderr") == 0) {
        s->kind = LK_SINK_STDERR;
        s->fd = STDERR_FILENO;
    } else if (strcmp(target, "syslog") == 0) {
        s->kind = LK_SINK_SYSLOG;
    } else if (target[0]) {
        s->kind = LK_SINK_FILE;
        /* Without O_NONBLOCK the opening of a named pipe, and every write to it, would wait for a reader. */
        s->fd = open(target, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0640);
        return s->fd >= 0;
    }
    return true;
}

void
lk_sink_close(struct lk_sink *s)
{
    if (s->kind == LK_SINK_FILE && s->fd >= 0)
        (void)close(s->fd);
    s->fd = -1;
}

/* True when all but the newline is out; torn then tells that it is still owed. */
static bool
write_line(struct lk_sink *s, struct lk_span line, lk_sink_give_up_fn *give_up, void *context)
{
    static const char newline[] = "\n";
    size_t owed = s->torn ? 1 : 0, total = owed + line.n + 1, done = 0;
    while (done < total) {
        struct lk_span rest = done > owed ? lk_span_skip(line, done - owed) : line;
        if (done >= owed + line.n)
            rest = lk_span_make(NULL, 0);
        struct iovec parts[3] = {
            {.iov_base = (void *)(uintptr_t)newline, .iov_len = done < owed ? 1 : 0},
            {.iov_base = (void *)(uintptr_t)rest.p, .iov_len = rest.n},
            {.iov_base = (void *)(uintptr_t)newline, .iov_len = 1},
        };
        ssize_t n = writev(s->fd, parts, 3);
        if (n > 0) {
            done += (size_t)n;
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0 || errno != EAGAIN || give_up(context))
            break;
        struct pollfd ready = {.fd = s->fd, .events = POLLOUT};
        (void)poll(&ready, 1, ASK_EVERY_MS);
    }
    if (done >= owed)
        s->torn = done > owed && done < total;
    return done + 1 >= total;
}

bool
lk_sink_write(struct lk_sink *s, int priority, struct lk_span line, lk_sink_give_up_fn *give_up, void *context)
{
    switch (s->kind) {
    case LK_SINK_MAIN_LOG:
        lk_log_raw((const char *)line.p, line.n);
        return true;
    case LK_SINK_SYSLOG:
        syslog(priority, "%.*s", (int)line.n, (const char *)line.p);
        return true;
    case LK_SINK_STDERR:
    case LK_SINK_FILE:
        break;
    }
    return write_line(s, line, give_up, context);
}
