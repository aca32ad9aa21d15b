#include "unit/session/world.h"

static void
a_second_client_is_welcomed_without_another_server(void **state)
{
    struct world *w = world_new("trust", "");
    accept_one(w);
    SAY_STARTUP(w, "user", "ann", "database", "shop");
    server_comes_up(w);
    assert_string_equal(types(w), "RSSSSKZ");
    struct lk_span first = got(w, 'K');
    uint8_t key[8];
    assert_int_equal(first.n, sizeof(key));
    memcpy(key, first.p, sizeof(key));
    accept_one(w);
    SAY_STARTUP(w, "user", "ann", "database", "shop", "application_name", "second");
    assert_string_equal(types(w), "RSSSSKZ");
    assert_string_equal(told(w, "application_name"), "second");
    assert_memory_not_equal(got(w, 'K').p, key, sizeof(key));
    assert_int_equal(got(w, 'K').p[0] & 0x80, 0);
    assert_int_equal(w->opened, 1);
    world_free(w);
}

static void
the_servers_refusal_reaches_those_who_wait_and_is_remembered(void **state)
{
    struct world *w = world_new("trust", "");
    struct lk_buf b = {0};
    struct lk_error e;
    accept_one(w);
    SAY_STARTUP(w, "user", "ann", "database", "shop");
    server_opens(w);
    lk_error_set(&e, "3D000", "database \"shop\" does not exist");
    lk_build_error(&b, "FATAL", &e, false);
    server_says(w, &b);
    assert_refused(w, "3D000", "database \"shop\" does not exist");
    assert_true(w->server_closed);
    accept_one(w);
    SAY_STARTUP(w, "user", "ann", "database", "shop");
    assert_refused(w, "08006",
        "server login has been failing, cached error: database \"shop\" does not exist (server_login_retry)");
    assert_int_equal(w->opened, 1);
    w->now.mono_us += 16 * LK_SECOND_US;
    accept_one(w);
    SAY_STARTUP(w, "user", "ann", "database", "shop");
    assert_int_equal(w->opened, 2);
    server_comes_up(w);
    assert_string_equal(types(w), "RSSSSKZ");
    world_free(w);
}

static void
a_connection_that_fails_is_told_to_who_waited_and_to_who_comes_after(void **state)
{
    struct world *w = world_new("trust", "");
    accept_one(w);
    SAY_STARTUP(w, "user", "ann", "database", "shop");
    lk_core_lost(w->core, w->server, "Connection refused", w->now);
    settle(w);
    assert_refused(w, "08006", "Connection refused");
    accept_one(w);
    SAY_STARTUP(w, "user", "ann", "database", "shop");
    assert_refused(
        w, "08006", "server login has been failing, cached error: Connection refused (server_login_retry)");
    world_free(w);
}

/* --- TLS --- */

