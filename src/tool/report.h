/* lockkeeper report: what the leak log says, counted by key, application, statement, hour and other fields. Reads the
 * JSON form only. Lines that are no records are counted and told. */
#ifndef LK_TOOL_REPORT_H
#define LK_TOOL_REPORT_H

#include "base/buf.h"
#include "tool/tally.h"

/* What leaks may be counted by (--by). */
enum lk_report_field {
    LK_REPORT_KEY,
    LK_REPORT_APPLICATION,
    LK_REPORT_STATEMENT,
    LK_REPORT_HOUR,
    LK_REPORT_DAY,
    LK_REPORT_DATABASE,
    LK_REPORT_USER,
    LK_REPORT_CLIENT,
    LK_REPORT_ADDRESS,
    LK_REPORT_REASON,
    LK_REPORT_ACTION,
    LK_REPORT_FIELDS,
};

struct lk_report {
    unsigned by;                               /* set of 1 << enum lk_report_field */
    char since[28];                            /* RFC 3339 or the head of it; empty: all */
    struct lk_tally tallies[LK_REPORT_FIELDS]; /* a key's value is database, NUL, key */
    struct lk_tally events;                    /* all records by their event */
    uint64_t leaks;                            /* leak_summary's omitted ones among them */
    uint64_t dropped;                          /* records that were never written, as `dropped` records tell */
    uint64_t malformed;
    const char *first_file; /* of the first malformed line; borrowed */
    uint64_t first_line;
};

/* The name that --by has for it. */
const char *lk_report_field_name(enum lk_report_field f);
/* Counts one line of a file. */
void lk_report_line(struct lk_report *r, struct lk_span line, struct lk_buf *room, const char *file, uint64_t number);
void lk_report_clear(struct lk_report *r);

/* At most `top` groups of each field, 0: all. To standard output. */
void lk_report_print(const struct lk_report *r, uint32_t top);
/* False: there is no memory. */
bool lk_report_print_json(const struct lk_report *r, uint32_t top);

/* The command: options and files in argv, argv[0] is its name. Gives the exit status. */
int lk_report_run(int argc, char **argv);

#endif
