#include "unit/config/files.h"

#include <pthread.h>

#include "config/option.h"

static void
a_reference_keeps_a_snapshot_alive(void **state)
{
    struct files *f = *state;
    assert_non_null(files_load_main(f, "[databases]\na = host=h"));
    struct lk_settings *held = lk_settings_ref(f->s);
    lk_settings_unref(f->s);
    f->s = NULL;
    assert_string_equal(lk_settings_database(held, "a")->host, "h");
    lk_settings_unref(held);
    lk_settings_unref(NULL);
}

static void *
take_and_give_back(void *arg)
{
    for (int i = 0; i < 10000; i++)
        lk_settings_unref(lk_settings_ref(arg));
    return NULL;
}

static void
references_may_be_taken_by_several_threads(void **state)
{
    struct files *f = *state;
    assert_non_null(files_load_main(f, ""));
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give_back, f->s), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&f->s->refs), 1);
}

static void
lookups_find_names_but_the_fallback_only_by_its_own_call(void **state)
{
    struct files *f = *state;
    assert_non_null(files_load_main(f, "[databases]\na = port=1\n* = host=fb\n[users]\nu = pool_size=4"));
    assert_int_equal(lk_settings_database(f->s, "a")->port, 1);
    assert_false(lk_settings_database(f->s, "a")->automatic);
    assert_null(lk_settings_database(f->s, "*"));
    assert_null(lk_settings_database(f->s, "b"));
    assert_string_equal(lk_settings_fallback(f->s)->host, "fb");
    assert_int_equal(lk_settings_user(f->s, "u")->pool_size, 4);
    assert_null(lk_settings_user(f->s, "v"));
    assert_non_null(files_load_main(f, ""));
    assert_null(lk_settings_fallback(f->s));
}

static void
lists_are_searched_by_whole_names(void **state)
{
    assert_true(lk_settings_list_has("a, b ,c", "a"));
    assert_true(lk_settings_list_has("a, b ,c", "b"));
    assert_true(lk_settings_list_has("a, b ,c", "c"));
    assert_true(lk_settings_list_has("x,*", "anyone"));
    assert_true(lk_settings_list_has(",,a,,", "a"));
    assert_false(lk_settings_list_has("ab,c", "a"));
    assert_false(lk_settings_list_has("a", "ab"));
    assert_false(lk_settings_list_has("A", "a"));
    assert_false(lk_settings_list_has("", ""));
    assert_false(lk_settings_list_has(" , ", ""));
    assert_false(lk_settings_list_has(NULL, "a"));
}

static void
ignored_parameters_are_known_in_any_case(void **state)
{
    struct files *f = *state;
    assert_non_null(files_load_main(f, "ignore_startup_parameters = extra_float_digits, Search_Path"));
    assert_true(lk_settings_ignores_parameter(f->s, lk_span_str("extra_float_digits")));
    assert_true(lk_settings_ignores_parameter(f->s, lk_span_str("search_path")));
    assert_false(lk_settings_ignores_parameter(f->s, lk_span_str("search")));
    assert_false(lk_settings_ignores_parameter(f->s, lk_span_str("")));
}

static void
locks_are_named_by_their_key_or_its_first_half(void **state)
{
    struct files *f = *state;
    assert_non_null(
        files_load_main(f, "[advisory_names]\n42 = nightly billing\n1001,7 = seventh\n1001,* = job_sync\n-1,-7 = x"));
    assert_string_equal(lk_settings_lock_name(f->s, "42"), "nightly billing");
    assert_string_equal(lk_settings_lock_name(f->s, "1001,7"), "seventh");
    assert_string_equal(lk_settings_lock_name(f->s, "1001,-8"), "job_sync");
    assert_string_equal(lk_settings_lock_name(f->s, "-1,-7"), "x");
    assert_null(lk_settings_lock_name(f->s, "1001"));
    assert_null(lk_settings_lock_name(f->s, "10011,1"));
    assert_null(lk_settings_lock_name(f->s, "4"));
    assert_null(lk_settings_lock_name(f->s, "421"));
}

static void
settings_that_take_a_restart_are_named_when_they_differ(void **state)
{
    struct files *f = *state;
    assert_non_null(files_load_main(f, "listen_port = 1\npool_mode = session"));
    struct lk_settings *old = lk_settings_ref(f->s);
    assert_non_null(files_load_main(f, "listen_port = 2\nuser = me\npool_mode = transaction"));
    struct lk_buf out = {0};
    lk_settings_restart_needed(old, f->s, &out);
    assert_int_equal(out.len, strlen("listen_port\nuser\n"));
    assert_memory_equal(out.data, "listen_port\nuser\n", out.len);
    lk_buf_clear(&out);
    lk_settings_restart_needed(old, old, &out);
    assert_int_equal(out.len, 0);
    lk_settings_unref(old);
}

