/* Cuts ini files into lines, by PgBouncer's rules: a ';' or '#' is a comment at a line's start only, lines have any
 * length and are independent of their indentation, a name ends at its first '=', names may be quoted like SQL
 * identifiers, %include FILE stands for that file's lines and leaves the section as the file did. Knows no setting.
 *
 * inih is not used: built as distributions build it, it hands over the first 199 bytes of a longer line, takes " ;"
 * inside a value for a comment, and an indented setting for more of the value before it. Each would change what a file
 * says that PgBouncer has been reading for years. */
#ifndef LK_CONFIG_INI_H
#define LK_CONFIG_INI_H

#include "base/buf.h"

#define LK_INI_DEPTH_MOST 10  /* %include inside %include, as PgBouncer */
#define LK_INI_FILES_MOST 200 /* read for one configuration */
#define LK_INI_BYTES_MOST ((size_t)64 << 20)

enum lk_ini_kind {
    LK_INI_SECTION, /* name: what stands between the brackets */
    LK_INI_SETTING, /* name, value */
    LK_INI_BROKEN,  /* value: what is wrong */
};

struct lk_ini_line {
    const char *file; /* its name as given */
    int line;         /* from 1; 0: the file as a whole */
    enum lk_ini_kind kind;
    char *name; /* borrowed, as is value; the handler may change them in place */
    char *value;
};

typedef void (*lk_ini_handler)(void *arg, const struct lk_ini_line *line);

/* Calls the handler for each line that says something. Mistakes are lines too; reading goes on behind them. */
void lk_ini_read(const char *path, lk_ini_handler handler, void *arg);
/* A whole file, appended to out. NULL: done; else what went wrong, for errors. */
const char *lk_ini_read_file(const char *path, struct lk_buf *out);

#endif
