#include "journal/journal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <syslog.h>

#include "base/log.h"
#include "base/mem.h"
#include "journal/sink.h"

/* While records are being dropped, that is told once in so many lines, and when the queue is empty. */
#define TELL_EVERY 1000u
/* How long lk_journal_close waits for a sink that takes nothing. */
#define CLOSE_WAIT_US LK_SECOND_US

/* A record that the queue, the recent ones, or both hold. */
struct item {
    struct lk_record *record; /* owned; not changed any more */
    unsigned refs;            /* under the journal's mutex */
};

/* The mutex guards all but the last part, which is the writer's. */
struct lk_journal {
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    pthread_t thread;
    struct item **queue; /* a ring of LK_JOURNAL_QUEUE_MAX */
    uint32_t head, count;
    struct item *recent[LK_JOURNAL_RECENT]; /* a ring, too */
    uint32_t recent_head, recent_count;
    uint32_t events;
    char *target;
    bool next_text;
    struct lk_sink next; /* replaces the writer's sink, as next_text its form */
    bool has_next;
    bool stop;
    int64_t stop_mono_us;
    uint64_t dropped;
    uint64_t untold; /* of the dropped ones */

    struct lk_sink sink;
    bool text;
    struct lk_buf line;
    bool failing;
    uint32_t lines; /* since dropped records were told */
};

static void
unref(struct item *i)
{
    if (--i->refs > 0)
        return;
    lk_record_free(i->record);
    free(i);
}

static int
priority_of(enum lk_event e)
{
    const char *level = lk_event_level(e);
    if (strcmp(level, "error") == 0)
        return LOG_ERR;
    if (strcmp(level, "warning") == 0)
        return LOG_WARNING;
    return strcmp(level, "notice") == 0 ? LOG_NOTICE : LOG_INFO;
}

static bool
is_remembered(enum lk_event e)
{
    return e == LK_EVENT_LEAK || e == LK_EVENT_LEAK_SUMMARY || e == LK_EVENT_HIDDEN || e == LK_EVENT_LOST;
}

static bool
give_up(void *context)
{
    struct lk_journal *j = context;
    pthread_mutex_lock(&j->mutex);
    bool up = j->has_next || (j->stop && lk_clock_read().mono_us - j->stop_mono_us > CLOSE_WAIT_US);
    pthread_mutex_unlock(&j->mutex);
    return up;
}

/* Writes j->line. */
static bool
write_line(struct lk_journal *j, int priority)
{
    errno = ENOMEM;
    bool written = !j->line.failed && lk_sink_write(&j->sink, priority, lk_buf_span(&j->line), give_up, j);
    if (!written && !j->failing)
        lk_log(LK_LOG_WARNING, "leak log: a record could not be written: %s", strerror(errno));
    j->failing = !written;
    j->line.len = 0;
    j->line.failed = false;
    return written;
}

static bool
tell_dropped(struct lk_journal *j, uint64_t count)
{
    (j->text ? lk_journal_text_dropped : lk_journal_json_dropped)(count, lk_clock_read().wall_us, &j->line);
    if (!write_line(j, LOG_WARNING))
        return false;
    j->lines = 0;
    pthread_mutex_lock(&j->mutex);
    j->untold -= count;
    pthread_mutex_unlock(&j->mutex);
    return true;
}

static void
write_item(struct lk_journal *j, struct item *i, bool sink_works)
{
    bool written = false;
    if (sink_works) {
        (j->text ? lk_journal_text : lk_journal_json)(i->record, &j->line);
        written = write_line(j, priority_of(i->record->event));
        j->lines++;
    }
    pthread_mutex_lock(&j->mutex);
    if (!written) {
        j->dropped++;
        j->untold++;
    }
    unref(i);
    pthread_mutex_unlock(&j->mutex);
}

/* The next record, NULL when only the sink was changed or the end has come. */
static struct item *
take(struct lk_journal *j, uint64_t *tell, bool *end)
{
    struct item *i = NULL;
    pthread_mutex_lock(&j->mutex);
    while (j->count == 0 && !j->has_next && !j->stop)
        pthread_cond_wait(&j->wake, &j->mutex);
    if (j->has_next) {
        lk_sink_close(&j->sink);
        j->sink = j->next;
        j->text = j->next_text;
        j->has_next = false;
    }
    if (j->count > 0) {
        i = j->queue[j->head];
        j->head = (j->head + 1) % LK_JOURNAL_QUEUE_MAX;
        j->count--;
    }
    *end = !i && j->stop;
    *tell = j->failing || j->count == 0 || j->lines >= TELL_EVERY ? j->untold : 0;
    pthread_mutex_unlock(&j->mutex);
    return i;
}

static void *
writer(void *context)
{
    struct lk_journal *j = context;
    for (bool end = false; !end;) {
        uint64_t tell;
        struct item *i = take(j, &tell, &end);
        bool sink_works = tell == 0 || tell_dropped(j, tell);
        if (i)
            write_item(j, i, sink_works);
    }
    return NULL;
}

