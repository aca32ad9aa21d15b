/* The user list (auth_file): "name" "secret" a line, PgBouncer's userlist.txt. Immutable once parsed. */
#ifndef LK_AUTH_USERS_H
#define LK_AUTH_USERS_H

#include "base/buf.h"
#include "base/span.h"

struct lk_users;

/* Parses a whole file's text. Lines: "user" "secret" with "" inside for a quote; a ';' or '#' at line start is a
 * comment, white space before them is passed over; what stands behind the second string is ignored. Mistakes go to
 * `errors`, one line each: "<name>:<line>: what\n", and the line is left out. Of a name listed twice the later secret
 * counts. Never NULL. Owner: the caller. Secrets are wiped when freed. */
struct lk_users *lk_users_parse(struct lk_span text, const char *file_name, struct lk_buf *errors);
void lk_users_free(struct lk_users *u);
/* The secret of that user as it stands in the file (plaintext, "md5…", "SCRAM-SHA-256$…", maybe ""); NULL: not listed.
 */
const char *lk_users_secret(const struct lk_users *u, const char *name);
size_t lk_users_count(const struct lk_users *u);
/* The name of entry i, in file order. */
const char *lk_users_name(const struct lk_users *u, size_t i);

/* Whether most secrets are SCRAM verifiers: what an unknown user should pass for (lk_auth_request). */
bool lk_users_mostly_scram(const struct lk_users *u);

#endif
