#include "session/extended.h"

#include <stdio.h>
#include <stdlib.h>

#include "session/policy.h"
#include "session/refuse.h"
#include "session/shorten.h"
#include "session/step.h"
#include "wire/build.h"

/* Are names of statements mapped for this client? */
static bool
maps_names(const struct lk_core *core, const struct lk_client *c)
{
    return core->settings->max_prepared_statements > 0 && c->pool->route.mode != LK_POOL_SESSION;
}

static bool
send_buf(struct lk_core *core, struct lk_server *s, struct lk_buf *b)
{
    bool sent = lk_step_send_buf(core, &s->end, b);
    lk_buf_clear(b);
    return sent;
}

/* The Query text for DEALLOCATE of a client's name, or an empty span if the name is not mapped. */
static struct lk_span
deallocate_text(const struct lk_core *core, const struct lk_client *c, const struct lk_analysis *a, char out[64])
{
    if (a->verb != LK_VERB_DEALLOCATE || !a->verb_name || !maps_names(core, c))
        return lk_span_make(NULL, 0);
    struct lk_statement *st = lk_prepared_find(&c->prepared, lk_span_str(a->verb_name));
    if (!st)
        return lk_span_make(NULL, 0);
    int n = snprintf(out, 64, "DEALLOCATE %s", st->name);
    return lk_span_make(out, (size_t)n);
}

static bool
send_parse(struct lk_core *core, struct lk_client *c, struct lk_statement *st, const char *name)
{
    char instead[64];
    struct lk_buf out = {0};
    struct lk_span text = deallocate_text(core, c, st->analysis, instead);
    if (text.n == 0)
        text = lk_span_make(st->analysis->text->sql, st->analysis->text->n);
    lk_build_parse(&out, name, text, st->type_count, lk_span_make(st->types, (size_t)st->type_count * 4));
    c->pool->stats.server_parses++;
    return send_buf(core, c->server, &out);
}

static struct lk_reply *
push(struct lk_server *s, enum lk_reply_kind kind, enum lk_reply_purpose purpose, struct lk_statement *st, const char *name)
{
    struct lk_reply *r = lk_replies_push(&s->replies, kind, purpose);
    if (r && st)
        r->statement = lk_statement_ref(st);
    if (r && name)
        r->name = lk_mem_dup(name);
    return r;
}

/* Closes one of the server's statements. */
static bool
close_named(struct lk_core *core, struct lk_server *s, struct lk_statement *st)
{
    struct lk_buf out = {0};
    if (!push(s, LK_REPLY_CLOSE, LK_FOR_EVICT, st, NULL))
        return false;
    lk_build_target(&out, 'C', 'S', st->name);
    lk_parsed_drop(&s->parsed, st);
    return send_buf(core, s, &out);
}

/* Closes the least recently used statements of the server until there is room for one more. */
static bool
make_room(struct lk_core *core, struct lk_server *s)
{
    while (lk_parsed_count(&s->parsed) >= (unsigned)core->settings->max_prepared_statements)
        if (!close_named(core, s, lk_parsed_oldest(&s->parsed)))
            return false;
    return true;
}

/* Does the server have it, or will it before what is sent now? */
static bool
parsed_for_sure(struct lk_server *s, const struct lk_statement *st)
{
    return lk_parsed_has(&s->parsed, st) && !lk_replies_unsettled(&s->replies, st);
}

/* Parses the statement on the server under its own name. One whose earlier Parse may yet be skipped is closed before, so
 * that either way it is parsed afterwards. `noted`: the name in the reply. */
static bool
add_named(struct lk_core *core, struct lk_client *c, struct lk_statement *st, enum lk_reply_purpose purpose, const char *noted)
{
    struct lk_server *s = c->server;
    bool known = lk_parsed_has(&s->parsed, st);
    if (!known && !make_room(core, s))
        return false;
    if ((known || s->names_doubtful) && !close_named(core, s, st))
        return false;
    struct lk_reply *r = push(s, LK_REPLY_PARSE, purpose, st, noted);
    if (!r)
        return false;
    lk_replies_adds(&s->replies, r);
    lk_parsed_add(&s->parsed, st);
    return send_parse(core, c, st, st->name);
}

