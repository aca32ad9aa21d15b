#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "lock/policy.h"
#include "sql/catalog_search.h"
#include "tool/doctor.h"

/* Lockkeeper gives the reading of a catalogue up after this. */
#define CATALOG_SLOW_US ((int64_t)5 * LK_SECOND_US)
#define NAMES_SHOWN 20u

static void
try_connect_query(struct lk_doctor *d)
{
    char answer[LK_DOCTOR_WHY];
    if (!d->route.connect_query || !d->route.connect_query[0])
        return;
    PGresult *r = lk_doctor_ask(d->direct, d->route.connect_query, 0, NULL);
    ExecStatusType status = PQresultStatus(r);
    const char *message = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
    (void)snprintf(answer, sizeof(answer), "%s", message ? message : "no answer");
    PQclear(r);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY) {
        lk_doctor_say(&d->tell, LK_DOCTOR_OK, "connect_query runs");
        return;
    }
    lk_doctor_say(&d->tell, LK_DOCTOR_FAIL, "connect_query fails, so no server can be used: %s", answer);
    lk_doctor_mend(&d->tell, "correct connect_query= in the line of [databases]");
}

/* The reset, as Lockkeeper sends it; nothing is held here, so nothing is freed. */
static void
try_reset(struct lk_doctor *d)
{
    PGresult *r = lk_doctor_unlock_all(d->direct);
    const char *state = lk_doctor_sqlstate(r);
    const char *message = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
    if (PQresultStatus(r) == PGRES_COMMAND_OK) {
        lk_doctor_say(&d->tell, LK_DOCTOR_OK, "pg_advisory_unlock_all runs as a FunctionCall");
    } else if (strcmp(state, "42501") == 0) {
        lk_doctor_say(&d->tell, LK_DOCTOR_FAIL, "%s may not execute pg_advisory_unlock_all: each reset is a DISCARD ALL",
            d->route.user);
        lk_doctor_mend(&d->tell, "GRANT EXECUTE ON FUNCTION pg_catalog.pg_advisory_unlock_all() TO %s", d->route.user);
    } else if (strcmp(state, "0A000") == 0 || strcmp(state, "08P01") == 0) {
        lk_doctor_say(&d->tell, LK_DOCTOR_WARN, "the server knows no FunctionCall: each reset is a SELECT, which takes longer");
        lk_doctor_mend(&d->tell, "lead Lockkeeper to PostgreSQL itself, not to something in front of it");
    } else {
        lk_doctor_say(&d->tell, LK_DOCTOR_FAIL, "pg_advisory_unlock_all fails as a FunctionCall: %s", message ? message : "no answer");
    }
    PQclear(r);
}

/* What probes and sweeps read: is a lock of this session seen there? */
static void
try_pg_locks(struct lk_doctor *d)
{
    static const char seen[] =
        "SELECT pg_catalog.count(*) FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND granted"
        " AND pid = pg_catalog.pg_backend_pid()";
    char got[LK_DOCTOR_WHY], rows[LK_DOCTOR_WHY], back[LK_DOCTOR_WHY];
    if (!lk_doctor_ask_one(d->direct, "SELECT pg_catalog.pg_try_advisory_lock(" LK_DOCTOR_KEY ")", got, sizeof(got))) {
        lk_doctor_say(&d->tell, LK_DOCTOR_FAIL, "%s can't take an advisory lock: %s", d->route.user, got);
        lk_doctor_mend(&d->tell, "GRANT EXECUTE ON FUNCTION pg_catalog.pg_try_advisory_lock(bigint) TO %s", d->route.user);
        return;
    }
    if (strcmp(got, "t") != 0) {
        lk_doctor_say(&d->tell, LK_DOCTOR_WARN, "the doctor's key " LK_DOCTOR_KEY " is held: pg_locks is not tried");
        lk_doctor_mend(&d->tell, "wait until another doctor is done, or end the session that holds it");
        return;
    }
    bool read = lk_doctor_ask_one(d->direct, seen, rows, sizeof(rows));
    (void)lk_doctor_ask_one(d->direct, "SELECT pg_catalog.pg_advisory_unlock(" LK_DOCTOR_KEY ")", back, sizeof(back));
    if (read && strcmp(rows, "0") != 0) {
        lk_doctor_say(&d->tell, LK_DOCTOR_OK, "pg_locks shows the locks of a session");
        return;
    }
    lk_doctor_say(&d->tell, LK_DOCTOR_FAIL, "locks can't be seen in pg_locks: %s", read ? "no row" : rows);
    lk_doctor_mend(&d->tell, "GRANT SELECT ON pg_catalog.pg_locks TO %s, and EXECUTE ON FUNCTION pg_catalog.pg_lock_status()",
        d->route.user);
}

static void
try_overloads(struct lk_doctor *d)
{
    static const char sql[] =
        "SELECT pg_catalog.format('%I.%I(%s)', n.nspname, p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid))"
        " FROM pg_catalog.pg_proc AS p JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace"
        " WHERE p.oid >= 16384 AND p.proname ~ '^pg_(try_)?advisory_(un)?lock(_shared|_all)?$' ORDER BY 1 LIMIT 20";
    PGresult *r = lk_doctor_ask(d->direct, sql, 0, NULL);
    if (PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) == 0)
        lk_doctor_say(&d->tell, LK_DOCTOR_OK, "no other function has the name of a lock function");
    for (int i = 0; lk_doctor_has_row(r) && i < PQntuples(r); i++) {
        lk_doctor_say(&d->tell, LK_DOCTOR_WARN, "%s has the name of a lock function: unqualified calls are not believed, but"
            " asked after in pg_locks", lk_doctor_value(r, i, 0));
        lk_doctor_mend(&d->tell, "drop or rename it, or write pg_catalog. before the calls that mean PostgreSQL's");
    }
    PQclear(r);
}

