#include "net/tls.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"

struct fixture {
    char folder[64];
    char ini[96];
    struct lk_tls *tls;
    int fds[2];
    struct lk_secure *server, *client;
};

/* --- certificates --- */

static void
path_of(const struct fixture *f, const char *name, const char *end, char out[128])
{
    snprintf(out, 128, "%s/%s.%s", f->folder, name, end);
}

/* A certificate that vouches for itself, and its key, which it takes over, in NAME.crt and NAME.key. */
static void
make_signed(const struct fixture *f, const char *name, EVP_PKEY *key, const EVP_MD *digest, const void *cn,
    int cn_length, const char *alternative)
{
    char path[128];
    X509 *x = X509_new();
    X509_NAME *subject = X509_get_subject_name(x);
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    assert_int_equal(X509_NAME_add_entry_by_txt(subject, "CN", V_ASN1_UTF8STRING, cn, cn_length, -1, 0), 1);
    X509_set_issuer_name(x, subject);
    X509_set_pubkey(x, key);
    if (alternative) {
        X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, alternative);
        assert_non_null(e);
        X509_add_ext(x, e, -1);
        X509_EXTENSION_free(e);
    }
    assert_true(X509_sign(x, key, digest) > 0);
    path_of(f, name, "crt", path);
    FILE *out = fopen(path, "w");
    assert_int_equal(PEM_write_X509(out, x), 1);
    fclose(out);
    path_of(f, name, "key", path);
    out = fopen(path, "w");
    assert_int_equal(PEM_write_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(out);
    X509_free(x);
    EVP_PKEY_free(key);
}

static void
make_certificate(const struct fixture *f, const char *name, const void *cn, int cn_length, const char *alternative)
{
    make_signed(f, name, EVP_EC_gen("P-256"), EVP_sha256(), cn, cn_length, alternative);
}

/* --- settings and connections --- */

/* Settings in which @ stands for the folder; NULL: `errors` has what is wrong. */
static struct lk_tls *
tls_of(struct fixture *f, const char *lines, struct lk_buf *errors)
{
    struct lk_buf text = {0}, warnings = {0};
    lk_buf_add_format(&text, "[pgbouncer]\nauth_type = any\n");
    for (const char *p = lines; *p; p++)
        lk_buf_add(&text, *p == '@' ? f->folder : p, *p == '@' ? strlen(f->folder) : 1);
    FILE *ini = fopen(f->ini, "w");
    fprintf(ini, "%.*s\n", (int)text.len, (const char *)text.data);
    fclose(ini);
    struct lk_settings *s = lk_settings_load(f->ini, errors, &warnings);
    if (!s)
        fail_msg("%.*s", (int)errors->len, (const char *)errors->data);
    struct lk_tls *t = lk_tls_new(s, errors);
    lk_settings_unref(s);
    lk_buf_clear(&text);
    lk_buf_clear(&warnings);
    lk_buf_add_u8(errors, 0);
    return t;
}

#define OWN "client_tls_key_file = @/server.key\nclient_tls_cert_file = @/server.crt\n"
#define ENCRYPTED OWN "client_tls_sslmode = require\nserver_tls_sslmode = require\n"

static void
drop(struct fixture *f)
{
    lk_tls_free(f->server);
    lk_tls_free(f->client);
    f->server = f->client = NULL;
    for (int i = 0; i < 2; i++)
        if (f->fds[i] >= 0)
            close(f->fds[i]);
    lk_tls_unref(f->tls);
    f->tls = NULL;
    f->fds[0] = f->fds[1] = -1;
}

static void
connect_as(struct fixture *f, const char *lines, const char *host)
{
    struct lk_buf errors = {0};
    drop(f);
    f->tls = tls_of(f, lines, &errors);
    assert_string_equal(errors.data, "");
    lk_buf_clear(&errors);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, f->fds), 0);
    f->server = lk_tls_accept(f->tls, f->fds[0]);
    f->client = lk_tls_connect(f->tls, f->fds[1], host);
    assert_non_null(f->server);
    assert_non_null(f->client);
}

/* Both sides in turn; NULL: done, else why it failed on the side that ended first. */
static const char *
shake(struct fixture *f)
{
    const char *why = NULL;
    enum lk_tls_result c = LK_TLS_WANT_READ, s = LK_TLS_WANT_READ;
    for (int i = 0; i < 20 && (c != LK_TLS_DONE || s != LK_TLS_DONE); i++) {
        if (c != LK_TLS_DONE && (c = lk_tls_handshake(f->client, &why)) == LK_TLS_END)
            return why;
        if (s != LK_TLS_DONE && (s = lk_tls_handshake(f->server, &why)) == LK_TLS_END)
            return why;
    }
    assert_int_equal(c, LK_TLS_DONE);
    assert_int_equal(s, LK_TLS_DONE);
    assert_false(lk_tls_shaking(f->client));
    return NULL;
}

