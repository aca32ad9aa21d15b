#include "net/conn.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/apply.h"
#include "net/dial.h"
#include "net/suspend.h"
#include "net/tls.h"

/* Reads of one connection in one turn, as long as each fills the buffer. */
#define READS_MAX 5
/* Reads of what a broken connection still has to say. */
#define LAST_READS_MAX 16
/* One read of a paused end, most of which send little. */
#define PAUSED_READ_BYTES ((size_t)4096)

static void on_input(evutil_socket_t fd, short what, void *arg);

static void
move(struct lk_conn *c, struct lk_list *from, struct lk_list *to)
{
    lk_list_remove(from, &c->node);
    lk_list_push(to, &c->node);
}

static struct lk_list *
list_of(const struct lk_conn *c)
{
    struct lk_worker *w = c->worker;
    if (c->state == LK_CONN_DEAD)
        return &w->dead;
    if (c->state == LK_CONN_FLUSHING || c->state == LK_CONN_DRAINING)
        return &w->closing;
    return c->state == LK_CONN_OPEN && !c->listening ? &w->deaf : &w->conns;
}

struct lk_conn *
lk_conn_new(struct lk_worker *w, struct lk_end *end, int fd, enum lk_conn_state state)
{
    struct lk_conn *c = LK_NEW(struct lk_conn);
    c->worker = w;
    c->end = end;
    c->kind = (uint8_t)end->kind;
    c->fd = fd;
    c->state = (uint8_t)state;
    end->conn = c;
    lk_list_push(list_of(c), &c->node);
    return c;
}

void
lk_conn_start(struct lk_conn *c)
{
    struct lk_list *from = list_of(c);
    c->state = LK_CONN_OPEN;
    event_assign(&c->event, c->worker->base, c->fd, EV_READ | EV_PERSIST, on_input, c);
    c->listening = event_add(&c->event, NULL) == 0;
    move(c, from, list_of(c));
}

/* The handshake of an encrypted connection is under way: there is neither input nor output yet. */
static bool
shaking(const struct lk_conn *c)
{
    return c->tls && lk_tls_shaking(c->tls);
}

/* Input that libssl has already read shows on no socket. */
static void
raise_pending(struct lk_conn *c)
{
    if (c->tls && c->listening && !shaking(c) && lk_tls_pending(c->tls))
        event_active(&c->event, EV_READ, 0);
}

void
lk_conn_listen(struct lk_conn *c)
{
    bool want = c->state == LK_CONN_DRAINING;
    if (c->state == LK_CONN_OPEN && c->end)
        want = !c->stalled_on && !(c->end->paused && c->in.len >= LK_CONN_PAUSED_MAX) && !lk_suspend_holds(c);
    if (want == c->listening)
        return;
    struct lk_list *from = list_of(c);
    if (want)
        (void)event_add(&c->event, NULL);
    else
        (void)event_del(&c->event);
    c->listening = want;
    move(c, from, list_of(c));
    raise_pending(c);
}

void
lk_conn_todo(struct lk_conn *c, enum lk_conn_todo what, const char *why)
{
    c->todo |= (uint8_t)what;
    if (why && !c->why)
        c->why = why;
    if (!lk_node_on_list(&c->todo_node))
        lk_list_push(&c->worker->todo, &c->todo_node);
}

/* --- stalling --- */

static void
unstall(struct lk_conn *c)
{
    if (!c->stalled_on)
        return;
    lk_list_remove(&c->stalled_on->out->stalled, &c->stall_node);
    c->stalled_on = NULL;
    if (c->end)
        c->end->stalled = false;
}

static void
stall(struct lk_conn *c, struct lk_conn *on)
{
    if (c->stalled_on || !c->end)
        return;
    c->stalled_on = on;
    c->end->stalled = true;
    lk_list_push(&on->out->stalled, &c->stall_node);
    lk_conn_listen(c);
}

static void
release_stalled(struct lk_out *out)
{
    LK_LIST_EACH (&out->stalled, struct lk_conn, stall_node, c) {
        unstall(c);
        lk_conn_listen(c);
    }
}

