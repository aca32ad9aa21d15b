/* A core with one client and one server at a time, whose effects are carried out on paper. */
#ifndef LK_TESTS_SESSION_WORLD_H
#define LK_TESTS_SESSION_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "session/step.h"
#include "wire/build.h"
#include "wire/cursor.h"
#include "wire/frame.h"

#define VERIFIER                                                                                                       \
    "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="                         \
    ":wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="

static const char users[] =
    "\"ann\" \"pencil\"\n\"sue\" \"" VERIFIER "\"\n\"admin\" \"pencil\"\n\"stats\" \"pencil\"\n";

/* One worker, the newest client's and the newest server's wires. */
struct world {
    char folder[32], ini[64], list[64];
    struct lk_shared shared;
    struct lk_core *core;
    struct lk_now now;
    struct lk_end *client, *server;
    struct lk_buf client_in; /* what the client said and was not consumed */
    struct lk_buf to_client, to_server;
    struct lk_buf command; /* of the last CONSOLE */
    struct lk_end *secured; /* of the last TLS effect */
    const char *secured_host;
    unsigned opened, resumed, commands;
    bool client_closed, server_closed;
};

static inline void
count_up(uint8_t *out, size_t n)
{
    static uint8_t next = 1;
    for (size_t i = 0; i < n; i++)
        out[i] = next++;
}

static inline void
write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static inline struct lk_settings *
load(struct world *w, const char *auth_type, const char *more)
{
    char text[1024];
    struct lk_buf errors = {0}, warnings = {0};
    (void)snprintf(text, sizeof(text),
        "[databases]\nshop = host=127.0.0.1 port=5432\nforced = host=127.0.0.1 user=sue\n[pgbouncer]\nauth_type = %s\n"
        "auth_file = %s\nlisten_port = 6432\nadmin_users = admin\nstats_users = stats\npool_mode = transaction\n"
        "server_tls_sslmode = disable\n%s",
        auth_type, w->list, more);
    write_file(w->list, users);
    write_file(w->ini, text);
    struct lk_settings *s = lk_settings_load(w->ini, &errors, &warnings);
    if (!s)
        fail_msg("%.*s", (int)errors.len, (const char *)errors.data);
    lk_buf_clear(&errors);
    lk_buf_clear(&warnings);
    return s;
}

static inline struct world *
world_new(const char *auth_type, const char *more)
{
    struct world *w = LK_NEW(struct world);
    (void)snprintf(w->folder, sizeof(w->folder), "/tmp/lk-startup-XXXXXX");
    assert_non_null(mkdtemp(w->folder));
    (void)snprintf(w->ini, sizeof(w->ini), "%s/lk.ini", w->folder);
    (void)snprintf(w->list, sizeof(w->list), "%s/users.txt", w->folder);
    w->shared.random = count_up;
    w->shared.uid = 1000;
    w->shared.no_errands = true;
    w->shared.budgets = lk_budgets_new();
    w->now = (struct lk_now){LK_SECOND_US * 1000, LK_SECOND_US * 2000};
    struct lk_settings *s = load(w, auth_type, more);
    w->core = lk_core_new(&w->shared, 0, s, w->now);
    lk_settings_unref(s);
    return w;
}

/* Carries out what the step asked for, on paper. */
static inline void
settle(struct world *w)
{
    for (size_t i = 0; i < w->core->effects.count; i++) {
        const struct lk_effect *e = &w->core->effects.items[i];
        switch (e->kind) {
        case LK_EFFECT_SEND:
            lk_buf_add_span(e->end == w->client ? &w->to_client : &w->to_server, e->u.bytes);
            break;
        case LK_EFFECT_TLS:
            w->secured = e->end;
            w->secured_host = e->u.tls_host;
            break;
        case LK_EFFECT_OPEN:
            w->server = e->end;
            w->server_closed = false;
            w->opened++;
            break;
        case LK_EFFECT_CLOSE:
            w->client_closed |= e->end == w->client;
            w->server_closed |= e->end == w->server;
            break;
        case LK_EFFECT_RESUME:
            w->resumed++;
            break;
        case LK_EFFECT_CONSOLE:
            lk_buf_clear(&w->command);
            lk_buf_add_span(&w->command, e->u.bytes);
            w->commands++;
            break;
        case LK_EFFECT_RECORD:
            break;
        }
    }
    lk_core_settle(w->core);
}

