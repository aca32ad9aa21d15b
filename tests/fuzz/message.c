/* Messages are built from fields that the input names; what is built is one frame, and parses to the same fields. */
#include "fuzz.h"

#include "base/mem.h"
#include "wire/build.h"
#include "wire/frame.h"
#include "wire/message.h"

#define VALUES_MAX 8

struct fields {
    char *texts[2]; /* owned */
    struct lk_span bytes;
    struct lk_span values[VALUES_MAX];
    uint16_t count;
    uint32_t number;
};

static char *
text(struct lk_span *in)
{
    return lk_mem_dup_span(fuzz_until(in, 0));
}

static void
read_fields(struct fields *f, struct lk_span *in)
{
    for (size_t i = 0; i < LK_COUNT(f->texts); i++)
        f->texts[i] = text(in);
    for (int i = 0; i < 4; i++)
        f->number = f->number << 8 | fuzz_u8(in);
    f->count = fuzz_u8(in) % (VALUES_MAX + 1);
    for (unsigned i = 0; i < f->count; i++) {
        uint8_t n = fuzz_u8(in);
        f->values[i] = n == UINT8_MAX ? lk_span_make(NULL, 0) : fuzz_bytes(in, n);
    }
    f->bytes = *in;
}

/* The body of the one frame in b. */
static struct lk_span
body_of(const struct lk_buf *b, uint8_t type)
{
    struct lk_frame f;
    MUST(!b->failed);
    MUST(lk_frame_next(lk_buf_span(b), UINT32_MAX, &f) == LK_FRAME_WHOLE);
    MUST(f.total == b->len && f.type == type);
    return f.body;
}

static void
queries(struct lk_buf *b, const struct fields *f)
{
    struct lk_msg_parse parse;
    struct lk_msg_bind bind;
    struct lk_msg_value v;
    uint16_t types = (uint16_t)(f->bytes.n / 4 > UINT16_MAX ? UINT16_MAX : f->bytes.n / 4);
    lk_build_parse(b, f->texts[0], lk_span_str(f->texts[1]), types, lk_span_head(f->bytes, 4u * types));
    MUST(lk_msg_parse(body_of(b, 'P'), &parse));
    MUST(lk_span_is(parse.name, f->texts[0]) && lk_span_is(parse.text, f->texts[1]) && parse.type_count == types);
    MUST(lk_span_eq(parse.types, lk_span_head(f->bytes, 4u * types)));
    b->len = 0;
    lk_build_bind(b, f->texts[0], f->values, f->count);
    MUST(lk_msg_bind(body_of(b, 'B'), &bind) && lk_span_is(bind.name, f->texts[0]) && bind.portal.n == 0);
    for (unsigned i = 0; i < f->count; i++) {
        MUST(lk_msg_bind_value(bind.rest, i, &v) && v.null == !f->values[i].p && !v.binary);
        MUST(lk_span_eq(v.data, f->values[i]));
    }
    MUST(!lk_msg_bind_value(bind.rest, f->count, &v));
    b->len = 0;
    lk_build_query(b, lk_span_str(f->texts[0]));
    struct lk_span body = body_of(b, 'Q');
    MUST(body.n == strlen(f->texts[0]) + 1 && lk_span_is(lk_span_head(body, body.n - 1), f->texts[0]));
    b->len = 0;
}

static void
small(struct lk_buf *b, const struct fields *f)
{
    struct lk_msg_target target;
    struct lk_msg_execute execute;
    struct lk_msg_fcall fcall;
    struct lk_msg_param param;
    lk_build_target(b, 'D', 'S', f->texts[0]);
    MUST(lk_msg_target(body_of(b, 'D'), &target) && target.kind == 'S' && lk_span_is(target.name, f->texts[0]));
    b->len = 0;
    lk_build_execute(b, f->texts[0], f->number);
    MUST(lk_msg_execute(body_of(b, 'E'), &execute) && lk_span_is(execute.portal, f->texts[0]));
    MUST(execute.max_rows == (f->number > INT32_MAX ? 0 : f->number));
    b->len = 0;
    lk_build_fcall(b, f->number);
    MUST(lk_msg_fcall(body_of(b, 'F'), &fcall) && fcall.oid == f->number && fcall.argument_count == 0);
    b->len = 0;
    lk_build_parameter_status(b, f->texts[0], f->texts[1]);
    MUST(lk_msg_parameter_status(body_of(b, 'S'), &param));
    MUST(lk_span_is(param.name, f->texts[0]) && lk_span_is(param.value, f->texts[1]));
    b->len = 0;
}

