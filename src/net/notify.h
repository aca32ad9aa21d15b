/* What systemd wants to hear (sd_notify(3), service Type=notify): datagrams to the socket named by
 * NOTIFY_SOCKET. Without it nothing happens. */
#ifndef LK_NET_NOTIFY_H
#define LK_NET_NOTIFY_H

#include <stdint.h>

void lk_notify_ready(void);
void lk_notify_reloading(void);
void lk_notify_stopping(void);
void lk_notify_alive(void);
/* Within what time lk_notify_alive has to come again, in µs; 0: systemd doesn't watch this process. */
int64_t lk_notify_watchdog_us(void);

#endif
