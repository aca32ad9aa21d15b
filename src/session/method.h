/* How a client is to prove who it is: what auth_type says, or the rule of auth_hba_file that is about it. */
#ifndef LK_SESSION_METHOD_H
#define LK_SESSION_METHOD_H

#include "session/core.h"

/* After the startup packet. A certificate or a unix socket's peer that speaks for the user gives TRUST, with which the
 * user has only to be listed. False: it may not come in, *why says so (28000). */
bool lk_method_choose(
    const struct lk_core *core, const struct lk_client *c, enum lk_auth_method *method, struct lk_error *why);

#endif
