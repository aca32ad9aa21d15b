#include "sql/rewrite.h"

bool
lk_rewrite_possible(const struct lk_plan *plan)
{
    for (uint16_t i = 0; i < plan->count; i++) {
        const struct lk_plan_statement *s = &plan->statements[i];
        if (lk_plan_touches(s) && !s->exact)
            return false;
        for (uint16_t k = 0; k < s->call_count; k++)
            if (s->calls[k].place.len == 0)
                return false;
    }
    return plan->count > 0;
}

/* May a word stand right behind this byte, and right before it? */
static bool
parts_words(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '(' || c == ')' || c == ',' || c == ';' || c == ':';
}

static void
add_word(struct lk_buf *out, const char *word)
{
    if (out->len > 0 && !parts_words(out->data[out->len - 1]))
        (void)lk_buf_add_u8(out, ' ');
    (void)lk_buf_add(out, word, strlen(word));
}

/* What stands for a call. */
static void
add_call(struct lk_buf *out, struct lk_span sql, const struct lk_call *c)
{
    const struct lk_place *p = &c->place;
    const struct lk_function *sibling = lk_function_xact(c->fn);
    if (sibling) {
        add_word(out, "pg_catalog.");
        (void)lk_buf_add(out, sibling->name, strlen(sibling->name));
        (void)lk_buf_add(out, sql.p + p->at + p->name_len, p->len - p->name_len);
        return;
    }
    add_word(out, "true");
    if (p->at + p->len < sql.n && !parts_words(sql.p[p->at + p->len]))
        (void)lk_buf_add_u8(out, ' ');
}

void
lk_rewrite_text(struct lk_span sql, const struct lk_plan *plan, const bool *shorten, struct lk_buf *out)
{
    size_t done = 0;
    for (uint16_t i = 0; i < plan->count; i++) {
        const struct lk_plan_statement *s = &plan->statements[i];
        for (uint16_t k = 0; k < s->call_count; k++, shorten++) {
            const struct lk_place *p = &s->calls[k].place;
            if (!*shorten)
                continue;
            (void)lk_buf_add(out, sql.p + done, p->at - done);
            add_call(out, sql, &s->calls[k]);
            done = p->at + p->len;
            if (p->aliased)
                continue;
            /* A column that has no name of its own is named after the function, under a cast too. */
            (void)lk_buf_add(out, sql.p + done, p->column_end - done);
            (void)lk_buf_add(out, " AS ", 4);
            (void)lk_buf_add(out, s->calls[k].fn->name, strlen(s->calls[k].fn->name));
            done = p->column_end;
        }
    }
    (void)lk_buf_add_span(out, lk_span_skip(sql, done));
}

/* How many arguments a call has. */
static size_t
parts_of(const struct lk_call *c)
{
    return c->space == LK_SPACE_INT4PAIR ? 2 : c->space == LK_SPACE_BIGINT ? 1 : 0;
}

/* As what type the server takes an argument whose type is left open. */
static uint32_t
type_of(const struct lk_call *c, const struct lk_part *part)
{
    if (part->cast_type != 0)
        return part->cast_type;
    return c->space == LK_SPACE_INT4PAIR ? LK_TYPE_INT4 : LK_TYPE_INT8;
}

uint32_t
lk_rewrite_param_type(const struct lk_plan *plan, const bool *shorten, uint16_t param)
{
    uint32_t type = 0;
    bool lost = false;
    for (uint16_t i = 0; i < plan->count; i++) {
        const struct lk_plan_statement *s = &plan->statements[i];
        for (uint16_t k = 0; k < s->call_count; k++, shorten++) {
            const struct lk_call *c = &s->calls[k];
            for (size_t j = 0; j < parts_of(c); j++) {
                if (c->part[j].source != LK_PART_PARAM || c->part[j].param != param)
                    continue;
                /* The first mention decides: later ones are read as that type. */
                if (type == 0)
                    type = type_of(c, &c->part[j]);
                lost = lost || (*shorten && c->fn->op == LK_CALL_UNLOCK);
            }
        }
    }
    return lost ? type : 0;
}

uint16_t
lk_rewrite_param_last(const struct lk_plan *plan, const bool *shorten)
{
    uint16_t last = 0;
    for (uint16_t i = 0; i < plan->count; i++) {
        const struct lk_plan_statement *s = &plan->statements[i];
        for (uint16_t k = 0; k < s->call_count; k++, shorten++) {
            const struct lk_call *c = &s->calls[k];
            for (size_t j = 0; *shorten && c->fn->op == LK_CALL_UNLOCK && j < parts_of(c); j++)
                if (c->part[j].source == LK_PART_PARAM && c->part[j].param > last)
                    last = c->part[j].param;
        }
    }
    return last;
}
