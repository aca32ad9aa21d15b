#include "session/catalogs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "session/errand.h"
#include "session/link.h"
#include "session/step.h"
#include "sql/catalog.h"

#define DEADLINE_US ((int64_t)5 * LK_SECOND_US)
#define AGAIN_US ((int64_t)300 * LK_SECOND_US)
/* DDL mostly comes in crowds. */
#define AFTER_DDL_US LK_SECOND_US
#define ROUNDS_MAX 8u
/* What a round may look for; longer names of callers go unfound. */
#define PATTERN_MAX (32u * 1024)

/* $1: what function sources mention; $2: what stored parse trees hold; $3: functions that triggers call. What
 * initdb made (OIDs below 16384) calls nothing of the kind. */
#define REST_OF_ROUND                                                                                                       \
    " UNION ALL SELECT 't', c.relname, 0 FROM pg_catalog.pg_trigger AS t JOIN pg_catalog.pg_class AS c ON c.oid = t.tgrelid" \
    " WHERE t.tgfoid = ANY ($3::pg_catalog.oid[])"                                                                         \
    " UNION ALL SELECT 't', c.relname, 0 FROM pg_catalog.pg_attrdef AS d JOIN pg_catalog.pg_class AS c ON c.oid = d.adrelid" \
    " WHERE d.oid >= 16384 AND d.adbin::pg_catalog.text ~ $2"                                                               \
    " UNION ALL SELECT 't', c.relname, 0 FROM pg_catalog.pg_constraint AS k JOIN pg_catalog.pg_class AS c"                  \
    " ON c.oid = k.conrelid WHERE k.oid >= 16384 AND k.conbin::pg_catalog.text ~ $2"                                        \
    " UNION ALL SELECT 't', c.relname, 0 FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indrelid" \
    " WHERE i.indexrelid >= 16384 AND (i.indexprs::pg_catalog.text ~ $2 OR i.indpred::pg_catalog.text ~ $2)"                \
    " UNION ALL SELECT CASE r.ev_type WHEN '1' THEN 'v' ELSE 't' END, c.relname, c.oid FROM pg_catalog.pg_rewrite AS r"    \
    " JOIN pg_catalog.pg_class AS c ON c.oid = r.ev_class WHERE r.oid >= 16384"                                            \
    " AND (r.ev_action::pg_catalog.text ~ $2 OR r.ev_qual::pg_catalog.text ~ $2)"                                          \
    " UNION ALL SELECT 'v', c.relname, 0 FROM pg_catalog.pg_policy AS p JOIN pg_catalog.pg_class AS c ON c.oid = p.polrelid" \
    " WHERE p.polqual::pg_catalog.text ~ $2 OR p.polwithcheck::pg_catalog.text ~ $2"                                        \
    " UNION ALL SELECT 'o', p.proname, 0 FROM pg_catalog.pg_proc AS p WHERE p.oid >= 16384"                                 \
    " AND p.proname ~ '^pg_(try_)?advisory_(un)?lock(_shared|_all)?$'"

static const char round_text[] =
    "SELECT 'f', p.proname, p.oid FROM pg_catalog.pg_proc AS p WHERE p.oid >= 16384"
    " AND (p.prosrc ~* $1 OR p.prosqlbody::pg_catalog.text ~ $2)" REST_OF_ROUND;
/* Before PostgreSQL 14 functions had no parsed bodies. */
static const char round_text_13[] =
    "SELECT 'f', p.proname, p.oid FROM pg_catalog.pg_proc AS p WHERE p.oid >= 16384 AND p.prosrc ~* $1" REST_OF_ROUND;

static const char first_sources[] = "pg_(try_)?advisory_(un)?lock";
static const char first_trees[] =
    ":(funcid|opfuncid) (2880|2881|2882|2883|2884|2885|2886|2887|2888|2889|2890|2891|2892)\\M";

struct found {
    uint32_t oid;
    UT_hash_handle hh;
};

