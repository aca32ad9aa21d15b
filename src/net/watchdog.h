/* systemd's watchdog (sd_watchdog_enabled(3)): every half of WATCHDOG_USEC the workers are asked, and when all have
 * answered systemd is told. A worker that hangs makes systemd start the service anew. Main thread only. */
#ifndef LK_NET_WATCHDOG_H
#define LK_NET_WATCHDOG_H

struct lk_master;

/* Begins, if systemd wants it. */
void lk_watchdog_open(struct lk_master *m);
void lk_watchdog_close(struct lk_master *m);

#endif
