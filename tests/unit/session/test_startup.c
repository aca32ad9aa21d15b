#include "unit/session/world.h"

/* --- first packets --- */

static void
a_length_that_no_startup_packet_has_is_refused(void **state)
{
    static const uint32_t lengths[] = {0, 4, 7, 10005, 0x47455420 /* "GET " */};
    for (size_t i = 0; i < LK_COUNT(lengths); i++) {
        struct world *w = world_new("trust", "");
        struct lk_buf b = {0};
        accept_one(w);
        lk_buf_add_u32(&b, lengths[i]);
        say(w, &b);
        assert_refused(w, "08P01", "invalid startup packet");
        world_free(w);
    }
}

static void
a_startup_packet_without_its_closing_zero_is_refused(void **state)
{
    struct world *w = world_new("trust", "");
    struct lk_buf b = {0};
    accept_one(w);
    lk_buf_add_u32(&b, 8 + 5);
    lk_buf_add_u32(&b, LK_PROTOCOL_3_0);
    lk_buf_add(&b, "user\0", 5);
    b.data[12] = 'x';
    say(w, &b);
    assert_refused(w, "08P01", "invalid startup packet");
    world_free(w);
}

static void
encryption_is_declined_once_each_and_the_startup_goes_on(void **state)
{
    struct world *w = world_new("trust", "");
    struct lk_buf b = {0};
    accept_one(w);
    lk_build_ssl_request(&b);
    say(w, &b);
    assert_true(lk_span_is(lk_buf_span(&w->to_client), "N"));
    lk_buf_add_u32(&b, 8);
    lk_buf_add_u32(&b, LK_CODE_GSSENC);
    say(w, &b);
    assert_true(lk_span_is(lk_buf_span(&w->to_client), "NN"));
    lk_buf_clear(&w->to_client);
    SAY_STARTUP(w, "user", "ann", "database", "shop");
    assert_string_equal(types(w), "R");
    lk_buf_clear(&w->to_client);
    accept_one(w);
    lk_build_ssl_request(&b);
    say(w, &b);
    lk_buf_clear(&w->to_client);
    lk_build_ssl_request(&b);
    say(w, &b);
    assert_refused(w, "08P01", "encryption was asked for twice");
    world_free(w);
}

/* The shell's part: the handshake is over. */
static void
secured(struct world *w, struct lk_end *end, const char *peer_cn)
{
    assert_ptr_equal(w->secured, end);
    assert_true(end->securing);
    end->tls = "TLSv1.3/TLS_AES_256_GCM_SHA384";
    end->tls_peer_cn = peer_cn;
    lk_core_secured(w->core, end, w->now);
    settle(w);
    assert_false(end->securing);
}

#define TLS_FILES "client_tls_key_file = k\nclient_tls_cert_file = c\nclient_tls_ca_file = a\n"

static void
tls_is_given_where_it_is_offered(void **state)
{
    struct world *w = world_new("trust", TLS_FILES "client_tls_sslmode = allow\n");
    struct lk_buf b = {0};
    accept_one(w);
    lk_build_ssl_request(&b);
    say(w, &b);
    assert_true(lk_span_is(lk_buf_span(&w->to_client), "S"));
    assert_null(w->secured_host);
    secured(w, w->client, NULL);
    lk_buf_clear(&w->to_client);
    SAY_STARTUP(w, "user", "ann", "database", "shop");
    assert_string_equal(types(w), "R");
    accept_one(w);
    SAY_STARTUP(w, "user", "ann", "database", "shop");
    assert_string_equal(types(w), "R");
    world_free(w);
}

static void
data_behind_an_ssl_request_that_would_be_granted_is_never_read(void **state)
{
    struct world *w = world_new("trust", TLS_FILES "client_tls_sslmode = require\n");
    struct lk_buf b = {0};
    accept_one(w);
    lk_build_ssl_request(&b);
    lk_build_startup(&b, LK_PROTOCOL_3_0, (const char *const[]){"user", "ann", "database", "shop", NULL});
    say(w, &b);
    assert_refused(w, "08P01", "data behind an encryption request");
    assert_null(w->secured);
    world_free(w);
}

