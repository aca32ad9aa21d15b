#include "pool/route.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lock/policy.h"

static int
pick(int special, int general)
{
    return special >= 0 ? special : general;
}

static int64_t
pick_us(int64_t special, int64_t general)
{
    return special >= 0 ? special : general;
}

static void
route_strings(struct lk_route *r, const struct lk_database_settings *d, const char *database, const char *user)
{
    r->database = lk_mem_dup(database);
    r->user = lk_mem_dup(d->user ? d->user : user);
    r->dbname = lk_mem_dup(d->dbname ? d->dbname : database);
    r->host = lk_mem_dup(d->host && d->host[0] ? d->host : "/var/run/postgresql");
    r->port = d->port;
    r->password = lk_mem_dup(d->password);
    r->connect_query = lk_mem_dup(d->connect_query);
    r->client_encoding = lk_mem_dup(d->client_encoding);
    r->datestyle = lk_mem_dup(d->datestyle);
    r->timezone = lk_mem_dup(d->timezone);
    r->application_name = lk_mem_dup(d->application_name);
}

/* A user's value goes before the database's, which goes before the general one. */
static void
route_numbers(struct lk_route *r, const struct lk_settings *s, const struct lk_database_settings *d,
    const struct lk_user_settings *u)
{
    r->pool_size = pick(u ? u->pool_size : -1, pick(d->pool_size, s->default_pool_size));
    r->min_pool_size = pick(d->min_pool_size, s->min_pool_size);
    r->reserve_pool_size = pick(u ? u->reserve_pool_size : -1, pick(d->reserve_pool_size, s->reserve_pool_size));
    r->max_db_connections = pick(d->max_db_connections, s->max_db_connections);
    r->max_user_connections = pick(u ? u->max_user_connections : -1, s->max_user_connections);
    r->mode = (enum lk_pool_mode)pick(u ? u->pool_mode : -1, pick(d->pool_mode, s->pool_mode));
    r->server_lifetime_us = pick_us(d->server_lifetime_us, s->server_lifetime_us);
    r->query_wait_timeout_us = pick_us(
        u ? u->query_wait_timeout_us : -1, pick_us(d->query_wait_timeout_us, s->query_wait_timeout_us));
    r->advisory_lock_policy = pick(u ? u->advisory_lock_policy : -1, pick(d->advisory_lock_policy, s->advisory_lock_policy));
    r->advisory_unlock_all = pick(d->advisory_unlock_all, s->advisory_unlock_all);
    bool rejects = pick(u ? u->advisory_rewrite_fallback : -1,
                       pick(d->advisory_rewrite_fallback, s->advisory_rewrite_fallback)) != 0;
    r->advisory_rewrite_fallback = rejects ? LK_POLICY_REJECT : LK_POLICY_PIN;
    r->advisory_lock_notice =
        pick(u ? u->advisory_lock_notice : -1, pick(d->advisory_lock_notice, s->advisory_lock_notice)) != 0;
    r->advisory_pin_timeout_us = pick_us(
        u ? u->advisory_pin_timeout_us : -1, pick_us(d->advisory_pin_timeout_us, s->advisory_pin_timeout_us));
    r->advisory_max_pins = (uint32_t)pick(d->advisory_max_pins, s->advisory_max_pins);
    r->advisory_max_waits = (uint32_t)pick(d->advisory_max_waits, s->advisory_max_waits);
    r->advisory_catalog = pick(d->advisory_catalog, s->advisory_catalog) != 0;
    r->advisory_trust_after = (uint32_t)pick(d->advisory_trust_after, s->advisory_trust_after);
    r->advisory_probe_sample = (uint32_t)pick(d->advisory_probe_sample, s->advisory_probe_sample);
}

bool
lk_route_make(struct lk_route *r, const struct lk_settings *s, const char *database, const char *user)
{
    const struct lk_database_settings *d = lk_settings_database(s, database);
    r->autodb = !d;
    if (!d)
        d = lk_settings_fallback(s);
    if (!d)
        return false;
    route_strings(r, d, database, user);
    route_numbers(r, s, d, lk_settings_user(s, r->user));
    return true;
}

bool
lk_route_make_as(struct lk_route *r, const struct lk_settings *s, const char *database, const char *user)
{
    if (!lk_route_make(r, s, database, user))
        return false;
    r->as_given = true;
    if (strcmp(r->user, user) == 0)
        return true;
    free(r->user);
    lk_mem_wipe_free(r->password);
    r->user = lk_mem_dup(user);
    r->password = NULL;
    return true;
}

void
lk_route_clear(struct lk_route *r)
{
    char *strings[] = {r->database, r->user, r->dbname, r->host, r->connect_query, r->client_encoding, r->datestyle,
        r->timezone, r->application_name};
    for (size_t i = 0; i < LK_COUNT(strings); i++)
        free(strings[i]);
    lk_mem_wipe_free(r->password);
    *r = (struct lk_route){0};
}

static bool
same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool
lk_route_same_database(const struct lk_route *a, const struct lk_route *b)
{
    return same(a->dbname, b->dbname) && same(a->host, b->host) && a->port == b->port;
}

bool
lk_route_same_server(const struct lk_route *a, const struct lk_route *b)
{
    return lk_route_same_database(a, b) && same(a->user, b->user) &&
        same(a->password, b->password) && same(a->connect_query, b->connect_query) &&
        same(a->client_encoding, b->client_encoding) && same(a->datestyle, b->datestyle) && same(a->timezone, b->timezone) &&
        same(a->application_name, b->application_name);
}
