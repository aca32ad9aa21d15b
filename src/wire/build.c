#include "wire/build.h"

#include <assert.h>

#include "wire/message.h"

static void
end_length(struct lk_buf *b, size_t at)
{
    if (b->failed)
        return;
    size_t length = b->len - at;
    if (length > INT32_MAX) {
        b->failed = true;
        return;
    }
    for (size_t i = 0; i < 4; i++)
        b->data[at + i] = (uint8_t)(length >> (24 - 8 * i));
}

/* The length, still unknown, of a packet without a type. */
static size_t
begin_untyped(struct lk_buf *b)
{
    size_t at = b->len;
    lk_buf_add_u32(b, 0);
    return at;
}

size_t
lk_build_begin(struct lk_buf *b, uint8_t type)
{
    lk_buf_add_u8(b, type);
    return begin_untyped(b);
}

void
lk_build_end(struct lk_buf *b, size_t at)
{
    end_length(b, at);
}

static void
add_terminated(struct lk_buf *b, struct lk_span s)
{
    lk_buf_add_span(b, s);
    lk_buf_add_u8(b, 0);
}

static void
add_value(struct lk_buf *b, struct lk_span s)
{
    if (!s.p) {
        lk_buf_add_u32(b, UINT32_MAX);
        return;
    }
    if (s.n > INT32_MAX) {
        b->failed = true;
        return;
    }
    lk_buf_add_u32(b, (uint32_t)s.n);
    lk_buf_add_span(b, s);
}

static void
add_field(struct lk_buf *b, char code, const char *text)
{
    lk_buf_add_u8(b, (uint8_t)code);
    lk_buf_add_cstr(b, text);
}

void
lk_build_error(struct lk_buf *b, const char *severity, const struct lk_error *e, bool notice)
{
    size_t at = lk_build_begin(b, notice ? 'N' : 'E');
    add_field(b, 'S', severity);
    add_field(b, 'V', severity);
    add_field(b, 'C', e->sqlstate);
    add_field(b, 'M', e->message);
    if (e->detail[0])
        add_field(b, 'D', e->detail);
    if (e->hint[0])
        add_field(b, 'H', e->hint);
    lk_buf_add_u8(b, 0);
    lk_build_end(b, at);
}

void
lk_build_ready(struct lk_buf *b, uint8_t status)
{
    size_t at = lk_build_begin(b, 'Z');
    lk_buf_add_u8(b, status);
    lk_build_end(b, at);
}

void
lk_build_authentication(struct lk_buf *b, uint32_t code, struct lk_span data)
{
    size_t at = lk_build_begin(b, 'R');
    lk_buf_add_u32(b, code);
    lk_buf_add_span(b, data);
    lk_build_end(b, at);
}

void
lk_build_parameter_status(struct lk_buf *b, const char *name, const char *value)
{
    size_t at = lk_build_begin(b, 'S');
    lk_buf_add_cstr(b, name);
    lk_buf_add_cstr(b, value);
    lk_build_end(b, at);
}

void
lk_build_backend_key(struct lk_buf *b, uint32_t pid, struct lk_span secret)
{
    size_t at = lk_build_begin(b, 'K');
    lk_buf_add_u32(b, pid);
    lk_buf_add_span(b, secret);
    lk_build_end(b, at);
}

void
lk_build_command_complete(struct lk_buf *b, const char *tag)
{
    size_t at = lk_build_begin(b, 'C');
    lk_buf_add_cstr(b, tag);
    lk_build_end(b, at);
}

void
lk_build_empty(struct lk_buf *b, uint8_t type)
{
    lk_build_end(b, lk_build_begin(b, type));
}

static uint16_t
type_size(uint32_t type)
{
    switch (type) {
    case 16: /* bool */
        return 1;
    case 20:  /* int8 */
    case 701: /* float8 */
        return 8;
    case 23: /* int4 */
    case 26: /* oid */
        return 4;
    default:
        return UINT16_MAX; /* -1: variable */
    }
}

void
lk_build_row_description(struct lk_buf *b, const struct lk_build_column *columns, size_t count)
{
    assert(count <= UINT16_MAX);
    size_t at = lk_build_begin(b, 'T');
    lk_buf_add_u16(b, (uint16_t)count);
    for (size_t i = 0; i < count; i++) {
        lk_buf_add_cstr(b, columns[i].name);
        lk_buf_add_u32(b, 0); /* no table */
        lk_buf_add_u16(b, 0);
        lk_buf_add_u32(b, columns[i].type);
        lk_buf_add_u16(b, type_size(columns[i].type));
        lk_buf_add_u32(b, UINT32_MAX); /* no modifier */
        lk_buf_add_u16(b, 0);
    }
    lk_build_end(b, at);
}

