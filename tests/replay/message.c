#include "message.h"

#include <stdlib.h>

#include "base/mem.h"
#include "wire/build.h"
#include "wire/cursor.h"
#include "wire/message.h"

/* What stands in a message, in order:
 * s text with NUL; r the rest as text; k one character; i number; o [numbers]; v [texts or null]; n one text or null;
 * c ["name" type …]; e severity, SQLSTATE, message (and detail, read only); f formats, z one format, g formats of COPY: all
 * text, and never told */
static const struct shape {
    const char *name;
    uint8_t type;
    enum way way;
    const char *fields;
} shapes[] = {
    {"Query", 'Q', FROM_CLIENT, "s"},
    {"Parse", 'P', FROM_CLIENT, "sso"},
    {"Bind", 'B', FROM_CLIENT, "ssfvf"},
    {"Describe", 'D', FROM_CLIENT, "ks"},
    {"Execute", 'E', FROM_CLIENT, "si"},
    {"Close", 'C', FROM_CLIENT, "ks"},
    {"Sync", 'S', FROM_CLIENT, ""},
    {"Flush", 'H', FROM_CLIENT, ""},
    {"Terminate", 'X', FROM_CLIENT, ""},
    {"FunctionCall", 'F', FROM_CLIENT, "ifvz"},
    {"CopyData", 'd', FROM_CLIENT, "r"},
    {"CopyDone", 'c', FROM_CLIENT, ""},
    {"CopyFail", 'f', FROM_CLIENT, "s"},
    {"ParseComplete", '1', FROM_SERVER, ""},
    {"BindComplete", '2', FROM_SERVER, ""},
    {"CloseComplete", '3', FROM_SERVER, ""},
    {"NoData", 'n', FROM_SERVER, ""},
    {"EmptyQueryResponse", 'I', FROM_SERVER, ""},
    {"PortalSuspended", 's', FROM_SERVER, ""},
    {"CommandComplete", 'C', FROM_SERVER, "s"},
    {"ReadyForQuery", 'Z', FROM_SERVER, "k"},
    {"RowDescription", 'T', FROM_SERVER, "c"},
    {"DataRow", 'D', FROM_SERVER, "v"},
    {"ParameterDescription", 't', FROM_SERVER, "o"},
    {"ParameterStatus", 'S', FROM_SERVER, "ss"},
    {"BackendKeyData", 'K', FROM_SERVER, "ii"},
    {"AuthenticationOk", 'R', FROM_SERVER, "i"},
    {"ErrorResponse", 'E', FROM_SERVER, "e"},
    {"NoticeResponse", 'N', FROM_SERVER, "e"},
    {"NotificationResponse", 'A', FROM_SERVER, "iss"},
    {"CopyInResponse", 'G', FROM_SERVER, "g"},
    {"CopyOutResponse", 'H', FROM_SERVER, "g"},
    {"CopyData", 'd', FROM_SERVER, "r"},
    {"CopyDone", 'c', FROM_SERVER, ""},
    {"FunctionCallResponse", 'V', FROM_SERVER, "n"},
};

/* --- words to bytes --- */

struct reader {
    const struct words *words;
    size_t at;
};

static const char *
next(struct reader *r)
{
    return r->at < r->words->count ? r->words->items[r->at++].text : "";
}

static uint32_t
number(const char *text)
{
    return (uint32_t)strtoul(text, NULL, 10);
}

static bool
at_list(const struct reader *r, char bracket)
{
    return r->at < r->words->count && r->words->items[r->at].kind == bracket;
}

static void
put_value(struct lk_buf *out, const struct word *w)
{
    if (w->kind == 'w' && strcmp(w->text, "null") == 0) {
        lk_buf_add_u32(out, UINT32_MAX);
        return;
    }
    lk_buf_add_u32(out, (uint32_t)strlen(w->text));
    lk_buf_add(out, w->text, strlen(w->text));
}

static void
put_column(struct lk_buf *out, struct reader *r)
{
    lk_buf_add_cstr(out, next(r));
    lk_buf_add_u32(out, 0);
    lk_buf_add_u16(out, 0);
    lk_buf_add_u32(out, number(next(r)));
    lk_buf_add_u16(out, UINT16_MAX);
    lk_buf_add_u32(out, UINT32_MAX);
    lk_buf_add_u16(out, 0);
}

/* A list of kind o, v or c, with its count before it. Left off: an empty one. */
static bool
put_list(struct lk_buf *out, struct reader *r, char kind)
{
    struct lk_buf items = {0};
    uint16_t count = 0;
    if (at_list(r, '[')) {
        r->at++;
        for (; r->at < r->words->count && !at_list(r, ']'); count++) {
            if (kind == 'o')
                lk_buf_add_u32(&items, number(next(r)));
            else if (kind == 'v')
                put_value(&items, &r->words->items[r->at++]);
            else
                put_column(&items, r);
        }
        if (!at_list(r, ']')) {
            lk_buf_clear(&items);
            return false;
        }
        r->at++;
    }
    lk_buf_add_u16(out, count);
    lk_buf_add_span(out, lk_buf_span(&items));
    lk_buf_clear(&items);
    return true;
}

