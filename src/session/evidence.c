#include "session/evidence.h"

#include "lock/policy.h"
#include "session/catalogs.h"
#include "session/holds.h"
#include "session/step.h"

static void
bound_clear(struct lk_run *run)
{
    if (run->bound)
        lk_analysis_unref(run->bound);
    run->bound = NULL;
}

static void
suspect_clear(struct lk_suspect *x)
{
    lk_text_unref(x->text);
    *x = (struct lk_suspect){0};
}

void
lk_evidence_reset(struct lk_server *s)
{
    struct lk_run *run = &s->run;
    uint32_t named = run->suspect_count < LK_SUSPECTS ? run->suspect_count : LK_SUSPECTS;
    if (run->first_pending)
        suspect_clear(&run->first);
    for (uint32_t i = 0; i < named; i++)
        suspect_clear(&run->suspects[i]);
    bound_clear(run);
    run->texts = 0;
    run->suspect_count = 0;
    run->first_pending = false;
    run->in_transaction = run->blamed = false;
    run->began_exact = lk_ledger_zero(&s->ledger);
}

/* Takes the suspect's reference over. One statement is a suspect once, however often it ran. */
static void
accuse(struct lk_run *run, struct lk_suspect x)
{
    uint32_t named = run->suspect_count < LK_SUSPECTS ? run->suspect_count : LK_SUSPECTS;
    for (uint32_t i = 0; i < named; i++) {
        struct lk_suspect *known = &run->suspects[i];
        if (x.fingerprint == 0 || known->fingerprint != x.fingerprint || known->touch != x.touch)
            continue;
        known->tenths = known->tenths < x.tenths ? known->tenths : x.tenths;
        known->alone = known->alone && x.alone;
        suspect_clear(&x);
        return;
    }
    if (named < LK_SUSPECTS)
        run->suspects[named] = x;
    else
        suspect_clear(&x);
    run->suspect_count++;
}

enum lk_trusted
lk_evidence_trusted(struct lk_core *core, const struct lk_server *s, uint64_t fingerprint, const struct lk_text *text, bool alone)
{
    struct lk_pool *pool = s->seat.pool;
    uint32_t after = pool->route.advisory_trust_after;
    enum lk_trusted trusted = lk_trust_look(core->trust, &pool->scope, fingerprint, alone, after);
    if (trusted == LK_TRUST_TRUSTED && after > 0)
        return lk_catalogs_settled(pool) ? LK_TRUST_TRUSTED : LK_TRUST_UNKNOWN;
    if (trusted != LK_TRUST_TOUCH && lk_catalogs_hit(pool, text)) {
        lk_trust_blame(core->trust, &pool->scope, fingerprint, true);
        return LK_TRUST_TOUCH;
    }
    return trusted;
}

/* Is the statement trusted, in that company? If not it becomes a suspect. Takes the reference over. */
static void
judge(struct lk_core *core, struct lk_server *s, struct lk_suspect x, bool alone)
{
    enum lk_trusted trusted = LK_TRUST_UNKNOWN;
    if (x.fingerprint != 0)
        trusted = lk_evidence_trusted(core, s, x.fingerprint, x.text, alone);
    if (trusted == LK_TRUST_TRUSTED) {
        suspect_clear(&x);
        return;
    }
    x.alone = alone;
    if (trusted == LK_TRUST_TOUCH) {
        x.touch = true;
        lk_ledger_doubt(&s->ledger, LK_UNSURE_HIDDEN);
    }
    s->run.blamed |= trusted == LK_TRUST_BLAMED;
    if (trusted != LK_TRUST_UNKNOWN)
        lk_holds_suspected(core, s, x.text);
    accuse(&s->run, x);
}

void
lk_evidence_ran(struct lk_core *core, struct lk_server *s, const struct lk_reply *r)
{
    struct lk_run *run = &s->run;
    const struct lk_analysis *a = r->analysis;
    if (run->bound == a)
        bound_clear(run);
    if (r->vouched) {
        run->texts++;
        return;
    }
    struct lk_suspect x = {.text = a ? lk_text_ref(a->text) : NULL, .tenths = r->failed ? 0 : r->no_rows ? 1 : 10};
    run->texts++;
    run->ended = core->now;
    run->in_transaction |= s->status != 'I';
    s->probe_settled = s->probe_failed = false;
    if (!a)
        lk_ledger_doubt(&s->ledger, LK_UNSURE_TOUCH);
    if (!a || a->plan || r->watch) {
        x.touch = true;
        lk_holds_touched(core, s, a ? x.text : r->watch ? r->watch->text : NULL, a ? a->plan : NULL);
        if (s->ledger.unsure)
            accuse(run, x);
        else
            suspect_clear(&x);
        return;
    }
    if (a->trust == LK_TRUST_ALWAYS) {
        suspect_clear(&x);
        return;
    }
    x.fingerprint = a->trust == LK_TRUST_NEVER ? 0 : a->fingerprint;
    if (run->texts == 1) {
        run->first = x;
        run->first_pending = true;
        return;
    }
    lk_evidence_company(core, s);
    judge(core, s, x, false);
}

