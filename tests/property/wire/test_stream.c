/* Random streams: however the bytes are split on their way, the frames are the same; what was built parses to the
 * values it was built from; and no prefix or garbled body makes a parser read beyond its end (the sanitizers watch). */
#include "wire/build.h"
#include "wire/frame.h"
#include "wire/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/mem.h"

enum { ROUNDS = 400, FRAMES_MAX = 40, TEXT_MAX = 60 };

static uint64_t seed;

/* xorshift64*: the same seed gives the same run everywhere. */
static uint32_t
below(uint32_t bound)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return (uint32_t)((seed * 2685821657736338717ULL) >> 32) % bound;
}

static const char *
random_text(char out[TEXT_MAX + 1])
{
    uint32_t n = below(TEXT_MAX + 1);
    for (uint32_t i = 0; i < n; i++)
        out[i] = (char)(1 + below(255));
    out[n] = '\0';
    return out;
}

struct seen {
    uint64_t hash; /* over type, length and body of all frames */
    size_t frames;
};

static void
note(struct seen *s, const struct lk_frame *f)
{
    s->frames++;
    s->hash = (s->hash ^ f->type ^ (uint64_t)f->total << 8) * 1099511628211ULL;
    for (size_t i = 0; i < f->body.n; i++)
        s->hash = (s->hash ^ f->body.p[i]) * 1099511628211ULL;
}

/* Feeds the stream in pieces of 1 to piece_max bytes and cuts whatever lies there after each. */
static struct seen
cut(struct lk_span stream, uint32_t piece_max)
{
    struct seen s = {0};
    struct lk_buf held = {0};
    while (stream.n > 0) {
        size_t n = 1 + below(piece_max);
        n = n < stream.n ? n : stream.n;
        lk_buf_add(&held, stream.p, n);
        stream = lk_span_skip(stream, n);
        struct lk_frame f;
        enum lk_frame_status status;
        while ((status = lk_frame_next(lk_buf_span(&held), UINT32_MAX, &f)) == LK_FRAME_WHOLE) {
            note(&s, &f);
            lk_buf_drop(&held, f.total);
        }
        assert_int_not_equal(status, LK_FRAME_BAD);
        if (status == LK_FRAME_PART)
            assert_int_equal(f.body.n + LK_FRAME_HEAD, held.len);
    }
    assert_int_equal(held.len, 0);
    lk_buf_clear(&held);
    return s;
}

static void
any_split_of_the_bytes_gives_the_same_frames(void **state)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct lk_buf stream = {0};
        uint32_t frames = 1 + below(FRAMES_MAX);
        for (uint32_t i = 0; i < frames; i++) {
            size_t at = lk_build_begin(&stream, (uint8_t)below(256));
            for (uint32_t n = below(4) ? below(20) : below(3000); n > 0; n--)
                lk_buf_add_u8(&stream, (uint8_t)below(256));
            lk_build_end(&stream, at);
        }
        struct seen whole = cut(lk_buf_span(&stream), UINT32_MAX - 1);
        const uint32_t pieces[] = {1, 7, 100, 5000};
        for (size_t i = 0; i < LK_COUNT(pieces); i++) {
            struct seen split = cut(lk_buf_span(&stream), pieces[i]);
            assert_int_equal(split.frames, frames);
            assert_true(split.hash == whole.hash && whole.frames == frames);
        }
        lk_buf_clear(&stream);
    }
}

/* The body of the one frame in b. */
static struct lk_span
body_of(const struct lk_buf *b)
{
    struct lk_frame f;
    assert_false(b->failed);
    assert_int_equal(lk_frame_next(lk_buf_span(b), UINT32_MAX, &f), LK_FRAME_WHOLE);
    assert_int_equal(f.total, b->len);
    return f.body;
}

static void
parse_round_trip(void)
{
    char name[TEXT_MAX + 1], text[TEXT_MAX + 1];
    uint8_t types[4 * 5];
    for (size_t i = 0; i < sizeof(types); i++)
        types[i] = (uint8_t)below(256);
    uint16_t count = (uint16_t)below(6);
    struct lk_buf b = {0};
    struct lk_msg_parse m;
    lk_build_parse(
        &b, random_text(name), lk_span_str(random_text(text)), count, lk_span_make(types, (size_t)count * 4));
    assert_true(lk_msg_parse(body_of(&b), &m));
    assert_true(lk_span_is(m.name, name) && lk_span_is(m.text, text));
    assert_int_equal(m.type_count, count);
    assert_true(lk_span_eq(m.types, lk_span_make(types, (size_t)count * 4)));
    lk_buf_clear(&b);
}

