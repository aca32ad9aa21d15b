/* Names of a database's objects that take or free session locks when a statement uses them, as its catalogue tells, and
 * whether a text speaks of one. */
#ifndef LK_SQL_CATALOG_H
#define LK_SQL_CATALOG_H

#include "base/span.h"

enum lk_catalog_kind {
    LK_CATALOG_USED,     /* a function or view: wherever it stands */
    LK_CATALOG_WRITTEN,  /* a table with a trigger, default, …: in a statement that writes */
    LK_CATALOG_OVERLOAD, /* a function of a lock function's name, outside pg_catalog */
    LK_CATALOG_KINDS,
};

#define LK_CATALOG_NAMES_MAX 10000u

struct lk_catalog_names;

struct lk_catalog_names *lk_catalog_names_new(void);
/* Accepts NULL. */
void lk_catalog_names_free(struct lk_catalog_names *n);
/* A name as the catalogue has it. True: it is new. False also when there are LK_CATALOG_NAMES_MAX of them. */
bool lk_catalog_names_add(struct lk_catalog_names *n, enum lk_catalog_kind kind, struct lk_span name);
size_t lk_catalog_names_count(const struct lk_catalog_names *n, enum lk_catalog_kind kind);
bool lk_catalog_names_have(const struct lk_catalog_names *n, enum lk_catalog_kind kind, struct lk_span name);
/* Are there the same names in both? */
bool lk_catalog_names_same(const struct lk_catalog_names *a, const struct lk_catalog_names *b);
/* Does the text use one of the names that lock? Whatever stands before a dot is not looked at: any schema's will do. */
bool lk_catalog_names_hit(const struct lk_catalog_names *n, struct lk_span sql);

#endif
