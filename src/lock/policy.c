#include "lock/policy.h"

const char *
lk_policy_name(enum lk_policy p)
{
    static const char *const names[] = {
        [LK_POLICY_PIN] = "pin",
        [LK_POLICY_RELEASE] = "release",
        [LK_POLICY_REWRITE] = "rewrite",
        [LK_POLICY_REJECT] = "reject",
        [LK_POLICY_OBSERVE] = "observe",
    };
    return names[p];
}

bool
lk_policy_pins(enum lk_policy p)
{
    return p != LK_POLICY_RELEASE && p != LK_POLICY_OBSERVE;
}
