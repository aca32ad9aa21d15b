#include "net/apply.h"

#include "journal/journal.h"
#include "net/dial.h"

/* The SENDs from *i on that go to one end, as one. Leaves *i at the last of them. */
static void
apply_sends(struct lk_worker *w, size_t *i)
{
    const struct lk_effects *e = &w->core->effects;
    struct lk_end *end = e->items[*i].end;
    struct iovec parts[LK_CONN_PARTS];
    size_t n = 0;
    for (;; ++*i) {
        struct lk_span s = e->items[*i].u.bytes;
        if (s.n > 0)
            parts[n++] = (struct iovec){(void *)(uintptr_t)s.p, s.n};
        if (n == LK_CONN_PARTS || *i + 1 == e->count)
            break;
        const struct lk_effect *next = &e->items[*i + 1];
        if (next->kind != LK_EFFECT_SEND || next->end != end)
            break;
    }
    if (end->conn && n > 0)
        lk_conn_send(end->conn, parts, n);
}

static void
apply_close(struct lk_end *end, bool force)
{
    struct lk_conn *c = end->conn;
    end->conn = NULL;
    if (c)
        lk_conn_close(c, force);
}

void
lk_apply_effects(struct lk_worker *w)
{
    struct lk_effects *effects = &w->core->effects;
    for (size_t i = 0; i < effects->count; i++) {
        const struct lk_effect e = effects->items[i];
        switch (e.kind) {
        case LK_EFFECT_SEND:
            apply_sends(w, &i);
            break;
        case LK_EFFECT_OPEN:
            lk_dial(w, e.end, e.u.open.host, e.u.open.port);
            break;
        case LK_EFFECT_TLS:
            if (e.end->conn)
                lk_conn_secure(e.end->conn, e.u.tls_host);
            break;
        case LK_EFFECT_CLOSE:
            apply_close(e.end, e.u.force);
            break;
        case LK_EFFECT_RESUME:
            if (e.end->conn)
                lk_conn_resume(e.end->conn);
            break;
        case LK_EFFECT_RECORD:
            lk_journal_put(w->journal, e.u.record);
            break;
        case LK_EFFECT_CONSOLE:
            lk_console_query(w->host, w->core, LK_CONTAINER(e.end, struct lk_client, end), e.u.bytes);
            break;
        }
    }
    lk_core_settle(w->core);
}

static void
step(struct lk_conn *c)
{
    unsigned todo = c->todo;
    c->todo = 0;
    if (!c->end)
        return;
    if (todo & LK_TODO_OPENED)
        lk_dial_opened(c);
    if (c->end && todo & LK_TODO_SHAKE)
        lk_conn_shake(c);
    if (c->end && todo & LK_TODO_REPLAY)
        lk_conn_replay(c);
    if (c->end && todo & LK_TODO_LOST)
        lk_conn_lose(c);
}

void
lk_apply_todo(struct lk_worker *w)
{
    struct lk_node *n;
    while ((n = lk_list_first(&w->todo)) != NULL) {
        lk_list_remove(&w->todo, n);
        step(LK_LIST_ITEM(n, struct lk_conn, todo_node));
    }
}

void
lk_apply_finish(struct lk_worker *w)
{
    lk_apply_todo(w);
    if (w->dead.count > 0)
        lk_conn_bury(w);
}