void
lk_build_data_row(struct lk_buf *b, const char *const *values, size_t count)
{
    assert(count <= UINT16_MAX);
    size_t at = lk_build_begin(b, 'D');
    lk_buf_add_u16(b, (uint16_t)count);
    for (size_t i = 0; i < count; i++)
        add_value(b, values[i] ? lk_span_str(values[i]) : lk_span_make(NULL, 0));
    lk_build_end(b, at);
}

void
lk_build_negotiate(struct lk_buf *b, uint32_t version, const struct lk_span *unknown, uint32_t count)
{
    size_t at = lk_build_begin(b, 'v');
    lk_buf_add_u32(b, version);
    lk_buf_add_u32(b, count);
    for (uint32_t i = 0; i < count; i++)
        add_terminated(b, unknown[i]);
    lk_build_end(b, at);
}

void
lk_build_query(struct lk_buf *b, struct lk_span text)
{
    size_t at = lk_build_begin(b, 'Q');
    add_terminated(b, text);
    lk_build_end(b, at);
}

void
lk_build_parse(struct lk_buf *b, const char *name, struct lk_span text, uint16_t type_count, struct lk_span types)
{
    assert(types.n == (size_t)type_count * 4);
    size_t at = lk_build_begin(b, 'P');
    lk_buf_add_cstr(b, name);
    add_terminated(b, text);
    lk_buf_add_u16(b, type_count);
    lk_buf_add_span(b, types);
    lk_build_end(b, at);
}

void
lk_build_bind(struct lk_buf *b, const char *statement, const struct lk_span *params, uint16_t count)
{
    size_t at = lk_build_begin(b, 'B');
    lk_buf_add_cstr(b, "");
    lk_buf_add_cstr(b, statement);
    lk_buf_add_u16(b, 0);
    lk_buf_add_u16(b, count);
    for (uint16_t i = 0; i < count; i++)
        add_value(b, params[i]);
    lk_buf_add_u16(b, 0);
    lk_build_end(b, at);
}

void
lk_build_execute(struct lk_buf *b, const char *portal, uint32_t max_rows)
{
    size_t at = lk_build_begin(b, 'E');
    lk_buf_add_cstr(b, portal);
    lk_buf_add_u32(b, max_rows);
    lk_build_end(b, at);
}

void
lk_build_target(struct lk_buf *b, uint8_t type, uint8_t kind, const char *name)
{
    size_t at = lk_build_begin(b, type);
    lk_buf_add_u8(b, kind);
    lk_buf_add_cstr(b, name);
    lk_build_end(b, at);
}

void
lk_build_sync(struct lk_buf *b)
{
    lk_build_empty(b, 'S');
}

void
lk_build_terminate(struct lk_buf *b)
{
    lk_build_empty(b, 'X');
}

void
lk_build_copy_fail(struct lk_buf *b, const char *why)
{
    size_t at = lk_build_begin(b, 'f');
    lk_buf_add_cstr(b, why);
    lk_build_end(b, at);
}

void
lk_build_fcall(struct lk_buf *b, uint32_t oid)
{
    size_t at = lk_build_begin(b, 'F');
    lk_buf_add_u32(b, oid);
    lk_buf_add_u16(b, 0); /* argument formats */
    lk_buf_add_u16(b, 0); /* arguments */
    lk_buf_add_u16(b, 0); /* result in text */
    lk_build_end(b, at);
}

void
lk_build_startup(struct lk_buf *b, uint32_t version, const char *const *pairs)
{
    size_t at = begin_untyped(b);
    lk_buf_add_u32(b, version);
    for (; *pairs; pairs++)
        lk_buf_add_cstr(b, *pairs);
    lk_buf_add_u8(b, 0);
    end_length(b, at);
}

void
lk_build_ssl_request(struct lk_buf *b)
{
    size_t at = begin_untyped(b);
    lk_buf_add_u32(b, LK_CODE_SSL);
    end_length(b, at);
}

void
lk_build_cancel(struct lk_buf *b, uint32_t pid, struct lk_span secret)
{
    size_t at = begin_untyped(b);
    lk_buf_add_u32(b, LK_CODE_CANCEL);
    lk_buf_add_u32(b, pid);
    lk_buf_add_span(b, secret);
    end_length(b, at);
}

void
lk_build_password(struct lk_buf *b, struct lk_span data)
{
    size_t at = lk_build_begin(b, 'p');
    lk_buf_add_span(b, data);
    lk_build_end(b, at);
}

void
lk_build_sasl_initial(struct lk_buf *b, const char *mechanism, struct lk_span data)
{
    size_t at = lk_build_begin(b, 'p');
    lk_buf_add_cstr(b, mechanism);
    lk_buf_add_u32(b, (uint32_t)data.n);
    lk_buf_add_span(b, data);
    lk_build_end(b, at);
}
