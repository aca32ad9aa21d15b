#include "net/resolve.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"

struct answer {
    struct lk_asker asker;
    struct lk_addresses found;
    struct event_base *base;
    int calls;
};

static void
on_answer(void *context, const struct lk_addresses *found)
{
    struct answer *a = context;
    a->found = *found;
    a->calls++;
    (void)event_base_loopbreak(a->base);
}

struct fixture {
    struct event_base *base;
    struct lk_resolver *resolver;
};

static void
set_up(struct fixture *f)
{
    f->base = event_base_new();
    f->resolver = lk_resolver_new(f->base, "/nonexistent/resolv.conf");
}

static void
tear_down(struct fixture *f)
{
    lk_resolver_free(f->resolver);
    event_base_free(f->base);
}

static bool
ask(struct fixture *f, const char *name, struct answer *a)
{
    *a = (struct answer){.base = f->base, .asker = {.context = a, .answer = on_answer}};
    return lk_resolve(f->resolver, name, lk_clock_read().mono_us, &a->asker, &a->found);
}

static void
numeric_addresses_are_answered_at_once(void **state)
{
    struct fixture f;
    struct answer a;
    char text[64];
    set_up(&f);
    assert_true(ask(&f, "127.0.0.1", &a));
    assert_int_equal(a.found.count, 1);
    assert_int_equal(a.found.list[0].any.sa_family, AF_INET);
    assert_int_equal(ntohl(a.found.list[0].v4.sin_addr.s_addr), INADDR_LOOPBACK);
    assert_true(ask(&f, "fe80::1:2", &a));
    assert_int_equal(a.found.count, 1);
    assert_string_equal(inet_ntop(AF_INET6, &a.found.list[0].v6.sin6_addr, text, sizeof(text)), "fe80::1:2");
    assert_int_equal(a.calls, 0);
    tear_down(&f);
}

static void
localhost_is_found_without_a_name_server(void **state)
{
    struct fixture f;
    struct answer a;
    set_up(&f);
    if (!ask(&f, "localhost", &a)) {
        (void)event_base_dispatch(f.base);
        assert_int_equal(a.calls, 1);
    }
    assert_true(a.found.count > 0);
    for (size_t i = 0; i < a.found.count; i++) {
        const union lk_address *at = &a.found.list[i];
        if (at->any.sa_family == AF_INET)
            assert_int_equal(ntohl(at->v4.sin_addr.s_addr), INADDR_LOOPBACK);
        else
            assert_memory_equal(&at->v6.sin6_addr, &in6addr_loopback, sizeof(in6addr_loopback));
    }
    tear_down(&f);
}

static void
answers_are_kept_while_they_are_good(void **state)
{
    struct fixture f;
    struct answer a;
    set_up(&f);
    if (!ask(&f, "localhost", &a))
        (void)event_base_dispatch(f.base);
    assert_true(ask(&f, "localhost", &a));
    assert_true(a.found.count > 0);
    tear_down(&f);
}

struct seen {
    unsigned count;
    char name[32], addresses[64];
    int64_t left_us;
};

static void
see(void *to, const struct lk_show_host *h)
{
    struct seen *s = to;
    s->count++;
    (void)snprintf(s->name, sizeof(s->name), "%s", h->name);
    (void)snprintf(s->addresses, sizeof(s->addresses), "%s", h->addresses);
    s->left_us = h->left_us;
    assert_false(h->asking);
}

static void
what_was_found_is_shown_with_how_long_it_is_kept(void **state)
{
    struct fixture f;
    struct answer a;
    struct seen seen = {0};
    set_up(&f);
    lk_resolver_keep(f.resolver, 1000 * LK_SECOND_US, LK_SECOND_US);
    if (!ask(&f, "localhost", &a))
        (void)event_base_dispatch(f.base);
    struct lk_now now = lk_clock_read();
    lk_resolver_each(f.resolver, now, see, &seen);
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.name, "localhost");
    assert_true(strstr(seen.addresses, "127.0.0.1") || strstr(seen.addresses, "::1"));
    assert_in_range(seen.left_us, 900 * LK_SECOND_US, 1000 * LK_SECOND_US);
    now.mono_us += 2000 * LK_SECOND_US;
    lk_resolver_each(f.resolver, now, see, &seen);
    assert_int_equal(seen.left_us, 0);
    tear_down(&f);
}

static void
who_no_longer_waits_is_not_answered(void **state)
{
    struct fixture f;
    struct answer a;
    set_up(&f);
    assert_false(ask(&f, "nobody.invalid", &a));
    lk_resolve_cancel(&a.asker);
    lk_resolve_cancel(&a.asker);
    tear_down(&f);
    assert_int_equal(a.calls, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numeric_addresses_are_answered_at_once),
        cmocka_unit_test(localhost_is_found_without_a_name_server),
        cmocka_unit_test(answers_are_kept_while_they_are_good),
        cmocka_unit_test(what_was_found_is_shown_with_how_long_it_is_kept),
        cmocka_unit_test(who_no_longer_waits_is_not_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
