/* lockkeeper doctor: tries every database of a configuration directly and through the running Lockkeeper, and tells what
 * stands in the way of locks that hold and are given back, with what mends it. Changes nothing; the one lock that it takes
 * is LK_DOCTOR_KEY, and it is given back. */
#ifndef LK_TOOL_DOCTOR_H
#define LK_TOOL_DOCTOR_H

#include "auth/users.h"
#include "config/settings.h"
#include "pool/route.h"
#include "tool/doctor_conn.h"
#include "tool/doctor_tell.h"

/* "lkdoctor" in ASCII; lock/known.c has its name. */
#define LK_DOCTOR_KEY "7812448408176979826"

struct lk_doctor {
    struct lk_doctor_tell tell;
    struct lk_settings *settings;
    struct lk_users *users;     /* of auth_file */
    const char *user;           /* the client */
    bool leave;                 /* --leave: leave a lock behind, too */
    bool proxy_listens;
    struct lk_buf servers_seen; /* "host:port\n" of those whose max_connections have been judged */
    /* the database at hand */
    struct lk_route route;
    PGconn *direct, *proxy;     /* NULL: no login */
};

/* What PostgreSQL itself has to say of the database at hand: rights, the reset, settings, catalogue. On d->direct. */
void lk_doctor_try_server(struct lk_doctor *d);
/* Settings of the server that end sessions, statements and waits, and the number of connections. On d->direct. */
void lk_doctor_try_settings(struct lk_doctor *d);
/* What Lockkeeper makes of locks. On d->proxy. */
void lk_doctor_try_proxy(struct lk_doctor *d);
/* The way to the database at hand through Lockkeeper. `host` is room for its address. */
struct lk_doctor_way lk_doctor_proxy_way(const struct lk_doctor *d, char host[256]);

/* The command. Its exit status: 0 nothing to mend; 1 wrong usage, or the configuration can't be read; 2 warnings;
 * 3 failures. */
int lk_doctor_run(int argc, char **argv);

#endif
