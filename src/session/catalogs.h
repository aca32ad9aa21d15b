/* What the catalogues of the servers' databases say of session locks: which functions, views and tables take some without a
 * word of it in a statement. One catalogue for each (host, port, database), read as an errand on the first backend that
 * idles, in rounds: what is found takes along what calls it. Read again every five minutes if there was traffic, and
 * after DDL that may change it. */
#ifndef LK_SESSION_CATALOGS_H
#define LK_SESSION_CATALOGS_H

#include "session/core.h"

/* Reads what is due. */
void lk_catalogs_tick(struct lk_core *core);
/* May statements of this pool be trusted? Not before its catalogue is known or given up. */
bool lk_catalogs_settled(const struct lk_pool *pool);
/* Does the text use something that locks? */
bool lk_catalogs_hit(const struct lk_pool *pool, const struct lk_text *text);
/* DDL went by in that pool's database; `analysis` (may be NULL) is of its text: the functions that it creates are known at
 * once. */
void lk_catalogs_changed(struct lk_core *core, struct lk_pool *pool, const struct lk_analysis *analysis);
/* A call by an unqualified name may be one of another function of that name: then its answer tells nothing. */
void lk_catalogs_doubt(const struct lk_pool *pool, struct lk_watch *watch);
/* The pool is made, or goes to another server. */
void lk_catalogs_join(struct lk_core *core, struct lk_pool *pool);
/* The pool goes; a catalogue that no pool is of goes too. */
void lk_catalogs_leave(struct lk_core *core, struct lk_pool *pool);
void lk_catalogs_free(struct lk_core *core);

#endif
