#include "net/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

/* Plaintext of one record. Shorter parts are put together up to this. */
#define RECORD_BYTES ((size_t)16384)

struct lk_tls {
    atomic_uint refs;
    SSL_CTX *accept;  /* NULL: clients get no TLS */
    SSL_CTX *connect; /* NULL: servers are not asked for TLS */
    bool check_host;
};

struct lk_secure {
    SSL *ssl;
    bool shaking, verified, failed, pending;
    char name[64];
    char *peer_cn;     /* owned */
    uint8_t binding[EVP_MAX_MD_SIZE];
    unsigned binding_n; /* 0: none */
    const char *ended; /* reads have come to their end, for this reason */
    char why[160];
};

/* --- settings --- */

struct side {
    const char *prefix; /* of the options' names */
    const char *ini;
    int mode; /* enum lk_sslmode */
    bool server;
    const char *key, *cert, *ca, *protocols, *ciphers, *tls13_ciphers, *curve, *dheparams;
    struct lk_buf *errors;
};

static bool
is_set(const char *s)
{
    return s && *s;
}

/* Why a call of OpenSSL failed: the first entry of its queue, those behind it say what could not be done therefore. */
static const char *
reason(void)
{
    unsigned long e = ERR_peek_error();
    const char *text = NULL;
    if (ERR_GET_LIB(e) == ERR_LIB_SYS)
        text = strerrordesc_np(ERR_GET_REASON(e));
    else
        text = ERR_reason_error_string(e);
    return text ? text : "unknown error";
}

static bool
wrong(const struct side *s, const char *option, const char *value, const char *why)
{
    lk_buf_add_format(s->errors, "%s: %s_%s = %s: %s\n", s->ini, s->prefix, option, value, why);
    ERR_clear_error();
    return false;
}

static const struct {
    const char *name;
    unsigned versions; /* set of 1 << minor version - 1 */
} protocol_words[] = {{"tlsv1.0", 1}, {"tlsv1.1", 2}, {"tlsv1.2", 4}, {"tlsv1.3", 8}, {"tlsv1", 15}, {"all", 15},
    {"legacy", 15}, {"secure", 12}, {"default", 12}};

static bool
protocol_word(const char *word, unsigned *set)
{
    bool without = word[0] == '!';
    for (size_t i = 0; i < LK_COUNT(protocol_words); i++) {
        if (strcmp(word + without, protocol_words[i].name) != 0)
            continue;
        *set = without ? *set & ~protocol_words[i].versions : *set | protocol_words[i].versions;
        return true;
    }
    return false;
}

static bool
set_protocols(const struct side *s, SSL_CTX *ctx)
{
    static const uint64_t off[] = {SSL_OP_NO_TLSv1, SSL_OP_NO_TLSv1_1, SSL_OP_NO_TLSv1_2, SSL_OP_NO_TLSv1_3};
    static const char space[] = " \t,:";
    const char *text = is_set(s->protocols) ? s->protocols : "secure";
    unsigned set = 0;
    char *copy = lk_mem_dup(text), *rest = copy, *word;
    bool known = true;
    while (known && (word = strsep(&rest, space)))
        known = word[0] == '\0' || protocol_word(word, &set);
    free(copy);
    if (!known || set == 0)
        return wrong(s, "protocols", text, "must be of tlsv1.0, tlsv1.1, tlsv1.2, tlsv1.3, all, secure");
    (void)SSL_CTX_set_min_proto_version(ctx, TLS1_VERSION);
    for (unsigned i = 0; i < LK_COUNT(off); i++)
        if (!(set & 1u << i))
            SSL_CTX_set_options(ctx, off[i]);
    return true;
}

static bool
is_system_default(const char *ciphers)
{
    static const char *const words[] = {"default", "secure", "fast", "normal"};
    bool found = !is_set(ciphers);
    for (size_t i = 0; i < LK_COUNT(words) && !found; i++)
        found = strcmp(ciphers, words[i]) == 0;
    return found;
}

