#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "lock/policy.h"
#include "tool/doctor.h"

/* Of a session that Lockkeeper opens. */
static const struct {
    const char *name, *harmless;
    const char *what; /* behind "name = value (set by …): " */
    const char *mend; /* behind ALTER ROLE …; */
} watched[] = {
    {"idle_session_timeout", "0", "a client that holds a lock and idles longer loses both session and lock",
        "let server_idle_timeout end what idles"},
    {"idle_in_transaction_session_timeout", "0",
        "a client that idles longer in a transaction loses its session and every lock that it holds",
        "let idle_transaction_timeout end them, which tells which locks are lost"},
    {"transaction_timeout", "0", "a longer transaction costs the client its session and every lock that it holds",
        "let Lockkeeper's transaction_timeout end them, which tells which locks are lost"},
    {"statement_timeout", "0", "a lock call that waits longer fails, and may hold its lock all the same",
        "set it where it is needed, by SET LOCAL"},
    {"lock_timeout", "0", "a lock call that waits longer fails, and may hold its lock all the same",
        "set it where it is needed, by SET LOCAL"},
    {"standard_conforming_strings", "on", "no statement is trusted, so locks are asked after behind each",
        "write E'…' where backslashes are meant"},
    {"log_statement", NULL, "each reset is a line of the server's log", NULL},
};

static void
tell_setting(struct lk_doctor *d, const char *name, const char *value, const char *unit, const char *source)
{
    for (size_t i = 0; i < LK_COUNT(watched); i++) {
        const char *harmless = watched[i].harmless;
        if (strcmp(watched[i].name, name) != 0)
            continue;
        if (harmless ? strcmp(value, harmless) == 0
                     : strcmp(value, "all") != 0 || d->route.advisory_unlock_all != LK_UNLOCK_ALWAYS)
            return;
        lk_doctor_say(&d->tell, LK_DOCTOR_WARN, "%s is %s%s%s (set by: %s): %s", name, value, unit[0] ? " " : "", unit, source,
            watched[i].what);
        if (harmless)
            lk_doctor_mend(&d->tell, "ALTER ROLE %s IN DATABASE %s SET %s = %s; %s", d->route.user, d->route.dbname, name,
                harmless, watched[i].mend);
        else
            lk_doctor_mend(&d->tell, "advisory_unlock_all = tracked resets only where there is a reason to");
    }
}

static bool
try_timeouts(struct lk_doctor *d)
{
    struct lk_buf sql = {0};
    lk_buf_add_format(&sql, "SELECT name, setting, coalesce(unit, ''), source FROM pg_catalog.pg_settings WHERE name IN (");
    for (size_t i = 0; i < LK_COUNT(watched); i++)
        lk_buf_add_format(&sql, "%s'%s'", i == 0 ? "" : ", ", watched[i].name);
    lk_buf_add_cstr(&sql, ") ORDER BY name");
    PGresult *r = lk_doctor_ask(d->direct, (const char *)sql.data, 0, NULL);
    unsigned before = d->tell.counts[LK_DOCTOR_WARN];
    bool good = lk_doctor_has_row(r);
    for (int i = 0; good && i < PQntuples(r); i++)
        tell_setting(d, lk_doctor_value(r, i, 0), lk_doctor_value(r, i, 1), lk_doctor_value(r, i, 2), lk_doctor_value(r, i, 3));
    if (good && d->tell.counts[LK_DOCTOR_WARN] == before)
        lk_doctor_say(&d->tell, LK_DOCTOR_OK, "no setting of the server ends sessions or lock calls early");
    lk_buf_clear(&sql);
    PQclear(r);
    return good;
}

/* --- how many connections --- */

static int
most_of(const struct lk_route *r)
{
    int most = r->pool_size + r->reserve_pool_size;
    if (r->max_db_connections > 0 && most > r->max_db_connections)
        most = r->max_db_connections;
    return most;
}

