/* The console's side of the protocol: commands become effects, their answers frames. A Describe of a SHOW is answered
 * by carrying it out and keeping the RowDescription; other commands have no rows. */
#include "session/step.h"

#include <strings.h>

#include "wire/build.h"
#include "wire/cursor.h"
#include "wire/frame.h"

#define FRAME_MAX_TOTAL (64u * 1024)
/* Result columns whose format is looked at; no view has more. */
#define COLUMNS_MOST 64u

static void
send_empty(struct lk_core *core, struct lk_client *c, uint8_t type)
{
    struct lk_buf out = {0};
    lk_build_empty(&out, type);
    (void)lk_step_send_buf(core, &c->end, &out);
    lk_buf_clear(&out);
}

static void
send_ready(struct lk_core *core, struct lk_client *c)
{
    struct lk_buf out = {0};
    lk_build_ready(&out, 'I');
    (void)lk_step_send_buf(core, &c->end, &out);
    lk_buf_clear(&out);
}

static void
fail(struct lk_core *core, struct lk_client *c, const char *what)
{
    struct lk_error e;
    lk_error_set(&e, "08P01", "%s", what);
    lk_client_fail(core, c, &e, LK_REASON_NONE);
}

/* An error in the extended protocol. */
static void
refuse(struct lk_core *core, struct lk_client *c, const char *sqlstate, const char *what)
{
    struct lk_error e;
    lk_error_set(&e, sqlstate, "%s", what);
    lk_client_error(core, c, &e);
    c->skip_to_sync = true;
}

static void
run(struct lk_core *core, struct lk_client *c, uint8_t answers, struct lk_span text)
{
    struct lk_span copy = lk_arena_copy(&core->arena, text);
    if (copy.n < text.n) {
        fail(core, c, "out of memory");
        return;
    }
    c->console_busy = true;
    c->console_answers = answers;
    c->console_described = false;
    lk_effects_console(&core->effects, &c->end, copy);
}

/* The command of the last Parse and its name; false: there is none. */
static bool
parsed(const struct lk_client *c, struct lk_span *name, struct lk_span *text)
{
    struct lk_cursor at = lk_cursor_make(lk_buf_span(&c->console_text));
    *name = lk_cursor_cstr(&at);
    *text = lk_cursor_cstr(&at);
    return !at.bad;
}

static bool
is_show(struct lk_span text)
{
    for (;;) {
        while (text.n > 0 && (text.p[0] == ' ' || (text.p[0] >= '\t' && text.p[0] <= '\r')))
            text = lk_span_skip(text, 1);
        if (text.n < 2 || text.p[0] != '-' || text.p[1] != '-')
            break;
        while (text.n > 0 && text.p[0] != '\n')
            text = lk_span_skip(text, 1);
    }
    return text.n >= 4 && strncasecmp((const char *)text.p, "SHOW", 4) == 0;
}

static void
on_query(struct lk_core *core, struct lk_client *c, struct lk_span body)
{
    struct lk_cursor at = lk_cursor_make(body);
    struct lk_span text = lk_cursor_cstr(&at);
    if (lk_cursor_done(&at))
        run(core, c, 'Q', text);
    else
        fail(core, c, "malformed Query message");
}

static void
on_parse(struct lk_core *core, struct lk_client *c, struct lk_span body)
{
    struct lk_msg_parse m;
    if (!lk_msg_parse(body, &m)) {
        fail(core, c, "malformed Parse message");
        return;
    }
    lk_buf_clear(&c->console_text);
    lk_buf_add_span(&c->console_text, lk_span_head(body, m.name.n + 1 + m.text.n + 1));
    if (c->console_text.failed) {
        lk_buf_clear(&c->console_text);
        refuse(core, c, "53200", "out of memory");
        return;
    }
    send_empty(core, c, '1');
}

static bool
wants_binary(struct lk_span rest)
{
    uint16_t format;
    for (unsigned i = 0; i < COLUMNS_MOST && lk_msg_bind_result_format(rest, i, &format); i++)
        if (format != 0)
            return true;
    return false;
}

static void
on_bind(struct lk_core *core, struct lk_client *c, struct lk_span body)
{
    struct lk_msg_bind m;
    struct lk_msg_value value;
    struct lk_span name, text;
    if (!lk_msg_bind(body, &m))
        fail(core, c, "malformed Bind message");
    else if (!parsed(c, &name, &text) || !lk_span_eq(name, m.name))
        refuse(core, c, "26000", "there is no such prepared statement: the console keeps the last one only");
    else if (lk_msg_bind_value(m.rest, 0, &value))
        refuse(core, c, "0A000", "commands of the console have no parameters");
    else if (wants_binary(m.rest))
        refuse(core, c, "0A000", "the console answers in text format only");
    else
        send_empty(core, c, '2');
}