static bool
set_ciphers(const struct side *s, SSL_CTX *ctx)
{
    bool no_curve = is_set(s->curve) && strcmp(s->curve, "none") == 0;
    const char *list = is_system_default(s->ciphers) ? OSSL_default_cipher_list() : s->ciphers;
    if (list != s->ciphers && !no_curve)
        return true;
    if (strcmp(list, "all") == 0)
        list = "ALL:!aNULL:!eNULL";
    struct lk_buf text = {0};
    lk_buf_add(&text, list, strlen(list));
    lk_buf_add_cstr(&text, no_curve ? ":!kECDHE" : "");
    bool good = text.data && SSL_CTX_set_cipher_list(ctx, (const char *)text.data) == 1;
    lk_buf_clear(&text);
    return good || wrong(s, "ciphers", s->ciphers, reason());
}

static bool
set_suites(const struct side *s, SSL_CTX *ctx)
{
    if (is_set(s->tls13_ciphers) && SSL_CTX_set_ciphersuites(ctx, s->tls13_ciphers) != 1) {
        lk_buf_add_format(s->errors, "%s: %.6s_tls13_ciphers = %s: no TLS 1.3 cipher suite matches\n", s->ini,
            s->prefix, s->tls13_ciphers);
        return false;
    }
    return true;
}

static bool
set_key_exchange(const struct side *s, SSL_CTX *ctx)
{
    const char *curve = s->curve, *dhe = s->dheparams;
    bool plain = !is_set(curve) || strcmp(curve, "auto") == 0 || strcmp(curve, "none") == 0;
    if (!plain && SSL_CTX_set1_groups_list(ctx, curve) != 1)
        return wrong(s, "ecdhcurve", curve, "no such curve");
    if (!is_set(dhe) || strcmp(dhe, "auto") == 0 || strcmp(dhe, "legacy") == 0)
        (void)SSL_CTX_set_dh_auto(ctx, 1);
    else if (strcmp(dhe, "none") != 0)
        return wrong(s, "dheparams", dhe, "must be auto, legacy or none");
    return true;
}

static bool
set_own(const struct side *s, SSL_CTX *ctx)
{
    if (!is_set(s->cert) || !is_set(s->key))
        return true;
    if (SSL_CTX_use_certificate_chain_file(ctx, s->cert) != 1)
        return wrong(s, "cert_file", s->cert, reason());
    if (SSL_CTX_use_PrivateKey_file(ctx, s->key, SSL_FILETYPE_PEM) == 1 && SSL_CTX_check_private_key(ctx) == 1)
        return true;
    /* of that library come complaints of a key that is sound, but another's */
    bool foreign = ERR_GET_LIB(ERR_peek_error()) == ERR_LIB_X509;
    return wrong(s, "key_file", s->key, foreign ? "the key is not that of the certificate" : reason());
}

static bool
set_trust(const struct side *s, SSL_CTX *ctx)
{
    if (is_set(s->ca)) {
        if (SSL_CTX_load_verify_file(ctx, s->ca) != 1)
            return wrong(s, "ca_file", s->ca, reason());
        if (s->server)
            SSL_CTX_set_client_CA_list(ctx, SSL_load_client_CA_file(s->ca));
    }
    int verify = SSL_VERIFY_NONE;
    if (s->mode >= LK_SSLMODE_VERIFY_CA)
        verify = SSL_VERIFY_PEER | (s->server ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0);
    SSL_CTX_set_verify(ctx, verify, NULL);
    return true;
}

/* A key under a passphrase is a mistake: nobody is there to type it. */
static int
no_passphrase(char *at, int room, int writing, void *arg)
{
    return -1;
}

