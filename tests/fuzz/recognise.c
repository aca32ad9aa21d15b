/* The bytes as a text of SQL, under every way that a server may read it; then as two texts through one cache. */
#include "fuzz.h"

#include "sql/analysis.h"
#include "sql/fingerprint.h"
#include "sql/gate.h"
#include "sql/normalize.h"
#include "sql/recognise.h"
#include "sql/rewrite.h"

static const struct lk_hash_key key = {1, 2};

/* Every call of the white list is found in its text. */
static void
check_place(struct lk_span sql, struct lk_place p)
{
    MUST(p.name_len > 0 && p.len > p.name_len && p.column_end <= sql.n && (size_t)p.at + p.len <= p.column_end);
    MUST(sql.p[p.at + p.len - 1] == ')');
}

static void
check_plan(struct lk_span sql, const struct lk_analysis *a)
{
    const struct lk_plan *plan = a->plan;
    for (uint16_t i = 0; plan && i < plan->count; i++) {
        MUST(plan->statements[i].call_count == 0 || plan->statements[i].calls);
        for (uint16_t k = 0; k < plan->statements[i].call_count; k++)
            check_place(sql, plan->statements[i].calls[k].place);
    }
    MUST(!plan || (plan->unparsed == LK_UNPARSED_NOT) == (plan->count > 0));
    MUST(!a->creates || a->creates[0]);
    MUST(a->trust <= LK_TRUST_NEVER && a->verb <= LK_VERB_DEALLOCATE);
    MUST(!a->verb_name || a->verb == LK_VERB_DEALLOCATE);
    MUST(!plan || a->trust != LK_TRUST_ALWAYS);
}

/* A text with its locks shortened can be parsed, and takes none for the session. */
static void
rewrite(struct lk_span sql, const struct lk_plan *plan)
{
    bool shorten[LK_SQL_TOKENS_MAX];
    struct lk_buf text = {0};
    size_t n = 0;
    if (!lk_rewrite_possible(plan))
        return;
    for (uint16_t i = 0; i < plan->count; i++)
        for (uint16_t k = 0; k < plan->statements[i].call_count; k++)
            shorten[n++] = plan->statements[i].calls[k].fn->op != LK_CALL_UNLOCK_ALL;
    lk_rewrite_text(sql, plan, shorten, &text);
    (void)lk_buf_add_u8(&text, 0);
    struct lk_recognised then = lk_recognise(lk_span_make(text.data, text.len - 1));
    for (uint16_t i = 0; then.plan && i < then.plan->count; i++)
        for (uint16_t k = 0; k < then.plan->statements[i].call_count; k++)
            MUST(then.plan->statements[i].calls[k].fn->op == LK_CALL_UNLOCK_ALL);
    /* An alias more may be too much. */
    MUST(!then.plan || then.plan->count == plan->count || then.plan->unparsed == LK_UNPARSED_TOKENS ||
         then.plan->unparsed == LK_UNPARSED_LONG);
    lk_recognised_clear(&then);
    lk_buf_clear(&text);
}

static void
analyse(struct lk_span sql, struct lk_sql_mode mode)
{
    struct lk_fingerprint f;
    struct lk_analysis *a = lk_analysis_make(sql, mode, &key);
    MUST(a);
    lk_analysis_scan(sql, &key, &f);
    MUST(f.hash == a->fingerprint && (f.single || !a->single));
    check_plan(sql, a);
    MUST(!a->plan || f.executes || lk_gate(sql));
    if (a->plan)
        rewrite(sql, a->plan);
    lk_analysis_unref(a);
}

static void
normalize(struct lk_span sql, size_t max)
{
    char *text = lk_sql_normalize(sql, max);
    if (!text)
        return;
    MUST(strlen(text) <= max);
    free(text);
}

static void
through_cache(struct lk_span one, struct lk_span other)
{
    struct lk_analysis_cache *c = lk_analysis_cache_new(4096, key);
    struct lk_sql_mode mode = {true, true};
    for (int i = 0; i < 4; i++) {
        struct lk_span sql = i & 1 ? other : one;
        struct lk_analysis *fresh = lk_analysis_make(sql, mode, &key);
        struct lk_analysis *a = i < 2 ? lk_analysis_cache_get_alike(c, sql, mode) : lk_analysis_cache_get(c, sql, mode);
        MUST(a && fresh && a->fingerprint == fresh->fingerprint && a->single == fresh->single);
        MUST(a->verb == fresh->verb && a->trust == fresh->trust && !a->plan == !fresh->plan);
        lk_analysis_unref(a);
        lk_analysis_unref(fresh);
    }
    lk_analysis_cache_free(c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lk_span sql = lk_span_make(data, size), rest = sql;
    for (int i = 0; i < 4; i++)
        analyse(sql, (struct lk_sql_mode){i & 1, i & 2});
    normalize(sql, 1000);
    normalize(sql, size % 17);
    struct lk_span one = fuzz_until(&rest, 0);
    through_cache(one, rest);
    return 0;
}
