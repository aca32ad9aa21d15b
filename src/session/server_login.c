/* A server from connect to its first ReadyForQuery, and the keys that clients' logins reveal for it. */
#include "session/step.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "config/option.h"
#include "session/clean.h"
#include "session/errand.h"
#include "session/negotiate.h"
#include "session/secrets.h"
#include "wire/build.h"

#define USER_KEYS_MAX 10000u

/* What a login of that user revealed beyond the user list. */
struct lk_key_of_user {
    char *user;     /* owned */
    char *against;  /* the user's secret in the list when it was revealed; NULL: not listed. Owned, wiped */
    char *password; /* owned, wiped; NULL: not known */
    bool has_key;
    struct lk_scram_client_key key;
    UT_hash_handle hh;
};

/* --- keys --- */

static void
drop_key(struct lk_core *core, struct lk_key_of_user *k)
{
    HASH_DEL(core->user_keys, k);
    free(k->user);
    lk_mem_wipe_free(k->against);
    lk_mem_wipe_free(k->password);
    explicit_bzero(k, sizeof(*k));
    free(k);
}

/* The entry of that user; one from before the secret was changed is dropped. */
static struct lk_key_of_user *
find_key(struct lk_core *core, const char *user, const char *secret)
{
    struct lk_key_of_user *k = NULL;
    HASH_FIND_STR(core->user_keys, user, k);
    if (!k)
        return NULL;
    if (secret == NULL ? k->against == NULL : k->against && strcmp(secret, k->against) == 0)
        return k;
    drop_key(core, k);
    return NULL;
}

static struct lk_key_of_user *
take_key(struct lk_core *core, const char *user, const char *secret)
{
    struct lk_key_of_user *k = find_key(core, user, secret);
    if (k)
        return k;
    /* the first in the table's order is the oldest */
    if (HASH_COUNT(core->user_keys) >= USER_KEYS_MAX)
        drop_key(core, core->user_keys);
    k = LK_NEW(struct lk_key_of_user);
    k->user = lk_mem_dup(user);
    k->against = lk_mem_dup(secret);
    HASH_ADD_KEYPTR(hh, core->user_keys, k->user, strlen(k->user), k);
    return k;
}

void
lk_user_keys_learn(struct lk_core *core, const char *user, const char *against, const struct lk_exchange *x)
{
    struct lk_scram_client_key key;
    const char *password = lk_exchange_password(x);
    bool has_key = lk_exchange_client_key(x, &key);
    if (!password && !has_key)
        return;
    struct lk_key_of_user *k = take_key(core, user, against);
    if (password) {
        lk_mem_wipe_free(k->password);
        k->password = lk_mem_dup(password);
    }
    if (has_key) {
        k->has_key = true;
        k->key = key;
        explicit_bzero(&key, sizeof(key));
    }
}

/* A server's login by password has cost a key derivation, which the next one is spared. */
static void
learn_from_server(struct lk_core *core, const struct lk_server *s)
{
    struct lk_scram_client_key key;
    const struct lk_route *route = &s->seat.pool->route;
    if (route->password || !lk_login_client_key(s->login, &key))
        return;
    struct lk_key_of_user *k = take_key(core, route->user, lk_secret_find(core, route->database, route->user));
    k->has_key = true;
    k->key = key;
    explicit_bzero(&key, sizeof(key));
}

void
lk_user_keys_free(struct lk_core *core)
{
    while (core->user_keys)
        drop_key(core, core->user_keys);
}

/* --- failing --- */

