/* One record of the leak log: everything the journal needs to write it, owned by the record, so that it can cross to
 * the writer's thread. Strings are as peers sent them (untrusted); the journal escapes. */
#ifndef LK_LOCK_RECORD_H
#define LK_LOCK_RECORD_H

#include "base/clock.h"
#include "lock/call.h"
#include "lock/key.h"

enum lk_event {
    LK_EVENT_LEAK,
    LK_EVENT_LEAK_SUMMARY,
    LK_EVENT_HIDDEN,
    LK_EVENT_LOST,
    LK_EVENT_PIN,
    LK_EVENT_UNPIN,
    LK_EVENT_IDLE_HOLD,
    LK_EVENT_PIN_TIMEOUT,
    LK_EVENT_PINS_FULL,
    LK_EVENT_UNLOCK_FAILED,
    LK_EVENT_REWRITTEN, /* this and the next three: the first of a client and statement */
    LK_EVENT_REJECTED,
    LK_EVENT_RELEASED,
    LK_EVENT_OBSERVED,
    LK_EVENT_REWRITTEN_LOST,
    LK_EVENT_WAIT,
    LK_EVENT_DEADLOCK,
    LK_EVENT_LINT,
    LK_EVENT_COUNT,
};

enum lk_reason {
    LK_REASON_NONE,
    LK_REASON_CLIENT_DISCONNECT, /* with a Terminate message */
    LK_REASON_CLIENT_ABORT,      /* without */
    LK_REASON_TRANSACTION_END,
    LK_REASON_PIN_TIMEOUT,
    LK_REASON_TIMEOUT,
    LK_REASON_BACKEND_CLOSED,
    LK_REASON_ADMIN,
    LK_REASON_SHUTDOWN,
};

enum lk_action { LK_ACTION_NONE, LK_ACTION_UNLOCK_ALL, LK_ACTION_DISCARD_ALL, LK_ACTION_CLOSE };
enum lk_source { LK_SOURCE_NONE, LK_SOURCE_LEDGER, LK_SOURCE_PROBE, LK_SOURCE_SWEEP };

#define LK_RECORD_SUSPECTS 16
#define LK_RECORD_QUERY_MAX 1024
#define LK_RECORD_WAITS 16

/* Who holds a lock, or waits for one: a client of ours, or a session of which only the pid is known. */
struct lk_party {
    bool present;
    uint64_t client_id; /* 0: not ours; then only pid is told */
    char *addr;         /* owned, as the next */
    int port;
    char *application_name;
    uint32_t pid; /* of its backend; 0: null */
};

/* One line of a deadlock's DETAIL. */
struct lk_deadlock_wait {
    struct lk_party waiter;
    bool key_known; /* an advisory lock; else lock_text */
    struct lk_key key;
    bool mode_known;
    enum lk_lock_mode mode;
    char *lock_name; /* owned: from the table of names, or NULL */
    char *lock_text; /* owned: what else it waits for, in PostgreSQL's words, or NULL */
    struct lk_party blocked_by;
};

struct lk_record {
    enum lk_event event;
    struct lk_now at;
    char *database, *user; /* owned, as all pointers here */
    const char *pool_mode; /* static */
    struct {
        bool present;
        uint64_t id;
        char *addr; /* "127.0.0.1", "unix" */
        int port;
        char *application_name;
    } client;
    struct {
        bool present;
        uint64_t id;
        uint32_t pid;
        char *addr;
        int port;
    } backend;
    struct {
        bool present;
        bool key_known;
        struct lk_key key;
        bool mode_known;
        enum lk_lock_mode mode;
        uint32_t count; /* 0: null */
        char *name;     /* from the table of names, or NULL */
    } lock;
    int64_t held_us;          /* -1: null */
    int64_t acquired_wall_us; /* 0: null */
    char *query;              /* NULL: null */
    char *comment_source;     /* the statement's text, for its sqlcommenter and marginalia tags; NULL: none */
    uint64_t fingerprint;     /* 0: null */
    uint64_t suspects[LK_RECORD_SUSPECTS];
    unsigned suspect_count; /* hidden with several suspects */
    enum lk_source source;
    enum lk_reason reason;
    enum lk_action action;
    uint32_t omitted;                    /* leak_summary */
    struct lk_party holder;              /* wait, unlock_failed; pins_full: the oldest, with `lock` and `held_us` its */
    int64_t waited_us;                   /* wait; -1: null */
    uint32_t pinned, waiting, pool_size; /* pins_full: backends */
    struct lk_deadlock_wait *waits;      /* deadlock; made by lk_record_add_wait */
    unsigned wait_count;
    const char *lint; /* lint: static, what is the matter */
};

struct lk_record *lk_record_new(enum lk_event event, struct lk_now at);
void lk_record_free(struct lk_record *r);
/* A zeroed entry of `waits` to be filled in; NULL: there are LK_RECORD_WAITS. Valid until the next call. */
struct lk_deadlock_wait *lk_record_add_wait(struct lk_record *r);
const char *lk_event_name(enum lk_event e);
/* "info", "notice", "warning", "error". */
const char *lk_event_level(enum lk_event e);
/* Empty for NONE, as lk_source_name. */
const char *lk_reason_name(enum lk_reason r);
const char *lk_action_name(enum lk_action a);
const char *lk_source_name(enum lk_source s);

#endif
