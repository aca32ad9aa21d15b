/* What becomes of a session lock call, by advisory_lock_policy and the limits of its pool: before it is sent, and when its
 * answer has come. */
#ifndef LK_SESSION_POLICY_H
#define LK_SESSION_POLICY_H

#include "session/core.h"

enum lk_verdict {
    LK_VERDICT_SEND,
    LK_VERDICT_REFUSE, /* with LK_REFUSAL_NAME of session/refuse.h */
    LK_VERDICT_WAIT,   /* what to do depends on a probe under way: to be asked again when it has answered */
};

/* What is to be done with the client's message. REFUSE: *e is what it is told. `watch` NULL: no touch. */
enum lk_verdict lk_policy_judge(
    const struct lk_core *core, const struct lk_client *c, const struct lk_watch *watch, struct lk_error *e);
/* It was refused, and the client has been told. */
void lk_policy_refused(struct lk_core *core, struct lk_server *s, const struct lk_watch *watch);
/* A statement is complete, or its portal suspended: what it did goes to the ledger, and what is news to records and, with
 * advisory_lock_notice, to the client. */
void lk_policy_complete(struct lk_core *core, struct lk_server *s, struct lk_watch *watch, bool suspended);
/* A session lock is held by the server's client: a WARNING for it, if it wants that. */
void lk_policy_notice(struct lk_core *core, struct lk_server *s, struct lk_key key);

#endif
