#include "journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/log.h"
#include "base/mem.h"

#define ALL UINT32_MAX
#define DEADLINE_US (20 * LK_SECOND_US)

struct place {
    char folder[64];
    char file[96];
    char moved[96];
};

static int
set_up(void **state)
{
    struct place *p = LK_NEW(struct place);
    (void)snprintf(p->folder, sizeof(p->folder), "/tmp/lk-journal-XXXXXX");
    if (!mkdtemp(p->folder))
        return -1;
    (void)snprintf(p->file, sizeof(p->file), "%s/leaks.log", p->folder);
    (void)snprintf(p->moved, sizeof(p->moved), "%s/leaks.log.1", p->folder);
    *state = p;
    return 0;
}

static int
tear_down(void **state)
{
    struct place *p = *state;
    (void)unlink(p->file);
    (void)unlink(p->moved);
    int error = rmdir(p->folder);
    free(p);
    return error;
}

static struct lk_journal *
open_at(const char *target, uint32_t events)
{
    struct lk_journal *j = lk_journal_open(&(struct lk_journal_options){.target = target, .events = events});
    assert_non_null(j);
    return j;
}

/* Its number is the client's id. */
static void
put(struct lk_journal *j, enum lk_event event, uint64_t number)
{
    struct lk_record *r = lk_record_new(event, lk_clock_read());
    r->database = lk_mem_dup("shop");
    r->client.present = true;
    r->client.id = number;
    lk_journal_put(j, r);
}

static char *
content_of(const char *file)
{
    struct lk_buf b = {0};
    int fd = open(file, O_RDONLY);
    ssize_t n;
    char piece[4096];
    while (fd >= 0 && (n = read(fd, piece, sizeof(piece))) > 0)
        lk_buf_add(&b, piece, (size_t)n);
    if (fd >= 0)
        close(fd);
    char *text = lk_mem_dup_span(lk_buf_span(&b));
    lk_buf_clear(&b);
    return text;
}

