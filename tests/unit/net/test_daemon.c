#include "net/daemon.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[32], path[64];

static int
make_folder(void **state)
{
    (void)snprintf(folder, sizeof(folder), "/tmp/lk-test-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/pid", folder);
    return 0;
}

static int
remove_folder(void **state)
{
    (void)unlink(path);
    return rmdir(folder);
}

static void
write_pid(long pid)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fprintf(f, "%ld\n", pid) > 0);
    assert_int_equal(fclose(f), 0);
}

static void
the_pidfile_holds_this_process(void **state)
{
    long pid = 0;
    assert_true(lk_pidfile_check(path));
    assert_true(lk_pidfile_write(path));
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld", &pid), 1);
    (void)fclose(f);
    assert_int_equal(pid, getpid());
}

static void
a_pidfile_of_a_running_process_is_respected(void **state)
{
    write_pid((long)getppid());
    assert_false(lk_pidfile_check(path));
    assert_int_equal(access(path, F_OK), 0);
    assert_false(lk_pidfile_write(path));
}

static void
a_pidfile_of_a_dead_process_is_removed(void **state)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    write_pid((long)child);
    assert_true(lk_pidfile_check(path));
    assert_int_equal(access(path, F_OK), -1);
}

static void
an_unknown_user_is_an_error(void **state)
{
    assert_false(lk_daemon_become("no-such-user-here"));
}

static void
root_is_refused(void **state)
{
    assert_int_equal(lk_daemon_become(NULL), getuid() != 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_pidfile_holds_this_process, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_pidfile_of_a_running_process_is_respected, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_pidfile_of_a_dead_process_is_removed, make_folder, remove_folder),
        cmocka_unit_test(an_unknown_user_is_an_error),
        cmocka_unit_test(root_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