void
lk_server_login_failed(struct lk_core *core, struct lk_pool *pool, const struct lk_error *e)
{
    pool->failed_us = core->now.mono_us;
    free(pool->failure);
    pool->failure = lk_mem_dup(e->message);
    lk_errand_fail_waiting(core, pool, e);
    for (;;) {
        /* failing one may change the queue in any place, so each time it is looked through anew */
        struct lk_client *hopeless = NULL;
        LK_LIST_EACH(&pool->waiters, struct lk_waiter, node, w)
        {
            struct lk_client *c = LK_CONTAINER(w, struct lk_client, place);
            if (!hopeless && c->state == LK_CLIENT_WELCOME)
                hopeless = c;
        }
        if (!hopeless)
            return;
        lk_pool_leave(pool, &hopeless->place);
        lk_client_fail(core, hopeless, e, LK_REASON_NONE);
    }
}

static void
fail(struct lk_core *core, struct lk_server *s, const struct lk_error *e)
{
    s->failure = *e;
    lk_log(LK_LOG_WARNING, "%s: server login failed: %s %s", lk_server_label(s), e->sqlstate, e->message);
    lk_server_close(core, s, "login failed", LK_REASON_BACKEND_CLOSED, false);
}

static void
fail_broken(struct lk_core *core, struct lk_server *s, const char *what)
{
    struct lk_error e;
    lk_error_set(&e, "08P01", "the server's login is broken: %s", what);
    fail(core, s, &e);
}

/* --- logging in --- */

static void
begin_login(struct lk_core *core, struct lk_server *s)
{
    const struct lk_route *route = &s->seat.pool->route;
    const char *secret = lk_secret_find(core, route->database, route->user);
    const struct lk_key_of_user *k = route->password ? NULL : find_key(core, route->user, secret);
    struct lk_login_credentials credentials = {
        .user = route->user, .secret = route->password, .binding = s->end.tls_binding};
    if (!route->password)
        credentials.secret = k && k->password ? k->password : secret;
    if (k && k->has_key)
        credentials.client_key = &k->key;
    uint8_t nonce[LK_SCRAM_NONCE_BYTES];
    core->shared->random(nonce, sizeof(nonce));
    s->login = lk_login_new(&credentials, nonce);
}

static void
send_startup(struct lk_core *core, struct lk_server *s)
{
    const struct lk_route *route = &s->seat.pool->route;
    const char *const forced[] = {"client_encoding", route->client_encoding, "datestyle", route->datestyle, "timezone",
        route->timezone, "application_name", route->application_name};
    const char *pairs[4 + LK_COUNT(forced) + 1] = {"user", route->user, "database", route->dbname};
    size_t n = 4;
    for (size_t i = 0; i < LK_COUNT(forced); i += 2) {
        if (!forced[i + 1])
            continue;
        pairs[n++] = forced[i];
        pairs[n++] = forced[i + 1];
    }
    begin_login(core, s);
    struct lk_buf out = {0};
    lk_build_startup(&out, LK_PROTOCOL_3_0, pairs);
    if (!lk_step_send_buf(core, &s->end, &out))
        fail_broken(core, s, "out of memory");
    lk_buf_clear(&out);
}

void
lk_server_login_begin(struct lk_core *core, struct lk_server *s, bool unix_socket)
{
    lk_server_enter(core, s, LK_SERVER_LOGIN);
    s->unix_socket = unix_socket;
    s->tls_asked = lk_negotiate_begin(core, &s->end, unix_socket);
    if (!s->tls_asked)
        send_startup(core, s);
}

size_t
lk_server_login_answer(struct lk_core *core, struct lk_server *s, struct lk_span in)
{
    const char *why = NULL;
    struct lk_error e;
    if (in.n == 0)
        return 0;
    s->tls_asked = false;
    switch (lk_negotiate_answer(core, &s->end, s->host, in, &why)) {
    case LK_NEGOTIATION_PLAIN:
        send_startup(core, s);
        break;
    case LK_NEGOTIATION_TLS:
        break;
    case LK_NEGOTIATION_FAILED:
        lk_error_set(&e, "08006", "%s", why);
        fail(core, s, &e);
        break;
    }
    return in.n;
}

void
lk_server_login_secured(struct lk_core *core, struct lk_server *s)
{
    send_startup(core, s);
}