static uint32_t
word(const struct lk_buf *b, size_t at)
{
    assert_true(b->len >= at + 4);
    const uint8_t *p = b->data + at;
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* A server to which a client's login leads, connected and asked for TLS. */
static struct world *
server_is_asked(const char *settings)
{
    struct world *w = world_new("trust", settings);
    accept_one(w);
    SAY_STARTUP(w, "user", "ann", "database", "shop");
    server_opens(w);
    assert_int_equal(w->to_server.len, 8);
    assert_int_equal(word(&w->to_server, 4), LK_CODE_SSL);
    lk_buf_clear(&w->to_server);
    return w;
}

static void
server_answers(struct world *w, const char *bytes)
{
    struct lk_buf b = {0};
    lk_buf_add(&b, bytes, strlen(bytes));
    server_says(w, &b);
}

static void
server_is_secured(struct world *w)
{
    assert_ptr_equal(w->secured, w->server);
    assert_string_equal(w->secured_host, "127.0.0.1");
    assert_int_equal(w->to_server.len, 0);
    w->server->tls = "TLSv1.3/TLS_AES_256_GCM_SHA384";
    lk_core_secured(w->core, w->server, w->now);
    settle(w);
    assert_int_equal(word(&w->to_server, 4), LK_PROTOCOL_3_0);
}

static void
a_server_that_offers_tls_is_logged_in_to_behind_the_handshake(void **state)
{
    static const char *const modes[] = {"allow", "prefer", "require", "verify-ca", "verify-full"};
    for (size_t i = 0; i < LK_COUNT(modes); i++) {
        char settings[96];
        (void)snprintf(settings, sizeof(settings), "server_tls_ca_file = a\nserver_tls_sslmode = %s\n", modes[i]);
        struct world *w = server_is_asked(settings);
        server_answers(w, "S");
        server_is_secured(w);
        lk_buf_clear(&w->to_server);
        server_greets(w);
        server_obliges(w);
        assert_string_equal(types(w), "RSSSSKZ");
        world_free(w);
    }
}

static void
a_server_without_tls_will_do_unless_it_is_required(void **state)
{
    struct world *w = server_is_asked("server_tls_sslmode = prefer\n");
    server_answers(w, "N");
    assert_null(w->secured);
    assert_int_equal(word(&w->to_server, 4), LK_PROTOCOL_3_0);
    world_free(w);
    w = server_is_asked("server_tls_sslmode = require\n");
    server_answers(w, "N");
    assert_refused(w, "08006", "the server offers no TLS, and server_tls_sslmode requires it");
    assert_true(w->server_closed);
    assert_int_equal(w->to_server.len, 0);
    world_free(w);
}

static void
nothing_that_stands_behind_the_answer_to_an_ssl_request_is_believed(void **state)
{
    static const struct {
        const char *said, *why;
    } cases[] = {
        {"SR", "data behind the answer to SSLRequest"},
        {"NR", "data behind the answer to SSLRequest"},
        {"Ecould not fork", "the server answered SSLRequest with an error"},
        {"?", "the server answered SSLRequest with something unknown"},
    };
    for (size_t i = 0; i < LK_COUNT(cases); i++) {
        struct world *w = server_is_asked("server_tls_sslmode = prefer\n");
        server_answers(w, cases[i].said);
        assert_refused(w, "08006", cases[i].why);
        assert_true(w->server_closed);
        assert_null(w->secured);
        world_free(w);
    }
}

static void
nothing_is_believed_before_the_handshake_is_over(void **state)
{
    struct world *w = server_is_asked("server_tls_sslmode = prefer\n");
    server_answers(w, "S");
    server_greets(w);
    assert_string_equal(types(w), "R");
    assert_false(w->server_closed);
    server_is_secured(w);
    lk_buf_clear(&w->to_server);
    server_greets(w);
    server_obliges(w);
    assert_string_equal(types(w), "RSSSSKZ");
    world_free(w);
}

static void
a_server_on_the_unix_socket_is_not_asked_for_tls(void **state)
{
    struct world *w = world_new("trust", "server_tls_sslmode = require\n");
    static const struct lk_peer local = {.addr = "unix", .unix_socket = true, .uid = UINT32_MAX, .local_addr = "unix"};
    accept_one(w);
    SAY_STARTUP(w, "user", "ann", "database", "shop");
    lk_core_opened(w->core, w->server, &local, w->now);
    settle(w);
    assert_int_equal(word(&w->to_server, 4), LK_PROTOCOL_3_0);
    world_free(w);
}

/* Plays a server with that secret against Lockkeeper's login as sue; true: it got in. */
static bool
server_lets_in_bound(struct world *w, enum lk_auth_method method, const char *secret, const char *binding)
{
    struct lk_auth_request request = {.method = method,
        .user = "sue",
        .secret = secret,
        .random = "0123456789abcdefghijklmnopqrstu",
        .mock_key = lk_span_str("key"),
        .scram_iterations = 4096,
        .binding = lk_span_str(binding)};
    struct lk_buf out = {0};
    struct lk_error why;
    enum lk_auth_verdict verdict;
    struct lk_exchange *x = lk_exchange_new(&request, &out, &verdict, &why);
    lk_buf_clear(&w->to_server);
    while (verdict == LK_AUTH_MORE && !w->server_closed) {
        struct lk_frame f;
        server_says(w, &out);
        if (w->server_closed)
            break;
        assert_int_equal(lk_frame_next(lk_buf_span(&w->to_server), UINT32_MAX, &f), LK_FRAME_WHOLE);
        verdict = lk_exchange_step(x, f.body, &out, &why);
        lk_buf_drop(&w->to_server, f.total);
    }
    if (out.len > 0 && !w->server_closed)
        server_says(w, &out);
    lk_buf_clear(&out);
    lk_exchange_free(x);
    return verdict == LK_AUTH_OK && !w->server_closed;
}

static bool
server_lets_in(struct world *w, enum lk_auth_method method, const char *secret)
{
    return server_lets_in_bound(w, method, secret, "");
}

static void
a_login_to_a_server_over_tls_is_bound_to_its_certificate(void **state)
{
    static const char *const hashes[] = {"its own hash", "another's hash"};
    for (size_t i = 0; i < LK_COUNT(hashes); i++) {
        struct world *w = world_new("plain", "server_tls_sslmode = prefer\n");
        accept_one(w);
        play_login(w, "sue", "pencil");
        server_opens(w);
        lk_buf_clear(&w->to_server);
        server_answers(w, "S");
        w->server->tls_binding = lk_span_str("its own hash");
        server_is_secured(w);
        assert_int_equal(server_lets_in_bound(w, LK_AUTH_SCRAM, "pencil", hashes[i]), i == 0);
        world_free(w);
    }
}

static void
a_scram_login_reveals_the_key_for_the_server_that_has_the_same_verifier(void **state)
{
    struct world *w = world_new("scram-sha-256", "");
    accept_one(w);
    play_login(w, "sue", "pencil");
    server_opens(w);
    assert_true(server_lets_in(w, LK_AUTH_SCRAM, VERIFIER));
    server_greets(w);
    server_obliges(w);
    assert_non_null(got(w, 'Z').p);
    world_free(w);
}

static void
a_plain_login_reveals_the_password_for_any_server(void **state)
{
    struct world *w = world_new("plain", "");
    accept_one(w);
    play_login(w, "sue", "pencil");
    server_opens(w);
    assert_true(server_lets_in(w, LK_AUTH_SCRAM, "pencil"));
    world_free(w);
}

static void
a_key_is_forgotten_when_the_users_secret_changes(void **state)
{
    struct world *w = world_new("plain", "");
    accept_one(w);
    play_login(w, "sue", "pencil");
    struct lk_settings *s = load(w, "plain", "");
    write_file(w->list, "\"sue\" \"md528754acffc5400623f44a44d30b50393\"\n");
    lk_settings_unref(s);
    struct lk_buf errors = {0}, warnings = {0};
    s = lk_settings_load(w->ini, &errors, &warnings);
    assert_non_null(s);
    lk_core_reload(w->core, s, w->now);
    lk_settings_unref(s);
    settle(w);
    lk_buf_clear(&errors);
    lk_buf_clear(&warnings);
    server_opens(w);
    assert_false(server_lets_in(w, LK_AUTH_SCRAM, "pencil"));
    world_free(w);
}

static void
a_server_that_skips_authentication_is_not_believed(void **state)
{
    struct world *w = world_new("trust", "");
    struct lk_buf b = {0};
    accept_one(w);
    SAY_STARTUP(w, "user", "ann", "database", "shop");
    server_opens(w);
    lk_build_ready(&b, 'I');
    server_says(w, &b);
    assert_true(w->server_closed);
    assert_refused(w, "08P01", "the server's login is broken: unexpected message before authentication");
    world_free(w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_offers_tls_is_logged_in_to_behind_the_handshake),
        cmocka_unit_test(a_server_without_tls_will_do_unless_it_is_required),
        cmocka_unit_test(nothing_that_stands_behind_the_answer_to_an_ssl_request_is_believed),
        cmocka_unit_test(nothing_is_believed_before_the_handshake_is_over),
        cmocka_unit_test(a_server_on_the_unix_socket_is_not_asked_for_tls),
        cmocka_unit_test(a_login_to_a_server_over_tls_is_bound_to_its_certificate),
        cmocka_unit_test(a_second_client_is_welcomed_without_another_server),
        cmocka_unit_test(the_servers_refusal_reaches_those_who_wait_and_is_remembered),
        cmocka_unit_test(a_connection_that_fails_is_told_to_who_waited_and_to_who_comes_after),
        cmocka_unit_test(a_scram_login_reveals_the_key_for_the_server_that_has_the_same_verifier),
        cmocka_unit_test(a_plain_login_reveals_the_password_for_any_server),
        cmocka_unit_test(a_key_is_forgotten_when_the_users_secret_changes),
        cmocka_unit_test(a_server_that_skips_authentication_is_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