static void
answers(struct lk_buf *b, const struct fields *f)
{
    struct lk_error e;
    const char *rows[2] = {f->texts[0], NULL};
    struct lk_msg_value v;
    struct lk_span rest;
    uint32_t number;
    uint16_t count;
    lk_error_set(&e, "42601", "%s", f->texts[0]);
    lk_error_detail(&e, "%s", f->texts[1]);
    lk_build_error(b, "ERROR", &e, false);
    struct lk_span body = body_of(b, 'E');
    MUST(lk_span_is(lk_msg_error_field(body, 'C'), "42601") && lk_span_is(lk_msg_error_field(body, 'M'), e.message));
    MUST(lk_span_is(lk_msg_error_field(body, 'D'), e.detail));
    b->len = 0;
    lk_build_data_row(b, rows, 2);
    body = body_of(b, 'D');
    MUST(lk_msg_row_value(body, 0, &v, &count) && count == 2 && lk_span_is(v.data, f->texts[0]));
    MUST(lk_msg_row_value(body, 1, &v, NULL) && v.null);
    b->len = 0;
    lk_build_authentication(b, f->number, f->bytes);
    MUST(lk_msg_authentication(body_of(b, 'R'), &number, &rest) && number == f->number && lk_span_eq(rest, f->bytes));
    b->len = 0;
}

/* Startup packets and keys. */
static void
beginnings(struct lk_buf *b, const struct fields *f)
{
    struct lk_msg_startup m;
    struct lk_frame frame;
    struct lk_span name, value, secret;
    uint32_t pid;
    const char *pairs[] = {"user", f->texts[0], "database", f->texts[1], NULL};
    lk_build_startup(b, LK_PROTOCOL_3_0, pairs);
    if (lk_frame_startup(lk_buf_span(b), &frame) == LK_FRAME_WHOLE) {
        MUST(lk_msg_startup(frame.body, &m) && m.code == LK_PROTOCOL_3_0);
        MUST(lk_msg_startup_param(&m.params, &name, &value) && lk_span_is(name, "user") &&
             lk_span_is(value, f->texts[0]));
        MUST(lk_msg_startup_param(&m.params, &name, &value) && lk_span_is(value, f->texts[1]));
        MUST(!lk_msg_startup_param(&m.params, &name, &value));
    }
    b->len = 0;
    struct lk_span key = lk_span_head(f->bytes, f->bytes.n < LK_CANCEL_SECRET_MAX ? f->bytes.n : LK_CANCEL_SECRET_MAX);
    if (key.n < 4)
        return;
    lk_build_cancel(b, f->number, key);
    MUST(lk_frame_startup(lk_buf_span(b), &frame) == LK_FRAME_WHOLE && lk_msg_startup(frame.body, &m));
    MUST(m.code == LK_CODE_CANCEL && m.cancel_pid == f->number && lk_span_eq(m.cancel_secret, key));
    b->len = 0;
    lk_build_backend_key(b, f->number, key);
    MUST(lk_msg_backend_key(body_of(b, 'K'), &pid, &secret) && pid == f->number && lk_span_eq(secret, key));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fields f = {0};
    struct lk_buf b = {0};
    struct lk_span in = lk_span_make(data, size);
    read_fields(&f, &in);
    queries(&b, &f);
    small(&b, &f);
    answers(&b, &f);
    beginnings(&b, &f);
    lk_buf_clear(&b);
    for (size_t i = 0; i < LK_COUNT(f.texts); i++)
        free(f.texts[i]);
    return 0;
}