/* --- the way out --- */

static void on_output(evutil_socket_t fd, short what, void *arg);

static void
drop_out(struct lk_conn *c)
{
    struct lk_out *out = c->out;
    if (!out)
        return;
    release_stalled(out);
    (void)event_del(&out->event);
    lk_buf_clear(&out->bytes);
    free(out);
    c->out = NULL;
}

static void
on_send_failed(struct lk_conn *c, const char *why)
{
    if (!c->end) {
        lk_conn_destroy(c);
        return;
    }
    c->broken = true;
    if (c->out)
        (void)event_del(&c->out->event);
    lk_conn_todo(c, LK_TODO_LOST, why);
}

/* Bytes taken by the socket, 0 if it is full; false: it is broken. */
static bool
try_send(struct lk_conn *c, const struct iovec *parts, size_t count, size_t *taken)
{
    if (c->tls) {
        const char *why = NULL;
        if (lk_tls_write(c->tls, parts, count, taken, &why) != LK_TLS_END)
            return true;
        on_send_failed(c, why);
        return false;
    }
    ssize_t n;
    do {
        if (count == 1) {
            n = send(c->fd, parts[0].iov_base, parts[0].iov_len, MSG_NOSIGNAL | MSG_DONTWAIT);
        } else {
            struct msghdr m = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = count};
            n = sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
    } while (n < 0 && errno == EINTR);
    *taken = n > 0 ? (size_t)n : 0;
    if (n >= 0 || errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS)
        return true;
    on_send_failed(c, strerrordesc_np(errno));
    return false;
}

/* Waits for room in the socket. */
static void
want_output(struct lk_conn *c)
{
    if (c->out)
        return;
    c->out = LK_NEW(struct lk_out);
    lk_list_init(&c->out->stalled);
    event_assign(&c->out->event, c->worker->base, c->fd, EV_WRITE | EV_PERSIST, on_output, c);
    (void)event_add(&c->out->event, NULL);
}

/* Keeps what was not taken. */
static void
keep(struct lk_conn *c, const struct iovec *parts, size_t count, size_t taken)
{
    want_output(c);
    struct lk_buf *b = &c->out->bytes;
    if (c->out->sent > b->len / 2) {
        lk_buf_drop(b, c->out->sent);
        c->out->sent = 0;
    }
    for (size_t i = 0; i < count; i++) {
        size_t skip = taken < parts[i].iov_len ? taken : parts[i].iov_len;
        taken -= skip;
        (void)lk_buf_add(b, (const uint8_t *)parts[i].iov_base + skip, parts[i].iov_len - skip);
    }
    if (b->failed)
        on_send_failed(c, "out of memory");
    else if (b->len - c->out->sent > LK_CONN_OUT_HIGH && c->worker->source)
        stall(c->worker->source, c);
}

void
lk_conn_send(struct lk_conn *c, struct iovec *parts, size_t count)
{
    assert(c->state == LK_CONN_OPEN);
    if (c->broken || shaking(c))
        return;
    c->sent_turn = c->worker->turn;
    size_t taken = 0, total = 0;
    if (!c->out && !try_send(c, parts, count, &taken))
        return;
    for (size_t i = 0; i < count; i++)
        total += parts[i].iov_len;
    if (taken < total)
        keep(c, parts, count, taken);
}

/* Everything has left a connection that the core has closed. */
static void
finish_close(struct lk_conn *c, bool linger)
{
    if (c->tls)
        lk_tls_bye(c->tls);
    /* A peer that has already gone, or that sent Terminate, needs no waiting for. */
    if (!linger || shutdown(c->fd, SHUT_WR) != 0) {
        lk_conn_destroy(c);
        return;
    }
    struct lk_list *from = list_of(c);
    c->state = LK_CONN_DRAINING;
    c->deadline_us = c->worker->now.mono_us + LK_CONN_DRAIN_US;
    move(c, from, list_of(c));
    lk_conn_listen(c);
}

