/* /metrics and /healthz on metrics_listen_addr:metrics_listen_port, by evhttp in the main thread's loop. The workers
 * are asked through their mailboxes (net/ask.h); no session waits for it. No encryption and no passwords: it is meant
 * for the loopback address, or a network that is trusted. */
#ifndef LK_NET_HTTP_H
#define LK_NET_HTTP_H

#include <stdbool.h>

struct lk_master;

/* What a request may bring, and how long a connection may be silent. */
#define LK_HTTP_HEADERS_MAX 8192
#define LK_HTTP_BODY_MAX 1024
#define LK_HTTP_TIMEOUT_S 60

/* Begins to listen, if the settings say so. False: what failed is logged. */
bool lk_http_open(struct lk_master *m);
/* After lk_asks_close. May be called twice. */
void lk_http_close(struct lk_master *m);

#endif
