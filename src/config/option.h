/* THE table of options: one row gives an option's parsing, range check, default, SHOW CONFIG, RELOAD, --help-options. */
#ifndef LK_CONFIG_OPTION_H
#define LK_CONFIG_OPTION_H

#include "config/settings.h"

enum lk_option_type {
    LK_OPTION_STRING, /* char * */
    LK_OPTION_INT,    /* int */
    LK_OPTION_BOOL,   /* bool in lk_settings; int (-1: unset) in databases and users */
    LK_OPTION_TIME,   /* int64_t µs; written in seconds, maybe with a fraction */
    LK_OPTION_SIZE,   /* int64_t bytes */
    LK_OPTION_ENUM,   /* int; words in `words` */
    LK_OPTION_OCTAL,  /* int, file mode */
};

enum lk_option_flags {
    LK_OPTION_RESTART = 1, /* changing it needs a restart: SHOW CONFIG says changeable no */
    LK_OPTION_INERT = 2,   /* accepted, no effect yet: a warning when it is set to other than its default */
    LK_OPTION_LOCKS = 4,   /* may stand in NAME.locks.ini (what PgBouncer doesn't know) */
    LK_OPTION_SECRET = 8,  /* never shown */
};

struct lk_option {
    const char *name;
    const char *alias;     /* an older name of the same option, or NULL */
    enum lk_option_type type;
    unsigned flags;
    size_t offset;         /* in lk_settings */
    const char *initial;   /* default as text; NULL: unset */
    const char *const *words; /* ENUM: the words in the order of their values, NULL at the end */
    int64_t least, most;   /* INT, SIZE in units; TIME in seconds */
    const char *help;      /* one line */
};

extern const struct lk_option lk_options[];
extern const size_t lk_option_count;

const struct lk_option *lk_option_find(const char *name);
/* Parses a value into `at`. False: `why` says what would be right. Strings at `at` are freed and replaced. */
bool lk_option_parse(const struct lk_option *o, const char *value, void *at, struct lk_buf *why);
/* The current value as SHOW CONFIG prints it, appended to out (no NUL). *null: it is unset. */
void lk_option_print(const struct lk_option *o, const struct lk_settings *s, struct lk_buf *out, bool *null);

#endif
