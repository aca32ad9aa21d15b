/* Texts of the white list, written in any way that PostgreSQL's grammar allows: each call is found with its function,
 * key and place, and shortened it leaves no session lock. LK_SEED=n plays one run again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sql/recognise.h"
#include "sql/rewrite.h"

#define ROUNDS 3000
#define ROOM 4000
#define CALLS_MAX 6

static uint64_t dice;

static uint32_t
roll(uint32_t sides)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (uint32_t)(dice >> 33) % sides;
}

static void
start(const char *name)
{
    const char *fixed = getenv("LK_SEED");
    dice = fixed ? strtoull(fixed, NULL, 10) : 20261130;
    print_message("%s: LK_SEED=%llu\n", name, (unsigned long long)dice);
}

/* A call as it was written. */
struct written {
    const struct lk_function *fn;
    bool pair, params, aliased, qualified;
    int64_t key[2]; /* or numbers of parameters */
    size_t at, end, column_end;
};

struct script {
    char text[ROOM];
    size_t n;
    struct written calls[CALLS_MAX];
    size_t count;
};

static void
put(struct script *s, const char *what)
{
    size_t n = strlen(what);
    assert_true(s->n + n < ROOM);
    memcpy(s->text + s->n, what, n + 1);
    s->n += n;
}

/* What may stand between two tokens. */
static void
gap(struct script *s, bool needed)
{
    static const char *const gaps[] = {" ", "\n", "\t ", "/* ) , ' */", " -- ), '\n", "/* a /* b */ é */", " /**/ "};
    if (needed || roll(3) == 0)
        put(s, gaps[roll(LK_COUNT(gaps))]);
}

static void
put_name(struct script *s, const char *name, bool unicode)
{
    char spelt[100];
    size_t n = 0;
    uint32_t form = roll(unicode ? 4 : 3);
    if (form == 0) {
        put(s, name);
        return;
    }
    if (form == 1) {
        for (; name[n]; n++)
            spelt[n] = (char)(roll(2) && name[n] != '_' ? name[n] - 'a' + 'A' : name[n]);
        spelt[n] = 0;
    } else if (form == 2) {
        (void)snprintf(spelt, sizeof(spelt), "\"%s\"", name);
    } else {
        (void)snprintf(spelt, sizeof(spelt), "U&\"!%04x%s\" uescape '!'", (unsigned)name[0], name + 1);
    }
    put(s, spelt);
}

static void
put_key(struct script *s, struct written *w, size_t i)
{
    static const struct {
        const char *before, *behind;
    } constants[] = {{"", ""}, {"'", "'"}, {"(", ")"}, {"cast(", " as int)"}, {"'", "'::integer"}, {"int2'", "'"}},
      params[] = {{"$", ""}, {"($", ")"}, {"$", "::int4"}, {"cast($", " as int2)"}, {"$", "::smallint::int"}};
    char spelt[60];
    size_t form = roll(w->params ? LK_COUNT(params) : LK_COUNT(constants));
    w->key[i] = w->params ? 1 + roll(9) : (int64_t)roll(60000) - 30000;
    (void)snprintf(spelt, sizeof(spelt), "%s%lld%s", w->params ? params[form].before : constants[form].before,
        (long long)w->key[i], w->params ? params[form].behind : constants[form].behind);
    gap(s, false);
    put(s, spelt);
    gap(s, false);
}

static void
put_call(struct script *s, struct written *w)
{
    w->qualified = roll(3) == 0;
    if (w->qualified) {
        put_name(s, "pg_catalog", false);
        gap(s, false);
        put(s, ".");
        gap(s, false);
    }
    put_name(s, w->fn->name, true);
    gap(s, false);
    put(s, "(");
    gap(s, false);
    if (w->fn->op != LK_CALL_UNLOCK_ALL) {
        put_key(s, w, 0);
        if (w->pair) {
            put(s, ",");
            put_key(s, w, 1);
        }
    }
    put(s, ")");
}

