/* The ledger against a naive list of grants: a server that keeps one line per grant and answers as PostgreSQL does.
 * Some statements are exact and told to the ledger, some only cast doubt, some hide. Whenever the ledger says that it
 * knows, it must know; a count that it gives must be the server's; and a probe settles all of it. */
#include "lock/ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/mem.h"

enum { ROUNDS = 300, STEPS = 400, GRANTS_MAX = 4000, TEXTS = 3 };

static uint64_t seed;

/* xorshift64*: the same seed gives the same run everywhere. */
static uint32_t
below(uint32_t bound)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return (uint32_t)((seed * 2685821657736338717ULL) >> 32) % bound;
}

struct grant {
    struct lk_key key;
    enum lk_lock_mode mode;
};

struct world {
    struct grant grants[GRANTS_MAX]; /* what the server holds, one line a grant */
    uint32_t count;
    struct lk_ledger ledger;
    struct lk_text *texts[TEXTS];
    uint32_t keys; /* how many there are to choose from */
};

static bool
same(struct grant a, struct grant b)
{
    return lk_key_eq(a.key, b.key) && a.mode == b.mode;
}

static uint32_t
server_count(const struct world *w, struct grant g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->count; i++)
        n += same(w->grants[i], g);
    return n;
}

static void
server_lock(struct world *w, struct grant g)
{
    if (w->count < GRANTS_MAX)
        w->grants[w->count++] = g;
}

static bool
server_unlock(struct world *w, struct grant g)
{
    for (uint32_t i = 0; i < w->count; i++) {
        if (!same(w->grants[i], g))
            continue;
        w->grants[i] = w->grants[--w->count];
        return true;
    }
    return false;
}

static struct grant
some_grant(const struct world *w)
{
    uint32_t n = below(w->keys);
    struct lk_key key = n % 3 == 0 ? lk_key_pair((int32_t)(n & 7) - 3, (int32_t)n) : lk_key_bigint((int64_t)n - 3);
    return (struct grant){key, below(3) == 0 ? LK_MODE_SHARED : LK_MODE_EXCLUSIVE};
}

static struct lk_text *
some_text(struct world *w)
{
    uint32_t n = below(TEXTS + 1);
    return n < TEXTS ? w->texts[n] : NULL;
}

static struct lk_now
at(uint32_t step)
{
    return (struct lk_now){step, step};
}

static void
exact_lock(struct world *w, uint32_t step)
{
    struct grant g = some_grant(w);
    if (w->count == GRANTS_MAX)
        return;
    server_lock(w, g);
    bool known = lk_ledger_find(&w->ledger, g.key, g.mode) != NULL;
    bool full = w->ledger.count == LK_LEDGER_MAX;
    assert_int_equal(lk_ledger_lock(&w->ledger, g.key, g.mode, some_text(w), at(step)), !known && !full);
}

static void
exact_unlock(struct world *w)
{
    struct grant g = some_grant(w);
    if (server_unlock(w, g))
        lk_ledger_unlock(&w->ledger, g.key, g.mode);
}

/* A statement whose answer tells nothing, or that failed half-way: it does what it likes, and the ledger is told so. */
static void
murky_touch(struct world *w)
{
    static const enum lk_unsure why[] = {LK_UNSURE_TOUCH, LK_UNSURE_ERROR, LK_UNSURE_ANSWER, LK_UNSURE_HIDDEN};
    for (uint32_t n = below(6); n > 0; n--) {
        if (below(2) == 0)
            server_lock(w, some_grant(w));
        else
            (void)server_unlock(w, some_grant(w));
    }
    lk_ledger_doubt(&w->ledger, why[below(LK_COUNT(why))]);
}

/* The rows of pg_locks, in any order: one for each key and mode. */
static void
probe(struct world *w, uint32_t step)
{
    lk_ledger_probe_begin(&w->ledger);
    uint32_t first = w->count ? below(w->count) : 0;
    for (uint32_t n = 0; n < w->count; n++) {
        uint32_t i = (first + n) % w->count;
        bool seen = false;
        for (uint32_t m = 0; m < n && !seen; m++)
            seen = same(w->grants[(first + m) % w->count], w->grants[i]);
        if (!seen) {
            struct grant g = w->grants[i];
            bool known = lk_ledger_find(&w->ledger, g.key, g.mode) != NULL;
            assert_int_equal(lk_ledger_probe_row(&w->ledger, g.key, g.mode, some_text(w), at(step)), !known);
        }
    }
    lk_ledger_probe_end(&w->ledger);
    assert_int_equal(w->ledger.unsure & ~(unsigned)LK_UNSURE_FULL, 0);
}

