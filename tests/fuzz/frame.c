/* The bytes as a stream of frames, as a startup packet, and as the body of every message that is looked into. */
#include "fuzz.h"

#include "wire/frame.h"
#include "wire/message.h"

static void
startup(struct lk_span body)
{
    struct lk_msg_startup m;
    struct lk_span name, value;
    if (!lk_msg_startup(body, &m))
        return;
    MUST(fuzz_inside(body, m.params) && fuzz_inside(body, m.cancel_secret));
    MUST(m.code != LK_CODE_CANCEL || (m.cancel_secret.n >= 4 && m.cancel_secret.n <= LK_CANCEL_SECRET_MAX));
    while (lk_msg_startup_param(&m.params, &name, &value))
        MUST(name.n > 0 && fuzz_inside(body, name) && fuzz_inside(body, value));
    MUST(m.code >> 16 != 3 || m.params.n == 0);
}

static void
bind(struct lk_span body)
{
    struct lk_msg_bind m;
    struct lk_msg_value v;
    uint16_t format;
    if (!lk_msg_bind(body, &m))
        return;
    MUST(fuzz_inside(body, m.portal) && fuzz_inside(body, m.name) && fuzz_inside(body, m.rest));
    for (unsigned i = 0; lk_msg_bind_value(m.rest, i, &v); i++)
        MUST(fuzz_inside(body, v.data) && (!v.null || v.data.n == 0));
    for (unsigned i = 0; i < 4; i++)
        (void)lk_msg_bind_result_format(m.rest, i, &format);
    (void)lk_msg_bind_value(m.rest, UINT32_MAX, &v);
    (void)lk_msg_bind_result_format(m.rest, UINT32_MAX, &format);
}

static void
fcall(struct lk_span body)
{
    struct lk_msg_fcall m;
    struct lk_msg_value v;
    if (!lk_msg_fcall(body, &m))
        return;
    MUST(fuzz_inside(body, m.rest));
    for (unsigned i = 0; lk_msg_fcall_value(m.rest, i, &v); i++)
        MUST(i < m.argument_count && fuzz_inside(body, v.data));
}

static void
rows(struct lk_span body)
{
    struct lk_msg_value v;
    uint32_t type;
    uint16_t count = 0;
    for (unsigned i = 0; lk_msg_row_type(body, i, &type, &count); i++)
        MUST(i < count);
    for (unsigned i = 0; lk_msg_row_value(body, i, &v, &count); i++)
        MUST(i < count && fuzz_inside(body, v.data) && !v.binary);
    (void)lk_msg_row_type(body, UINT32_MAX, &type, NULL);
    (void)lk_msg_row_value(body, UINT32_MAX, &v, NULL);
}

static void
others(struct lk_span body)
{
    struct lk_msg_parse parse;
    struct lk_msg_target target;
    struct lk_msg_execute execute;
    struct lk_msg_param param;
    struct lk_span rest, secret;
    uint32_t number;
    if (lk_msg_parse(body, &parse))
        MUST(fuzz_inside(body, parse.name) && fuzz_inside(body, parse.text) && fuzz_inside(body, parse.types) &&
             parse.types.n == 4u * parse.type_count);
    if (lk_msg_target(body, &target))
        MUST(fuzz_inside(body, target.name) && (target.kind == 'S' || target.kind == 'P'));
    if (lk_msg_execute(body, &execute))
        MUST(fuzz_inside(body, execute.portal) && execute.max_rows <= INT32_MAX);
    if (lk_msg_parameter_status(body, &param))
        MUST(fuzz_inside(body, param.name) && fuzz_inside(body, param.value));
    if (lk_msg_authentication(body, &number, &rest))
        MUST(fuzz_inside(body, rest));
    if (lk_msg_backend_key(body, &number, &secret))
        MUST(fuzz_inside(body, secret) && secret.n <= LK_CANCEL_SECRET_MAX);
    for (const char *code = "SVCMDHPx"; *code; code++)
        MUST(fuzz_inside(body, lk_msg_error_field(body, *code)));
}

static void
parse_all(struct lk_span body)
{
    startup(body);
    bind(body);
    fcall(body);
    rows(body);
    others(body);
}

/* What a frame's beginning is taken for may change from MORE to PART to WHOLE or BAD as bytes come in, and not back. */
static void
cut(struct lk_span in)
{
    struct lk_frame f, part;
    while (lk_frame_next(in, UINT32_MAX, &f) == LK_FRAME_WHOLE) {
        MUST(f.total <= in.n && f.body.n == f.total - LK_FRAME_HEAD && fuzz_inside(in, f.body));
        MUST(lk_frame_next(lk_span_head(in, f.total - 1), UINT32_MAX, &part) ==
             (f.total > LK_FRAME_HEAD ? LK_FRAME_PART : LK_FRAME_MORE));
        MUST(lk_frame_next(in, f.total, &part) == LK_FRAME_WHOLE &&
             lk_frame_next(in, f.total - 1, &part) == LK_FRAME_BAD);
        parse_all(f.body);
        in = lk_span_skip(in, f.total);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lk_frame f;
    struct lk_span in = lk_span_make(data, size);
    parse_all(in);
    cut(in);
    if (lk_frame_startup(in, &f) == LK_FRAME_WHOLE) {
        MUST(f.type == 0 && f.body.n >= 4 && f.body.n <= LK_FRAME_STARTUP_MAX && f.total == f.body.n + 4);
        parse_all(f.body);
    }
    return 0;
}
