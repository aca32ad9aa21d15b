/* The search of a database's catalogue for what takes or frees session locks. It goes in rounds: each is the same query, with
 * what the last round found as its parameters, and so finds what calls that. Who runs the query is the caller's business:
 *
 *     lk_catalog_search_begin(&s);
 *     do {
 *         lk_catalog_search_round(&s, params);   run the text with them, all three as text
 *         lk_catalog_search_row(&s, …);          for each row: kind, name, oid
 *     } while (lk_catalog_search_more(&s));
 *     use s.names
 *     lk_catalog_search_end(&s);
 */
#ifndef LK_SQL_CATALOG_SEARCH_H
#define LK_SQL_CATALOG_SEARCH_H

#include "base/buf.h"
#include "sql/catalog.h"

#define LK_CATALOG_SEARCH_PARAMS 3

struct lk_catalog_found;

struct lk_catalog_search {
    struct lk_catalog_names *names;            /* found so far; owned, may be taken (then set NULL) */
    struct lk_catalog_found *seen;             /* functions and views, by OID */
    struct lk_buf sources, trees, functions;   /* of the round to come */
    unsigned round;                            /* how many have begun */
    uint32_t found_now;                        /* by the round under way */
};

/* The query: columns kind ('f' function, 'v' view or table that locks when read, 't' table that locks when written, 'o'
 * overload of a lock function), name, oid (0: nothing can call it). `old_server`: without pg_proc.prosqlbody, which came
 * with PostgreSQL 14. */
const char *lk_catalog_search_text(bool old_server);
/* On a zeroed or ended search. */
void lk_catalog_search_begin(struct lk_catalog_search *s);
/* The next round's parameters; the buffers become the caller's. */
void lk_catalog_search_round(struct lk_catalog_search *s, struct lk_buf params[LK_CATALOG_SEARCH_PARAMS]);
void lk_catalog_search_row(struct lk_catalog_search *s, char kind, struct lk_span name, struct lk_span oid);
/* Is there anything of which the callers are still to be looked for? */
bool lk_catalog_search_more(const struct lk_catalog_search *s);
/* Frees all; the struct is zeroed. */
void lk_catalog_search_end(struct lk_catalog_search *s);

#endif
