#include "wire/message.h"

#include "wire/cursor.h"

#define CANCEL_SECRET_MIN 4u

static bool
secret_fits(struct lk_span secret)
{
    return secret.n >= CANCEL_SECRET_MIN && secret.n <= LK_CANCEL_SECRET_MAX;
}

bool
lk_msg_startup_param(struct lk_span *params, struct lk_span *name, struct lk_span *value)
{
    struct lk_cursor c = lk_cursor_make(*params);
    *name = lk_cursor_cstr(&c);
    *value = lk_cursor_cstr(&c);
    if (c.bad || name->n == 0)
        return false;
    *params = c.rest;
    return true;
}

static bool
startup_params(struct lk_span rest, struct lk_span *params)
{
    /* The closing NUL is an empty name and has to be the packet's last byte. */
    if (rest.n == 0 || rest.p[rest.n - 1] != 0)
        return false;
    *params = lk_span_head(rest, rest.n - 1);
    struct lk_span left = *params, name, value;
    while (lk_msg_startup_param(&left, &name, &value))
        continue;
    return left.n == 0;
}

bool
lk_msg_startup(struct lk_span body, struct lk_msg_startup *out)
{
    struct lk_cursor c = lk_cursor_make(body);
    *out = (struct lk_msg_startup){.code = lk_cursor_u32(&c)};
    if (c.bad)
        return false;
    switch (out->code) {
    case LK_CODE_SSL:
    case LK_CODE_GSSENC:
        return lk_cursor_done(&c);
    case LK_CODE_CANCEL:
        out->cancel_pid = lk_cursor_u32(&c);
        out->cancel_secret = c.rest;
        return !c.bad && secret_fits(c.rest);
    default:
        /* The layout of other major versions is not known: the peer is to be told so, not called malformed. */
        return out->code >> 16 != 3 || startup_params(c.rest, &out->params);
    }
}

bool
lk_msg_parse(struct lk_span body, struct lk_msg_parse *out)
{
    struct lk_cursor c = lk_cursor_make(body);
    out->name = lk_cursor_cstr(&c);
    out->text = lk_cursor_cstr(&c);
    out->type_count = lk_cursor_u16(&c);
    out->types = lk_cursor_bytes(&c, (size_t)out->type_count * 4);
    return lk_cursor_done(&c);
}

bool
lk_msg_bind(struct lk_span body, struct lk_msg_bind *out)
{
    struct lk_cursor c = lk_cursor_make(body);
    out->portal = lk_cursor_cstr(&c);
    out->name = lk_cursor_cstr(&c);
    out->rest = c.rest;
    return !c.bad;
}

/* A run of format codes: none means text for all, one means that for all, else each has its own. */
struct formats {
    uint16_t count;
    struct lk_span codes;
};

static struct formats
formats_take(struct lk_cursor *c)
{
    struct formats f = {.count = lk_cursor_u16(c)};
    f.codes = lk_cursor_bytes(c, (size_t)f.count * 2);
    return f;
}

static bool
formats_get(const struct formats *f, unsigned index, uint16_t *format)
{
    *format = 0;
    if (f->count == 0)
        return true;
    unsigned at = f->count == 1 ? 0 : index;
    if (at >= f->count)
        return false;
    struct lk_cursor c = lk_cursor_make(lk_span_skip(f->codes, (size_t)at * 2));
    *format = lk_cursor_u16(&c);
    return *format <= 1;
}

/* A length and its bytes; -1 stands for NULL. */
static struct lk_msg_value
value_take(struct lk_cursor *c)
{
    struct lk_msg_value v = {0};
    int32_t n = lk_cursor_i32(c);
    v.null = n == -1;
    if (n >= 0)
        v.data = lk_cursor_bytes(c, (size_t)n);
    else if (n < -1)
        c->bad = true;
    return v;
}

static void
values_skip(struct lk_cursor *c, unsigned count)
{
    for (unsigned i = 0; i < count && !c->bad; i++)
        (void)value_take(c);
}

/* Format codes, count, values: how Bind and FunctionCall both hand over arguments. */
static bool
argument(struct lk_span rest, unsigned index, struct lk_msg_value *out)
{
    struct lk_cursor c = lk_cursor_make(rest);
    struct formats f = formats_take(&c);
    uint16_t count = lk_cursor_u16(&c);
    uint16_t format;
    if (c.bad || index >= count || (f.count > 1 && f.count != count) || !formats_get(&f, index, &format))
        return false;
    values_skip(&c, index);
    *out = value_take(&c);
    out->binary = format == 1;
    return !c.bad;
}

