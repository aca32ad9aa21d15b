/* Budgets: how many server connections a pool, a database and a user may have, over all workers. Signed atomics in a
 * process-wide registry; the registry's mutex is taken when a pool is made or dropped, when a client comes or goes and at RELOAD, never on the data
 * path. */
#ifndef LK_POOL_BUDGET_H
#define LK_POOL_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>

enum lk_budget_kind {
    LK_BUDGET_POOL,
    LK_BUDGET_DATABASE,
    LK_BUDGET_USER,
    LK_BUDGET_KINDS, /* of which a server connection needs a unit each */
    /* of which a client needs one each */
    LK_BUDGET_DATABASE_CLIENTS = LK_BUDGET_KINDS,
    LK_BUDGET_USER_CLIENTS,
};

struct lk_budget {
    atomic_int used;
    atomic_int limit;   /* 0: unlimited */
    atomic_int reserve; /* units above the limit that only a long waiter may take */
};

struct lk_budgets;

struct lk_budgets *lk_budgets_new(void);
void lk_budgets_free(struct lk_budgets *b);
/* The budget of that kind and name, made if need be; limit and reserve are set. It lives until it has been put back as
 * often as it was got. */
struct lk_budget *lk_budgets_get(struct lk_budgets *b, enum lk_budget_kind kind, const char *name, int limit, int reserve);
/* All units that the caller took must have been given back. Accepts NULL. */
void lk_budgets_put(struct lk_budgets *b, struct lk_budget *budget);
/* How many there are, over all kinds. */
unsigned lk_budgets_count(struct lk_budgets *b);

/* The budgets that one server connection needs a unit of. */
struct lk_budget_set {
    struct lk_budget *of[LK_BUDGET_KINDS];
};
/* Takes a unit of each, or none at all. *denied (may be NULL): which kind said no. */
bool lk_budget_take(struct lk_budget_set *set, bool with_reserve, enum lk_budget_kind *denied);
void lk_budget_give(struct lk_budget_set *set);
/* The same for a unit of one budget. */
bool lk_budget_take_one(struct lk_budget *b);
void lk_budget_give_one(struct lk_budget *b);
/* `count` units that are out of one set are out of the other from here on, whatever its limits say. */
void lk_budget_shift(struct lk_budget_set *from, struct lk_budget_set *to, int count);
/* More units out than the limits (and reserve) allow: a released server should be closed. */
bool lk_budget_over(const struct lk_budget_set *set);

#endif
