#include "config/entry.h"

#include <ctype.h>

#include "base/mem.h"
#include "config/words.h"

static const char *const balances[] = {"round-robin", "disable", NULL};
static const char *const session_attrs[] = {
    "any", "read-write", "read-only", "primary", "standby", "prefer-standby", NULL};

enum {
    NONE = 0,
    INERT = LK_OPTION_INERT,
    LOCKS = LK_OPTION_LOCKS,
};

#define MOST INT32_MAX
#define STRING(of, n, fl, text)                                                                                        \
    {                                                                                                                  \
        .name = #n, .type = LK_OPTION_STRING, .flags = (fl), .offset = offsetof(of, n), .help = (text)                 \
    }
#define WORD(of, n, start, list, fl, text)                                                                             \
    {                                                                                                                  \
        .name = #n, .type = LK_OPTION_STRING, .flags = (fl), .offset = offsetof(of, n), .initial = (start),            \
        .words = (list), .help = (text)                                                                                \
    }
#define INT(of, n, low, high, fl, text)                                                                                \
    {                                                                                                                  \
        .name = #n, .type = LK_OPTION_INT, .flags = (fl), .offset = offsetof(of, n), .least = (low), .most = (high),   \
        .help = (text)                                                                                                 \
    }
#define TIME(of, n, fl, text)                                                                                          \
    {                                                                                                                  \
        .name = #n, .type = LK_OPTION_TIME, .flags = (fl), .offset = offsetof(of, n##_us), .most = MOST,               \
        .help = (text)                                                                                                 \
    }
#define SWITCH(of, n, fl, text)                                                                                        \
    {                                                                                                                  \
        .name = #n, .type = LK_OPTION_SWITCH, .flags = (fl), .offset = offsetof(of, n), .help = (text)                 \
    }
#define ENUM(of, n, list, no, fl, text)                                                                                \
    {                                                                                                                  \
        .name = #n, .type = LK_OPTION_ENUM, .flags = (fl), .offset = offsetof(of, n), .words = (list),                 \
        .refused = (no), .help = (text)                                                                                \
    }
#define RESERVE(of)                                                                                                    \
    {                                                                                                                  \
        .name = "reserve_pool_size", .alias = "reserve_pool", .type = LK_OPTION_INT, .most = MOST,                     \
        .offset = offsetof(of, reserve_pool_size), .help = "further server connections when clients wait too long"     \
    }
#define PORT(of)                                                                                                       \
    {                                                                                                                  \
        .name = "port", .type = LK_OPTION_INT, .offset = offsetof(of, port), .initial = "5432", .least = 1,            \
        .most = 65535, .help = "the server's port"                                                                     \
    }

#define DB struct lk_database_settings
const struct lk_option lk_database_options[] = {
    STRING(DB, dbname, NONE, "name on the server, if another"),
    STRING(DB, host, NONE, "name, address or socket folder; absent: the default unix socket"),
    PORT(DB),
    STRING(DB, user, NONE, "log in to the server as this user, whoever the client is"),
    STRING(DB, password, LK_OPTION_SECRET, "password of that user"),
    STRING(DB, auth_user, NONE, "user who runs auth_query"),
    STRING(DB, auth_query, NONE, "query that finds the secret of a user who is not in auth_file"),
    STRING(DB, auth_dbname, NONE, "database in which auth_query runs"),
    STRING(DB, connect_query, NONE, "query run on each new server connection"),
    WORD(DB, load_balance_hosts, "round-robin", balances, INERT, "how the hosts of a list are chosen"),
    STRING(DB, client_encoding, NONE, "asked of the server at login"),
    STRING(DB, datestyle, NONE, "asked of the server at login"),
    STRING(DB, timezone, NONE, "asked of the server at login"),
    STRING(DB, application_name, NONE, "asked of the server at login"),
    WORD(DB, target_session_attrs, "any", session_attrs, LOCKS | INERT, "what kind of server is wanted"),
    INT(DB, pool_size, 1, MOST, NONE, "server connections of a pool"),
    INT(DB, min_pool_size, 0, MOST, NONE, "server connections a pool keeps open"),
    RESERVE(DB),
    INT(DB, max_db_connections, 0, MOST, NONE, "server connections over all users; 0: no limit"),
    INT(DB, max_db_client_connections, 0, MOST, NONE, "clients; 0: no limit"),
    ENUM(DB, pool_mode, lk_words_pool_mode, NULL, NONE, "when a server goes back to its pool"),
    TIME(DB, server_lifetime, NONE, "close an unused server that is older"),
    TIME(DB, query_wait_timeout, NONE, "close a client that waits longer for a server"),
    ENUM(DB, advisory_lock_policy, lk_words_lock_policy, NULL, LOCKS, "see [lockkeeper]"),
    ENUM(DB, advisory_rewrite_fallback, lk_words_rewrite_fallback, NULL, LOCKS, "see [lockkeeper]"),
    ENUM(DB, advisory_unlock_all, lk_words_unlock_all, NULL, LOCKS, "see [lockkeeper]"),
    INT(DB, advisory_trust_after, 0, MOST, LOCKS, "see [lockkeeper]"),
    INT(DB, advisory_probe_sample, 0, MOST, LOCKS, "see [lockkeeper]"),
    SWITCH(DB, advisory_lock_notice, LOCKS, "see [lockkeeper]"),
    INT(DB, advisory_max_pins, 0, MOST, LOCKS, "see [lockkeeper]"),
    INT(DB, advisory_max_waits, 0, MOST, LOCKS, "see [lockkeeper]"),
    SWITCH(DB, advisory_catalog, LOCKS, "see [lockkeeper]"),
    TIME(DB, advisory_pin_timeout, LOCKS, "see [lockkeeper]"),
};
const size_t lk_database_option_count = LK_COUNT(lk_database_options);