/* The daemon's signals are not this thread's, and a pipe without a reader must be an error, not the end. */
static int
start(struct lk_journal *j)
{
    sigset_t all, old;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = pthread_create(&j->thread, NULL, writer, j);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
}

static void
destroy(struct lk_journal *j)
{
    for (; j->count > 0; j->count--) {
        unref(j->queue[j->head]);
        j->head = (j->head + 1) % LK_JOURNAL_QUEUE_MAX;
    }
    for (uint32_t n = 0; n < j->recent_count; n++)
        unref(j->recent[(j->recent_head + n) % LK_JOURNAL_RECENT]);
    if (j->has_next)
        lk_sink_close(&j->next);
    lk_sink_close(&j->sink);
    lk_buf_clear(&j->line);
    pthread_cond_destroy(&j->wake);
    pthread_mutex_destroy(&j->mutex);
    free(j->queue);
    free(j->target);
    free(j);
}

struct lk_journal *
lk_journal_open(const struct lk_journal_options *options)
{
    struct lk_sink sink;
    if (!lk_sink_open(&sink, options->target))
        return NULL;
    struct lk_journal *j = LK_NEW(struct lk_journal);
    j->queue = lk_mem_new(LK_JOURNAL_QUEUE_MAX * sizeof(struct item *));
    j->sink = sink;
    j->text = j->next_text = options->text;
    j->events = options->events;
    j->target = lk_mem_dup(options->target);
    pthread_mutex_init(&j->mutex, NULL);
    pthread_cond_init(&j->wake, NULL);
    int error = start(j);
    if (error != 0) {
        destroy(j);
        errno = error;
        return NULL;
    }
    return j;
}

static void
replace(struct lk_journal *j, struct lk_sink sink)
{
    if (j->has_next)
        lk_sink_close(&j->next);
    j->next = sink;
    j->has_next = true;
    pthread_cond_signal(&j->wake);
}

bool
lk_journal_set(struct lk_journal *j, const struct lk_journal_options *options)
{
    struct lk_sink sink;
    if (!lk_sink_open(&sink, options->target))
        return false;
    char *target = lk_mem_dup(options->target);
    pthread_mutex_lock(&j->mutex);
    char *old = j->target;
    j->target = target;
    j->events = options->events;
    j->next_text = options->text;
    replace(j, sink);
    pthread_mutex_unlock(&j->mutex);
    free(old);
    return true;
}

void
lk_journal_reopen(struct lk_journal *j)
{
    struct lk_sink sink;
    pthread_mutex_lock(&j->mutex);
    char *target = lk_mem_dup(j->target);
    pthread_mutex_unlock(&j->mutex);
    if (lk_sink_open(&sink, target)) {
        pthread_mutex_lock(&j->mutex);
        replace(j, sink);
        pthread_mutex_unlock(&j->mutex);
    } else {
        lk_log(LK_LOG_WARNING, "leak log: could not reopen \"%s\": %s", target, strerror(errno));
    }
    free(target);
}

void
lk_journal_close(struct lk_journal *j)
{
    if (!j)
        return;
    pthread_mutex_lock(&j->mutex);
    j->stop = true;
    j->stop_mono_us = lk_clock_read().mono_us;
    pthread_cond_signal(&j->wake);
    pthread_mutex_unlock(&j->mutex);
    (void)pthread_join(j->thread, NULL);
    destroy(j);
}

static void
remember(struct lk_journal *j, struct item *i)
{
    if (!is_remembered(i->record->event))
        return;
    if (j->recent_count == LK_JOURNAL_RECENT) {
        unref(j->recent[j->recent_head]);
        j->recent_head = (j->recent_head + 1) % LK_JOURNAL_RECENT;
        j->recent_count--;
    }
    j->recent[(j->recent_head + j->recent_count++) % LK_JOURNAL_RECENT] = i;
    i->refs++;
}

void
lk_journal_put(struct lk_journal *j, struct lk_record *r)
{
    struct item *i = LK_NEW(struct item);
    i->record = r;
    i->refs = 1;
    pthread_mutex_lock(&j->mutex);
    remember(j, i);
    if (j->events & (1u << r->event)) {
        if (j->count < LK_JOURNAL_QUEUE_MAX) {
            j->queue[(j->head + j->count++) % LK_JOURNAL_QUEUE_MAX] = i;
            i->refs++;
            pthread_cond_signal(&j->wake);
        } else {
            j->dropped++;
            j->untold++;
        }
    }
    unref(i);
    pthread_mutex_unlock(&j->mutex);
}

uint64_t
lk_journal_dropped(struct lk_journal *j)
{
    pthread_mutex_lock(&j->mutex);
    uint64_t dropped = j->dropped;
    pthread_mutex_unlock(&j->mutex);
    return dropped;
}

void
lk_journal_recent(struct lk_journal *j, void (*each)(void *context, const struct lk_record *r), void *context)
{
    pthread_mutex_lock(&j->mutex);
    for (uint32_t n = 0; n < j->recent_count; n++)
        each(context, j->recent[(j->recent_head + n) % LK_JOURNAL_RECENT]->record);
    pthread_mutex_unlock(&j->mutex);
}
