#include <ctype.h>
#include <inttypes.h>

#include "journal/fields.h"
#include "journal/journal.h"
#include "journal/tags.h"
#include "journal/utf8.h"

static bool
is_plain(struct lk_span s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] >= 0x80 || (!isalnum(s.p[i]) && !strchr("_-.@:/", s.p[i])))
            return false;
    return s.n > 0;
}

/* As it is where nothing in it could be taken for something else in the line, else quoted. */
static void
add_word(struct lk_buf *out, struct lk_span s)
{
    if (is_plain(s) && s.n <= LK_FIELD_NAME_MAX) {
        lk_buf_add_span(out, s);
        return;
    }
    lk_buf_add_u8(out, '"');
    lk_utf8_escape(s, LK_FIELD_NAME_MAX, true, out);
    lk_buf_add_u8(out, '"');
}

/* " (name)"; nothing for NULL and "". */
static void
add_name(struct lk_buf *out, const char *name)
{
    if (!name || !name[0])
        return;
    lk_buf_add_format(out, " (");
    add_word(out, lk_span_str(name));
    lk_buf_add_u8(out, ')');
}

static void
add_address(struct lk_buf *out, const char *addr, int port)
{
    bool v6 = addr && strchr(addr, ':');
    lk_buf_add_format(out, v6 ? " [" : " ");
    add_word(out, lk_span_str(addr ? addr : "unknown"));
    lk_buf_add_format(out, "%s:%d", v6 ? "]" : "", port);
}

static void
add_client(struct lk_buf *out, uint64_t id, const char *application_name, const char *addr, int port)
{
    lk_buf_add_format(out, "client %" PRIu64, id);
    add_name(out, application_name);
    add_address(out, addr, port);
}

static void
add_party(struct lk_buf *out, const struct lk_party *p)
{
    if (p->client_id > 0)
        add_client(out, p->client_id, p->application_name, p->addr, p->port);
    if (p->pid > 0 || p->client_id == 0)
        lk_buf_add_format(out, "%spid %" PRIu32, p->client_id > 0 ? " " : "", p->pid);
}

static const char *
mode_of(bool known, enum lk_lock_mode mode)
{
    return !known ? "" : mode == LK_MODE_SHARED ? " shared" : " exclusive";
}

static void
add_lock(struct lk_buf *out, const struct lk_record *r)
{
    char key[LK_KEY_TEXT] = "unknown";
    if (r->lock.key_known)
        lk_key_format(r->lock.key, key);
    lk_buf_add_format(out, ", lock %s%s", key, mode_of(r->lock.mode_known, r->lock.mode));
    if (r->lock.count > 0)
        lk_buf_add_format(out, " x%" PRIu32, r->lock.count);
    add_name(out, r->lock.name);
}

static void
add_wait(struct lk_buf *out, const struct lk_deadlock_wait *w)
{
    char key[LK_KEY_TEXT];
    lk_buf_add_format(out, ", ");
    add_party(out, &w->waiter);
    lk_buf_add_format(out, " waits for ");
    if (w->key_known) {
        lk_key_format(w->key, key);
        lk_buf_add_format(out, "lock %s%s", key, mode_of(w->mode_known, w->mode));
        add_name(out, w->lock_name);
    } else {
        add_word(out, lk_span_str(w->lock_text ? w->lock_text : "unknown"));
    }
    if (w->blocked_by.present) {
        lk_buf_add_format(out, " of ");
        add_party(out, &w->blocked_by);
    }
}

static void
add_seconds(struct lk_buf *out, const char *what, int64_t us)
{
    if (us >= 0)
        lk_buf_add_format(out, ", %s %" PRId64 ".%03d s", what, us / LK_SECOND_US, (int)(us % LK_SECOND_US / 1000));
}

static void
add_waiting(struct lk_buf *out, const struct lk_record *r, unsigned fields)
{
    if (fields & LK_FIELD_POOL)
        lk_buf_add_format(out, ", %" PRIu32 " of %" PRIu32 " servers pinned, %" PRIu32 " waiting", r->pinned,
            r->pool_size, r->waiting);
    if (fields & LK_FIELD_WAITED)
        add_seconds(out, "waited", r->waited_us);
    if ((fields & LK_FIELD_HOLDER) && r->holder.present) {
        lk_buf_add_format(out, ", held by ");
        add_party(out, &r->holder);
    }
    if (fields & LK_FIELD_WAITS)
        for (unsigned i = 0; i < r->wait_count; i++)
            add_wait(out, &r->waits[i]);
}

