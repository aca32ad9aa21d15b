#include "tool/judge.h"

static const struct {
    const char *name, *text;
} effects[] = {
    [LK_EFFECT_PASS] = {"pass", "passed on"},
    [LK_EFFECT_PIN] = {"pin", "its client keeps the server connection until it has given the lock up"},
    [LK_EFFECT_PROBE] = {"probe",
        "pg_locks is asked after each execution; if it shows a lock, the client keeps the server connection"},
    [LK_EFFECT_RELEASE] = {"release", "what is still locked at the transaction's end is recorded as a leak and freed"},
    [LK_EFFECT_REWRITE] = {"rewrite", "its locks end with the transaction; unlocking such a lock is true"},
    [LK_EFFECT_FALLBACK] = {"fallback", "not shortened: advisory_rewrite_fallback decides"},
    [LK_EFFECT_REJECT] = {"reject", "refused with SQLSTATE 0A000"},
    [LK_EFFECT_UNSEEN] = {"unseen", "its text shows no call that could be refused: kept and recorded as under pin"},
    [LK_EFFECT_OBSERVE] = {"observe", "passed on and recorded; nothing is kept, nothing is freed"},
};

const char *
lk_effect_name(enum lk_effect e)
{
    return effects[e].name;
}

const char *
lk_effect_text(enum lk_effect e)
{
    return effects[e].text;
}

bool
lk_effect_keeps(enum lk_effect e)
{
    return e == LK_EFFECT_PASS || e == LK_EFFECT_PIN || e == LK_EFFECT_OBSERVE || e == LK_EFFECT_REWRITE;
}

/* Only gives locks back? */
static bool
only_unlocks(const struct lk_plan_statement *s)
{
    return s && (s->finds & LK_FIND_TOUCHES) == LK_FIND_UNLOCK;
}

/* Is there a call that can be shortened? pg_advisory_unlock_all can't. */
static bool
can_shorten(const struct lk_plan_statement *s)
{
    for (uint16_t i = 0; s && s->exact && i < s->call_count; i++)
        if (s->calls[i].fn->op != LK_CALL_UNLOCK_ALL)
            return true;
    return false;
}

enum lk_effect
lk_judge(const struct lk_plan_statement *s, enum lk_policy policy, bool in_block)
{
    bool unlocks = only_unlocks(s), exact = s && s->exact;
    switch (policy) {
    case LK_POLICY_PIN:
        return !exact ? LK_EFFECT_PROBE : unlocks ? LK_EFFECT_PASS : LK_EFFECT_PIN;
    case LK_POLICY_RELEASE:
        return unlocks ? LK_EFFECT_PASS : LK_EFFECT_RELEASE;
    case LK_POLICY_REWRITE:
        if (in_block && can_shorten(s))
            return LK_EFFECT_REWRITE;
        return unlocks ? LK_EFFECT_PASS : LK_EFFECT_FALLBACK;
    case LK_POLICY_REJECT:
        if (unlocks)
            return LK_EFFECT_PASS;
        return s && s->finds & LK_FIND_LOCK ? LK_EFFECT_REJECT : LK_EFFECT_UNSEEN;
    case LK_POLICY_OBSERVE:
        break;
    }
    return unlocks ? LK_EFFECT_PASS : LK_EFFECT_OBSERVE;
}