static int
set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    (void)signal(SIGPIPE, SIG_IGN);
    snprintf(f->folder, sizeof(f->folder), "/tmp/lk-tls-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->ini, sizeof(f->ini), "%s/lk.ini", f->folder);
    f->fds[0] = f->fds[1] = -1;
    make_certificate(f, "server", "localhost", -1, "DNS:localhost,DNS:*.shop.example,IP:127.0.0.1");
    make_certificate(f, "other", "elsewhere", -1, NULL);
    make_certificate(f, "nul", "ann\0.evil", 9, NULL);
    *state = f;
    return 0;
}

static int
tear_down(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = {"server", "other", "nul", "bound"};
    char path[128];
    drop(f);
    for (size_t i = 0; i < LK_COUNT(names); i++) {
        path_of(f, names[i], "crt", path);
        unlink(path);
        path_of(f, names[i], "key", path);
        unlink(path);
    }
    unlink(f->ini);
    rmdir(f->folder);
    free(f);
    return 0;
}

/* --- tests --- */

static void
bytes_go_both_ways_and_the_cipher_is_named(void **state)
{
    struct fixture *f = *state;
    const char *why = NULL;
    size_t n;
    uint8_t got[16];
    connect_as(f, ENCRYPTED, "localhost");
    assert_null(shake(f));
    assert_string_equal(lk_tls_name(f->server), "TLSv1.3/TLS_AES_256_GCM_SHA384");
    assert_string_equal(lk_tls_name(f->client), lk_tls_name(f->server));
    assert_null(lk_tls_peer_cn(f->server));
    const struct iovec parts[] = {
        {(void *)(uintptr_t) "he", 2}, {(void *)(uintptr_t) "", 0}, {(void *)(uintptr_t) "llo", 3}};
    assert_int_equal(lk_tls_read(f->server, got, sizeof(got), &n, &why), LK_TLS_WANT_READ);
    assert_int_equal(lk_tls_write(f->client, parts, 3, &n, &why), LK_TLS_DONE);
    assert_int_equal(n, 5);
    assert_int_equal(lk_tls_read(f->server, got, sizeof(got), &n, &why), LK_TLS_DONE);
    assert_int_equal(n, 5);
    assert_memory_equal(got, "hello", 5);
    assert_false(lk_tls_pending(f->server));
    assert_int_equal(lk_tls_write(f->server, parts, 1, &n, &why), LK_TLS_DONE);
    assert_int_equal(lk_tls_read(f->client, got, sizeof(got), &n, &why), LK_TLS_DONE);
    assert_memory_equal(got, "he", 2);
}

static void
what_a_read_has_no_room_for_is_pending(void **state)
{
    struct fixture *f = *state;
    const char *why = NULL;
    size_t n;
    uint8_t got[4];
    const struct iovec whole = {(void *)(uintptr_t) "0123456", 7};
    connect_as(f, ENCRYPTED, "localhost");
    assert_null(shake(f));
    assert_int_equal(lk_tls_write(f->client, &whole, 1, &n, &why), LK_TLS_DONE);
    assert_int_equal(lk_tls_read(f->server, got, 4, &n, &why), LK_TLS_DONE);
    assert_int_equal(n, 4);
    assert_true(lk_tls_pending(f->server));
    assert_int_equal(lk_tls_read(f->server, got, 4, &n, &why), LK_TLS_DONE);
    assert_memory_equal(got, "456", 3);
    assert_false(lk_tls_pending(f->server));
}

static void
an_end_behind_data_shows_after_it(void **state)
{
    struct fixture *f = *state;
    const char *why = NULL;
    size_t n;
    uint8_t got[16];
    const struct iovec last = {(void *)(uintptr_t) "bye", 3};
    connect_as(f, ENCRYPTED, "localhost");
    assert_null(shake(f));
    assert_int_equal(lk_tls_write(f->client, &last, 1, &n, &why), LK_TLS_DONE);
    lk_tls_bye(f->client);
    assert_int_equal(lk_tls_read(f->server, got, sizeof(got), &n, &why), LK_TLS_DONE);
    assert_int_equal(n, 3);
    assert_true(lk_tls_pending(f->server));
    assert_int_equal(lk_tls_read(f->server, got, sizeof(got), &n, &why), LK_TLS_END);
    assert_int_equal(n, 0);
    assert_string_equal(why, "unexpected eof");
}