static void
bind_round_trip(void)
{
    char name[TEXT_MAX + 1], values[5][TEXT_MAX + 1];
    struct lk_span params[5];
    uint16_t count = (uint16_t)below(6);
    for (unsigned i = 0; i < count; i++)
        params[i] = below(4) ? lk_span_str(random_text(values[i])) : lk_span_make(NULL, 0);
    struct lk_buf b = {0};
    struct lk_msg_bind m;
    lk_build_bind(&b, random_text(name), params, count);
    assert_true(lk_msg_bind(body_of(&b), &m));
    assert_true(lk_span_is(m.name, name) && m.portal.n == 0);
    struct lk_msg_value v;
    for (unsigned i = 0; i < count; i++) {
        assert_true(lk_msg_bind_value(m.rest, i, &v));
        assert_true(v.null == !params[i].p && !v.binary && lk_span_eq(v.data, params[i]));
    }
    assert_false(lk_msg_bind_value(m.rest, count, &v));
    uint16_t format;
    assert_true(lk_msg_bind_result_format(m.rest, 0, &format) && format == 0);
    lk_buf_clear(&b);
}

static void
row_round_trip(void)
{
    char texts[5][TEXT_MAX + 1];
    const char *values[5];
    struct lk_build_column columns[5];
    uint16_t count = (uint16_t)(1 + below(5)), seen;
    for (unsigned i = 0; i < count; i++) {
        columns[i] = (struct lk_build_column){random_text(texts[i]), below(UINT32_MAX)};
        values[i] = below(4) ? texts[i] : NULL;
    }
    struct lk_buf b = {0};
    lk_build_row_description(&b, columns, count);
    for (unsigned i = 0; i < count; i++) {
        uint32_t type = 0;
        assert_true(lk_msg_row_type(body_of(&b), i, &type, &seen));
        assert_true(type == columns[i].type && seen == count);
    }
    lk_buf_clear(&b);
    lk_build_data_row(&b, values, count);
    for (unsigned i = 0; i < count; i++) {
        struct lk_msg_value v;
        assert_true(lk_msg_row_value(body_of(&b), i, &v, &seen));
        assert_true(seen == count && v.null == !values[i] && (v.null || lk_span_is(v.data, values[i])));
    }
    lk_buf_clear(&b);
}

static void
error_round_trip(void)
{
    char message[TEXT_MAX + 1], detail[TEXT_MAX + 1], hint[TEXT_MAX + 1];
    struct lk_error e;
    lk_error_set(&e, "40P01", "%s", random_text(message));
    lk_error_detail(&e, "%s", random_text(detail));
    lk_error_hint(&e, "%s", random_text(hint));
    struct lk_buf b = {0};
    lk_build_error(&b, "ERROR", &e, below(2) == 0);
    struct lk_span body = body_of(&b);
    assert_true(lk_span_is(lk_msg_error_field(body, 'S'), "ERROR"));
    assert_true(lk_span_is(lk_msg_error_field(body, 'C'), "40P01"));
    assert_true(lk_span_is(lk_msg_error_field(body, 'M'), message));
    assert_true(lk_span_is(lk_msg_error_field(body, 'D'), detail));
    assert_true(lk_span_is(lk_msg_error_field(body, 'H'), hint));
    lk_buf_clear(&b);
}

static void
small_messages_round_trip(void)
{
    char one[TEXT_MAX + 1], two[TEXT_MAX + 1];
    struct lk_buf b = {0};
    struct lk_msg_execute execute;
    uint32_t rows = below(INT32_MAX);
    lk_build_execute(&b, random_text(one), rows);
    assert_true(lk_msg_execute(body_of(&b), &execute));
    assert_true(lk_span_is(execute.portal, one) && execute.max_rows == rows);
    lk_buf_clear(&b);

    struct lk_msg_target target;
    lk_build_target(&b, 'D', below(2) ? 'S' : 'P', random_text(one));
    assert_true(lk_msg_target(body_of(&b), &target) && lk_span_is(target.name, one));
    lk_buf_clear(&b);

    struct lk_msg_param param;
    lk_build_parameter_status(&b, random_text(one), random_text(two));
    assert_true(lk_msg_parameter_status(body_of(&b), &param));
    assert_true(lk_span_is(param.name, one) && lk_span_is(param.value, two));
    lk_buf_clear(&b);

    struct lk_msg_fcall call;
    uint32_t oid = below(UINT32_MAX);
    lk_build_fcall(&b, oid);
    assert_true(lk_msg_fcall(body_of(&b), &call) && call.oid == oid && call.argument_count == 0);
    lk_buf_clear(&b);
}

