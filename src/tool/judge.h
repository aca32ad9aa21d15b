/* What a policy does with a statement, by what its plan says. */
#ifndef LK_TOOL_JUDGE_H
#define LK_TOOL_JUDGE_H

#include "lock/call.h"
#include "lock/policy.h"

enum lk_effect {
    LK_EFFECT_PASS,
    LK_EFFECT_PIN,
    LK_EFFECT_PROBE,
    LK_EFFECT_RELEASE,
    LK_EFFECT_REWRITE,
    LK_EFFECT_FALLBACK,
    LK_EFFECT_REJECT,
    LK_EFFECT_UNSEEN,
    LK_EFFECT_OBSERVE,
};

/* A statement that touches; `s` NULL: it was not parsed. `in_block`: in an explicit transaction block. */
enum lk_effect lk_judge(const struct lk_plan_statement *s, enum lk_policy policy, bool in_block);
/* "pin", …; and a sentence. */
const char *lk_effect_name(enum lk_effect e);
const char *lk_effect_text(enum lk_effect e);
/* Does it leave to the client what a direct connection would give? Else somebody should look at the statement. */
bool lk_effect_keeps(enum lk_effect e);

#endif