static void
on_describe(struct lk_core *core, struct lk_client *c, struct lk_span body)
{
    struct lk_msg_target m;
    struct lk_span name, text;
    if (!lk_msg_target(body, &m)) {
        fail(core, c, "malformed Describe message");
        return;
    }
    if (!parsed(c, &name, &text) || (m.kind == 'S' && !lk_span_eq(name, m.name))) {
        refuse(core, c, "26000", "there is no such prepared statement: the console keeps the last one only");
        return;
    }
    if (m.kind == 'S') {
        struct lk_buf out = {0};
        size_t at = lk_build_begin(&out, 't');
        lk_buf_add_u16(&out, 0);
        lk_build_end(&out, at);
        (void)lk_step_send_buf(core, &c->end, &out);
        lk_buf_clear(&out);
    }
    if (is_show(text))
        run(core, c, 'D', text);
    else
        send_empty(core, c, 'n');
}

static void
on_execute(struct lk_core *core, struct lk_client *c, struct lk_span body)
{
    struct lk_msg_execute m;
    struct lk_span name, text;
    if (!lk_msg_execute(body, &m))
        fail(core, c, "malformed Execute message");
    else if (!parsed(c, &name, &text))
        refuse(core, c, "34000", "there is no such portal");
    else
        run(core, c, 'E', text);
}

static void
on_close(struct lk_core *core, struct lk_client *c, struct lk_span body)
{
    struct lk_msg_target m;
    struct lk_span name, text;
    if (!lk_msg_target(body, &m)) {
        fail(core, c, "malformed Close message");
        return;
    }
    if (m.kind == 'S' && parsed(c, &name, &text) && lk_span_eq(name, m.name))
        lk_buf_clear(&c->console_text);
    send_empty(core, c, '3');
}

static void
on_frame(struct lk_core *core, struct lk_client *c, const struct lk_frame *f)
{
    if (c->skip_to_sync && f->type != 'S' && f->type != 'X')
        return;
    switch (f->type) {
    case 'Q':
        on_query(core, c, f->body);
        break;
    case 'P':
        on_parse(core, c, f->body);
        break;
    case 'B':
        on_bind(core, c, f->body);
        break;
    case 'D':
        on_describe(core, c, f->body);
        break;
    case 'E':
        on_execute(core, c, f->body);
        break;
    case 'C':
        on_close(core, c, f->body);
        break;
    case 'H':
        break;
    case 'S':
        c->skip_to_sync = false;
        send_ready(core, c);
        break;
    case 'X':
        c->terminated = true;
        lk_client_close(core, c);
        break;
    default:
        fail(core, c, "unexpected message on the console");
        break;
    }
}

size_t
lk_console_input(struct lk_core *core, struct lk_client *c, struct lk_span in)
{
    struct lk_span rest = in;
    while (c->state == LK_CLIENT_CONSOLE && rest.n > 0) {
        struct lk_frame f;
        if (c->console_busy) {
            c->end.paused = true;
            break;
        }
        enum lk_frame_status status = lk_frame_next(rest, FRAME_MAX_TOTAL, &f);
        if (status == LK_FRAME_BAD) {
            fail(core, c, "a message on the console is broken or too long");
            break;
        }
        if (status != LK_FRAME_WHOLE)
            break;
        on_frame(core, c, &f);
        rest = lk_span_skip(rest, f.total);
    }
    return c->state == LK_CLIENT_GONE ? in.n : in.n - rest.n;
}

/* Which frames of a command's answer belong to the message that it is for. */
static bool
belongs(struct lk_client *c, uint8_t type)
{
    if (c->console_answers == 'Q')
        return true;
    if (type == 'E') {
        c->skip_to_sync = true;
        return true;
    }
    if (c->console_answers == 'E')
        return type != 'T';
    if (type != 'T' || c->console_described)
        return false;
    c->console_described = true;
    return true;
}

void
lk_core_console_reply(struct lk_core *core, struct lk_client *client, struct lk_span frames)
{
    struct lk_frame f;
    struct lk_buf out = {0};
    if (client->end.dead)
        return;
    while (lk_frame_next(frames, UINT32_MAX, &f) == LK_FRAME_WHOLE) {
        if (belongs(client, f.type))
            lk_buf_add_span(&out, lk_span_head(frames, f.total));
        frames = lk_span_skip(frames, f.total);
    }
    if (out.failed || (out.len > 0 && !lk_step_send_buf(core, &client->end, &out)))
        fail(core, client, "out of memory");
    lk_buf_clear(&out);
}

void
lk_core_console_news(struct lk_core *core, struct lk_client *client, struct lk_span frames)
{
    struct lk_span copy = lk_arena_copy(&core->arena, frames);
    if (!client->end.dead && copy.n == frames.n)
        lk_step_send(core, &client->end, copy);
}

void
lk_core_console_done(struct lk_core *core, struct lk_client *client)
{
    if (client->end.dead)
        return;
    if (client->console_answers == 'Q')
        send_ready(core, client);
    else if (client->console_answers == 'D' && !client->console_described && !client->skip_to_sync)
        send_empty(core, client, 'n');
    client->console_busy = false;
    client->console_answers = 0;
    client->end.paused = false;
    lk_effects_resume(&core->effects, &client->end);
}
