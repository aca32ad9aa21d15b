#include "sql/uses.h"

#include <stdlib.h>
#include <uthash.h>

#include "base/list.h"
#include "sql/lint.h"

/* What a number was seen as. */
enum { BIGINT_SESSION = 1, BIGINT_XACT = 2, PAIR_SESSION = 4, PAIR_XACT = 8 };
#define BIGINT ((unsigned)BIGINT_SESSION | BIGINT_XACT)
#define PAIR ((unsigned)PAIR_SESSION | PAIR_XACT)

struct use {
    UT_hash_handle hh;
    struct lk_node recent;
    uint64_t number; /* the key's 64 bits, in whichever space */
    unsigned seen;
};

struct lk_uses {
    unsigned refs, most;
    struct lk_list recent; /* the least recently used first */
    struct use *numbers;   /* uthash */
};

struct lk_uses *
lk_uses_new(unsigned most)
{
    struct lk_uses *t = LK_NEW(struct lk_uses);
    t->refs = 1;
    t->most = most;
    lk_list_init(&t->recent);
    return t;
}

struct lk_uses *
lk_uses_ref(struct lk_uses *t)
{
    t->refs++;
    return t;
}

static void
drop(struct lk_uses *t, struct use *u)
{
    HASH_DEL(t->numbers, u);
    lk_list_remove(&t->recent, &u->recent);
    free(u);
}

void
lk_uses_unref(struct lk_uses *t)
{
    if (!t || --t->refs > 0)
        return;
    LK_LIST_EACH(&t->recent, struct use, recent, u) drop(t, u);
    free(t);
}

/* The number's row, as the one used last. */
static struct use *
get(struct lk_uses *t, uint64_t number)
{
    struct use *u = NULL;
    HASH_FIND(hh, t->numbers, &number, sizeof(number), u);
    if (u) {
        lk_list_remove(&t->recent, &u->recent);
    } else {
        if (t->recent.count >= t->most)
            drop(t, LK_LIST_ITEM(lk_list_first(&t->recent), struct use, recent));
        u = LK_NEW(struct use);
        u->number = number;
        HASH_ADD(hh, t->numbers, number, sizeof(u->number), u);
    }
    lk_list_push(&t->recent, &u->recent);
    return u;
}

static unsigned
lints_of(unsigned seen)
{
    unsigned lints = seen & BIGINT && seen & PAIR ? LK_LINT_BOTH_KEY_SPACES : 0;
    if ((seen & BIGINT) == BIGINT || (seen & PAIR) == PAIR)
        lints |= LK_LINT_BOTH_LEVELS;
    return lints;
}

unsigned
lk_uses_note(struct lk_uses *t, struct lk_key key, bool xact)
{
    enum lk_space space = lk_key_space(key);
    if (space != LK_SPACE_BIGINT && space != LK_SPACE_INT4PAIR)
        return 0;
    struct use *u = get(t, (uint64_t)key.classid << 32 | key.objid);
    unsigned before = lints_of(u->seen);
    if (space == LK_SPACE_BIGINT)
        u->seen |= xact ? BIGINT_XACT : BIGINT_SESSION;
    else
        u->seen |= xact ? PAIR_XACT : PAIR_SESSION;
    return lints_of(u->seen) & ~before;
}

unsigned
lk_uses_count(const struct lk_uses *t)
{
    return (unsigned)t->recent.count;
}
