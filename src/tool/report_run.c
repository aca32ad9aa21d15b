#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tool/lines.h"
#include "tool/report.h"

#define TOP 20u

enum option_letter { SINCE = 's', BY = 'b', JSON = 'j', TOP_OPTION = 't', HELP = 'h' };

static const struct option long_options[] = {
    {"since", required_argument, NULL, SINCE},
    {"by", required_argument, NULL, BY},
    {"json", no_argument, NULL, JSON},
    {"top", required_argument, NULL, TOP_OPTION},
    {"help", no_argument, NULL, HELP},
    {NULL, 0, NULL, 0},
};

struct order {
    struct lk_report *report;
    bool json;
    bool top_given;
    uint32_t top;
};

static void
print_help(void)
{
    (void)fputs("usage: lockkeeper report [OPTION]... FILE...\n"
                "Counts the leaks in leak logs (JSON; gzip or plain; - is standard input).\n"
                "\n"
                "  --since=WHEN    only records from then on: 2026-11-30, 2026-11-30T09:15 (UTC), or 30m, 24h, 7d ago\n"
                "  --by=FIELD,...  count by these instead of key,application,statement,hour:\n"
                "                  ",
        stdout);
    for (int f = 0; f < LK_REPORT_FIELDS; f++)
        (void)printf("%s%s", f == 0 ? "" : ", ", lk_report_field_name((enum lk_report_field)f));
    (void)puts("\n"
               "  --top=N         at most N of each (20; of hours and days the latest; 0: all)\n"
               "  --json          one JSON object, all of each");
}

static int
mistake(const char *what, const char *value)
{
    (void)fprintf(stderr, "lockkeeper report: %s%s\nSee lockkeeper report --help for usage.\n", what, value);
    return 1;
}

static bool
take_by(struct lk_report *r, const char *list)
{
    while (*list) {
        size_t n = strcspn(list, ",");
        int f = 0;
        while (
            f < LK_REPORT_FIELDS && !lk_span_is(lk_span_make(list, n), lk_report_field_name((enum lk_report_field)f)))
            f++;
        if (f == LK_REPORT_FIELDS)
            return false;
        r->by |= 1u << f;
        list += n + (list[n] == ',');
    }
    return r->by != 0;
}

static bool
take_ago(struct lk_report *r, const char *text)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    int64_t unit = *end == 'm' ? 60 : *end == 'h' ? 3600 : *end == 'd' ? 86400 : 0;
    if (errno != 0 || end == text || n < 0 || n > 1000000 || unit == 0 || end[1])
        return false;
    int64_t wall_us = lk_clock_read().wall_us - n * unit * LK_SECOND_US;
    lk_clock_rfc3339(wall_us > 0 ? wall_us : 0, r->since);
    return true;
}

/* A day and as much of a time as is given; kept as the head of a record's "ts", with which it is compared. */
static bool
take_since(struct lk_report *r, const char *text)
{
    static const char form[] = "0000-00-00T00:00:00.000000Z";
    size_t n = strlen(text);
    if (n < 10 || n > sizeof(form) - 1)
        return take_ago(r, text);
    for (size_t i = 0; i < n; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';
        bool fits = form[i] == '0' ? digit : text[i] == form[i] || (form[i] == 'T' && text[i] == ' ');
        if (!fits)
            return false;
    }
    memcpy(r->since, text, n);
    if (n > 10)
        r->since[10] = 'T';
    r->since[n] = '\0';
    return true;
}

static bool
take_top(struct order *o, const char *text)
{
    char *end;
    errno = 0;
    unsigned long n = strtoul(text, &end, 10);
    o->top = (uint32_t)n;
    o->top_given = true;
    return errno == 0 && end != text && *end == '\0' && text[0] != '-' && n <= UINT32_MAX;
}

/* -1: go on; else the exit status. */
static int
take_options(struct order *o, int argc, char **argv)
{
    int option;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        switch (option) {
        case SINCE:
            if (!take_since(o->report, optarg))
                return mistake("--since: no time: ", optarg);
            break;
        case BY:
            if (!take_by(o->report, optarg))
                return mistake("--by: no field: ", optarg);
            break;
        case TOP_OPTION:
            if (!take_top(o, optarg))
                return mistake("--top: no number: ", optarg);
            break;
        case JSON:
            o->json = true;
            break;
        case HELP:
            print_help();
            return 0;
        default:
            (void)fputs("See lockkeeper report --help for usage.\n", stderr);
            return 1;
        }
    }
    return optind == argc ? mistake("need a file", "") : -1;
}

static bool
read_file(struct lk_report *r, const char *file, struct lk_buf *room)
{
    struct lk_lines *lines = lk_lines_open(file);
    if (!lines) {
        (void)fprintf(stderr, "lockkeeper report: could not open %s: %s\n", file, strerror(errno));
        return false;
    }
    struct lk_span line;
    bool too_long;
    for (uint64_t number = 1; lk_lines_next(lines, &line, &too_long); number++)
        if (line.n > 0 || too_long)
            lk_report_line(r, line, room, file, number);
    const char *error = lk_lines_error(lines);
    if (error)
        (void)fprintf(stderr, "lockkeeper report: could not read all of %s: %s\n", file, error);
    lk_lines_close(lines);
    return error == NULL;
}

int
lk_report_run(int argc, char **argv)
{
    struct lk_report report = {0};
    struct order order = {.report = &report};
    struct lk_buf room = {0};
    int status = take_options(&order, argc, argv);
    if (status >= 0)
        return status;
    if (report.by == 0)
        report.by =
            1u << LK_REPORT_KEY | 1u << LK_REPORT_APPLICATION | 1u << LK_REPORT_STATEMENT | 1u << LK_REPORT_HOUR;
    bool good = true;
    for (int i = optind; i < argc; i++)
        good &= read_file(&report, argv[i], &room);
    uint32_t top = order.top_given ? order.top : order.json ? 0 : TOP;
    if (order.json)
        good &= lk_report_print_json(&report, top);
    else
        lk_report_print(&report, top);
    good &= fflush(stdout) == 0;
    lk_buf_clear(&room);
    lk_report_clear(&report);
    return good ? 0 : 1;
}
