#include "sql/analysis.h"

#include <stdlib.h>

#include "base/list.h"
#include "sql/fingerprint.h"
#include "sql/gate.h"

#define CACHED_TEXT_MAX (16u * 1024u) /* longer texts are rare and would push out many short ones */
#define BYTES_A_BUCKET 512u
#define BUCKETS_MIN 64u
#define BUCKETS_MAX 65536u
#define ALIKE_TEXT_MAX (4u * 1024u)
#define ALIKE_SLOTS 2048u /* at most 8 MB of texts */
#define SEEN_SLOTS 4096u

struct entry {
    struct lk_node recent;
    struct entry *next; /* of the same bucket */
    uint64_t hash;
    size_t bytes;
    struct lk_analysis *analysis; /* a reference */
    struct lk_sql_mode mode;
};

struct lk_analysis_cache {
    struct lk_hash_key key;
    size_t max_bytes, bytes;
    size_t mask;                            /* buckets - 1 */
    struct lk_list recent;                  /* the least recently used first */
    struct entry **buckets;                 /* owned */
    struct lk_analysis *alike[ALIKE_SLOTS]; /* references, by fingerprint: one text stands for all of its shape */
    uint64_t seen[SEEN_SLOTS];              /* hashes of texts that came lately and were not kept */
};

struct lk_analysis_cache *
lk_analysis_cache_new(size_t max_bytes, struct lk_hash_key key)
{
    struct lk_analysis_cache *c = LK_NEW(struct lk_analysis_cache);
    size_t buckets = BUCKETS_MIN;
    while (buckets < BUCKETS_MAX && buckets * BYTES_A_BUCKET < max_bytes)
        buckets *= 2;
    c->key = key;
    c->max_bytes = max_bytes;
    c->mask = buckets - 1;
    c->buckets = lk_mem_new(buckets * sizeof(struct entry *));
    lk_list_init(&c->recent);
    return c;
}

static void
drop(struct lk_analysis_cache *c, struct entry *e)
{
    struct entry **at = &c->buckets[e->hash & c->mask];
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    lk_list_remove(&c->recent, &e->recent);
    c->bytes -= e->bytes;
    lk_analysis_unref(e->analysis);
    free(e);
}

void
lk_analysis_cache_free(struct lk_analysis_cache *c)
{
    if (!c)
        return;
    LK_LIST_EACH (&c->recent, struct entry, recent, e)
        drop(c, e);
    for (size_t i = 0; i < ALIKE_SLOTS; i++)
        lk_analysis_unref(c->alike[i]);
    free(c->buckets);
    free(c);
}

static size_t
bytes_of(const struct lk_analysis *a)
{
    size_t n = sizeof(struct entry) + sizeof(*a) + sizeof(*a->text) + a->text->n + 1;
    n += a->taking_count * sizeof(*a->takings);
    if (a->verb_name)
        n += strlen(a->verb_name) + 1;
    for (size_t i = 0; a->creates && a->creates[i]; i++)
        n += strlen(a->creates[i]) + 1 + sizeof(char *);
    if (!a->plan)
        return n;
    n += sizeof(*a->plan);
    for (size_t i = 0; i < a->plan->count; i++)
        n += sizeof(*a->plan->statements) + a->plan->statements[i].call_count * sizeof(struct lk_call);
    return n;
}

static void
keep(struct lk_analysis_cache *c, uint64_t hash, struct lk_sql_mode mode, struct lk_analysis *a)
{
    size_t bytes = bytes_of(a);
    if (bytes > c->max_bytes)
        return;
    while (c->bytes + bytes > c->max_bytes)
        drop(c, LK_LIST_ITEM(lk_list_first(&c->recent), struct entry, recent));
    struct entry *e = LK_NEW(struct entry);
    e->hash = hash;
    e->bytes = bytes;
    e->mode = mode;
    e->analysis = lk_analysis_ref(a);
    e->next = c->buckets[hash & c->mask];
    c->buckets[hash & c->mask] = e;
    lk_list_push(&c->recent, &e->recent);
    c->bytes += bytes;
}

static bool
matches(const struct entry *e, uint64_t hash, struct lk_span sql, struct lk_sql_mode mode)
{
    const struct lk_text *t = e->analysis->text;
    return e->hash == hash && e->mode.standard_strings == mode.standard_strings &&
           e->mode.ascii_safe == mode.ascii_safe && lk_span_eq(lk_span_make(t->sql, t->n), sql);
}

static struct lk_analysis *
find(struct lk_analysis_cache *c, uint64_t hash, struct lk_span sql, struct lk_sql_mode mode)
{
    for (struct entry *e = c->buckets[hash & c->mask]; e; e = e->next) {
        if (!matches(e, hash, sql, mode))
            continue;
        lk_list_remove(&c->recent, &e->recent);
        lk_list_push(&c->recent, &e->recent);
        return lk_analysis_ref(e->analysis);
    }
    return NULL;
}

/* Might there be a comment? Its tags are asked for in records, so that such a text stands for none but itself. */
static bool
may_have_comment(struct lk_span sql)
{
    const uint8_t *end = sql.p + sql.n, *p;
    for (p = sql.p; (p = memchr(p, '/', (size_t)(end - p))); p++)
        if (end - p > 1 && p[1] == '*')
            return true;
    for (p = sql.p; (p = memchr(p, '-', (size_t)(end - p))); p++)
        if (end - p > 1 && p[1] == '-')
            return true;
    return false;
}

/* A text that came for the first time lately: by its shape, or NULL if it has to be analysed by itself. */
static struct lk_analysis *
get_by_shape(struct lk_analysis_cache *c, struct lk_span sql, struct lk_sql_mode mode)
{
    struct lk_fingerprint f;
    if (lk_gate(sql) || may_have_comment(sql))
        return NULL;
    lk_analysis_scan(sql, &c->key, &f);
    struct lk_analysis **slot = &c->alike[f.hash & (ALIKE_SLOTS - 1)];
    if (*slot && (*slot)->fingerprint == f.hash)
        return lk_analysis_ref(*slot);
    struct lk_analysis *a = lk_analysis_finish(sql, mode, &f);
    if (!a || a->plan || a->verb != LK_VERB_OTHER)
        return a;
    lk_analysis_unref(*slot);
    *slot = lk_analysis_ref(a);
    return a;
}

struct lk_analysis *
lk_analysis_cache_get_alike(struct lk_analysis_cache *c, struct lk_span sql, struct lk_sql_mode mode)
{
    if (sql.n > ALIKE_TEXT_MAX || !mode.standard_strings || !mode.ascii_safe)
        return lk_analysis_cache_get(c, sql, mode);
    uint64_t hash = lk_hash_bytes(&c->key, sql);
    struct lk_analysis *a = find(c, hash, sql, mode);
    uint64_t *seen = &c->seen[hash & (SEEN_SLOTS - 1)];
    if (!a && *seen != hash) {
        *seen = hash;
        a = get_by_shape(c, sql, mode);
    }
    return a ? a : lk_analysis_cache_get(c, sql, mode);
}

struct lk_analysis *
lk_analysis_cache_get(struct lk_analysis_cache *c, struct lk_span sql, struct lk_sql_mode mode)
{
    if (sql.n > CACHED_TEXT_MAX)
        return lk_analysis_make(sql, mode, &c->key);
    uint64_t hash = lk_hash_bytes(&c->key, sql);
    struct lk_analysis *found = find(c, hash, sql, mode);
    if (found)
        return found;
    struct lk_analysis *a = lk_analysis_make(sql, mode, &c->key);
    if (a)
        keep(c, hash, mode, a);
    return a;
}
