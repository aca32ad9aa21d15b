#include <poll.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "lock/policy.h"
#include "tool/doctor.h"

#define FREED_US ((int64_t)5 * LK_SECOND_US)
#define LOOK_AGAIN_MS 50

/* The key's rows in pg_locks: a bigint's high and low half, objsubid 1. */
#define ROWS_OF_KEY                                                                                                   \
    "SELECT pg_catalog.count(*) FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND objsubid = 1"                \
    " AND (classid::bigint << 32 | objid::bigint) = " LK_DOCTOR_KEY

static const char try_lock[] = "SELECT pg_catalog.pg_try_advisory_lock(" LK_DOCTOR_KEY ")";
static const char unlock[] = "SELECT pg_catalog.pg_advisory_unlock(" LK_DOCTOR_KEY ")";
static const char rows_here[] = ROWS_OF_KEY " AND pid = pg_catalog.pg_backend_pid()";
static const char rows_anywhere[] = ROWS_OF_KEY
    " AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())";

static const char other_config[] = "is this the file that Lockkeeper runs with? RELOAD or restart it";

/* Server, database and user that a session has. */
static bool
who_am_i(PGconn *conn, char out[LK_DOCTOR_WHY])
{
    return lk_doctor_ask_one(conn,
        "SELECT pg_catalog.format('database %s, user %s, of a server that was started at %s', pg_catalog.current_database(),"
        " current_user, (pg_catalog.pg_postmaster_start_time() AT TIME ZONE 'UTC')::timestamp(0))",
        out, LK_DOCTOR_WHY);
}

/* Does Lockkeeper lead to where CONFIG.ini says? False: it doesn't answer. */
static bool
try_place(struct lk_doctor *d)
{
    char here[LK_DOCTOR_WHY], there[LK_DOCTOR_WHY];
    if (!who_am_i(d->proxy, there)) {
        lk_doctor_say(&d->tell, LK_DOCTOR_FAIL, "no query gets through Lockkeeper: %s", there);
        lk_doctor_mend(&d->tell, "SHOW POOLS and SHOW DATABASES on the console tell whether it is paused, disabled or full");
        return false;
    }
    if (d->direct && who_am_i(d->direct, here) && strcmp(here, there) != 0) {
        lk_doctor_say(&d->tell, LK_DOCTOR_WARN, "Lockkeeper leads elsewhere than this file: %s; directly %s", there, here);
        lk_doctor_mend(&d->tell, "%s", other_config);
    }
    return true;
}

static void
try_function_call(struct lk_doctor *d)
{
    PGresult *r = lk_doctor_unlock_all(d->proxy);
    const char *message = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
    if (PQresultStatus(r) == PGRES_COMMAND_OK)
        lk_doctor_say(&d->tell, LK_DOCTOR_OK, "a FunctionCall gets through Lockkeeper");
    else
        lk_doctor_say(&d->tell, LK_DOCTOR_FAIL, "a FunctionCall fails through Lockkeeper: %s", message ? message : "no answer");
    PQclear(r);
}

/* Another client asks for the lock that d->proxy holds, and so makes use of whatever server it would have let go. */
static void
try_other_client(struct lk_doctor *d)
{
    char host[256], got[LK_DOCTOR_WHY], back[8];
    if (d->route.pool_size + d->route.reserve_pool_size < 2) {
        lk_doctor_say(&d->tell, LK_DOCTOR_WARN, "the pool has one server: who holds a lock keeps everybody else waiting");
        lk_doctor_mend(&d->tell, "raise pool_size= or default_pool_size");
        return;
    }
    struct lk_doctor_way way = lk_doctor_proxy_way(d, host);
    PGconn *other = lk_doctor_connect(&way);
    if (PQstatus(other) != CONNECTION_OK) {
        lk_doctor_why(other, got);
        lk_doctor_say(&d->tell, LK_DOCTOR_FAIL, "a second client can't log in through Lockkeeper: %s", got);
        lk_doctor_mend(&d->tell, "%s", lk_doctor_login_mend(&way, other));
    } else if (!lk_doctor_ask_one(other, try_lock, got, sizeof(got))) {
        lk_doctor_say(&d->tell, LK_DOCTOR_WARN, "a second client gets no server of the pool: %s", got);
        lk_doctor_mend(&d->tell, "SHOW POOLS and SHOW PINS on the console tell who has them; raise pool_size=");
    } else if (strcmp(got, "f") == 0) {
        lk_doctor_say(&d->tell, LK_DOCTOR_OK, "a lock keeps another client out");
    } else {
        (void)lk_doctor_ask_one(other, unlock, back, sizeof(back));
        lk_doctor_say(&d->tell, LK_DOCTOR_FAIL, "a lock does not keep another client out");
        lk_doctor_mend(&d->tell, "%s", other_config);
    }
    PQfinish(other);
}