static void
where_tls_is_required_plain_clients_are_refused_but_not_on_the_unix_socket(void **state)
{
    struct world *w = world_new("trust", TLS_FILES "client_tls_sslmode = require\n");
    static const struct lk_peer local = {.addr = "unix", .unix_socket = true, .uid = 1000, .local_addr = "unix"};
    struct lk_buf b = {0};
    accept_one(w);
    SAY_STARTUP(w, "user", "ann", "database", "shop");
    assert_refused(w, "08P01", "SSL required");
    accept_from(w, &local);
    lk_build_ssl_request(&b);
    say(w, &b);
    assert_true(lk_span_is(lk_buf_span(&w->to_client), "N"));
    lk_buf_clear(&w->to_client);
    SAY_STARTUP(w, "user", "ann", "database", "shop");
    assert_string_equal(types(w), "R");
    world_free(w);
}

static void
try_certificate(struct world *w, const char *name, const char *user)
{
    struct lk_buf b = {0};
    accept_one(w);
    lk_build_ssl_request(&b);
    say(w, &b);
    secured(w, w->client, name);
    lk_buf_clear(&w->to_client);
    SAY_STARTUP(w, "user", user, "database", "shop");
}

static void
a_certificate_is_a_login_of_the_user_it_names(void **state)
{
    struct world *w = world_new("cert", TLS_FILES "client_tls_sslmode = verify-full\n");
    try_certificate(w, "ann", "ann");
    assert_string_equal(types(w), "R");
    try_certificate(w, "sue", "ann");
    assert_refused(w, "28000", "certificate authentication failed for user \"ann\"");
    try_certificate(w, NULL, "ann");
    assert_refused(w, "28000", "certificate authentication failed for user \"ann\"");
    try_certificate(w, "unlisted", "unlisted");
    assert_true(w->client_closed);
    world_free(w);
}

static void
scram_over_tls_offers_to_bind_to_the_certificate_that_was_shown(void **state)
{
    static const char both[] = "\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0";
    struct world *w = world_new("scram-sha-256", TLS_FILES "client_tls_sslmode = allow\n");
    struct lk_buf b = {0};
    accept_one(w);
    lk_build_ssl_request(&b);
    say(w, &b);
    w->client->tls_binding = lk_span_str("a hash of the certificate");
    secured(w, w->client, NULL);
    lk_buf_clear(&w->to_client);
    SAY_STARTUP(w, "user", "sue", "database", "shop");
    assert_true(lk_span_eq(got(w, 'R'), lk_span_make(both, sizeof(both))));
    accept_one(w);
    SAY_STARTUP(w, "user", "sue", "database", "shop");
    assert_true(lk_span_eq(got(w, 'R'), lk_span_make("\0\0\0\x0aSCRAM-SHA-256\0", 19)));
    world_free(w);
}

static void
data_behind_an_encryption_request_is_never_read(void **state)
{
    struct world *w = world_new("trust", "");
    struct lk_buf b = {0};
    accept_one(w);
    lk_build_ssl_request(&b);
    lk_build_startup(&b, LK_PROTOCOL_3_0, (const char *const[]){"user", "ann", "database", "shop", NULL});
    say(w, &b);
    assert_refused(w, "08P01", "data behind an encryption request");
    world_free(w);
}

static void
another_major_version_is_refused_and_a_newer_minor_one_negotiated(void **state)
{
    struct world *w = world_new("trust", "");
    struct lk_buf b = {0};
    accept_one(w);
    lk_build_startup(&b, 0x00020000u, (const char *const[]){"user", "ann", NULL});
    say(w, &b);
    assert_refused(w, "0A000", "unsupported frontend protocol 2.0: server supports 3.0 to 3.0");
    accept_one(w);
    lk_build_startup(
        &b, 0x00030002u, (const char *const[]){"user", "ann", "database", "shop", "_pq_.dance", "tango", NULL});
    say(w, &b);
    assert_string_equal(types(w), "vR");
    struct lk_cursor c = lk_cursor_make(got(w, 'v'));
    assert_int_equal(lk_cursor_u32(&c), LK_PROTOCOL_3_0);
    assert_int_equal(lk_cursor_u32(&c), 1);
    assert_true(lk_span_is(lk_cursor_cstr(&c), "_pq_.dance"));
    world_free(w);
}

static void
a_cancel_with_an_unknown_key_ends_without_a_word(void **state)
{
    struct world *w = world_new("trust", "");
    struct lk_buf b = {0};
    accept_one(w);
    lk_build_cancel(&b, 4711, lk_span_str("none"));
    say(w, &b);
    assert_int_equal(w->to_client.len, 0);
    assert_true(w->client_closed);
    world_free(w);
}

/* --- parameters --- */

