/* Reading the settings, and giving what the main thread holds of them to log and journal. */
#ifndef LK_NET_RELOAD_H
#define LK_NET_RELOAD_H

#include "config/settings.h"
#include "journal/journal.h"
#include "net/master.h"

/* Logs each line of a text. */
void lk_reload_log(int level, const struct lk_buf *lines);
/* Opens the main log as settings and command line say. */
bool lk_reload_open_log(const struct lk_settings *s, const struct lk_start *start, bool to_stderr);
struct lk_journal_options lk_reload_journal(const struct lk_settings *s);
/* RELOAD: reads the files anew; all goes on with the old settings if there is a mistake. `r` (NULL: SIGHUP) is told
 * what is wrong. */
void lk_reload(struct lk_master *m, struct lk_request *r);
/* SET on the console: the same for one setting, until the next RELOAD. */
void lk_reload_set(struct lk_master *m, struct lk_request *r);

#endif