static void
startup_round_trip(void)
{
    char texts[6][TEXT_MAX + 2];
    const char *pairs[7] = {0};
    unsigned count = 2 * below(4);
    for (unsigned i = 0; i < count; i++) {
        texts[i][0] = 'n'; /* a name is not empty */
        (void)random_text(texts[i] + 1);
        pairs[i] = texts[i];
    }
    struct lk_buf b = {0};
    struct lk_frame f;
    struct lk_msg_startup m;
    lk_build_startup(&b, LK_PROTOCOL_3_0, pairs);
    assert_int_equal(lk_frame_startup(lk_buf_span(&b), &f), LK_FRAME_WHOLE);
    assert_int_equal(f.total, b.len);
    assert_true(lk_msg_startup(f.body, &m) && m.code == LK_PROTOCOL_3_0);
    struct lk_span name, value;
    for (unsigned i = 0; i < count; i += 2) {
        assert_true(lk_msg_startup_param(&m.params, &name, &value));
        assert_true(lk_span_is(name, pairs[i]) && lk_span_is(value, pairs[i + 1]));
    }
    assert_false(lk_msg_startup_param(&m.params, &name, &value));
    lk_buf_clear(&b);
}

static void
build_then_parse_gives_the_value_back(void **state)
{
    for (int round = 0; round < ROUNDS; round++) {
        parse_round_trip();
        bind_round_trip();
        row_round_trip();
        error_round_trip();
        small_messages_round_trip();
        startup_round_trip();
    }
}

static void
try_all_parsers(struct lk_span body)
{
    union {
        struct lk_msg_startup startup;
        struct lk_msg_parse parse;
        struct lk_msg_bind bind;
        struct lk_msg_target target;
        struct lk_msg_execute execute;
        struct lk_msg_fcall fcall;
        struct lk_msg_param param;
        struct lk_msg_value value;
        uint32_t number;
        uint16_t format;
    } out;
    uint32_t number;
    struct lk_span rest;
    (void)lk_msg_startup(body, &out.startup);
    (void)lk_msg_parse(body, &out.parse);
    if (lk_msg_bind(body, &out.bind))
        (void)lk_msg_bind_value(out.bind.rest, below(4), &out.value);
    (void)lk_msg_bind_result_format(body, below(4), &out.format);
    (void)lk_msg_target(body, &out.target);
    (void)lk_msg_execute(body, &out.execute);
    if (lk_msg_fcall(body, &out.fcall))
        (void)lk_msg_fcall_value(out.fcall.rest, below(4), &out.value);
    (void)lk_msg_parameter_status(body, &out.param);
    (void)lk_msg_error_field(body, (char)below(256));
    (void)lk_msg_row_type(body, below(4), &out.number, NULL);
    (void)lk_msg_row_value(body, below(4), &out.value, NULL);
    (void)lk_msg_authentication(body, &number, &rest);
    (void)lk_msg_backend_key(body, &number, &rest);
}

static void
a_garbled_body_is_never_read_beyond_its_end(void **state)
{
    for (int round = 0; round < ROUNDS * 25; round++) {
        size_t n = below(64);
        /* Of its very size, so that a sanitizer sees the first byte too many. */
        uint8_t *bytes = lk_mem_new(n + (n == 0));
        for (size_t i = 0; i < n; i++)
            bytes[i] = (uint8_t)(below(3) ? below(4) : below(256));
        try_all_parsers(lk_span_make(bytes, n));
        free(bytes);
    }
}

int
main(void)
{
    const char *given = getenv("LK_SEED");
    seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    printf("seed: LK_SEED=%llu\n", (unsigned long long)seed);
    seed = seed ? seed * 0x9e3779b97f4a7c15ULL : 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_split_of_the_bytes_gives_the_same_frames),
        cmocka_unit_test(build_then_parse_gives_the_value_back),
        cmocka_unit_test(a_garbled_body_is_never_read_beyond_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