static void
startup_packets_that_ask_for_what_is_not_there_are_told_why(void **state)
{
    static const struct {
        const char *pairs[7];
        const char *sqlstate, *message;
    } cases[] = {
        {{"database", "shop"}, "28000", "no PostgreSQL user name specified in startup packet"},
        {{"user", "ann", "database", "nowhere"}, "3D000", "no such database: nowhere"},
        {{"user", "ann"}, "3D000", "no such database: ann"},
        {{"user", "ann", "database", "shop", "replication", "database"}, "0A000",
            "replication connections are not supported"},
        {{"user", "ann", "database", "shop", "work_mem", "1GB"}, "08P01", "unsupported startup parameter: work_mem"},
        {{"user", "ann", "database", "shop", "options", "-c geqo=off"}, "08P01", "unsupported startup parameter: geqo"},
        {{"user", "ann", "database", "shop", "options", "-d 5"}, "08P01",
            "unsupported startup parameter in options: -d"},
        {{"user", "ann", "database", "shop", "options", "-c"}, "08P01", "unsupported startup parameter in options: -c"},
        {{"user", "ann", "database", "lockkeeper"}, "08P01", "not allowed"},
        {{"user", "nobody", "database", "shop"}, "28P01", "password authentication failed for user \"nobody\""},
    };
    for (size_t i = 0; i < LK_COUNT(cases); i++) {
        struct world *w = world_new("trust", "");
        struct lk_buf b = {0};
        accept_one(w);
        lk_build_startup(&b, LK_PROTOCOL_3_0, cases[i].pairs);
        say(w, &b);
        assert_refused(w, cases[i].sqlstate, cases[i].message);
        assert_int_equal(w->opened, 0);
        world_free(w);
    }
}

static void
ignored_parameters_are_let_pass_and_tracked_ones_kept(void **state)
{
    struct world *w = world_new("trust", "ignore_startup_parameters = extra_float_digits, geqo\n");
    accept_one(w);
    SAY_STARTUP(w, "user", "ann", "database", "shop", "extra_float_digits", "2", "replication", "false", "timezone",
        "Asia/Tokyo", "client_encoding", "'utf-8'", "options",
        "-c geqo=off --application-name=my\\ app\\\\1  -cDateStyle=German -c TimeZone=Mars");
    assert_string_equal(types(w), "R");
    server_comes_up(w);
    assert_string_equal(types(w), "RSSSSKZ");
    assert_string_equal(told(w, "application_name"), "my app\\1");
    assert_string_equal(told(w, "TimeZone"), "Asia/Tokyo");
    assert_string_equal(told(w, "client_encoding"), "UTF8");
    assert_string_equal(told(w, "server_version"), "15.9");
    struct lk_client *c = LK_CONTAINER(w->client, struct lk_client, end);
    assert_string_equal(c->params.value[LK_PARAM_DATESTYLE], "German");
    assert_string_equal(c->who->application_name, "my app\\1");
    world_free(w);
}

static void
options_may_be_ignored_but_for_what_is_tracked(void **state)
{
    struct world *w = world_new("trust", "ignore_startup_parameters = options\n");
    accept_one(w);
    SAY_STARTUP(w, "user", "ann", "database", "shop", "options", "-d 5 -c geqo=off -c timezone=UTC");
    assert_string_equal(types(w), "R");
    struct lk_client *c = LK_CONTAINER(w->client, struct lk_client, end);
    assert_string_equal(c->params.value[LK_PARAM_TIMEZONE], "UTC");
    world_free(w);
}

static void
one_client_too_many_is_refused(void **state)
{
    struct world *w = world_new("trust", "max_client_conn = 1\n");
    accept_one(w);
    SAY_STARTUP(w, "user", "ann", "database", "shop");
    accept_one(w);
    SAY_STARTUP(w, "user", "ann", "database", "shop");
    assert_refused(w, "53300", "no more connections allowed (max_client_conn)");
    accept_one(w);
    SAY_STARTUP(w, "user", "admin", "database", "pgbouncer");
    assert_false(w->client_closed);
    world_free(w);
}

/* --- authentication --- */

