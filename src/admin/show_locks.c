#include "admin/views.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "session/keyname.h"
#include "sql/normalize.h"

/* Statements are shown as leak_log_query has them in the records. The last one is kept: the locks of one statement come
 * one after the other. */
struct statements {
    const struct lk_settings *settings;
    const char *how;
    const struct lk_text *text;
    char *normalized; /* owned */
};

/* The longest run of whole characters within the limit. */
static struct lk_span
cut(struct lk_span s)
{
    if (s.n <= LK_RECORD_QUERY_MAX)
        return s;
    size_t n = LK_RECORD_QUERY_MAX;
    while (n > 0 && (s.p[n] & 0xC0) == 0x80)
        n--;
    return lk_span_head(s, n);
}

static void
add_statement(struct lk_table *t, struct statements *shown, const struct lk_text *text)
{
    if (!text || strcmp(shown->how, "off") == 0) {
        lk_table_add(t, NULL);
        return;
    }
    struct lk_span sql = lk_span_make(text->sql, text->n);
    if (strcmp(shown->how, "full") == 0) {
        lk_table_add_span(t, cut(sql));
        return;
    }
    if (shown->text != text) {
        free(shown->normalized);
        shown->normalized = lk_sql_normalize(sql, LK_RECORD_QUERY_MAX);
        shown->text = text;
    }
    lk_table_add(t, shown->normalized);
}

static struct statements
statements_begin(const struct lk_core *core)
{
    const char *how = core->settings->leak_log_query;
    return (struct statements){.settings = core->settings, .how = how ? how : "normalized"};
}

static void
add_id(struct lk_table *t, const struct lk_who *who)
{
    if (who)
        lk_table_add_uint(t, who->id);
    else
        lk_table_add(t, NULL);
}

static void
add_count(struct lk_table *t, uint32_t count)
{
    if (count > 0)
        lk_table_add_uint(t, count);
    else
        lk_table_add(t, NULL);
}

static void
add_key(struct lk_table *t, struct lk_key key)
{
    char text[LK_KEY_TEXT];
    lk_key_format(key, text);
    lk_table_add(t, lk_space_name(lk_key_space(key)));
    lk_table_add(t, text);
}

/* The columns of ADVISORY_LOCKS up to the mode. */
static void
add_lock_head(struct lk_table *t, const struct lk_settings *settings, const struct lk_server *s, struct lk_key key,
    enum lk_lock_mode mode)
{
    lk_table_add_uint(t, s->id);
    lk_table_add_uint(t, s->pid);
    add_id(t, s->who);
    lk_table_add(t, s->who ? s->who->application_name : NULL);
    lk_table_add(t, s->seat.pool->route.database);
    lk_table_add(t, s->seat.pool->route.user);
    add_key(t, key);
    lk_table_add(t, lk_keyname_of(settings, s->seat.pool->route.dbname, key));
    lk_table_add(t, lk_mode_name(mode));
}

static void
add_held(struct lk_table *t, const struct lk_server *s, const struct lk_held *held, struct statements *shown)
{
    add_lock_head(t, shown->settings, s, held->key, held->mode);
    add_count(t, held->count);
    lk_table_add(t, "t");
    lk_show_time_ms(t, held->since.wall_us);
    lk_table_add(t, NULL);
    add_statement(t, shown, held->text);
}

/* The calls of the statement that is under way; *count is how many. */
static const struct lk_watched_call *
calls_under_way(const struct lk_watch *w, size_t *count)
{
    if (w->fcall) {
        *count = w->call_count;
        return w->calls;
    }
    const struct lk_plan *plan = w->analysis ? w->analysis->plan : NULL;
    *count = 0;
    if (!plan || w->statement >= plan->count)
        return w->calls;
    size_t first = 0;
    for (uint16_t i = 0; i < w->statement; i++)
        first += plan->statements[i].call_count;
    if (first < w->call_count)
        *count = plan->statements[w->statement].call_count;
    if (first + *count > w->call_count)
        *count = w->call_count - first;
    return w->calls + first;
}

