/* The words of the lock settings. */
#ifndef LK_LOCK_POLICY_H
#define LK_LOCK_POLICY_H

enum lk_policy { LK_POLICY_PIN, LK_POLICY_RELEASE, LK_POLICY_REWRITE, LK_POLICY_REJECT, LK_POLICY_OBSERVE };
enum lk_unlock_all { LK_UNLOCK_ALWAYS, LK_UNLOCK_TRACKED };

const char *lk_policy_name(enum lk_policy p);

#endif
