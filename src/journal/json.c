#include "journal/journal.h"

#include <inttypes.h>
#include <stdio.h>

#include <jansson.h>

#include "base/mem.h"
#include "journal/fields.h"
#include "journal/tags.h"
#include "journal/utf8.h"

/* A value that there is no memory for is null. */
static void
put(json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) != 0)
        (void)json_object_set_new(object, name, json_null());
}

static json_t *
text_of(struct lk_span s, size_t max)
{
    struct lk_buf valid = {0};
    lk_utf8_repair(s, max, &valid);
    json_t *value = json_stringn(valid.data ? (const char *)valid.data : "", valid.len);
    lk_buf_clear(&valid);
    return value;
}

static void
put_text(json_t *object, const char *name, const char *s)
{
    put(object, name, s ? text_of(lk_span_str(s), LK_FIELD_NAME_MAX) : json_null());
}

/* A name of ours; the empty one is null. */
static void
put_name(json_t *object, const char *name, const char *s)
{
    put(object, name, s[0] ? json_string(s) : json_null());
}

static void
put_integer(json_t *object, const char *name, uint64_t v)
{
    put(object, name, json_integer((json_int_t)v));
}

static void
put_time(json_t *object, const char *name, int64_t wall_us)
{
    char text[28];
    lk_clock_rfc3339(wall_us, text);
    put(object, name, json_string(text));
}

static json_t *
hash_of(uint64_t fingerprint)
{
    char text[17];
    (void)snprintf(text, sizeof(text), "%016" PRIx64, fingerprint);
    return json_string(text);
}

static json_t *
client_of(uint64_t id, const char *addr, int port, const char *application_name)
{
    json_t *o = json_object();
    put_integer(o, "id", id);
    put_text(o, "addr", addr);
    put_integer(o, "port", (uint64_t)port);
    put_text(o, "application_name", application_name);
    return o;
}

static json_t *
backend_of(const struct lk_record *r)
{
    json_t *o = json_object();
    put_integer(o, "id", r->backend.id);
    put_integer(o, "pid", r->backend.pid);
    put_text(o, "addr", r->backend.addr);
    put_integer(o, "port", (uint64_t)r->backend.port);
    return o;
}

static void
put_key(json_t *object, bool known, struct lk_key key)
{
    char text[LK_KEY_TEXT] = "";
    if (known)
        lk_key_format(key, text);
    put_name(object, "space", known ? lk_space_name(lk_key_space(key)) : "");
    put_name(object, "key", text);
}

static void
put_mode(json_t *object, bool known, enum lk_lock_mode mode)
{
    put_name(object, "mode", !known ? "" : mode == LK_MODE_SHARED ? "shared" : "exclusive");
}

static json_t *
lock_of(const struct lk_record *r)
{
    json_t *o = json_object();
    put_key(o, r->lock.key_known, r->lock.key);
    put_mode(o, r->lock.mode_known, r->lock.mode);
    put(o, "count", r->lock.count > 0 ? json_integer(r->lock.count) : json_null());
    put_text(o, "name", r->lock.name);
    return o;
}

/* A client of ours with the pid of its backend; else the pid alone. */
static json_t *
party_of(const struct lk_party *p)
{
    if (!p->present)
        return json_null();
    json_t *o = json_object();
    if (p->client_id > 0)
        put(o, "client", client_of(p->client_id, p->addr, p->port, p->application_name));
    put(o, "pid", p->pid > 0 ? json_integer(p->pid) : json_null());
    return o;
}

/* The waiter's own fields, what it waits for, and for whom. */
static json_t *
wait_of(const struct lk_deadlock_wait *w)
{
    json_t *o = w->waiter.present ? party_of(&w->waiter) : json_object();
    if (w->key_known) {
        json_t *lock = json_object();
        put_key(lock, true, w->key);
        put_mode(lock, w->mode_known, w->mode);
        put_text(lock, "name", w->lock_name);
        put(o, "lock", lock);
    } else {
        put_text(o, "lock", w->lock_text);
    }
    put(o, "blocked_by", party_of(&w->blocked_by));
    return o;
}

static json_t *
waits_of(const struct lk_record *r)
{
    json_t *waits = json_array();
    for (unsigned i = 0; i < r->wait_count; i++)
        (void)json_array_append_new(waits, wait_of(&r->waits[i]));
    return waits;
}

