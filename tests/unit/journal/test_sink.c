#include "journal/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"

enum { LONG_LINE = 20000, PIPE_ROOM = 4096 };

/* What waits in the pipe is read each time that the sink asks, until `asked` reaches `patience`. */
struct reader {
    int fd;
    struct lk_buf in;
    unsigned asked, patience;
};

static void
drain(struct reader *r)
{
    ssize_t n;
    do {
        assert_true(lk_buf_reserve(&r->in, PIPE_ROOM));
        n = read(r->fd, r->in.data + r->in.len, PIPE_ROOM);
        r->in.len += n > 0 ? (size_t)n : 0;
    } while (n > 0);
}

static bool
give_up(void *context)
{
    struct reader *r = context;
    if (r->asked++ >= r->patience)
        return true;
    drain(r);
    return false;
}

static struct lk_sink
pipe_to(struct reader *r)
{
    int fds[2];
    assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
    assert_true(fcntl(fds[1], F_SETPIPE_SZ, PIPE_ROOM) >= 0);
    r->fd = fds[0];
    return (struct lk_sink){.kind = LK_SINK_FILE, .fd = fds[1]};
}

static bool
write_text(struct lk_sink *s, struct reader *r, char fill, size_t n)
{
    char *text = malloc(n);
    memset(text, fill, n);
    bool written = lk_sink_write(s, LOG_INFO, lk_span_make(text, n), give_up, r);
    free(text);
    return written;
}

static void
a_line_longer_than_the_pipe_comes_out_whole(void **state)
{
    struct reader r = {.patience = 100};
    struct lk_sink s = pipe_to(&r);
    assert_true(write_text(&s, &r, 'x', LONG_LINE));
    drain(&r);
    assert_int_equal(r.in.len, LONG_LINE + 1);
    for (size_t i = 0; i < LONG_LINE; i++)
        assert_int_equal(r.in.data[i], 'x');
    assert_int_equal(r.in.data[LONG_LINE], '\n');
    assert_false(s.torn);
    lk_buf_clear(&r.in);
    lk_sink_close(&s);
    close(r.fd);
}

static void
a_torn_line_is_ended_before_the_next(void **state)
{
    struct reader r = {.patience = 1};
    struct lk_sink s = pipe_to(&r);
    assert_false(write_text(&s, &r, 'x', LONG_LINE));
    assert_true(s.torn);
    assert_false(write_text(&s, &r, 'y', 3));
    assert_true(s.torn);
    drain(&r);
    size_t torn = r.in.len;
    assert_true(torn < LONG_LINE);
    assert_true(write_text(&s, &r, 'z', 3));
    assert_false(s.torn);
    drain(&r);
    assert_int_equal(r.in.len, torn + 5);
    assert_memory_equal(r.in.data + torn, "\nzzz\n", 5);
    lk_buf_clear(&r.in);
    lk_sink_close(&s);
    close(r.fd);
}

static void
a_line_that_lacks_only_its_newline_is_written(void **state)
{
    struct reader r = {.patience = 0};
    struct lk_sink s = pipe_to(&r);
    assert_true(write_text(&s, &r, 'x', PIPE_ROOM));
    assert_true(s.torn);
    drain(&r);
    assert_true(write_text(&s, &r, 'z', 1));
    drain(&r);
    assert_memory_equal(r.in.data + PIPE_ROOM - 1, "x\nz\n", 4);
    lk_buf_clear(&r.in);
    lk_sink_close(&s);
    close(r.fd);
}

static void
targets_are_told_apart_by_their_names(void **state)
{
    struct lk_sink s;
    assert_true(lk_sink_open(&s, ""));
    assert_int_equal(s.kind, LK_SINK_MAIN_LOG);
    assert_true(lk_sink_open(&s, "syslog"));
    assert_int_equal(s.kind, LK_SINK_SYSLOG);
    assert_true(lk_sink_open(&s, "stderr"));
    assert_int_equal(s.kind, LK_SINK_STDERR);
    lk_sink_close(&s);
    assert_true(fcntl(STDERR_FILENO, F_GETFD) >= 0);
    assert_true(lk_sink_open(&s, "/dev/null"));
    assert_int_equal(s.kind, LK_SINK_FILE);
    lk_sink_close(&s);
    assert_false(lk_sink_open(&s, "/"));
    assert_int_equal(errno, EISDIR);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_longer_than_the_pipe_comes_out_whole),
        cmocka_unit_test(a_torn_line_is_ended_before_the_next),
        cmocka_unit_test(a_line_that_lacks_only_its_newline_is_written),
        cmocka_unit_test(targets_are_told_apart_by_their_names),
    };
    return cmocka_run_group_tests_name("journal/sink", tests, NULL, NULL);
}
