#include "sql/catalog_search.h"

#include <stdio.h>
#include <stdlib.h>

#include <uthash.h>

#include "base/mem.h"

#define ROUNDS_MAX 8u
/* What a round may look for; longer names of callers go unfound. */
#define PATTERN_MAX (32u * 1024)

/* $1: what function sources mention; $2: what stored parse trees hold; $3: functions that triggers call. What
 * initdb made (OIDs below 16384) calls nothing of the kind. */
#define REST_OF_ROUND                                                                                                       \
    " UNION ALL SELECT 't', c.relname, 0 FROM pg_catalog.pg_trigger AS t JOIN pg_catalog.pg_class AS c ON c.oid = t.tgrelid" \
    " OR c.oid IN (SELECT i.inhparent FROM pg_catalog.pg_inherits AS i WHERE i.inhrelid = t.tgrelid)"                       \
    " WHERE t.tgfoid = ANY ($3::pg_catalog.oid[])"                                                                         \
    " UNION ALL SELECT 'f', p.proname, p.oid FROM pg_catalog.pg_aggregate AS a JOIN pg_catalog.pg_proc AS p"                \
    " ON p.oid = a.aggfnoid WHERE a.aggtransfn = ANY ($3::pg_catalog.oid[]) OR a.aggfinalfn = ANY ($3::pg_catalog.oid[])"   \
    " UNION ALL SELECT 'v', y.typname, 0 FROM pg_catalog.pg_constraint AS k JOIN pg_catalog.pg_type AS y"                   \
    " ON y.oid = k.contypid WHERE k.oid >= 16384 AND k.conbin::pg_catalog.text ~ $2"                                        \
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
    " AND (p.prosrc ~* $1 OR p.prosqlbody::pg_catalog.text ~ $2 OR p.proargdefaults::pg_catalog.text ~ $2)" REST_OF_ROUND;
/* Before PostgreSQL 14 functions had no parsed bodies. */
static const char round_text_13[] =
    "SELECT 'f', p.proname, p.oid FROM pg_catalog.pg_proc AS p WHERE p.oid >= 16384 AND (p.prosrc ~* $1 OR p.proargdefaults::pg_catalog.text ~ $2)" REST_OF_ROUND;

static const char first_sources[] = "pg_(try_)?advisory_(un)?lock";
static const char first_trees[] =
    ":(funcid|opfuncid) (2880|2881|2882|2883|2884|2885|2886|2887|2888|2889|2890|2891|2892)\\M";

struct lk_catalog_found {
    uint32_t oid;
    UT_hash_handle hh;
};

const char *
lk_catalog_search_text(bool old_server)
{
    return old_server ? round_text_13 : round_text;
}

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

static bool
see(struct lk_catalog_search *s, uint32_t oid)
{
    struct lk_catalog_found *f = NULL;
    HASH_FIND(hh, s->seen, &oid, sizeof(oid), f);
    if (f || HASH_COUNT(s->seen) >= LK_CATALOG_NAMES_MAX)
        return false;
    f = LK_NEW(struct lk_catalog_found);
    f->oid = oid;
    HASH_ADD(hh, s->seen, oid, sizeof(f->oid), f);
    return true;
}

/* Something that locks, and may be called by something else. */
static void
found_caller(struct lk_catalog_search *s, bool function, struct lk_span name, struct lk_span oid)
{
    char number[12];
    (void)snprintf(number, sizeof(number), "%.*s", (int)oid.n, (const char *)oid.p);
    if (!see(s, (uint32_t)strtoul(number, NULL, 10)))
        return;
    s->found_now++;
    if (plain(name))
        add_choice(&s->sources, name);
    char tree[40];
    (void)snprintf(tree, sizeof(tree), function ? ":(funcid|opfuncid) %s" : ":relid %s", number);
    add_choice(&s->trees, lk_span_str(tree));
    if (!function || s->functions.len + 16 > PATTERN_MAX)
        return;
    lk_buf_add_u8(&s->functions, s->functions.len > 0 ? ',' : '{');
    lk_buf_add_span(&s->functions, lk_span_str(number));
}

void
lk_catalog_search_begin(struct lk_catalog_search *s)
{
    s->names = lk_catalog_names_new();
    s->round = 0;
    s->found_now = 0;
}

void
lk_catalog_search_round(struct lk_catalog_search *s, struct lk_buf params[LK_CATALOG_SEARCH_PARAMS])
{
    if (s->round == 0) {
        lk_buf_add_span(&s->sources, lk_span_str(first_sources));
        lk_buf_add_span(&s->trees, lk_span_str(first_trees));
        lk_buf_add_span(&s->functions, lk_span_str("{}"));
    } else {
        close_choice(&s->sources, "\\m", "\\M");
        close_choice(&s->trees, "", "\\M");
        lk_buf_add_span(&s->functions, lk_span_str(s->functions.len > 0 ? "}" : "{}"));
    }
    struct lk_buf *const parts[LK_CATALOG_SEARCH_PARAMS] = {&s->sources, &s->trees, &s->functions};
    for (size_t i = 0; i < LK_COUNT(parts); i++) {
        params[i] = *parts[i];
        *parts[i] = (struct lk_buf){0};
    }
    s->found_now = 0;
    s->round++;
}

void
lk_catalog_search_row(struct lk_catalog_search *s, char kind, struct lk_span name, struct lk_span oid)
{
    switch (kind) {
    case 'f':
    case 'v':
        (void)lk_catalog_names_add(s->names, LK_CATALOG_USED, name);
        if (oid.n > 1 || (oid.n == 1 && oid.p[0] != '0'))
            found_caller(s, kind == 'f', name, oid);
        break;
    case 't':
        (void)lk_catalog_names_add(s->names, LK_CATALOG_WRITTEN, name);
        break;
    default:
        (void)lk_catalog_names_add(s->names, LK_CATALOG_OVERLOAD, name);
    }
}

bool
lk_catalog_search_more(const struct lk_catalog_search *s)
{
    return s->found_now > 0 && s->round < ROUNDS_MAX;
}

void
lk_catalog_search_end(struct lk_catalog_search *s)
{
    struct lk_catalog_found *f, *next;
    HASH_ITER(hh, s->seen, f, next)
    {
        HASH_DEL(s->seen, f);
        free(f);
    }
    lk_catalog_names_free(s->names);
    lk_buf_clear(&s->sources);
    lk_buf_clear(&s->trees);
    lk_buf_clear(&s->functions);
    *s = (struct lk_catalog_search){0};
}
