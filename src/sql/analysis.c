#include "sql/analysis.h"

#include <stdlib.h>

#include "base/mem.h"
#include "sql/fingerprint.h"
#include "sql/gate.h"
#include "sql/lint.h"
#include "sql/recognise.h"

/* A quoted or unquoted name as PostgreSQL keeps it. Owner: the caller. */
static char *
read_name(const struct lk_lexeme *t)
{
    char *name = lk_mem_dup_span(lk_span_make(t->p, t->n));
    char *to = name;
    if (t->kind == LK_LEX_QUOTED) {
        for (const char *from = name + 1; from < name + t->n - 1; from++) {
            from += from[0] == '"';
            *to++ = *from;
        }
        *to = 0;
        return name;
    }
    for (; *to; to++)
        if (*to >= 'A' && *to <= 'Z')
            *to = (char)(*to - 'A' + 'a');
    return name;
}

/* No ';' but at the end, however strings are read. */
static bool
no_inner_semicolon(struct lk_span sql)
{
    const uint8_t *p = sql.n > 0 ? memchr(sql.p, ';', sql.n) : NULL;
    if (!p)
        return true;
    for (; p < sql.p + sql.n; p++)
        if (!strchr("; \t\r\n", *p) || *p == 0)
            return false;
    return true;
}

static enum lk_unparsed
why_not(struct lk_sql_mode mode, struct lk_span sql)
{
    if (!mode.standard_strings)
        return LK_UNPARSED_STRINGS;
    if (!mode.ascii_safe)
        return LK_UNPARSED_ENCODING;
    return sql.n > LK_SQL_TEXT_MAX ? LK_UNPARSED_LONG : LK_UNPARSED_NOT;
}

static void
read_words(struct lk_analysis *a, const struct lk_fingerprint *f, struct lk_span sql, struct lk_sql_mode mode)
{
    a->fingerprint = f->hash;
    a->single = f->single && sql.n <= LK_SQL_TEXT_MAX;
    if (why_not(mode, sql) != LK_UNPARSED_NOT) {
        a->single = a->single && no_inner_semicolon(sql);
        a->trust = LK_TRUST_NEVER;
    } else if (f->single && lk_verb_harmless(&f->first)) {
        a->trust = LK_TRUST_ALWAYS;
    }
    a->lints = lk_lint_words(&f->first);
    if (!a->single)
        return;
    a->plain = a->trust != LK_TRUST_NEVER && lk_verb_plain(&f->first);
    a->verb = lk_verb_of(&f->first);
    const struct lk_lexeme *name = lk_verb_name(&f->first);
    if (a->verb == LK_VERB_DEALLOCATE && name && !mode.ascii_safe)
        a->verb = LK_VERB_OTHER;
    else if (name)
        a->verb_name = read_name(name);
}

void
lk_analysis_scan(struct lk_span sql, const struct lk_hash_key *key, struct lk_fingerprint *out)
{
    lk_fingerprint_make(lk_span_head(sql, sql.n < LK_SQL_TEXT_MAX ? sql.n : LK_SQL_TEXT_MAX), key, out);
}

struct lk_analysis *
lk_analysis_make(struct lk_span sql, struct lk_sql_mode mode, const struct lk_hash_key *key)
{
    struct lk_fingerprint f;
    lk_analysis_scan(sql, key, &f);
    return lk_analysis_finish(sql, mode, &f);
}

struct lk_analysis *
lk_analysis_finish(struct lk_span sql, struct lk_sql_mode mode, const struct lk_fingerprint *f)
{
    struct lk_text *text = lk_text_new(sql, f->hash);
    if (!text)
        return NULL;
    struct lk_analysis *a = LK_NEW(struct lk_analysis);
    a->refs = 1;
    a->text = text;
    read_words(a, f, sql, mode);
    if (a->trust == LK_TRUST_ALWAYS || (!f->executes && !lk_gate(sql)))
        return a;
    enum lk_unparsed why = why_not(mode, sql);
    if (why != LK_UNPARSED_NOT) {
        a->plan = lk_recognise_unsure(why);
        return a;
    }
    struct lk_recognised found = lk_recognise(lk_span_make(text->sql, text->n));
    a->plan = found.plan;
    a->creates = found.creates;
    a->takings = found.takings;
    a->taking_count = found.taking_count;
    a->lints |= found.lints;
    return a;
}

struct lk_analysis *
lk_analysis_ref(struct lk_analysis *a)
{
    a->refs++;
    return a;
}

void
lk_analysis_unref(struct lk_analysis *a)
{
    if (!a || --a->refs > 0)
        return;
    /* The plan is constant for those who share it, ours to free. */
    union {
        const struct lk_plan *shared;
        struct lk_plan *own;
    } plan = {a->plan};
    lk_plan_free(plan.own);
    lk_text_unref(a->text);
    free(a->verb_name);
    free(a->takings);
    lk_recognise_free_names(a->creates);
    free(a);
}
