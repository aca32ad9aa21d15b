/* A core of the sessions with clients and servers on paper: no sockets, invented time. Carries out the effects of each step
 * as net/apply does, and tells what reached each peer as a list of messages in words. */
#ifndef LK_TESTS_REPLAY_WORLD_H
#define LK_TESTS_REPLAY_WORLD_H

#include "message.h"
#include "session/core.h"

#define PEERS_MAX 64
#define RECORDS_MAX 256

/* The far side of a connection: a client C…, a PostgreSQL backend S…, or a cancel connection K…. */
struct peer {
    char name[16];
    enum lk_end_kind kind;
    struct lk_end *end;     /* NULL: closed */
    bool to_open, to_replay; /* what the shell would do at the next turn of its loop */
    bool greeted;           /* client: welcomed; server: its startup packet was answered */
    struct lk_buf unread;   /* said by the peer, not yet consumed by the core */
    struct lk_buf wire;     /* said by the core, not yet a whole frame */
    struct lk_buf answer;   /* what an automatic server says next */
    char **messages;        /* that came, in words; owned */
    size_t count, read;
    bool probing;           /* server: an automatic probe's messages are coming in */
    uint32_t pid;           /* server: its own; client: of the cancel key that it was given */
    uint32_t secret;
};

struct world {
    bool bytewise; /* input is handed in byte by byte */
    bool tracing;
    struct lk_buf pooler_lines, lock_lines, database_lines; /* of the ini */
    bool auto_setup, auto_reset, auto_probe;
    char probe_answer[256]; /* keys, or "none" */
    struct lk_shared shared;
    struct lk_core *core; /* NULL: not started */
    struct lk_now now;
    struct peer peers[PEERS_MAX];
    size_t peer_count;
    unsigned servers, cancellers;
    struct lk_record *records[RECORDS_MAX];
    size_t record_count, record_read;
    char problem[4096]; /* what went wrong; empty: nothing */
};

void world_init(struct world *w, bool bytewise, bool tracing);
/* Makes the core from the ini lines gathered; false: problem says why. */
bool world_start(struct world *w);
void world_free(struct world *w);

struct peer *world_find(struct world *w, const char *name);
/* A new client, without a byte sent; NULL: no room. */
struct peer *world_accept(struct world *w, const char *name);
/* The peer says these bytes; the core's answers are carried out until nothing is left to do. */
void world_say(struct world *w, struct peer *p, struct lk_span bytes);
void world_lose(struct world *w, struct peer *p);
void world_pass_time(struct world *w, int64_t us);
/* A RELOAD with what settings were said since. False: w->problem. */
bool world_reload(struct world *w);

/* --- servers.c: what automatic backends do --- */
/* Takes whole frames off p->wire; what isn't answered automatically becomes messages. */
void peer_read(struct world *w, struct peer *p);
/* The answer to a probe that finds these keys ("none", "9527 1001,42/shared"). */
void server_probed(struct lk_buf *out, const char *keys);
void server_unlocked(struct lk_buf *out);

#endif