/* Sees to it that the server has the statement under its own name. */
static bool
ensure_named(struct lk_core *core, struct lk_client *c, struct lk_statement *st)
{
    if (parsed_for_sure(c->server, st))
        return true;
    return add_named(core, c, st, LK_FOR_PREPARE, st->name);
}

/* The unnamed statement that is there, if there is one, is another client's or was parsed for an errand or for parameters. */
static bool
close_unnamed(struct lk_core *core, struct lk_server *s)
{
    struct lk_buf out = {0};
    if (!push(s, LK_REPLY_CLOSE, LK_FOR_EVICT, NULL, NULL))
        return false;
    lk_server_set_unnamed(s, NULL);
    lk_build_target(&out, 'C', 'S', "");
    return send_buf(core, s, &out);
}

static bool
ensure_unnamed(struct lk_core *core, struct lk_client *c)
{
    struct lk_server *s = c->server;
    if (!c->unnamed)
        return close_unnamed(core, s);
    if (s->unnamed == c->unnamed)
        return true;
    if (!push(s, LK_REPLY_PARSE, LK_FOR_PREPARE, c->unnamed, NULL))
        return false;
    lk_server_set_unnamed(s, c->unnamed);
    return send_parse(core, c, c->unnamed, "");
}

/* A name that is none of the client's but might be one of ours on the server. */
static bool
refuse_name(struct lk_core *core, struct lk_server *s, struct lk_span name)
{
    struct lk_error e;
    lk_error_set(&e, "26000", "prepared statement \"%.*s\" does not exist", (int)name.n, (const char *)name.p);
    return lk_refuse_extended(core, s, LK_REFUSAL_PARSE, &e, NULL) != NULL;
}

/* The statement that a message names, made ready on the server. *mapped: send st->name instead of the client's. */
static bool
resolve(struct lk_core *core, struct lk_client *c, struct lk_span name, struct lk_statement **st, bool *mapped)
{
    *mapped = false;
    if (name.n == 0) {
        *st = c->unnamed;
        return ensure_unnamed(core, c);
    }
    *st = lk_prepared_find(&c->prepared, name);
    if (!maps_names(core, c))
        return true;
    if (!*st && name.n > 3 && memcmp(name.p, "lk_", 3) == 0)
        return refuse_name(core, c->server, name);
    if (!*st)
        return true;
    *mapped = true;
    return ensure_named(core, c, *st);
}

static enum lk_extended
parse_named(struct lk_core *core, struct lk_client *c, struct lk_span name, struct lk_statement *st, struct lk_span whole)
{
    struct lk_server *s = c->server;
    bool known = lk_prepared_find(&c->prepared, name) != NULL;
    bool maps = maps_names(core, c);
    /* what is outstanding may free the name: DEALLOCATE, DISCARD, an error that skips the Parse that took it */
    if (known && maps && s->replies.count > 0)
        return LK_EXTENDED_HOLD;
    if (known && maps) {
        struct lk_error e;
        lk_error_set(&e, "42P05", "prepared statement \"%.*s\" already exists", (int)name.n, (const char *)name.p);
        return lk_refuse_extended(core, s, LK_REFUSAL_PARSE, &e, NULL) ? LK_EXTENDED_DONE : LK_EXTENDED_NO_MEMORY;
    }
    /* in an aborted transaction PostgreSQL says so before it looks at the name: it is asked */
    bool aborted = s->status == 'E' && s->replies.count == 0;
    char *own_name = lk_mem_dup_span(name);
    bool pushed;
    if (!maps || aborted) {
        pushed = push(s, LK_REPLY_PARSE, LK_FOR_CLIENT, known ? NULL : st, known ? NULL : own_name) != NULL;
        c->pool->stats.server_parses++;
        lk_step_send(core, &s->end, whole);
    } else if (parsed_for_sure(s, st)) {
        pushed = push(s, LK_REPLY_PARSE, LK_FOR_NOBODY, st, own_name) != NULL;
    } else {
        pushed = add_named(core, c, st, LK_FOR_CLIENT, own_name);
    }
    free(own_name);
    if (!pushed)
        return LK_EXTENDED_NO_MEMORY;
    if (!known)
        lk_prepared_put(&c->prepared, name, st);
    lk_answers_ours(core, s);
    return LK_EXTENDED_DONE;
}

