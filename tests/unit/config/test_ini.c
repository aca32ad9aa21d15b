#include "unit/config/files.h"

#include "config/ini.h"

static char seen[65536];

/* "3[name]", "4name=value" or "5!" for each line. */
static void
note(void *arg, const struct lk_ini_line *line)
{
    char *end = seen + strlen(seen);
    size_t room = sizeof(seen) - strlen(seen);
    if (line->kind == LK_INI_SECTION)
        snprintf(end, room, "%d[%s] ", line->line, line->name);
    else if (line->kind == LK_INI_SETTING)
        snprintf(end, room, "%d%s=%s ", line->line, line->name, line->value);
    else
        snprintf(end, room, "%d! ", line->line);
}

static const char *
lines(struct files *f, const char *text)
{
    files_write(f, "lk.ini", text);
    seen[0] = '\0';
    lk_ini_read(f->path, note, NULL);
    return seen;
}

static void
lines_are_told_with_their_numbers(void **state)
{
    assert_string_equal(lines(*state, "[a]\nx=1\n\n y = 2 3 \n"), "1[a] 2x=1 4y=2 3 ");
    assert_string_equal(lines(*state, ""), "");
    assert_string_equal(lines(*state, "\n\n[a]"), "3[a] ");
    assert_string_equal(lines(*state, "x=last line without a newline"), "1x=last line without a newline ");
    assert_string_equal(lines(*state, "[a]\r\nx=1\r\n"), "1[a] 2x=1 ");
    assert_string_equal(lines(*state, "\xef\xbb\xbf[a]\n"), "1[a] ");
    assert_string_equal(lines(*state, "x=\n"), "1x= ");
}

static void
comments_are_only_at_the_start_of_a_line(void **state)
{
    assert_string_equal(
        lines(*state, "; a\n# b\n  ; c=1\nx=1 ; not a comment # nor this\n"), "4x=1 ; not a comment # nor this ");
    assert_string_equal(lines(*state, "[a] ; about a\n"), "1[a] ");
}

static void
an_indented_line_is_a_setting_of_its_own(void **state)
{
    assert_string_equal(lines(*state, "a=1\n    b=2\n"), "1a=1 2b=2 ");
}

static void
a_name_ends_at_its_first_equals_sign(void **state)
{
    assert_string_equal(lines(*state, "a = b = c\n"), "1a=b = c ");
    assert_string_equal(lines(*state, "1001,* = x:y\n"), "11001,*=x:y ");
    assert_string_equal(lines(*state, "\"a = \"\"b\" = c\n"), "1a = \"b=c ");
}

static void
broken_lines_are_told_and_reading_goes_on(void **state)
{
    assert_string_equal(
        lines(*state, "nonsense\n[open\n=x\n\"a\nx=1\n\"a\" b=1\n[a] b\n"), "1! 2! 3! 4! 5x=1 6! 7! 7[a] ");
    struct files *f = *state;
    files_write_bytes(f, "lk.ini", "a\0=1\nb=2\n\0", 11);
    seen[0] = '\0';
    lk_ini_read(f->path, note, NULL);
    assert_string_equal(seen, "1! 2b=2 3! ");
}

static void
a_line_of_a_megabyte_comes_whole(void **state)
{
    static size_t length;
    struct files *f = *state;
    size_t n = 1 << 20;
    char *text = malloc(n + 16);
    strcpy(text, "x=");
    memset(text + 2, 'v', n);
    strcpy(text + 2 + n, "\ny=1\n");
    files_write(f, "lk.ini", text);
    free(text);
    struct lk_buf whole = {0};
    assert_null(lk_ini_read_file(f->path, &whole));
    length = whole.len;
    lk_buf_clear(&whole);
    assert_int_equal(length, n + 7);
    seen[0] = '\0';
    lk_ini_read(f->path, note, NULL);
    assert_int_equal(strlen(seen), sizeof(seen) - 1);
    assert_int_equal(strspn(seen + 3, "v"), sizeof(seen) - 4);
}

static void
an_include_stands_for_the_lines_of_its_file(void **state)
{
    struct files *f = *state;
    files_write(f, "more.ini", "y=2\n[c]\nz=3\n");
    char text[256];
    snprintf(text, sizeof(text), "[a]\nx=1\n%%include %s/more.ini  \nw=4\n", f->folder);
    assert_string_equal(lines(f, text), "1[a] 2x=1 1y=2 2[c] 3z=3 4w=4 ");
}

static void
includes_without_end_are_stopped(void **state)
{
    struct files *f = *state;
    char text[400];
    snprintf(text, sizeof(text), "x=1\n%%include %s\n", f->path);
    assert_string_equal(lines(f, text), "1x=1 1x=1 1x=1 1x=1 1x=1 1x=1 1x=1 1x=1 1x=1 1x=1 1x=1 2! ");
    snprintf(text, sizeof(text), "%%include %s\n%%include %s\n", f->path, f->path);
    lines(f, text);
    assert_true(strlen(seen) > 0 && strlen(seen) < 4096);
}

static void
files_that_cannot_be_read_are_told(void **state)
{
    struct files *f = *state;
    assert_string_equal(lines(f, "%include /nowhere/at/all.ini\nx=1\n"), "1! 2x=1 ");
    assert_string_equal(lines(f, "%include /tmp\n%include /dev/zero\n"), "1! 2! ");
    seen[0] = '\0';
    lk_ini_read("/nowhere/at/all.ini", note, NULL);
    assert_string_equal(seen, "0! ");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        FILES_TEST(lines_are_told_with_their_numbers),
        FILES_TEST(comments_are_only_at_the_start_of_a_line),
        FILES_TEST(an_indented_line_is_a_setting_of_its_own),
        FILES_TEST(a_name_ends_at_its_first_equals_sign),
        FILES_TEST(broken_lines_are_told_and_reading_goes_on),
        FILES_TEST(a_line_of_a_megabyte_comes_whole),
        FILES_TEST(an_include_stands_for_the_lines_of_its_file),
        FILES_TEST(includes_without_end_are_stopped),
        FILES_TEST(files_that_cannot_be_read_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
