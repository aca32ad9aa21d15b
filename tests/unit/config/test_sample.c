/* conf/lockkeeper.ini, the sample that is installed. The tests run in the project's top folder. */
#include "unit/config/files.h"

#include "config/option.h"
#include "config/snapshot.h"

static char *
sample_text(void)
{
    struct lk_buf text = {0};
    FILE *in = fopen("conf/lockkeeper.ini", "r");
    assert_non_null(in);
    for (int c; (c = fgetc(in)) != EOF;)
        lk_buf_add_u8(&text, (uint8_t)c);
    fclose(in);
    lk_buf_add_u8(&text, 0);
    return (char *)text.data;
}

/* The sample with its auth_file line replaced, so that it can be read from here. */
static void
load_sample(struct files *f)
{
    char *text = sample_text();
    char *line = strstr(text, "auth_file = userlist.txt\n");
    assert_non_null(line);
    struct lk_buf with = {0};
    lk_buf_add(&with, text, (size_t)(line - text));
    lk_buf_add_format(&with, "auth_file = %s/userlist.txt\n", f->folder);
    const char *rest = strchr(line, '\n') + 1;
    lk_buf_add(&with, rest, strlen(rest));
    files_write(f, "userlist.txt", "\"app\" \"secret\"\n");
    files_write_bytes(f, "lk.ini", with.data, with.len);
    lk_buf_clear(&with);
    free(text);
    files_read(f);
}

static void
the_sample_loads_without_a_word(void **state)
{
    struct files *f = *state;
    load_sample(f);
    assert_string_equal(files_errors(f), "");
    assert_string_equal(files_warnings(f), "");
    assert_string_equal(f->s->listen_addr, "127.0.0.1");
    assert_int_equal(f->s->auth_type, LK_AUTH_TYPE_SCRAM);
    assert_int_equal(f->s->pool_mode, LK_POOL_TRANSACTION);
    assert_int_equal(f->s->advisory_lock_policy, 0);
    assert_int_equal(f->s->advisory_unlock_all, 0);
    assert_string_equal(lk_settings_fallback(f->s)->host, "127.0.0.1");
}

/* "; name = value" in [lockkeeper] promises the default; what stands without a ';' is counted too. */
static void
the_sample_has_every_setting_and_comments_out_the_default(void **state)
{
    struct lk_settings *defaults = lk_snapshot_new();
    char *text = sample_text();
    char *p = strstr(text, "[lockkeeper]\n"), *end = strstr(text, "\n[advisory_names]");
    assert_non_null(p);
    assert_non_null(end);
    *end = '\0';
    size_t seen = 0;
    for (char *line = strtok(p, "\n"); line; line = strtok(NULL, "\n")) {
        char name[64], value[256] = "";
        bool commented = line[0] == ';' && line[1] == ' ';
        if (!commented && !(line[0] >= 'a' && line[0] <= 'z'))
            continue;
        assert_true(sscanf(commented ? line + 2 : line, "%63s =%255[^\n]", name, value) >= 1);
        seen++;
        if (!commented)
            continue;
        const struct lk_option *o = lk_option_find(name);
        if (!o)
            fail_msg("no such setting: %s", line);
        struct lk_buf now = {0};
        bool null;
        lk_option_print(o, defaults, &now, &null);
        lk_buf_add_u8(&now, 0);
        assert_string_equal(*value ? value + 1 : value, (char *)now.data);
        lk_buf_clear(&now);
    }
    assert_int_equal(seen, lk_option_count);
    free(text);
    lk_settings_unref(defaults);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        FILES_TEST(the_sample_loads_without_a_word),
        cmocka_unit_test(the_sample_has_every_setting_and_comments_out_the_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
