#include "session/prepared.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "session/core.h"

static uint8_t *
statement_key(struct lk_span text, struct lk_span types, struct lk_sql_mode mode, size_t *n)
{
    /* the whole count of types: where they end and the text begins must not be read in two ways */
    const uint8_t head[] = {(uint8_t)((mode.standard_strings ? 1 : 0) | (mode.ascii_safe ? 2 : 0)),
        (uint8_t)(types.n / 4 >> 8), (uint8_t)(types.n / 4)};
    *n = sizeof(head) + types.n + text.n;
    uint8_t *key = lk_mem_try(*n);
    if (!key)
        return NULL;
    memcpy(key, head, sizeof(head));
    if (types.n > 0)
        memcpy(key + sizeof(head), types.p, types.n);
    if (text.n > 0)
        memcpy(key + sizeof(head) + types.n, text.p, text.n);
    return key;
}

static void
statement_free(struct lk_statement *s)
{
    lk_analysis_unref(s->analysis);
    free(s->types);
    free(s->key);
    free(s);
}

struct lk_statement *
lk_statement_get(
    struct lk_core *core, struct lk_span text, uint16_t type_count, struct lk_span types, struct lk_sql_mode mode)
{
    size_t n;
    uint8_t *key = statement_key(text, types, mode, &n);
    if (!key)
        return NULL;
    struct lk_statement *s = NULL;
    HASH_FIND(hh, core->statements, key, n, s);
    if (s) {
        free(key);
        return lk_statement_ref(s);
    }
    s = LK_NEW(struct lk_statement);
    s->refs = 1;
    s->core = core;
    s->key = key;
    s->key_n = n;
    s->type_count = type_count;
    s->types = lk_mem_try(types.n + 1);
    s->analysis = lk_analysis_cache_get(core->analyses, text, mode);
    if (!s->types || !s->analysis) {
        statement_free(s);
        return NULL;
    }
    if (types.n > 0)
        memcpy(s->types, types.p, types.n);
    s->id = atomic_fetch_add(&core->shared->next_statement, 1) + 1;
    (void)snprintf(s->name, sizeof(s->name), "lk_%" PRIu64, s->id);
    HASH_ADD_KEYPTR(hh, core->statements, s->key, s->key_n, s);
    return s;
}

struct lk_statement *
lk_statement_ref(struct lk_statement *s)
{
    s->refs++;
    return s;
}

void
lk_statement_unref(struct lk_statement *s)
{
    if (!s || --s->refs > 0)
        return;
    HASH_DEL(s->core->statements, s);
    statement_free(s);
}

struct lk_statement *
lk_prepared_find(const struct lk_prepared_map *m, struct lk_span name)
{
    struct lk_prepared *p = NULL;
    HASH_FIND(hh, m->names, name.p, name.n, p);
    return p ? p->statement : NULL;
}

void
lk_prepared_put(struct lk_prepared_map *m, struct lk_span name, struct lk_statement *s)
{
    lk_statement_ref(s);
    lk_prepared_drop(m, name);
    struct lk_prepared *p = LK_NEW(struct lk_prepared);
    p->name = lk_mem_dup_span(name);
    p->statement = s;
    HASH_ADD_KEYPTR(hh, m->names, p->name, name.n, p);
}

void
lk_prepared_drop(struct lk_prepared_map *m, struct lk_span name)
{
    struct lk_prepared *p = NULL;
    HASH_FIND(hh, m->names, name.p, name.n, p);
    if (!p)
        return;
    HASH_DEL(m->names, p);
    lk_statement_unref(p->statement);
    free(p->name);
    free(p);
}

void
lk_prepared_clear(struct lk_prepared_map *m)
{
    while (m->names)
        lk_prepared_drop(m, lk_span_make(m->names->name, m->names->hh.keylen));
}

unsigned
lk_prepared_count(const struct lk_prepared_map *m)
{
    return HASH_COUNT(m->names);
}

void
lk_parsed_init(struct lk_parsed_set *s)
{
    s->by_id = NULL;
    lk_list_init(&s->used);
}

static struct lk_parsed *
parsed_find(const struct lk_parsed_set *s, const struct lk_statement *st)
{
    struct lk_parsed *p = NULL;
    HASH_FIND(hh, s->by_id, &st->id, sizeof(st->id), p);
    return p;
}

bool
lk_parsed_has(struct lk_parsed_set *s, const struct lk_statement *st)
{
    struct lk_parsed *p = parsed_find(s, st);
    if (!p)
        return false;
    lk_list_remove(&s->used, &p->node);
    lk_list_push(&s->used, &p->node);
    return true;
}

void
lk_parsed_add(struct lk_parsed_set *s, struct lk_statement *st)
{
    if (parsed_find(s, st))
        return;
    struct lk_parsed *p = LK_NEW(struct lk_parsed);
    p->statement = lk_statement_ref(st);
    p->id = st->id;
    HASH_ADD(hh, s->by_id, id, sizeof(p->id), p);
    lk_list_push(&s->used, &p->node);
}

static void
parsed_remove(struct lk_parsed_set *s, struct lk_parsed *p)
{
    HASH_DEL(s->by_id, p);
    lk_list_remove(&s->used, &p->node);
    lk_statement_unref(p->statement);
    free(p);
}

void
lk_parsed_drop(struct lk_parsed_set *s, const struct lk_statement *st)
{
    struct lk_parsed *p = parsed_find(s, st);
    if (p)
        parsed_remove(s, p);
}

struct lk_statement *
lk_parsed_oldest(const struct lk_parsed_set *s)
{
    struct lk_node *n = lk_list_first(&s->used);
    return n ? LK_LIST_ITEM(n, struct lk_parsed, node)->statement : NULL;
}

void
lk_parsed_clear(struct lk_parsed_set *s)
{
    while (s->by_id)
        parsed_remove(s, s->by_id);
}

unsigned
lk_parsed_count(const struct lk_parsed_set *s)
{
    return HASH_COUNT(s->by_id);
}
