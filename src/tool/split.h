/* Cuts a script into statements at its semicolons, as psql does: not inside parentheses, nor in the body of a function
 * between BEGIN ATOMIC and END. And follows its transaction blocks. */
#ifndef LK_TOOL_SPLIT_H
#define LK_TOOL_SPLIT_H

#include "base/span.h"

struct lk_split {
    struct lk_span rest;
    unsigned line; /* of rest's first byte, from 1 */
};

struct lk_script_statement {
    struct lk_span text; /* borrowed; from its first token on, without the semicolon */
    unsigned line;
};

struct lk_split lk_split_start(struct lk_span script);
/* The next statement that is not empty; false at the end. */
bool lk_split_next(struct lk_split *s, struct lk_script_statement *out);

/* Is the script in a transaction block behind this statement? `in_block`: was it before. */
bool lk_split_block_after(struct lk_span statement, bool in_block);

#endif
