#include "session/secrets.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "session/errand.h"
#include "session/step.h"

/* How long a login is spared a query of its own. */
#define FRESH_US ((int64_t)5 * LK_SECOND_US)
#define LOOKUPS_MAX 10000u

struct lk_lookup {
    struct lk_errand errand; /* first */
    char *key;               /* owned: database, newline, user */
    char *user;              /* points into key */
    char *secret;            /* owned, wiped; NULL: none */
    bool exists;
    int64_t found_us;        /* when it was found; 0: to be asked again */
    char *found;             /* what the query under way has found so far; owned, wiped */
    char *query;             /* owned: as it stood when it was asked, while the settings may be others */
    uint32_t rows;
    bool odd;                /* ... and it was not what a query for this user may find */
    UT_hash_handle hh;       /* in core->lookups, by key */
};

static char *
make_key(const char *database, const char *user)
{
    size_t n = strlen(database) + strlen(user) + 2;
    char *key = lk_mem_new(n);
    (void)snprintf(key, n, "%s\n%s", database, user);
    return key;
}

static struct lk_lookup *
find(const struct lk_core *core, const char *database, const char *user)
{
    struct lk_lookup *l = NULL;
    if (!core->lookups)
        return NULL;
    char *key = make_key(database, user);
    HASH_FIND_STR(core->lookups, key, l);
    free(key);
    return l;
}

const char *
lk_secret_find(const struct lk_core *core, const char *database, const char *user)
{
    const char *listed = lk_users_secret(core->users, user);
    const struct lk_lookup *l = listed ? NULL : find(core, database, user);
    return l ? l->secret : listed;
}

bool
lk_secret_user_exists(const struct lk_core *core, const char *database, const char *user)
{
    if (lk_users_secret(core->users, user))
        return true;
    const struct lk_lookup *l = find(core, database, user);
    return l && l->exists;
}

/* --- where auth_query is asked --- */

struct source {
    const char *database, *user, *query;
};

static const char *
pick(const char *special, const char *general)
{
    return special && special[0] ? special : general;
}

/* False: nobody is to be asked about users of that database. */
static bool
find_source(const struct lk_core *core, const char *database, struct source *out)
{
    const struct lk_settings *s = core->settings;
    const struct lk_database_settings *d = lk_settings_database(s, database);
    bool console = strcmp(database, "lockkeeper") == 0 || strcmp(database, "pgbouncer") == 0;
    if (!d && !console)
        d = lk_settings_fallback(s);
    *out = (struct source){
        .database = pick(pick(d ? d->auth_dbname : NULL, s->auth_dbname), console ? NULL : database),
        .user = pick(d ? d->auth_user : NULL, s->auth_user),
        .query = pick(d ? d->auth_query : NULL, s->auth_query),
    };
    return out->database && out->user && out->user[0] && out->query;
}

bool
lk_secret_mostly_scram(const struct lk_core *core, const char *database)
{
    struct source source;
    if (find_source(core, database, &source))
        return !core->lookups_md5;
    return lk_users_mostly_scram(core->users);
}

/* --- the query's answer --- */

static void
on_row(struct lk_core *core, struct lk_errand *e, struct lk_span body)
{
    struct lk_lookup *l = (struct lk_lookup *)(void *)e;
    struct lk_msg_value name, secret;
    uint16_t columns = 0;
    if (l->rows++ > 0 || !lk_msg_row_value(body, 0, &name, &columns) || !lk_msg_row_value(body, 1, &secret, NULL)) {
        l->odd = true;
        return;
    }
    /* a NULL name is how a function says that there is no such user */
    if (name.null) {
        l->rows = 0;
        return;
    }
    l->odd = !lk_span_is(name.data, l->user) || (!secret.null && memchr(secret.data.p, 0, secret.data.n));
    if (!secret.null)
        l->found = lk_mem_dup_span(secret.data);
}

static void
take_result(struct lk_core *core, struct lk_lookup *l, const struct lk_error *why)
{
    bool good = !why && !l->odd;
    if (good) {
        lk_mem_wipe_free(l->secret);
        l->secret = l->found;
        l->found = NULL;
        l->exists = l->rows > 0;
        l->found_us = core->now.mono_us;
        if (l->secret)
            core->lookups_md5 = strncmp(l->secret, "md5", 3) == 0;
    }
    lk_mem_wipe_free(l->found);
    l->found = NULL;
}

