/* Where the leak log's lines go: a file (or a named pipe), stderr, syslog, or the main log. */
#ifndef LK_JOURNAL_SINK_H
#define LK_JOURNAL_SINK_H

#include "base/span.h"

enum lk_sink_kind { LK_SINK_MAIN_LOG, LK_SINK_STDERR, LK_SINK_SYSLOG, LK_SINK_FILE };

struct lk_sink {
    enum lk_sink_kind kind;
    int fd;    /* of STDERR and FILE; -1 else */
    bool torn; /* the last line lacks its end */
};

/* Asked while a line waits for room in a pipe: true gives it up. */
typedef bool lk_sink_give_up_fn(void *context);

/* "stderr", "syslog", "" (the main log), or a file's name. Never waits. False: errno. */
bool lk_sink_open(struct lk_sink *s, const char *target);
void lk_sink_close(struct lk_sink *s);
/* Writes one line and its newline. `priority` is syslog's. False (errno): it was not written, or only a part of it,
 * whose line is then ended before the next. */
bool lk_sink_write(struct lk_sink *s, int priority, struct lk_span line, lk_sink_give_up_fn *give_up, void *context);

#endif
