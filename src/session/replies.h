/* The reply queue: one entry for each message sent to a server that provokes an answer, in order, the client's and our own.
 * Nothing else remembers what is outstanding. What PostgreSQL does, and the queue with it: docs/architecture.md, "The
 * shape". */
#ifndef LK_SESSION_REPLIES_H
#define LK_SESSION_REPLIES_H

#include "session/prepared.h"
#include "session/watch.h"

/* What was sent. */
enum lk_reply_kind {
    LK_REPLY_QUERY,
    LK_REPLY_PARSE,
    LK_REPLY_BIND,
    LK_REPLY_DESCRIBE,
    LK_REPLY_EXECUTE,
    LK_REPLY_CLOSE,
    LK_REPLY_SYNC,
    LK_REPLY_FCALL,
    LK_REPLY_COPY_END, /* CopyDone or CopyFail sent ahead of CopyInResponse: has no answer, parts the Syncs before it from those behind */
};

/* For whom, which is what becomes of the answer. */
enum lk_reply_purpose {
    LK_FOR_CLIENT,  /* passed on */
    LK_FOR_NOBODY,  /* the client's, answered by us in its turn: nothing was sent */
    LK_FOR_PREPARE, /* Parse of a client's statement on this server: success swallowed, an error passed on */
    LK_FOR_EVICT,   /* Close of a statement to make room */
    LK_FOR_REFUSAL, /* a message that must fail: its error is replaced by `error` */
    LK_FOR_PARAMS,
    LK_FOR_PROBE,
    LK_FOR_RESET,
    LK_FOR_ROLLBACK,
    LK_FOR_AUTHORIZATION, /* RESET SESSION AUTHORIZATION */
    LK_FOR_RESET_QUERY,
    LK_FOR_DISCARD,
    LK_FOR_CHECK,   /* server_check_query */
    LK_FOR_CONNECT, /* connect_query */
    LK_FOR_ERRAND_SETTINGS, /* what goes before an errand's query */
    LK_FOR_ERRAND,
    LK_FOR_DRAIN,   /* a Sync for a client that went away */
};

struct lk_reply {
    uint8_t kind;
    uint8_t purpose;
    bool adds;                      /* PARSE: it put its statement into the server's set (lk_replies_adds) */
    bool after_data;                /* SYNC: sent behind CopyData: the backend passes over it unless the COPY failed before */
    bool vouched;                   /* QUERY, EXECUTE: trusted when it was sent, and a reset went right behind it */
    bool failed;                    /* an ErrorResponse has come for it */
    bool no_rows;                   /* its last tag says 0 rows */
    struct lk_analysis *analysis;   /* QUERY, BIND, EXECUTE of the client: what runs; a reference. NULL: not known */
    struct lk_watch *watch;         /* owned; NULL: no touch */
    struct lk_statement *statement; /* PARSE, CLOSE, and BIND, DESCRIBE of a mapped one: a reference or NULL */
    char *name;                     /* PARSE, CLOSE: the client's name for it; owned; NULL: unnamed */
    struct lk_error *error;         /* REFUSAL: owned */
};

struct lk_replies {
    struct lk_reply *ring; /* owned; NULL while never used */
    uint32_t head, count, room;
    uint32_t adding; /* entries with `adds` */
    bool data_sent; /* CopyData went behind the last Query or Execute */
    bool unsynced; /* extended messages were sent since the last Sync: no ReadyForQuery is coming for them */
    bool skipping; /* the server skips to a Sync that has not been sent yet */
};

#define LK_REPLIES_MAX 65536u
/* With so many outstanding no more of the client's messages are taken until they have been answered. */
#define LK_REPLIES_MANY 32768u

/* A zeroed queue is empty. */
void lk_replies_clear(struct lk_replies *q);
/* The new last entry, zeroed but for kind and purpose; NULL: no memory or LK_REPLIES_MAX. While the queue is skipping only a
 * Sync may be pushed (it ends the skipping): nothing else gets an answer. */
struct lk_reply *lk_replies_push(struct lk_replies *q, enum lk_reply_kind kind, enum lk_reply_purpose purpose);
/* Marks the entry as one that adds its statement to the server's set. */
void lk_replies_adds(struct lk_replies *q, struct lk_reply *r);
/* Is the statement's Parse outstanding with a Sync behind it? Then it may yet be skipped, while what is sent now won't be. */
bool lk_replies_unsettled(const struct lk_replies *q, const struct lk_statement *st);
/* A COPY FROM STDIN, the head, is over: takes off the Syncs that were passed over in it. Which of them the backend read
 * after an error can't be known: `failed` leaves the last one. */
void lk_replies_copy_over(struct lk_replies *q, bool failed);
/* Was a CopyDone or CopyFail sent that the head, a COPY under way, has not ended with yet? */
bool lk_replies_copy_ended(const struct lk_replies *q);
struct lk_reply *lk_replies_head(const struct lk_replies *q);
struct lk_reply *lk_replies_at(const struct lk_replies *q, uint32_t index);
/* Frees what the head holds and takes it off. */
void lk_replies_pop(struct lk_replies *q);
void lk_reply_release(struct lk_reply *r);
/* Room for an entry before the head, zeroed: for one that was taken off just now. */
struct lk_reply *lk_replies_unpop(struct lk_replies *q);
/* Only entries of our own are outstanding (a cancel would hit none of the client's). */
bool lk_replies_ours_only(const struct lk_replies *q);
/* Are no answers outstanding and no batch open? */
static inline bool
lk_replies_quiet(const struct lk_replies *q)
{
    return q->count == 0 && !q->unsynced && !q->skipping;
}

#endif
