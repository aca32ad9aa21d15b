/* The lints of a parsed statement. Apart from sql/lint.h, so that who asks for names needs no libpg_query. */
#ifndef LK_SQL_LINT_TREE_H
#define LK_SQL_LINT_TREE_H

#include <pg_query/pg_query.pb-c.h>
#include <stdbool.h>

/* Bits of enum lk_lint. `single`: it is its text's only statement. */
unsigned lk_lint_statement(const PgQuery__Node *stmt, bool single);

#endif
