#include "world.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "wire/build.h"
#include "wire/cursor.h"
#include "wire/frame.h"
#include "wire/message.h"

/* --- what they say --- */

static void
greeting(struct lk_buf *out, const struct peer *p)
{
    static const char *const params[][2] = {
        {"server_version", "15.9"},
        {"server_encoding", "UTF8"},
        {"client_encoding", "UTF8"},
        {"application_name", ""},
        {"DateStyle", "ISO, MDY"},
        {"IntervalStyle", "postgres"},
        {"TimeZone", "Etc/UTC"},
        {"standard_conforming_strings", "on"},
        {"default_transaction_read_only", "off"},
    };
    lk_build_authentication(out, 0, lk_span_make(NULL, 0));
    for (size_t i = 0; i < LK_COUNT(params); i++)
        lk_build_parameter_status(out, params[i][0], params[i][1]);
    lk_build_backend_key(out, p->pid, lk_span_str("abcd"));
    lk_build_ready(out, 'I');
}

void
server_unlocked(struct lk_buf *out)
{
    size_t at = lk_build_begin(out, 'V');
    lk_buf_add_u32(out, 0);
    lk_build_end(out, at);
    lk_build_ready(out, 'I');
}

static void
lock_row(struct lk_buf *out, const char *spec)
{
    char numbers[3][16];
    int first = 0, second = 0;
    bool pair = sscanf(spec, "%d,%d", &first, &second) == 2;
    struct lk_key key = pair ? lk_key_pair(first, second) : lk_key_bigint(strtoll(spec, NULL, 10));
    (void)snprintf(numbers[0], sizeof(numbers[0]), "%u", key.classid);
    (void)snprintf(numbers[1], sizeof(numbers[1]), "%u", key.objid);
    (void)snprintf(numbers[2], sizeof(numbers[2]), "%u", key.subid);
    const char *mode = strstr(spec, "/shared") ? "ShareLock" : "ExclusiveLock";
    lk_build_data_row(out, (const char *const[]){numbers[0], numbers[1], numbers[2], mode}, 4);
}

void
server_probed(struct lk_buf *out, const char *keys)
{
    char tag[32], *copy = lk_mem_dup(keys), *rest = copy, *key;
    unsigned rows = 0;
    lk_build_empty(out, '2');
    while ((key = strsep(&rest, " "))) {
        if (!key[0] || strcmp(key, "none") == 0)
            continue;
        lock_row(out, key);
        rows++;
    }
    free(copy);
    (void)snprintf(tag, sizeof(tag), "SELECT %u", rows);
    lk_build_command_complete(out, tag);
    lk_build_ready(out, 'I');
}

/* --- what reaches a peer --- */

static void
note(struct world *w, struct peer *p, const struct lk_buf *words)
{
    p->messages = lk_mem_grow(p->messages, (p->count + 1) * sizeof(*p->messages));
    p->messages[p->count++] = lk_mem_dup_span(lk_buf_span(words));
    if (w->tracing)
        (void)printf("    %s gets %s\n", p->name, p->messages[p->count - 1]);
}

static void
note_cancel(struct world *w, struct peer *p, struct lk_span body)
{
    struct lk_msg_startup m;
    struct lk_buf words = {0};
    if (lk_msg_startup(body, &m) && m.code == LK_CODE_CANCEL && lk_span_is(m.cancel_secret, "abcd"))
        lk_buf_add_format(&words, "CancelRequest S%u", m.cancel_pid - 1000);
    else
        lk_buf_add_format(&words, "a packet that is no CancelRequest");
    note(w, p, &words);
    lk_buf_clear(&words);
}

/* The start-up of a new client is passed over, but for its cancel key, up to ReadyForQuery or an error. */
static bool
is_welcome(struct peer *p, const struct lk_frame *f)
{
    if (p->kind != LK_END_CLIENT || p->greeted)
        return false;
    if (f->type == 'K') {
        struct lk_cursor c = lk_cursor_make(f->body);
        p->pid = lk_cursor_u32(&c);
        p->secret = lk_cursor_u32(&c);
    }
    p->greeted = f->type == 'Z' || f->type == 'E';
    return f->type != 'E';
}

static bool
is_reset(const struct lk_frame *f)
{
    struct lk_msg_fcall m;
    return f->type == 'F' && lk_msg_fcall(f->body, &m) && m.oid == LK_OID_UNLOCK_ALL;
}

static bool
answers_probe(struct world *w, struct peer *p, const struct lk_frame *f)
{
    struct lk_msg_parse parse;
    struct lk_msg_bind bind;
    if (f->type == 'P' && lk_msg_parse(f->body, &parse) && lk_span_is(parse.name, "lk_probe")) {
        lk_build_empty(&p->answer, '1');
        return true;
    }
    if (f->type == 'B' && lk_msg_bind(f->body, &bind) && lk_span_is(bind.name, "lk_probe")) {
        p->probing = true;
        return true;
    }
    if (!p->probing)
        return false;
    if (f->type == 'S') {
        server_probed(&p->answer, w->probe_answer);
        p->probing = false;
    }
    return true;
}

static bool
answers(struct world *w, struct peer *p, const struct lk_frame *f)
{
    if (p->kind != LK_END_SERVER || !p->end)
        return false;
    enum lk_server_state state = ((const struct lk_server *)(const void *)p->end)->state;
    bool resets = state == LK_SERVER_SETUP ? w->auto_setup : w->auto_reset && state != LK_SERVER_LINKED;
    if (resets && is_reset(f)) {
        server_unlocked(&p->answer);
        return true;
    }
    return w->auto_probe && answers_probe(w, p, f);
}

static void
on_frame(struct world *w, struct peer *p, const struct lk_frame *f)
{
    if (p->kind == LK_END_CANCEL) {
        note_cancel(w, p, f->body);
    } else if (p->kind == LK_END_SERVER && !p->greeted) {
        p->greeted = true;
        greeting(&p->answer, p);
    } else if (!is_welcome(p, f) && !answers(w, p, f)) {
        struct lk_buf words = {0};
        message_tell(&words, p->kind == LK_END_CLIENT ? FROM_SERVER : FROM_CLIENT, f->type, f->body);
        note(w, p, &words);
        lk_buf_clear(&words);
    }
}

void
peer_read(struct world *w, struct peer *p)
{
    struct lk_frame f;
    for (;;) {
        bool untyped = p->kind == LK_END_CANCEL || (p->kind == LK_END_SERVER && !p->greeted);
        struct lk_span in = lk_buf_span(&p->wire);
        if ((untyped ? lk_frame_startup(in, &f) : lk_frame_next(in, UINT32_MAX, &f)) != LK_FRAME_WHOLE)
            return;
        on_frame(w, p, &f);
        lk_buf_drop(&p->wire, f.total);
    }
}