enum lk_extended
lk_extended_parse(struct lk_core *core, struct lk_client *c, struct lk_span body, struct lk_span whole)
{
    struct lk_server *s = c->server;
    struct lk_msg_parse m;
    if (!lk_msg_parse(body, &m))
        return LK_EXTENDED_BAD;
    c->pool->stats.client_parses++;
    struct lk_statement *st = lk_statement_get(core, m.text, m.type_count, m.types, lk_forward_mode(core, c));
    if (!st)
        return LK_EXTENDED_NO_MEMORY;
    enum lk_extended outcome = LK_EXTENDED_DONE;
    if (m.name.n > 0) {
        outcome = parse_named(core, c, m.name, st, whole);
    } else if (!push(s, LK_REPLY_PARSE, LK_FOR_CLIENT, st, NULL)) {
        outcome = LK_EXTENDED_NO_MEMORY;
    } else {
        lk_client_set_unnamed(c, st);
        lk_server_set_unnamed(s, st);
        if (st->analysis->verb == LK_VERB_DEALLOCATE) {
            if (!send_parse(core, c, st, ""))
                outcome = LK_EXTENDED_NO_MEMORY;
        } else {
            c->pool->stats.server_parses++;
            lk_step_send(core, &s->end, whole);
        }
    }
    lk_statement_unref(st);
    return outcome;
}

/* --- portals --- */

static void
portal_set(struct lk_portal *p, struct lk_analysis *a, struct lk_watch *watch)
{
    lk_analysis_unref(p->analysis);
    lk_watch_free(p->watch);
    p->analysis = a ? lk_analysis_ref(a) : NULL;
    p->watch = watch;
}

static struct lk_portal *
portal_find(struct lk_client *c, struct lk_span name)
{
    struct lk_portal *p = NULL;
    if (name.n == 0)
        return &c->portal;
    HASH_FIND(hh, c->portals, name.p, name.n, p);
    return p;
}

static void
portal_open(struct lk_client *c, struct lk_span name, struct lk_analysis *a, struct lk_watch *watch)
{
    struct lk_portal *p = portal_find(c, name);
    if (!p) {
        p = LK_NEW(struct lk_portal);
        p->name = lk_mem_dup_span(name);
        HASH_ADD_KEYPTR(hh, c->portals, p->name, name.n, p);
    }
    portal_set(p, a, watch);
}

static void
portal_drop(struct lk_client *c, struct lk_span name)
{
    struct lk_portal *p = portal_find(c, name);
    if (!p)
        return;
    portal_set(p, NULL, NULL);
    if (name.n == 0)
        return;
    HASH_DEL(c->portals, p);
    free(p->name);
    free(p);
}

void
lk_client_forget_portals(struct lk_client *c)
{
    portal_set(&c->portal, NULL, NULL);
    while (c->portals)
        portal_drop(c, lk_span_str(c->portals->name));
}

/* The Bind under the server's name of the statement: a new head in the arena, the rest as it came. */
static bool
send_bind(struct lk_core *core, struct lk_server *s, const struct lk_msg_bind *m, uint32_t total, const char *name)
{
    size_t n = strlen(name), head = 5 + m->portal.n + 1 + n + 1;
    uint8_t *p = lk_arena_take(&core->arena, head);
    if (!p)
        return false;
    uint32_t length = total - 1 - (uint32_t)m->name.n + (uint32_t)n;
    p[0] = 'B';
    p[1] = (uint8_t)(length >> 24);
    p[2] = (uint8_t)(length >> 16);
    p[3] = (uint8_t)(length >> 8);
    p[4] = (uint8_t)length;
    if (m->portal.n > 0)
        memcpy(p + 5, m->portal.p, m->portal.n);
    p[5 + m->portal.n] = 0;
    memcpy(p + 6 + m->portal.n, name, n + 1);
    lk_step_send(core, &s->end, lk_span_make(p, head));
    lk_step_send(core, &s->end, m->rest);
    return true;
}

