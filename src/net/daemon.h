/* Becoming a daemon: another user, the background, a pidfile, enough descriptors. All of it before the first thread. */
#ifndef LK_NET_DAEMON_H
#define LK_NET_DAEMON_H

#include <stdbool.h>

#include "config/settings.h"

/* Becomes `user` (NULL or "": stays who it is). False: why is logged; also when it would go on as root. */
bool lk_daemon_become(const char *user);
/* Goes to the background. The caller's parent waits and exits: 0 once lk_daemon_ready was called with what this
 * returns, 1 if the process ends before. -1: it could not fork. */
int lk_daemon_detach(void);
void lk_daemon_ready(int ready_fd);
/* False: another process has the pidfile. Removes one whose process is gone. */
bool lk_pidfile_check(const char *path);
bool lk_pidfile_write(const char *path);
/* Raises the limit of descriptors, and warns where the settings allow for more connections. */
void lk_daemon_limits(const struct lk_settings *s);

#endif
