#include "script.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

/* --- messages --- */

/* Our own statements by name; PROBE with its Parse before it when the server hasn't got it. */
static const struct {
    const char *name, *messages;
} known[] = {
    {"Probe", "Bind \"\" \"lk_probe\" [] ; Execute \"\" 0 ; Sync"},
    {"ParseProbe", "Parse \"lk_probe\" * [] ; Bind \"\" \"lk_probe\" [] ; Execute \"\" 0 ; Sync"},
    {"Reset", "FunctionCall 2892 []"},
    {"Unlocked", "FunctionCallResponse \"\" ; ReadyForQuery I"},
};

static bool
expect_message(struct script *s, char *message, void *context)
{
    struct peer *p = context;
    for (size_t i = 0; i < LK_COUNT(known); i++) {
        if (strcmp(message, known[i].name) != 0)
            continue;
        char *copy = lk_mem_dup(known[i].messages);
        bool good = script_messages(s, copy, expect_message, p);
        free(copy);
        return good;
    }
    if (p->read == p->count)
        return script_fail(s, "expected: %s gets %.1000s\n  what came: nothing", p->name, message);
    struct words expected = {0}, is = {0};
    const char *came = p->messages[p->read];
    bool readable = words_read(&expected, message) && words_read(&is, came);
    bool same = readable && words_match(&expected, &is);
    words_clear(&expected);
    words_clear(&is);
    if (!same)
        return script_fail(s, "expected: %s gets %.1000s\n  what came: %.1000s", p->name, message, came);
    p->read++;
    return true;
}

static bool
expect_nothing(struct script *s, char *rest)
{
    while (*rest) {
        const struct peer *p = script_peer(s, script_word(&rest));
        if (!p)
            return false;
        if (p->read < p->count)
            return script_fail(s, "expected: nothing for %s\n  what came: %.1000s", p->name, p->messages[p->read]);
    }
    return true;
}

/* --- records --- */

static void
record_field(const struct script *s, const struct lk_record *r, const char *field, char *out, size_t n)
{
    char key[LK_KEY_TEXT] = "null";
    if (r->lock.present && r->lock.key_known)
        lk_key_format(r->lock.key, key);
    if (strcmp(field, "key") == 0)
        (void)snprintf(out, n, "%s", key);
    else if (strcmp(field, "mode") == 0)
        (void)snprintf(out, n, "%s", r->lock.mode_known ? lk_mode_name(r->lock.mode) : "null");
    else if (strcmp(field, "count") == 0)
        (void)snprintf(out, n, "%u", r->lock.count);
    else if (strcmp(field, "reason") == 0)
        (void)snprintf(out, n, "%s", lk_reason_name(r->reason));
    else if (strcmp(field, "action") == 0)
        (void)snprintf(out, n, "%s", lk_action_name(r->action));
    else if (strcmp(field, "source") == 0)
        (void)snprintf(out, n, "%s", lk_source_name(r->source));
    else if (strcmp(field, "app") == 0)
        (void)snprintf(out, n, "%s", r->client.application_name ? r->client.application_name : "null");
    else if (strcmp(field, "suspects") == 0)
        (void)snprintf(out, n, "%u", r->suspect_count);
    else if (strcmp(field, "held_s") == 0)
        (void)snprintf(out, n, "%d", (int)(r->held_us / LK_SECOND_US));
    else if (strcmp(field, "waited_s") == 0)
        (void)snprintf(out, n, "%d", (int)(r->waited_us / LK_SECOND_US));
    else if (strcmp(field, "name") == 0)
        (void)snprintf(out, n, "%s", r->lock.name ? r->lock.name : "null");
    else if (strcmp(field, "holder") == 0)
        (void)snprintf(out, n, "%s:%u", r->holder.application_name ? r->holder.application_name : "", r->holder.pid);
    else if (strcmp(field, "lint") == 0)
        (void)snprintf(out, n, "%s", r->lint ? r->lint : "null");
    else if (strcmp(field, "waits") == 0)
        (void)snprintf(out, n, "%u", r->wait_count);
    else if (strcmp(field, "query") == 0)
        (void)snprintf(out, n, "%s", r->query ? r->query : "null");
    else
        (void)snprintf(out, n, "(no such field)");
}

static void
record_tell(const struct script *s, const struct lk_record *r, char *out, size_t n)
{
    static const char *const fields[] = {"key", "mode", "count", "reason", "action", "source", "query"};
    size_t at = (size_t)snprintf(out, n, "%s", lk_event_name(r->event));
    for (size_t i = 0; i < LK_COUNT(fields) && at < n; i++) {
        char value[256];
        record_field(s, r, fields[i], value, sizeof(value));
        at += (size_t)snprintf(out + at, n - at, " %s=%s", fields[i], value);
    }
}

