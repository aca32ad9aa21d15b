#include "tool/report.h"

#include <stdio.h>

#include "base/mem.h"
#include "tool/jsonline.h"

/* What a report needs of a record; spans of its line. */
struct fields {
    struct lk_span ts, event, database, user, held_ms, query, reason, action, omitted, dropped;
    struct lk_span id, addr, port, application, key, name;
};

static const struct {
    const char *object, *key;
    size_t at;
    bool quoted; /* a string; else a number */
} wanted[] = {
    {"", "ts", offsetof(struct fields, ts), true},
    {"", "event", offsetof(struct fields, event), true},
    {"", "database", offsetof(struct fields, database), true},
    {"", "user", offsetof(struct fields, user), true},
    {"", "held_ms", offsetof(struct fields, held_ms), false},
    {"", "query", offsetof(struct fields, query), true},
    {"", "reason", offsetof(struct fields, reason), true},
    {"", "action", offsetof(struct fields, action), true},
    {"", "omitted", offsetof(struct fields, omitted), false},
    {"", "dropped", offsetof(struct fields, dropped), false},
    {"client", "id", offsetof(struct fields, id), false},
    {"client", "addr", offsetof(struct fields, addr), true},
    {"client", "port", offsetof(struct fields, port), false},
    {"client", "application_name", offsetof(struct fields, application), true},
    {"lock", "key", offsetof(struct fields, key), true},
    {"lock", "name", offsetof(struct fields, name), true},
};

const char *
lk_report_field_name(enum lk_report_field f)
{
    static const char *const names[LK_REPORT_FIELDS] = {
        "key", "application", "statement", "hour", "day", "database", "user", "client", "address", "reason", "action"};
    return names[f];
}

/* null, and what is no number where one is wanted, stay empty. */
static void
take(void *context, struct lk_span object, struct lk_span key, struct lk_span value, bool quoted)
{
    for (size_t i = 0; i < LK_COUNT(wanted); i++) {
        if (wanted[i].quoted != quoted || !lk_span_is(key, wanted[i].key) || !lk_span_is(object, wanted[i].object))
            continue;
        *(struct lk_span *)(void *)((char *)context + wanted[i].at) = value;
        return;
    }
}

/* A whole number that is not negative; -1: there is none. */
static int64_t
number_of(struct lk_span s)
{
    int64_t v = 0;
    if (s.n == 0 || s.n > 18)
        return -1;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return -1;
        v = v * 10 + (s.p[i] - '0');
    }
    return v;
}

/* "2026-11-30T09:15:02.123456Z", as the journal writes it. */
static bool
is_time(struct lk_span ts)
{
    static const char form[] = "0000-00-00T00:00:00.000000Z";
    if (ts.n != sizeof(form) - 1)
        return false;
    for (size_t i = 0; i < ts.n; i++)
        if (form[i] == '0' ? ts.p[i] < '0' || ts.p[i] > '9' : ts.p[i] != (uint8_t)form[i])
            return false;
    return true;
}

/* The group that a record belongs to; empty: what the field says is not known. */
static void
add_value(struct lk_buf *out, enum lk_report_field field, const struct fields *f)
{
    const struct lk_span simple[LK_REPORT_FIELDS] = {
        [LK_REPORT_APPLICATION] = f->application,
        [LK_REPORT_STATEMENT] = f->query,
        [LK_REPORT_HOUR] = lk_span_head(f->ts, 13),
        [LK_REPORT_DAY] = lk_span_head(f->ts, 10),
        [LK_REPORT_DATABASE] = f->database,
        [LK_REPORT_USER] = f->user,
        [LK_REPORT_ADDRESS] = f->addr,
        [LK_REPORT_REASON] = f->reason,
        [LK_REPORT_ACTION] = f->action,
    };
    out->len = 0;
    if (field == LK_REPORT_KEY) {
        lk_buf_add_span(out, f->database);
        lk_buf_add_u8(out, '\0');
        lk_buf_add_span(out, f->key);
    } else if (field == LK_REPORT_CLIENT && f->id.n > 0) {
        lk_buf_add_span(out, f->id);
        lk_buf_add_format(out, " ");
        lk_buf_add_span(out, f->addr);
        lk_buf_add_format(out, ":");
        lk_buf_add_span(out, f->port);
    } else {
        lk_buf_add_span(out, simple[field]);
    }
}

static void
count_leak(struct lk_report *r, const struct fields *f, struct lk_buf *value, uint64_t leaks)
{
    r->leaks += leaks;
    for (int i = 0; i < LK_REPORT_FIELDS; i++) {
        enum lk_report_field field = (enum lk_report_field)i;
        if (!(r->by & 1u << i))
            continue;
        add_value(value, field, f);
        struct lk_span name = field == LK_REPORT_KEY ? f->name : lk_span_make("", 0);
        lk_tally_add(&r->tallies[i], lk_buf_span(value), name, leaks, number_of(f->held_ms), f->ts);
    }
}

void
lk_report_line(struct lk_report *r, struct lk_span line, struct lk_buf *room, const char *file, uint64_t number)
{
    struct fields f = {0};
    size_t since = strlen(r->since);
    if (!lk_jsonline_read(line, room, take, &f) || !is_time(f.ts) || f.event.n == 0) {
        if (r->malformed++ == 0) {
            r->first_file = file;
            r->first_line = number;
        }
        return;
    }
    if (memcmp(f.ts.p, r->since, since) < 0)
        return;
    lk_tally_add(&r->events, f.event, lk_span_make("", 0), 1, -1, f.ts);
    struct lk_buf value = {0};
    if (lk_span_is(f.event, "leak"))
        count_leak(r, &f, &value, 1);
    /* those of a backend that went away are lost, not leaked */
    else if (lk_span_is(f.event, "leak_summary") && number_of(f.omitted) > 0 && !lk_span_is(f.reason, "backend_closed"))
        count_leak(r, &f, &value, (uint64_t)number_of(f.omitted));
    else if (lk_span_is(f.event, "dropped") && number_of(f.dropped) > 0)
        r->dropped += (uint64_t)number_of(f.dropped);
    lk_buf_clear(&value);
}

void
lk_report_clear(struct lk_report *r)
{
    for (int i = 0; i < LK_REPORT_FIELDS; i++)
        lk_tally_clear(&r->tallies[i]);
    lk_tally_clear(&r->events);
}
