#include "tool/doctor_conn.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

#define DEADLINE_US ((int64_t)10 * LK_SECOND_US)
#define PAIRS_MAX 14
#define UNLOCK_ALL_OID 2892

/* What libpq is told, as two lists that end with NULL. */
struct pairs {
    const char *names[PAIRS_MAX];
    const char *values[PAIRS_MAX];
    char port[12];
    size_t count;
};

static void
add(struct pairs *p, const char *name, const char *value)
{
    if (!value)
        return;
    p->names[p->count] = name;
    p->values[p->count++] = value;
}

static void
fill(struct pairs *p, const struct lk_doctor_way *w)
{
    *p = (struct pairs){0};
    (void)snprintf(p->port, sizeof(p->port), "%d", w->port);
    add(p, "host", w->host);
    add(p, "port", p->port);
    add(p, "dbname", w->dbname);
    add(p, "user", w->user);
    add(p, "password", w->password);
    add(p, "sslmode", w->sslmode);
    add(p, "sslrootcert", w->sslrootcert);
    add(p, "sslcert", w->sslcert);
    add(p, "sslkey", w->sslkey);
    add(p, "gssencmode", "disable");
    add(p, "connect_timeout", "10");
    add(p, "application_name", "lockkeeper doctor");
}

static void
ignore_notice(void *arg, const PGresult *r)
{
}

PGconn *
lk_doctor_connect(const struct lk_doctor_way *w)
{
    struct pairs p;
    fill(&p, w);
    PGconn *conn = PQconnectdbParams(p.names, p.values, 0);
    if (conn)
        (void)PQsetNoticeReceiver(conn, ignore_notice, NULL);
    return conn;
}

bool
lk_doctor_listens(const struct lk_doctor_way *w)
{
    struct pairs p;
    fill(&p, w);
    PGPing ping = PQpingParams(p.names, p.values, 0);
    return ping == PQPING_OK || ping == PQPING_REJECT;
}

void
lk_doctor_why(PGconn *conn, char why[LK_DOCTOR_WHY])
{
    const char *from = PQerrorMessage(conn);
    const char *failed = strstr(from, " failed: ");
    if (strncmp(from, "connection to server ", 21) == 0 && failed)
        from = failed + 9;
    size_t n = 0;
    for (; *from && n + 2 < LK_DOCTOR_WHY; from++)
        if (*from != '\n')
            why[n++] = *from;
        else if (from[1] && n > 0 && why[n - 1] != ' ')
            why[n++] = ' ';
    why[n] = '\0';
}

const char *
lk_doctor_login_mend(const struct lk_doctor_way *w, PGconn *conn)
{
    /* in the order of asking: the special ones first */
    static const struct {
        const char *part; /* of the message */
        const char *direct, *proxy;
    } known[] = {
        {"Peer authentication failed", "run the doctor as the system user that Lockkeeper runs as", NULL},
        {"pg_hba.conf", "add a line for this database, this user and this host to the server's pg_hba.conf, and reload it",
            "the server refuses Lockkeeper: add a line for its host to the server's pg_hba.conf, and reload it"},
        {"password authentication failed",
            "correct the password in auth_file, in the line of [databases] or in PGPASSWORD",
            "list the user in auth_file, or correct the password there or in PGPASSWORD; Lockkeeper's log says more"},
        {"too many clients", "raise the server's max_connections, or make the pools smaller", NULL},
        {"connection slots", "raise the server's max_connections, or make the pools smaller", NULL},
        {"too many connections for", "raise the CONNECTION LIMIT of the role or the database", NULL},
        {"not permitted to log in", "ALTER ROLE … LOGIN", NULL},
        {"does not support SSL", "switch TLS on at the server (ssl = on), or change server_tls_sslmode",
            "RELOAD or restart Lockkeeper: it runs without the TLS of this file"},
        {"certificate", "look at server_tls_ca_file, server_tls_cert_file and the host's name in the server's certificate",
            "look at client_tls_ca_file, and name a client certificate by PGSSLCERT and PGSSLKEY"},
        {"does not exist", "create it, or correct dbname= and user= in the line of [databases]; --user names another user",
            "create it, or correct dbname= and user= in the line of [databases]; --user names another user"},
        {"no such database", NULL, "RELOAD or restart Lockkeeper: it runs without this line of [databases]"},
    };
    if (PQconnectionNeedsPassword(conn))
        return "the doctor has no password: auth_file holds none in plain text; set PGPASSWORD, or write it to ~/.pgpass";
    const char *message = PQerrorMessage(conn);
    for (size_t i = 0; i < LK_COUNT(known); i++) {
        const char *mend = w->proxy && known[i].proxy ? known[i].proxy : known[i].direct;
        if (mend && strstr(message, known[i].part))
            return mend;
    }
    return w->proxy ? "Lockkeeper's log says more"
                    : "is PostgreSQL running there? Correct host= and port= in the line of [databases]";
}

/* Has the answer come before the deadline? */
static bool
await(PGconn *conn, int64_t deadline_us)
{
    while (PQisBusy(conn)) {
        int64_t left_us = deadline_us - lk_clock_read().mono_us;
        struct pollfd fd = {.fd = PQsocket(conn), .events = POLLIN};
        if (left_us <= 0 || fd.fd < 0)
            return false;
        if (poll(&fd, 1, (int)(left_us / 1000) + 1) > 0 && !PQconsumeInput(conn))
            return false;
    }
    return true;
}

PGresult *
lk_doctor_ask(PGconn *conn, const char *sql, int param_count, const char *const *params)
{
    int64_t deadline_us = lk_clock_read().mono_us + DEADLINE_US;
    PGresult *last = NULL, *r;
    int sent = param_count > 0 ? PQsendQueryParams(conn, sql, param_count, NULL, params, NULL, NULL, 0)
                               : PQsendQuery(conn, sql);
    while (sent && await(conn, deadline_us)) {
        r = PQgetResult(conn);
        if (!r)
            return last ? last : PQmakeEmptyPGresult(conn, PGRES_FATAL_ERROR);
        PQclear(last);
        last = r;
    }
    PQclear(last);
    return PQmakeEmptyPGresult(conn, PGRES_FATAL_ERROR);
}

bool
lk_doctor_has_row(const PGresult *r)
{
    return PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) > 0;
}

const char *
lk_doctor_value(const PGresult *r, int row, int column)
{
    return row < PQntuples(r) && column < PQnfields(r) ? PQgetvalue(r, row, column) : "";
}

const char *
lk_doctor_sqlstate(const PGresult *r)
{
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    return state ? state : "";
}

bool
lk_doctor_ask_one(PGconn *conn, const char *sql, char *out, size_t room)
{
    PGresult *r = lk_doctor_ask(conn, sql, 0, NULL);
    bool good = lk_doctor_has_row(r);
    const char *message = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
    const char *text = good ? lk_doctor_value(r, 0, 0) : message ? message : "no answer";
    (void)snprintf(out, room, "%s", text);
    PQclear(r);
    return good;
}

PGresult *
lk_doctor_unlock_all(PGconn *conn)
{
    char answer[8];
    int length = 0;
    return PQfn(conn, UNLOCK_ALL_OID, (int *)(void *)answer, &length, 0, NULL, 0);
}
