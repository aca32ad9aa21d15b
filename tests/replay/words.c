#include "words.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/mem.h"

static bool
add(struct words *w, char kind, struct lk_span text)
{
    if (w->count == WORDS_MAX)
        return false;
    w->items[w->count++] = (struct word){kind, lk_mem_dup_span(text)};
    return true;
}

static char
unescape(char c)
{
    return c == 'n' ? '\n' : c;
}

/* From behind the opening quote; NULL: it isn't closed, or there is no room. */
static const char *
read_quoted(struct words *w, const char *p)
{
    struct lk_buf text = {0}, all = {0};
    for (; *p && *p != '"'; p++) {
        if (*p == '\\' && p[1])
            lk_buf_add_u8(&text, (uint8_t)unescape(*++p));
        else
            lk_buf_add_u8(&text, (uint8_t)*p);
    }
    bool good = *p == '"';
    unsigned long times = 1;
    if (good && *++p == '*' && isdigit((unsigned char)p[1])) {
        char *end;
        times = strtoul(p + 1, &end, 10);
        p = end;
    }
    for (unsigned long i = 0; i < times; i++)
        lk_buf_add_span(&all, lk_buf_span(&text));
    good = good && add(w, 's', lk_buf_span(&all));
    lk_buf_clear(&text);
    lk_buf_clear(&all);
    return good ? p : NULL;
}

bool
words_read(struct words *w, const char *text)
{
    w->count = 0;
    for (const char *p = text; *p;) {
        size_t n = 1;
        if (isspace((unsigned char)*p)) {
            p++;
            continue;
        }
        if (*p == '"') {
            if (!(p = read_quoted(w, p + 1)))
                return false;
            continue;
        }
        if (*p == '[' || *p == ']') {
            if (!add(w, *p, lk_span_make(p, 1)))
                return false;
        } else {
            n = strcspn(p, " \t\"[]");
            if (!add(w, 'w', lk_span_make(p, n)))
                return false;
        }
        p += n;
    }
    return true;
}

void
words_clear(struct words *w)
{
    for (size_t i = 0; i < w->count; i++)
        free(w->items[i].text);
    w->count = 0;
}

static bool
match_from(const struct words *e, size_t i, const struct words *is, size_t k)
{
    for (; i < e->count; i++, k++) {
        const struct word *x = &e->items[i];
        if (x->kind == 'w' && strcmp(x->text, "**") == 0) {
            for (size_t from = k; from <= is->count; from++)
                if (match_from(e, i + 1, is, from))
                    return true;
            return false;
        }
        if (k >= is->count)
            return false;
        if (x->kind == 'w' && strcmp(x->text, "*") == 0)
            continue;
        if (x->kind != is->items[k].kind || strcmp(x->text, is->items[k].text) != 0)
            return false;
    }
    return true;
}

bool
words_match(const struct words *expected, const struct words *is)
{
    return match_from(expected, 0, is, 0);
}

bool
words_next_part(char **line, char **part)
{
    char *p = *line + strspn(*line, " \t");
    bool quoted = false;
    if (!*p)
        return false;
    *part = p;
    for (; *p && (quoted || *p != ';'); p++) {
        if (*p == '\\' && p[1])
            p++;
        else if (*p == '"')
            quoted = !quoted;
    }
    *line = *p ? p + 1 : p;
    while (p > *part && isspace((unsigned char)p[-1]))
        p--;
    *p = '\0';
    return true;
}

void
words_quote(struct lk_buf *out, struct lk_span text)
{
    lk_buf_add_u8(out, '"');
    for (size_t i = 0; i < text.n; i++) {
        uint8_t c = text.p[i];
        if (c == '"' || c == '\\' || c == '\n')
            lk_buf_add_u8(out, '\\');
        if (c == 0)
            lk_buf_add_u8(out, '\\');
        lk_buf_add_u8(out, c == '\n' ? 'n' : c == 0 ? '0' : c);
    }
    lk_buf_add_u8(out, '"');
}