static json_t *
tags_of(const struct lk_record *r)
{
    struct lk_tag tags[LK_TAGS_MAX];
    json_t *o = json_object();
    size_t count = r->comment_source ? lk_tags_read(lk_span_str(r->comment_source), tags) : 0;
    for (size_t i = 0; i < count; i++)
        put(o, tags[i].key, text_of(lk_span_make(tags[i].value, tags[i].value_n), LK_TAG_VALUE_MAX));
    return o;
}

static void
put_statement(json_t *object, const struct lk_record *r)
{
    put(object, "query", r->query ? text_of(lk_span_str(r->query), LK_RECORD_QUERY_MAX) : json_null());
    if (r->event != LK_EVENT_HIDDEN || r->suspect_count < 2) {
        uint64_t one = r->fingerprint || r->suspect_count == 0 ? r->fingerprint : r->suspects[0];
        put(object, "fingerprint", one ? hash_of(one) : json_null());
        return;
    }
    json_t *suspects = json_array();
    for (unsigned i = 0; i < r->suspect_count && i < LK_RECORD_SUSPECTS; i++)
        (void)json_array_append_new(suspects, hash_of(r->suspects[i]));
    put(object, "suspects", suspects);
}

/* A duration of which nothing is known is null. */
static void
put_ms(json_t *object, const char *name, int64_t us)
{
    put(object, name, us >= 0 ? json_integer(us / 1000) : json_null());
}

static void
put_waiting(json_t *object, const struct lk_record *r, unsigned fields)
{
    if (fields & LK_FIELD_POOL) {
        put_integer(object, "pinned", r->pinned);
        put_integer(object, "waiting", r->waiting);
        put_integer(object, "pool_size", r->pool_size);
    }
    if (fields & LK_FIELD_WAITED)
        put_ms(object, "waited_ms", r->waited_us);
    if (fields & LK_FIELD_HOLDER)
        put(object, "holder", party_of(&r->holder));
    if (fields & LK_FIELD_WAITS)
        put(object, "waits", waits_of(r));
}

static void
put_lock(json_t *object, const struct lk_record *r, unsigned fields)
{
    if ((fields & LK_FIELD_LOCK) && r->lock.present)
        put(object, "lock", lock_of(r));
    if (fields & LK_FIELD_HELD)
        put_ms(object, "held_ms", r->held_us);
    if ((fields & LK_FIELD_ACQUIRED) && r->acquired_wall_us > 0)
        put_time(object, "acquired_at", r->acquired_wall_us);
    else if (fields & LK_FIELD_ACQUIRED)
        put(object, "acquired_at", json_null());
}

static void
put_fields(json_t *object, const struct lk_record *r)
{
    unsigned fields = lk_fields_of(r->event);
    if (r->client.present)
        put(object, "client", client_of(r->client.id, r->client.addr, r->client.port, r->client.application_name));
    if (r->backend.present)
        put(object, "backend", backend_of(r));
    put_lock(object, r, fields);
    put_waiting(object, r, fields);
    if (fields & LK_FIELD_QUERY)
        put_statement(object, r);
    if (fields & LK_FIELD_TAGS)
        put(object, "tags", tags_of(r));
    if (fields & LK_FIELD_LINT)
        put_name(object, "lint", r->lint ? r->lint : "");
    if (fields & LK_FIELD_SOURCE)
        put_name(object, "source", lk_source_name(r->source));
    if (fields & LK_FIELD_OMITTED)
        put_integer(object, "omitted", r->omitted);
    if (fields & LK_FIELD_REASON)
        put_name(object, "reason", lk_reason_name(r->reason));
    if (fields & LK_FIELD_ACTION)
        put_name(object, "action", lk_action_name(r->action));
}

static int
append(const char *p, size_t n, void *out)
{
    return lk_buf_add(out, p, n) ? 0 : -1;
}

void
lk_journal_json(const struct lk_record *r, struct lk_buf *out)
{
    json_t *root = json_object();
    put_time(root, "ts", r->at.wall_us);
    put_name(root, "event", lk_event_name(r->event));
    put_name(root, "level", lk_event_level(r->event));
    put_text(root, "database", r->database);
    put_text(root, "user", r->user);
    put_text(root, "pool_mode", r->pool_mode);
    put_fields(root, r);
    if (!root || json_dump_callback(root, append, out, JSON_COMPACT) != 0)
        out->failed = true;
    json_decref(root);
}

void
lk_journal_json_dropped(uint64_t count, int64_t wall_us, struct lk_buf *out)
{
    char ts[28];
    lk_clock_rfc3339(wall_us, ts);
    lk_buf_add_format(
        out, "{\"ts\":\"%s\",\"event\":\"dropped\",\"level\":\"warning\",\"dropped\":%" PRIu64 "}", ts, count);
}
