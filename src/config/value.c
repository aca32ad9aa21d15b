#include "config/option.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

#include "base/clock.h"
#include "base/mem.h"

static const char *const yes_words[] = {"1", "on", "true", "yes", "t", "y", NULL};
static const char *const no_words[] = {"0", "off", "false", "no", "f", "n", NULL};

/* The index of a word, whatever its case; -1: not among them. */
static int
word_index(const char *const *words, const char *value)
{
    for (int i = 0; words[i]; i++)
        if (strcasecmp(words[i], value) == 0)
            return i;
    return -1;
}

static bool
parse_switch(const char *value, int *out, struct lk_buf *why)
{
    if (word_index(yes_words, value) >= 0)
        *out = 1;
    else if (word_index(no_words, value) >= 0)
        *out = 0;
    else {
        lk_buf_add_format(why, "must be 1 or 0, on or off, true or false, yes or no");
        return false;
    }
    return true;
}

static bool
parse_number(const struct lk_option *o, const char *value, int base, int64_t *out, struct lk_buf *why)
{
    char *end = NULL;
    errno = 0;
    long long n = isdigit((unsigned char)*value) || *value == '-' ? strtoll(value, &end, base) : 0;
    if (end && end != value && *end == '\0' && errno == 0 && n >= o->least && n <= o->most) {
        *out = n;
        return true;
    }
    if (o->type == LK_OPTION_OCTAL)
        lk_buf_add_format(why, "must be an octal number from 0 to %04o", (unsigned)o->most);
    else
        lk_buf_add_format(why, "must be a whole number from %" PRId64 " to %" PRId64, o->least, o->most);
    return false;
}

/* Seconds with up to any number of decimals, of which six count. */
static bool
parse_time(const struct lk_option *o, const char *value, int64_t *out, struct lk_buf *why)
{
    const char *p = value;
    int64_t seconds = 0;
    for (; isdigit((unsigned char)*p) && seconds <= o->most; p++)
        seconds = seconds * 10 + (*p - '0');
    bool digits = p > value;
    int64_t fraction = 0;
    if (*p == '.') {
        int64_t unit = LK_SECOND_US / 10;
        for (p++; isdigit((unsigned char)*p); p++, unit /= 10) {
            fraction += unit * (*p - '0');
            digits = true;
        }
    }
    if (!digits || *p != '\0' || seconds < o->least || seconds > o->most) {
        lk_buf_add_format(why, "must be seconds from %" PRId64 " to %" PRId64, o->least, o->most);
        return false;
    }
    *out = seconds * LK_SECOND_US + fraction;
    return true;
}

static bool
list_has(const char *list, const char *word)
{
    return list && lk_settings_list_has(list, word);
}

/* Which of the option's words it is; -1 with `why` if none, or one that this version doesn't support. */
static int
parse_word(const struct lk_option *o, const char *value, struct lk_buf *why)
{
    int i = word_index(o->words, value);
    if (i >= 0 && !list_has(o->refused, o->words[i]))
        return i;
    if (i >= 0) {
        lk_buf_add_format(why, "not supported by this version");
        return -1;
    }
    lk_buf_add_format(why, "must be one of");
    const char *between = " ";
    for (const char *const *w = o->words; *w; w++) {
        if (list_has(o->refused, *w))
            continue;
        lk_buf_add_format(why, "%s%s", between, *w);
        between = ", ";
    }
    return -1;
}

static bool
parse_string(const struct lk_option *o, const char *value, char **at, struct lk_buf *why)
{
    if (o->words) {
        int i = parse_word(o, value, why);
        if (i < 0)
            return false;
        value = o->words[i];
    }
    char *copy = lk_mem_dup(value);
    lk_option_release(o, at);
    *at = copy;
    return true;
}

bool
lk_option_parse(const struct lk_option *o, const char *value, void *at, struct lk_buf *why)
{
    int64_t n = 0;
    int i = 0;
    switch (o->type) {
    case LK_OPTION_STRING:
        return parse_string(o, value, at, why);
    case LK_OPTION_BOOL:
        if (!parse_switch(value, &i, why))
            return false;
        *(bool *)at = i == 1;
        return true;
    case LK_OPTION_SWITCH:
        return parse_switch(value, at, why);
    case LK_OPTION_TIME:
        return parse_time(o, value, at, why);
    case LK_OPTION_SIZE:
        return parse_number(o, value, 0, at, why);
    case LK_OPTION_ENUM:
        if ((i = parse_word(o, value, why)) < 0)
            return false;
        *(int *)at = i;
        return true;
    case LK_OPTION_INT:
    case LK_OPTION_OCTAL:
        if (!parse_number(o, value, o->type == LK_OPTION_OCTAL ? 8 : 0, &n, why))
            return false;
        *(int *)at = (int)n;
        return true;
    }
    return false;
}