struct lk_catalog {
    struct lk_errand errand; /* first */
    struct lk_catalog *next; /* in core->catalogs */
    char *host, *dbname;     /* owned */
    int port;
    struct lk_catalog_names *names;   /* in force; NULL: never read */
    struct lk_catalog_names *reading; /* of the reading under way; NULL: none is */
    struct found *seen;               /* functions and views of this reading; uthash */
    unsigned round;
    bool old_server;       /* without pg_proc.prosqlbody */
    bool given_up;         /* the last reading failed */
    int64_t wanted_us;     /* since when it is tried in vain; 0: not yet */
    int64_t due_us;        /* of the next reading or round */
    int64_t began_us, changed_us; /* the reading under way; the last DDL */
    uint64_t queries;      /* of its pools, when it was read last */
    struct lk_buf sources, trees, functions; /* of the round to come */
    uint32_t found_now;    /* by the round under way */
};

/* --- pools --- */

static bool
is_of(const struct lk_catalog *c, const struct lk_route *r)
{
    return c->port == r->port && strcmp(c->host, r->host) == 0 && strcmp(c->dbname, r->dbname) == 0;
}

void
lk_catalogs_join(struct lk_core *core, struct lk_pool *pool)
{
    const struct lk_route *r = &pool->route;
    struct lk_catalog *c = core->catalogs;
    pool->catalog = NULL;
    if (!r->advisory_catalog || core->shared->no_errands)
        return;
    while (c && !is_of(c, r)) c = c->next;
    if (!c) {
        c = LK_NEW(struct lk_catalog);
        c->host = lk_mem_dup(r->host);
        c->dbname = lk_mem_dup(r->dbname);
        c->port = r->port;
        c->next = core->catalogs;
        core->catalogs = c;
    }
    pool->catalog = c;
}

bool
lk_catalogs_settled(const struct lk_pool *pool)
{
    const struct lk_catalog *c = pool->catalog;
    return !c || c->names || c->given_up;
}

bool
lk_catalogs_hit(const struct lk_pool *pool, const struct lk_text *text)
{
    const struct lk_catalog *c = pool->catalog;
    return c && c->names && text && lk_catalog_names_hit(c->names, lk_span_make(text->sql, text->n));
}

void
lk_catalogs_doubt(const struct lk_pool *pool, struct lk_watch *w)
{
    const struct lk_catalog *c = pool->catalog;
    if (!w->analysis || !c || !c->names || lk_catalog_names_count(c->names, LK_CATALOG_OVERLOAD) == 0)
        return;
    for (uint16_t i = 0; i < w->call_count; i++) {
        const struct lk_call *call = w->calls[i].call;
        if (!call->place.qualified && lk_catalog_names_have(c->names, LK_CATALOG_OVERLOAD, lk_span_str(call->fn->name)))
            w->types_bad = true;
    }
}

/* What was learned of the statements of its pools is void. */
static void
void_trust(struct lk_core *core, const struct lk_catalog *c)
{
    LK_LIST_EACH(&core->pools, struct lk_pool, node, pool)
    if (pool->catalog == c)
        pool->scope.generation++;
}

void
lk_catalogs_changed(struct lk_core *core, struct lk_pool *pool, const struct lk_analysis *a)
{
    struct lk_catalog *c = pool->catalog;
    if (!c)
        return;
    c->changed_us = core->now.mono_us;
    if (!c->reading && c->names)
        c->due_us = core->now.mono_us + AFTER_DDL_US;
    for (char **name = a ? a->creates : NULL; name && *name; name++) {
        if (c->names)
            (void)lk_catalog_names_add(c->names, LK_CATALOG_USED, lk_span_str(*name));
        if (c->reading)
            (void)lk_catalog_names_add(c->reading, LK_CATALOG_USED, lk_span_str(*name));
    }
}

/* --- the pattern of a round --- */

/* Only names of plain characters can be looked for in sources. */
static bool
plain(struct lk_span name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz_0123456789", name.p[i]))
            return false;
    return name.n > 0;
}

static void
add_choice(struct lk_buf *b, struct lk_span item)
{
    if (b->len + item.n + 8 > PATTERN_MAX)
        return;
    lk_buf_add_u8(b, b->len > 0 ? '|' : '(');
    lk_buf_add_span(b, item);
}

/* `before(a|b|c)after`, and the buffer is empty again; nothing was found: a pattern that nothing matches. */
static void
close_choice(struct lk_buf *b, const char *before, const char *after)
{
    struct lk_buf whole = {0};
    if (b->len > 0) {
        lk_buf_add_span(&whole, lk_span_str(before));
        lk_buf_add_span(&whole, lk_buf_span(b));
        lk_buf_add_u8(&whole, ')');
        lk_buf_add_span(&whole, lk_span_str(after));
    } else {
        lk_buf_add_span(&whole, lk_span_str("x^"));
    }
    lk_buf_clear(b);
    *b = whole;
}

