/* Records for the leak log, from what a server's ledger holds. */
#ifndef LK_SESSION_TELL_H
#define LK_SESSION_TELL_H

#include "session/core.h"

struct lk_pinned;

/* One leak record for each held lock that was not left behind before, up to 100, then a summary; a record with no key if
 * nobody knows what is held. What the policy did to locks (RELEASED, OBSERVED) is told too. */
void lk_tell_leaks(struct lk_core *core, struct lk_server *s, enum lk_reason reason, enum lk_action action);
/* The backend went away with locks while its client still had it. */
void lk_tell_lost(struct lk_core *core, struct lk_server *s);
/* A pin on locks begins or ends, if that is news. */
void lk_tell_pins(struct lk_core *core, struct lk_server *s);
/* What the policy did to a text's lock call (REJECTED, …): the first time for this client and statement. */
void lk_tell_call(struct lk_core *core, struct lk_server *s, enum lk_event event, const struct lk_watch *w);
/* A remark on a text that ran, or on a lock that it took (else NULL); `lint` is static. */
void lk_tell_lint(struct lk_core *core, struct lk_server *s, const struct lk_text *text, const struct lk_taking *lock,
    const char *lint);
/* The server said false to an unlock. */
void lk_tell_unlock_failed(
    struct lk_core *core, struct lk_server *s, const struct lk_watch *w, const struct lk_watched_call *c);
/* A shortened lock went before its transaction. */
void lk_tell_rewritten_lost(struct lk_core *core, struct lk_server *s, const struct lk_held *held);
/* Pinned servers have come to be half of a pool. */
void lk_tell_pins_full(struct lk_core *core, const struct lk_pinned *n);
/* The client idles with locks: once for each that is held. */
void lk_tell_idle_hold(struct lk_core *core, struct lk_server *s);
/* The client is closed for idling with locks. */
void lk_tell_pin_timeout(struct lk_core *core, struct lk_server *s);
/* A request has waited long for a lock; holder: who has it, if one of ours, else holder_pid (0: not known). */
void lk_tell_wait(struct lk_core *core, struct lk_server *s, struct lk_key key, enum lk_lock_mode mode, int64_t waited_us,
    const struct lk_server *holder, uint32_t holder_pid);
/* That server's statement was a deadlock's victim: a record, if advisory locks are in it. detail: of the ErrorResponse. */
void lk_tell_deadlock(struct lk_core *core, struct lk_server *s, struct lk_span detail);
void lk_tell_hidden(struct lk_core *core, struct lk_server *s, const struct lk_held *held);

#endif