/* What the databases of this server may open if each has one user only; a lower bound. */
static int
wanted(const struct lk_doctor *d, int *databases)
{
    const struct lk_settings *s = d->settings;
    int sum = 0;
    *databases = 0;
    for (size_t i = 0; i < s->database_count; i++) {
        struct lk_route r = {0};
        if (strcmp(s->databases[i].name, "*") == 0 || !lk_route_make(&r, s, s->databases[i].name, d->user))
            continue;
        if (r.port == d->route.port && strcmp(r.host, d->route.host) == 0) {
            sum += most_of(&r);
            ++*databases;
        }
        lk_route_clear(&r);
    }
    return sum;
}

/* Once for each server. */
static bool
is_new_server(struct lk_doctor *d)
{
    char line[300];
    (void)snprintf(line, sizeof(line), "\n%s:%d\n", d->route.host, d->route.port);
    struct lk_buf *seen = &d->servers_seen;
    if (seen->len > 0 && memmem(seen->data, seen->len, line, strlen(line)))
        return false;
    lk_buf_add(seen, line, strlen(line));
    return true;
}

static void
try_max_connections(struct lk_doctor *d)
{
    static const char sql[] =
        "SELECT pg_catalog.current_setting('max_connections'), pg_catalog.sum(setting::int)"
        " FROM pg_catalog.pg_settings WHERE name IN ('superuser_reserved_connections', 'reserved_connections')";
    if (!is_new_server(d))
        return;
    int databases, most = wanted(d, &databases);
    PGresult *r = lk_doctor_ask(d->direct, sql, 0, NULL);
    if (databases > 0 && lk_doctor_has_row(r)) {
        int all = atoi(lk_doctor_value(r, 0, 0)), kept = atoi(lk_doctor_value(r, 0, 1));
        bool fits = most <= all - kept;
        lk_doctor_say(&d->tell, fits ? LK_DOCTOR_OK : LK_DOCTOR_WARN,
            "pools of %d database%s may open %d connections to this server if each has one user; it takes %d"
            " (max_connections %d, %d of them reserved)",
            databases, databases == 1 ? "" : "s", most, all - kept, all, kept);
        if (!fits)
            lk_doctor_mend(&d->tell, "lower default_pool_size or pool_size=, set max_db_connections, or raise max_connections");
    }
    PQclear(r);
}

/* CONNECTION LIMIT of the role and of the database. */
static void
try_limits(struct lk_doctor *d)
{
    static const char sql[] =
        "SELECT r.rolconnlimit, d.datconnlimit FROM pg_catalog.pg_roles AS r, pg_catalog.pg_database AS d"
        " WHERE r.rolname = current_user AND d.datname = pg_catalog.current_database() AND NOT r.rolsuper";
    PGresult *r = lk_doctor_ask(d->direct, sql, 0, NULL);
    for (int i = 0; lk_doctor_has_row(r) && i < 2; i++) {
        int limit = atoi(lk_doctor_value(r, 0, i)), most = most_of(&d->route);
        if (limit < 0 || most <= limit)
            continue;
        lk_doctor_say(&d->tell, LK_DOCTOR_WARN, "the pool may open %d connections, %s %s takes %d", most,
            i == 0 ? "the role" : "the database", i == 0 ? d->route.user : d->route.dbname, limit);
        lk_doctor_mend(&d->tell, "ALTER %s … CONNECTION LIMIT %d, or set pool_size=%d", i == 0 ? "ROLE" : "DATABASE", most, limit);
    }
    PQclear(r);
}

void
lk_doctor_try_settings(struct lk_doctor *d)
{
    if (!try_timeouts(d)) {
        lk_doctor_say(&d->tell, LK_DOCTOR_FAIL, "pg_settings can't be read");
        lk_doctor_mend(&d->tell, "GRANT SELECT ON pg_catalog.pg_settings TO %s", d->route.user);
        return;
    }
    try_max_connections(d);
    try_limits(d);
}
