#include "journal/tags.h"

static bool
is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool
is_word(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c >= 0x80;
}

static struct lk_span
trim(struct lk_span s)
{
    while (s.n > 0 && is_space(s.p[0]))
        s = lk_span_skip(s, 1);
    while (s.n > 0 && is_space(s.p[s.n - 1]))
        s = lk_span_head(s, s.n - 1);
    return s;
}

static int
hex(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void
add(struct lk_tag *t, uint8_t c)
{
    if (t->value_n < LK_TAG_VALUE_MAX)
        t->value[t->value_n++] = c;
}

/* The value behind the opening quote, up to behind the closing one. False: there is none. */
static bool
read_quoted(struct lk_span *s, struct lk_tag *t)
{
    for (size_t i = 0; i < s->n; i++) {
        uint8_t c = s->p[i];
        if (c == '\'') {
            *s = trim(lk_span_skip(*s, i + 1));
            return s->n == 0 || s->p[0] == ',';
        }
        if (c == '\\' && i + 1 < s->n)
            c = s->p[++i];
        else if (c == '%' && i + 2 < s->n && hex(s->p[i + 1]) >= 0 && hex(s->p[i + 2]) >= 0) {
            c = (uint8_t)(hex(s->p[i + 1]) << 4 | hex(s->p[i + 2]));
            i += 2;
        }
        add(t, c);
    }
    return false;
}

/* "key: value" is prose, "key:value" a pair. */
static bool
read_plain(struct lk_span *s, struct lk_tag *t)
{
    size_t n = 0;
    while (n < s->n && s->p[n] != ',')
        n++;
    if (n == 0 || is_space(s->p[0]))
        return false;
    struct lk_span value = trim(lk_span_head(*s, n));
    for (size_t i = 0; i < value.n; i++)
        add(t, value.p[i]);
    *s = lk_span_skip(*s, n);
    return true;
}

/* How many bytes it takes; 0: no key. */
static size_t
read_key(struct lk_span s, char key[LK_TAG_KEY_MAX + 1])
{
    size_t n = 0, i = 0;
    for (; i < s.n; i++) {
        uint8_t c = s.p[i];
        if (c == '%' && i + 2 < s.n && hex(s.p[i + 1]) >= 0 && hex(s.p[i + 2]) >= 0) {
            c = (uint8_t)(hex(s.p[i + 1]) << 4 | hex(s.p[i + 2]));
            i += 2;
            if (c <= ' ' || c >= 0x7f)
                return 0;
        } else if (c >= 0x80 || (!is_word(c) && c != '-' && c != '.')) {
            break;
        }
        if (n == LK_TAG_KEY_MAX)
            return 0;
        key[n++] = (char)c;
    }
    key[n] = '\0';
    return i;
}

static bool
read_pair(struct lk_span *s, struct lk_tag *t)
{
    t->value_n = 0;
    size_t n = read_key(*s, t->key);
    if (n == 0 || n == s->n)
        return false;
    bool quoted = s->n - n >= 2 && s->p[n] == '=' && s->p[n + 1] == '\'';
    if (!quoted && s->p[n] != ':')
        return false;
    *s = lk_span_skip(*s, n + (quoted ? 2 : 1));
    return quoted ? read_quoted(s, t) : read_plain(s, t);
}

static bool
is_new(const struct lk_tag *t, const struct lk_tag *tags, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(tags[i].key, t->key) == 0)
            return false;
    return true;
}

/* Adds all pairs of one comment, or none; returns how many there are then. */
static size_t
read_comment(struct lk_span s, struct lk_tag tags[LK_TAGS_MAX], size_t before)
{
    size_t count = before;
    struct lk_tag spare = {0};
    s = trim(s);
    while (s.n > 0) {
        struct lk_tag *t = count < LK_TAGS_MAX ? &tags[count] : &spare;
        if (!read_pair(&s, t))
            return before;
        if (t != &spare && is_new(t, tags, count))
            count++;
        if (s.n > 0)
            s = trim(lk_span_skip(s, 1));
    }
    return count;
}

static size_t
skip_quoted(struct lk_span s, uint8_t quote, bool backslashes)
{
    size_t i = 1;
    while (i < s.n && s.p[i] != quote)
        i += backslashes && s.p[i] == '\\' ? 2 : 1;
    return i < s.n ? i + 1 : s.n;
}

static size_t
skip_dollars(struct lk_span s)
{
    size_t n = 1;
    while (n < s.n && is_word(s.p[n]))
        n++;
    if (n == s.n || s.p[n] != '$' || (s.p[1] >= '0' && s.p[1] <= '9'))
        return 1;
    n++;
    const uint8_t *end = memmem(s.p + n, s.n - n, s.p, n);
    return end ? (size_t)(end - s.p) + n : s.n;
}

/* Block comments nest. */
static size_t
skip_comment(struct lk_span s)
{
    unsigned depth = 1;
    size_t i = 2;
    while (i + 1 < s.n) {
        bool opens = s.p[i] == '/' && s.p[i + 1] == '*', closes = s.p[i] == '*' && s.p[i + 1] == '/';
        i += opens || closes ? 2 : 1;
        depth += opens;
        depth -= closes;
        if (depth == 0)
            return i;
    }
    return 0;
}

size_t
lk_tags_read(struct lk_span sql, struct lk_tag tags[LK_TAGS_MAX])
{
    size_t count = 0;
    uint8_t before = ' ', before_that = ' ';
    while (sql.n > 0) {
        uint8_t c = sql.p[0], next = sql.n > 1 ? sql.p[1] : 0;
        size_t n = 1;
        if (c == '\'')
            n = skip_quoted(sql, c, (before | 0x20) == 'e' && !is_word(before_that));
        else if (c == '"')
            n = skip_quoted(sql, c, false);
        else if (c == '$' && !is_word(before))
            n = skip_dollars(sql);
        else if (c == '-' && next == '-') {
            while (n < sql.n && sql.p[n] != '\n')
                n++;
        } else if (c == '/' && next == '*') {
            n = skip_comment(sql);
            if (n == 0)
                break;
            count = read_comment(lk_span_make(sql.p + 2, n - 4), tags, count);
        }
        if (n > sql.n)
            n = sql.n;
        before_that = n > 1 ? sql.p[n - 2] : before;
        before = sql.p[n - 1];
        sql = lk_span_skip(sql, n);
    }
    return count;
}
