/* The doctor's connections, by libpq: logging in with a deadline, asking with a deadline, and what a failed login means. */
#ifndef LK_TOOL_DOCTOR_CONN_H
#define LK_TOOL_DOCTOR_CONN_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>

/* Where a login goes. Strings are borrowed; NULL: libpq's own default (PGPASSWORD, ~/.pgpass, …). */
struct lk_doctor_way {
    bool proxy; /* through Lockkeeper, else to PostgreSQL */
    const char *host, *dbname, *user, *password;
    int port;
    const char *sslmode, *sslrootcert, *sslcert, *sslkey;
};

#define LK_DOCTOR_WHY 1000

/* Never NULL; PQstatus tells whether it is logged in. Owner: the caller, by PQfinish. Takes 10 s at most. */
PGconn *lk_doctor_connect(const struct lk_doctor_way *w);
/* Is anything listening there? */
bool lk_doctor_listens(const struct lk_doctor_way *w);
/* What mends a login that failed. */
const char *lk_doctor_login_mend(const struct lk_doctor_way *w, PGconn *conn);
/* The error of the connection on one line, without what libpq says of where it went. */
void lk_doctor_why(PGconn *conn, char why[LK_DOCTOR_WHY]);

/* The result of one statement, parameters as text; without any it goes as a Query. Never NULL; owner: the caller, by PQclear.
 * No answer within 10 s gives PGRES_FATAL_ERROR without SQLSTATE, and a connection that is of no more use. */
PGresult *lk_doctor_ask(PGconn *conn, const char *sql, int param_count, const char *const *params);
/* Is it one row at least? */
bool lk_doctor_has_row(const PGresult *r);
/* Value of a row's column; "" if there is none. */
const char *lk_doctor_value(const PGresult *r, int row, int column);
/* The first value of the answer, copied into out; false: it failed, and out has the message. */
bool lk_doctor_ask_one(PGconn *conn, const char *sql, char *out, size_t room);
/* "55P03" or ""; never NULL. */
const char *lk_doctor_sqlstate(const PGresult *r);
/* pg_advisory_unlock_all by the FunctionCall message. */
PGresult *lk_doctor_unlock_all(PGconn *conn);

#endif
