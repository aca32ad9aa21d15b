/* The words of the lock settings. */
#ifndef LK_LOCK_POLICY_H
#define LK_LOCK_POLICY_H

#include <stdbool.h>

enum lk_policy { LK_POLICY_PIN, LK_POLICY_RELEASE, LK_POLICY_REWRITE, LK_POLICY_REJECT, LK_POLICY_OBSERVE };
enum lk_unlock_all { LK_UNLOCK_ALWAYS, LK_UNLOCK_TRACKED };

const char *lk_policy_name(enum lk_policy p);
/* Does a backend stay with the client that holds session locks on it? Under rewrite and reject too: they don't see all. */
bool lk_policy_pins(enum lk_policy p);

#endif
