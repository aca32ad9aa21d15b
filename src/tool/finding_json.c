#include "tool/finding.h"

#include <jansson.h>

#include "journal/utf8.h"
#include "sql/lint.h"
#include "sql/rewrite.h"

/* A JSON string of any bytes. */
static json_t *
json_of(struct lk_span s)
{
    struct lk_buf clean = {0};
    lk_utf8_repair(s, SIZE_MAX, &clean);
    json_t *j = json_stringn(clean.len > 0 ? (const char *)clean.data : "", clean.len);
    lk_buf_clear(&clean);
    return j;
}

static void
set(json_t *object, const char *name, const char *value)
{
    (void)json_object_set_new(object, name, json_string(value));
}

static json_t *
json_calls(const struct lk_plan_statement *s)
{
    json_t *calls = json_array();
    for (uint16_t i = 0; i < s->call_count; i++) {
        const struct lk_call *c = &s->calls[i];
        json_t *o = json_object();
        struct lk_buf key = {0};
        lk_finding_key(c, &key);
        set(o, "function", c->fn->name);
        set(o, "space", lk_space_name(c->space));
        set(o, "key", key.failed ? "" : (const char *)key.data);
        set(o, "mode", lk_finding_mode(c->fn));
        (void)json_object_set_new(o, "column", json_integer(c->column));
        (void)json_array_append_new(calls, o);
        lk_buf_clear(&key);
    }
    for (unsigned i = 0; s->call_count == 0 && i < LK_FUNCTIONS; i++) {
        if (!(s->functions & 1u << i))
            continue;
        json_t *o = json_object();
        set(o, "function", lk_function_at(i)->name);
        (void)json_array_append_new(calls, o);
    }
    return calls;
}

/* The text under rewrite with all its calls shortened, and what Parse must declare. */
static void
json_rewritten(json_t *o, const struct lk_finding *f)
{
    const struct lk_plan *plan = f->analysis->plan;
    json_t *declare = json_object();
    for (uint16_t i = 1; i <= lk_rewrite_param_last(plan, f->shorten); i++) {
        uint32_t type = lk_rewrite_param_type(plan, f->shorten, i);
        char name[8];
        (void)snprintf(name, sizeof(name), "$%u", i);
        if (type != 0)
            (void)json_object_set_new(declare, name, json_integer(type));
    }
    (void)json_object_set_new(o, "becomes", json_of(lk_buf_span(&f->rewritten)));
    (void)json_object_set_new(o, "declare", declare);
}

static void
json_touch(json_t *o, const struct lk_finding *f)
{
    (void)json_object_set_new(o, "calls", f->plan ? json_calls(f->plan) : json_array());
    (void)json_object_set_new(o, "exact", json_boolean(f->plan && f->plan->exact));
    json_t *why = json_array();
    const char *reason;
    for (size_t i = 0; (reason = lk_finding_doubt(f, i)); i++)
        (void)json_array_append_new(why, json_string(reason));
    (void)json_object_set_new(o, "why", why);
    set(o, "policy", lk_policy_name(f->policy));
    set(o, "effect", lk_effect_name(f->effect));
    if (f->shorten)
        json_rewritten(o, f);
}

void
lk_finding_print_json(const struct lk_finding *f, FILE *out)
{
    json_t *o = json_object(), *lints = json_array(), *creates = json_array();
    (void)json_object_set_new(o, "line", json_integer(f->statement.line));
    (void)json_object_set_new(o, "statement", json_of(f->statement.text));
    (void)json_object_set_new(o, "touch", json_boolean(f->touch));
    if (f->touch)
        json_touch(o, f);
    for (size_t i = 0; f->analysis->creates && f->analysis->creates[i]; i++)
        (void)json_array_append_new(creates, json_of(lk_span_str(f->analysis->creates[i])));
    for (unsigned bit = 1; bit < 1u << LK_LINT_COUNT; bit <<= 1)
        if (f->lints & bit)
            (void)json_array_append_new(lints, json_string(lk_lint_name(bit)));
    (void)json_object_set_new(o, "creates", creates);
    (void)json_object_set_new(o, "lints", lints);
    (void)json_dumpf(o, out, JSON_COMPACT);
    (void)fputc('\n', out);
    json_decref(o);
}
