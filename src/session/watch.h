/* A touch under way: the calls of one message, their keys once bound, and what the answer said so far. Applied to the ledger
 * when the server tells that the statement completed or failed, never earlier. */
#ifndef LK_SESSION_WATCH_H
#define LK_SESSION_WATCH_H

#include "lock/ledger.h"
#include "sql/analysis.h"

/* What the answer to a call told beyond what the ledger knew. */
enum lk_news { LK_NEWS_NONE, LK_NEWS_LOCKED, LK_NEWS_SHORTENED, LK_NEWS_NOT_UNLOCKED };

struct lk_watched_call {
    const struct lk_call *call;
    enum lk_bound bound;
    enum lk_answer answer;
    bool binary;
    bool shortened; /* sent as a call of the transaction level, or for an unlock as `true`: session/shorten */
    uint8_t news; /* enum lk_news, once its statement is complete */
    struct lk_key key;
};

struct lk_watch {
    struct lk_analysis *analysis; /* a reference; NULL for a FunctionCall */
    struct lk_call *fcall;        /* FunctionCall: its call; owned */
    struct lk_text *text;         /* a reference, for the ledger; may be NULL */
    int64_t sent_us;              /* when its message was sent */
    uint16_t statement;           /* which statement of the text is being answered */
    bool limited;                 /* with a row limit: rows don't tell */
    bool types_bad;               /* RowDescription was not what the plan expects */
    uint32_t rows;
    uint16_t call_count;
    struct lk_watched_call calls[]; /* of all statements, in order */
};

/* For a simple Query (no parameters). NULL: the text is no touch, or there is no memory (*failed). */
struct lk_watch *lk_watch_query(struct lk_analysis *a, bool *failed);
/* For a Bind: `rest` of lk_msg_bind (empty: not at hand, keys stay unknown), the declared types of the Parse. */
struct lk_watch *lk_watch_bind(
    struct lk_analysis *a, struct lk_span rest, uint16_t type_count, const uint8_t *types, bool *failed);
/* For a FunctionCall of one of our functions. NULL: none of ours. */
struct lk_watch *lk_watch_fcall(uint32_t oid, struct lk_span rest, uint16_t argument_count, struct lk_text *text, bool *failed);
/* A copy, for a portal that is executed more than once. */
struct lk_watch *lk_watch_copy(const struct lk_watch *w);
void lk_watch_free(struct lk_watch *w);

/* Does a session-level lock or try stand in its text that is sent as such? */
bool lk_watch_takes(const struct lk_watch *w);
/* Its first call of these; NULL: none is known one by one. */
const struct lk_watched_call *lk_watch_taking_call(const struct lk_watch *w);

/* Its call that waits for a lock, among those not answered yet; NULL: none is known. *unknown: there may be such a one. */
const struct lk_watched_call *lk_watch_waiting_call(const struct lk_watch *w, bool *unknown);

/* Does the next DataRow matter (so that it has to be seen whole)? */
bool lk_watch_wants_row(const struct lk_watch *w);
void lk_watch_row_description(struct lk_watch *w, struct lk_span body);
void lk_watch_row(struct lk_watch *w, struct lk_span body);
/* FunctionCallResponse. */
void lk_watch_fcall_result(struct lk_watch *w, struct lk_span body);
/* CommandComplete, EmptyQueryResponse or PortalSuspended (then `suspended`): applies one statement to the ledger,
 * its shortened calls to that of shortened locks. */
void lk_watch_complete(
    struct lk_watch *w, struct lk_ledger *l, struct lk_ledger *shortened, bool suspended, struct lk_now now);
/* ErrorResponse while it ran. */
void lk_watch_failed(struct lk_watch *w, struct lk_ledger *l);

#endif
