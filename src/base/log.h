/* The main log: one event, one line. This module and the leak log's writer are the only code below net/ that own a
 * descriptor. Lines never hold secrets; query text only where a setting says so. Thread-safe: a line is one write(). */
#ifndef LK_BASE_LOG_H
#define LK_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum lk_log_level { LK_LOG_FATAL, LK_LOG_ERROR, LK_LOG_WARNING, LK_LOG_INFO, LK_LOG_DEBUG };

struct lk_log_options {
    const char *file;     /* NULL or "": none */
    bool to_stderr;       /* false with -d and -q */
    bool to_syslog;
    const char *syslog_ident;
    const char *syslog_facility; /* "daemon", "local0", … */
    int verbose;          /* 0: up to INFO; 1: DEBUG too */
};

/* Opens the sinks; may be called again at RELOAD. False: the file can't be opened (errno); the old sinks stay. */
bool lk_log_open(const struct lk_log_options *options);
/* Opens the file anew under its name, for rotation. */
void lk_log_reopen(void);
void lk_log_close(void);

void lk_log(enum lk_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool lk_log_wants(enum lk_log_level level);
/* One whole line (the leak log's, when it shares the main log), without its newline. */
void lk_log_raw(const char *line, size_t n);

#endif