static void
print_time(int64_t us, struct lk_buf *out)
{
    lk_buf_add_format(out, "%" PRId64, us / LK_SECOND_US);
    if (us % LK_SECOND_US == 0)
        return;
    lk_buf_add_format(out, ".%06d", (int)(us % LK_SECOND_US));
    while (out->len > 0 && out->data[out->len - 1] == '0')
        out->len--;
}

void
lk_option_print_at(const struct lk_option *o, const void *at, struct lk_buf *out, bool *null)
{
    *null = false;
    switch (o->type) {
    case LK_OPTION_STRING: {
        const char *s = *(char *const *)at;
        *null = s == NULL;
        if (s && (o->flags & LK_OPTION_SECRET))
            s = "********";
        if (s)
            lk_buf_add(out, s, strlen(s));
        return;
    }
    case LK_OPTION_BOOL:
        lk_buf_add_format(out, "%d", *(const bool *)at ? 1 : 0);
        return;
    case LK_OPTION_TIME:
        *null = *(const int64_t *)at < 0;
        if (!*null)
            print_time(*(const int64_t *)at, out);
        return;
    case LK_OPTION_SIZE:
        lk_buf_add_format(out, "%" PRId64, *(const int64_t *)at);
        return;
    case LK_OPTION_OCTAL:
        lk_buf_add_format(out, "%04o", (unsigned)*(const int *)at);
        return;
    case LK_OPTION_SWITCH:
    case LK_OPTION_INT:
    case LK_OPTION_ENUM:
        *null = *(const int *)at < 0;
        if (!*null && o->type == LK_OPTION_ENUM)
            lk_buf_add_format(out, "%s", o->words[*(const int *)at]);
        else if (!*null)
            lk_buf_add_format(out, "%d", *(const int *)at);
        return;
    }
}

void
lk_option_print(const struct lk_option *o, const struct lk_settings *s, struct lk_buf *out, bool *null)
{
    lk_option_print_at(o, (const char *)s + o->offset, out, null);
}

bool
lk_option_same(const struct lk_option *o, const struct lk_settings *a, const struct lk_settings *b)
{
    struct lk_buf texts[2] = {0};
    bool nulls[2];
    lk_option_print(o, a, &texts[0], &nulls[0]);
    lk_option_print(o, b, &texts[1], &nulls[1]);
    bool same = nulls[0] == nulls[1] && lk_span_eq(lk_buf_span(&texts[0]), lk_buf_span(&texts[1]));
    lk_buf_clear(&texts[0]);
    lk_buf_clear(&texts[1]);
    return same;
}

void
lk_option_copy(const struct lk_option *o, const void *from, void *to)
{
    switch (o->type) {
    case LK_OPTION_STRING:
        *(char **)to = lk_mem_dup(*(char *const *)from);
        return;
    case LK_OPTION_BOOL:
        *(bool *)to = *(const bool *)from;
        return;
    case LK_OPTION_TIME:
    case LK_OPTION_SIZE:
        *(int64_t *)to = *(const int64_t *)from;
        return;
    case LK_OPTION_INT:
    case LK_OPTION_SWITCH:
    case LK_OPTION_ENUM:
    case LK_OPTION_OCTAL:
        *(int *)to = *(const int *)from;
        return;
    }
}

void
lk_option_release(const struct lk_option *o, void *at)
{
    if (o->type != LK_OPTION_STRING)
        return;
    if (o->flags & LK_OPTION_SECRET)
        lk_mem_wipe_free(*(char **)at);
    else
        free(*(char **)at);
    *(char **)at = NULL;
}

const struct lk_option *
lk_option_find_in(const struct lk_option *table, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].name, name) == 0 || (table[i].alias && strcmp(table[i].alias, name) == 0))
            return &table[i];
    return NULL;
}

const struct lk_option *
lk_option_find(const char *name)
{
    return lk_option_find_in(lk_options, lk_option_count, name);
}

#define NAME_MOST 64

static bool
same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static void
lessen(size_t *least, size_t n)
{
    if (n < *least)
        *least = n;
}

/* How many letters must be put in, left out, changed or swapped with the next to make b of a; case doesn't count. */
static size_t
letters_apart(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][NAME_MOST + 1] = {0}; /* row i is rows[i % 3] */
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3], *above = rows[(i - 1) % 3], *higher = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = above[j - 1] + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
            lessen(&row[j], above[j] + 1);
            lessen(&row[j], row[j - 1] + 1);
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]))
                lessen(&row[j], higher[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

const char *
lk_option_nearest(const struct lk_option *table, size_t count, const char *name)
{
    size_t length = strlen(name);
    if (length > NAME_MOST)
        return NULL;
    const char *nearest = NULL;
    size_t least = length / 3 + 1;
    for (size_t i = 0; i < count; i++) {
        size_t apart = letters_apart(name, length, table[i].name, strlen(table[i].name));
        if (apart < least) {
            least = apart;
            nearest = table[i].name;
        }
    }
    return nearest;
}
