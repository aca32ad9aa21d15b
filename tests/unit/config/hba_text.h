/* Rules from texts in memory, with the mistakes as lines. */
#ifndef LK_TESTS_CONFIG_HBA_TEXT_H
#define LK_TESTS_CONFIG_HBA_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "config/hba.h"

struct hba_text {
    const char *files[8]; /* name and text by turns, NULL at the end: what @NAME finds */
    struct lk_buf mistakes;
    struct lk_hba *h;
};

static inline const char *
hba_read(void *arg, const char *path, struct lk_buf *out)
{
    const struct hba_text *t = arg;
    for (size_t i = 0; i + 1 < 8 && t->files[i]; i += 2) {
        if (strcmp(t->files[i], path) == 0) {
            lk_buf_add_span(out, lk_span_str(t->files[i + 1]));
            return NULL;
        }
    }
    return "No such file or directory";
}

static inline void
hba_mistake(void *arg, const char *file, int line, const char *what)
{
    struct hba_text *t = arg;
    lk_buf_add_format(&t->mistakes, "%s:%d: %s\n", file, line, what);
}

/* 10.1.2.3/24 and ::1/128 are this machine's. */
static const struct lk_hba_network hba_interfaces[] = {
    {4, {10, 1, 2, 3}, {255, 255, 255, 0}},
    {16, {[15] = 1}, {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}},
};

static inline const struct lk_hba *
hba_parse(struct hba_text *t, struct lk_span rules, struct lk_span idents)
{
    const struct lk_hba_source source = {
        .read = hba_read, .mistake = hba_mistake, .arg = t, .interfaces = hba_interfaces, .interface_count = 2};
    lk_hba_unref(t->h);
    lk_buf_clear(&t->mistakes);
    t->h = lk_hba_parse(rules, "etc/hba.conf", idents, "ident.conf", &source);
    return t->h;
}

static inline const char *
hba_mistakes(struct hba_text *t)
{
    lk_buf_add_u8(&t->mistakes, 0);
    t->mistakes.len--;
    return (const char *)t->mistakes.data;
}

static inline void
hba_clear(struct hba_text *t)
{
    lk_hba_unref(t->h);
    lk_buf_clear(&t->mistakes);
}

#endif
