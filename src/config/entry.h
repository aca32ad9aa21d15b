/* One line of [databases], [users] or [peers]: the keys it may hold, and the splitting of its right-hand side,
 * "key=value key='it''s'". A '' inside quotes is a quote; white space may stand around the equals sign. */
#ifndef LK_CONFIG_ENTRY_H
#define LK_CONFIG_ENTRY_H

#include "config/option.h"
#include "config/settings.h"

/* Tables like lk_options; offsets are in lk_database_settings, lk_user_settings and lk_peer_settings. `initial` is what
 * an INERT key may say without a warning; an unset key is NULL or -1 (port: 5432). */
extern const struct lk_option lk_database_options[];
extern const size_t lk_database_option_count;
extern const struct lk_option lk_user_options[];
extern const size_t lk_user_option_count;
extern const struct lk_option lk_peer_options[];
extern const size_t lk_peer_option_count;

/* Sets every key of a zeroed entry to unset. */
void lk_entry_init(void *entry, const struct lk_option *table, size_t count);
/* Frees its strings. */
void lk_entry_clear(void *entry, const struct lk_option *table, size_t count);
/* Copies every key to a zeroed entry. */
void lk_entry_copy(const void *from, void *to, const struct lk_option *table, size_t count);
/* Is the key unset? */
bool lk_entry_unset(const struct lk_option *o, const void *entry);

/* Cuts the next pair off *cursor, which is changed in place; key and value point into it. 1: a pair; 0: the end; -1:
 * not such a list, *why says what is wrong. */
int lk_entry_next(char **cursor, char **key, char **value, const char **why);

#endif
