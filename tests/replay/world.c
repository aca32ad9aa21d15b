#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

static void
count_up(uint8_t *out, size_t n)
{
    static uint8_t last;
    for (size_t i = 0; i < n; i++)
        out[i] = ++last;
}

void
world_init(struct world *w, bool bytewise, bool tracing)
{
    *w = (struct world){.bytewise = bytewise, .tracing = tracing, .auto_setup = true};
    w->now = (struct lk_now){LK_SECOND_US * 1000, LK_SECOND_US * 1700000000};
    w->shared.random = count_up;
    w->shared.separate_resets = true;
    w->shared.no_errands = true;
}

static struct lk_settings *
load(struct world *w)
{
    char path[] = "/tmp/lk-replay-XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!f)
        return NULL;
    if (w->database_lines.len == 0)
        lk_buf_add_format(&w->database_lines, "shop = host=127.0.0.1 port=5432\n");
    (void)fprintf(f, "[databases]\n%.*s[pgbouncer]\nauth_type = any\nlisten_port = 6432\n"
        "server_tls_sslmode = disable\n%.*s[lockkeeper]\n%.*s",
        (int)w->database_lines.len, (const char *)w->database_lines.data, (int)w->pooler_lines.len,
        w->pooler_lines.data ? (const char *)w->pooler_lines.data : "", (int)w->lock_lines.len,
        w->lock_lines.data ? (const char *)w->lock_lines.data : "");
    (void)fclose(f);
    struct lk_buf errors = {0}, warnings = {0};
    struct lk_settings *s = lk_settings_load(path, &errors, &warnings);
    if (!s)
        (void)snprintf(w->problem, sizeof(w->problem), "settings: %.*s", (int)errors.len, (const char *)errors.data);
    lk_buf_clear(&errors);
    lk_buf_clear(&warnings);
    (void)unlink(path);
    return s;
}

bool
world_start(struct world *w)
{
    if (w->core)
        return true;
    struct lk_settings *s = load(w);
    if (!s)
        return false;
    w->shared.budgets = lk_budgets_new();
    w->core = lk_core_new(&w->shared, 0, s, w->now);
    lk_settings_unref(s);
    return true;
}

struct peer *
world_find(struct world *w, const char *name)
{
    for (size_t i = 0; i < w->peer_count; i++)
        if (strcmp(w->peers[i].name, name) == 0)
            return &w->peers[i];
    return NULL;
}

static struct peer *
peer_new(struct world *w, struct lk_end *end, const char *name)
{
    if (w->peer_count == PEERS_MAX)
        abort();
    struct peer *p = &w->peers[w->peer_count++];
    (void)snprintf(p->name, sizeof(p->name), "%s", name);
    p->kind = end->kind;
    p->end = end;
    end->conn = p;
    return p;
}

/* --- effects --- */

static void
opening(struct world *w, struct lk_end *end)
{
    char name[16];
    bool server = end->kind == LK_END_SERVER;
    unsigned number = server ? ++w->servers : ++w->cancellers;
    (void)snprintf(name, sizeof(name), "%c%u", server ? 'S' : 'K', number);
    struct peer *p = peer_new(w, end, name);
    p->to_open = true;
    p->pid = 1000 + number;
}

static void
closing(struct peer *p)
{
    if (!p)
        return;
    p->end->conn = NULL;
    p->end = NULL;
    p->unread.len = 0;
    p->to_open = p->to_replay = false;
}

static void
apply(struct world *w)
{
    struct lk_effects *effects = &w->core->effects;
    for (size_t i = 0; i < effects->count; i++) {
        const struct lk_effect *e = &effects->items[i];
        struct peer *p = e->end ? e->end->conn : NULL;
        switch (e->kind) {
        case LK_EFFECT_SEND:
            if (p)
                lk_buf_add_span(&p->wire, e->u.bytes);
            break;
        case LK_EFFECT_OPEN:
            opening(w, e->end);
            break;
        case LK_EFFECT_CLOSE:
            closing(p);
            break;
        case LK_EFFECT_RESUME:
            if (p)
                p->to_replay = true;
            break;
        case LK_EFFECT_RECORD:
            if (w->record_count == RECORDS_MAX)
                abort();
            w->records[w->record_count++] = e->u.record;
            break;
        case LK_EFFECT_TLS:
        case LK_EFFECT_CONSOLE:
            break;
        }
    }
    lk_core_settle(w->core);
    for (size_t i = 0; i < w->peer_count; i++)
        peer_read(w, &w->peers[i]);
}