static inline void
world_free(struct world *w)
{
    lk_core_shutdown(w->core, w->now);
    settle(w);
    lk_core_free(w->core);
    lk_budgets_free(w->shared.budgets);
    lk_buf_clear(&w->client_in);
    lk_buf_clear(&w->to_client);
    lk_buf_clear(&w->to_server);
    lk_buf_clear(&w->command);
    (void)unlink(w->ini);
    (void)unlink(w->list);
    (void)rmdir(w->folder);
    free(w);
}

static inline void
accept_from(struct world *w, const struct lk_peer *peer)
{
    w->client = lk_core_accept(w->core, peer, w->now);
    w->client_closed = false;
    lk_buf_clear(&w->client_in);
    lk_buf_clear(&w->to_client);
    settle(w);
}

static inline void
accept_one(struct world *w)
{
    static const struct lk_peer peer = {
        .addr = "127.0.0.1", .port = 50000, .uid = UINT32_MAX, .local_addr = "127.0.0.1"};
    accept_from(w, &peer);
}

static inline void
say(struct world *w, struct lk_buf *bytes)
{
    assert_false(bytes->failed);
    lk_buf_add_span(&w->client_in, lk_buf_span(bytes));
    lk_buf_clear(bytes);
    if (w->client_closed || w->client->paused)
        return;
    size_t n = lk_core_input(w->core, w->client, lk_buf_span(&w->client_in), w->now);
    settle(w);
    lk_buf_drop(&w->client_in, n);
}

static inline void
resume(struct world *w)
{
    struct lk_buf nothing = {0};
    say(w, &nothing);
}

#define SAY_STARTUP(w, ...)                                                                                            \
    do {                                                                                                               \
        struct lk_buf b_ = {0};                                                                                        \
        lk_build_startup(&b_, LK_PROTOCOL_3_0, (const char *const[]){__VA_ARGS__, NULL});                              \
        say(w, &b_);                                                                                                   \
    } while (0)

static inline void
server_says(struct world *w, struct lk_buf *bytes)
{
    assert_false(bytes->failed);
    assert_int_equal(lk_core_input(w->core, w->server, lk_buf_span(bytes), w->now), bytes->len);
    settle(w);
    lk_buf_clear(bytes);
}

/* The types of the frames that the client got, in order. */
static inline const char *
types(struct world *w)
{
    static char seen[64];
    struct lk_span rest = lk_buf_span(&w->to_client);
    struct lk_frame f;
    size_t n = 0;
    while (n + 1 < sizeof(seen) && lk_frame_next(rest, UINT32_MAX, &f) == LK_FRAME_WHOLE) {
        seen[n++] = (char)f.type;
        rest = lk_span_skip(rest, f.total);
    }
    assert_int_equal(rest.n, 0);
    seen[n] = '\0';
    return seen;
}

/* The body of the client's first frame of that type behind `skip` of its bytes. */
static inline struct lk_span
got(struct world *w, uint8_t type)
{
    struct lk_span rest = lk_buf_span(&w->to_client);
    struct lk_frame f;
    while (lk_frame_next(rest, UINT32_MAX, &f) == LK_FRAME_WHOLE) {
        if (f.type == type)
            return f.body;
        rest = lk_span_skip(rest, f.total);
    }
    fail_msg("no %c in %s", type, types(w));
    return rest;
}

