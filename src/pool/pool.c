#include "pool/pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SOON_US ((int64_t)50000)

static void
bind_budgets(struct lk_pool *p, struct lk_budgets *budgets)
{
    const struct lk_route *r = &p->route;
    size_t n = strlen(r->database) + strlen(r->user) + 2;
    char *name = lk_mem_new(n);
    size_t at = strlen(r->database);
    memcpy(name, r->database, at);
    name[at] = '\n';
    memcpy(name + at + 1, r->user, strlen(r->user) + 1);
    p->budgets.of[LK_BUDGET_POOL] = lk_budgets_get(budgets, LK_BUDGET_POOL, name, r->pool_size, r->reserve_pool_size);
    p->budgets.of[LK_BUDGET_DATABASE] = lk_budgets_get(budgets, LK_BUDGET_DATABASE, r->database, r->max_db_connections, 0);
    p->budgets.of[LK_BUDGET_USER] = lk_budgets_get(budgets, LK_BUDGET_USER, r->user, r->max_user_connections, 0);
    free(name);
}

static void
put_budgets(struct lk_budget_set *set, struct lk_budgets *budgets)
{
    for (int i = 0; i < LK_BUDGET_KINDS; i++)
        lk_budgets_put(budgets, set->of[i]);
}

struct lk_pool *
lk_pool_new(struct lk_route *route, struct lk_budgets *budgets, int64_t now_us)
{
    struct lk_pool *p = LK_NEW(struct lk_pool);
    p->route = *route;
    *route = (struct lk_route){0};
    p->empty_since_us = p->deserted_since_us = now_us;
    for (int i = 0; i < LK_SEAT_LISTS; i++)
        lk_list_init(&p->seats[i]);
    lk_list_init(&p->waiters);
    lk_list_init(&p->errands);
    bind_budgets(p, budgets);
    return p;
}

void
lk_pool_free(struct lk_pool *p, struct lk_budgets *budgets)
{
    for (int i = 0; i < LK_SEAT_LISTS; i++)
        assert(p->seats[i].count == 0);
    assert(p->waiters.count == 0 && p->errands.count == 0);
    put_budgets(&p->budgets, budgets);
    lk_route_clear(&p->route);
    free(p->failure);
    free(p);
}

/* Seats of the list that are the pool's own: not those beyond its limits. */
static size_t
own_seats(const struct lk_list *seats)
{
    size_t n = 0;
    LK_LIST_EACH(seats, struct lk_seat, node, seat)
    n += !seat->extra;
    return n;
}

void
lk_pool_reroute(struct lk_pool *p, struct lk_route *route, struct lk_budgets *budgets)
{
    struct lk_budget_set old = p->budgets;
    lk_route_clear(&p->route);
    p->route = *route;
    *route = (struct lk_route){0};
    bind_budgets(p, budgets);
    /* The user may be another one, and with him the names of the budgets. */
    int units = 0;
    for (int i = LK_SEAT_OPENING; i < LK_SEAT_LISTS; i++)
        units += (int)own_seats(&p->seats[i]);
    lk_budget_shift(&old, &p->budgets, units);
    put_budgets(&old, budgets);
}

void
lk_pool_move(struct lk_pool *p, struct lk_seat *seat, enum lk_seat_list to, int64_t now_us)
{
    if (seat->list != LK_SEAT_NONE)
        lk_list_remove(&p->seats[seat->list], &seat->node);
    seat->list = to;
    seat->since_us = now_us;
    if (to != LK_SEAT_NONE)
        lk_list_push(&p->seats[to], &seat->node);
    else
        p->deserted_since_us = now_us;
}

struct lk_seat *
lk_pool_idle(struct lk_pool *p, bool round_robin)
{
    struct lk_list *idle = &p->seats[LK_SEAT_IDLE];
    struct lk_node *n = round_robin ? lk_list_first(idle) : lk_list_last(idle);
    return n ? LK_LIST_ITEM(n, struct lk_seat, node) : NULL;
}

void
lk_pool_wait(struct lk_pool *p, struct lk_waiter *w, int64_t now_us)
{
    w->since_us = now_us;
    lk_list_push(&p->waiters, &w->node);
}

void
lk_pool_leave(struct lk_pool *p, struct lk_waiter *w)
{
    if (lk_node_on_list(&w->node))
        lk_list_remove(&p->waiters, &w->node);
}

void
lk_pool_wait_errand(struct lk_pool *p, struct lk_waiter *w, int64_t now_us)
{
    w->since_us = now_us;
    lk_list_push(&p->errands, &w->node);
}

void
lk_pool_leave_errand(struct lk_pool *p, struct lk_waiter *w)
{
    if (lk_node_on_list(&w->node))
        lk_list_remove(&p->errands, &w->node);
}

struct lk_waiter *
lk_pool_first_waiter(struct lk_pool *p)
{
    struct lk_node *n = lk_list_first(&p->waiters);
    return n ? LK_LIST_ITEM(n, struct lk_waiter, node) : NULL;
}

size_t
lk_pool_seats(const struct lk_pool *p)
{
    size_t n = 0;
    for (int i = LK_SEAT_OPENING; i < LK_SEAT_LISTS; i++)
        n += p->seats[i].count;
    return n;
}

/* Seats whose cleaning is young enough to be waited for. A long one (a query that won't be cancelled) must not keep a waiter
 * from a connection of its own. */
static size_t
soon_clean(const struct lk_pool *p, int64_t now_us)
{
    const struct lk_list *cleaning = &p->seats[LK_SEAT_CLEANING];
    size_t n = 0;
    for (struct lk_node *at = cleaning->head.prev; at != &cleaning->head; at = at->prev) {
        const struct lk_seat *seat = LK_LIST_ITEM(at, struct lk_seat, node);
        if (now_us - seat->since_us > SOON_US)
            break;
        n += !seat->extra;
    }
    return n;
}

bool
lk_pool_may_open(
    struct lk_pool *p, int64_t now_us, int64_t login_retry_us, int64_t reserve_timeout_us, enum lk_budget_kind *denied)
{
    const struct lk_waiter *first = lk_pool_first_waiter(p);
    size_t opening = own_seats(&p->seats[LK_SEAT_OPENING]);
    bool wanted = p->waiters.count + p->errands.count > opening + soon_clean(p, now_us) + p->seats[LK_SEAT_IDLE].count;
    bool below_least = p->clients > 0 && lk_pool_seats(p) < (size_t)p->route.min_pool_size;
    if (p->paused || (!wanted && !below_least))
        return false;
    if (p->failed_us != 0 && (opening > 0 || now_us - p->failed_us < login_retry_us))
        return false;
    bool reserve = first && reserve_timeout_us > 0 && now_us - first->since_us >= reserve_timeout_us;
    return lk_budget_take(&p->budgets, reserve, denied);
}
