/* Answers of the console: frames for a console client, up to and without ReadyForQuery, which the core sends. Each of
 * these functions ends the command that the client waits for. */
#ifndef LK_ADMIN_ANSWER_H
#define LK_ADMIN_ANSWER_H

#include "admin/request.h"

/* CommandComplete alone. */
void lk_answer_tag(struct lk_core *core, struct lk_client *client, const char *tag);
void lk_answer_empty(struct lk_core *core, struct lk_client *client);
void lk_answer_error(struct lk_core *core, struct lk_client *client, const struct lk_error *e);
/* The rows of a view, from the tables of all workers. */
void lk_answer_view(struct lk_core *core, struct lk_client *client, const struct lk_view *view,
    const struct lk_table *const *tables, size_t count);
/* What a RELOAD said: lines that each become a WARNING; with errors the command fails. Both may be NULL. */
void lk_answer_reload(struct lk_core *core, struct lk_client *client, const char *errors, const char *warnings);
/* What a SET said. */
void lk_answer_set(struct lk_core *core, struct lk_client *client, const struct lk_request *r);
/* Lines that each become a NOTICE. Unlike the others: it may come before, or behind, the answer of a command, and ends
 * none. */
void lk_answer_news(struct lk_core *core, struct lk_client *client, const char *lines);
/* SHOW HELP: a NOTICE. */
void lk_answer_help(struct lk_core *core, struct lk_client *client);

#endif