/* A handshake, or a read that has to answer first, waited for room. */
static void
on_room(struct lk_conn *c)
{
    drop_out(c);
    if (shaking(c))
        lk_conn_shake(c);
    else if (c->listening)
        event_active(&c->event, EV_READ, 0);
}

static void
on_output(evutil_socket_t fd, short what, void *arg)
{
    struct lk_conn *c = arg;
    struct lk_worker *w = c->worker;
    lk_worker_wake(w);
    struct lk_out *out = c->out;
    if (out->bytes.len == 0) {
        on_room(c);
        lk_apply_finish(w);
        return;
    }
    struct iovec rest = {out->bytes.data + out->sent, out->bytes.len - out->sent};
    size_t taken;
    if (try_send(c, &rest, 1, &taken)) {
        out->sent += taken;
        size_t left = rest.iov_len - taken;
        if (left < LK_CONN_OUT_LOW)
            release_stalled(out);
        if (left == 0) {
            drop_out(c);
            if (c->state == LK_CONN_FLUSHING)
                finish_close(c, c->kind == LK_END_CLIENT);
        }
    }
    lk_apply_finish(w);
}

/* --- the way in --- */

enum read_outcome { READ_SOME, READ_FILLED, READ_NOTHING, READ_END };

static enum read_outcome
receive_plain(struct lk_conn *c, uint8_t *at, size_t room, size_t *got)
{
    ssize_t n;
    do
        n = recv(c->fd, at, room, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    *got = n > 0 ? (size_t)n : 0;
    if (n > 0)
        return (size_t)n == room ? READ_FILLED : READ_SOME;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return READ_NOTHING;
    if (!c->why)
        c->why = n == 0 ? "unexpected eof" : strerrordesc_np(errno);
    return READ_END;
}

static enum read_outcome
receive(struct lk_conn *c, uint8_t *at, size_t room, size_t *got)
{
    const char *why = NULL;
    if (!c->tls)
        return receive_plain(c, at, room, got);
    enum lk_tls_result result = lk_tls_read(c->tls, at, room, got, &why);
    if (result == LK_TLS_DONE)
        return *got == room ? READ_FILLED : READ_SOME;
    if (result == LK_TLS_WANT_WRITE)
        want_output(c);
    if (result != LK_TLS_END)
        return READ_NOTHING;
    if (!c->why)
        c->why = why;
    return READ_END;
}

/* A step with the connection's input; returns how much is left. The bytes are valid until the effects are carried out.
 */
static size_t
hand_in(struct lk_conn *c, struct lk_span in)
{
    struct lk_worker *w = c->worker;
    w->source = c;
    size_t consumed = lk_core_input(w->core, c->end, in, w->now);
    lk_apply_effects(w);
    w->source = NULL;
    assert(consumed <= in.n);
    return in.n - consumed;
}

/* Keeps the last `left` bytes of what lies in c->in. */
static void
keep_tail(struct lk_conn *c, size_t left)
{
    if (left == 0)
        lk_buf_clear(&c->in);
    else
        lk_buf_drop(&c->in, c->in.len - left);
}

/* The usual read: into the shared buffer, behind what is left of the last one. */
static enum read_outcome
read_shared(struct lk_conn *c)
{
    struct lk_worker *w = c->worker;
    size_t had = c->in.len, got;
    uint8_t *start = w->input + LK_CONN_HEAD_ROOM - had;
    enum read_outcome outcome = receive(c, w->input + LK_CONN_HEAD_ROOM, LK_CONN_READ_BYTES, &got);
    if (got == 0)
        return outcome;
    if (had > 0)
        memcpy(start, c->in.data, had);
    size_t left = hand_in(c, lk_span_make(start, had + got));
    if (!c->end)
        return READ_END;
    c->in.len = 0;
    if (left == 0)
        lk_buf_clear(&c->in);
    else if (!lk_buf_add(&c->in, start + had + got - left, left))
        lk_conn_todo(c, LK_TODO_LOST, "out of memory");
    return outcome;
}

/* A long frame is being gathered, or the end is paused: into the connection's own buffer. */
static enum read_outcome
read_own(struct lk_conn *c, bool paused)
{
    size_t room = LK_CONN_READ_BYTES, got;
    if (paused) {
        room = LK_CONN_PAUSED_MAX - c->in.len;
        room = room < PAUSED_READ_BYTES ? room : PAUSED_READ_BYTES;
    }
    if (!lk_buf_reserve(&c->in, room)) {
        c->why = "out of memory";
        return READ_END;
    }
    enum read_outcome outcome = receive(c, c->in.data + c->in.len, room, &got);
    c->in.len += got;
    if (got > 0 && !paused) {
        size_t left = hand_in(c, lk_buf_span(&c->in));
        if (!c->end)
            return READ_END;
        keep_tail(c, left);
    }
    return outcome;
}

static enum read_outcome
read_once(struct lk_conn *c)
{
    if (!c->end->paused)
        return c->in.len > LK_CONN_HEAD_ROOM ? read_own(c, false) : read_shared(c);
    return c->in.len < LK_CONN_PAUSED_MAX ? read_own(c, true) : READ_NOTHING;
}

/* The core is told, and the connection is gone. */
static void
lose(struct lk_conn *c)
{
    struct lk_worker *w = c->worker;
    struct lk_end *end = c->end;
    const char *why = c->why;
    c->end = NULL;
    end->conn = NULL;
    if (shaking(c)) {
        /* libssl has told the peer what is wrong with its handshake: a reset must not overtake that */
        c->sent_turn = w->turn;
        lk_conn_close(c, false);
    } else {
        lk_conn_destroy(c);
    }
    lk_core_lost(w->core, end, why, w->now);
    lk_apply_effects(w);
}

void
lk_conn_lose(struct lk_conn *c)
{
    if (c->state == LK_CONN_OPEN && !shaking(c)) {
        for (int i = 0; i < LAST_READS_MAX && c->end && !c->end->paused; i++) {
            enum read_outcome outcome = read_once(c);
            if (outcome == READ_NOTHING || outcome == READ_END)
                break;
        }
    }
    if (c->end)
        lose(c);
}

void
lk_conn_replay(struct lk_conn *c)
{
    if (c->in.len > 0) {
        size_t left = hand_in(c, lk_buf_span(&c->in));
        if (!c->end)
            return;
        keep_tail(c, left);
    }
    lk_conn_listen(c);
}

void
lk_conn_resume(struct lk_conn *c)
{
    unstall(c);
    lk_conn_todo(c, LK_TODO_REPLAY, NULL);
}

static void
drain(struct lk_conn *c)
{
    size_t got;
    if (receive_plain(c, c->worker->input, sizeof(c->worker->input), &got) == READ_END)
        lk_conn_destroy(c);
}

static void
on_input(evutil_socket_t fd, short what, void *arg)
{
    struct lk_conn *c = arg;
    struct lk_worker *w = c->worker;
    lk_worker_wake(w);
    if (c->state == LK_CONN_DRAINING)
        drain(c);
    else if (c->end && shaking(c))
        lk_conn_shake(c);
    for (int i = 0; i < READS_MAX && c->end && c->listening && !shaking(c); i++) {
        enum read_outcome outcome = read_once(c);
        if (!c->end)
            break;
        if (outcome == READ_END) {
            lose(c);
            break;
        }
        lk_conn_listen(c);
        if (outcome != READ_FILLED)
            break;
        lk_apply_todo(w);
    }
    if (c->end)
        raise_pending(c);
    lk_apply_finish(w);
}

/* --- encryption --- */

void
lk_conn_secure(struct lk_conn *c, const char *host)
{
    const struct lk_tls *t = c->worker->tls;
    /* whatever was said in the clear has left: libssl writes to the socket itself */
    if (!c->out && !c->broken)
        c->tls = host ? lk_tls_connect(t, c->fd, host) : lk_tls_accept(t, c->fd);
    if (c->tls)
        lk_conn_todo(c, LK_TODO_SHAKE, NULL);
    else
        lk_conn_todo(c, LK_TODO_LOST, "TLS could not be started");
}

void
lk_conn_shake(struct lk_conn *c)
{
    struct lk_worker *w = c->worker;
    const char *why = NULL;
    switch (lk_tls_handshake(c->tls, &why)) {
    case LK_TLS_DONE:
        c->end->tls = lk_tls_name(c->tls);
        c->end->tls_peer_cn = lk_tls_peer_cn(c->tls);
        c->end->tls_binding = lk_tls_binding(c->tls);
        lk_core_secured(w->core, c->end, w->now);
        lk_apply_effects(w);
        if (c->end)
            raise_pending(c);
        break;
    case LK_TLS_WANT_READ:
        break;
    case LK_TLS_WANT_WRITE:
        want_output(c);
        break;
    case LK_TLS_END:
        lk_conn_todo(c, LK_TODO_LOST, why);
        break;
    }
}

/* --- the end --- */

void
lk_conn_close(struct lk_conn *c, bool force)
{
    unstall(c);
    c->end = NULL;
    if (force || c->broken || c->state == LK_CONN_OPENING) {
        lk_conn_destroy(c);
        return;
    }
    bool linger = c->kind == LK_END_CLIENT && c->sent_turn == c->worker->turn;
    /* libssl waited for room, with nothing that matters any more */
    if (c->out && c->out->bytes.len == 0)
        drop_out(c);
    if (!c->out) {
        struct lk_list *from = list_of(c);
        c->state = LK_CONN_FLUSHING;
        move(c, from, list_of(c));
        finish_close(c, linger);
        return;
    }
    /* nobody adds to what is left to send: who waited for room goes on at once */
    release_stalled(c->out);
    struct lk_list *from = list_of(c);
    c->state = LK_CONN_FLUSHING;
    c->deadline_us = c->worker->now.mono_us + LK_CONN_FLUSH_US;
    move(c, from, list_of(c));
    lk_conn_listen(c);
}

void
lk_conn_destroy(struct lk_conn *c)
{
    struct lk_worker *w = c->worker;
    if (c->state == LK_CONN_DEAD)
        return;
    assert(!c->end);
    unstall(c);
    lk_dial_free(c);
    drop_out(c);
    if (c->listening)
        (void)event_del(&c->event);
    struct lk_list *from = list_of(c);
    c->state = LK_CONN_DEAD;
    c->listening = false;
    move(c, from, list_of(c));
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    if (c->kind == LK_END_CLIENT)
        atomic_fetch_sub_explicit(&w->clients, 1, memory_order_relaxed);
}

void
lk_conn_bury(struct lk_worker *w)
{
    struct lk_node *n;
    while ((n = lk_list_first(&w->dead)) != NULL) {
        struct lk_conn *c = LK_LIST_ITEM(n, struct lk_conn, node);
        lk_list_remove(&w->dead, n);
        if (lk_node_on_list(&c->todo_node))
            lk_list_remove(&w->todo, &c->todo_node);
        lk_buf_clear(&c->in);
        lk_tls_free(c->tls);
        free(c);
    }
}

/* Has the peer of a connection that is not read gone away? What lies unread before its end still counts for a server,
 * and for a client that merely waits for room. */
static bool
has_gone(const struct lk_conn *c)
{
    struct pollfd p = {.fd = c->fd, .events = c->stalled_on ? 0 : POLLRDHUP};
    return (!c->stalled_on || c->kind == LK_END_CLIENT) && poll(&p, 1, 0) > 0;
}

void
lk_conn_tick(struct lk_worker *w)
{
    LK_LIST_EACH (&w->closing, struct lk_conn, node, c) {
        if (w->now.mono_us >= c->deadline_us)
            lk_conn_destroy(c);
    }
    LK_LIST_EACH (&w->deaf, struct lk_conn, node, c) {
        if (has_gone(c))
            lk_conn_todo(c, LK_TODO_LOST, "unexpected eof");
    }
}
