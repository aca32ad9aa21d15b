/* A client: the machine from startup packet to Terminate. */
#ifndef LK_SESSION_CLIENT_H
#define LK_SESSION_CLIENT_H

#include "auth/exchange.h"
#include "base/list.h"
#include "pool/pool.h"
#include "session/effect.h"
#include "session/params.h"
#include "session/prepared.h"
#include "session/who.h"

struct lk_server;
struct lk_lookup;

enum lk_client_state {
    LK_CLIENT_STARTUP, /* before its startup packet */
    LK_CLIENT_LOOKUP,  /* auth_query is asked for its secret */
    LK_CLIENT_AUTH,    /* authentication messages go to and fro */
    LK_CLIENT_WELCOME, /* authenticated; waits for the parameters of its pool's first server */
    LK_CLIENT_READY,   /* logged in, without a server */
    LK_CLIENT_WAITING, /* in the pool's queue, its message unread */
    LK_CLIENT_LINKED,  /* has a server */
    LK_CLIENT_CONSOLE, /* on the admin console */
    LK_CLIENT_CANCEL,  /* a CancelRequest; open until it has been carried out */
    LK_CLIENT_GONE,
    LK_CLIENT_STATES,
};

/* An open portal, from Bind to the end of the transaction. */
struct lk_portal {
    char *name; /* owned; NULL: the unnamed one */
    struct lk_analysis *analysis; /* a reference */
    struct lk_watch *watch;       /* owned; as bound; NULL: no touch */
    UT_hash_handle hh;
};

struct lk_client {
    struct lk_end end; /* first */
    enum lk_client_state state; /* written by client_enter only */
    int64_t state_us;           /* since when */
    struct lk_node node;        /* in core->clients */
    struct lk_who *who;         /* a reference */
    uint32_t peer_uid;          /* over a unix socket; UINT32_MAX else */
    char *peer_user;            /* the system's name of it; owned; NULL: not known */
    bool unix_socket;
    char *database, *user;
    char local_addr[64];
    int local_port;
    int64_t connect_us, connect_wall_us;
    int64_t request_us;         /* when the request at hand began; 0: none */
    int64_t request_wall_us;
    int64_t transaction_us;     /* when its transaction began */
    struct lk_budget *budgets[2]; /* of its database's and user's clients: it holds a unit of each; NULL: of none */
    struct lk_pool *pool;       /* from authentication on; NULL on the console */
    const struct lk_user_settings *limits; /* line of [users], or NULL; valid while core->settings is */
    struct lk_waiter place;
    struct lk_server *server;   /* LINKED only */
    struct lk_lookup *lookup;     /* LOOKUP only: what it waits for, with others maybe */
    struct lk_exchange *exchange; /* AUTH only */
    char *auth_secret;          /* AUTH: what the exchange measures by, a copy that outlives a RELOAD; owned, wiped */
    bool asked_tls, asked_gss;  /* STARTUP: it sent SSLRequest, GSSENCRequest */
    struct lk_params params;
    struct lk_prepared_map prepared;
    struct lk_statement *unnamed; /* a reference: the client's unnamed statement */
    struct lk_portal portal;      /* the unnamed portal */
    struct lk_portal *portals;    /* named ones, uthash */
    uint32_t cancel_pid;
    uint32_t cancel_secret;
    UT_hash_handle by_key;        /* in core->keys, by cancel_pid and cancel_secret */
    uint32_t remain;              /* bytes of a long frame still to be forwarded */
    bool remain_dropped;          /* ... to nowhere */
    bool skip_to_sync;            /* it got an error of ours: messages up to Sync are passed over */
    bool held;                    /* its next message waits until its server has answered what is outstanding */
    bool cancelled;               /* the message that it waited with was cancelled: answered with 57014, not sent */
    bool wait_told;               /* WAITING: it was told that it waits (query_wait_notify) */
    bool terminated;              /* it said Terminate */
    bool admin;                   /* CONSOLE: all commands; else SHOW only */
    bool console_busy;            /* CONSOLE: a command's answer is outstanding */
    struct lk_buf console_text;   /* CONSOLE: the last Parse's statement name and command, each with its NUL */
    uint8_t console_answers;      /* CONSOLE: the message that the outstanding answer is for: 'Q', 'D' or 'E' */
    bool console_described;       /* CONSOLE: ... a Describe, and its RowDescription went out */
};

#endif
