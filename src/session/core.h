/* The core of a worker: its clients, servers and pools, as one value without descriptors or clock. The shell (net/) calls
 * the functions below, each of which is a step: it changes state and appends effects; after each step the shell carries out
 * core->effects in order and calls lk_core_settle. */
#ifndef LK_SESSION_CORE_H
#define LK_SESSION_CORE_H

#include "auth/users.h"
#include "config/settings.h"
#include "lock/statements.h"
#include "lock/trust.h"
#include "pool/pool.h"
#include "session/client.h"
#include "session/effect.h"
#include "session/names.h"
#include "session/server.h"

/* What all workers share. Made by main before the first worker. */
struct lk_shared {
    struct lk_budgets *budgets;
    atomic_ullong next_id;         /* clients and backends */
    atomic_ullong next_statement;
    atomic_int clients;            /* connected, over all workers: max_client_conn */
    struct lk_hash_key hash_key;   /* random at start */
    uint8_t mock_key[32];          /* random at start: mock SCRAM salts */
    void (*random)(uint8_t *out, size_t n);
    bool no_errands;               /* no query of our own but auth_query: for tests whose backends are played */
    bool separate_resets;          /* never piggyback a reset: for tests that look at cleaning by itself */
    uint32_t pid;
    uint32_t uid;
};

/* SUSPENDED: the shell reads no connection that is silent, and time stands still. */
enum lk_core_mode {
    LK_CORE_ACTIVE,
    LK_CORE_PAUSED,
    LK_CORE_SUSPENDED,
    LK_CORE_WAIT_FOR_SERVERS,
    LK_CORE_WAIT_FOR_CLIENTS,
};

/* A CancelRequest on its way to a server. */
struct lk_canceller {
    struct lk_end end; /* first */
    struct lk_node node;
    struct lk_server *server; /* whose cancels it counts in; NULL: that server went away */
    struct lk_client *client; /* the connection that asked; NULL: ours, or it went away */
    struct lk_buf packet;
    bool encrypt;             /* the server's own connection is */
    bool tls_asked;           /* the answer to SSLRequest is awaited */
    int64_t since_us;
};

struct lk_key_of_user;

struct lk_core {
    struct lk_shared *shared;
    uint32_t worker;              /* its number, from 0 */
    struct lk_settings *settings; /* a reference */
    struct lk_users *users;
    struct lk_now now;            /* of the step under way */
    struct lk_effects effects;
    struct lk_arena arena;        /* bytes of effects, until lk_core_settle */
    struct lk_list clients;       /* struct lk_client.node */
    struct lk_list servers;       /* struct lk_server.node */
    struct lk_list cancellers;
    struct lk_list dead[3];       /* ends to be freed at settle, by enum lk_end_kind */
    struct lk_list pools;         /* struct lk_pool.node */
    struct lk_client *keys;       /* uthash by cancel key */
    struct lk_analysis_cache *analyses;
    struct lk_trust *trust;
    uint64_t *remarks; /* which lints were told lately; LK_REMARKS of them, or NULL; written in session/remark.c */
    struct lk_statements *lock_statements; /* written in session/holds.c */
    struct lk_statement *statements; /* uthash */
    struct lk_interned *interned;    /* uthash: parameter values */
    struct lk_sweep *sweeps;         /* of the servers (host, port) */
    struct lk_catalog *catalogs;     /* of the servers' databases */
    struct lk_lookup *lookups;       /* uthash: secrets that auth_query found */
    bool lookups_md5;                /* ... the last of them was an md5 hash */
    struct lk_key_of_user *user_keys; /* uthash: ClientKeys and passwords that logins revealed */
    const char *extra_params[LK_PARAM_MAX - LK_PARAM_FIXED]; /* of track_extra_parameters, without fixed ones; owned */
    unsigned param_count;
    const char *encoding_seen; /* the client_encoding last looked up, and what was found */
    bool encoding_safe;
    uint64_t next_scope;
    bool serve_due;               /* some pool's is */
    enum lk_core_mode mode;
    struct lk_names paused;       /* databases that PAUSE or KILL named */
    struct lk_names disabled;     /* databases that DISABLE named */
    int64_t stats_us;             /* when averages were last made */
};

struct lk_peer {
    const char *addr; /* "127.0.0.1", "unix" */
    int port;
    bool unix_socket;
    uint32_t uid; /* UINT32_MAX: not known */
    const char *local_addr;
    int local_port;
    const char *user; /* the system's name of uid; NULL: not known, or nobody asks */
};

