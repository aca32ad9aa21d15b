#include "net/acceptor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/socket.h"

struct fixture {
    char folder[32], path[64], word_all[4], word_none[1];
    struct lk_settings settings;
    struct lk_acceptor acceptor;
    struct event_base *base;
    struct lk_message got;
    int accepted;
};

static void
set_up(struct fixture *f)
{
    *f = (struct fixture){.folder = "/tmp/lk-test-XXXXXX"};
    assert_non_null(mkdtemp(f->folder));
    f->settings.listen_addr = f->word_none;
    f->settings.unix_socket_dir = f->folder;
    f->settings.listen_port = 7777; /* names the unix socket's file; no TCP port is opened */
    f->settings.unix_socket_mode = 0700;
    f->settings.listen_backlog = 10;
    (void)snprintf(f->path, sizeof(f->path), "%s/.s.PGSQL.7777", f->folder);
    f->base = event_base_new();
}

static void
tear_down(struct fixture *f)
{
    lk_acceptor_close(&f->acceptor);
    event_base_free(f->base);
    (void)unlink(f->path);
    assert_int_equal(rmdir(f->folder), 0);
}

static int
call(const struct fixture *f)
{
    struct sockaddr_un un;
    socklen_t n = lk_socket_unix(&un, f->folder, 7777);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&un, n) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool
on_accepted(void *context, const struct lk_message *m)
{
    struct fixture *f = context;
    f->got = *m;
    f->accepted++;
    (void)event_base_loopbreak(f->base);
    return true;
}

static void
a_unix_client_is_handed_over_and_the_file_goes_at_the_end(void **state)
{
    struct fixture f;
    struct stat st;
    set_up(&f);
    assert_true(lk_acceptor_open(&f.acceptor, &f.settings));
    assert_int_equal(stat(f.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    lk_acceptor_run(&f.acceptor, f.base, on_accepted, &f);
    int fd = call(&f);
    assert_true(fd >= 0);
    (void)event_base_dispatch(f.base);
    assert_int_equal(f.accepted, 1);
    assert_true(f.got.u.client.unix_socket);
    assert_int_equal(lk_socket_peer_uid(f.got.u.client.fd), getuid());
    close(f.got.u.client.fd);
    close(fd);
    lk_acceptor_close(&f.acceptor);
    assert_int_equal(access(f.path, F_OK), -1);
    tear_down(&f);
}

static void
a_socket_file_left_behind_is_replaced(void **state)
{
    struct fixture f;
    struct sockaddr_un un;
    set_up(&f);
    socklen_t n = lk_socket_unix(&un, f.folder, 7777);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&un, n), 0);
    close(fd);
    assert_int_equal(access(f.path, F_OK), 0);
    assert_true(lk_acceptor_open(&f.acceptor, &f.settings));
    tear_down(&f);
}

static void
a_socket_in_use_is_left_alone(void **state)
{
    struct fixture f;
    struct lk_acceptor second = {0};
    set_up(&f);
    assert_true(lk_acceptor_open(&f.acceptor, &f.settings));
    assert_false(lk_acceptor_open(&second, &f.settings));
    int fd = call(&f);
    assert_true(fd >= 0);
    close(fd);
    tear_down(&f);
}

static void
a_tcp_client_comes_with_its_address(void **state)
{
    struct fixture f;
    union lk_address at = {0};
    socklen_t n = sizeof(at);
    char text[64], none[1] = "", loopback[] = "127.0.0.1";
    int port;
    set_up(&f);
    f.settings.unix_socket_dir = none;
    f.settings.listen_addr = loopback;
    f.settings.listen_port = 0;
    assert_true(lk_acceptor_open(&f.acceptor, &f.settings));
    assert_int_equal(f.acceptor.count, 1);
    lk_acceptor_run(&f.acceptor, f.base, on_accepted, &f);
    assert_int_equal(getsockname(f.acceptor.listeners[0].fd, &at.any, &n), 0);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, &at.any, n), 0);
    (void)event_base_dispatch(f.base);
    assert_int_equal(f.accepted, 1);
    assert_false(f.got.u.client.unix_socket);
    lk_socket_text(&f.got.u.client.address, text, sizeof(text), &port);
    assert_string_equal(text, "127.0.0.1");
    n = sizeof(at);
    assert_int_equal(getsockname(fd, &at.any, &n), 0);
    assert_int_equal(port, ntohs(at.v4.sin_port));
    close(f.got.u.client.fd);
    close(fd);
    tear_down(&f);
}

static void
nowhere_to_listen_is_an_error(void **state)
{
    struct fixture f;
    char none[1] = "";
    set_up(&f);
    f.settings.unix_socket_dir = none;
    assert_false(lk_acceptor_open(&f.acceptor, &f.settings));
    tear_down(&f);
}

static void
a_path_that_no_address_can_hold_is_refused(void **state)
{
    struct sockaddr_un un;
    char longest[200];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[0] = '/';
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(lk_socket_unix(&un, longest, 5432), 0);
    assert_int_equal(lk_socket_unix(&un, "@abstract", 5432), sizeof(sa_family_t) + strlen("@abstract/.s.PGSQL.5432"));
    assert_int_equal(un.sun_path[0], 0);
    assert_memory_equal(un.sun_path + 1, "abstract/.s.PGSQL.5432", strlen("abstract/.s.PGSQL.5432"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_unix_client_is_handed_over_and_the_file_goes_at_the_end),
        cmocka_unit_test(a_socket_file_left_behind_is_replaced),
        cmocka_unit_test(a_socket_in_use_is_left_alone),
        cmocka_unit_test(a_tcp_client_comes_with_its_address),
        cmocka_unit_test(nowhere_to_listen_is_an_error),
        cmocka_unit_test(a_path_that_no_address_can_hold_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
