/* The admin console: commands of console clients (state LK_CLIENT_CONSOLE) are read, carried out and answered.
 * Authentication, the extended protocol and ReadyForQuery are the core's (session/core.h). What needs other threads
 * goes through the host. */
#ifndef LK_ADMIN_CONSOLE_H
#define LK_ADMIN_CONSOLE_H

#include "admin/request.h"

enum lk_stop { LK_STOP_NOW, LK_STOP_WAIT_FOR_SERVERS, LK_STOP_WAIT_FOR_CLIENTS };

/* What the shell offers; one a worker, or one for all. None of the functions may free the client or run a step of the
 * core before it returns: they post. Exception: broadcast with a single worker may run, leave and finish the request at
 * once. */
struct lk_console_host {
    void *context;              /* handed to the functions */
    struct lk_journal *journal; /* NULL: none */
    uint32_t workers;
    /* Both take the request over, until lk_request_finish (see request.h). */
    void (*broadcast)(void *context, struct lk_request *r);
    void (*reload)(void *context, struct lk_request *r);
    /* SHUTDOWN, of the whole process. Its answer is already among the effects. */
    void (*shutdown)(void *context, enum lk_stop how);
};

/* Carries out LK_EFFECT_CONSOLE: one command of that client. Answers at once or, through the host, later; appends to
 * core->effects (so does the caller's loop over them go on behind the last one). `now` is core->now. `text` is not
 * kept. */
void lk_console_query(
    const struct lk_console_host *host, struct lk_core *core, struct lk_client *client, struct lk_span text);

#endif