static bool
may_wait(const struct lk_watched_call *c)
{
    return c->call->fn->op == LK_CALL_LOCK && !c->call->fn->xact && c->bound == LK_BOUND_KEY;
}

/* The watch of the message that is being answered; NULL: none. */
static const struct lk_watch *
watch_under_way(const struct lk_server *s)
{
    const struct lk_reply *head = s->state == LK_SERVER_LINKED ? lk_replies_head(&s->replies) : NULL;
    return head ? head->watch : NULL;
}

bool
lk_show_waits(const struct lk_server *s)
{
    const struct lk_watch *w = watch_under_way(s);
    size_t count = 0;
    const struct lk_watched_call *calls = w ? calls_under_way(w, &count) : NULL;
    for (size_t i = 0; i < count; i++)
        if (may_wait(&calls[i]))
            return true;
    return false;
}

/* Calls that wait, or have not been answered yet. */
static void
add_waits(struct lk_table *t, const struct lk_server *s, struct statements *shown)
{
    const struct lk_watch *w = watch_under_way(s);
    size_t count = 0;
    const struct lk_watched_call *calls = w ? calls_under_way(w, &count) : NULL;
    for (size_t i = 0; i < count; i++) {
        if (!may_wait(&calls[i]))
            continue;
        add_lock_head(t, shown->settings, s, calls[i].key, calls[i].call->fn->mode);
        lk_table_add(t, NULL);
        lk_table_add(t, "f");
        lk_table_add(t, NULL);
        lk_show_time_ms(t, s->request_wall_us);
        add_statement(t, shown, w->text);
    }
}

void
lk_show_advisory_locks(struct lk_table *t, const struct lk_show *from)
{
    struct statements shown = statements_begin(from->core);
    LK_LIST_EACH (&from->core->servers, struct lk_server, node, s) {
        if (!s->seat.pool)
            continue;
        for (uint32_t i = 0; i < s->ledger.count; i++)
            add_held(t, s, &s->ledger.held[i], &shown);
        add_waits(t, s, &shown);
    }
    lk_show_foreign_locks(t, from);
    free(shown.normalized);
}

static void
add_pin(
    struct lk_table *t, const struct lk_show *from, const struct lk_server *s, unsigned pins, struct statements *shown)
{
    const struct lk_held *first = lk_ledger_oldest(&s->ledger);
    struct lk_now since = s->pinned_since.mono_us == 0 && first ? first->since : s->pinned_since;
    lk_table_add(t, s->seat.pool->route.database);
    lk_table_add(t, s->seat.pool->route.user);
    lk_table_add_uint(t, s->id);
    lk_table_add_uint(t, s->pid);
    add_id(t, s->who);
    lk_table_add(t, s->who ? s->who->addr : NULL);
    lk_table_add(t, s->who ? s->who->application_name : NULL);
    lk_show_pin_names(t, pins);
    lk_table_add_uint(t, s->ledger.count);
    lk_show_time_ms(t, since.wall_us);
    if (since.mono_us != 0)
        lk_table_add_int(t, (from->now.mono_us - since.mono_us) / 1000);
    else
        lk_table_add(t, NULL);
    add_statement(t, shown, first ? first->text : NULL);
}

void
lk_show_pins(struct lk_table *t, const struct lk_show *from)
{
    struct statements shown = statements_begin(from->core);
    LK_LIST_EACH (&from->core->servers, struct lk_server, node, s) {
        unsigned pins = s->state == LK_SERVER_LINKED && s->seat.pool ? lk_server_pins(from->core, s) : 0;
        if (pins & (LK_PIN_LOCKS | LK_PIN_UNSURE))
            add_pin(t, from, s, pins, &shown);
    }
    free(shown.normalized);
}

