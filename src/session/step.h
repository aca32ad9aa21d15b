/* What the modules of a step have in common: the clock, sending, and entering states. Inside session/ only. */
#ifndef LK_SESSION_STEP_H
#define LK_SESSION_STEP_H

#include "session/core.h"

/* --- sending --- */
/* Copies the buffer's bytes to the step's arena and sends them; false (nothing is sent) when it failed or there is no
 * memory. */
bool lk_step_send_buf(struct lk_core *core, struct lk_end *end, const struct lk_buf *b);
/* Bytes that live until the step is carried out: of its input, or constants. */
static inline void
lk_step_send(struct lk_core *core, struct lk_end *end, struct lk_span bytes)
{
    lk_effects_send(&core->effects, end, bytes);
}
/* Notes that answers of these kinds are owed, in order. False: no memory (then none is noted). */
bool lk_step_expect(
    struct lk_server *s, enum lk_reply_purpose purpose, const enum lk_reply_kind *kinds, size_t count);

/* --- states: the only writers --- */
void lk_client_enter(struct lk_core *core, struct lk_client *c, enum lk_client_state to);
void lk_server_enter(struct lk_core *core, struct lk_server *s, enum lk_server_state to);

/* --- client.c --- */
struct lk_client *lk_client_new(struct lk_core *core, const struct lk_peer *peer);
void lk_client_free(struct lk_core *core, struct lk_client *c);
size_t lk_client_input(struct lk_core *core, struct lk_client *c, struct lk_span in);
void lk_client_lost(struct lk_core *core, struct lk_client *c, const char *why);
/* Ends it with an ErrorResponse FATAL and a log line; its server is let go for `reason`. */
void lk_client_fail(struct lk_core *core, struct lk_client *c, const struct lk_error *e, enum lk_reason reason);
/* An ErrorResponse ERROR in answer to what it sent; the caller sees to ReadyForQuery. */
void lk_client_error(struct lk_core *core, struct lk_client *c, const struct lk_error *e);
/* Closes its connection without a word. */
void lk_client_close(struct lk_core *core, struct lk_client *c);
void lk_client_set_unnamed(struct lk_client *c, struct lk_statement *st);
void lk_client_forget_portals(struct lk_client *c);
/* "C-17 shop/app@127.0.0.1:50312 " for log lines. */
const char *lk_client_label(const struct lk_client *c);

/* --- startup.c --- */
size_t lk_startup_input(struct lk_core *core, struct lk_client *c, struct lk_span in);
/* auth_query has answered for a client that is LOOKUP; why: it could not be asked. */
void lk_startup_looked_up(struct lk_core *core, struct lk_client *c, const struct lk_error *why);
/* AuthenticationOk's second half: parameters, key, ReadyForQuery. */
void lk_startup_welcome(struct lk_core *core, struct lk_client *c);

/* --- forward.c: messages of a client that is logged in --- */
/* What it was held for has been answered: its unread messages are read again. */
void lk_forward_unhold(struct lk_core *core, struct lk_client *c);
size_t lk_forward_input(struct lk_core *core, struct lk_client *c, struct lk_span in);

/* --- console.c --- */
size_t lk_console_input(struct lk_core *core, struct lk_client *c, struct lk_span in);

/* --- server.c --- */
struct lk_server *lk_server_open(struct lk_core *core, struct lk_pool *pool);
void lk_server_free(struct lk_core *core, struct lk_server *s);
void lk_server_lost(struct lk_core *core, struct lk_server *s, const char *why);
/* Closes it; its client gets FATAL, held locks are told. polite: with Terminate. */
void lk_server_close(struct lk_core *core, struct lk_server *s, const char *why, enum lk_reason reason, bool polite);
void lk_server_set_unnamed(struct lk_server *s, struct lk_statement *st);
const char *lk_server_label(const struct lk_server *s);

/* --- answers.c: what a server says --- */
size_t lk_answers_input(struct lk_core *core, struct lk_server *s, struct lk_span in);
/* Its prepared statements are gone, but for those whose Parse is still outstanding. */
void lk_answers_forget_parsed(struct lk_server *s);
/* Answers that are ours to give and have come to the head of its queue go out to the client. */
void lk_answers_ours(struct lk_core *core, struct lk_server *s);

/* --- server_login.c --- */
void lk_server_login_begin(struct lk_core *core, struct lk_server *s, bool unix_socket);
/* The answer to SSLRequest; returns how many bytes were consumed. */
size_t lk_server_login_answer(struct lk_core *core, struct lk_server *s, struct lk_span in);
/* The connection is encrypted. */
void lk_server_login_secured(struct lk_core *core, struct lk_server *s);
/* After a RELOAD: servers whose TLS settings were others are closed when they are idle. */
void lk_server_login_reload(struct lk_core *core, const struct lk_settings *before);
/* One frame while logging in. */
void lk_server_login_frame(struct lk_core *core, struct lk_server *s, uint8_t type, struct lk_span body);
/* The pool's server can't be logged in to: clients that wait for their welcome are told and closed. */
void lk_server_login_failed(struct lk_core *core, struct lk_pool *pool, const struct lk_error *e);
/* A password or ClientKey that a client's login revealed, for logging in to servers as that user; `against`: the user's
 * secret at that time, or NULL. */
void lk_user_keys_learn(struct lk_core *core, const char *user, const char *against, const struct lk_exchange *x);
void lk_user_keys_free(struct lk_core *core);

/* --- welcome.c: parameters of a pool's servers, for new clients --- */
void lk_welcome_note(struct lk_pool *pool, struct lk_span name, struct lk_span value);
void lk_welcome_send(struct lk_core *core, struct lk_client *c);
void lk_welcome_forget(struct lk_pool *pool);

/* --- tick.c --- */
/* Should this server go when it is idle? why: for the log. */
bool lk_server_worn_out(const struct lk_core *core, const struct lk_server *s, const char **why);

/* --- unused.c --- */
/* Closes the servers of pools that nobody has used for long, and frees such pools. */
void lk_unused_tidy(struct lk_core *core);

/* --- params.c --- */
/* Frees interned values that nobody uses, or all of them. */
void lk_params_tidy(struct lk_core *core, bool all);

/* --- core.c --- */
static inline bool
lk_core_lends(const struct lk_core *core)
{
    return core->mode == LK_CORE_ACTIVE || core->mode == LK_CORE_WAIT_FOR_CLIENTS;
}
/* Frees a pool that has neither clients nor servers. */
void lk_core_free_pool(struct lk_core *core, struct lk_pool *pool);
/* The pool of that database (as clients say it) and client's user, made if need be; NULL: there is no such database. */
struct lk_pool *lk_core_pool(struct lk_core *core, const char *database, const char *user);
/* The pool of that database in which this very user logs in, whatever its line says of another: for auth_query. */
struct lk_pool *lk_core_pool_of(struct lk_core *core, const char *database, const char *user);

#endif
