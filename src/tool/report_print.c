#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "journal/utf8.h"
#include "tool/report.h"

/* A statement is cut there, but not in JSON. */
#define SHOWN_BYTES 200u

/* In the order of time, and the latest of them; else the most leaks first. */
static bool
is_time(enum lk_report_field f)
{
    return f == LK_REPORT_HOUR || f == LK_REPORT_DAY;
}

/* A key's value is database, NUL, key. */
static struct lk_span
database_of(const struct lk_group *g)
{
    return lk_span_make(g->value, strlen(g->value));
}

static struct lk_span
key_of(const struct lk_group *g)
{
    size_t n = strlen(g->value) + 1;
    return n > g->value_n ? lk_span_make("", 0) : lk_span_make(g->value + n, g->value_n - n);
}

static void
print_text(struct lk_span s)
{
    struct lk_buf shown = {0};
    lk_utf8_escape(s.n > 0 ? s : lk_span_str("(unknown)"), SHOWN_BYTES, false, &shown);
    (void)fwrite(shown.data, 1, shown.len, stdout);
    if (s.n > SHOWN_BYTES)
        (void)fputs("...", stdout);
    lk_buf_clear(&shown);
}

static void
print_value(enum lk_report_field f, const struct lk_group *g)
{
    if (f == LK_REPORT_HOUR || f == LK_REPORT_DAY) {
        (void)printf(f == LK_REPORT_HOUR ? "%.10s %.2s:00" : "%.10s", g->value, g->value + 11);
        return;
    }
    if (f != LK_REPORT_KEY) {
        print_text(lk_span_make(g->value, g->value_n));
        return;
    }
    print_text(database_of(g));
    (void)putchar(' ');
    print_text(key_of(g));
    if (g->name) {
        (void)fputs(" (", stdout);
        print_text(lk_span_make(g->name, g->name_n));
        (void)putchar(')');
    }
}

static void
print_seconds(bool known, int64_t ms)
{
    if (known)
        (void)printf("  %10" PRId64 ".%03d s", ms / 1000, (int)(ms % 1000));
    else
        (void)printf("  %16s", "-");
}

static void
print_group(enum lk_report_field f, const struct lk_group *g)
{
    bool known = g->held_known > 0;
    (void)printf("%10" PRIu64, g->leaks);
    print_seconds(known, known ? g->held_sum_ms / (int64_t)g->held_known : 0);
    print_seconds(known, g->held_most_ms);
    (void)printf("  %.10s %.8s  ", g->last, g->last + 11);
    print_value(f, g);
    (void)putchar('\n');
}

/* Which of the sorted groups are shown: from *first, so many. */
static uint32_t
choose(const struct lk_tally *t, enum lk_report_field f, uint32_t top, uint32_t *first)
{
    uint32_t shown = top > 0 && top < t->count ? top : t->count;
    *first = is_time(f) ? t->count - shown : 0;
    return shown;
}

static void
print_tally(const struct lk_report *r, enum lk_report_field f, uint32_t top)
{
    const struct lk_tally *t = &r->tallies[f];
    const struct lk_group **groups = lk_tally_sorted(t, is_time(f));
    uint32_t first, shown = choose(t, f, top, &first);
    uint64_t rest = r->leaks;
    (void)printf("\n%10s  %16s  %16s  %-19s  by %s\n", "leaks", "held on average", "longest", "last (UTC)",
        lk_report_field_name(f));
    for (uint32_t i = 0; i < shown; i++) {
        print_group(f, groups[first + i]);
        rest -= groups[first + i]->leaks;
    }
    if (rest > 0 && t->others.leaks > 0)
        (void)printf("%10" PRIu64 "  of %" PRIu32 " more and of others\n", rest, t->count - shown);
    else if (rest > 0)
        (void)printf("%10" PRIu64 "  of %" PRIu32 " %s\n", rest, t->count - shown, is_time(f) ? "earlier" : "more");
    free(groups);
}

/* The first and last time of all records; false: there are none. */
static bool
find_times(const struct lk_report *r, const struct lk_group **groups, const char **from, const char **to)
{
    for (uint32_t i = 0; i < r->events.count; i++) {
        if (i == 0 || strcmp(groups[i]->first, *from) < 0)
            *from = groups[i]->first;
        if (i == 0 || strcmp(groups[i]->last, *to) > 0)
            *to = groups[i]->last;
    }
    return r->events.count > 0;
}