static inline void
assert_refused(struct world *w, const char *sqlstate, const char *message)
{
    struct lk_span body = got(w, 'E');
    char text[400];
    struct lk_span m = lk_msg_error_field(body, 'M');
    (void)snprintf(text, sizeof(text), "%.*s", (int)m.n, (const char *)m.p);
    assert_true(lk_span_is(lk_msg_error_field(body, 'C'), sqlstate));
    assert_string_equal(text, message);
    assert_true(lk_span_is(lk_msg_error_field(body, 'S'), "FATAL"));
    assert_true(w->client_closed);
}

/* What the client was told of a parameter. */
static inline const char *
told(struct world *w, const char *name)
{
    static char value[128];
    struct lk_span rest = lk_buf_span(&w->to_client);
    struct lk_frame f;
    struct lk_msg_param p;
    while (lk_frame_next(rest, UINT32_MAX, &f) == LK_FRAME_WHOLE) {
        if (f.type == 'S' && lk_msg_parameter_status(f.body, &p) && lk_span_is(p.name, name)) {
            (void)snprintf(value, sizeof(value), "%.*s", (int)p.value.n, (const char *)p.value.p);
            return value;
        }
        rest = lk_span_skip(rest, f.total);
    }
    return NULL;
}

static inline void
server_greets(struct world *w)
{
    struct lk_buf b = {0};
    lk_build_authentication(&b, 0, lk_span_make(NULL, 0));
    lk_build_parameter_status(&b, "server_version", "15.9");
    lk_build_parameter_status(&b, "client_encoding", "SQL_ASCII");
    lk_build_parameter_status(&b, "application_name", "");
    lk_build_parameter_status(&b, "TimeZone", "Etc/UTC");
    lk_build_backend_key(&b, 77, lk_span_str("abcd"));
    lk_build_ready(&b, 'I');
    server_says(w, &b);
}

/* Answers the statements of Lockkeeper's own that came, till none do. */
static inline void
server_obliges(struct world *w)
{
    struct lk_frame f;
    while (lk_frame_next(lk_buf_span(&w->to_server), UINT32_MAX, &f) == LK_FRAME_WHOLE) {
        struct lk_buf b = {0};
        uint8_t type = f.type;
        lk_buf_drop(&w->to_server, f.total);
        if (type == 'F') {
            size_t at = lk_build_begin(&b, 'V');
            lk_buf_add_u32(&b, 0);
            lk_build_end(&b, at);
        } else if (type == 'Q') {
            lk_build_command_complete(&b, "SELECT 1");
        } else {
            continue;
        }
        lk_build_ready(&b, 'I');
        server_says(w, &b);
    }
}

static inline void
server_opens(struct world *w)
{
    static const struct lk_peer peer = {
        .addr = "127.0.0.1", .port = 5432, .uid = UINT32_MAX, .local_addr = "127.0.0.1"};
    assert_true(w->opened > 0);
    lk_core_opened(w->core, w->server, &peer, w->now);
    settle(w);
}

static inline void
server_comes_up(struct world *w)
{
    server_opens(w);
    lk_buf_clear(&w->to_server);
    server_greets(w);
    server_obliges(w);
}

/* Answers the requests till the exchange is over. */
static inline void
play_login(struct world *w, const char *user, const char *password)
{
    static const uint8_t nonce[LK_SCRAM_NONCE_BYTES] = "abcdefghijklmnopq";
    struct lk_login_credentials credentials = {.user = user, .secret = password};
    struct lk_login *login = lk_login_new(&credentials, nonce);
    enum lk_auth_verdict verdict = LK_AUTH_MORE;
    SAY_STARTUP(w, "user", user, "database", "shop");
    while (verdict == LK_AUTH_MORE && !w->client_closed) {
        struct lk_frame f;
        struct lk_buf answer = {0};
        struct lk_error why;
        assert_int_equal(lk_frame_next(lk_buf_span(&w->to_client), UINT32_MAX, &f), LK_FRAME_WHOLE);
        assert_int_equal(f.type, 'R');
        verdict = lk_login_step(login, f.body, &answer, &why);
        lk_buf_drop(&w->to_client, f.total);
        if (answer.len > 0)
            say(w, &answer);
    }
    lk_login_free(login);
}

#endif