static void
a_connection_cut_off_has_ended(void **state)
{
    struct fixture *f = *state;
    const char *why = NULL;
    size_t n;
    uint8_t got[16];
    connect_as(f, ENCRYPTED, "localhost");
    assert_null(shake(f));
    assert_int_equal(lk_tls_read(f->client, got, sizeof(got), &n, &why), LK_TLS_WANT_READ);
    close(f->fds[1]);
    f->fds[1] = -1;
    assert_int_equal(lk_tls_read(f->server, got, sizeof(got), &n, &why), LK_TLS_END);
    assert_string_equal(why, "unexpected eof");
    const struct iovec more = {(void *)(uintptr_t) "more", 4};
    assert_int_equal(lk_tls_write(f->server, &more, 1, &n, &why), LK_TLS_END);
}

/* Random parts into a socket that is full most of the time: what is left over comes again from another place. */
static void
all_bytes_arrive_once_and_in_order_however_the_socket_fills(void **state)
{
    struct fixture *f = *state;
    enum { TOTAL = 3000000 };
    const char *seed_text = getenv("LK_SEED");
    unsigned seed = seed_text ? (unsigned)strtoul(seed_text, NULL, 10) : (unsigned)getpid();
    print_message("seed %u\n", seed);
    srand(seed);
    const char *why = NULL;
    uint8_t *sent = malloc(TOTAL), *come = malloc(TOTAL);
    size_t from = 0, to = 0, n;
    bool full = false;
    for (size_t i = 0; i < TOTAL; i++)
        sent[i] = (uint8_t)rand();
    connect_as(f, ENCRYPTED, "localhost");
    assert_null(shake(f));
    while (to < TOTAL) {
        struct iovec parts[8];
        size_t count = full ? 1 : 1 + (size_t)rand() % 8, at = from;
        for (size_t i = 0; i < count; i++) {
            size_t length = i + 1 == count ? TOTAL - at : (size_t)(rand() % 3 ? rand() % 200 : rand() % 40000);
            length = length < TOTAL - at ? length : TOTAL - at;
            parts[i] = (struct iovec){sent + at, length};
            at += length;
        }
        uint8_t *rest = malloc(TOTAL - from + 1);
        memcpy(rest, sent + from, TOTAL - from);
        for (size_t i = 0, skip = 0; i < count; skip += parts[i++].iov_len)
            parts[i].iov_base = rest + skip;
        enum lk_tls_result r = lk_tls_write(f->client, parts, count, &n, &why);
        free(rest);
        assert_true(r == LK_TLS_DONE || r == LK_TLS_WANT_WRITE);
        full = r == LK_TLS_WANT_WRITE;
        from += n;
        do {
            size_t room = 1 + (size_t)rand() % 70000;
            room = room < TOTAL - to ? room : TOTAL - to;
            r = lk_tls_read(f->server, come + to, room, &n, &why);
            assert_true(r == LK_TLS_DONE || r == LK_TLS_WANT_READ);
            to += n;
        } while (to < TOTAL && (lk_tls_pending(f->server) || rand() % 2));
    }
    assert_memory_equal(sent, come, TOTAL);
    free(sent);
    free(come);
}

static void
garbage_and_silence_are_told_from_a_handshake(void **state)
{
    struct fixture *f = *state;
    const char *why = NULL;
    connect_as(f, ENCRYPTED, "localhost");
    assert_int_equal(write(f->fds[1], "GET / HTTP/1.0\r\n\r\n", 18), 18);
    assert_int_equal(lk_tls_handshake(f->server, &why), LK_TLS_END);
    assert_string_equal(why, "TLS handshake failed: http request");
    connect_as(f, ENCRYPTED, "localhost");
    assert_int_equal(lk_tls_handshake(f->server, &why), LK_TLS_WANT_READ);
    close(f->fds[1]);
    f->fds[1] = -1;
    assert_int_equal(lk_tls_handshake(f->server, &why), LK_TLS_END);
    assert_string_equal(why, "TLS handshake failed: unexpected eof");
}

