/* How each number was used as the key of an advisory lock: in which key space, on which level. For one database, or one
 * script. Remembers so many numbers; the least recently used goes. What its users hold are counted references. */
#ifndef LK_SQL_USES_H
#define LK_SQL_USES_H

#include "lock/key.h"

#define LK_USES_MAX 1000u /* numbers of a database */

struct lk_uses;
/* One reference, of the caller's. most > 0. */
struct lk_uses *lk_uses_new(unsigned most);
struct lk_uses *lk_uses_ref(struct lk_uses *t);
/* Accepts NULL. */
void lk_uses_unref(struct lk_uses *t);

/* The key was taken; `xact`: on the transaction level. What became so by it: LK_LINT_BOTH_KEY_SPACES,
 * LK_LINT_BOTH_LEVELS (sql/lint.h), or 0. A key of another space than ours is passed over. */
unsigned lk_uses_note(struct lk_uses *t, struct lk_key key, bool xact);
unsigned lk_uses_count(const struct lk_uses *t);

#endif