static SSL_CTX *
make_context(const struct side *s)
{
    static const uint8_t id[] = "lockkeeper";
    ERR_clear_error();
    SSL_CTX *ctx = SSL_CTX_new(s->server ? TLS_server_method() : TLS_client_method());
    if (!ctx) {
        (void)wrong(s, "sslmode", "on", reason());
        return NULL;
    }
    SSL_CTX_set_mode(
        ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(ctx, SSL_OP_NO_SSLv3 | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_default_passwd_cb(ctx, no_passphrase);
    SSL_CTX_set_read_ahead(ctx, 1);
    /* sessions are resumed by tickets, which keep nothing here that threads would have to share */
    (void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_session_id_context(ctx, id, sizeof(id) - 1);
    bool good = set_protocols(s, ctx);
    good = set_ciphers(s, ctx) && good;
    good = set_suites(s, ctx) && good;
    good = set_key_exchange(s, ctx) && good;
    good = set_own(s, ctx) && good;
    good = set_trust(s, ctx) && good;
    ERR_clear_error();
    if (good)
        return ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

struct lk_tls *
lk_tls_new(const struct lk_settings *s, struct lk_buf *errors)
{
    const struct side clients = {"client_tls", s->path, s->client_tls_sslmode, true, s->client_tls_key_file,
        s->client_tls_cert_file, s->client_tls_ca_file, s->client_tls_protocols, s->client_tls_ciphers,
        s->client_tls13_ciphers, s->client_tls_ecdhcurve, s->client_tls_dheparams, errors};
    const struct side servers = {"server_tls", s->path, s->server_tls_sslmode, false, s->server_tls_key_file,
        s->server_tls_cert_file, s->server_tls_ca_file, s->server_tls_protocols, s->server_tls_ciphers,
        s->server_tls13_ciphers, NULL, NULL, errors};
    struct lk_tls *t = LK_NEW(struct lk_tls);
    bool good = true;
    atomic_init(&t->refs, 1);
    t->check_host = s->server_tls_sslmode == LK_SSLMODE_VERIFY_FULL;
    if (clients.mode != LK_SSLMODE_DISABLE)
        good = (t->accept = make_context(&clients)) != NULL;
    if (servers.mode != LK_SSLMODE_DISABLE)
        good = (t->connect = make_context(&servers)) != NULL && good;
    if (good)
        return t;
    lk_tls_unref(t);
    return NULL;
}

struct lk_tls *
lk_tls_ref(struct lk_tls *t)
{
    atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}

void
lk_tls_unref(struct lk_tls *t)
{
    if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) > 1)
        return;
    SSL_CTX_free(t->accept);
    SSL_CTX_free(t->connect);
    free(t);
}

/* --- a connection --- */

static struct lk_secure *
secure(SSL_CTX *ctx, int fd)
{
    SSL *ssl = ctx ? SSL_new(ctx) : NULL;
    if (!ssl)
        return NULL;
    struct lk_secure *x = LK_NEW(struct lk_secure);
    x->ssl = ssl;
    x->shaking = true;
    x->verified = SSL_get_verify_mode(ssl) & SSL_VERIFY_PEER;
    if (SSL_set_fd(ssl, fd) == 1)
        return x;
    lk_tls_free(x);
    return NULL;
}

struct lk_secure *
lk_tls_accept(const struct lk_tls *t, int fd)
{
    struct lk_secure *x = secure(t ? t->accept : NULL, fd);
    if (x)
        SSL_set_accept_state(x->ssl);
    return x;
}

static bool
is_address(const char *host)
{
    uint8_t room[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, room) == 1 || inet_pton(AF_INET6, host, room) == 1;
}

struct lk_secure *
lk_tls_connect(const struct lk_tls *t, int fd, const char *host)
{
    struct lk_secure *x = secure(t ? t->connect : NULL, fd);
    if (!x)
        return NULL;
    bool address = is_address(host), good = true;
    X509_VERIFY_PARAM *param = SSL_get0_param(x->ssl);
    if (!address)
        good = SSL_set_tlsext_host_name(x->ssl, host) == 1;
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (t->check_host && address)
        good = good && X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1;
    else if (t->check_host)
        good = good && X509_VERIFY_PARAM_set1_host(param, host, 0) == 1;
    SSL_set_connect_state(x->ssl);
    if (good)
        return x;
    lk_tls_free(x);
    return NULL;
}

void
lk_tls_free(struct lk_secure *x)
{
    if (!x)
        return;
    SSL_free(x->ssl);
    free(x->peer_cn);
    free(x);
}

static enum lk_tls_result
broken(struct lk_secure *x, const char *text, const char **why)
{
    long verdict = SSL_get_verify_result(x->ssl);
    x->failed = true;
    if (!x->shaking)
        (void)snprintf(x->why, sizeof(x->why), "TLS: %s", text);
    else if (x->verified && verdict != X509_V_OK)
        (void)snprintf(
            x->why, sizeof(x->why), "TLS handshake failed: %s: %s", text, X509_verify_cert_error_string(verdict));
    else
        (void)snprintf(x->why, sizeof(x->why), "TLS handshake failed: %s", text);
    ERR_clear_error();
    *why = x->why;
    return LK_TLS_END;
}

/* What a call of libssl that did not succeed has come to. */
static enum lk_tls_result
outcome(struct lk_secure *x, int rc, const char **why)
{
    int saved = errno;
    switch (SSL_get_error(x->ssl, rc)) {
    case SSL_ERROR_WANT_READ:
        return LK_TLS_WANT_READ;
    case SSL_ERROR_WANT_WRITE:
        return LK_TLS_WANT_WRITE;
    case SSL_ERROR_ZERO_RETURN:
        if (x->shaking)
            return broken(x, "unexpected eof", why);
        *why = "unexpected eof";
        return LK_TLS_END;
    case SSL_ERROR_SYSCALL:
        if (x->shaking)
            return broken(x, saved ? strerrordesc_np(saved) : "unexpected eof", why);
        x->failed = true;
        *why = saved ? strerrordesc_np(saved) : "unexpected eof";
        return LK_TLS_END;
    default:
        return broken(x, reason(), why);
    }
}

/* A name with a NUL in it is nobody's: what stands behind the NUL was not meant to be seen. */
static char *
common_name(SSL *ssl)
{
    X509 *cert = SSL_get0_peer_certificate(ssl);
    X509_NAME *subject = cert ? X509_get_subject_name(cert) : NULL;
    int at = subject ? X509_NAME_get_index_by_NID(subject, NID_commonName, -1) : -1;
    if (at < 0)
        return NULL;
    uint8_t *text = NULL;
    int n = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    char *name = n > 0 && memchr(text, 0, (size_t)n) == NULL ? lk_mem_dup_span(lk_span_make(text, (size_t)n)) : NULL;
    OPENSSL_free(text);
    return name;
}

/* By the digest of the certificate's own signature, or SHA-256 where that is MD5 or SHA-1. */
static void
take_binding(struct lk_secure *x)
{
    X509 *cert = SSL_is_server(x->ssl) ? SSL_get_certificate(x->ssl) : SSL_get0_peer_certificate(x->ssl);
    int digest = NID_undef;
    if (!cert || X509_get_signature_info(cert, &digest, NULL, NULL, NULL) != 1)
        return;
    if (digest == NID_md5 || digest == NID_sha1)
        digest = NID_sha256;
    const EVP_MD *hash = digest == NID_undef ? NULL : EVP_get_digestbynid(digest);
    if (!hash || X509_digest(cert, hash, x->binding, &x->binding_n) != 1)
        x->binding_n = 0;
}

enum lk_tls_result
lk_tls_handshake(struct lk_secure *x, const char **why)
{
    ERR_clear_error();
    errno = 0;
    int rc = SSL_do_handshake(x->ssl);
    if (rc != 1)
        return outcome(x, rc, why);
    x->shaking = false;
    x->pending = true;
    (void)snprintf(x->name, sizeof(x->name), "%s/%s", SSL_get_version(x->ssl), SSL_get_cipher_name(x->ssl));
    if (x->verified && SSL_get_verify_result(x->ssl) == X509_V_OK)
        x->peer_cn = common_name(x->ssl);
    take_binding(x);
    ERR_clear_error();
    return LK_TLS_DONE;
}

bool
lk_tls_shaking(const struct lk_secure *x)
{
    return x->shaking;
}

enum lk_tls_result
lk_tls_read(struct lk_secure *x, uint8_t *at, size_t room, size_t *got, const char **why)
{
    enum lk_tls_result result = LK_TLS_DONE;
    bool more = !x->ended;
    *got = 0;
    if (x->ended) {
        *why = x->ended;
        result = LK_TLS_END;
    }
    while (more && *got < room) {
        size_t n = 0;
        ERR_clear_error();
        errno = 0;
        int rc = SSL_read_ex(x->ssl, at + *got, room - *got, &n);
        *got += n;
        if (rc != 1)
            result = outcome(x, rc, why);
        more = rc == 1 && SSL_has_pending(x->ssl);
    }
    if (result == LK_TLS_END)
        x->ended = *why;
    x->pending = *got > 0 && (more || result == LK_TLS_END);
    return *got > 0 ? LK_TLS_DONE : result;
}

bool
lk_tls_pending(const struct lk_secure *x)
{
    return x->pending;
}

/* One write: *n bytes were taken. */
static enum lk_tls_result
write_some(struct lk_secure *x, const void *at, size_t length, size_t *n, const char **why)
{
    ERR_clear_error();
    errno = 0;
    *n = 0;
    int rc = SSL_write_ex(x->ssl, at, length, n);
    if (rc == 1)
        return LK_TLS_DONE;
    enum lk_tls_result result = outcome(x, rc, why);
    /* there is no renegotiation that a write could have to wait for */
    return result == LK_TLS_WANT_READ ? broken(x, "unexpected handshake", why) : result;
}

/* Copies as many parts as go whole into one record; returns how many. */
static size_t
gather(const struct iovec *parts, size_t count, uint8_t *record, size_t *length)
{
    size_t i = 0;
    *length = 0;
    for (; i < count && *length + parts[i].iov_len <= RECORD_BYTES; i++) {
        memcpy(record + *length, parts[i].iov_base, parts[i].iov_len);
        *length += parts[i].iov_len;
    }
    return i;
}

enum lk_tls_result
lk_tls_write(struct lk_secure *x, const struct iovec *parts, size_t count, size_t *taken, const char **why)
{
    uint8_t record[RECORD_BYTES];
    *taken = 0;
    for (size_t i = 0; i < count;) {
        const uint8_t *at = parts[i].iov_base;
        size_t length = parts[i].iov_len, n, whole = 1;
        if (i + 1 < count && length + parts[i + 1].iov_len <= RECORD_BYTES) {
            whole = gather(parts + i, count - i, record, &length);
            at = record;
        }
        for (size_t done = 0; done < length; done += n) {
            enum lk_tls_result result = write_some(x, at + done, length - done, &n, why);
            if (result != LK_TLS_DONE)
                return result;
            *taken += n;
        }
        i += whole;
    }
    return LK_TLS_DONE;
}

void
lk_tls_bye(struct lk_secure *x)
{
    if (x->shaking || x->failed)
        return;
    ERR_clear_error();
    (void)SSL_shutdown(x->ssl);
    ERR_clear_error();
}

const char *
lk_tls_name(const struct lk_secure *x)
{
    return x->name;
}

const char *
lk_tls_peer_cn(const struct lk_secure *x)
{
    return x->peer_cn;
}

struct lk_span
lk_tls_binding(const struct lk_secure *x)
{
    return lk_span_make(x->binding, x->binding_n);
}
