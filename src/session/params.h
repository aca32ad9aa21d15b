/* Parameters that follow the client: what PostgreSQL reports and a client can set. Values are interned per core, so that a
 * link compares pointers. */
#ifndef LK_SESSION_PARAMS_H
#define LK_SESSION_PARAMS_H

#include "base/buf.h"
#include "wire/message.h"

struct lk_core;
struct lk_server;
struct lk_client;

/* The fixed ones, then track_extra_parameters. */
enum lk_param {
    LK_PARAM_APPLICATION_NAME,
    LK_PARAM_CLIENT_ENCODING,
    LK_PARAM_DATESTYLE,
    LK_PARAM_TIMEZONE,
    LK_PARAM_INTERVALSTYLE,
    LK_PARAM_STANDARD_STRINGS,
    LK_PARAM_READ_ONLY,
    LK_PARAM_FIXED,
};
#define LK_PARAM_MAX 16

/* Interned values by parameter number; NULL: not known (client: takes what the server has). */
struct lk_params {
    const char *value[LK_PARAM_MAX];
};

/* The number of a parameter by name (any case), or -1. */
int lk_param_find(const struct lk_core *core, struct lk_span name);
const char *lk_param_name(const struct lk_core *core, int param);
/* The one copy of that value in this core, kept while anybody uses it (lk_params_tidy); NULL without memory. */
const char *lk_param_intern(struct lk_core *core, struct lk_span value);
/* Appends to the server one parametrised set_config() statement for all values in which it differs from its client, and
 * notes its answer in the reply queue. Nothing to do: does nothing. */
void lk_params_follow(struct lk_core *core, struct lk_server *server);
/* A ParameterStatus of the server's; true: its client should see it. */
bool lk_params_reported(struct lk_core *core, struct lk_server *server, const struct lk_msg_param *p);
/* The row that answers lk_params_follow: the values as the server spells them. */
void lk_params_settled(struct lk_core *core, struct lk_server *server, struct lk_span row);

#endif
