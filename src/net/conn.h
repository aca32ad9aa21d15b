/* A connection as the shell has it: a descriptor, its events, what was read and not yet taken, what could not be sent
 * yet. First and last step of a query's walk: bytes come in here and are handed to the core, bytes of SEND effects
 * leave here.
 *
 * An idle connection owns no buffer. Reading goes into the worker's one shared buffer; what the core leaves (half a
 * frame, or all of it while the end is paused) is kept in `in`. Sending is tried at once; what the socket doesn't take
 * is kept in `out`, which exists, with an event of its own, only for so long.
 *
 * An encrypted connection goes through net/tls at the two places where bytes are received and sent; all else is the
 * same. What libssl has read ahead shows on no socket, so the input event is then raised by hand.
 *
 * Bounds: a paused end's `in` stops being filled at LK_CONN_PAUSED_MAX; half a frame is bounded by the core, which asks
 * for no more than it gathers. When `out` of an end exceeds LK_CONN_OUT_HIGH, the connection whose input made it so is
 * stalled: it is not read until `out` has fallen below LK_CONN_OUT_LOW or its connection is closed. */
#ifndef LK_NET_CONN_H
#define LK_NET_CONN_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/list.h"
#include "session/effect.h"

struct lk_worker;
struct lk_dial;
struct lk_secure;

#define LK_CONN_READ_BYTES ((size_t)64 * 1024)
/* A remainder up to this size is copied in front of the next read, into the shared buffer's head room. */
#define LK_CONN_HEAD_ROOM ((size_t)4096)
#define LK_CONN_PAUSED_MAX ((size_t)64 * 1024)
#define LK_CONN_OUT_HIGH ((size_t)256 * 1024)
#define LK_CONN_OUT_LOW ((size_t)64 * 1024)
/* How long a closed end's last bytes may take to leave, and how long what its peer still sends is awaited and dropped,
 * so that the kernel doesn't answer it with a reset that overtakes our last message. */
#define LK_CONN_FLUSH_US (5 * LK_SECOND_US)
#define LK_CONN_DRAIN_US (1 * LK_SECOND_US)

enum lk_conn_state {
    LK_CONN_OPENING, /* an OPEN effect under way */
    LK_CONN_OPEN,
    LK_CONN_FLUSHING, /* closed by the core; `out` still has to leave */
    LK_CONN_DRAINING, /* closed by the core and half-closed by us; waits for the peer's end */
    LK_CONN_DEAD,     /* freed at the end of the loop's turn */
};

/* Steps that wait until the effects of the one under way are carried out. */
enum lk_conn_todo {
    LK_TODO_OPENED = 1,
    LK_TODO_LOST = 2,
    LK_TODO_REPLAY = 4,
    LK_TODO_SHAKE = 8,
};

/* What could not be sent at once. */
struct lk_out {
    struct event event;
    struct lk_buf bytes;
    size_t sent;            /* of bytes */
    struct lk_list stalled; /* connections not read because of this backlog: struct lk_conn.stall_node */
};

struct lk_conn {
    struct lk_worker *worker;
    struct lk_end *end;  /* NULL: the core has done with it */
    int fd;              /* -1: none yet */
    uint8_t state;       /* enum lk_conn_state */
    uint8_t kind;        /* enum lk_end_kind */
    uint8_t todo;        /* set of enum lk_conn_todo */
    bool listening;      /* `event` waits for input */
    bool broken;         /* a send failed: nothing more is sent, what has come is still read */
    const char *why;     /* LOST: the reason; a constant */
    uint64_t sent_turn;  /* the last turn in which something was sent */
    int64_t deadline_us; /* FLUSHING, DRAINING */
    struct event event;  /* input; OPENING: the connect */
    struct lk_buf in;
    struct lk_secure *tls;      /* owned; NULL: in the clear */
    struct lk_out *out;         /* owned; NULL: nothing waits */
    struct lk_dial *dial;       /* owned; OPENING only */
    struct lk_conn *stalled_on; /* whose backlog this one waits for */
    struct lk_node node;        /* in one of the worker's lists: conns, deaf, closing, dead */
    struct lk_node todo_node;   /* in the worker's todo */
    struct lk_node stall_node;  /* in stalled_on->out->stalled */
};

/* A connection for that end; `fd` may be -1 until it is dialled. */
struct lk_conn *lk_conn_new(struct lk_worker *w, struct lk_end *end, int fd, enum lk_conn_state state);
/* From OPENING to OPEN, and reads. */
void lk_conn_start(struct lk_conn *c);
/* Reads, or doesn't, as the states of conn and end want it. To be called after each step that may have changed them. */
void lk_conn_listen(struct lk_conn *c);
/* A SEND effect's bytes, gathered: at most LK_CONN_PARTS parts, which are changed. */
#define LK_CONN_PARTS 64
void lk_conn_send(struct lk_conn *c, struct iovec *parts, size_t count);
/* A CLOSE effect. The end is not used from here on. */
void lk_conn_close(struct lk_conn *c, bool force);
/* A TLS effect. `host`: of the server; NULL: the peer is a client. */
void lk_conn_secure(struct lk_conn *c, const char *host);
/* Goes on with the handshake, as far as it gets; when it is done the core is told. */
void lk_conn_shake(struct lk_conn *c);
/* A RESUME effect: no longer stalled, and its kept input is to be handed in again. */
void lk_conn_resume(struct lk_conn *c);
/* Notes a step that has to wait for the one under way. `why` for LOST. */
void lk_conn_todo(struct lk_conn *c, enum lk_conn_todo what, const char *why);
/* Hands the kept input to the core (RESUME). */
void lk_conn_replay(struct lk_conn *c);
/* The connection is gone: what it still has to say is read, then the core is told. */
void lk_conn_lose(struct lk_conn *c);
/* The tick: deadlines of closed ends, and peers that went away while they are not read. */
void lk_conn_tick(struct lk_worker *w);
/* Closes the descriptor and puts the connection among the dead. */
void lk_conn_destroy(struct lk_conn *c);
/* The end of a turn: frees the dead. */
void lk_conn_bury(struct lk_worker *w);

#endif
