/* Effects: what a step of the core wants done outside. A step does no I/O; it appends to the core's list, and net/apply
 * carries the list out in order after the step. */
#ifndef LK_SESSION_EFFECT_H
#define LK_SESSION_EFFECT_H

#include "base/arena.h"
#include "lock/record.h"

enum lk_end_kind { LK_END_CLIENT, LK_END_SERVER, LK_END_CANCEL };

/* The core's side of one connection: the first member of struct lk_client, lk_server and lk_canceller. */
struct lk_end {
    enum lk_end_kind kind;
    bool dead;    /* written by the core at CLOSE: no further input is wanted; freed at lk_core_settle */
    bool paused;  /* written by the core: what it left unread waits for a RESUME, not for more bytes */
    bool stalled; /* written by the shell: it stopped reading, since the peer's output is full */
    bool securing;           /* written by the core at TLS, and taken back at lk_core_secured */
    const char *tls;         /* written by the shell: "TLSv1.3/TLS_AES_256_GCM_SHA384"; NULL: in the clear */
    const char *tls_peer_cn; /* written by the shell: common name of the peer's certificate, verified; NULL: none */
    /* Written by the shell: what a SCRAM login over this connection is bound to; empty: nothing. Lives as long as the
     * connection. */
    struct lk_span tls_binding;
    void *conn; /* the shell's connection; the core hands it back untouched */
};

enum lk_effect_kind {
    LK_EFFECT_SEND,    /* bytes to end. They lie in the step's input or in the core's arena: gone after lk_core_settle */
    LK_EFFECT_OPEN,    /* connect end to host:port; then lk_core_opened or lk_core_lost */
    LK_EFFECT_TLS,     /* from here on end is encrypted; then lk_core_secured or lk_core_lost. No input until then */
    LK_EFFECT_CLOSE,   /* send what is queued, then close; the end is dead from here on. force: without sending */
    LK_EFFECT_RESUME,  /* hand the unread input in again (and read on, should the end be stalled) */
    LK_EFFECT_RECORD,  /* to the leak log, which takes the record over */
    LK_EFFECT_CONSOLE, /* a console client's command: text; answered by lk_core_console_reply */
};

struct lk_effect {
    enum lk_effect_kind kind;
    struct lk_end *end; /* NULL for RECORD */
    union {
        struct lk_span bytes; /* SEND, CONSOLE */
        struct lk_record *record;
        struct {
            const char *host; /* a name, an address, a folder of sockets, "@abstract"; lives as long as the server */
            int port;
        } open;
        const char *tls_host; /* TLS: the server's name, which lives as open.host does; NULL: the end is a client */
        bool force;
    } u;
};

struct lk_effects {
    struct lk_effect *items; /* owned */
    size_t count;
    size_t room;
};

void lk_effects_clear(struct lk_effects *e);
/* Appends; a SEND that continues the last one's bytes to the same end is merged with it. */
void lk_effects_send(struct lk_effects *e, struct lk_end *end, struct lk_span bytes);
void lk_effects_open(struct lk_effects *e, struct lk_end *end, const char *host, int port);
void lk_effects_tls(struct lk_effects *e, struct lk_end *end, const char *host);
void lk_effects_close(struct lk_effects *e, struct lk_end *end, bool force);
void lk_effects_resume(struct lk_effects *e, struct lk_end *end);
void lk_effects_record(struct lk_effects *e, struct lk_record *record);
void lk_effects_console(struct lk_effects *e, struct lk_end *end, struct lk_span text);

#endif
