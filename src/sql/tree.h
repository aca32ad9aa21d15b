/* libpg_query's trees: going through all nodes, and reading the names in them. */
#ifndef LK_SQL_TREE_H
#define LK_SQL_TREE_H

#include <pg_query/pg_query.pb-c.h>

#include "lock/call.h"

/* Looks at one node; false: not at what lies below it. `in` is a set of bits that the nodes below inherit: what the
 * visitor changes there holds for them only. */
typedef bool lk_tree_visit(const ProtobufCMessage *m, unsigned *in, void *context);
/* Depth first, by protobuf-c's own description of each node, so that no kind of node is forgotten. */
void lk_tree_walk(const ProtobufCMessage *m, unsigned in, lk_tree_visit *visit, void *context);

/* Empty if the node is no string. */
const char *lk_tree_string(const PgQuery__Node *n);

/* The function's name without schema; *catalog: it has none, or it is pg_catalog. */
const char *lk_tree_function_name(const PgQuery__FuncCall *call, bool *catalog);
/* The advisory-lock function of that name, in any schema; NULL: none of ours. */
const struct lk_function *lk_tree_function(const PgQuery__FuncCall *call, bool *catalog);

#endif
