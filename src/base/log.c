#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <syslog.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define LINE_BYTES 2048

static struct {
    pthread_mutex_t mutex;
    char *file;
    int fd; /* -1: none */
    bool to_stderr;
    bool to_syslog;
    char *ident;
    atomic_int verbose; /* read without the mutex */
} sink = {.mutex = PTHREAD_MUTEX_INITIALIZER, .fd = -1, .to_stderr = true};

static const struct {
    const char *name;
    int syslog_level;
} levels[] = {
    [LK_LOG_FATAL] = {"FATAL", LOG_CRIT},     [LK_LOG_ERROR] = {"ERROR", LOG_ERR},  [LK_LOG_WARNING] = {"WARNING", LOG_WARNING},
    [LK_LOG_INFO] = {"LOG", LOG_INFO}, [LK_LOG_DEBUG] = {"DEBUG", LOG_DEBUG},
};

static const struct {
    const char *name;
    int facility;
} facilities[] = {
    {"auth", LOG_AUTH},     {"authpriv", LOG_AUTHPRIV}, {"cron", LOG_CRON},     {"daemon", LOG_DAEMON}, {"ftp", LOG_FTP},
    {"local0", LOG_LOCAL0}, {"local1", LOG_LOCAL1},     {"local2", LOG_LOCAL2}, {"local3", LOG_LOCAL3}, {"local4", LOG_LOCAL4},
    {"local5", LOG_LOCAL5}, {"local6", LOG_LOCAL6},     {"local7", LOG_LOCAL7}, {"user", LOG_USER},
};

static int
open_file(const char *file)
{
    return open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
}

static int
facility_of(const char *name)
{
    for (size_t i = 0; name && i < LK_COUNT(facilities); i++)
        if (strcmp(name, facilities[i].name) == 0)
            return facilities[i].facility;
    return LOG_DAEMON;
}

/* With the mutex held. */
static void
close_sinks(void)
{
    if (sink.fd >= 0)
        close(sink.fd);
    free(sink.file);
    if (sink.to_syslog)
        closelog();
    free(sink.ident);
    sink.fd = -1;
    sink.file = NULL;
    sink.ident = NULL;
    sink.to_syslog = false;
    sink.to_stderr = true;
}

bool
lk_log_open(const struct lk_log_options *options)
{
    int fd = -1;
    if (options->file && options->file[0]) {
        fd = open_file(options->file);
        if (fd < 0)
            return false;
    }
    pthread_mutex_lock(&sink.mutex);
    close_sinks();
    sink.fd = fd;
    sink.file = fd >= 0 ? lk_mem_dup(options->file) : NULL;
    sink.to_stderr = options->to_stderr;
    sink.to_syslog = options->to_syslog;
    sink.verbose = options->verbose;
    if (sink.to_syslog) {
        sink.ident = lk_mem_dup(options->syslog_ident ? options->syslog_ident : "lockkeeper");
        openlog(sink.ident, LOG_PID, facility_of(options->syslog_facility));
    }
    pthread_mutex_unlock(&sink.mutex);
    return true;
}

void
lk_log_reopen(void)
{
    pthread_mutex_lock(&sink.mutex);
    if (sink.file) {
        int fd = open_file(sink.file);
        if (fd >= 0) {
            if (sink.fd >= 0)
                close(sink.fd);
            sink.fd = fd;
        }
    }
    pthread_mutex_unlock(&sink.mutex);
}

void
lk_log_close(void)
{
    pthread_mutex_lock(&sink.mutex);
    close_sinks();
    pthread_mutex_unlock(&sink.mutex);
}

bool
lk_log_wants(enum lk_log_level level)
{
    return level < LK_LOG_DEBUG || sink.verbose > 0;
}

static void
write_line(const char *line, size_t n)
{
    struct iovec parts[2] = {{(void *)(uintptr_t)line, n}, {(void *)(uintptr_t) "\n", 1}};
    if (sink.fd >= 0 && writev(sink.fd, parts, 2) < 0) {
        /* a full disk must not stop traffic, and there is nowhere to say so */
    }
    if (sink.to_stderr && writev(STDERR_FILENO, parts, 2) < 0) {
        /* as above */
    }
}

void
lk_log(enum lk_log_level level, const char *format, ...)
{
    if (!lk_log_wants(level))
        return;
    char line[LINE_BYTES], ts[28];
    lk_clock_logform(lk_clock_read().wall_us, ts);
    int prefix = snprintf(line, sizeof(line), "%s [%d] %s ", ts, (int)getpid(), levels[level].name);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line + prefix, sizeof(line) - (size_t)prefix, format, args);
    va_end(args);
    size_t length = n < 0 ? (size_t)prefix : (size_t)prefix + (size_t)n;
    if (length > sizeof(line) - 1)
        length = sizeof(line) - 1;
    for (size_t i = (size_t)prefix; i < length; i++)
        if ((unsigned char)line[i] < 0x20)
            line[i] = ' ';
    pthread_mutex_lock(&sink.mutex);
    if (sink.to_syslog)
        syslog(levels[level].syslog_level, "%s", line + prefix);
    write_line(line, length);
    pthread_mutex_unlock(&sink.mutex);
}

void
lk_log_raw(const char *line, size_t n)
{
    pthread_mutex_lock(&sink.mutex);
    if (sink.to_syslog)
        syslog(LOG_WARNING, "%.*s", (int)n, line);
    write_line(line, n);
    pthread_mutex_unlock(&sink.mutex);
}
