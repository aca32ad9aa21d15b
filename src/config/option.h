/* THE table of options: one row gives an option's parsing, range check, default, SHOW CONFIG, RELOAD, --help-options. The
 * keys of [databases], [users] and [peers] lines have tables of the same shape (config/entry.h). */
#ifndef LK_CONFIG_OPTION_H
#define LK_CONFIG_OPTION_H

#include <stdio.h>

#include "config/settings.h"

enum lk_option_type {
    LK_OPTION_STRING, /* char *; only one of `words` where there are any */
    LK_OPTION_INT,    /* int */
    LK_OPTION_BOOL,   /* bool */
    LK_OPTION_SWITCH, /* int 0 or 1, -1: unset (in databases and users); written like a BOOL */
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
    size_t offset;         /* in lk_settings (or the entry's struct) */
    const char *initial;   /* default as text; NULL: unset */
    const char *const *words; /* ENUM: the words in the order of their values, NULL at the end */
    const char *refused;      /* comma list of `words` that this version doesn't support: an error; or NULL */
    const char *note;         /* INERT: the warning, behind "name = value: "; NULL: that it has no effect in this version */
    int64_t least, most;   /* INT, SIZE in units; TIME in seconds */
    const char *help;      /* one line */
};

extern const struct lk_option lk_options[];
extern const size_t lk_option_count;

/* By name or alias; NULL: there is none. */
const struct lk_option *lk_option_find(const char *name);
const struct lk_option *lk_option_find_in(const struct lk_option *table, size_t count, const char *name);
/* The name most like a misspelt one; NULL: none is near. */
const char *lk_option_nearest(const struct lk_option *table, size_t count, const char *name);
/* Parses a value into `at`. False: `why` says what would be right. Strings at `at` are freed and replaced. */
bool lk_option_parse(const struct lk_option *o, const char *value, void *at, struct lk_buf *why);
/* The current value as SHOW CONFIG prints it, appended to out (no NUL). *null: it is unset. */
void lk_option_print(const struct lk_option *o, const struct lk_settings *s, struct lk_buf *out, bool *null);
/* The same for a value at any place. */
void lk_option_print_at(const struct lk_option *o, const void *at, struct lk_buf *out, bool *null);
/* Has the option the same value in both? */
bool lk_option_same(const struct lk_option *o, const struct lk_settings *a, const struct lk_settings *b);
/* Copies a value to a place that holds none yet; strings are copied. */
void lk_option_copy(const struct lk_option *o, const void *from, void *to);
/* Frees a string (wiped when SECRET) and leaves NULL; nothing for other types. */
void lk_option_release(const struct lk_option *o, void *at);
/* The text of `lockkeeper --help-options`. */
void lk_option_help(FILE *out);

#endif
