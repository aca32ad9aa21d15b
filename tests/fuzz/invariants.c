#include "fuzz/invariants.h"

#include <unistd.h>

#include "base/log.h"
#include "fuzz/fuzz.h"
#include "lock/policy.h"

/* Peers that one step may add. */
#define PEERS_SPARE 24

static size_t
seats_of(const struct lk_pool *p)
{
    size_t n = 0;
    MUST(p->seats[LK_SEAT_NONE].count == 0);
    for (int i = LK_SEAT_OPENING; i < LK_SEAT_LISTS; i++)
        n += p->seats[i].count;
    return n;
}

static void
check_client(const struct lk_core *core, const struct lk_client *c)
{
    const struct peer *p = c->end.conn;
    MUST(c->end.kind == LK_END_CLIENT && !c->end.dead);
    MUST(c->state < LK_CLIENT_GONE);
    MUST(p && p->end == &c->end);
    MUST((c->state == LK_CLIENT_LINKED) == (c->server != NULL));
    MUST(!c->server || (c->server->client == c && c->server->seat.pool == c->pool));
    /* those that wait for a first server's parameters stand in the same queue */
    MUST(lk_node_on_list(&c->place.node) ? c->state == LK_CLIENT_WAITING || c->state == LK_CLIENT_WELCOME
                                         : c->state != LK_CLIENT_WAITING);
    MUST(!c->held || c->state == LK_CLIENT_LINKED);
    MUST(c->pool || c->state <= LK_CLIENT_AUTH || c->state == LK_CLIENT_CONSOLE || c->state == LK_CLIENT_CANCEL);
    MUST(!c->exchange || c->state == LK_CLIENT_AUTH);
}

static void
check_idle(const struct lk_server *s)
{
    MUST(s->status == 'I');
    MUST(s->copy == LK_COPY_NONE);
    MUST(s->remain == 0);
    MUST(lk_replies_quiet(&s->replies));
    MUST(lk_ledger_own(&s->ledger) == 0 && s->ledger.unsure == 0 && s->ledger.beyond == 0);
    MUST(s->ledger.count == 0 || s->seat.pool->route.advisory_lock_policy == LK_POLICY_OBSERVE);
    MUST(s->block.shortened.count == 0 && s->block.state == 'I');
    MUST(s->run.suspect_count == 0 && s->cancels == 0 && !s->who);
}

static void
check_server(const struct lk_core *core, const struct lk_server *s)
{
    static const enum lk_seat_list seat_of[] = {
        LK_SEAT_OPENING, LK_SEAT_OPENING, LK_SEAT_OPENING, LK_SEAT_IDLE, LK_SEAT_LINKED, LK_SEAT_CLEANING,
        LK_SEAT_CLEANING};
    const struct peer *p = s->end.conn;
    MUST(s->end.kind == LK_END_SERVER && !s->end.dead);
    MUST(s->state < LK_SERVER_GONE && s->seat.list == seat_of[s->state]);
    MUST(p && p->end == &s->end);
    MUST((s->state == LK_SERVER_LINKED) == (s->client != NULL));
    MUST(!s->client || s->client->server == s);
    MUST(s->state == LK_SERVER_ERRAND ? s->errand != NULL : !s->errand || (s->seat.extra && s->state < LK_SERVER_IDLE));
    MUST(s->login == NULL || s->state == LK_SERVER_LOGIN);
    MUST(s->ledger.count <= LK_LEDGER_MAX && s->replies.count <= LK_REPLIES_MAX);
    MUST(s->status == 'I' || s->status == 'T' || s->status == 'E');
    if (s->state == LK_SERVER_IDLE)
        check_idle(s);
}

static void
check_pool(const struct lk_core *core, const struct lk_pool *pool)
{
    size_t servers = 0, clients = 0, waiters = 0;
    int of_database = 0, of_user = 0;
    LK_LIST_EACH (&core->servers, struct lk_server, node, s) {
        if (s->seat.extra)
            continue;
        servers += s->seat.pool == pool;
        of_database += s->seat.pool->budgets.of[LK_BUDGET_DATABASE] == pool->budgets.of[LK_BUDGET_DATABASE];
        of_user += s->seat.pool->budgets.of[LK_BUDGET_USER] == pool->budgets.of[LK_BUDGET_USER];
    }
    LK_LIST_EACH (&core->clients, struct lk_client, node, c) {
        clients += c->pool == pool;
        waiters += c->pool == pool && c->state == LK_CLIENT_WAITING;
    }
    MUST(seats_of(pool) >= servers);
    MUST(pool->budgets.of[LK_BUDGET_POOL]->used == (int)servers);
    MUST(pool->budgets.of[LK_BUDGET_DATABASE]->used == of_database);
    MUST(pool->budgets.of[LK_BUDGET_USER]->used == of_user);
    MUST(pool->clients == clients);
    MUST(pool->waiters.count >= waiters && pool->waiters.count <= clients);
    bool lends = !pool->paused && (core->mode == LK_CORE_ACTIVE || core->mode == LK_CORE_WAIT_FOR_CLIENTS);
    MUST(!lends || waiters == 0 || pool->seats[LK_SEAT_IDLE].count == 0);
    MUST(!pool->serve_due);
}

