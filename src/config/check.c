#include "config/check.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/un.h>

#include "base/mem.h"

/* What leak_log_events may name (lock/record.h). */
static const char *const events[] = {"all", "leak", "leak_summary", "hidden", "lost", "pin", "unpin", "idle_hold",
    "pin_timeout", "pins_full", "unlock_failed", "rejected", "released", "observed", "rewritten",
    "rewritten_lost", "lint", "wait", "deadlock"};

struct check {
    const struct lk_settings *s;
    lk_check_handler handler;
    void *arg;
};

static void find(const struct check *c, struct lk_check_finding f, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void
find(const struct check *c, struct lk_check_finding f, const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    f.what = what;
    c->handler(c->arg, &f);
}

#define ERROR(name) ((struct lk_check_finding){.error = true, .option = (name)})
#define WARNING(name) ((struct lk_check_finding){.option = (name)})
#define ERROR_IN(d) ((struct lk_check_finding){.error = true, .database = (d)->name})
#define WARNING_IN(d) ((struct lk_check_finding){.database = (d)->name})

static bool
is_set(const char *s)
{
    return s && *s;
}

/* A socket's full name must fit into sockaddr_un. */
static bool
socket_fits(const char *folder, int port)
{
    return (size_t)snprintf(NULL, 0, "%s/.s.PGSQL.%d", folder, port) < sizeof(((struct sockaddr_un *)0)->sun_path);
}

static void
check_listening(const struct check *c)
{
    const struct lk_settings *s = c->s;
    if (!is_set(s->listen_addr) && !is_set(s->unix_socket_dir))
        find(c, ERROR("listen_addr"), "listen_addr and unix_socket_dir are both empty: nowhere to listen");
    if (is_set(s->unix_socket_dir) && !socket_fits(s->unix_socket_dir, s->listen_port))
        find(c, ERROR("unix_socket_dir"), "unix_socket_dir is too long for a socket's name");
}

static void
check_auth(const struct check *c)
{
    if (c->s->auth_type == LK_AUTH_TYPE_HBA && !is_set(c->s->auth_hba_file))
        find(c, ERROR("auth_type"), "auth_hba_file must be set when auth_type is hba");
    if (c->s->auth_type != LK_AUTH_TYPE_ANY && !is_set(c->s->auth_file))
        find(c, ERROR("auth_type"), "auth_file must be set, unless auth_type is any: without it nobody can log in");
}

static void
check_tls(const struct check *c)
{
    const struct lk_settings *s = c->s;
    if (s->client_tls_sslmode != LK_SSLMODE_DISABLE && !is_set(s->client_tls_key_file))
        find(c, ERROR("client_tls_key_file"), "client_tls_key_file must be set, unless client_tls_sslmode is disable");
    if (s->client_tls_sslmode != LK_SSLMODE_DISABLE && !is_set(s->client_tls_cert_file))
        find(
            c, ERROR("client_tls_cert_file"), "client_tls_cert_file must be set, unless client_tls_sslmode is disable");
    if (s->client_tls_sslmode >= LK_SSLMODE_VERIFY_CA && !is_set(s->client_tls_ca_file))
        find(c, ERROR("client_tls_ca_file"),
            "client_tls_ca_file must be set when client_tls_sslmode is verify-ca or verify-full");
    if (s->server_tls_sslmode >= LK_SSLMODE_VERIFY_CA && !is_set(s->server_tls_ca_file))
        find(c, ERROR("server_tls_ca_file"),
            "server_tls_ca_file must be set when server_tls_sslmode is verify-ca or verify-full");
    if (is_set(s->server_tls_cert_file) != is_set(s->server_tls_key_file))
        find(c, ERROR("server_tls_cert_file"), "server_tls_cert_file and server_tls_key_file go together");
    if (s->auth_type == LK_AUTH_TYPE_CERT && s->client_tls_sslmode != LK_SSLMODE_VERIFY_FULL)
        find(c, ERROR("auth_type"), "auth_type = cert needs client_tls_sslmode = verify-full");
}

/* Only with those modes is a client's certificate asked for. */
static void
check_rules(const struct check *c)
{
    size_t count = 0;
    const struct lk_hba_rule *rules = c->s->hba ? lk_hba_rules(c->s->hba, &count) : NULL;
    if (c->s->client_tls_sslmode >= LK_SSLMODE_VERIFY_CA)
        return;
    for (size_t i = 0; i < count; i++)
        if (rules[i].method == LK_HBA_CERT)
            find(c, ERROR("client_tls_sslmode"),
                "method cert at %.200s:%d needs client_tls_sslmode = verify-ca or verify-full", rules[i].file,
                rules[i].line);
}

static bool
is_one_of(struct lk_span word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (lk_span_is(word, words[i]))
            return true;
    return false;
}

static void
check_event(const struct check *c, struct lk_span name)
{
    int shown = name.n < 60 ? (int)name.n : 60;
    const char *text = (const char *)name.p;
    if (name.n == 0 || is_one_of(name, events, LK_COUNT(events)))
        return;
    find(c, ERROR("leak_log_events"), "leak_log_events: there is no event \"%.*s\"", shown, text);
}

static void
check_events(const struct check *c)
{
    for (const char *p = c->s->leak_log_events; *p;) {
        size_t n = strcspn(p, ",");
        const char *next = p[n] ? p + n + 1 : p + n;
        while (n > 0 && isspace((unsigned char)*p)) {
            p++;
            n--;
        }
        while (n > 0 && isspace((unsigned char)p[n - 1]))
            n--;
        check_event(c, lk_span_make(p, n));
        p = next;
    }
}

static void
check_sizes(const struct check *c)
{
    const struct lk_settings *s = c->s;
    if (s->min_pool_size > s->default_pool_size)
        find(c, WARNING("min_pool_size"), "min_pool_size = %d: default_pool_size is only %d", s->min_pool_size,
            s->default_pool_size);
    for (size_t i = 0; i < s->database_count; i++) {
        const struct lk_database_settings *d = &s->databases[i];
        int least = d->min_pool_size >= 0 ? d->min_pool_size : s->min_pool_size;
        int most = d->pool_size >= 0 ? d->pool_size : s->default_pool_size;
        if ((d->min_pool_size >= 0 || d->pool_size >= 0) && least > most)
            find(c, WARNING_IN(d), "database %.64s: min_pool_size is %d, but pool_size only %d", d->name, least, most);
    }
}

static void
check_hosts(const struct check *c)
{
    for (size_t i = 0; i < c->s->database_count; i++) {
        const struct lk_database_settings *d = &c->s->databases[i];
        if (d->host && (d->host[0] == '/' || d->host[0] == '@') && !socket_fits(d->host, d->port))
            find(c, ERROR_IN(d), "database %.64s: host is too long for a socket's name", d->name);
    }
}

void
lk_check_settings(const struct lk_settings *s, lk_check_handler handler, void *arg)
{
    const struct check c = {.s = s, .handler = handler, .arg = arg};
    check_listening(&c);
    check_auth(&c);
    check_tls(&c);
    check_rules(&c);
    check_events(&c);
    check_sizes(&c);
    check_hosts(&c);
}
