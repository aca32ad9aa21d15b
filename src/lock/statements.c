#include "lock/statements.h"

#include <stdlib.h>

#include "base/mem.h"

/* What is kept of a long text: as much as a record shows. */
#define HEAD_BYTES 1024u

struct lk_statements {
    unsigned most;
    struct lk_list order;
    struct lk_lock_statement *rows; /* uthash by id */
};

struct lk_statements *
lk_statements_new(unsigned most)
{
    struct lk_statements *t = LK_NEW(struct lk_statements);
    t->most = most;
    lk_list_init(&t->order);
    return t;
}

static void
drop(struct lk_statements *t, struct lk_lock_statement *s)
{
    HASH_DEL(t->rows, s);
    lk_list_remove(&t->order, &s->node);
    lk_text_unref(s->text);
    free(s->database);
    free(s);
}

void
lk_statements_free(struct lk_statements *t)
{
    LK_LIST_EACH(&t->order, struct lk_lock_statement, node, s) drop(t, s);
    free(t);
}

static uint64_t
id_of(const char *database, uint64_t fingerprint)
{
    uint64_t id = 14695981039346656037u;
    for (; *database; database++)
        id = (id ^ (uint8_t)*database) * 1099511628211u;
    return id ^ fingerprint;
}

static struct lk_lock_statement *
add(struct lk_statements *t, const char *database, struct lk_text *text, uint64_t id)
{
    if (t->order.count >= t->most)
        drop(t, LK_LIST_ITEM(lk_list_first(&t->order), struct lk_lock_statement, node));
    struct lk_lock_statement *s = LK_NEW(struct lk_lock_statement);
    bool whole = text->n <= LK_STATEMENTS_TEXT_MAX;
    s->id = id;
    s->database = lk_mem_dup(database);
    s->fingerprint = text->fingerprint;
    s->text = whole ? lk_text_ref(text) : lk_text_new(lk_span_make(text->sql, HEAD_BYTES), text->fingerprint);
    HASH_ADD(hh, t->rows, id, sizeof(s->id), s);
    lk_list_push(&t->order, &s->node);
    return s;
}

struct lk_lock_statement *
lk_statements_get(struct lk_statements *t, const char *database, struct lk_text *text)
{
    struct lk_lock_statement *s = NULL;
    if (!text || text->fingerprint == 0)
        return NULL;
    uint64_t id = id_of(database, text->fingerprint);
    HASH_FIND(hh, t->rows, &id, sizeof(id), s);
    if (!s)
        return add(t, database, text, id);
    lk_list_remove(&t->order, &s->node);
    lk_list_push(&t->order, &s->node);
    return s;
}

void
lk_statements_each(
    const struct lk_statements *t, void (*each)(void *context, const struct lk_lock_statement *s), void *context)
{
    for (struct lk_node *n = t->order.head.prev; n != &t->order.head; n = n->prev)
        each(context, LK_LIST_ITEM(n, struct lk_lock_statement, node));
}

unsigned
lk_statements_count(const struct lk_statements *t)
{
    return (unsigned)t->order.count;
}

const char *
lk_statement_why_name(enum lk_statement_why why)
{
    static const char *const names[] = {
        [LK_WHY_UNSURE] = "unsure", [LK_WHY_EXACT] = "exact", [LK_WHY_LEARNED] = "learned", [LK_WHY_BLAMED] = "blamed"};
    return names[why];
}