/* Ends that the world holds are in the core, and the other way round. */
static void
check_ends(const struct world *w)
{
    const struct lk_core *core = w->core;
    size_t ends = 0;
    for (size_t i = 0; i < w->peer_count; i++) {
        const struct peer *p = &w->peers[i];
        if (!p->end)
            continue;
        ends++;
        MUST(!p->end->dead && p->end->conn == p && p->end->kind == p->kind);
        /* all that is left unread waits for more bytes, or for a RESUME that something will lead to */
        MUST(p->kind == LK_END_CLIENT || !p->end->paused);
    }
    MUST(ends == core->clients.count + core->servers.count + core->cancellers.count);
}

void
fuzz_check(const struct world *w)
{
    const struct lk_core *core = w->core;
    MUST(core->effects.count == 0 && !core->serve_due);
    for (size_t i = 0; i < LK_COUNT(core->dead); i++)
        MUST(core->dead[i].count == 0);
    MUST(w->shared.clients == (int)core->clients.count);
    check_ends(w);
    LK_LIST_EACH (&core->clients, struct lk_client, node, c)
        check_client(core, c);
    LK_LIST_EACH (&core->servers, struct lk_server, node, s)
        check_server(core, s);
    LK_LIST_EACH (&core->pools, struct lk_pool, node, pool)
        check_pool(core, pool);
    LK_LIST_EACH (&core->cancellers, struct lk_canceller, node, k)
        MUST(!k->end.dead && k->end.conn);
}

/* --- worlds --- */

struct lk_settings *
fuzz_settings(const char *ini)
{
    static const char users[] =
        "\"ann\" \"pencil\"\n\"bob\" \"md5df1b1e7f0ee5b4e0a3d4a1e0a3a31c4f\"\n\"eve\" "
        "\"SCRAM-SHA-256$1:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"
        "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=\"\n";
    char path[] = "/tmp/lk-fuzz-XXXXXX", user_path[] = "/tmp/lk-fuzz-XXXXXX";
    struct lk_buf text = {0}, errors = {0}, warnings = {0};
    int fd = mkstemp(path), user_fd = mkstemp(user_path);
    MUST(fd >= 0 && user_fd >= 0);
    lk_buf_add_format(
        &text, "%s\n[pgbouncer]\nlisten_port = 6432\nauth_file = %s\nserver_tls_sslmode = disable\n", ini, user_path);
    MUST(write(fd, text.data, text.len) == (ssize_t)text.len);
    MUST(write(user_fd, users, sizeof(users) - 1) == (ssize_t)sizeof(users) - 1);
    struct lk_settings *s = lk_settings_load(path, &errors, &warnings);
    if (!s)
        (void)fprintf(stderr, "%.*s", (int)errors.len, (const char *)errors.data);
    MUST(s);
    (void)unlink(path);
    (void)unlink(user_path);
    (void)close(fd);
    (void)close(user_fd);
    lk_buf_clear(&text);
    lk_buf_clear(&errors);
    lk_buf_clear(&warnings);
    return s;
}

static uint8_t last;

/* The same in each run, so that a finding can be played again. */
static void
count_up(uint8_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = ++last;
}

void
fuzz_world_start(struct world *w, struct lk_settings *settings, bool bytewise)
{
    static const struct lk_log_options quiet;
    static bool opened;
    if (!opened)
        opened = lk_log_open(&quiet);
    world_init(w, bytewise, getenv("FUZZ_TRACE") != NULL);
    if (w->tracing)
        (void)setvbuf(stdout, NULL, _IONBF, 0);
    last = 0;
    w->shared.random = count_up;
    w->shared.budgets = lk_budgets_new();
    w->core = lk_core_new(&w->shared, 0, settings, w->now);
}

void
fuzz_world_end(struct world *w)
{
    lk_core_shutdown(w->core, w->now);
    MUST(w->core->clients.count == 0 && w->core->servers.count == 0 && w->core->cancellers.count == 0);
    MUST(w->shared.clients == 0 && !w->core->keys);
    LK_LIST_EACH (&w->core->pools, struct lk_pool, node, pool) {
        MUST(seats_of(pool) == 0 && pool->waiters.count == 0 && pool->clients == 0);
        for (size_t i = 0; i < LK_BUDGET_KINDS; i++)
            MUST(pool->budgets.of[i]->used == 0);
    }
    world_free(w);
}

bool
fuzz_world_tidy(struct world *w)
{
    for (size_t i = 0; i < w->record_count; i++)
        lk_record_free(w->records[i]);
    w->record_count = w->record_read = 0;
    return w->peer_count + PEERS_SPARE <= PEERS_MAX;
}
