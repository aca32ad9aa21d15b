/* Which session locks one backend holds: what the server's answers told. Keys, modes, counts, since when, by which
 * statement. Exact, or unsure with the reasons. At most LK_LEDGER_MAX entries; beyond that it is unsure. */
#ifndef LK_LOCK_LEDGER_H
#define LK_LOCK_LEDGER_H

#include "base/clock.h"
#include "lock/call.h"
#include "lock/text.h"

#define LK_LEDGER_MAX 1000u

/* Why the ledger does not know. A bit set; empty: it is exact. */
enum lk_unsure {
    LK_UNSURE_TOUCH = 1,   /* a touch whose answer doesn't tell */
    LK_UNSURE_ERROR = 2,   /* a touch that failed: it may hold all the same */
    LK_UNSURE_ANSWER = 4,  /* an answer other than the plan expected */
    LK_UNSURE_FULL = 8,    /* more entries than the ledger holds */
    LK_UNSURE_COUNT = 16,  /* an unlock of a lock whose count only PostgreSQL knows */
    LK_UNSURE_NEW = 32,    /* a new backend, or settings changed: not cleaned yet */
    LK_UNSURE_HIDDEN = 64, /* a learned touch, or a sweep's finding */
};

enum lk_held_source { LK_HELD_LEDGER, LK_HELD_PROBE, LK_HELD_SWEEP };

struct lk_held {
    struct lk_key key;
    enum lk_lock_mode mode;
    uint32_t count; /* 0: only PostgreSQL knows */
    enum lk_held_source source;
    struct lk_now since;
    struct lk_text *text; /* a reference; NULL when not known */
    uint32_t seen;        /* number of the last probe that saw it */
    bool left;            /* its client let go of the backend with it, and it was told: nobody's now */
    bool nested;          /* taken to the transaction's end while a savepoint was open */
    bool idle_told;       /* its client idled long with it, and it was told */
};

/* What a listener hears: a lock that was not held is; one that was held is not, or the ledger ends; a try was answered with
 * false (held NULL: nothing is). `text`: of the statement that took the lock, or tried to; may be NULL. */
enum lk_ledger_event { LK_LEDGER_TAKEN, LK_LEDGER_GONE, LK_LEDGER_REFUSED };

struct lk_ledger_listener {
    void (*heard)(void *context, enum lk_ledger_event what, const struct lk_held *held, struct lk_text *text);
    void *context;
};

struct lk_ledger {
    struct lk_ledger_listener listener; /* heard NULL: nobody listens */
    struct lk_held *held; /* owned; unordered; NULL while empty */
    uint32_t count;
    uint32_t room;
    uint32_t unsure; /* set of enum lk_unsure */
    uint32_t probes; /* probes begun so far */
    uint32_t beyond; /* locks for which there was no entry: by the last probe's count, and grants since */
};

/* A zeroed ledger is exact and empty. */
void lk_ledger_clear(struct lk_ledger *l);
static inline bool
lk_ledger_zero(const struct lk_ledger *l)
{
    return l->count == 0 && l->unsure == 0;
}

/* A lock that the server granted; one more count of it if it is held. True: it was not held before. A new one's count
 * is unknown while the ledger is unsure. Full: not added, unsure, false. */
bool lk_ledger_lock(
    struct lk_ledger *l, struct lk_key key, enum lk_lock_mode mode, struct lk_text *text, struct lk_now now);
/* A try to which the server said false. */
void lk_ledger_refuse(struct lk_ledger *l, struct lk_text *text);
/* An unlock to which the server said true. Takes off one count; an entry at none goes. Unknown count: the entry stays,
 * and the ledger is unsure until a probe tells. An unlock of what the ledger doesn't hold: unsure (it knew less than
 * the server). */
void lk_ledger_unlock(struct lk_ledger *l, struct lk_key key, enum lk_lock_mode mode);
/* pg_advisory_unlock_all, DISCARD ALL: empty, and exact from here on. */
void lk_ledger_unlock_all(struct lk_ledger *l);
/* Notes that a held lock is `nested`. */
void lk_ledger_nest(struct lk_ledger *l, struct lk_key key, enum lk_lock_mode mode);
/* The backend goes to others as it is: what is held stays there, left behind, and exact from here on as far as anyone will
 * know. */
void lk_ledger_leave(struct lk_ledger *l);
/* Its client idles with what it holds: the oldest lock of which that was not told yet, and now all count as told. NULL: all
 * were. */
const struct lk_held *lk_ledger_idles(struct lk_ledger *l);
/* How many locks are held that nobody left behind. */
uint32_t lk_ledger_own(const struct lk_ledger *l);
/* A sweep saw a lock that the ledger does not have: it is added (count unknown, source SWEEP), and the ledger is unsure until a
 * probe has looked. */
void lk_ledger_swept(struct lk_ledger *l, struct lk_key key, enum lk_lock_mode mode, struct lk_now now);
/* After TOUCH, ERROR, ANSWER and HIDDEN the counts of all entries are unknown too. */
void lk_ledger_doubt(struct lk_ledger *l, enum lk_unsure why);
const struct lk_held *lk_ledger_find(const struct lk_ledger *l, struct lk_key key, enum lk_lock_mode mode);
/* The lock that is held longest; NULL: none is known. */
const struct lk_held *lk_ledger_oldest(const struct lk_ledger *l);

/* A probe's answer: begin, one call a row, end. Rows that no entry explains are added (count 0, source PROBE) with
 * `text` (the suspect, may be NULL) and `since`; row returns true for such. End drops what the probe did not see and
 * makes the ledger exact, unless the probe saw more than LK_LEDGER_MAX. Rows of other key spaces are the caller's to
 * leave out. */
void lk_ledger_probe_begin(struct lk_ledger *l);
bool lk_ledger_probe_row(
    struct lk_ledger *l, struct lk_key key, enum lk_lock_mode mode, struct lk_text *text, struct lk_now since);
void lk_ledger_probe_end(struct lk_ledger *l);

const char *lk_mode_name(enum lk_lock_mode mode);

#endif
