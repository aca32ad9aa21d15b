#include "tool/doctor.h"

#include <getopt.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

enum option_letter { DATABASE = 'D', USER = 'U', JSON = 'j', LEAVE = 'l', HELP = 'h' };

static const struct option long_options[] = {
    {"database", required_argument, NULL, DATABASE},
    {"user", required_argument, NULL, USER},
    {"json", no_argument, NULL, JSON},
    {"leave", no_argument, NULL, LEAVE},
    {"help", no_argument, NULL, HELP},
    {NULL, 0, NULL, 0},
};

static void
print_help(void)
{
    (void)puts("usage: lockkeeper doctor [OPTION]... CONFIG.ini\n"
               "Tries the databases of CONFIG.ini directly and through the running Lockkeeper; tells what to mend.\n"
               "\n"
               "  --database=NAME  this one only; may be one that the line * serves\n"
               "  --user=NAME      log in as this client; else PGUSER, else the first user of auth_file\n"
               "  --leave          leave a lock behind, too, and see that it is freed: that writes a leak record\n"
               "  --json           one JSON object for each finding\n"
               "\n"
               "Passwords are those of CONFIG.ini and auth_file (plain text), else PGPASSWORD or ~/.pgpass.");
}

static int
mistake(const char *what)
{
    (void)fprintf(stderr, "lockkeeper doctor: %s\nSee lockkeeper doctor --help for usage.\n", what);
    return 1;
}

/* --- who logs in --- */

/* A user of auth_file that is more likely a client than somebody of the console or of auth_query. */
static bool
is_client(const struct lk_settings *s, const char *name)
{
    return !lk_settings_list_has(s->admin_users, name) && !lk_settings_list_has(s->stats_users, name) &&
        (!s->auth_user || strcmp(s->auth_user, name) != 0);
}

static const char *
pick_user(const struct lk_doctor *d)
{
    const char *user = getenv("PGUSER");
    if (user && user[0])
        return user;
    for (size_t i = 0; i < lk_users_count(d->users); i++)
        if (is_client(d->settings, lk_users_name(d->users, i)))
            return lk_users_name(d->users, i);
    if (lk_users_count(d->users) > 0)
        return lk_users_name(d->users, 0);
    const struct passwd *own = getpwuid(geteuid());
    return own ? own->pw_name : "postgres";
}

/* The plain password that auth_file has; NULL: none, or only what it can be checked against. */
static const char *
plain_password(const struct lk_doctor *d, const char *user)
{
    const char *secret = lk_users_secret(d->users, user);
    bool hashed = secret && ((strncmp(secret, "md5", 3) == 0 && strlen(secret) == 35) ||
                                strncmp(secret, "SCRAM-SHA-256$", 14) == 0);
    return secret && secret[0] && !hashed ? secret : NULL;
}

/* --- the two ways --- */

static const char *
ssl_word(int mode)
{
    static const char *const modes[] = {"disable", "allow", "prefer", "require", "verify-ca", "verify-full"};
    return modes[mode];
}

static struct lk_doctor_way
direct_way(const struct lk_doctor *d)
{
    const struct lk_settings *s = d->settings;
    const struct lk_route *r = &d->route;
    return (struct lk_doctor_way){
        .host = r->host,
        .port = r->port,
        .dbname = r->dbname,
        .user = r->user,
        .password = r->password ? r->password : plain_password(d, r->user),
        .sslmode = ssl_word(s->server_tls_sslmode),
        .sslrootcert = s->server_tls_ca_file,
        .sslcert = s->server_tls_cert_file,
        .sslkey = s->server_tls_key_file,
    };
}

struct lk_doctor_way
lk_doctor_proxy_way(const struct lk_doctor *d, char host[256])
{
    const struct lk_settings *s = d->settings;
    const char *list = s->listen_addr ? s->listen_addr : "";
    list += strspn(list, ", ");
    (void)snprintf(host, 256, "%.*s", (int)strcspn(list, ", "), list);
    if (strcmp(host, "*") == 0 || strcmp(host, "0.0.0.0") == 0)
        (void)snprintf(host, 256, "127.0.0.1");
    else if (strcmp(host, "::") == 0)
        (void)snprintf(host, 256, "::1");
    else if (!host[0])
        (void)snprintf(host, 256, "%s", s->unix_socket_dir ? s->unix_socket_dir : "");
    return (struct lk_doctor_way){
        .proxy = true,
        .host = host,
        .port = s->listen_port,
        .dbname = d->route.database ? d->route.database : "lockkeeper",
        .user = d->user,
        .password = plain_password(d, d->user),
        .sslmode = s->client_tls_sslmode == LK_SSLMODE_DISABLE ? "disable"
            : s->client_tls_sslmode < LK_SSLMODE_REQUIRE       ? "prefer"
                                                               : "require",
    };
}

/* --- a database --- */

/* Logs in and tells of it. NULL: it failed. */
static PGconn *
log_in(struct lk_doctor *d, const struct lk_doctor_way *w)
{
    const char *how = w->proxy ? "through Lockkeeper" : "directly";
    PGconn *conn = lk_doctor_connect(w);
    if (PQstatus(conn) == CONNECTION_OK) {
        const char *version = PQparameterStatus(conn, "server_version");
        lk_doctor_say(&d->tell, LK_DOCTOR_OK, "%s logs in %s, at %s port %d%s%s%s", w->user, how, w->host, w->port,
            w->proxy ? "" : " (PostgreSQL ", w->proxy ? "" : version ? version : "?", w->proxy ? "" : ")");
        return conn;
    }
    char why[LK_DOCTOR_WHY];
    lk_doctor_why(conn, why);
    /* without its password the doctor can't tell whether Lockkeeper can */
    lk_doctor_say(&d->tell, PQconnectionNeedsPassword(conn) ? LK_DOCTOR_WARN : LK_DOCTOR_FAIL,
        "%s can't log in %s, at %s port %d: %s", w->user, how, w->host, w->port, why);
    lk_doctor_mend(&d->tell, "%s", lk_doctor_login_mend(w, conn));
    PQfinish(conn);
    return NULL;
}

