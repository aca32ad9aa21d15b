/* A client from its first packet to ReadyForQuery (PostgreSQL documentation, "Start-up"). */
#include "session/step.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>

#include "base/log.h"
#include "session/cancel.h"
#include "session/link.h"
#include "session/method.h"
#include "session/secrets.h"
#include "wire/build.h"
#include "wire/frame.h"

/* The longest 'p' message: a password of 65,535 bytes with its NUL. */
#define PASSWORD_FRAME_MAX (65535u + LK_FRAME_HEAD)

static void
refuse(struct lk_core *core, struct lk_client *c, const struct lk_error *e)
{
    lk_client_fail(core, c, e, LK_REASON_NONE);
}

static void
refuse_packet(struct lk_core *core, struct lk_client *c, const char *what)
{
    struct lk_error e;
    lk_error_set(&e, "08P01", "%s", what);
    refuse(core, c, &e);
}

static bool
is_console_name(const char *name)
{
    return strcmp(name, "lockkeeper") == 0 || strcmp(name, "pgbouncer") == 0;
}

/* --- after authentication --- */

static void
take_cancel_key(struct lk_core *core, struct lk_client *c)
{
    struct lk_client *other;
    do {
        core->shared->random((uint8_t *)&c->cancel_pid, sizeof(c->cancel_pid));
        core->shared->random((uint8_t *)&c->cancel_secret, sizeof(c->cancel_secret));
        c->cancel_pid &= INT32_MAX;
        HASH_FIND(by_key, core->keys, &c->cancel_pid, sizeof(c->cancel_pid) + sizeof(c->cancel_secret), other);
    } while (c->cancel_pid == 0 || other);
    HASH_ADD(by_key, core->keys, cancel_pid, sizeof(c->cancel_pid) + sizeof(c->cancel_secret), c);
}

static void
add_field(struct lk_buf *out, char code, const char *text)
{
    lk_buf_add_u8(out, (uint8_t)code);
    lk_buf_add_cstr(out, text);
}

/* The operator's message, of any length. */
static void
notify_login(const struct lk_core *core, struct lk_buf *out)
{
    const char *message = core->settings->login_notify_message;
    if (!message || !message[0])
        return;
    size_t at = lk_build_begin(out, 'N');
    add_field(out, 'S', "NOTICE");
    add_field(out, 'V', "NOTICE");
    add_field(out, 'C', "00000");
    add_field(out, 'M', message);
    lk_buf_add_u8(out, 0);
    lk_build_end(out, at);
}

void
lk_startup_welcome(struct lk_core *core, struct lk_client *c)
{
    struct lk_buf out = {0};
    take_cancel_key(core, c);
    uint32_t n = c->cancel_secret;
    const uint8_t secret[4] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
    lk_welcome_send(core, c);
    notify_login(core, &out);
    lk_build_backend_key(&out, c->cancel_pid, lk_span_make(secret, sizeof(secret)));
    lk_build_ready(&out, 'I');
    bool sent = lk_step_send_buf(core, &c->end, &out);
    lk_buf_clear(&out);
    if (!sent) {
        lk_client_close(core, c);
        return;
    }
    lk_client_enter(core, c, c->pool ? LK_CLIENT_READY : LK_CLIENT_CONSOLE);
}

/* Logging in to the pool's server failed a moment ago, nobody is trying again, and it has no other server. */
static bool
pool_is_failing(const struct lk_core *core, const struct lk_pool *p)
{
    if (p->failed_us == 0 || core->now.mono_us - p->failed_us >= core->settings->server_login_retry_us)
        return false;
    for (int i = LK_SEAT_OPENING; i < LK_SEAT_LISTS; i++)
        if (p->seats[i].count > 0)
            return false;
    return true;
}

static void
refuse_failing(struct lk_core *core, struct lk_client *c)
{
    static const char prefix[] = "server login has been failing, cached error: ";
    const char *failure = c->pool->failure ? c->pool->failure : "connect failed";
    struct lk_error e;
    if (strncmp(failure, prefix, sizeof(prefix) - 1) == 0)
        lk_error_set(&e, "08006", "%s", failure);
    else
        lk_error_set(&e, "08006", "%s%s (server_login_retry)", prefix, failure);
    refuse(core, c, &e);
}