static void
put_error(struct lk_buf *out, struct reader *r)
{
    const char *severity = next(r);
    static const char codes[] = {'S', 'V', 'C', 'M'};
    for (size_t i = 0; i < LK_COUNT(codes); i++) {
        lk_buf_add_u8(out, (uint8_t)codes[i]);
        lk_buf_add_cstr(out, i < 2 ? severity : next(r));
    }
    lk_buf_add_u8(out, 0);
}

static bool
put_field(struct lk_buf *out, struct reader *r, char kind)
{
    const char *text;
    switch (kind) {
    case 's':
        return lk_buf_add_cstr(out, next(r));
    case 'r':
        text = next(r);
        return lk_buf_add(out, text, strlen(text));
    case 'k':
        return lk_buf_add_u8(out, (uint8_t)next(r)[0]);
    case 'i':
        return lk_buf_add_u32(out, number(next(r)));
    case 'n':
        if (r->at >= r->words->count)
            return false;
        put_value(out, &r->words->items[r->at++]);
        return true;
    case 'e':
        put_error(out, r);
        return true;
    case 'g':
        return lk_buf_add_u8(out, 0) && lk_buf_add_u16(out, 0);
    case 'f':
    case 'z':
        return lk_buf_add_u16(out, 0);
    default:
        return put_list(out, r, kind);
    }
}

bool
message_build(struct lk_buf *out, enum way way, const struct words *words)
{
    struct reader r = {words, 1};
    const struct shape *s = shapes, *end = shapes + LK_COUNT(shapes);
    while (s < end && (s->way != way || words->count == 0 || strcmp(s->name, words->items[0].text) != 0))
        s++;
    if (s == end)
        return false;
    size_t at = lk_build_begin(out, s->type);
    for (const char *f = s->fields; *f; f++)
        if (!put_field(out, &r, *f))
            return false;
    lk_build_end(out, at);
    return !out->failed && r.at >= words->count;
}

/* --- bytes to words --- */

static void
tell_value(struct lk_buf *out, struct lk_cursor *c)
{
    uint32_t n = lk_cursor_u32(c);
    if (n == UINT32_MAX)
        lk_buf_add(out, "null", 4);
    else
        words_quote(out, lk_cursor_bytes(c, n));
}

static void
tell_list(struct lk_buf *out, struct lk_cursor *c, char kind)
{
    uint16_t count = lk_cursor_u16(c);
    lk_buf_add_u8(out, '[');
    for (uint16_t i = 0; i < count && !c->bad; i++) {
        if (i > 0)
            lk_buf_add_u8(out, ' ');
        if (kind == 'o') {
            lk_buf_add_format(out, "%u", lk_cursor_u32(c));
        } else if (kind == 'v') {
            tell_value(out, c);
        } else {
            words_quote(out, lk_cursor_cstr(c));
            (void)lk_cursor_bytes(c, 6);
            lk_buf_add_format(out, " %u", lk_cursor_u32(c));
            (void)lk_cursor_bytes(c, 8);
        }
    }
    lk_buf_add_u8(out, ']');
}

static void
tell_error(struct lk_buf *out, struct lk_span body)
{
    struct lk_span severity = lk_msg_error_field(body, 'S'), code = lk_msg_error_field(body, 'C');
    lk_buf_add_span(out, severity);
    lk_buf_add_u8(out, ' ');
    lk_buf_add_span(out, code);
    lk_buf_add_u8(out, ' ');
    words_quote(out, lk_msg_error_field(body, 'M'));
    struct lk_span detail = lk_msg_error_field(body, 'D');
    if (detail.n == 0)
        return;
    lk_buf_add_u8(out, ' ');
    words_quote(out, detail);
}

static void
tell_field(struct lk_buf *out, struct lk_cursor *c, char kind)
{
    if (kind == 'f') {
        (void)lk_cursor_bytes(c, 2u * lk_cursor_u16(c));
        return;
    }
    if (kind == 'z' || kind == 'g') {
        (void)lk_cursor_bytes(c, c->rest.n);
        return;
    }
    lk_buf_add_u8(out, ' ');
    switch (kind) {
    case 's':
        words_quote(out, lk_cursor_cstr(c));
        break;
    case 'r':
        words_quote(out, lk_cursor_bytes(c, c->rest.n));
        break;
    case 'k':
        lk_buf_add_u8(out, lk_cursor_u8(c));
        break;
    case 'i':
        lk_buf_add_format(out, "%u", lk_cursor_u32(c));
        break;
    case 'n':
        tell_value(out, c);
        break;
    case 'e':
        tell_error(out, lk_cursor_bytes(c, c->rest.n));
        break;
    default:
        tell_list(out, c, kind);
    }
}

void
message_tell(struct lk_buf *out, enum way way, uint8_t type, struct lk_span body)
{
    struct lk_cursor c = lk_cursor_make(body);
    for (const struct shape *s = shapes; s < shapes + LK_COUNT(shapes); s++) {
        if (s->way != way || s->type != type)
            continue;
        lk_buf_add(out, s->name, strlen(s->name));
        for (const char *f = s->fields; *f; f++)
            tell_field(out, &c, *f);
        if (!lk_cursor_done(&c))
            lk_buf_add_format(out, " (malformed)");
        return;
    }
    lk_buf_add_format(out, "Unknown '%c'", type);
}