static void
try_database(struct lk_doctor *d, const char *name)
{
    char host[256];
    lk_doctor_flush(&d->tell);
    d->tell.subject = name;
    d->route = (struct lk_route){0};
    if (!lk_route_make(&d->route, d->settings, name, d->user)) {
        lk_doctor_say(&d->tell, LK_DOCTOR_FAIL, "no line of [databases] serves it");
        lk_doctor_mend(&d->tell, "add a line for it to [databases]");
        return;
    }
    struct lk_doctor_way direct = direct_way(d), proxy = lk_doctor_proxy_way(d, host);
    d->direct = log_in(d, &direct);
    if (d->direct) {
        lk_doctor_try_server(d);
        lk_doctor_try_settings(d);
    }
    d->proxy = d->proxy_listens ? log_in(d, &proxy) : NULL;
    if (d->proxy)
        lk_doctor_try_proxy(d);
    PQfinish(d->proxy);
    PQfinish(d->direct);
    d->direct = d->proxy = NULL;
    lk_doctor_flush(&d->tell);
    lk_route_clear(&d->route);
}

static void
try_all(struct lk_doctor *d, const char *database)
{
    const struct lk_settings *s = d->settings;
    char host[256];
    struct lk_doctor_way proxy = lk_doctor_proxy_way(d, host);
    d->tell.subject = "";
    d->proxy_listens = lk_doctor_listens(&proxy);
    if (!d->proxy_listens) {
        lk_doctor_say(&d->tell, LK_DOCTOR_FAIL, "nothing answers at %s port %d: Lockkeeper is not tried", host, s->listen_port);
        lk_doctor_mend(&d->tell, "start Lockkeeper with this file");
    }
    if (database) {
        try_database(d, database);
        return;
    }
    for (size_t i = 0; i < s->database_count; i++)
        if (strcmp(s->databases[i].name, "*") != 0)
            try_database(d, s->databases[i].name);
    if (lk_settings_fallback(s)) {
        d->tell.subject = "*";
        lk_doctor_say(&d->tell, LK_DOCTOR_OK, "not tried: a database that this line serves is named by --database");
        lk_doctor_flush(&d->tell);
    }
}

/* --- the command --- */

/* -1: go on; else the exit status. */
static int
take_options(struct lk_doctor *d, const char **database, int argc, char **argv)
{
    int option;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        switch (option) {
        case DATABASE:
            *database = optarg;
            break;
        case USER:
            d->user = optarg;
            break;
        case JSON:
            d->tell.json = true;
            break;
        case LEAVE:
            d->leave = true;
            break;
        case HELP:
            print_help();
            return 0;
        default:
            (void)fputs("See lockkeeper doctor --help for usage.\n", stderr);
            return 1;
        }
    }
    return optind == argc ? mistake("need a configuration file") : optind + 1 < argc ? mistake("too many arguments") : -1;
}

static bool
load(struct lk_doctor *d, const char *ini)
{
    struct lk_buf errors = {0}, warnings = {0};
    d->settings = lk_settings_load(ini, &errors, &warnings);
    (void)fwrite(errors.data, 1, errors.len, stderr);
    (void)fwrite(warnings.data, 1, warnings.len, stderr);
    lk_buf_clear(&warnings);
    lk_buf_clear(&errors);
    if (!d->settings)
        return false;
    const char *text = d->settings->auth_file_text;
    d->users = lk_users_parse(lk_span_make(text, text ? d->settings->auth_file_length : 0), "auth_file", &errors);
    (void)fwrite(errors.data, 1, errors.len, stderr);
    lk_buf_clear(&errors);
    return true;
}

/* What of libpq's environment would lead elsewhere than the configuration says. */
static void
clear_environment(void)
{
    static const char *const names[] = {"PGHOSTADDR", "PGOPTIONS", "PGSERVICE", "PGTARGETSESSIONATTRS"};
    for (size_t i = 0; i < LK_COUNT(names); i++)
        (void)unsetenv(names[i]);
}

int
lk_doctor_run(int argc, char **argv)
{
    struct lk_doctor d = {0};
    const char *database = NULL;
    int status = take_options(&d, &database, argc, argv);
    if (status >= 0)
        return status;
    if (!load(&d, argv[optind]))
        return 1;
    clear_environment();
    if (!d.user)
        d.user = pick_user(&d);
    try_all(&d, database);
    lk_doctor_flush(&d.tell);
    if (!d.tell.json)
        (void)printf("%u ok, %u warn, %u FAIL\n", d.tell.counts[LK_DOCTOR_OK], d.tell.counts[LK_DOCTOR_WARN],
            d.tell.counts[LK_DOCTOR_FAIL]);
    status = d.tell.counts[LK_DOCTOR_FAIL] > 0 ? 3 : d.tell.counts[LK_DOCTOR_WARN] > 0 ? 2 : 0;
    if (fflush(stdout) != 0)
        status = 1;
    lk_buf_clear(&d.servers_seen);
    lk_users_free(d.users);
    lk_settings_unref(d.settings);
    return status;
}
