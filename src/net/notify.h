/* What systemd wants to hear (sd_notify(3), service Type=notify-reload): datagrams to the socket named by
 * NOTIFY_SOCKET. Without it nothing happens. */
#ifndef LK_NET_NOTIFY_H
#define LK_NET_NOTIFY_H

void lk_notify_ready(void);
void lk_notify_reloading(void);
void lk_notify_stopping(void);

#endif
