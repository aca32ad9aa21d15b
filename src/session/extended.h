/* The extended protocol across backends: names of statements are mapped, and a statement that a backend lacks is parsed there
 * before it is used. Each function takes one whole message (of Bind: its head) of a linked client. */
#ifndef LK_SESSION_EXTENDED_H
#define LK_SESSION_EXTENDED_H

#include "session/core.h"
#include "wire/message.h"

enum lk_extended {
    LK_EXTENDED_DONE,
    LK_EXTENDED_BAD,
    LK_EXTENDED_NO_MEMORY,
    LK_EXTENDED_HOLD, /* nothing was done: what to do depends on answers that are outstanding */
};

enum lk_extended lk_extended_parse(struct lk_core *core, struct lk_client *c, struct lk_span body, struct lk_span whole);
/* `there`: what of the Bind has come; `total`: its length. Sends what has come. */
enum lk_extended lk_extended_bind(
    struct lk_core *core, struct lk_client *c, const struct lk_msg_bind *m, uint32_t total, struct lk_span there);
enum lk_extended lk_extended_describe(struct lk_core *core, struct lk_client *c, struct lk_span body, struct lk_span whole);
enum lk_extended lk_extended_execute(struct lk_core *core, struct lk_client *c, struct lk_span body, struct lk_span whole);
enum lk_extended lk_extended_close(struct lk_core *core, struct lk_client *c, struct lk_span body, struct lk_span whole);

/* A Query that is DEALLOCATE of a mapped name: sees to it that the server has that statement, and gives the Query to send
 * instead (in the arena); an empty span: send it as it is. */
void lk_extended_deallocate(struct lk_core *core, struct lk_client *c, const struct lk_analysis *a, struct lk_span *query);
/* Notes in the reply what such a DEALLOCATE takes away once it succeeds. */
void lk_extended_note_deallocate(struct lk_client *c, const struct lk_analysis *a, struct lk_reply *r);

/* How the client's texts are read (session/forward.c). */
struct lk_sql_mode lk_forward_mode(struct lk_core *core, const struct lk_client *c);

#endif