/* Takes a unit of a budget of clients, if there is room. */
static bool
take_unit(struct lk_core *core, struct lk_client *c, enum lk_budget_kind kind, const char *name, int limit)
{
    struct lk_budget *b = lk_budgets_get(core->shared->budgets, kind, name, limit, 0);
    if (!lk_budget_take_one(b)) {
        lk_budgets_put(core->shared->budgets, b);
        return false;
    }
    c->budgets[kind - LK_BUDGET_KINDS] = b;
    return true;
}

/* May one more client of the database, and one more of the user, be logged in? */
static bool
take_room(struct lk_core *core, struct lk_client *c, struct lk_error *e)
{
    const struct lk_settings *s = core->settings;
    const struct lk_database_settings *d = lk_settings_database(s, c->database);
    d = d ? d : lk_settings_fallback(s);
    int of_database = s->max_db_client_connections, of_user = s->max_user_client_connections;
    if (d && d->max_db_client_connections >= 0)
        of_database = d->max_db_client_connections;
    if (c->limits && c->limits->max_user_client_connections >= 0)
        of_user = c->limits->max_user_client_connections;
    const char *limit = NULL;
    if (!take_unit(core, c, LK_BUDGET_DATABASE_CLIENTS, c->database, of_database))
        limit = "max_db_client_connections";
    else if (!take_unit(core, c, LK_BUDGET_USER_CLIENTS, c->user, of_user))
        limit = "max_user_client_connections";
    if (limit)
        lk_error_set(e, "53300", "no more connections allowed (%s)", limit);
    return limit == NULL;
}

static void
join_pool(struct lk_core *core, struct lk_client *c)
{
    struct lk_error e;
    if (!take_room(core, c, &e)) {
        refuse(core, c, &e);
        return;
    }
    struct lk_pool *pool = lk_core_pool(core, c->database, c->user);
    if (!pool) {
        lk_error_set(&e, "3D000", "no such database: %s", c->database);
        refuse(core, c, &e);
        return;
    }
    c->pool = pool;
    pool->clients++;
    if (pool->welcome_known) {
        lk_startup_welcome(core, c);
    } else if (pool_is_failing(core, pool)) {
        refuse_failing(core, c);
    } else {
        lk_client_enter(core, c, LK_CLIENT_WELCOME);
        lk_pool_wait(pool, &c->place, core->now.mono_us);
        lk_link_serve(core, pool);
    }
}

/* Sends what the exchange said last, and AuthenticationOk. */
static void
admit(struct lk_core *core, struct lk_client *c, struct lk_buf *out)
{
    lk_build_authentication(out, 0, lk_span_make(NULL, 0));
    if (!lk_step_send_buf(core, &c->end, out))
        lk_client_close(core, c);
    else if (is_console_name(c->database))
        lk_startup_welcome(core, c);
    else
        join_pool(core, c);
}

/* --- authentication --- */