static unsigned
lines_in(const char *text)
{
    unsigned n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static unsigned
lines_of(const char *file)
{
    char *text = content_of(file);
    unsigned n = lines_in(text);
    free(text);
    return n;
}

static void
tick(void)
{
    (void)poll(NULL, 0, 1);
}

static void
wait_for_lines(const char *file, unsigned count)
{
    int64_t end = lk_clock_read().mono_us + DEADLINE_US;
    while (lines_of(file) < count && lk_clock_read().mono_us < end)
        tick();
    assert_int_equal(lines_of(file), count);
}

static void
wait_for_dropped(struct lk_journal *j, uint64_t count)
{
    int64_t end = lk_clock_read().mono_us + DEADLINE_US;
    while (lk_journal_dropped(j) < count && lk_clock_read().mono_us < end)
        tick();
    assert_int_equal(lk_journal_dropped(j), count);
}

static void
a_record_is_in_the_file_within_100_ms(void **state)
{
    struct place *p = *state;
    struct lk_journal *j = open_at(p->file, ALL);
    int64_t best_us = INT64_MAX;
    for (unsigned i = 1; i <= 10; i++) {
        int64_t start = lk_clock_read().mono_us;
        put(j, LK_EVENT_LEAK, i);
        wait_for_lines(p->file, i);
        int64_t took = lk_clock_read().mono_us - start;
        best_us = took < best_us ? took : best_us;
    }
    assert_true(best_us < 100000);
    lk_journal_close(j);
}

static void
closing_writes_all_that_is_queued_in_order(void **state)
{
    struct place *p = *state;
    struct lk_journal *j = open_at(p->file, ALL);
    for (unsigned i = 0; i < 500; i++)
        put(j, LK_EVENT_PIN, i);
    lk_journal_close(j);
    char *text = content_of(p->file), *line = text;
    for (unsigned i = 0; i < 500; i++) {
        char *next = strchr(line, '\n');
        assert_non_null(next);
        json_t *o = json_loadb(line, (size_t)(next - line), 0, NULL);
        assert_non_null(o);
        assert_int_equal(json_integer_value(json_object_get(json_object_get(o, "client"), "id")), i);
        json_decref(o);
        line = next + 1;
    }
    assert_string_equal(line, "");
    free(text);
}

static void
a_log_file_is_kept_and_its_rights_are_narrow(void **state)
{
    struct place *p = *state;
    for (unsigned i = 0; i < 2; i++) {
        struct lk_journal *j = open_at(p->file, ALL);
        put(j, LK_EVENT_LEAK, i);
        lk_journal_close(j);
    }
    assert_int_equal(lines_of(p->file), 2);
    struct stat st;
    assert_int_equal(stat(p->file, &st), 0);
    assert_int_equal(st.st_mode & 0027, 0);
}

static void
a_file_that_cannot_be_opened_is_told(void **state)
{
    errno = 0;
    assert_null(lk_journal_open(&(struct lk_journal_options){.target = "/nowhere/leaks.log", .events = ALL}));
    assert_int_equal(errno, ENOENT);
}

static void
only_the_wanted_events_are_written(void **state)
{
    struct place *p = *state;
    struct lk_journal *j = open_at(p->file, 1u << LK_EVENT_LEAK | 1u << LK_EVENT_LOST);
    for (int e = 0; e < LK_EVENT_COUNT; e++)
        put(j, (enum lk_event)e, 1);
    assert_int_equal(lk_journal_dropped(j), 0);
    lk_journal_close(j);
    char *text = content_of(p->file);
    assert_int_equal(lines_in(text), 2);
    assert_non_null(strstr(text, "\"event\":\"leak\""));
    assert_non_null(strstr(text, "\"event\":\"lost\""));
    free(text);
}

static void
after_a_rename_reopening_writes_a_new_file(void **state)
{
    struct place *p = *state;
    struct lk_journal *j = open_at(p->file, ALL);
    put(j, LK_EVENT_LEAK, 1);
    wait_for_lines(p->file, 1);
    assert_int_equal(rename(p->file, p->moved), 0);
    put(j, LK_EVENT_LEAK, 2);
    wait_for_lines(p->moved, 2);
    lk_journal_reopen(j);
    put(j, LK_EVENT_LEAK, 3);
    wait_for_lines(p->file, 1);
    lk_journal_close(j);
    assert_int_equal(lines_of(p->moved), 2);
}

static void
a_new_target_takes_all_that_is_put_after_it(void **state)
{
    struct place *p = *state;
    struct lk_journal *j = open_at(p->file, ALL);
    put(j, LK_EVENT_LEAK, 1);
    wait_for_lines(p->file, 1);
    assert_false(lk_journal_set(j, &(struct lk_journal_options){.target = "/nowhere/leaks.log", .events = 0}));
    put(j, LK_EVENT_PIN, 2);
    wait_for_lines(p->file, 2);
    assert_true(lk_journal_set(j, &(struct lk_journal_options){.target = p->moved, .events = 1u << LK_EVENT_LEAK}));
    put(j, LK_EVENT_PIN, 3);
    put(j, LK_EVENT_LEAK, 4);
    lk_journal_close(j);
    assert_int_equal(lines_of(p->file), 2);
    assert_int_equal(lines_of(p->moved), 1);
}

static void
the_form_is_that_of_the_target_a_record_goes_to(void **state)
{
    struct place *p = *state;
    struct lk_journal *j = open_at(p->file, ALL);
    put(j, LK_EVENT_LEAK, 1);
    wait_for_lines(p->file, 1);
    assert_true(lk_journal_set(j, &(struct lk_journal_options){.target = p->file, .events = ALL, .text = true}));
    put(j, LK_EVENT_LEAK, 2);
    wait_for_lines(p->file, 2);
    lk_journal_reopen(j);
    put(j, LK_EVENT_LOST, 3);
    lk_journal_close(j);
    char *text = content_of(p->file), *second = strchr(text, '\n') + 1, *third = strchr(second, '\n') + 1;
    assert_memory_equal(text, "{\"ts\"", 5);
    assert_memory_equal(strstr(second, " UTC "), " UTC WARNING leak ", 18);
    assert_memory_equal(strstr(third, " UTC "), " UTC ERROR lost ", 16);
    free(text);
}

static void
dropped_records_are_told_in_the_form_of_the_others(void **state)
{
    struct place *p = *state;
    struct lk_journal *j = open_at("/dev/full", ALL);
    put(j, LK_EVENT_LEAK, 1);
    wait_for_dropped(j, 1);
    assert_true(lk_journal_set(j, &(struct lk_journal_options){.target = p->file, .events = ALL, .text = true}));
    put(j, LK_EVENT_LEAK, 2);
    lk_journal_close(j);
    char *text = content_of(p->file);
    assert_non_null(strstr(text, " UTC WARNING dropped 1 records could not be written\n"));
    assert_int_equal(lines_in(text), 2);
    free(text);
}

static void
what_a_full_disk_dropped_is_told_first_when_writing_works_again(void **state)
{
    struct place *p = *state;
    struct lk_journal *j = open_at("/dev/full", ALL);
    for (unsigned i = 1; i <= 3; i++) {
        put(j, LK_EVENT_LEAK, i);
        wait_for_dropped(j, i);
    }
    assert_true(lk_journal_set(j, &(struct lk_journal_options){.target = p->file, .events = ALL}));
    put(j, LK_EVENT_LEAK, 4);
    lk_journal_close(j);
    char *text = content_of(p->file), *second = strchr(text, '\n') + 1;
    assert_int_equal(lines_in(text), 2);
    json_t *o = json_loadb(text, (size_t)(second - text), 0, NULL);
    assert_string_equal(json_string_value(json_object_get(o, "event")), "dropped");
    assert_string_equal(json_string_value(json_object_get(o, "level")), "warning");
    assert_int_equal(json_integer_value(json_object_get(o, "dropped")), 3);
    assert_int_equal(json_string_length(json_object_get(o, "ts")), 27);
    assert_int_equal(json_object_size(o), 4);
    json_decref(o);
    assert_non_null(strstr(second, "\"id\":4"));
    free(text);
}

/* What a pipe that nobody reads drops, and that all the rest comes out once somebody does. */
static void
a_full_queue_drops_records_and_tells_how_many(void **state)
{
    enum { RECORDS = LK_JOURNAL_QUEUE_MAX + 5000 };
    struct place *p = *state;
    assert_int_equal(mkfifo(p->file, 0600), 0);
    assert_null(lk_journal_open(&(struct lk_journal_options){.target = p->file, .events = ALL}));
    assert_int_equal(errno, ENXIO);
    int fd = open(p->file, O_RDONLY | O_NONBLOCK);
    assert_true(fd >= 0);
    struct lk_journal *j = open_at(p->file, ALL);
    for (unsigned i = 0; i < RECORDS; i++)
        put(j, LK_EVENT_PIN, i);
    uint64_t dropped = lk_journal_dropped(j);
    assert_true(dropped > 1000 && dropped < 5000);
    uint64_t written = 0, told = 0;
    struct lk_buf in = {0};
    int64_t end = lk_clock_read().mono_us + DEADLINE_US;
    while (written + told < RECORDS && lk_clock_read().mono_us < end) {
        assert_true(lk_buf_reserve(&in, 65536));
        ssize_t n = read(fd, in.data + in.len, 65536);
        in.len += n > 0 ? (size_t)n : 0;
        size_t done = 0;
        for (uint8_t *eol; (eol = memchr(in.data + done, '\n', in.len - done)) != NULL;) {
            json_t *o = json_loadb((char *)in.data + done, (size_t)(eol - in.data) - done, 0, NULL);
            assert_non_null(o);
            json_t *count = json_object_get(o, "dropped");
            told += count ? (uint64_t)json_integer_value(count) : 0;
            written += !count;
            json_decref(o);
            done = (size_t)(eol - in.data) + 1;
        }
        lk_buf_drop(&in, done);
        if (n < 0)
            tick();
    }
    assert_int_equal(told, dropped);
    assert_int_equal(written + told, RECORDS);
    lk_journal_close(j);
    lk_buf_clear(&in);
    close(fd);
}

static void
a_pipe_that_takes_nothing_holds_neither_callers_nor_the_end_up(void **state)
{
    struct place *p = *state;
    assert_int_equal(mkfifo(p->file, 0600), 0);
    int fd = open(p->file, O_RDONLY | O_NONBLOCK);
    struct lk_journal *j = open_at(p->file, ALL);
    int64_t start = lk_clock_read().mono_us;
    for (unsigned i = 0; i < 2000; i++)
        put(j, LK_EVENT_PIN, i);
    lk_journal_close(j);
    assert_true(lk_clock_read().mono_us - start < 10 * LK_SECOND_US);
    close(fd);
}

static void
a_pipe_whose_reader_left_costs_records_not_the_process(void **state)
{
    struct place *p = *state;
    assert_int_equal(mkfifo(p->file, 0600), 0);
    int fd = open(p->file, O_RDONLY | O_NONBLOCK);
    struct lk_journal *j = open_at(p->file, ALL);
    close(fd);
    put(j, LK_EVENT_PIN, 1);
    wait_for_dropped(j, 1);
    fd = open(p->file, O_RDONLY | O_NONBLOCK);
    put(j, LK_EVENT_PIN, 2);
    lk_journal_close(j);
    char text[4096];
    ssize_t n = read(fd, text, sizeof(text) - 1);
    assert_true(n > 0);
    text[n] = '\0';
    assert_int_equal(lines_in(text), 2);
    assert_non_null(strstr(text, "\"dropped\":1"));
    assert_non_null(strstr(text, "\"id\":2"));
    close(fd);
}

static void
without_a_target_lines_go_to_the_main_log(void **state)
{
    struct place *p = *state;
    assert_true(lk_log_open(&(struct lk_log_options){.file = p->file}));
    struct lk_journal *j = open_at("", ALL);
    put(j, LK_EVENT_LEAK, 7);
    lk_journal_close(j);
    lk_log_close();
    char *text = content_of(p->file);
    assert_int_equal(lines_in(text), 1);
    assert_true(strncmp(text, "{\"ts\":", 6) == 0);
    free(text);
}

struct listed {
    unsigned count;
    uint64_t first, last;
};

static void
list(void *context, const struct lk_record *r)
{
    struct listed *l = context;
    if (l->count++ == 0)
        l->first = r->client.id;
    l->last = r->client.id;
}

static void
the_last_thousand_leaks_are_kept_whether_written_or_not(void **state)
{
    struct place *p = *state;
    struct lk_journal *j = open_at(p->file, 1u << LK_EVENT_PIN);
    struct listed l = {0};
    lk_journal_recent(j, list, &l);
    assert_int_equal(l.count, 0);
    for (unsigned i = 0; i < 1500; i++) {
        put(j, i % 2 ? LK_EVENT_LEAK : LK_EVENT_HIDDEN, i);
        put(j, LK_EVENT_PIN, 9999);
    }
    lk_journal_recent(j, list, &l);
    assert_int_equal(l.count, LK_JOURNAL_RECENT);
    assert_int_equal(l.first, 500);
    assert_int_equal(l.last, 1499);
    lk_journal_close(j);
    assert_int_equal(lines_of(p->file), 1500);
}

static void *
put_many(void *context)
{
    for (unsigned i = 0; i < 1000; i++) {
        struct listed l = {0};
        put(context, LK_EVENT_LEAK, i);
        if (i % 100 == 0)
            lk_journal_recent(context, list, &l);
    }
    return NULL;
}

static void
records_may_be_put_from_many_threads_while_the_file_is_reopened(void **state)
{
    struct place *p = *state;
    struct lk_journal *j = open_at(p->file, ALL);
    pthread_t threads[4];
    for (size_t i = 0; i < LK_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, put_many, j), 0);
    for (unsigned i = 0; i < 50; i++)
        lk_journal_reopen(j);
    for (size_t i = 0; i < LK_COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(lk_journal_dropped(j), 0);
    lk_journal_close(j);
    assert_int_equal(lines_of(p->file), 4000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_record_is_in_the_file_within_100_ms, set_up, tear_down),
        cmocka_unit_test_setup_teardown(closing_writes_all_that_is_queued_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_log_file_is_kept_and_its_rights_are_narrow, set_up, tear_down),
        cmocka_unit_test(a_file_that_cannot_be_opened_is_told),
        cmocka_unit_test_setup_teardown(only_the_wanted_events_are_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(after_a_rename_reopening_writes_a_new_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_new_target_takes_all_that_is_put_after_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_form_is_that_of_the_target_a_record_goes_to, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dropped_records_are_told_in_the_form_of_the_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            what_a_full_disk_dropped_is_told_first_when_writing_works_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_queue_drops_records_and_tells_how_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_pipe_that_takes_nothing_holds_neither_callers_nor_the_end_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_pipe_whose_reader_left_costs_records_not_the_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_target_lines_go_to_the_main_log, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_last_thousand_leaks_are_kept_whether_written_or_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            records_may_be_put_from_many_threads_while_the_file_is_reopened, set_up, tear_down),
    };
    lk_log_open(&(struct lk_log_options){.to_stderr = false});
    return cmocka_run_group_tests_name("journal/journal", tests, NULL, NULL);
}