/* The statement to bind in place of the client's where calls of it are shortened, made ready on the server. */
static bool
resolve_shortened(struct lk_core *core, struct lk_client *c, struct lk_statement **st, const struct lk_watch *watch)
{
    *st = lk_shorten_statement(core, c, *st, watch);
    if (!*st)
        return false;
    bool ready = ensure_named(core, c, *st);
    lk_statement_unref(*st); /* the server's set has one of its own */
    return ready;
}

/* What the Bind of that statement will do to locks. False: no memory. */
static bool
watch_bind(const struct lk_statement *st, const struct lk_msg_bind *m, bool whole, struct lk_watch **watch)
{
    bool failed = false;
    *watch = NULL;
    if (st && st->analysis->plan)
        *watch = lk_watch_bind(st->analysis, whole ? m->rest : lk_span_make(NULL, 0), st->type_count, st->types, &failed);
    return !failed;
}

enum lk_extended
lk_extended_bind(
    struct lk_core *core, struct lk_client *c, const struct lk_msg_bind *m, uint32_t total, struct lk_span there)
{
    struct lk_server *s = c->server;
    struct lk_statement *st = m->name.n == 0 ? c->unnamed : lk_prepared_find(&c->prepared, m->name);
    struct lk_analysis *a = st ? st->analysis : NULL;
    struct lk_watch *watch;
    if (!watch_bind(st, m, there.n == total, &watch))
        return LK_EXTENDED_NO_MEMORY;
    bool may = there.n == total && core->settings->max_prepared_statements > 0;
    if (watch && !lk_shorten_decide(c, watch, may)) {
        lk_watch_free(watch);
        return LK_EXTENDED_HOLD;
    }
    bool mapped = lk_shorten_any(watch);
    bool ready = mapped ? resolve_shortened(core, c, &st, watch) : resolve(core, c, m->name, &st, &mapped);
    struct lk_reply *r = ready ? push(s, LK_REPLY_BIND, LK_FOR_CLIENT, mapped ? st : NULL, NULL) : NULL;
    if (!r) {
        lk_watch_free(watch);
        return LK_EXTENDED_NO_MEMORY;
    }
    r->analysis = a ? lk_analysis_ref(a) : NULL;
    s->reset_fresh = false;
    portal_open(c, m->portal, a, watch);
    c->pool->stats.binds++;
    if (!mapped)
        lk_step_send(core, &s->end, there);
    else if (!send_bind(core, s, m, total, st->name))
        return LK_EXTENDED_NO_MEMORY;
    return LK_EXTENDED_DONE;
}

enum lk_extended
lk_extended_describe(struct lk_core *core, struct lk_client *c, struct lk_span body, struct lk_span whole)
{
    struct lk_server *s = c->server;
    struct lk_msg_target m;
    struct lk_statement *st = NULL;
    bool mapped = false;
    if (!lk_msg_target(body, &m))
        return LK_EXTENDED_BAD;
    if (m.kind == 'S' && !resolve(core, c, m.name, &st, &mapped))
        return LK_EXTENDED_NO_MEMORY;
    if (!push(s, LK_REPLY_DESCRIBE, LK_FOR_CLIENT, mapped ? st : NULL, NULL))
        return LK_EXTENDED_NO_MEMORY;
    if (!mapped) {
        lk_step_send(core, &s->end, whole);
        return LK_EXTENDED_DONE;
    }
    struct lk_buf out = {0};
    lk_build_target(&out, 'D', 'S', st->name);
    return send_buf(core, s, &out) ? LK_EXTENDED_DONE : LK_EXTENDED_NO_MEMORY;
}