/* --- steps --- */

static void
hand_in(struct world *w, struct peer *p)
{
    if (!p->end || p->unread.len == 0)
        return;
    size_t n = lk_core_input(w->core, p->end, lk_buf_span(&p->unread), w->now);
    apply(w);
    lk_buf_drop(&p->unread, n < p->unread.len ? n : p->unread.len);
}

static void
arrive(struct world *w, struct peer *p, struct lk_span bytes)
{
    size_t step = w->bytewise ? 1 : bytes.n;
    while (bytes.n > 0 && p->end) {
        lk_buf_add_span(&p->unread, lk_span_head(bytes, step));
        bytes = lk_span_skip(bytes, step);
        if (!p->end->paused)
            hand_in(w, p);
    }
}

static bool
turn(struct world *w, struct peer *p)
{
    static const struct lk_peer far = {
        .addr = "127.0.0.1", .port = 5432, .uid = UINT32_MAX, .local_addr = "127.0.0.1", .local_port = 40000};
    if (p->to_open) {
        p->to_open = false;
        lk_core_opened(w->core, p->end, &far, w->now);
        apply(w);
    } else if (p->to_replay) {
        p->to_replay = false;
        hand_in(w, p);
    } else if (p->answer.len > 0) {
        struct lk_buf said = p->answer;
        p->answer = (struct lk_buf){0};
        arrive(w, p, lk_buf_span(&said));
        lk_buf_clear(&said);
    } else {
        return false;
    }
    return true;
}

/* What the steps led to, until nothing is left. */
static void
run(struct world *w)
{
    for (size_t i = 0; i < w->peer_count; i++)
        if (turn(w, &w->peers[i]))
            i = (size_t)-1;
}

struct peer *
world_accept(struct world *w, const char *name)
{
    static const struct lk_peer near = {
        .addr = "127.0.0.1", .port = 50000, .uid = UINT32_MAX, .local_addr = "127.0.0.1", .local_port = 6432};
    struct peer *p = peer_new(w, lk_core_accept(w->core, &near, w->now), name);
    apply(w);
    return p;
}

void
world_say(struct world *w, struct peer *p, struct lk_span bytes)
{
    /* what waits for a RESUME was handed in before: the core's turn comes between the bytes as it would in the shell */
    if (!w->bytewise) {
        arrive(w, p, bytes);
    } else {
        for (size_t i = 0; i < bytes.n; i++) {
            arrive(w, p, lk_span_make(bytes.p + i, 1));
            run(w);
        }
    }
    run(w);
}

void
world_lose(struct world *w, struct peer *p)
{
    struct lk_end *end = p->end;
    closing(p);
    lk_core_lost(w->core, end, "connection reset by peer", w->now);
    apply(w);
    run(w);
}

void
world_pass_time(struct world *w, int64_t us)
{
    w->now.mono_us += us;
    w->now.wall_us += us;
    lk_core_tick(w->core, w->now);
    apply(w);
    run(w);
}

bool
world_reload(struct world *w)
{
    struct lk_settings *s = load(w);
    if (!s)
        return false;
    lk_core_reload(w->core, s, w->now);
    lk_settings_unref(s);
    apply(w);
    run(w);
    return true;
}

static void
peer_clear(struct peer *p)
{
    lk_buf_clear(&p->unread);
    lk_buf_clear(&p->wire);
    lk_buf_clear(&p->answer);
    for (size_t i = 0; i < p->count; i++)
        free(p->messages[i]);
    free(p->messages);
}

void
world_free(struct world *w)
{
    if (w->core) {
        lk_core_shutdown(w->core, w->now);
        apply(w);
        lk_core_free(w->core);
        lk_budgets_free(w->shared.budgets);
    }
    for (size_t i = 0; i < w->peer_count; i++)
        peer_clear(&w->peers[i]);
    for (size_t i = 0; i < w->record_count; i++)
        lk_record_free(w->records[i]);
    lk_buf_clear(&w->pooler_lines);
    lk_buf_clear(&w->lock_lines);
    lk_buf_clear(&w->database_lines);
}