/* The next record: its event, then field=value; a value with spaces is a quoted word, and stands last. */
static bool
expect_record(struct script *s, char *rest)
{
    struct world *w = s->world;
    char is[2048] = "nothing", wanted[1024];
    (void)snprintf(wanted, sizeof(wanted), "%s", rest);
    const struct lk_record *r = w->record_read < w->record_count ? w->records[w->record_read++] : NULL;
    bool same = r != NULL && strcmp(script_word(&rest), lk_event_name(r->event)) == 0;
    if (r)
        record_tell(s, r, is, sizeof(is));
    while (same && *rest) {
        char value[1200];
        bool quoted = strncmp(rest, "query=\"", 7) == 0;
        char *field = quoted ? rest : script_word(&rest), *equals = strchr(field, '=');
        if (!equals)
            return script_fail(s, "expected field=value, not %s", field);
        *equals++ = '\0';
        if (quoted) {
            equals++;
            equals[strlen(equals) - 1] = '\0';
            rest = equals + strlen(equals);
        }
        record_field(s, r, field, value, sizeof(value));
        same = strcmp(value, equals) == 0;
    }
    return same || script_fail(s, "expected: record %s\n  what came: %s", wanted, is);
}

static bool
expect_no_record(struct script *s)
{
    const struct world *w = s->world;
    char is[2048];
    if (w->record_read == w->record_count)
        return true;
    record_tell(s, w->records[w->record_read], is, sizeof(is));
    return script_fail(s, "expected: no record\n  what came: %s", is);
}

/* --- states --- */

static const char *
client_state(const struct peer *p)
{
    static const char *const names[LK_CLIENT_STATES] = {
        "startup", "lookup", "auth", "welcome", "ready", "waiting", "linked", "console", "cancel", "gone"};
    return names[((const struct lk_client *)(const void *)p->end)->state];
}

static const char *
server_state(const struct peer *p)
{
    static const char *const names[LK_SERVER_STATES] = {
        "connect", "login", "setup", "idle", "linked", "errand", "cleaning", "gone"};
    return names[((const struct lk_server *)(const void *)p->end)->state];
}

static bool
expect_state(struct script *s, const struct peer *p, const char *wanted)
{
    const char *is = "closed";
    if (p->end)
        is = p->kind == LK_END_CLIENT ? client_state(p) : p->kind == LK_END_SERVER ? server_state(p) : "open";
    return strcmp(wanted, is) == 0 || script_fail(s, "expected: %s %s\n  what came: %s", p->name, wanted, is);
}

/* "pins none", "pins locks unsure": exactly these. */
static bool
expect_pins(struct script *s, const struct peer *p, const char *wanted)
{
    static const char *const names[] = {"transaction", "locks", "unsure", "pipeline", "copy", "cancelling", "session_mode"};
    char is[128] = "";
    if (!p->end)
        return script_fail(s, "%s is closed", p->name);
    unsigned pins = lk_server_pins(s->world->core, (const struct lk_server *)(const void *)p->end);
    for (size_t i = 0; i < LK_COUNT(names); i++) {
        if (!(pins & 1u << i))
            continue;
        size_t at = strlen(is);
        (void)snprintf(is + at, sizeof(is) - at, "%s%s", at ? " " : "", names[i]);
    }
    if (!is[0])
        (void)snprintf(is, sizeof(is), "none");
    return strcmp(wanted, is) == 0 || script_fail(s, "expected: %s pins %s\n  what came: %s", p->name, wanted, is);
}

bool
script_expect(struct script *s, char *rest)
{
    char *who = script_word(&rest);
    if (strcmp(who, "nothing") == 0)
        return expect_nothing(s, rest);
    if (strcmp(who, "record") == 0)
        return expect_record(s, rest);
    if (strcmp(who, "no") == 0)
        return strcmp(rest, "record") == 0 ? expect_no_record(s) : script_fail(s, "expect no record");
    struct peer *p = script_peer(s, who);
    if (!p)
        return false;
    char *what = script_word(&rest);
    if (strcmp(what, p->kind == LK_END_CLIENT ? "<" : ">") == 0)
        return script_messages(s, rest, expect_message, p);
    return strcmp(what, "pins") == 0 ? expect_pins(s, p, rest) : expect_state(s, p, what);
}

bool
script_end(struct script *s)
{
    for (size_t i = 0; i < s->world->peer_count; i++) {
        const struct peer *p = &s->world->peers[i];
        if (p->read < p->count)
            return script_fail(s, "at the end: %s got what nobody expected: %.1000s", p->name, p->messages[p->read]);
        if (p->end && p->wire.len > 0)
            return script_fail(s, "at the end: %s got half a message", p->name);
    }
    return expect_no_record(s);
}