static void
on_done(struct lk_core *core, struct lk_errand *e, const struct lk_error *why)
{
    struct lk_lookup *l = (struct lk_lookup *)(void *)e;
    struct lk_error odd;
    take_result(core, l, why);
    if (!why && l->odd) {
        lk_log(LK_LOG_WARNING, "auth_query gave something else than one row of user \"%s\" and a secret", l->user);
        lk_error_set(&odd, "08P01", "bouncer config error");
        why = &odd;
    } else if (why && strcmp(why->sqlstate, "08006") != 0) {
        lk_error_set(&odd, "08P01", "bouncer config error");
        why = &odd;
    }
    LK_LIST_EACH(&core->clients, struct lk_client, node, c)
    {
        if (c->state != LK_CLIENT_LOOKUP || c->lookup != l)
            continue;
        c->lookup = NULL;
        lk_startup_looked_up(core, c, why);
    }
}

static const struct lk_errand_kind asks = {
    .name = "auth_query", .queues = true, .resets = true, .row = on_row, .done = on_done};

/* --- asking --- */

static void
drop(struct lk_core *core, struct lk_lookup *l)
{
    HASH_DEL(core->lookups, l);
    lk_mem_wipe_free(l->secret);
    lk_mem_wipe_free(l->found);
    free(l->query);
    free(l->key);
    free(l);
}

/* The first in the table's order is the oldest; one that is being asked about stays. */
static void
make_room(struct lk_core *core)
{
    struct lk_lookup *oldest = core->lookups;
    while (oldest && oldest->errand.pool)
        oldest = oldest->hh.next;
    if (oldest && HASH_COUNT(core->lookups) >= LOOKUPS_MAX)
        drop(core, oldest);
}

static struct lk_lookup *
make(struct lk_core *core, const char *database, const char *user)
{
    make_room(core);
    struct lk_lookup *l = LK_NEW(struct lk_lookup);
    l->errand.kind = &asks;
    l->key = make_key(database, user);
    l->user = l->key + strlen(database) + 1;
    HASH_ADD_KEYPTR(hh, core->lookups, l->key, strlen(l->key), l);
    return l;
}

static void
send(struct lk_core *core, struct lk_lookup *l, const struct source *source, struct lk_pool *pool)
{
    int64_t limit_us = core->settings->client_login_timeout_us;
    l->rows = 0;
    l->odd = false;
    free(l->query);
    l->query = lk_mem_dup(source->query);
    l->errand.text = l->query;
    l->errand.params[0] = lk_span_str(l->user);
    l->errand.param_count = 1;
    l->errand.deadline_us = core->now.mono_us + (limit_us > 0 ? limit_us : 60 * LK_SECOND_US);
    (void)lk_errand_begin(core, &l->errand, pool);
}

bool
lk_secret_ask(struct lk_core *core, struct lk_client *c)
{
    struct source source;
    if (lk_users_secret(core->users, c->user) || !find_source(core, c->database, &source))
        return false;
    struct lk_lookup *l = find(core, c->database, c->user);
    if (l && l->found_us > 0 && core->now.mono_us - l->found_us < FRESH_US)
        return false;
    if (!l)
        l = make(core, c->database, c->user);
    lk_client_enter(core, c, LK_CLIENT_LOOKUP);
    c->lookup = l;
    if (l->errand.pool)
        return true;
    struct lk_pool *pool = lk_core_pool_of(core, source.database, source.user);
    if (pool) {
        send(core, l, &source, pool);
        return true;
    }
    struct lk_error e;
    lk_log(LK_LOG_WARNING, "%s: auth_dbname \"%s\" is no database", lk_client_label(c), source.database);
    lk_error_set(&e, "08P01", "bouncer config error");
    c->lookup = NULL;
    lk_startup_looked_up(core, c, &e);
    return true;
}

void
lk_secret_doubt(struct lk_core *core, const char *database, const char *user)
{
    struct lk_lookup *l = find(core, database, user);
    if (l)
        l->found_us = 0;
}

void
lk_secrets_doubt_all(struct lk_core *core)
{
    for (struct lk_lookup *l = core->lookups; l; l = l->hh.next)
        l->found_us = 0;
}

void
lk_secrets_free(struct lk_core *core)
{
    while (core->lookups)
        drop(core, core->lookups);
}