static void
a_copy_shares_nothing_and_holds_everything(void **state)
{
    struct files *f = *state;
    char text[512];
    files_write(f, "users.txt", "\"u\" \"p\"\n");
    snprintf(text, sizeof(text),
        "auth_file = %s/users.txt\n[databases]\n* = password=pw port=7\n[users]\nu = pool_size=4\n"
        "[advisory_names]\n42 = nightly",
        f->folder);
    assert_non_null(files_load_main(f, text));
    struct lk_settings *copy = lk_settings_copy(f->s);
    struct lk_settings *old = f->s;
    assert_ptr_not_equal(copy->auth_file, old->auth_file);
    assert_ptr_not_equal(copy->databases, old->databases);
    bool given = old->given[lk_option_find("auth_file") - lk_options];
    lk_settings_unref(old);
    f->s = copy;
    assert_true(given);
    assert_true(copy->given[lk_option_find("auth_file") - lk_options]);
    assert_false(copy->given[lk_option_find("pool_mode") - lk_options]);
    assert_int_equal(copy->auth_type, LK_AUTH_TYPE_ANY);
    assert_string_equal(copy->path, f->path);
    assert_string_equal(lk_settings_fallback(copy)->password, "pw");
    assert_true(lk_settings_fallback(copy)->automatic);
    assert_int_equal(lk_settings_fallback(copy)->port, 7);
    assert_int_equal(lk_settings_user(copy, "u")->pool_size, 4);
    assert_string_equal(copy->names[0].name, "nightly");
    assert_string_equal(copy->auth_file_text, "\"u\" \"p\"\n");
    assert_int_equal(copy->auth_file_length, 8);
}

/* Sets in a copy; the result, and the reason in `why`. */
static bool
set(struct files *f, const char *name, const char *value, char why[256])
{
    struct lk_buf text = {0};
    struct lk_settings *copy = lk_settings_copy(f->s);
    bool ok = lk_settings_set(copy, name, value, &text);
    snprintf(why, 256, "%.*s", (int)text.len, text.data ? (const char *)text.data : "");
    lk_buf_clear(&text);
    if (ok) {
        lk_settings_unref(f->s);
        f->s = copy;
    } else {
        lk_settings_unref(copy);
    }
    return ok;
}

static void
set_changes_one_setting_or_says_why_not(void **state)
{
    struct files *f = *state;
    char why[256];
    assert_non_null(files_load_main(f, ""));
    assert_true(set(f, "query_timeout", "1.5", why));
    assert_int_equal(f->s->query_timeout_us, 1500000);
    assert_true(f->s->given[lk_option_find("query_timeout") - lk_options]);
    assert_false(set(f, "query_timeout", "soon", why));
    assert_string_equal(why, "must be seconds from 0 to 2147483647");
    assert_false(set(f, "query_timeot", "1", why));
    assert_string_equal(why, "no such setting: query_timeot; did you mean query_timeout?");
    assert_false(set(f, "listen_port", "1", why));
    assert_string_equal(why, "changing listen_port takes a restart");
    assert_false(set(f, "leak_log_events", "leak, lost, found", why));
    assert_string_equal(why, "leak_log_events: there is no event \"found\"");
    assert_false(set(f, "auth_type", "md5", why));
    assert_non_null(strstr(why, "auth_file"));
    assert_false(set(f, "auth_file", "/nowhere/users.txt", why));
    assert_string_equal(why, "auth_file cannot be read: No such file or directory");
    assert_int_equal(f->s->query_timeout_us, 1500000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        FILES_TEST(a_reference_keeps_a_snapshot_alive),
        FILES_TEST(references_may_be_taken_by_several_threads),
        FILES_TEST(lookups_find_names_but_the_fallback_only_by_its_own_call),
        cmocka_unit_test(lists_are_searched_by_whole_names),
        FILES_TEST(locks_are_named_by_their_key_or_its_first_half),
        FILES_TEST(ignored_parameters_are_known_in_any_case),
        FILES_TEST(settings_that_take_a_restart_are_named_when_they_differ),
        FILES_TEST(a_copy_shares_nothing_and_holds_everything),
        FILES_TEST(set_changes_one_setting_or_says_why_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
