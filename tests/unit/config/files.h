/* A folder for one test's files, and what loading them said. */
#ifndef LK_TESTS_CONFIG_FILES_H
#define LK_TESTS_CONFIG_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/settings.h"

struct files {
    char folder[64];
    char path[128]; /* of lk.ini */
    struct lk_buf errors, warnings;
    struct lk_settings *s; /* NULL: there were mistakes */
};

static inline int
files_make(void **state)
{
    struct files *f = calloc(1, sizeof(*f));
    strcpy(f->folder, "/tmp/lk-config-XXXXXX");
    if (!mkdtemp(f->folder))
        return -1;
    snprintf(f->path, sizeof(f->path), "%s/lk.ini", f->folder);
    *state = f;
    return 0;
}

static inline void
files_forget(struct files *f)
{
    lk_settings_unref(f->s);
    f->s = NULL;
    lk_buf_clear(&f->errors);
    lk_buf_clear(&f->warnings);
}

static inline int
files_remove(void **state)
{
    struct files *f = *state;
    files_forget(f);
    DIR *d = opendir(f->folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", f->folder, e->d_name);
        unlink(path);
    }
    closedir(d);
    int rc = rmdir(f->folder);
    free(f);
    return rc;
}

static inline void
files_write_bytes(struct files *f, const char *name, const void *p, size_t n)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", f->folder, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(p, 1, n, out), n);
    assert_int_equal(fclose(out), 0);
}

static inline void
files_write(struct files *f, const char *name, const char *text)
{
    files_write_bytes(f, name, text, strlen(text));
}

/* Reads lk.ini; errors and warnings end with a NUL that doesn't count. */
static inline struct lk_settings *
files_read(struct files *f)
{
    files_forget(f);
    f->s = lk_settings_load(f->path, &f->errors, &f->warnings);
    lk_buf_add_u8(&f->errors, 0);
    lk_buf_add_u8(&f->warnings, 0);
    f->errors.len--;
    f->warnings.len--;
    return f->s;
}

/* Writes lk.ini and reads it. */
static inline struct lk_settings *
files_load(struct files *f, const char *text)
{
    files_write(f, "lk.ini", text);
    return files_read(f);
}

/* Loads a main section of these lines, with nobody needing a password. */
static inline struct lk_settings *
files_load_main(struct files *f, const char *lines)
{
    char text[4096];
    snprintf(text, sizeof(text), "[lockkeeper]\nauth_type = any\n%s\n", lines);
    return files_load(f, text);
}

static inline const char *
files_errors(struct files *f)
{
    return (const char *)f->errors.data;
}

static inline const char *
files_warnings(struct files *f)
{
    return (const char *)f->warnings.data;
}

/* Is there a line "<folder>/<where>: …<what>…"? */
static inline void
files_assert_line(struct files *f, const struct lk_buf *in, const char *where, const char *what)
{
    char start[256];
    snprintf(start, sizeof(start), "%s/%s: ", f->folder, where);
    for (const char *p = (const char *)in->data; *p; p = strchr(p, '\n') + 1) {
        size_t n = strcspn(p, "\n");
        if (strncmp(p, start, strlen(start)) == 0 && memmem(p, n, what, strlen(what)))
            return;
    }
    fail_msg("no line %s…%s in:\n%s", start, what, (const char *)in->data);
}

static inline void
files_assert_error(struct files *f, const char *where, const char *what)
{
    assert_null(f->s);
    files_assert_line(f, &f->errors, where, what);
}

static inline void
files_assert_warning(struct files *f, const char *where, const char *what)
{
    files_assert_line(f, &f->warnings, where, what);
}

#define FILES_TEST(name) cmocka_unit_test_setup_teardown(name, files_make, files_remove)

#endif