#define USER struct lk_user_settings
const struct lk_option lk_user_options[] = {
    INT(USER, pool_size, 1, MOST, NONE, "server connections of this user's pools"),
    RESERVE(USER),
    ENUM(USER, pool_mode, lk_words_pool_mode, NULL, NONE, "when a server goes back to its pool"),
    INT(USER, max_user_connections, 0, MOST, NONE, "server connections over all databases; 0: no limit"),
    INT(USER, max_user_client_connections, 0, MOST, NONE, "clients; 0: no limit"),
    TIME(USER, query_timeout, NONE, "cancel a query that runs longer"),
    TIME(USER, query_wait_timeout, NONE, "close a client that waits longer for a server"),
    TIME(USER, idle_transaction_timeout, NONE, "close a client idle in a transaction so long"),
    TIME(USER, transaction_timeout, NONE, "close a client whose transaction lasts longer"),
    TIME(USER, client_idle_timeout, NONE, "close a client that is idle so long"),
    ENUM(USER, advisory_lock_policy, lk_words_lock_policy, NULL, LOCKS, "see [lockkeeper]"),
    ENUM(USER, advisory_rewrite_fallback, lk_words_rewrite_fallback, NULL, LOCKS, "see [lockkeeper]"),
    SWITCH(USER, advisory_lock_notice, LOCKS, "see [lockkeeper]"),
    TIME(USER, advisory_pin_timeout, LOCKS, "see [lockkeeper]"),
};
const size_t lk_user_option_count = LK_COUNT(lk_user_options);

#define PEER struct lk_peer_settings
const struct lk_option lk_peer_options[] = {
    STRING(PEER, host, NONE, "name, address or socket folder"),
    PORT(PEER),
    INT(PEER, pool_size, 1, MOST, NONE, "connections for cancel requests"),
};
const size_t lk_peer_option_count = LK_COUNT(lk_peer_options);

void
lk_entry_init(void *entry, const struct lk_option *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *at = (char *)entry + table[i].offset;
        if (table[i].type == LK_OPTION_TIME)
            *(int64_t *)at = -1;
        else if (table[i].type != LK_OPTION_STRING)
            *(int *)at = -1;
        if (table[i].initial && table[i].type != LK_OPTION_STRING)
            lk_option_parse(&table[i], table[i].initial, at, NULL);
    }
}

void
lk_entry_clear(void *entry, const struct lk_option *table, size_t count)
{
    for (size_t i = 0; i < count; i++)
        lk_option_release(&table[i], (char *)entry + table[i].offset);
}

void
lk_entry_copy(const void *from, void *to, const struct lk_option *table, size_t count)
{
    for (size_t i = 0; i < count; i++)
        lk_option_copy(&table[i], (const char *)from + table[i].offset, (char *)to + table[i].offset);
}

bool
lk_entry_unset(const struct lk_option *o, const void *entry)
{
    struct lk_buf text = {0};
    bool null = false;
    lk_option_print_at(o, (const char *)entry + o->offset, &text, &null);
    lk_buf_clear(&text);
    return null;
}

static char *
skip_space(char *p)
{
    while (isspace((unsigned char)*p))
        p++;
    return p;
}

/* Takes the quotes off in place. The character behind the closing one, or NULL: there is none. */
static char *
unquote(char *p)
{
    char *to = p;
    for (; *p; p++) {
        if (*p == '\'' && *++p != '\'') {
            *to = '\0';
            return p;
        }
        *to++ = *p;
    }
    return NULL;
}

int
lk_entry_next(char **cursor, char **key, char **value, const char **why)
{
    char *p = skip_space(*cursor);
    if (*p == '\0')
        return 0;
    *key = p;
    while (*p && *p != '=' && !isspace((unsigned char)*p))
        p++;
    char *end = p;
    p = skip_space(p);
    *why = "must be a list of key=value";
    if (*p != '=' || end == *key)
        return -1;
    p = skip_space(p + 1);
    *end = '\0';
    bool quoted = *p == '\'';
    *value = quoted ? p + 1 : p;
    if (quoted) {
        p = unquote(p + 1);
        *why = "a quote is not closed";
    } else {
        while (*p && !isspace((unsigned char)*p))
            p++;
    }
    if (!p)
        return -1;
    *why = "white space is missing behind a quoted value";
    if (*p && !isspace((unsigned char)*p))
        return -1;
    *cursor = *p ? p + 1 : p;
    *p = '\0';
    return 1;
}