/* --- reading --- */

static void
forget_seen(struct lk_catalog *c)
{
    struct found *f, *next;
    HASH_ITER(hh, c->seen, f, next)
    {
        HASH_DEL(c->seen, f);
        free(f);
    }
    lk_buf_clear(&c->sources);
    lk_buf_clear(&c->trees);
    lk_buf_clear(&c->functions);
}

static bool
see(struct lk_catalog *c, uint32_t oid)
{
    struct found *f = NULL;
    HASH_FIND(hh, c->seen, &oid, sizeof(oid), f);
    if (f || HASH_COUNT(c->seen) >= LK_CATALOG_NAMES_MAX)
        return false;
    f = LK_NEW(struct found);
    f->oid = oid;
    HASH_ADD(hh, c->seen, oid, sizeof(f->oid), f);
    return true;
}

/* Something that locks, and may be called by something else. */
static void
found_caller(struct lk_catalog *c, bool function, struct lk_span name, struct lk_span oid)
{
    char number[12];
    (void)snprintf(number, sizeof(number), "%.*s", (int)oid.n, (const char *)oid.p);
    if (!see(c, (uint32_t)strtoul(number, NULL, 10)))
        return;
    c->found_now++;
    if (plain(name))
        add_choice(&c->sources, name);
    char tree[40];
    (void)snprintf(tree, sizeof(tree), function ? ":(funcid|opfuncid) %s" : ":relid %s", number);
    add_choice(&c->trees, lk_span_str(tree));
    if (!function || c->functions.len + 16 > PATTERN_MAX)
        return;
    lk_buf_add_u8(&c->functions, c->functions.len > 0 ? ',' : '{');
    lk_buf_add_span(&c->functions, lk_span_str(number));
}

static void
on_row(struct lk_core *core, struct lk_errand *e, struct lk_span body)
{
    struct lk_catalog *c = (struct lk_catalog *)(void *)e;
    struct lk_msg_value kind, name, oid;
    if (!lk_msg_row_value(body, 0, &kind, NULL) || !lk_msg_row_value(body, 1, &name, NULL) ||
        !lk_msg_row_value(body, 2, &oid, NULL) || kind.data.n != 1 || name.null || oid.null)
        return;
    switch (kind.data.p[0]) {
    case 'f':
    case 'v':
        (void)lk_catalog_names_add(c->reading, LK_CATALOG_USED, name.data);
        if (oid.data.n > 1 || oid.data.p[0] != '0')
            found_caller(c, kind.data.p[0] == 'f', name.data, oid.data);
        break;
    case 't':
        (void)lk_catalog_names_add(c->reading, LK_CATALOG_WRITTEN, name.data);
        break;
    default:
        (void)lk_catalog_names_add(c->reading, LK_CATALOG_OVERLOAD, name.data);
    }
}

static void
end_reading(struct lk_core *core, struct lk_catalog *c, int64_t again_us)
{
    forget_seen(c);
    lk_catalog_names_free(c->reading);
    c->reading = NULL;
    c->round = 0;
    c->due_us = core->now.mono_us + again_us;
}

static void
take_over(struct lk_core *core, struct lk_catalog *c)
{
    struct lk_catalog_names *before = c->names;
    bool same = before && lk_catalog_names_same(before, c->reading);
    c->names = c->reading;
    c->reading = NULL;
    c->given_up = false;
    lk_catalog_names_free(before);
    end_reading(core, c, c->changed_us >= c->began_us ? AFTER_DDL_US : AGAIN_US);
    if (same)
        return;
    lk_log(LK_LOG_INFO, "catalogue of %s at %s:%d: %zu functions and views take or free session locks, and %zu tables when written",
        c->dbname, c->host, c->port, lk_catalog_names_count(c->names, LK_CATALOG_USED),
        lk_catalog_names_count(c->names, LK_CATALOG_WRITTEN));
    if (lk_catalog_names_count(c->names, LK_CATALOG_OVERLOAD) > 0)
        lk_log(LK_LOG_WARNING, "%s at %s:%d has functions outside pg_catalog by the names of lock functions:"
            " calls by unqualified names are not believed", c->dbname, c->host, c->port);
    void_trust(core, c);
}