static uint32_t
distinct(const struct world *w)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        bool seen = false;
        for (uint32_t j = 0; j < i && !seen; j++)
            seen = same(w->grants[j], w->grants[i]);
        n += !seen;
    }
    return n;
}

static void
check(const struct world *w)
{
    const struct lk_ledger *l = &w->ledger;
    unsigned references[TEXTS] = {0};
    assert_true(l->count <= LK_LEDGER_MAX);
    assert_int_equal(l->held == NULL, l->count == 0);
    for (uint32_t i = 0; i < l->count; i++) {
        struct lk_held *h = &l->held[i];
        uint32_t real = server_count(w, (struct grant){h->key, h->mode});
        if (h->count > 0)
            assert_int_equal(h->count, real);
        if (l->unsure == 0 || l->unsure == LK_UNSURE_FULL)
            assert_true(real > 0);
        for (int t = 0; t < TEXTS; t++)
            references[t] += h->text == w->texts[t];
    }
    if (l->unsure == 0)
        assert_int_equal(l->count, distinct(w));
    for (int t = 0; t < TEXTS; t++)
        assert_int_equal(w->texts[t]->refs, references[t] + 1);
}

static void
step(struct world *w, uint32_t n)
{
    uint32_t dice = below(100);
    if (dice < 50)
        exact_lock(w, n);
    else if (dice < 88)
        exact_unlock(w);
    else if (dice < 92)
        murky_touch(w);
    else if (dice < 99)
        probe(w, n);
    else {
        w->count = 0;
        lk_ledger_unlock_all(&w->ledger);
        assert_true(lk_ledger_zero(&w->ledger));
    }
}

static void
run(uint32_t keys, uint32_t steps)
{
    struct world *w = LK_NEW(struct world);
    w->keys = keys;
    for (int t = 0; t < TEXTS; t++)
        w->texts[t] = lk_text_new(lk_span_str("select"), (uint64_t)t + 1);
    for (uint32_t n = 0; n < steps; n++) {
        step(w, n);
        check(w);
    }
    lk_ledger_clear(&w->ledger);
    for (int t = 0; t < TEXTS; t++) {
        assert_int_equal(w->texts[t]->refs, 1);
        lk_text_unref(w->texts[t]);
    }
    free(w);
}

static void
what_the_ledger_says_it_knows_is_what_the_server_holds(void **state)
{
    for (int i = 0; i < ROUNDS; i++)
        run(4 + below(20), STEPS);
}

/* More locks than entries: probes, grants and unlocks around the border. */
static void
a_ledger_at_its_limit_never_claims_to_know_all(void **state)
{
    struct world *w = LK_NEW(struct world);
    for (int t = 0; t < TEXTS; t++)
        w->texts[t] = lk_text_new(lk_span_str("select"), (uint64_t)t + 1);
    w->keys = 1400;
    for (uint32_t n = 0; n < 2200; n++)
        exact_lock(w, n);
    check(w);
    for (uint32_t n = 0; n < 12; n++) {
        for (uint32_t m = below(300); m > 0; m--)
            below(3) > 0 ? exact_unlock(w) : exact_lock(w, n);
        probe(w, n);
        check(w);
        assert_int_equal(w->ledger.count + w->ledger.beyond, distinct(w));
        assert_int_equal(w->ledger.unsure, distinct(w) > LK_LEDGER_MAX ? LK_UNSURE_FULL : 0);
    }
    lk_ledger_clear(&w->ledger);
    for (int t = 0; t < TEXTS; t++)
        lk_text_unref(w->texts[t]);
    free(w);
}

int
main(int argc, char **argv)
{
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)time(NULL);
    if (seed == 0)
        seed = 1;
    printf("seed %llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_ledger_says_it_knows_is_what_the_server_holds),
        cmocka_unit_test(a_ledger_at_its_limit_never_claims_to_know_all),
    };
    return cmocka_run_group_tests_name("lock/ledger model", tests, NULL, NULL);
}