static void
the_servers_name_is_checked_under_verify_full_only(void **state)
{
    struct fixture *f = *state;
    static const char full[] = OWN "client_tls_sslmode = allow\nserver_tls_sslmode = verify-full\n"
                                   "server_tls_ca_file = @/server.crt\n";
    static const char *const good[] = {"localhost", "127.0.0.1", "db1.shop.example"};
    static const char *const bad[] = {"elsewhere", "127.0.0.2", "a.b.shop.example", "::1"};
    for (size_t i = 0; i < LK_COUNT(good); i++) {
        connect_as(f, full, good[i]);
        assert_null(shake(f));
    }
    for (size_t i = 0; i < LK_COUNT(bad); i++) {
        connect_as(f, full, bad[i]);
        assert_non_null(strstr(shake(f), "mismatch"));
    }
    connect_as(f, OWN "client_tls_sslmode = allow\nserver_tls_sslmode = verify-ca\nserver_tls_ca_file = @/server.crt\n",
        "elsewhere");
    assert_null(shake(f));
    connect_as(f, OWN "client_tls_sslmode = allow\nserver_tls_sslmode = verify-ca\nserver_tls_ca_file = @/other.crt\n",
        "localhost");
    assert_string_equal(shake(f), "TLS handshake failed: certificate verify failed: self-signed certificate");
}

#define ASKING OWN "client_tls_sslmode = verify-ca\nserver_tls_sslmode = require\n"

static void
a_clients_common_name_is_known_once_it_is_verified(void **state)
{
    struct fixture *f = *state;
    connect_as(f,
        ASKING
        "client_tls_ca_file = @/other.crt\nserver_tls_cert_file = @/other.crt\nserver_tls_key_file = @/other.key\n",
        "localhost");
    assert_null(shake(f));
    assert_string_equal(lk_tls_peer_cn(f->server), "elsewhere");
    assert_null(lk_tls_peer_cn(f->client));
    connect_as(f,
        ASKING
        "client_tls_ca_file = @/server.crt\nserver_tls_cert_file = @/other.crt\nserver_tls_key_file = @/other.key\n",
        "localhost");
    assert_non_null(strstr(shake(f), "certificate verify failed"));
    connect_as(f, ASKING "client_tls_ca_file = @/other.crt\n", "localhost");
    assert_non_null(strstr(shake(f), "peer did not return a certificate"));
}

static void
a_name_with_a_nul_in_it_is_nobodys(void **state)
{
    struct fixture *f = *state;
    connect_as(f,
        ASKING "client_tls_ca_file = @/nul.crt\nserver_tls_cert_file = @/nul.crt\nserver_tls_key_file = @/nul.key\n",
        "localhost");
    assert_null(shake(f));
    assert_null(lk_tls_peer_cn(f->server));
}

/* Both sides have the hash of that certificate; digest NULL: none. */
static void
assert_bound(const struct fixture *f, const char *name, const EVP_MD *digest)
{
    char path[128];
    uint8_t hash[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    path_of(f, name, "crt", path);
    FILE *in = fopen(path, "r");
    X509 *x = PEM_read_X509(in, NULL, NULL, NULL);
    fclose(in);
    if (digest)
        assert_int_equal(X509_digest(x, digest, hash, &n), 1);
    X509_free(x);
    assert_true(lk_span_eq(lk_tls_binding(f->server), lk_span_make(hash, n)));
    assert_true(lk_span_eq(lk_tls_binding(f->client), lk_span_make(hash, n)));
}

/* The client shows a certificate of its own, which is not the one that counts. */
#define BOUND                                                                                                          \
    "client_tls_key_file = @/bound.key\nclient_tls_cert_file = @/bound.crt\nclient_tls_sslmode = verify-ca\n"          \
    "client_tls_ca_file = @/other.crt\nserver_tls_sslmode = require\nserver_tls_cert_file = @/other.crt\n"             \
    "server_tls_key_file = @/other.key\nclient_tls_protocols = "

static void
both_sides_bind_to_the_certificate_that_was_shown_by_its_own_digest(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *type, *signature, *hash;
    } cases[] = {
        {"EC", "SHA256", "SHA256"},
        {"EC", "SHA384", "SHA384"},
        {"EC", "SHA512", "SHA512"},
        {"EC", "SHA1", "SHA256"},
        {"RSA", "SHA512", "SHA512"},
        {"ED25519", NULL, NULL},
    };
    for (size_t i = 0; i < LK_COUNT(cases) * 2; i++) {
        const char *type = cases[i / 2].type, *signature = cases[i / 2].signature, *hash = cases[i / 2].hash;
        EVP_PKEY *key = strcmp(type, "EC") == 0    ? EVP_EC_gen("P-256")
                        : strcmp(type, "RSA") == 0 ? EVP_RSA_gen(2048)
                                                   : EVP_PKEY_Q_keygen(NULL, NULL, type);
        make_signed(f, "bound", key, signature ? EVP_get_digestbyname(signature) : NULL, "localhost", -1, NULL);
        connect_as(f, i % 2 ? BOUND "tlsv1.2\n" : BOUND "tlsv1.3\n", "localhost");
        assert_int_equal(lk_tls_binding(f->server).n, 0);
        assert_null(shake(f));
        assert_bound(f, "bound", hash ? EVP_get_digestbyname(hash) : NULL);
    }
}

