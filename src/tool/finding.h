/* What check-sql found in one statement, and its two forms in print. */
#ifndef LK_TOOL_FINDING_H
#define LK_TOOL_FINDING_H

#include <stdio.h>

#include "base/buf.h"
#include "sql/analysis.h"
#include "tool/judge.h"
#include "tool/split.h"

struct lk_finding {
    struct lk_script_statement statement;
    const struct lk_analysis *analysis; /* of its text; borrowed */
    bool touch;
    const struct lk_plan_statement *plan; /* NULL: no touch, or not parsed */
    enum lk_policy policy;
    enum lk_effect effect;   /* of a touch */
    unsigned lints;          /* bits of enum lk_lint */
    bool *shorten;           /* LK_EFFECT_REWRITE: which calls are shortened; owned */
    struct lk_buf rewritten; /* LK_EFFECT_REWRITE: the text then; owned */
};

/* Why the answer to a touch doesn't tell: the i-th reason; NULL behind the last one. */
const char *lk_finding_doubt(const struct lk_finding *f, size_t i);
/* Appends "42", "$1" or "1,$2", or nothing for unlock_all, and a NUL. */
void lk_finding_key(const struct lk_call *c, struct lk_buf *out);
const char *lk_finding_mode(const struct lk_function *fn);

void lk_finding_print(const struct lk_finding *f, FILE *out);
/* One JSON object, one line. */
void lk_finding_print_json(const struct lk_finding *f, FILE *out);

#endif