/* Takes a reference of its own to the settings. */
struct lk_core *lk_core_new(struct lk_shared *shared, uint32_t worker, struct lk_settings *settings, struct lk_now now);
/* All ends have been closed before (LK_EFFECT_CLOSE or lost). */
void lk_core_free(struct lk_core *core);

/* --- steps --- */
/* A new client; the shell sets end->conn. */
struct lk_end *lk_core_accept(struct lk_core *core, const struct lk_peer *peer, struct lk_now now);
/* Bytes from an end; returns how many were consumed. The rest is to be kept and handed in again, with more behind it, or at
 * a RESUME if end->paused. */
size_t lk_core_input(struct lk_core *core, struct lk_end *end, struct lk_span in, struct lk_now now);
/* An OPEN succeeded. */
void lk_core_opened(struct lk_core *core, struct lk_end *end, const struct lk_peer *peer, struct lk_now now);
/* The handshake that a TLS effect asked for has succeeded: end->tls is set, and input is plaintext from here on. */
void lk_core_secured(struct lk_core *core, struct lk_end *end, struct lk_now now);
/* The connection is gone, or an OPEN failed: `why` for the log ("Connection refused"). The end is dead afterwards. */
void lk_core_lost(struct lk_core *core, struct lk_end *end, const char *why, struct lk_now now);
/* Time-outs and upkeep; call it about every 100 ms, or sooner. */
void lk_core_tick(struct lk_core *core, struct lk_now now);
/* New settings (RELOAD); takes a reference of its own. */
void lk_core_reload(struct lk_core *core, struct lk_settings *settings, struct lk_now now);

/* --- after each step, once the effects are carried out --- */
void lk_core_settle(struct lk_core *core);

/* --- the console --- */
/* Bytes for a console client: frames of an answer. */
void lk_core_console_reply(struct lk_core *core, struct lk_client *client, struct lk_span frames);
/* Notices for a console client, which belong to no answer. */
void lk_core_console_news(struct lk_core *core, struct lk_client *client, struct lk_span frames);
/* The command is answered: ReadyForQuery goes out and further commands are read. */
void lk_core_console_done(struct lk_core *core, struct lk_client *client);
/* database NULL: all. PAUSE: stop lending; paused when lk_core_paused. */
void lk_core_pause(struct lk_core *core, const char *database, struct lk_now now);
bool lk_core_paused(const struct lk_core *core, const char *database);
void lk_core_resume(struct lk_core *core, const char *database, struct lk_now now);
/* SUSPEND, of an active core: it lends no more servers. What happens on connections is the shell's, which asks: */
void lk_core_suspend(struct lk_core *core);
/* Does SUSPEND concern this end? Not one that logs in, is on the console or carries a cancel. */
bool lk_core_suspends(const struct lk_end *end);
/* Has neither it nor the pooler anything to finish: no message half sent on, no cleaning under way? */
bool lk_core_silent(const struct lk_end *end);
/* It was not silent in time: it is closed. */
void lk_core_suspend_late(struct lk_core *core, struct lk_end *end, struct lk_now now);
/* KILL: closes clients and servers of that database with an error, and pauses it. */
void lk_core_kill(struct lk_core *core, const char *database, struct lk_now now);
/* Servers are closed as soon as no client has them. */
void lk_core_reconnect(struct lk_core *core, const char *database, struct lk_now now);
/* Are there servers that are to be closed and are not? */
bool lk_core_reconnecting(const struct lk_core *core, const char *database);
/* DISABLE: nobody logs in to the database any more. Who is in stays. */
void lk_core_disable(struct lk_core *core, const char *database);
void lk_core_enable(struct lk_core *core, const char *database);
/* KILL_CLIENT; false: this worker has no such client. */
bool lk_core_kill_client(struct lk_core *core, uint64_t id, struct lk_now now);
/* SHUTDOWN: WAIT_FOR_SERVERS (new queries wait for ever; ends when no server is linked) or WAIT_FOR_CLIENTS. */
void lk_core_stop(struct lk_core *core, enum lk_core_mode mode, struct lk_now now);
/* May the worker end? */
bool lk_core_stopped(const struct lk_core *core);
/* Ends everything: clients get FATAL 57P01 "pooler is shutting down", leaks are recorded, connections closed. */
void lk_core_shutdown(struct lk_core *core, struct lk_now now);

/* Reasons for which a server stays with its client: set of enum lk_pin. */
unsigned lk_server_pins(const struct lk_core *core, const struct lk_server *server);

#endif