static void
on_done(struct lk_core *core, struct lk_errand *e, const struct lk_error *why)
{
    struct lk_catalog *c = (struct lk_catalog *)(void *)e;
    if (why && strcmp(why->sqlstate, "42703") == 0 && !c->old_server) {
        c->old_server = true;
        end_reading(core, c, 0);
    } else if (why && strcmp(why->sqlstate, "08006") == 0) {
        end_reading(core, c, LK_SECOND_US);
    } else if (why) {
        lk_log(LK_LOG_WARNING, "catalogue of %s at %s:%d can't be read (%s): functions that lock are found by probes only",
            c->dbname, c->host, c->port, why->sqlstate);
        c->given_up = true;
        end_reading(core, c, AGAIN_US);
    } else if (c->found_now > 0 && c->round < ROUNDS_MAX) {
        c->due_us = core->now.mono_us;
    } else {
        take_over(core, c);
    }
}

static const struct lk_errand_kind reads = {.name = "catalogue", .row = on_row, .done = on_done};

static uint64_t
queries_of(const struct lk_core *core, const struct lk_catalog *c)
{
    uint64_t n = 0;
    LK_LIST_EACH(&core->pools, struct lk_pool, node, pool)
    n += pool->catalog == c ? pool->stats.queries : 0;
    return n;
}

/* The next round begins on that pool's idle backend, if it has one to spare. */
static void
begin_round(struct lk_core *core, struct lk_catalog *c, struct lk_pool *pool)
{
    bool first = c->round == 0;
    if (!lk_link_lendable(core, pool) || lk_pool_first_waiter(pool))
        return;
    if (first) {
        c->began_us = core->now.mono_us;
        c->queries = queries_of(core, c);
        c->reading = lk_catalog_names_new();
        lk_buf_add_span(&c->sources, lk_span_str(first_sources));
        lk_buf_add_span(&c->trees, lk_span_str(first_trees));
        lk_buf_add_span(&c->functions, lk_span_str("{}"));
    } else {
        close_choice(&c->sources, "\\m", "\\M");
        close_choice(&c->trees, "", "\\M");
        lk_buf_add_span(&c->functions, lk_span_str(c->functions.len > 0 ? "}" : "{}"));
    }
    struct lk_buf *const parts[] = {&c->sources, &c->trees, &c->functions};
    for (size_t i = 0; i < LK_COUNT(parts); i++) {
        struct lk_span kept = lk_arena_copy(&core->arena, lk_buf_span(parts[i]));
        c->errand.params[i] = kept;
        lk_buf_clear(parts[i]);
    }
    c->errand.kind = &reads;
    c->errand.text = c->old_server ? round_text_13 : round_text;
    c->errand.param_count = LK_COUNT(parts);
    c->errand.deadline_us = core->now.mono_us + DEADLINE_US;
    c->found_now = 0;
    c->round++;
    if (!lk_errand_begin(core, &c->errand, pool))
        end_reading(core, c, 0);
}

static bool
is_due(struct lk_core *core, struct lk_catalog *c)
{
    int64_t now = core->now.mono_us;
    if (c->errand.pool || now < c->due_us)
        return false;
    uint64_t queries = queries_of(core, c);
    if (!c->names && !c->given_up) {
        if (c->wanted_us == 0 && queries > 0)
            c->wanted_us = now;
        /* nobody can be spared for it: evidence must do until then */
        c->given_up = c->wanted_us > 0 && now - c->wanted_us > DEADLINE_US;
        return true;
    }
    return c->round > 0 || c->names == NULL || queries != c->queries || c->changed_us > c->began_us;
}

void
lk_catalogs_tick(struct lk_core *core)
{
    for (struct lk_catalog *c = core->catalogs; c; c = c->next) {
        if (!is_due(core, c))
            continue;
        LK_LIST_EACH(&core->pools, struct lk_pool, node, pool)
        {
            if (pool->catalog == c && !c->errand.pool && c->due_us <= core->now.mono_us)
                begin_round(core, c, pool);
        }
    }
}

void
lk_catalogs_free(struct lk_core *core)
{
    struct lk_catalog *c;
    while ((c = core->catalogs)) {
        core->catalogs = c->next;
        forget_seen(c);
        lk_catalog_names_free(c->names);
        lk_catalog_names_free(c->reading);
        free(c->host);
        free(c->dbname);
        free(c);
    }
}