/* --- the catalogue --- */

/* Names as they are found, for people. */
struct names {
    struct lk_buf text;
    size_t count;
};

static void
add_name(struct names *n, const char *name)
{
    if (n->count++ < NAMES_SHOWN)
        lk_buf_add_format(&n->text, "%s%s", n->count == 1 ? "" : ", ", name);
    else if (n->count == NAMES_SHOWN + 1)
        lk_buf_add_format(&n->text, ", …");
}

static void
take_row(struct lk_catalog_search *s, const PGresult *r, int row, struct names found[LK_CATALOG_KINDS])
{
    const char *name = lk_doctor_value(r, row, 1);
    size_t before[LK_CATALOG_KINDS];
    for (int k = 0; k < LK_CATALOG_KINDS; k++) before[k] = lk_catalog_names_count(s->names, (enum lk_catalog_kind)k);
    lk_catalog_search_row(s, lk_doctor_value(r, row, 0)[0], lk_span_str(name), lk_span_str(lk_doctor_value(r, row, 2)));
    for (int k = 0; k < LK_CATALOG_KINDS; k++)
        if (lk_catalog_names_count(s->names, (enum lk_catalog_kind)k) > before[k])
            add_name(&found[k], name);
}

/* One round; false: it failed, `why` has the message. */
static bool
search_round(PGconn *conn, struct lk_catalog_search *s, struct names found[LK_CATALOG_KINDS], char why[LK_DOCTOR_WHY])
{
    struct lk_buf params[LK_CATALOG_SEARCH_PARAMS];
    const char *values[LK_CATALOG_SEARCH_PARAMS];
    lk_catalog_search_round(s, params);
    for (size_t i = 0; i < LK_COUNT(params); i++) {
        lk_buf_add_u8(&params[i], '\0');
        values[i] = (const char *)params[i].data;
    }
    PGresult *r =
        lk_doctor_ask(conn, lk_catalog_search_text(PQserverVersion(conn) < 140000), (int)LK_COUNT(values), values);
    bool good = PQresultStatus(r) == PGRES_TUPLES_OK;
    const char *message = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
    (void)snprintf(why, LK_DOCTOR_WHY, "%s", message ? message : "no answer");
    for (int i = 0; good && i < PQntuples(r); i++)
        take_row(s, r, i, found);
    PQclear(r);
    for (size_t i = 0; i < LK_COUNT(params); i++) lk_buf_clear(&params[i]);
    return good;
}

static void
tell_names(struct lk_doctor *d, const struct names found[LK_CATALOG_KINDS])
{
    const struct names *used = &found[LK_CATALOG_USED], *written = &found[LK_CATALOG_WRITTEN];
    if (used->count + written->count == 0) {
        lk_doctor_say(&d->tell, LK_DOCTOR_OK, "catalogue: no function, view or table takes or frees session locks");
        return;
    }
    bool blind = d->route.advisory_lock_policy == LK_POLICY_REJECT || d->route.advisory_lock_policy == LK_POLICY_REWRITE;
    lk_doctor_say(&d->tell, blind ? LK_DOCTOR_WARN : LK_DOCTOR_OK,
        "catalogue: session locks are taken or freed by %zu functions and views%s%.*s%s, and by writing to %zu tables%s%.*s%s",
        used->count, used->count > 0 ? " (" : "", (int)used->text.len, (const char *)used->text.data,
        used->count > 0 ? ")" : "", written->count, written->count > 0 ? " (" : "", (int)written->text.len,
        (const char *)written->text.data, written->count > 0 ? ")" : "");
    if (blind)
        lk_doctor_mend(&d->tell, "policy %s does not reach into functions: what they lock is pinned and recorded; let them use"
            " pg_advisory_xact_lock", lk_policy_name((enum lk_policy)d->route.advisory_lock_policy));
}

static void
try_catalog(struct lk_doctor *d)
{
    struct lk_catalog_search s = {0};
    struct names found[LK_CATALOG_KINDS] = {0};
    char why[LK_DOCTOR_WHY];
    int64_t slowest_us = 0;
    bool good;
    lk_catalog_search_begin(&s);
    do {
        int64_t began_us = lk_clock_read().mono_us;
        good = search_round(d->direct, &s, found, why);
        int64_t took_us = lk_clock_read().mono_us - began_us;
        slowest_us = took_us > slowest_us ? took_us : slowest_us;
    } while (good && lk_catalog_search_more(&s));
    if (!good)
        lk_doctor_say(&d->tell, LK_DOCTOR_WARN, "the catalogue can't be read, functions that lock are found by probes only: %s", why);
    else
        tell_names(d, found);
    if (d->route.advisory_catalog && slowest_us > CATALOG_SLOW_US) {
        lk_doctor_say(&d->tell, LK_DOCTOR_WARN, "reading the catalogue took %" PRId64 " s: Lockkeeper gives up after %" PRId64,
            slowest_us / LK_SECOND_US, CATALOG_SLOW_US / LK_SECOND_US);
        lk_doctor_mend(&d->tell, "advisory_catalog=off for this database leaves it to probes");
    }
    for (size_t k = 0; k < LK_COUNT(found); k++) lk_buf_clear(&found[k].text);
    lk_catalog_search_end(&s);
}

void
lk_doctor_try_server(struct lk_doctor *d)
{
    try_connect_query(d);
    try_reset(d);
    try_pg_locks(d);
    try_overloads(d);
    try_catalog(d);
}