/* d->proxy holds the lock, has been idle since, and others have run statements. */
static void
try_survival(struct lk_doctor *d)
{
    char rows[LK_DOCTOR_WHY];
    bool read = lk_doctor_ask_one(d->proxy, rows_here, rows, sizeof(rows));
    if (read && strcmp(rows, "1") == 0) {
        lk_doctor_say(&d->tell, LK_DOCTOR_OK, "a lock stays with its client from one transaction to the next");
        return;
    }
    lk_doctor_say(&d->tell, LK_DOCTOR_FAIL, "a lock is gone in the next transaction%s%s", read ? "" : ": ", read ? "" : rows);
    lk_doctor_mend(&d->tell, "%s", other_config);
}

/* The client has gone. Is the key free in the whole database? */
static void
try_left(struct lk_doctor *d, const char *when)
{
    char rows[LK_DOCTOR_WHY] = "";
    int64_t end_us = lk_clock_read().mono_us + FREED_US;
    char host[256];
    struct lk_doctor_way way = lk_doctor_proxy_way(d, host);
    PGconn *own = d->direct ? NULL : lk_doctor_connect(&way);
    PGconn *from = d->direct ? d->direct : own;
    bool read;
    while ((read = lk_doctor_ask_one(from, rows_anywhere, rows, sizeof(rows))) && strcmp(rows, "0") != 0 &&
        lk_clock_read().mono_us < end_us)
        (void)poll(NULL, 0, LOOK_AGAIN_MS);
    if (read && strcmp(rows, "0") == 0) {
        lk_doctor_say(&d->tell, LK_DOCTOR_OK, "nothing is left of a lock when its client %s", when);
    } else {
        lk_doctor_say(&d->tell, LK_DOCTOR_FAIL, "the lock is still held when its client %s: %s%s", when, read ? "rows in pg_locks: " : "",
            rows);
        lk_doctor_mend(&d->tell, "%s", other_config);
    }
    PQfinish(own);
}

static void
try_locks(struct lk_doctor *d)
{
    char got[LK_DOCTOR_WHY];
    if (!lk_doctor_ask_one(d->proxy, try_lock, got, sizeof(got))) {
        lk_doctor_say(&d->tell, LK_DOCTOR_FAIL, "no lock can be taken through Lockkeeper: %s", got);
        lk_doctor_mend(&d->tell, "%s", other_config);
        return;
    }
    if (strcmp(got, "t") != 0) {
        lk_doctor_say(&d->tell, LK_DOCTOR_WARN, "the doctor's key " LK_DOCTOR_KEY " is held: locks through Lockkeeper are not tried");
        lk_doctor_mend(&d->tell, "wait until another doctor is done, or end the session that holds it");
        return;
    }
    try_other_client(d);
    try_survival(d);
    if (!lk_doctor_ask_one(d->proxy, unlock, got, sizeof(got)) || strcmp(got, "t") != 0) {
        lk_doctor_say(&d->tell, LK_DOCTOR_FAIL, "a lock can't be given back through Lockkeeper: %s", got);
        lk_doctor_mend(&d->tell, "%s", other_config);
    }
    bool leaves = d->leave && lk_doctor_ask_one(d->proxy, try_lock, got, sizeof(got)) && strcmp(got, "t") == 0;
    PQfinish(d->proxy);
    d->proxy = NULL;
    try_left(d, leaves ? "leaves without giving it back" : "has given it back");
}

static void
try_rejection(struct lk_doctor *d)
{
    char back[8];
    PGresult *r = lk_doctor_ask(d->proxy, try_lock, 0, NULL);
    bool locked = lk_doctor_has_row(r);
    bool refused = strcmp(lk_doctor_sqlstate(r), "0A000") == 0;
    PQclear(r);
    if (locked)
        (void)lk_doctor_ask_one(d->proxy, unlock, back, sizeof(back));
    lk_doctor_say(&d->tell, refused ? LK_DOCTOR_OK : LK_DOCTOR_FAIL, "policy %s: session locks are %srefused",
        lk_policy_name((enum lk_policy)d->route.advisory_lock_policy), refused ? "" : "not ");
    if (!refused)
        lk_doctor_mend(&d->tell, "%s", other_config);
}

void
lk_doctor_try_proxy(struct lk_doctor *d)
{
    enum lk_policy policy = (enum lk_policy)d->route.advisory_lock_policy;
    bool session = d->route.mode == LK_POOL_SESSION;
    if (!try_place(d))
        return;
    if (policy == LK_POLICY_REJECT ||
        (policy == LK_POLICY_REWRITE && d->route.advisory_rewrite_fallback == LK_POLICY_REJECT)) {
        try_rejection(d);
    } else if (policy == LK_POLICY_OBSERVE) {
        lk_doctor_say(&d->tell, LK_DOCTOR_WARN, "policy observe: locks are left on their servers, and are not tried");
        lk_doctor_mend(&d->tell, "advisory_lock_policy = pin, when the records of observe have been read");
    } else if (policy == LK_POLICY_RELEASE && !session) {
        lk_doctor_say(&d->tell, LK_DOCTOR_OK, "policy release: locks end with their transaction, and are not tried");
    } else {
        try_function_call(d);
        try_locks(d);
    }
}