void
lk_server_login_reload(struct lk_core *core, const struct lk_settings *before)
{
    static const char prefix[] = "server_tls";
    bool changed = false;
    for (size_t i = 0; i < lk_option_count; i++)
        if (strncmp(lk_options[i].name, prefix, sizeof(prefix) - 1) == 0)
            changed = changed || !lk_option_same(&lk_options[i], before, core->settings);
    if (!changed)
        return;
    LK_LIST_EACH(&core->servers, struct lk_server, node, s)
    s->close_after |= !s->unix_socket;
}

static void
on_authentication(struct lk_core *core, struct lk_server *s, struct lk_span body)
{
    struct lk_buf out = {0};
    struct lk_error why;
    switch (lk_login_step(s->login, body, &out, &why)) {
    case LK_AUTH_MORE:
        if (out.len > 0 && !lk_step_send_buf(core, &s->end, &out))
            fail_broken(core, s, "out of memory");
        break;
    case LK_AUTH_OK:
        learn_from_server(core, s);
        lk_login_free(s->login);
        s->login = NULL;
        break;
    case LK_AUTH_FAILED:
        fail(core, s, &why);
        break;
    }
    if (out.data)
        explicit_bzero(out.data, out.len);
    lk_buf_clear(&out);
}

static void
on_error(struct lk_core *core, struct lk_server *s, struct lk_span body)
{
    struct lk_error e;
    struct lk_span code = lk_msg_error_field(body, 'C'), text = lk_msg_error_field(body, 'M');
    struct lk_span detail = lk_msg_error_field(body, 'D'), hint = lk_msg_error_field(body, 'H');
    char sqlstate[6] = "08006";
    if (code.n == sizeof(sqlstate) - 1)
        memcpy(sqlstate, code.p, code.n);
    lk_error_set(&e, sqlstate, "%.*s", (int)text.n, text.n ? (const char *)text.p : "");
    if (detail.n > 0)
        lk_error_detail(&e, "%.*s", (int)detail.n, (const char *)detail.p);
    if (hint.n > 0)
        lk_error_hint(&e, "%.*s", (int)hint.n, (const char *)hint.p);
    fail(core, s, &e);
}

static void
on_ready(struct lk_core *core, struct lk_server *s)
{
    struct lk_pool *pool = s->seat.pool;
    pool->failed_us = 0;
    free(pool->failure);
    pool->failure = NULL;
    pool->welcome_known = true;
    s->status = 'I';
    lk_server_enter(core, s, LK_SERVER_SETUP);
    lk_clean_begin(core, s, LK_CLEAN_CONNECT, LK_REASON_NONE);
}

/* What comes behind AuthenticationOk. */
static void
on_greeting(struct lk_core *core, struct lk_server *s, uint8_t type, struct lk_span body)
{
    struct lk_msg_param param;
    struct lk_span secret;
    if (type == 'S' && lk_msg_parameter_status(body, &param)) {
        lk_welcome_note(s->seat.pool, param.name, param.value);
        (void)lk_params_reported(core, s, &param);
    } else if (type == 'K' && lk_msg_backend_key(body, &s->pid, &secret) && secret.n <= sizeof(s->secret)) {
        memcpy(s->secret, secret.p, secret.n);
        s->secret_n = (uint16_t)secret.n;
    } else if (type == 'Z' && body.n == 1) {
        on_ready(core, s);
    } else {
        fail_broken(core, s, "unexpected message");
    }
}

void
lk_server_login_frame(struct lk_core *core, struct lk_server *s, uint8_t type, struct lk_span body)
{
    if (type == 'E')
        on_error(core, s, body);
    else if (type == 'N')
        return;
    else if (!s->login)
        on_greeting(core, s, type, body);
    else if (type == 'R')
        on_authentication(core, s, body);
    else
        fail_broken(core, s, "unexpected message before authentication");
}