static void
each_mistake_is_told(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *lines, *told;
    } cases[] = {
        {"client_tls_sslmode = allow\nclient_tls_cert_file = @/server.crt\nclient_tls_key_file = @/other.key",
            "other.key: the key is not that of the certificate"},
        {"client_tls_sslmode = allow\nclient_tls_cert_file = @/none.crt\nclient_tls_key_file = @/other.key",
            "none.crt: No such file or directory"},
        {"client_tls_sslmode = allow\nclient_tls_cert_file = @/lk.ini\nclient_tls_key_file = @/other.key",
            "lk.ini: no start line"},
        {OWN "client_tls_sslmode = allow\nclient_tls_protocols = secure,ssl3",
            "client_tls_protocols = secure,ssl3: must be"},
        {OWN "client_tls_sslmode = allow\nclient_tls_ecdhcurve = flat", "client_tls_ecdhcurve = flat: no such curve"},
        {"server_tls_ciphers = ROT13", "server_tls_ciphers = ROT13: no cipher match"},
        {"server_tls13_ciphers = ROT13", "server_tls13_ciphers = ROT13: no TLS 1.3 cipher suite matches"},
    };
    for (size_t i = 0; i < LK_COUNT(cases); i++) {
        struct lk_buf errors = {0};
        assert_null(tls_of(f, cases[i].lines, &errors));
        if (!strstr((const char *)errors.data, cases[i].told) || !strstr((const char *)errors.data, f->ini))
            fail_msg("%s", (const char *)errors.data);
        lk_buf_clear(&errors);
    }
}

static void
words_for_ciphers_and_key_exchange_are_understood(void **state)
{
    struct fixture *f = *state;
    static const char *const words[] = {
        "client_tls_ecdhcurve = none\nclient_tls_dheparams = none\nclient_tls_ciphers = all\n",
        "client_tls_ecdhcurve = auto\nclient_tls_dheparams = legacy\nclient_tls_ciphers = secure\n",
        "client_tls_ecdhcurve = X25519:prime256v1\nclient_tls_ciphers = ECDHE+AESGCM\nserver_tls_ciphers = fast\n"};
    for (size_t i = 0; i < LK_COUNT(words); i++) {
        char lines[512];
        snprintf(lines, sizeof(lines), ENCRYPTED "%s", words[i]);
        connect_as(f, lines, "localhost");
        assert_null(shake(f));
    }
    connect_as(f, ENCRYPTED "client_tls_ecdhcurve = none\nserver_tls_protocols = tlsv1.2\n", "localhost");
    assert_string_equal(shake(f), "TLS handshake failed: no shared cipher");
}

static void
connections_outlive_the_settings_they_were_made_from(void **state)
{
    struct fixture *f = *state;
    connect_as(f, ENCRYPTED, "localhost");
    lk_tls_unref(f->tls);
    f->tls = NULL;
    assert_null(shake(f));
}

static void
a_side_without_tls_makes_no_connection(void **state)
{
    struct fixture *f = *state;
    struct lk_buf errors = {0};
    struct lk_tls *t = tls_of(f, "server_tls_sslmode = disable", &errors);
    assert_non_null(t);
    assert_null(lk_tls_accept(t, 0));
    assert_null(lk_tls_connect(t, 0, "localhost"));
    lk_tls_unref(t);
    lk_buf_clear(&errors);
}

int
main(void)
{
#define TLS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TLS_TEST(bytes_go_both_ways_and_the_cipher_is_named),
        TLS_TEST(what_a_read_has_no_room_for_is_pending),
        TLS_TEST(an_end_behind_data_shows_after_it),
        TLS_TEST(a_connection_cut_off_has_ended),
        TLS_TEST(all_bytes_arrive_once_and_in_order_however_the_socket_fills),
        TLS_TEST(garbage_and_silence_are_told_from_a_handshake),
        TLS_TEST(the_servers_name_is_checked_under_verify_full_only),
        TLS_TEST(a_clients_common_name_is_known_once_it_is_verified),
        TLS_TEST(a_name_with_a_nul_in_it_is_nobodys),
        TLS_TEST(both_sides_bind_to_the_certificate_that_was_shown_by_its_own_digest),
        TLS_TEST(each_mistake_is_told),
        TLS_TEST(words_for_ciphers_and_key_exchange_are_understood),
        TLS_TEST(connections_outlive_the_settings_they_were_made_from),
        TLS_TEST(a_side_without_tls_makes_no_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
