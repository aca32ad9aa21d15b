/* The words of settings that stand both in [lockkeeper] and in entries, in the order of their values. Those of the lock
 * settings are in the order of lock/policy.h, which this folder may not include. NULL at the end. */
#ifndef LK_CONFIG_WORDS_H
#define LK_CONFIG_WORDS_H

extern const char *const lk_words_pool_mode[];        /* enum lk_pool_mode */
extern const char *const lk_words_lock_policy[];      /* enum lk_policy */
extern const char *const lk_words_rewrite_fallback[]; /* 0 pin, 1 reject */
extern const char *const lk_words_unlock_all[];       /* enum lk_unlock_all */

#endif
