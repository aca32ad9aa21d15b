#include "tool/finding.h"

#include "base/mem.h"
#include "sql/lint.h"

#define SHOWN_MAX 160 /* bytes of a statement in the text form */

static const struct {
    enum lk_find find;
    const char *text;
} doubts[] = {
    {LK_FIND_FOREIGN, "a function of such a name in another schema"},
    {LK_FIND_STRING, "a string that speaks of session locks"},
    {LK_FIND_EXECUTE, "EXECUTE of a statement whose text is not here"},
};

static const char *
unparsed_text(enum lk_unparsed why)
{
    static const char *const texts[] = {
        [LK_UNPARSED_NOT] = "",
        [LK_UNPARSED_SYNTAX] = "PostgreSQL 15's grammar does not know it",
        [LK_UNPARSED_LONG] = "it is longer than 256 KB",
        [LK_UNPARSED_TOKENS] = "it has more than 500 tokens",
        [LK_UNPARSED_STRINGS] = "standard_conforming_strings is off",
        [LK_UNPARSED_ENCODING] = "the encoding is not ASCII-safe",
    };
    return texts[why];
}

const char *
lk_finding_doubt(const struct lk_finding *f, size_t i)
{
    if (!f->plan)
        return i == 0 ? unparsed_text(f->analysis->plan->unparsed) : NULL;
    if (f->plan->exact)
        return NULL;
    for (size_t k = 0; k < LK_COUNT(doubts); k++)
        if (f->plan->finds & doubts[k].find && i-- == 0)
            return doubts[k].text;
    bool calls = f->plan->finds & (LK_FIND_LOCK | LK_FIND_UNLOCK);
    return calls && i == 0 ? "a shape or a key that the answer does not tell" : NULL;
}

void
lk_finding_key(const struct lk_call *c, struct lk_buf *out)
{
    size_t n = c->space == LK_SPACE_INT4PAIR ? 2 : c->space == LK_SPACE_BIGINT ? 1 : 0;
    for (size_t i = 0; i < n; i++) {
        const struct lk_part *p = &c->part[i];
        if (i > 0)
            (void)lk_buf_add_u8(out, ',');
        if (p->source == LK_PART_PARAM)
            (void)lk_buf_add_format(out, "$%u", p->param);
        else if (p->source == LK_PART_NULL)
            (void)lk_buf_add_format(out, "NULL");
        else
            (void)lk_buf_add_format(out, "%lld", (long long)p->constant);
    }
    (void)lk_buf_add_u8(out, 0);
}

const char *
lk_finding_mode(const struct lk_function *fn)
{
    return fn->mode == LK_MODE_SHARED ? "shared" : "exclusive";
}

/* One line: each run of white space a blank, other control characters question marks. */
static void
print_statement(struct lk_span s, FILE *out)
{
    bool blank = false;
    size_t shown = 0;
    for (size_t i = 0; i < s.n && shown < SHOWN_MAX; i++) {
        uint8_t c = s.p[i];
        bool space = c == ' ' || (c >= '\t' && c <= '\r');
        if (space && blank)
            continue;
        (void)fputc(space ? ' ' : c < ' ' || c == 0x7f ? '?' : c, out);
        blank = space;
        shown++;
    }
    (void)fputs(shown == SHOWN_MAX ? "...\n" : "\n", out);
}

static void
print_calls(const struct lk_plan_statement *s, FILE *out)
{
    for (uint16_t i = 0; i < s->call_count; i++) {
        const struct lk_call *c = &s->calls[i];
        struct lk_buf key = {0};
        lk_finding_key(c, &key);
        (void)fprintf(out, "    call    %s(%s)", c->fn->name, key.failed ? "" : (const char *)key.data);
        if (c->space != LK_SPACE_NONE)
            (void)fprintf(out, ", %s, %s", lk_space_name(c->space), lk_finding_mode(c->fn));
        (void)fputc('\n', out);
        lk_buf_clear(&key);
    }
    for (unsigned i = 0; s->call_count == 0 && i < LK_FUNCTIONS; i++)
        if (s->functions & 1u << i)
            (void)fprintf(out, "    call    %s\n", lk_function_at(i)->name);
}

static void
print_touch(const struct lk_finding *f, FILE *out)
{
    if (f->plan)
        print_calls(f->plan, out);
    (void)fprintf(out, "    sure    %s\n", f->plan && f->plan->exact ? "exact: the answer tells" : "unsure");
    const char *why;
    for (size_t i = 0; (why = lk_finding_doubt(f, i)); i++)
        (void)fprintf(out, "    why     %s\n", why);
    (void)fprintf(
        out, "    %-7s %s: %s\n", lk_policy_name(f->policy), lk_effect_name(f->effect), lk_effect_text(f->effect));
    if (!f->shorten)
        return;
    (void)fputs("    becomes ", out);
    print_statement(lk_buf_span(&f->rewritten), out);
}

void
lk_finding_print(const struct lk_finding *f, FILE *out)
{
    (void)fprintf(out, "line %u: ", f->statement.line);
    print_statement(f->statement.text, out);
    if (f->touch)
        print_touch(f, out);
    for (size_t i = 0; f->analysis->creates && f->analysis->creates[i]; i++)
        (void)fprintf(out, "    creates %s: takes or frees session locks when it is called\n", f->analysis->creates[i]);
    for (unsigned bit = 1; bit < 1u << LK_LINT_COUNT; bit <<= 1)
        if (f->lints & bit)
            (void)fprintf(out, "    lint    %s: %s\n", lk_lint_name(bit), lk_lint_text(bit));
}
