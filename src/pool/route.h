/* A route: where a client of (database, user) goes and what holds there, with every default resolved. A value made from the
 * settings when a pool is made and again at RELOAD. */
#ifndef LK_POOL_ROUTE_H
#define LK_POOL_ROUTE_H

#include "config/settings.h"

struct lk_route {
    char *database; /* as clients say it; owned, as all strings here */
    char *user;     /* who logs in to the server */
    bool as_given;  /* ... whatever the database's line says: made by lk_route_make_as */
    char *dbname;   /* on the server */
    char *host;
    int port;
    char *password;    /* of the database line; NULL: auth_file or the client's own */
    char *connect_query;
    char *client_encoding, *datestyle, *timezone, *application_name; /* forced startup parameters or NULL */
    bool autodb; /* the database is not in the settings: the "*" line serves it */
    int pool_size, min_pool_size, reserve_pool_size;
    int max_db_connections, max_user_connections; /* 0: unlimited */
    enum lk_pool_mode mode;
    int64_t server_lifetime_us, query_wait_timeout_us;
    int advisory_lock_policy; /* enum lk_policy */
    int advisory_unlock_all;  /* enum lk_unlock_all */
    int advisory_rewrite_fallback; /* LK_POLICY_PIN or LK_POLICY_REJECT */
    bool advisory_lock_notice;
    int64_t advisory_pin_timeout_us;
    uint32_t advisory_max_pins, advisory_max_waits; /* 0: unlimited */
    bool advisory_catalog;
    uint32_t advisory_trust_after, advisory_probe_sample;
};

/* Fills a zeroed route. False: there is no such database. `user` is the client's. */
bool lk_route_make(struct lk_route *r, const struct lk_settings *s, const char *database, const char *user);
/* The same for that very user: the database line's own user and password are passed over. */
bool lk_route_make_as(struct lk_route *r, const struct lk_settings *s, const char *database, const char *user);
void lk_route_clear(struct lk_route *r);
/* The same database of the same server, by whatever names clients call it. */
bool lk_route_same_database(const struct lk_route *a, const struct lk_route *b);
/* Same server, user and login (a pool whose route differs here must open its connections anew). */
bool lk_route_same_server(const struct lk_route *a, const struct lk_route *b);

#endif