static void
every_method_lets_the_right_password_in_and_no_other(void **state)
{
    static const struct {
        const char *method, *user, *password, *refusal;
    } cases[] = {
        {"plain", "ann", "pencil", NULL},
        {"md5", "ann", "pencil", NULL},
        {"md5", "sue", "pencil", NULL},
        {"scram-sha-256", "ann", "pencil", NULL},
        {"scram-sha-256", "sue", "pencil", NULL},
        {"any", "nobody", "", NULL},
        {"plain", "ann", "pen", "password authentication failed for user \"ann\""},
        {"md5", "ann", "pen", "password authentication failed for user \"ann\""},
        {"md5", "nobody", "pencil", "password authentication failed for user \"nobody\""},
        {"scram-sha-256", "sue", "pen", "SASL authentication failed"},
        {"scram-sha-256", "nobody", "pencil", "SASL authentication failed"},
    };
    for (size_t i = 0; i < LK_COUNT(cases); i++) {
        struct world *w = world_new(cases[i].method, "");
        accept_one(w);
        play_login(w, cases[i].user, cases[i].password);
        if (cases[i].refusal) {
            assert_refused(w, "28P01", cases[i].refusal);
            assert_int_equal(w->opened, 0);
        } else {
            assert_int_equal(w->opened, 1);
            assert_int_equal(LK_CONTAINER(w->client, struct lk_client, end)->state, LK_CLIENT_WELCOME);
        }
        world_free(w);
    }
}

static void
a_message_that_is_no_password_ends_the_login(void **state)
{
    struct world *w = world_new("md5", "");
    struct lk_buf b = {0};
    accept_one(w);
    SAY_STARTUP(w, "user", "ann", "database", "shop");
    lk_build_query(&b, lk_span_str("SELECT 1"));
    say(w, &b);
    assert_refused(w, "08P01", "expected a password message of at most 65535 bytes");
    accept_one(w);
    SAY_STARTUP(w, "user", "ann", "database", "shop");
    lk_buf_add_u8(&b, 'p');
    lk_buf_add_u32(&b, 1u << 20);
    say(w, &b);
    assert_refused(w, "08P01", "expected a password message of at most 65535 bytes");
    world_free(w);
}

static void
a_login_may_come_byte_by_byte(void **state)
{
    struct world *w = world_new("plain", "");
    struct lk_buf all = {0}, one = {0};
    accept_one(w);
    lk_build_startup(&all, LK_PROTOCOL_3_0, (const char *const[]){"user", "ann", "database", "shop", NULL});
    lk_build_password(&all, lk_span_make("pencil", 7));
    for (size_t i = 0; i < all.len; i++) {
        assert_int_equal(w->opened, 0);
        lk_buf_add_u8(&one, all.data[i]);
        say(w, &one);
    }
    lk_buf_clear(&all);
    assert_string_equal(types(w), "RR");
    assert_int_equal(w->opened, 1);
    world_free(w);
}

static void
a_reload_in_the_middle_of_a_login_does_not_disturb_it(void **state)
{
    struct world *w = world_new("plain", "");
    struct lk_buf b = {0};
    accept_one(w);
    SAY_STARTUP(w, "user", "ann", "database", "shop");
    struct lk_settings *s = load(w, "plain", "");
    lk_core_reload(w->core, s, w->now);
    lk_settings_unref(s);
    settle(w);
    lk_build_password(&b, lk_span_make("pencil", 7));
    say(w, &b);
    assert_string_equal(types(w), "RR");
    world_free(w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_length_that_no_startup_packet_has_is_refused),
        cmocka_unit_test(a_startup_packet_without_its_closing_zero_is_refused),
        cmocka_unit_test(encryption_is_declined_once_each_and_the_startup_goes_on),
        cmocka_unit_test(tls_is_given_where_it_is_offered),
        cmocka_unit_test(scram_over_tls_offers_to_bind_to_the_certificate_that_was_shown),
        cmocka_unit_test(data_behind_an_ssl_request_that_would_be_granted_is_never_read),
        cmocka_unit_test(where_tls_is_required_plain_clients_are_refused_but_not_on_the_unix_socket),
        cmocka_unit_test(a_certificate_is_a_login_of_the_user_it_names),
        cmocka_unit_test(data_behind_an_encryption_request_is_never_read),
        cmocka_unit_test(another_major_version_is_refused_and_a_newer_minor_one_negotiated),
        cmocka_unit_test(a_cancel_with_an_unknown_key_ends_without_a_word),
        cmocka_unit_test(startup_packets_that_ask_for_what_is_not_there_are_told_why),
        cmocka_unit_test(ignored_parameters_are_let_pass_and_tracked_ones_kept),
        cmocka_unit_test(options_may_be_ignored_but_for_what_is_tracked),
        cmocka_unit_test(one_client_too_many_is_refused),
        cmocka_unit_test(every_method_lets_the_right_password_in_and_no_other),
        cmocka_unit_test(a_message_that_is_no_password_ends_the_login),
        cmocka_unit_test(a_login_may_come_byte_by_byte),
        cmocka_unit_test(a_reload_in_the_middle_of_a_login_does_not_disturb_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