static bool
same_secret(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void
end_exchange(struct lk_client *c)
{
    lk_exchange_free(c->exchange);
    c->exchange = NULL;
    lk_mem_wipe_free(c->auth_secret);
    c->auth_secret = NULL;
}

static void
on_verdict(struct lk_core *core, struct lk_client *c, enum lk_auth_verdict verdict, struct lk_buf *out,
    const struct lk_error *why)
{
    switch (verdict) {
    case LK_AUTH_MORE:
        if (!lk_step_send_buf(core, &c->end, out))
            lk_client_close(core, c);
        break;
    case LK_AUTH_FAILED:
        lk_secret_doubt(core, c->database, c->user);
        end_exchange(c);
        refuse(core, c, why);
        break;
    case LK_AUTH_OK:
        /* a RELOAD in between may have given the user another secret, which this login says nothing of */
        if (same_secret(c->auth_secret, lk_secret_find(core, c->database, c->user)))
            lk_user_keys_learn(core, c->user, c->auth_secret, c->exchange);
        end_exchange(c);
        admit(core, c, out);
        break;
    }
    lk_buf_clear(out);
}

static void
authenticate(struct lk_core *core, struct lk_client *c)
{
    struct lk_buf out = {0};
    struct lk_error why;
    enum lk_auth_verdict verdict;
    enum lk_auth_method method;
    if (!lk_method_choose(core, c, &method, &why)) {
        refuse(core, c, &why);
        return;
    }
    bool needs_none = method == LK_AUTH_ANY || method == LK_AUTH_REJECT;
    if (!needs_none && lk_secret_ask(core, c))
        return;
    if (c->state == LK_CLIENT_STARTUP)
        lk_client_enter(core, c, LK_CLIENT_AUTH);
    c->auth_secret = lk_mem_dup(lk_secret_find(core, c->database, c->user));
    if (method == LK_AUTH_TRUST && !c->auth_secret && lk_secret_user_exists(core, c->database, c->user))
        c->auth_secret = lk_mem_dup("");
    struct lk_auth_request request = {
        .method = method,
        .user = c->user,
        .secret = c->auth_secret,
        .mock_key = lk_span_make(core->shared->mock_key, sizeof(core->shared->mock_key)),
        .mock_scram = lk_secret_mostly_scram(core, c->database),
        .scram_iterations = (uint32_t)core->settings->scram_iterations,
        .binding = c->end.tls_binding,
    };
    core->shared->random(request.random, sizeof(request.random));
    c->exchange = lk_exchange_new(&request, &out, &verdict, &why);
    explicit_bzero(request.random, sizeof(request.random));
    on_verdict(core, c, verdict, &out, &why);
}

void
lk_startup_looked_up(struct lk_core *core, struct lk_client *c, const struct lk_error *why)
{
    lk_client_enter(core, c, LK_CLIENT_AUTH);
    if (why)
        refuse(core, c, why);
    else
        authenticate(core, c);
    if (c->state != LK_CLIENT_GONE)
        lk_effects_resume(&core->effects, &c->end);
}

static size_t
on_auth_frame(struct lk_core *core, struct lk_client *c, struct lk_span in)
{
    struct lk_frame f;
    enum lk_frame_status status = lk_frame_next(in, PASSWORD_FRAME_MAX, &f);
    if (status == LK_FRAME_MORE)
        return 0;
    if (status == LK_FRAME_BAD || f.type != 'p') {
        refuse_packet(core, c, "expected a password message of at most 65535 bytes");
        return in.n;
    }
    if (status == LK_FRAME_PART)
        return 0;
    struct lk_buf out = {0};
    struct lk_error why;
    enum lk_auth_verdict verdict = lk_exchange_step(c->exchange, f.body, &out, &why);
    on_verdict(core, c, verdict, &out, &why);
    return f.total;
}

/* --- parameters of the startup packet --- */

/* A client_encoding that PostgreSQL takes for UTF8, however it is spelt, becomes that: some drivers insist on reading
 * it back, and a server that says UTF8 then needs no change. */
static bool
is_utf8(struct lk_span value)
{
    char plain[8];
    size_t n = 0;
    for (size_t i = 0; i < value.n; i++) {
        if (!isalnum(value.p[i]))
            continue;
        if (n == sizeof(plain))
            return false;
        plain[n++] = (char)tolower(value.p[i]);
    }
    struct lk_span s = lk_span_make(plain, n);
    return lk_span_is(s, "utf8") || lk_span_is(s, "unicode");
}

static bool
take_parameter(struct lk_core *core, struct lk_client *c, struct lk_span name, struct lk_span value, bool lenient,
    struct lk_error *e)
{
    int param = lk_param_find(core, name);
    if (param < 0) {
        if (lenient || lk_settings_ignores_parameter(core->settings, name))
            return true;
        lk_error_set(e, "08P01", "unsupported startup parameter: %.*s", (int)name.n, (const char *)name.p);
        return false;
    }
    if (param == LK_PARAM_CLIENT_ENCODING && is_utf8(value))
        value = lk_span_str("UTF8");
    const char *interned = lk_param_intern(core, value);
    if (!interned) {
        lk_error_set(e, "53200", "out of memory");
        return false;
    }
    c->params.value[param] = interned;
    if (param == LK_PARAM_APPLICATION_NAME) {
        free(c->who->application_name);
        c->who->application_name = lk_mem_dup(interned);
    }
    return true;
}

/* The next word of `options`; a backslash takes the meaning off the character behind it. False: none is left, and the
 * last one stays. */
static bool
next_word(struct lk_span *rest, struct lk_buf *word)
{
    while (rest->n > 0 && isspace(rest->p[0]))
        *rest = lk_span_skip(*rest, 1);
    if (rest->n == 0)
        return false;
    word->len = 0;
    while (rest->n > 0 && !isspace(rest->p[0])) {
        if (rest->p[0] == '\\' && rest->n > 1)
            *rest = lk_span_skip(*rest, 1);
        lk_buf_add_u8(word, rest->p[0]);
        *rest = lk_span_skip(*rest, 1);
    }
    return true;
}

/* Leaves what stands before the '=' in `name`, with dashes for underscores undone. */
static bool
split_assignment(struct lk_buf *word, size_t skip, struct lk_span *name, struct lk_span *value)
{
    uint8_t *equals = word->len > skip ? memchr(word->data + skip, '=', word->len - skip) : NULL;
    if (!equals)
        return false;
    for (uint8_t *p = word->data + skip; p < equals; p++)
        if (*p == '-')
            *p = '_';
    *name = lk_span_make(word->data + skip, (size_t)(equals - word->data) - skip);
    *value = lk_span_make(equals + 1, word->len - skip - name->n - 1);
    return name->n > 0;
}

/* "-c name=value", "-cname=value" and "--name=value", as the server's command line has them. */
static bool
take_options(struct lk_core *core, struct lk_client *c, struct lk_span text, struct lk_error *e)
{
    bool lenient = lk_settings_ignores_parameter(core->settings, lk_span_str("options"));
    struct lk_buf word = {0};
    bool good = true;
    while (good && next_word(&text, &word)) {
        struct lk_span w = lk_buf_span(&word), name, value;
        bool known = w.n >= 2 && w.p[0] == '-' && (w.p[1] == 'c' || w.p[1] == '-');
        size_t skip = 2;
        if (known && w.n == 2 && w.p[1] == 'c') {
            skip = 0;
            known = next_word(&text, &word);
        }
        if (known && split_assignment(&word, skip, &name, &value)) {
            good = take_parameter(core, c, name, value, lenient, e);
        } else if (!lenient) {
            lk_error_set(e, "08P01", "unsupported startup parameter in options: %.*s", (int)word.len,
                word.data ? (const char *)word.data : "");
            good = false;
        }
    }
    if (good && word.failed) {
        lk_error_set(e, "53200", "out of memory");
        good = false;
    }
    lk_buf_clear(&word);
    return good;
}

static bool
says_no(struct lk_span value)
{
    static const char *const words[] = {"false", "off", "no", "0", "f", "n"};
    for (size_t i = 0; i < LK_COUNT(words); i++)
        if (lk_span_is(value, words[i]))
            return true;
    return false;
}

/* Who wants in, and where; what the names mean is seen to later. */
static bool
take_names(struct lk_client *c, struct lk_span params, struct lk_span *options, struct lk_error *e)
{
    struct lk_span name, value, user = {0}, database = {0};
    while (lk_msg_startup_param(&params, &name, &value)) {
        if (lk_span_is(name, "user")) {
            user = value;
        } else if (lk_span_is(name, "database")) {
            database = value;
        } else if (lk_span_is(name, "options")) {
            *options = value;
        } else if (lk_span_is(name, "replication") && !says_no(value)) {
            lk_error_set(e, "0A000", "replication connections are not supported");
            return false;
        }
    }
    if (user.n == 0) {
        lk_error_set(e, "28000", "no PostgreSQL user name specified in startup packet");
        return false;
    }
    c->user = lk_mem_dup_span(user);
    c->database = lk_mem_dup_span(database.n > 0 ? database : user);
    c->who->user = lk_mem_dup(c->user);
    c->who->database = lk_mem_dup(c->database);
    return true;
}

static bool
is_protocol_option(struct lk_span name)
{
    return name.n > 5 && memcmp(name.p, "_pq_.", 5) == 0;
}

static bool
take_parameters(struct lk_core *core, struct lk_client *c, struct lk_span params, struct lk_error *e)
{
    static const char *const names[] = {"user", "database", "options", "replication"};
    struct lk_span name, value, options = {0};
    if (!take_names(c, params, &options, e))
        return false;
    /* what stands in the packet by name goes before what stands in options */
    if (!take_options(core, c, options, e))
        return false;
    while (lk_msg_startup_param(&params, &name, &value)) {
        bool taken = is_protocol_option(name);
        for (size_t i = 0; i < LK_COUNT(names); i++)
            taken = taken || lk_span_is(name, names[i]);
        if (!taken && !take_parameter(core, c, name, value, false, e))
            return false;
    }
    return true;
}

/* --- the startup packet --- */

/* May this user have the console? *trusted: without a password. */
static bool
admit_to_console(const struct lk_core *core, struct lk_client *c, bool *trusted, struct lk_error *e)
{
    const struct lk_settings *s = core->settings;
    bool ours = c->unix_socket && c->peer_uid != UINT32_MAX && c->peer_uid == core->shared->uid;
    *trusted = ours && is_console_name(c->user);
    c->admin = *trusted || s->auth_type == LK_AUTH_TYPE_ANY || lk_settings_list_has(s->admin_users, c->user);
    if (c->admin || lk_settings_list_has(s->stats_users, c->user))
        return true;
    lk_error_set(e, "08P01", "not allowed");
    return false;
}

static bool
check_database(const struct lk_core *core, const struct lk_client *c, struct lk_error *e)
{
    if (lk_names_has(&core->disabled, c->database)) {
        lk_error_set(e, "08P01", "database \"%s\" is disabled", c->database);
        return false;
    }
    if (lk_settings_database(core->settings, c->database) || lk_settings_fallback(core->settings))
        return true;
    lk_error_set(e, "3D000", "no such database: %s", c->database);
    return false;
}

static bool
check_room(const struct lk_core *core, const struct lk_client *c, struct lk_error *e)
{
    if (c->admin || atomic_load(&core->shared->clients) <= core->settings->max_client_conn)
        return true;
    lk_error_set(e, "53300", "no more connections allowed (max_client_conn)");
    return false;
}

/* Answers a newer minor version or protocol options that we don't know: 3.0 it is, without them. */
static bool
negotiate(struct lk_core *core, struct lk_client *c, const struct lk_msg_startup *m)
{
    struct lk_span params = m->params, name, value;
    uint32_t count = 0;
    while (lk_msg_startup_param(&params, &name, &value))
        count += is_protocol_option(name);
    if (m->code == LK_PROTOCOL_3_0 && count == 0)
        return true;
    struct lk_span *unknown = lk_mem_try((count + 1) * sizeof(*unknown));
    if (!unknown)
        return false;
    params = m->params;
    count = 0;
    while (lk_msg_startup_param(&params, &name, &value))
        if (is_protocol_option(name))
            unknown[count++] = name;
    struct lk_buf out = {0};
    lk_build_negotiate(&out, LK_PROTOCOL_3_0, unknown, count);
    bool sent = lk_step_send_buf(core, &c->end, &out);
    lk_buf_clear(&out);
    free(unknown);
    return sent;
}

static void
on_startup(struct lk_core *core, struct lk_client *c, const struct lk_msg_startup *m)
{
    struct lk_error e;
    bool trusted = false;
    if (m->code >> 16 != 3) {
        lk_error_set(&e, "0A000", "unsupported frontend protocol %u.%u: server supports 3.0 to 3.0", m->code >> 16,
            m->code & 0xffff);
        refuse(core, c, &e);
        return;
    }
    if (core->settings->client_tls_sslmode >= LK_SSLMODE_REQUIRE && !c->end.tls && !c->unix_socket) {
        refuse_packet(core, c, "SSL required");
        return;
    }
    if (!negotiate(core, c, m)) {
        lk_client_close(core, c);
        return;
    }
    bool good = take_parameters(core, c, m->params, &e);
    if (c->user && core->settings->log_connections)
        lk_log(LK_LOG_INFO, "%s: login attempt: db=%s user=%s tls=%s", lk_client_label(c), c->database, c->user,
            c->end.tls ? c->end.tls : "no");
    bool console = c->database && is_console_name(c->database);
    good = good && (console ? admit_to_console(core, c, &trusted, &e) : check_database(core, c, &e));
    if (!good || !check_room(core, c, &e)) {
        refuse(core, c, &e);
        return;
    }
    c->limits = lk_settings_user(core->settings, c->user);
    if (trusted) {
        lk_client_enter(core, c, LK_CLIENT_AUTH);
        struct lk_buf out = {0};
        admit(core, c, &out);
        lk_buf_clear(&out);
    } else {
        authenticate(core, c);
    }
}

/* SSLRequest and GSSENCRequest. The answer no means that it may go on in the clear. */
static void
on_encryption_request(struct lk_core *core, struct lk_client *c, bool *asked, bool more_follows, bool offered)
{
    /* Bytes sent before our answer would be taken for what comes after it, whoever slipped them in. */
    if (*asked || more_follows) {
        refuse_packet(core, c, *asked ? "encryption was asked for twice" : "data behind an encryption request");
        return;
    }
    *asked = true;
    lk_step_send(core, &c->end, lk_span_str(offered ? "S" : "N"));
    if (offered)
        lk_effects_tls(&core->effects, &c->end, NULL);
}

static bool
offers_tls(const struct lk_core *core, const struct lk_client *c)
{
    return core->settings->client_tls_sslmode != LK_SSLMODE_DISABLE && !c->unix_socket;
}

static size_t
on_first_frame(struct lk_core *core, struct lk_client *c, struct lk_span in)
{
    struct lk_frame f;
    struct lk_msg_startup m;
    enum lk_frame_status status = lk_frame_startup(in, &f);
    if (status == LK_FRAME_MORE || status == LK_FRAME_PART)
        return 0;
    if (status == LK_FRAME_BAD || !lk_msg_startup(f.body, &m)) {
        refuse_packet(core, c, "invalid startup packet");
        return in.n;
    }
    switch (m.code) {
    case LK_CODE_SSL:
        on_encryption_request(core, c, &c->asked_tls, in.n > f.total, offers_tls(core, c));
        break;
    case LK_CODE_GSSENC:
        on_encryption_request(core, c, &c->asked_gss, in.n > f.total, false);
        break;
    case LK_CODE_CANCEL:
        lk_client_enter(core, c, LK_CLIENT_CANCEL);
        lk_cancel_request(core, c, m.cancel_pid, m.cancel_secret);
        break;
    default:
        on_startup(core, c, &m);
        break;
    }
    return f.total;
}

size_t
lk_startup_input(struct lk_core *core, struct lk_client *c, struct lk_span in)
{
    struct lk_span rest = in;
    while (c->state == LK_CLIENT_STARTUP || c->state == LK_CLIENT_AUTH) {
        size_t n = c->state == LK_CLIENT_STARTUP ? on_first_frame(core, c, rest) : on_auth_frame(core, c, rest);
        if (n == 0)
            break;
        rest = lk_span_skip(rest, n);
    }
    bool over = c->state == LK_CLIENT_GONE || c->state == LK_CLIENT_CANCEL;
    return over ? in.n : in.n - rest.n;
}
