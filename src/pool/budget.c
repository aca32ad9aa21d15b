#include "pool/budget.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/mem.h"

struct entry {
    struct lk_budget budget; /* first */
    unsigned refs;           /* under the mutex */
    char *key; /* kind digit and name; owned */
    UT_hash_handle hh;
};

struct lk_budgets {
    pthread_mutex_t mutex;
    struct entry *entries;
};

struct lk_budgets *
lk_budgets_new(void)
{
    struct lk_budgets *b = LK_NEW(struct lk_budgets);
    pthread_mutex_init(&b->mutex, NULL);
    return b;
}

void
lk_budgets_free(struct lk_budgets *b)
{
    struct entry *e, *next;
    HASH_ITER(hh, b->entries, e, next)
    {
        HASH_DEL(b->entries, e);
        free(e->key);
        free(e);
    }
    pthread_mutex_destroy(&b->mutex);
    free(b);
}

struct lk_budget *
lk_budgets_get(struct lk_budgets *b, enum lk_budget_kind kind, const char *name, int limit, int reserve)
{
    size_t n = strlen(name) + 2;
    char *key = lk_mem_new(n);
    key[0] = (char)('0' + (int)kind);
    memcpy(key + 1, name, n - 1);
    struct entry *e = NULL;
    pthread_mutex_lock(&b->mutex);
    HASH_FIND_STR(b->entries, key, e);
    if (e) {
        free(key);
    } else {
        e = LK_NEW(struct entry);
        e->key = key;
        HASH_ADD_KEYPTR(hh, b->entries, e->key, strlen(e->key), e);
    }
    e->refs++;
    pthread_mutex_unlock(&b->mutex);
    atomic_store(&e->budget.limit, limit);
    atomic_store(&e->budget.reserve, reserve);
    return &e->budget;
}

void
lk_budgets_put(struct lk_budgets *b, struct lk_budget *budget)
{
    struct entry *e = (struct entry *)(void *)budget;
    if (!e)
        return;
    pthread_mutex_lock(&b->mutex);
    bool last = --e->refs == 0;
    if (last)
        HASH_DEL(b->entries, e);
    pthread_mutex_unlock(&b->mutex);
    if (!last)
        return;
    free(e->key);
    free(e);
}

unsigned
lk_budgets_count(struct lk_budgets *b)
{
    pthread_mutex_lock(&b->mutex);
    unsigned count = HASH_COUNT(b->entries);
    pthread_mutex_unlock(&b->mutex);
    return count;
}

static bool
take_one(struct lk_budget *b, bool with_reserve)
{
    int limit = atomic_load(&b->limit);
    int most = limit + (with_reserve ? atomic_load(&b->reserve) : 0);
    int used = atomic_fetch_add(&b->used, 1);
    if (limit == 0 || used < most)
        return true;
    atomic_fetch_sub(&b->used, 1);
    return false;
}

bool
lk_budget_take(struct lk_budget_set *set, bool with_reserve, enum lk_budget_kind *denied)
{
    for (int i = 0; i < LK_BUDGET_KINDS; i++) {
        if (take_one(set->of[i], with_reserve))
            continue;
        if (denied)
            *denied = (enum lk_budget_kind)i;
        while (i-- > 0)
            atomic_fetch_sub(&set->of[i]->used, 1);
        return false;
    }
    return true;
}

void
lk_budget_give(struct lk_budget_set *set)
{
    for (int i = 0; i < LK_BUDGET_KINDS; i++)
        atomic_fetch_sub(&set->of[i]->used, 1);
}

void
lk_budget_shift(struct lk_budget_set *from, struct lk_budget_set *to, int count)
{
    for (int i = 0; i < LK_BUDGET_KINDS; i++) {
        atomic_fetch_sub(&from->of[i]->used, count);
        atomic_fetch_add(&to->of[i]->used, count);
    }
}

bool
lk_budget_take_one(struct lk_budget *b)
{
    return take_one(b, false);
}

void
lk_budget_give_one(struct lk_budget *b)
{
    atomic_fetch_sub(&b->used, 1);
}

bool
lk_budget_over(const struct lk_budget_set *set)
{
    for (int i = 0; i < LK_BUDGET_KINDS; i++) {
        int limit = atomic_load(&set->of[i]->limit);
        if (limit > 0 && atomic_load(&set->of[i]->used) > limit + atomic_load(&set->of[i]->reserve))
            return true;
    }
    return false;
}