static void
put_column(struct script *s)
{
    static const char *const inert[] = {"1", "'it''s pg(,;'", "$3", "null", "E'\\', )'", "-7", "$x$ ) $x$ /* é */ a"};
    static const char *const aliases[] = {" as x", " y", "\"é\"", " As \"a b\""};
    static const char *const casts[] = {"", "::text", " :: pg_catalog.text"};
    if (s->count == CALLS_MAX || roll(4) == 0) {
        put(s, inert[roll(LK_COUNT(inert))]);
        return;
    }
    struct written *w = &s->calls[s->count++];
    do
        w->fn = lk_function_at(roll(LK_FUNCTIONS));
    while (w->fn->xact);
    w->pair = roll(3) == 0;
    w->params = roll(2);
    uint32_t cast = roll(5);
    bool parens = roll(4) == 0, cast_word = cast == 3;
    put(s, cast_word ? "cast(" : parens ? "(" : "");
    gap(s, cast_word);
    w->at = s->n;
    put_call(s, w);
    w->end = s->n;
    gap(s, false);
    put(s, cast_word ? " as text)" : parens ? ")" : "");
    w->column_end = cast_word || parens ? s->n : w->end;
    if (cast < LK_COUNT(casts) && casts[cast][0]) {
        put(s, casts[cast]);
        w->column_end = s->n;
    }
    w->aliased = roll(3) == 0;
    if (w->aliased) {
        put(s, aliases[roll(LK_COUNT(aliases))]);
        w->column_end = s->n;
    }
}

static void
write_script(struct script *s)
{
    *s = (struct script){0};
    for (uint32_t left = 1 + roll(3); left > 0; left--) {
        gap(s, false);
        put(s, roll(2) ? "select" : "SELECT ALL");
        gap(s, true);
        for (uint32_t columns = 1 + roll(3); columns > 0; columns--) {
            put_column(s);
            gap(s, false);
            put(s, columns > 1 ? "," : "");
            gap(s, false);
        }
        put(s, ";");
    }
}

static void
check_call(const struct script *s, const struct written *w, const struct lk_call *c)
{
    assert_ptr_equal(c->fn, w->fn);
    assert_int_equal(c->place.at, w->at);
    assert_int_equal(c->place.at + c->place.len, w->end);
    assert_int_equal(c->place.column_end, w->column_end);
    assert_int_equal(c->place.aliased, w->aliased);
    assert_int_equal(c->place.qualified, w->qualified);
    if (w->fn->op == LK_CALL_UNLOCK_ALL) {
        assert_int_equal(c->space, LK_SPACE_NONE);
        return;
    }
    assert_int_equal(c->space, w->pair ? LK_SPACE_INT4PAIR : LK_SPACE_BIGINT);
    for (size_t i = 0; i < (w->pair ? 2 : 1); i++) {
        assert_int_equal(c->part[i].source, w->params ? LK_PART_PARAM : LK_PART_CONSTANT);
        assert_true((w->params ? c->part[i].param : c->part[i].constant) == w->key[i]);
    }
}

static void
check_rewritten(const struct script *s, const struct lk_plan *plan)
{
    bool shorten[CALLS_MAX];
    unsigned left = 0;
    for (size_t i = 0; i < s->count; i++) {
        shorten[i] = s->calls[i].fn->op != LK_CALL_UNLOCK_ALL && roll(4) > 0;
        left += !shorten[i];
    }
    struct lk_buf text = {0};
    lk_rewrite_text(lk_span_str(s->text), plan, shorten, &text);
    (void)lk_buf_add_u8(&text, 0);
    struct lk_recognised then = lk_recognise(lk_span_make(text.data, text.len - 1));
    unsigned touches = 0;
    for (uint16_t i = 0; then.plan && i < then.plan->count; i++)
        touches += lk_plan_touches(&then.plan->statements[i]);
    if (then.plan ? then.plan->count != plan->count || touches > left : left > 0)
        fail_msg("%s\n%s", s->text, (const char *)text.data);
    lk_recognised_clear(&then);
    lk_buf_clear(&text);
}

static void
each_call_is_found_as_it_was_written(void **state)
{
    start("calls");
    for (int i = 0; i < ROUNDS; i++) {
        struct script s;
        write_script(&s);
        struct lk_recognised r = lk_recognise(lk_span_str(s.text));
    struct lk_plan *plan = r.plan;
        if (s.count == 0) {
            assert_null(plan);
            continue;
        }
        if (!plan || !lk_rewrite_possible(plan))
            fail_msg("%s", s.text);
        size_t n = 0;
        for (uint16_t k = 0; k < plan->count; k++)
            for (uint16_t j = 0; j < plan->statements[k].call_count; j++, n++)
                if (n < s.count)
                    check_call(&s, &s.calls[n], &plan->statements[k].calls[j]);
        assert_int_equal(n, s.count);
        check_rewritten(&s, plan);
        lk_recognised_clear(&r);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_is_found_as_it_was_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
