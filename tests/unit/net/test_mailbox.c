#include "net/mailbox.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static bool
readable(const struct lk_mailbox *m)
{
    struct pollfd p = {.fd = m->fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void
messages_come_out_in_the_order_they_went_in(void **state)
{
    struct lk_mailbox m;
    struct lk_message got, put = {.kind = LK_MESSAGE_CLIENT};
    assert_true(lk_mailbox_init(&m));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 500; i++) {
            put.u.client.fd = i;
            assert_true(lk_mailbox_put(&m, &put));
        }
        for (int i = 0; i < 500; i++) {
            assert_true(lk_mailbox_take(&m, &got));
            assert_int_equal(got.kind, LK_MESSAGE_CLIENT);
            assert_int_equal(got.u.client.fd, i);
        }
        assert_false(lk_mailbox_take(&m, &got));
    }
    lk_mailbox_clear(&m);
}

static void
its_descriptor_is_readable_from_the_first_message_until_heard(void **state)
{
    struct lk_mailbox m;
    const struct lk_message put = {.kind = LK_MESSAGE_COMMAND, .u.command = LK_COMMAND_END};
    assert_true(lk_mailbox_init(&m));
    assert_false(readable(&m));
    assert_true(lk_mailbox_put(&m, &put));
    assert_true(lk_mailbox_put(&m, &put));
    assert_true(readable(&m));
    lk_mailbox_heard(&m);
    assert_false(readable(&m));
    assert_true(lk_mailbox_put(&m, &put));
    assert_true(readable(&m));
    lk_mailbox_clear(&m);
}

static void
clients_leave_room_for_commands(void **state)
{
    struct lk_mailbox m;
    const struct lk_message client = {.kind = LK_MESSAGE_CLIENT}, command = {.kind = LK_MESSAGE_COMMAND};
    size_t clients = 0, commands = 0;
    assert_true(lk_mailbox_init(&m));
    while (lk_mailbox_put(&m, &client))
        clients++;
    while (lk_mailbox_put(&m, &command))
        commands++;
    assert_int_equal(clients, LK_MAILBOX_MAX / 4 * 3);
    assert_int_equal(commands, LK_MAILBOX_MAX / 4);
    lk_mailbox_clear(&m);
}

#define SENDERS 4
#define EACH 2000

static void *
sender(void *arg)
{
    const struct lk_message put = {.kind = LK_MESSAGE_COMMAND, .u.command = LK_COMMAND_PAUSE};
    for (int i = 0; i < EACH;)
        if (lk_mailbox_put(arg, &put))
            i++;
    return NULL;
}

static void
nothing_is_lost_between_threads(void **state)
{
    struct lk_mailbox m;
    pthread_t threads[SENDERS];
    struct lk_message got;
    assert_true(lk_mailbox_init(&m));
    for (int i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, sender, &m), 0);
    for (int n = 0; n < SENDERS * EACH;) {
        struct pollfd p = {.fd = m.fd, .events = POLLIN};
        assert_int_equal(poll(&p, 1, 20000), 1);
        lk_mailbox_heard(&m);
        while (lk_mailbox_take(&m, &got))
            n++;
    }
    for (int i = 0; i < SENDERS; i++)
        (void)pthread_join(threads[i], NULL);
    assert_false(lk_mailbox_take(&m, &got));
    lk_mailbox_clear(&m);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_out_in_the_order_they_went_in),
        cmocka_unit_test(its_descriptor_is_readable_from_the_first_message_until_heard),
        cmocka_unit_test(clients_leave_room_for_commands),
        cmocka_unit_test(nothing_is_lost_between_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