bool
lk_msg_bind_value(struct lk_span rest, unsigned index, struct lk_msg_value *out)
{
    return argument(rest, index, out);
}

bool
lk_msg_bind_result_format(struct lk_span rest, unsigned index, uint16_t *format)
{
    struct lk_cursor c = lk_cursor_make(rest);
    (void)formats_take(&c);
    values_skip(&c, lk_cursor_u16(&c));
    struct formats results = formats_take(&c);
    return lk_cursor_done(&c) && formats_get(&results, index, format);
}

bool
lk_msg_target(struct lk_span body, struct lk_msg_target *out)
{
    struct lk_cursor c = lk_cursor_make(body);
    out->kind = lk_cursor_u8(&c);
    out->name = lk_cursor_cstr(&c);
    return lk_cursor_done(&c) && (out->kind == 'S' || out->kind == 'P');
}

bool
lk_msg_execute(struct lk_span body, struct lk_msg_execute *out)
{
    struct lk_cursor c = lk_cursor_make(body);
    out->portal = lk_cursor_cstr(&c);
    int32_t rows = lk_cursor_i32(&c);
    out->max_rows = rows > 0 ? (uint32_t)rows : 0;
    return lk_cursor_done(&c);
}

bool
lk_msg_fcall(struct lk_span body, struct lk_msg_fcall *out)
{
    struct lk_cursor c = lk_cursor_make(body);
    out->oid = lk_cursor_u32(&c);
    out->rest = c.rest;
    struct formats f = formats_take(&c);
    out->argument_count = lk_cursor_u16(&c);
    values_skip(&c, out->argument_count);
    (void)lk_cursor_u16(&c);
    return lk_cursor_done(&c) && (f.count <= 1 || f.count == out->argument_count);
}

bool
lk_msg_fcall_value(struct lk_span rest, unsigned index, struct lk_msg_value *out)
{
    return argument(rest, index, out);
}

struct lk_span
lk_msg_error_field(struct lk_span body, char code)
{
    struct lk_cursor c = lk_cursor_make(body);
    for (uint8_t at = lk_cursor_u8(&c); at != 0; at = lk_cursor_u8(&c)) {
        struct lk_span text = lk_cursor_cstr(&c);
        if (at == (uint8_t)code)
            return text;
    }
    return lk_span_make(NULL, 0);
}

bool
lk_msg_parameter_status(struct lk_span body, struct lk_msg_param *out)
{
    struct lk_cursor c = lk_cursor_make(body);
    out->name = lk_cursor_cstr(&c);
    out->value = lk_cursor_cstr(&c);
    return lk_cursor_done(&c);
}

bool
lk_msg_row_type(struct lk_span body, unsigned index, uint32_t *type, uint16_t *count)
{
    struct lk_cursor c = lk_cursor_make(body);
    uint16_t columns = lk_cursor_u16(&c);
    if (count)
        *count = columns;
    if (index >= columns)
        return false;
    for (unsigned i = 0; i <= index && !c.bad; i++) {
        (void)lk_cursor_cstr(&c);
        (void)lk_cursor_bytes(&c, 6); /* table and attribute number */
        *type = lk_cursor_u32(&c);
        (void)lk_cursor_bytes(&c, 8); /* size, modifier, format */
    }
    return !c.bad;
}

bool
lk_msg_row_value(struct lk_span body, unsigned index, struct lk_msg_value *out, uint16_t *count)
{
    struct lk_cursor c = lk_cursor_make(body);
    uint16_t columns = lk_cursor_u16(&c);
    if (count)
        *count = columns;
    if (index >= columns)
        return false;
    values_skip(&c, index);
    *out = value_take(&c);
    return !c.bad;
}

bool
lk_msg_authentication(struct lk_span body, uint32_t *code, struct lk_span *rest)
{
    struct lk_cursor c = lk_cursor_make(body);
    *code = lk_cursor_u32(&c);
    *rest = c.rest;
    return !c.bad;
}

bool
lk_msg_backend_key(struct lk_span body, uint32_t *pid, struct lk_span *secret)
{
    struct lk_cursor c = lk_cursor_make(body);
    *pid = lk_cursor_u32(&c);
    *secret = c.rest;
    return !c.bad && secret_fits(c.rest);
}
