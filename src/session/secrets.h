/* Secrets of the users who log in: those of auth_file, and for who is not listed there those that auth_query finds. What a
 * query found answers the logins of the next few seconds too; a login that fails makes the next one ask again. */
#ifndef LK_SESSION_SECRETS_H
#define LK_SESSION_SECRETS_H

#include "session/core.h"

/* Several clients may wait for one. */
struct lk_lookup;

/* The secret by which that user is known in that database (both as clients say them); NULL: none is known. Borrowed, until
 * the step ends. */
const char *lk_secret_find(const struct lk_core *core, const char *database, const char *user);
/* Is the user listed, or found by auth_query, with or without a secret? */
bool lk_secret_user_exists(const struct lk_core *core, const char *database, const char *user);
/* Whether a user who is not known should pass for one with a SCRAM verifier. */
bool lk_secret_mostly_scram(const struct lk_core *core, const char *database);
/* Must auth_query be asked before this client can be authenticated? Then it is LOOKUP from here on, and
 * lk_startup_looked_up goes on with it. */
bool lk_secret_ask(struct lk_core *core, struct lk_client *c);
/* A login with it failed: it may have been changed. */
void lk_secret_doubt(struct lk_core *core, const char *database, const char *user);
/* After a RELOAD nothing that was found is believed for further logins; and at the end. */
void lk_secrets_doubt_all(struct lk_core *core);
void lk_secrets_free(struct lk_core *core);

#endif
