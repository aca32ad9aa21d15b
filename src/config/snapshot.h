/* The making of a snapshot, for settings.c and load.c: what may be done with one before anybody else reads it. */
#ifndef LK_CONFIG_SNAPSHOT_H
#define LK_CONFIG_SNAPSHOT_H

#include "config/settings.h"

/* All defaults; no path, no entries. One reference. */
struct lk_settings *lk_snapshot_new(void);
/* A new entry with every key unset. Pointers to older ones become invalid. */
struct lk_database_settings *lk_snapshot_add_database(struct lk_settings *s, const char *name);
struct lk_user_settings *lk_snapshot_add_user(struct lk_settings *s, const char *name);
struct lk_peer_settings *lk_snapshot_add_peer(struct lk_settings *s, int id);
struct lk_name_settings *lk_snapshot_add_name(struct lk_settings *s, const char *pattern, const char *name);
/* Like lk_settings_database, but finds "*" too, and lets change it. */
struct lk_database_settings *lk_snapshot_database(struct lk_settings *s, const char *name);
struct lk_user_settings *lk_snapshot_user(struct lk_settings *s, const char *name);
/* Reads auth_file, if one is set, in place of what was read before. NULL: done; else what went wrong. */
const char *lk_snapshot_read_auth_file(struct lk_settings *s);
/* Reads auth_hba_file and auth_ident_file when auth_type is hba, in place of what was read before. Mistakes are told;
 * line 0: of the file as a whole. */
void lk_snapshot_read_hba(
    struct lk_settings *s, void (*mistake)(void *arg, const char *file, int line, const char *what), void *arg);

#endif
