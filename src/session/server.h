/* A server connection: the machine from connect to close. */
#ifndef LK_SESSION_SERVER_H
#define LK_SESSION_SERVER_H

#include "auth/login.h"
#include "pool/pool.h"
#include "session/effect.h"
#include "session/params.h"
#include "session/replies.h"
#include "session/who.h"

struct lk_client;
struct lk_core;
struct lk_errand;

enum lk_server_state {
    LK_SERVER_CONNECT, /* the shell connects */
    LK_SERVER_LOGIN,   /* startup packet sent */
    LK_SERVER_SETUP,   /* logged in: connect_query and first reset run */
    LK_SERVER_IDLE,
    LK_SERVER_LINKED,  /* lent to a client */
    LK_SERVER_ERRAND,  /* runs a query of our own */
    LK_SERVER_CLEANING,
    LK_SERVER_GONE,
    LK_SERVER_STATES,
};

/* Why a server can't go home: computed by lk_server_pins from what is so, never stored. */
enum lk_pin {
    LK_PIN_TRANSACTION = 1,
    LK_PIN_LOCKS = 2,
    LK_PIN_UNSURE = 4,
    LK_PIN_PIPELINE = 8,
    LK_PIN_COPY = 16,
    LK_PIN_CANCELLING = 32,
    LK_PIN_SESSION_MODE = 64,
};

enum lk_copy { LK_COPY_NONE, LK_COPY_IN, LK_COPY_OUT };

/* The next step of cleaning to look at; goes up only. */
enum lk_clean_stage {
    LK_CLEAN_ROLLBACK, /* answers of the client's may still be awaited */
    LK_CLEAN_PROBE,
    LK_CLEAN_AUTHORIZATION,
    LK_CLEAN_CONNECT,  /* connect_query, on a new server */
    LK_CLEAN_RESET,
    LK_CLEAN_QUERY,    /* server_reset_query */
    LK_CLEAN_CHECK,    /* server_check_query */
    LK_CLEAN_DONE,
};

/* A text that ran since the last settlement and is not trusted. */
struct lk_suspect {
    struct lk_text *text; /* a reference; may be NULL */
    uint64_t fingerprint; /* 0: none */
    bool alone;
    bool touch;           /* a touch: a lock found is no surprise */
    uint8_t tenths;       /* of evidence, if the probe finds nothing */
};
#define LK_SUSPECTS 16

/* What ran on a server since it was lent or last settled. */
struct lk_run {
    uint32_t texts;       /* how many, trusted ones too */
    struct lk_suspect first; /* the only one so far; judged when a second comes or at ReadyForQuery */
    bool first_pending;
    struct lk_analysis *bound; /* what was bound last and has not been executed; a reference; NULL: nothing */
    struct lk_suspect suspects[LK_SUSPECTS];
    uint32_t suspect_count; /* may exceed LK_SUSPECTS: the rest is not named */
    bool began_exact;     /* the ledger was exactly zero at its start */
    struct lk_now ended;  /* when the last text did */
    bool blamed;          /* a suspect was blamed before: the probe is not to be skipped */
    bool in_transaction;  /* something other than one autocommit statement */
};

/* The transaction as tags tell of it, and the locks that were shortened to it: written by session/shorten, for policy
 * rewrite. */
struct lk_block {
    uint8_t state;       /* as of the last answer: 'I', 'T', 'E'; '?': not known before the next ReadyForQuery */
    bool rolled_back;    /* a ROLLBACK, or ROLLBACK TO, was answered since the last ReadyForQuery */
    uint32_t savepoints; /* no more than so many are open */
    struct lk_ledger shortened;
};

struct lk_server {
    struct lk_end end; /* first */
    struct lk_seat seat;
    enum lk_server_state state; /* written in server.c only: lk_server_enter */
    int64_t state_us;
    struct lk_node node;       /* in core->servers */
    uint64_t id;
    uint32_t pid;
    uint8_t secret[256];
    uint16_t secret_n;
    char local_addr[64];
    int local_port;
    char *host;                /* where it was opened, whatever a RELOAD has made of its pool since; owned */
    int port;
    char remote_addr[64];      /* as connected; "unix" */
    int64_t connect_wall_us, request_us, request_wall_us;
    int64_t heard_us;          /* when it last said something */
    uint8_t status;            /* of the last ReadyForQuery: 'I', 'T', 'E' */
    enum lk_copy copy;
    struct lk_replies replies;
    uint32_t remain;           /* bytes of a long frame from the server still to come */
    bool remain_passed;
    struct lk_client *client;  /* LINKED only */
    struct lk_errand *errand;  /* its owner's: ERRAND, and before that if it was opened for one */
    int64_t wait_told_us;      /* request_us of the request whose wait for a lock was told */
    struct lk_who *who;        /* whom it is lent to, or was until it is clean; a reference */
    struct lk_core *core;      /* for who listens to the ledger */
    struct lk_ledger ledger;
    struct lk_block block;
    struct lk_run run;
    uint32_t ran;                /* a client's statements since the last ReadyForQuery; written in remark, as the next */
    struct lk_text *only_locked; /* one of them that only took transaction-level locks; a reference */
    bool locks_told;           /* a pin record was written and no unpin yet */
    struct lk_now pinned_since;
    struct lk_key pinned_key;  /* the lock that the pin record named */
    enum lk_lock_mode pinned_mode;
    bool reset_fresh;          /* a reset has succeeded and no text of a client's was sent since */
    uint32_t cancels;          /* cancel connections to it that have not ended */
    enum lk_clean_stage clean;
    enum lk_reason clean_reason; /* why the client let go */
    uint32_t tries;            /* of the step of cleaning under way */
    char ours_failed[6];       /* SQLSTATE that our own statement under way got; empty: none */
    bool probe_failed;         /* the last probe gave no answer: what is held stays unknown until the reset */
    uint32_t following;        /* set of parameters that lk_params_follow has on its way */
    bool no_fcall;             /* it refuses FunctionCall */
    bool probe_parsed;         /* the probe's statement is there */
    bool close_after;          /* lifetime, RECONNECT, KILL, settings: close instead of IDLE */
    bool untrusted_release;    /* an evidence probe was skipped: reset also under `tracked` */
    int64_t probe_began_us;
    bool probe_metered;        /* the last one went out for evidence or as a sample, not since a text asked for it */
    uint32_t probe_found;      /* locks that its answer showed and no plan explains, so far */
    bool probe_settled;        /* a probe has answered and nothing has run since */
    int64_t unused_since_us;   /* when it was last given back; queries of upkeep don't count */
    int64_t used_us;           /* since it was lent, for the probe meter */
    struct lk_login *login;    /* LOGIN only */
    bool unix_socket;
    bool tls_asked;            /* LOGIN: the answer to SSLRequest is awaited */
    struct lk_error failure;   /* why its login failed, once it has */
    bool said_farewell;        /* its FATAL went to its client, which needs none of ours */
    struct lk_params params;
    char *authorization;       /* session_authorization as reported; owned */
    struct lk_parsed_set parsed;
    bool names_doubtful;       /* a client may have taken a name of ours for a text of its own: close before each Parse */
    struct lk_statement *unnamed; /* a reference: what its unnamed statement is */
};

#endif