static void
print_head(const struct lk_report *r)
{
    const struct lk_group **groups = lk_tally_sorted(&r->events, false);
    const char *from = "", *to = "";
    if (!find_times(r, groups, &from, &to))
        (void)puts("no records");
    else
        (void)printf("records from %.10s %.8s to %.10s %.8s UTC:", from, from + 11, to, to + 11);
    for (uint32_t i = 0; i < r->events.count; i++) {
        (void)printf("%s %" PRIu64 " ", i == 0 ? "" : ",", groups[i]->leaks);
        print_text(lk_span_make(groups[i]->value, groups[i]->value_n));
    }
    if (r->events.count > 0)
        (void)putchar('\n');
    free(groups);
    if (r->dropped > 0)
        (void)printf("%" PRIu64 " records are missing: the leak log could not take them\n", r->dropped);
    if (r->malformed > 0)
        (void)printf("%" PRIu64 " lines are no records, the first is line %" PRIu64 " of %s\n", r->malformed,
            r->first_line, r->first_file);
}

void
lk_report_print(const struct lk_report *r, uint32_t top)
{
    print_head(r);
    for (int f = 0; f < LK_REPORT_FIELDS && r->leaks > 0; f++)
        if (r->by & 1u << f)
            print_tally(r, (enum lk_report_field)f, top);
}

/* --- JSON --- */

static void
put(json_t *o, const char *name, json_t *value)
{
    (void)json_object_set_new(o, name, value);
}

static void
put_text(json_t *o, const char *name, struct lk_span s)
{
    struct lk_buf valid = {0};
    lk_utf8_repair(s, SIZE_MAX, &valid);
    put(o, name, s.n > 0 ? json_stringn((const char *)valid.data, valid.len) : json_null());
    lk_buf_clear(&valid);
}

static json_t *
json_group(enum lk_report_field f, const struct lk_group *g)
{
    json_t *o = json_object();
    bool known = g->held_known > 0;
    if (f == LK_REPORT_KEY) {
        put_text(o, "database", database_of(g));
        put_text(o, "key", key_of(g));
        put_text(o, "name", lk_span_make(g->name, g->name_n));
    } else {
        put_text(o, lk_report_field_name(f), lk_span_make(g->value, g->value_n));
    }
    put(o, "leaks", json_integer((json_int_t)g->leaks));
    put(o, "held_ms_mean", known ? json_integer(g->held_sum_ms / (int64_t)g->held_known) : json_null());
    put(o, "held_ms_max", known ? json_integer(g->held_most_ms) : json_null());
    put(o, "first", json_string(g->first));
    put(o, "last", json_string(g->last));
    return o;
}

static json_t *
json_tally(const struct lk_report *r, enum lk_report_field f, uint32_t top)
{
    const struct lk_group **groups = lk_tally_sorted(&r->tallies[f], is_time(f));
    json_t *list = json_array();
    uint32_t first, shown = choose(&r->tallies[f], f, top, &first);
    for (uint32_t i = 0; i < shown; i++)
        (void)json_array_append_new(list, json_group(f, groups[first + i]));
    free(groups);
    return list;
}

static json_t *
json_events(const struct lk_report *r, const struct lk_group **groups)
{
    json_t *events = json_object();
    for (uint32_t i = 0; i < r->events.count; i++) {
        struct lk_buf name = {0};
        lk_utf8_repair(lk_span_make(groups[i]->value, groups[i]->value_n), SIZE_MAX, &name);
        if (lk_buf_add_u8(&name, '\0'))
            put(events, (const char *)name.data, json_integer((json_int_t)groups[i]->leaks));
        lk_buf_clear(&name);
    }
    return events;
}

bool
lk_report_print_json(const struct lk_report *r, uint32_t top)
{
    json_t *root = json_object(), *by = json_object();
    const struct lk_group **groups = lk_tally_sorted(&r->events, false);
    const char *from = "", *to = "";
    bool any = find_times(r, groups, &from, &to);
    put(root, "from", any ? json_string(from) : json_null());
    put(root, "to", any ? json_string(to) : json_null());
    put(root, "events", json_events(r, groups));
    put(root, "leaks", json_integer((json_int_t)r->leaks));
    put(root, "dropped", json_integer((json_int_t)r->dropped));
    put(root, "malformed", json_integer((json_int_t)r->malformed));
    for (int f = 0; f < LK_REPORT_FIELDS; f++)
        if (r->by & 1u << f)
            put(by, lk_report_field_name((enum lk_report_field)f), json_tally(r, (enum lk_report_field)f, top));
    put(root, "by", by);
    bool written = json_dumpf(root, stdout, JSON_COMPACT) == 0;
    (void)putchar('\n');
    free(groups);
    json_decref(root);
    return written;
}