static void
add_leak(void *context, const struct lk_record *r)
{
    struct lk_table *t = context;
    char ts[28];
    lk_clock_rfc3339(r->at.wall_us, ts);
    lk_table_add(t, ts);
    lk_table_add(t, lk_event_name(r->event));
    lk_table_add(t, r->database);
    lk_table_add(t, r->user);
    if (r->client.present)
        lk_table_add_uint(t, r->client.id);
    else
        lk_table_add(t, NULL);
    lk_table_add(t, r->client.present ? r->client.addr : NULL);
    lk_table_add(t, r->client.present ? r->client.application_name : NULL);
    add_count(t, r->backend.present ? r->backend.pid : 0);
    if (r->lock.present && r->lock.key_known) {
        add_key(t, r->lock.key);
    } else {
        lk_table_add(t, NULL);
        lk_table_add(t, NULL);
    }
    lk_table_add(t, r->lock.present && r->lock.mode_known ? lk_mode_name(r->lock.mode) : NULL);
    add_count(t, r->event == LK_EVENT_LEAK_SUMMARY ? r->omitted : r->lock.present ? r->lock.count : 0);
    if (r->held_us >= 0)
        lk_table_add_int(t, r->held_us / 1000);
    else
        lk_table_add(t, NULL);
    lk_table_add(t, r->reason == LK_REASON_NONE ? NULL : lk_reason_name(r->reason));
    lk_table_add(t, lk_action_name(r->action));
    lk_table_add(t, r->query);
}

void
lk_show_leaks(struct lk_table *t, const struct lk_show *from)
{
    if (from->journal)
        lk_journal_recent(from->journal, add_leak, t);
}

struct statement_rows {
    struct lk_table *table;
    struct statements shown;
};

static void
add_lock_statement(void *context, const struct lk_lock_statement *s)
{
    struct statement_rows *rows = context;
    struct lk_table *t = rows->table;
    char fingerprint[17];
    (void)snprintf(fingerprint, sizeof(fingerprint), "%016" PRIx64, s->fingerprint);
    lk_table_add(t, s->database);
    lk_table_add(t, fingerprint);
    lk_table_add(t, s->why == LK_WHY_BLAMED ? "suspect" : "touch");
    lk_table_add(t, lk_statement_why_name(s->why));
    lk_table_add_uint(t, s->executions);
    lk_table_add_uint(t, s->locks);
    lk_table_add_uint(t, s->failed_tries);
    lk_table_add_uint(t, s->leaks);
    lk_table_add_uint(t, s->refused);
    lk_table_add_uint(t, s->holds);
    lk_table_add_int(t, s->held_us);
    lk_table_add_int(t, s->longest_us);
    add_statement(t, &rows->shown, s->text);
}

void
lk_show_lock_statements(struct lk_table *t, const struct lk_show *from)
{
    struct statement_rows rows = {t, statements_begin(from->core)};
    lk_statements_each(from->core->lock_statements, add_lock_statement, &rows);
    free(rows.shown.normalized);
}

void
lk_show_lock_statements_finish(struct lk_table *answer, const struct lk_table *merged)
{
    enum { REFUSED = 8, HOLDS, HELD, LONGEST, STATEMENT };
    for (size_t row = 0; row < merged->row_count; row++) {
        uint64_t holds = lk_table_uint(merged, row, HOLDS);
        for (size_t c = 0; c <= REFUSED; c++)
            lk_table_add(answer, lk_table_cell(merged, row, c));
        if (holds > 0) {
            lk_table_add_uint(answer, lk_table_uint(merged, row, HELD) / holds / 1000);
            lk_table_add_uint(answer, lk_table_uint(merged, row, LONGEST) / 1000);
        } else {
            lk_table_add(answer, NULL);
            lk_table_add(answer, NULL);
        }
        lk_table_add(answer, lk_table_cell(merged, row, STATEMENT));
    }
}
