/* The leak log: records in, lines out. One writer thread behind a bounded queue; a full disk or queue never stops
 * traffic: what could not be written is counted and told in the next line that can be. */
#ifndef LK_JOURNAL_JOURNAL_H
#define LK_JOURNAL_JOURNAL_H

#include "base/buf.h"
#include "lock/record.h"

struct lk_journal;

#define LK_JOURNAL_QUEUE_MAX 65536u
#define LK_JOURNAL_RECENT 1000u

struct lk_journal_options {
    const char *target; /* a file, "stderr", "syslog", or "" for the main log */
    uint32_t events;    /* bit set of 1 << enum lk_event: which are written */
    bool text;          /* lines for people, not JSON */
};

/* Opens the sink and starts the thread (after a fork into the background, not before). NULL: the file can't be opened
 * (errno). A named pipe needs its reader first. */
struct lk_journal *lk_journal_open(const struct lk_journal_options *options);
/* Changes target, events and form (RELOAD); false (errno): the old sink stays. */
bool lk_journal_set(struct lk_journal *j, const struct lk_journal_options *options);
/* Reopens the file under its name (SIGHUP); what is put from then on goes there. If it can't be opened the old one
 * stays, and the main log says so. */
void lk_journal_reopen(struct lk_journal *j);
/* Writes what is queued, then ends the thread; a sink that takes nothing holds it up for a second. Accepts NULL. */
void lk_journal_close(struct lk_journal *j);
/* Takes the record over. From any thread; never blocks on a disk. */
void lk_journal_put(struct lk_journal *j, struct lk_record *r);
uint64_t lk_journal_dropped(struct lk_journal *j);

/* The last leak, leak_summary, hidden and lost records, oldest first, for SHOW LEAKS, as soon as they are put and
 * whether or not they are written. `each` runs under the journal's mutex: it copies and returns. */
void lk_journal_recent(struct lk_journal *j, void (*each)(void *context, const struct lk_record *r), void *context);

/* One JSON object without a newline, appended to out; out->failed when there is no memory. First ts, event, level,
 * database, user, pool_mode, then client and backend, then what that event has, always in the same order. */
void lk_journal_json(const struct lk_record *r, struct lk_buf *out);
/* The same facts for people to read, but null ones, and in a form that nothing in them can feign: time, level, event,
 * database/user, pool mode, then what there is, between commas; the statement comes last. */
void lk_journal_text(const struct lk_record *r, struct lk_buf *out);
/* The line that tells of dropped records. */
void lk_journal_json_dropped(uint64_t count, int64_t wall_us, struct lk_buf *out);
void lk_journal_text_dropped(uint64_t count, int64_t wall_us, struct lk_buf *out);

#endif
