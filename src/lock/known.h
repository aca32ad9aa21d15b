/* Keys that public tools always use, so that a record names them although no operator did. Facts from the tools'
 * sources. Only keys that hardly anybody takes by accident: small numbers such as authentik's 1000 are left out. */
#ifndef LK_LOCK_KNOWN_H
#define LK_LOCK_KNOWN_H

#include "lock/key.h"

/* The tool's name (static), or NULL. `dbname`, as the server calls it, is what some tools derive their key from. */
const char *lk_known_name(const char *dbname, struct lk_key key);

#endif
