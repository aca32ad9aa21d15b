/* A doubly linked list through nodes that live inside their items. A node knows whether it is on a list. */
#ifndef LK_BASE_LIST_H
#define LK_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

struct lk_node {
    struct lk_node *prev, *next; /* both NULL: on no list */
};

struct lk_list {
    struct lk_node head; /* a ring; valid after lk_list_init */
    size_t count;
};

static inline void
lk_list_init(struct lk_list *l)
{
    l->head.prev = l->head.next = &l->head;
    l->count = 0;
}

static inline bool
lk_node_on_list(const struct lk_node *n)
{
    return n->next != NULL;
}

static inline void
lk_list_insert_after(struct lk_list *l, struct lk_node *at, struct lk_node *n)
{
    n->prev = at;
    n->next = at->next;
    at->next->prev = n;
    at->next = n;
    l->count++;
}

static inline void
lk_list_push(struct lk_list *l, struct lk_node *n)
{
    lk_list_insert_after(l, l->head.prev, n);
}

static inline void
lk_list_push_front(struct lk_list *l, struct lk_node *n)
{
    lk_list_insert_after(l, &l->head, n);
}

static inline void
lk_list_remove(struct lk_list *l, struct lk_node *n)
{
    n->prev->next = n->next;
    n->next->prev = n->prev;
    n->prev = n->next = NULL;
    l->count--;
}

static inline struct lk_node *
lk_list_first(const struct lk_list *l)
{
    return l->head.next == &l->head ? NULL : l->head.next;
}

static inline struct lk_node *
lk_list_last(const struct lk_list *l)
{
    return l->head.prev == &l->head ? NULL : l->head.prev;
}

static inline struct lk_node *
lk_list_next(const struct lk_list *l, const struct lk_node *n)
{
    return n->next == &l->head ? NULL : n->next;
}

#define LK_LIST_ITEM(node, type, member) LK_CONTAINER(node, type, member)

/* Walks items; the current item may be removed in the body. */
#define LK_LIST_EACH(l, type, member, var)                                                              \
    for (struct lk_node *lk_it_ = (l)->head.next, *lk_nx_ = lk_it_->next; lk_it_ != &(l)->head;          \
         lk_it_ = lk_nx_, lk_nx_ = lk_it_->next)                                                         \
        for (type *var = LK_LIST_ITEM(lk_it_, type, member); var; var = NULL)

#endif
