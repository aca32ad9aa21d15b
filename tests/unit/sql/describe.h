/* A plan as one line of text, for tables of tests. */
#ifndef TESTS_UNIT_SQL_DESCRIBE_H
#define TESTS_UNIT_SQL_DESCRIBE_H

#include <stdarg.h>
#include <stdio.h>

#include "lock/call.h"

static inline const char *
type_name(uint32_t oid)
{
    switch (oid) {
    case LK_TYPE_BOOL:
        return "bool";
    case LK_TYPE_INT8:
        return "int8";
    case LK_TYPE_INT4:
        return "int4";
    case LK_TYPE_INT2:
        return "int2";
    case LK_TYPE_TEXT:
        return "text";
    case LK_TYPE_VOID:
        return "void";
    default:
        return "?";
    }
}

static inline void
put(char *out, size_t room, const char *format, ...)
{
    size_t n = strlen(out);
    va_list args;
    va_start(args, format);
    vsnprintf(out + n, room - n, format, args);
    va_end(args);
}

static inline void
put_part(char *out, size_t room, const struct lk_part *p)
{
    if (p->source == LK_PART_NULL)
        put(out, room, "null");
    else if (p->source == LK_PART_CONSTANT)
        put(out, room, "%lld", (long long)p->constant);
    else
        put(out, room, p->cast_type ? "$%u:%s" : "$%u", p->param, type_name(p->cast_type));
}

/* exact/COLUMNS COLUMN:FUNCTION(KEYS):TYPE … | unsure | - for each statement, joined by ';'; "none" and "unparsed". */
static inline void
describe(const struct lk_plan *plan, char *out, size_t room)
{
    out[0] = 0;
    if (!plan) {
        put(out, room, "none");
        return;
    }
    if (plan->count == 0)
        put(out, room, "unparsed");
    for (size_t i = 0; i < plan->count; i++) {
        const struct lk_plan_statement *s = &plan->statements[i];
        put(out, room, "%s%s", i > 0 ? "; " : "", !lk_plan_touches(s) ? "-" : s->exact ? "exact" : "unsure");
        if (s->exact)
            put(out, room, "/%u", s->columns);
        for (size_t j = 0; j < s->call_count; j++) {
            const struct lk_call *c = &s->calls[j];
            put(out, room, " %u:%s(", c->column, c->fn->name);
            for (size_t k = 0; k < (size_t)c->space; k++) {
                put(out, room, k > 0 ? "," : "");
                put_part(out, room, &c->part[k]);
            }
            put(out, room, "):%s", type_name(c->result_type));
        }
    }
}

#endif
