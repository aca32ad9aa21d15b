/* The text of a console command, read: which command and its argument. Words in any case; a name stands as it is, or in
 * double or single quotes (doubled inside); a ';' may end the command; `--` begins a comment. Pure. */
#ifndef LK_ADMIN_COMMAND_H
#define LK_ADMIN_COMMAND_H

#include "base/error.h"
#include "base/span.h"

enum lk_command_kind {
    LK_COMMAND_EMPTY,
    LK_COMMAND_HELP,
    LK_COMMAND_SHOW, /* argument: the view's name */
    LK_COMMAND_RELOAD,
    LK_COMMAND_PAUSE, /* this and those up to ENABLE: argument a database, or NULL */
    LK_COMMAND_RESUME,
    LK_COMMAND_KILL,
    LK_COMMAND_RECONNECT,
    LK_COMMAND_WAIT_CLOSE,
    LK_COMMAND_DISABLE,
    LK_COMMAND_ENABLE,
    LK_COMMAND_KILL_CLIENT, /* argument: the client's id */
    LK_COMMAND_SUSPEND,
    LK_COMMAND_SET,      /* argument and value: those of a setting */
    LK_COMMAND_SHUTDOWN, /* argument: how, or NULL */
};

struct lk_command {
    enum lk_command_kind kind;
    char *argument; /* owned; NULL: none */
    char *value;    /* SET only; owned */
};

#define LK_COMMAND_TEXT_MAX 4096u

/* False: no such command, or it takes other arguments; *e says so as PgBouncer does (42601). */
bool lk_command_parse(struct lk_span text, struct lk_command *out, struct lk_error *e);
void lk_command_invalid(struct lk_span text, struct lk_error *e);
void lk_command_clear(struct lk_command *c);
/* "PAUSE", as the tag of CommandComplete has it. */
const char *lk_command_name(enum lk_command_kind kind);

/* Are they the same but for the case of ASCII letters? */
bool lk_command_word_is(struct lk_span word, const char *name);

#endif
