/* Dialling: an OPEN effect becomes a connected socket, or a reason why not. The name is resolved, each of its addresses
 * is tried in turn. There is no time-out here: the core closes an end that takes too long. */
#ifndef LK_NET_DIAL_H
#define LK_NET_DIAL_H

#include "net/worker.h"

/* Carries out LK_EFFECT_OPEN. The outcome is a later step, also where it is known at once. */
void lk_dial(struct lk_worker *w, struct lk_end *end, const char *host, int port);
/* The step after success: tells the core. */
void lk_dial_opened(struct lk_conn *c);
/* Gives up what is under way, if anything is. */
void lk_dial_free(struct lk_conn *c);

#endif