enum lk_extended
lk_extended_execute(struct lk_core *core, struct lk_client *c, struct lk_span body, struct lk_span whole)
{
    struct lk_server *s = c->server;
    struct lk_msg_execute m;
    if (!lk_msg_execute(body, &m))
        return LK_EXTENDED_BAD;
    struct lk_portal *p = portal_find(c, m.portal);
    struct lk_analysis *a = p ? p->analysis : NULL;
    struct lk_statement *gone = NULL;
    if (a && a->verb == LK_VERB_DEALLOCATE && a->verb_name && maps_names(core, c))
        gone = lk_prepared_find(&c->prepared, lk_span_str(a->verb_name));
    if (gone && !ensure_named(core, c, gone))
        return LK_EXTENDED_NO_MEMORY;
    struct lk_watch *watch = p && p->watch ? lk_watch_copy(p->watch) : NULL;
    struct lk_error e;
    enum lk_verdict verdict = lk_policy_judge(core, c, watch, &e);
    if (verdict == LK_VERDICT_WAIT) {
        lk_watch_free(watch);
        return LK_EXTENDED_HOLD;
    }
    if (verdict == LK_VERDICT_REFUSE)
        return lk_refuse_extended(core, s, LK_REFUSAL_NAME, &e, watch) ? LK_EXTENDED_DONE : LK_EXTENDED_NO_MEMORY;
    struct lk_reply *r = p && p->watch && !watch ? NULL : lk_replies_push(&s->replies, LK_REPLY_EXECUTE, LK_FOR_CLIENT);
    if (!r) {
        lk_watch_free(watch);
        return LK_EXTENDED_NO_MEMORY;
    }
    s->reset_fresh = false;
    if (watch) {
        watch->limited = m.max_rows > 0;
        watch->sent_us = core->now.mono_us;
    }
    r->watch = watch;
    r->analysis = a ? lk_analysis_ref(a) : NULL;
    if (gone)
        lk_extended_note_deallocate(c, a, r);
    lk_step_send(core, &s->end, whole);
    return LK_EXTENDED_DONE;
}

enum lk_extended
lk_extended_close(struct lk_core *core, struct lk_client *c, struct lk_span body, struct lk_span whole)
{
    struct lk_server *s = c->server;
    struct lk_msg_target m;
    if (!lk_msg_target(body, &m))
        return LK_EXTENDED_BAD;
    struct lk_statement *st = m.kind == 'S' && m.name.n > 0 ? lk_prepared_find(&c->prepared, m.name) : NULL;
    bool answered = st && maps_names(core, c);
    char *name = st ? lk_mem_dup_span(m.name) : NULL;
    struct lk_reply *r = push(s, LK_REPLY_CLOSE, answered ? LK_FOR_NOBODY : LK_FOR_CLIENT, st, name);
    free(name);
    if (!r)
        return LK_EXTENDED_NO_MEMORY;
    if (st)
        lk_prepared_drop(&c->prepared, m.name);
    if (m.kind == 'P')
        portal_drop(c, m.name);
    if (m.kind == 'S' && m.name.n == 0) {
        lk_client_set_unnamed(c, NULL);
        lk_server_set_unnamed(s, NULL);
    }
    if (answered)
        lk_answers_ours(core, s);
    else
        lk_step_send(core, &s->end, whole);
    return LK_EXTENDED_DONE;
}

/* --- DEALLOCATE as a text --- */

void
lk_extended_deallocate(struct lk_core *core, struct lk_client *c, const struct lk_analysis *a, struct lk_span *query)
{
    char text[64];
    struct lk_buf out = {0};
    struct lk_server *s = c->server;
    *query = lk_span_make(NULL, 0);
    struct lk_span instead = deallocate_text(core, c, a, text);
    if (instead.n == 0)
        return;
    struct lk_statement *st = lk_prepared_find(&c->prepared, lk_span_str(a->verb_name));
    if (!parsed_for_sure(s, st)) {
        /* with a Sync of its own: after a failed Parse the backend would pass over the Query */
        static const uint8_t sync[] = {'S', 0, 0, 0, 4};
        if (!add_named(core, c, st, LK_FOR_DRAIN, st->name) || !push(s, LK_REPLY_SYNC, LK_FOR_DRAIN, NULL, NULL))
            return;
        lk_step_send(core, &s->end, lk_span_make(sync, sizeof(sync)));
    }
    lk_build_query(&out, instead);
    *query = out.failed ? lk_span_make(NULL, 0) : lk_arena_copy(&core->arena, lk_buf_span(&out));
    lk_buf_clear(&out);
}

void
lk_extended_note_deallocate(struct lk_client *c, const struct lk_analysis *a, struct lk_reply *r)
{
    struct lk_statement *st = lk_prepared_find(&c->prepared, lk_span_str(a->verb_name));
    if (!st)
        return;
    r->statement = lk_statement_ref(st);
    r->name = lk_mem_dup(a->verb_name);
}