static void
add_tags(struct lk_buf *out, const struct lk_record *r)
{
    struct lk_tag tags[LK_TAGS_MAX];
    size_t count = r->comment_source ? lk_tags_read(lk_span_str(r->comment_source), tags) : 0;
    for (size_t i = 0; i < count; i++) {
        lk_buf_add_format(out, i == 0 ? ", tags " : " ");
        add_word(out, lk_span_str(tags[i].key));
        lk_buf_add_u8(out, '=');
        add_word(out, lk_span_make(tags[i].value, tags[i].value_n));
    }
}

/* The statement stands last: it is long, and not ours. */
static void
add_statement(struct lk_buf *out, const struct lk_record *r)
{
    bool several = r->event == LK_EVENT_HIDDEN && r->suspect_count > 1;
    uint64_t one = r->fingerprint || r->suspect_count == 0 ? r->fingerprint : r->suspects[0];
    if (several)
        lk_buf_add_format(out, ", suspects");
    for (unsigned i = 0; several && i < r->suspect_count && i < LK_RECORD_SUSPECTS; i++)
        lk_buf_add_format(out, " %016" PRIx64, r->suspects[i]);
    if (!several && one)
        lk_buf_add_format(out, ", fingerprint %016" PRIx64, one);
    if (r->query) {
        lk_buf_add_format(out, ", statement: ");
        lk_utf8_escape(lk_span_str(r->query), LK_RECORD_QUERY_MAX, false, out);
    }
}

static void
add_how(struct lk_buf *out, const struct lk_record *r, unsigned fields)
{
    if (fields & LK_FIELD_OMITTED)
        lk_buf_add_format(out, ", %" PRIu32 " more locks", r->omitted);
    if ((fields & LK_FIELD_REASON) && r->reason != LK_REASON_NONE)
        lk_buf_add_format(out, ", reason %s", lk_reason_name(r->reason));
    if (fields & LK_FIELD_ACTION)
        lk_buf_add_format(out, ", action %s", lk_action_name(r->action));
    if ((fields & LK_FIELD_SOURCE) && r->source != LK_SOURCE_NONE)
        lk_buf_add_format(out, ", source %s", lk_source_name(r->source));
    if ((fields & LK_FIELD_LINT) && r->lint)
        lk_buf_add_format(out, ", %s", r->lint);
}

static void
add_head(struct lk_buf *out, int64_t wall_us, const char *level, const char *event)
{
    char time[28];
    lk_clock_logform(wall_us, time);
    lk_buf_add_format(out, "%s ", time);
    for (const char *p = level; *p; p++)
        lk_buf_add_u8(out, (uint8_t)toupper((unsigned char)*p));
    lk_buf_add_format(out, " %s", event);
}

void
lk_journal_text(const struct lk_record *r, struct lk_buf *out)
{
    unsigned fields = lk_fields_of(r->event);
    add_head(out, r->at.wall_us, lk_event_level(r->event), lk_event_name(r->event));
    lk_buf_add_u8(out, ' ');
    add_word(out, lk_span_str(r->database ? r->database : "unknown"));
    lk_buf_add_u8(out, '/');
    add_word(out, lk_span_str(r->user ? r->user : "unknown"));
    lk_buf_add_format(out, " %s", r->pool_mode ? r->pool_mode : "unknown");
    if (r->client.present) {
        lk_buf_add_format(out, ", ");
        add_client(out, r->client.id, r->client.application_name, r->client.addr, r->client.port);
    }
    if (r->backend.present) {
        lk_buf_add_format(out, ", backend %" PRIu64 " pid %" PRIu32, r->backend.id, r->backend.pid);
        add_address(out, r->backend.addr, r->backend.port);
    }
    if ((fields & LK_FIELD_LOCK) && r->lock.present)
        add_lock(out, r);
    if (fields & LK_FIELD_HELD)
        add_seconds(out, "held", r->held_us);
    if ((fields & LK_FIELD_ACQUIRED) && r->acquired_wall_us > 0) {
        char since[28];
        lk_clock_logform(r->acquired_wall_us, since);
        lk_buf_add_format(out, " since %s", since);
    }
    add_waiting(out, r, fields);
    add_how(out, r, fields);
    if (fields & LK_FIELD_TAGS)
        add_tags(out, r);
    if (fields & LK_FIELD_QUERY)
        add_statement(out, r);
}

void
lk_journal_text_dropped(uint64_t count, int64_t wall_us, struct lk_buf *out)
{
    add_head(out, wall_us, "warning", "dropped");
    lk_buf_add_format(out, " %" PRIu64 " records could not be written", count);
}
