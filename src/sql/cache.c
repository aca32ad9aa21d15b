#include "sql/analysis.h"

#include <stdlib.h>

#include "base/list.h"

#define CACHED_TEXT_MAX (16u * 1024u) /* longer texts are rare and would push out many short ones */
#define BYTES_A_BUCKET 512u
#define BUCKETS_MIN 64u
#define BUCKETS_MAX 65536u

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
    size_t mask;            /* buckets - 1 */
    struct lk_list recent;  /* the least recently used first */
    struct entry **buckets; /* owned */
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
    free(c->buckets);
    free(c);
}

static size_t
bytes_of(const struct lk_analysis *a)
{
    size_t n = sizeof(struct entry) + sizeof(*a) + sizeof(*a->text) + a->text->n + 1;
    if (a->verb_name)
        n += strlen(a->verb_name) + 1;
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

struct lk_analysis *
lk_analysis_cache_get(struct lk_analysis_cache *c, struct lk_span sql, struct lk_sql_mode mode)
{
    if (sql.n > CACHED_TEXT_MAX)
        return lk_analysis_make(sql, mode, &c->key);
    uint64_t hash = lk_hash_bytes(&c->key, sql);
    for (struct entry *e = c->buckets[hash & c->mask]; e; e = e->next) {
        if (!matches(e, hash, sql, mode))
            continue;
        lk_list_remove(&c->recent, &e->recent);
        lk_list_push(&c->recent, &e->recent);
        return lk_analysis_ref(e->analysis);
    }
    struct lk_analysis *a = lk_analysis_make(sql, mode, &c->key);
    if (a)
        keep(c, hash, mode, a);
    return a;
}
