/* What a lock's key is called in records and views: the operator's [advisory_names] first, then what is known of
 * public tools (lock/known.h). */
#ifndef LK_SESSION_KEYNAME_H
#define LK_SESSION_KEYNAME_H

#include "config/settings.h"
#include "lock/key.h"

/* NULL: it has no name. Else it lives as long as the settings. `dbname`: the database's name on the server. */
const char *lk_keyname_of(const struct lk_settings *s, const char *dbname, struct lk_key key);

#endif
