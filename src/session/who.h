/* Who a client is, for logs and records: shared by the client, the server it is linked to (which may outlive it while it is
 * cleaned) and nothing else. Belongs to one worker. */
#ifndef LK_SESSION_WHO_H
#define LK_SESSION_WHO_H

#include <stdbool.h>
#include <stdint.h>

#define LK_WHO_TOLD 64

struct lk_who {
    unsigned refs;
    uint64_t id;
    char *addr; /* "127.0.0.1", "unix" */
    int port;
    char *database, *user; /* NULL before the startup packet */
    char *application_name; /* as last reported; never NULL */
    uint64_t *told;         /* the last LK_WHO_TOLD things that were told once of it; owned; NULL: none yet */
    uint32_t told_count;    /* how many ever */
};

struct lk_who *lk_who_new(uint64_t id, const char *addr, int port);
struct lk_who *lk_who_ref(struct lk_who *w);
void lk_who_unref(struct lk_who *w);
/* Is `what` told of it for the first time? It is noted; of more than LK_WHO_TOLD the oldest are forgotten, and told again. */
bool lk_who_first(struct lk_who *w, uint64_t what);

#endif