/* Planned but not executed: that is no evidence, but a suspect. */
static void
bound_ran(struct lk_core *core, struct lk_server *s)
{
    struct lk_analysis *bound = s->run.bound;
    if (!bound)
        return;
    s->run.bound = NULL;
    lk_evidence_ran(core, s, &(struct lk_reply){.kind = LK_REPLY_BIND, .failed = true, .analysis = bound});
    lk_analysis_unref(bound);
}

void
lk_evidence_bound(struct lk_core *core, struct lk_server *s, const struct lk_reply *r)
{
    bound_ran(core, s);
    s->run.bound = r->analysis ? lk_analysis_ref(r->analysis) : NULL;
}

void
lk_evidence_unanswered(struct lk_core *core, struct lk_server *s)
{
    const struct lk_reply *r;
    for (uint32_t i = 0; (r = lk_replies_at(&s->replies, i)); i++) {
        bool runs = r->kind == LK_REPLY_QUERY || r->kind == LK_REPLY_EXECUTE || r->kind == LK_REPLY_FCALL;
        if (!runs || r->purpose != LK_FOR_CLIENT || (r->analysis && !r->watch))
            continue;
        lk_ledger_doubt(&s->ledger, LK_UNSURE_ERROR);
        lk_evidence_ran(core, s, r);
    }
}

void
lk_evidence_company(struct lk_core *core, struct lk_server *s)
{
    struct lk_run *run = &s->run;
    if (!run->first_pending)
        return;
    run->first_pending = false;
    judge(core, s, run->first, false);
}

void
lk_evidence_rest(struct lk_core *core, struct lk_server *s)
{
    struct lk_run *run = &s->run;
    bound_ran(core, s);
    if (!run->first_pending)
        return;
    run->first_pending = false;
    judge(core, s, run->first, run->texts == 1 && !run->in_transaction && run->began_exact);
}

bool
lk_evidence_hidden(const struct lk_server *s)
{
    const struct lk_run *run = &s->run;
    for (uint32_t i = 0; i < run->suspect_count && i < LK_SUSPECTS; i++)
        if (run->suspects[i].touch)
            return false;
    return true;
}

struct lk_text *
lk_evidence_culprit(const struct lk_server *s)
{
    const struct lk_run *run = &s->run;
    struct lk_text *text = NULL;
    for (uint32_t i = 0; i < run->suspect_count && i < LK_SUSPECTS; i++)
        if (run->suspects[i].touch)
            text = run->suspects[i].text;
    return !text && run->suspect_count == 1 ? run->suspects[0].text : text;
}

void
lk_evidence_probed(struct lk_core *core, struct lk_server *s, uint32_t found, uint32_t vanished)
{
    struct lk_run *run = &s->run;
    const struct lk_trust_scope *scope = &s->seat.pool->scope;
    bool changed = found + vanished > 0, hidden = changed && lk_evidence_hidden(s);
    for (uint32_t i = 0; i < run->suspect_count && i < LK_SUSPECTS; i++) {
        const struct lk_suspect *x = &run->suspects[i];
        if (x->fingerprint == 0)
            continue;
        if (hidden) {
            lk_trust_blame(core->trust, scope, x->fingerprint, run->suspect_count == 1);
            lk_holds_blamed(core, s, x->text, run->suspect_count == 1);
        } else if (!changed && x->tenths > 0 && !x->touch)
            lk_trust_evidence(core->trust, scope, x->fingerprint, x->alone, x->tenths);
    }
    lk_evidence_reset(s);
}

/* Tags after which a statement may do what it did not do before. */
static bool
changes_meaning(struct lk_span tag)
{
    static const char *const verbs[] = {"CREATE ", "ALTER ", "DROP "};
    static const char *const objects[] = {"FUNCTION", "PROCEDURE", "ROUTINE", "TRIGGER", "RULE", "VIEW", "MATERIALIZED VIEW",
        "EXTENSION", "OPERATOR", "CAST", "POLICY", "DOMAIN", "AGGREGATE", "EVENT TRIGGER", "TYPE", "SCHEMA", "LANGUAGE"};
    for (size_t v = 0; v < LK_COUNT(verbs); v++) {
        size_t n = strlen(verbs[v]);
        if (tag.n <= n || memcmp(tag.p, verbs[v], n) != 0)
            continue;
        struct lk_span object = lk_span_skip(tag, n);
        if (v == 1 && lk_span_is(object, "TABLE"))
            return true;
        for (size_t i = 0; i < LK_COUNT(objects); i++)
            if (object.n >= strlen(objects[i]) && memcmp(object.p, objects[i], strlen(objects[i])) == 0)
                return true;
    }
    return false;
}

void
lk_evidence_ddl(struct lk_core *core, struct lk_server *s, struct lk_span tag, const struct lk_analysis *a)
{
    if (!changes_meaning(tag))
        return;
    lk_catalogs_changed(core, s->seat.pool, a);
    LK_LIST_EACH(&core->pools, struct lk_pool, node, pool)
    if (lk_route_same_database(&pool->route, &s->seat.pool->route))
        pool->scope.generation++;
}
