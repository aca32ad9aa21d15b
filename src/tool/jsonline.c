#include "tool/jsonline.h"

struct scan {
    struct lk_span rest;
    struct lk_buf *room; /* as large as the line, so that no span into it moves */
    lk_jsonline_fn *each;
    void *context;
    unsigned depth;  /* of objects and arrays around the next value */
    unsigned arrays; /* of arrays alone */
};

static void
skip_space(struct scan *s)
{
    while (s->rest.n > 0 && (s->rest.p[0] == ' ' || s->rest.p[0] == '\t' || s->rest.p[0] == '\r'))
        s->rest = lk_span_skip(s->rest, 1);
}

/* Takes c, behind white space. */
static bool
take(struct scan *s, uint8_t c)
{
    skip_space(s);
    if (s->rest.n == 0 || s->rest.p[0] != c)
        return false;
    s->rest = lk_span_skip(s->rest, 1);
    return true;
}

/* Four hexadecimal digits; -1: there are none. */
static int
take_hex(struct scan *s)
{
    int v = 0;
    if (s->rest.n < 4)
        return -1;
    for (size_t i = 0; i < 4; i++) {
        uint8_t c = s->rest.p[i], lower = c | 0x20;
        if (c >= '0' && c <= '9')
            v = v << 4 | (c - '0');
        else if (lower >= 'a' && lower <= 'f')
            v = v << 4 | (lower - 'a' + 10);
        else
            return -1;
    }
    s->rest = lk_span_skip(s->rest, 4);
    return v;
}

static void
add_character(struct lk_buf *out, unsigned c)
{
    if (c < 0x80) {
        lk_buf_add_u8(out, (uint8_t)c);
        return;
    }
    if (c < 0x800) {
        lk_buf_add_u8(out, (uint8_t)(0xc0 | c >> 6));
    } else if (c < 0x10000) {
        lk_buf_add_u8(out, (uint8_t)(0xe0 | c >> 12));
        lk_buf_add_u8(out, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
    } else {
        lk_buf_add_u8(out, (uint8_t)(0xf0 | c >> 18));
        lk_buf_add_u8(out, (uint8_t)(0x80 | (c >> 12 & 0x3f)));
        lk_buf_add_u8(out, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
    }
    lk_buf_add_u8(out, (uint8_t)(0x80 | (c & 0x3f)));
}

/* Behind \u. Half a surrogate pair is no character. */
static bool
take_unicode(struct scan *s)
{
    int high = take_hex(s);
    if (high < 0 || (high >= 0xdc00 && high < 0xe000))
        return false;
    if (high < 0xd800 || high >= 0xe000) {
        add_character(s->room, (unsigned)high);
        return true;
    }
    if (s->rest.n < 2 || s->rest.p[0] != '\\' || s->rest.p[1] != 'u')
        return false;
    s->rest = lk_span_skip(s->rest, 2);
    int low = take_hex(s);
    if (low < 0xdc00 || low >= 0xe000)
        return false;
    add_character(s->room, 0x10000u + ((unsigned)(high - 0xd800) << 10) + (unsigned)(low - 0xdc00));
    return true;
}

static bool
take_escape(struct scan *s)
{
    static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    if (s->rest.n == 0)
        return false;
    uint8_t c = s->rest.p[0];
    s->rest = lk_span_skip(s->rest, 1);
    if (c == 'u')
        return take_unicode(s);
    const char *at = c ? strchr(names, c) : NULL;
    return at && lk_buf_add_u8(s->room, (uint8_t)meant[at - names]);
}

/* Bytes up to the next quote, escape or control character. */
static struct lk_span
take_plain(struct scan *s)
{
    size_t n = 0;
    while (n < s->rest.n && s->rest.p[n] != '"' && s->rest.p[n] != '\\' && s->rest.p[n] >= ' ')
        n++;
    struct lk_span plain = lk_span_head(s->rest, n);
    s->rest = lk_span_skip(s->rest, n);
    return plain;
}

/* A string without escapes is a span of the line itself. */
static bool
take_string(struct scan *s, struct lk_span *out)
{
    if (!take(s, '"'))
        return false;
    struct lk_span plain = take_plain(s);
    size_t from = s->room->len;
    bool copied = s->rest.n > 0 && s->rest.p[0] == '\\';
    if (copied)
        lk_buf_add_span(s->room, plain);
    while (s->rest.n > 0 && s->rest.p[0] == '\\') {
        s->rest = lk_span_skip(s->rest, 1);
        if (!take_escape(s))
            return false;
        lk_buf_add_span(s->room, take_plain(s));
    }
    if (s->rest.n == 0 || s->rest.p[0] != '"')
        return false;
    s->rest = lk_span_skip(s->rest, 1);
    *out = copied ? lk_span_make(s->room->data + from, s->room->len - from) : plain;
    return true;
}

static size_t
digits(struct lk_span s, size_t at)
{
    while (at < s.n && s.p[at] >= '0' && s.p[at] <= '9')
        at++;
    return at;
}

/* The length of a number at the head; 0: there is none. */
static size_t
number_length(struct lk_span s)
{
    size_t n = s.n > 0 && s.p[0] == '-', first = n;
    n = digits(s, n);
    if (n == first || (s.p[first] == '0' && n > first + 1))
        return 0;
    if (n < s.n && s.p[n] == '.') {
        size_t point = n++;
        n = digits(s, n);
        if (n == point + 1)
            return 0;
    }
    if (n < s.n && (s.p[n] | 0x20) == 'e') {
        n++;
        n += n < s.n && (s.p[n] == '+' || s.p[n] == '-');
        first = n;
        n = digits(s, n);
        if (n == first)
            return 0;
    }
    return n;
}

static bool
take_bare(struct scan *s, struct lk_span *out)
{
    static const char *const words[] = {"null", "true", "false"};
    size_t n = number_length(s->rest);
    for (size_t i = 0; n == 0 && i < sizeof(words) / sizeof(words[0]); i++) {
        size_t length = strlen(words[i]);
        if (s->rest.n >= length && memcmp(s->rest.p, words[i], length) == 0)
            n = length;
    }
    *out = lk_span_head(s->rest, n);
    s->rest = lk_span_skip(s->rest, n);
    return n > 0;
}

static bool take_value(struct scan *s, struct lk_span object, struct lk_span key);

/* Items, commas between them, and the end. `object` is what the members of an object are told under. */
static bool
take_items(struct scan *s, struct lk_span object, bool named)
{
    struct lk_span key = {0};
    uint8_t end = named ? '}' : ']';
    if (take(s, end))
        return true;
    do {
        if (named && (!take_string(s, &key) || !take(s, ':')))
            return false;
        if (!take_value(s, object, key))
            return false;
    } while (take(s, ','));
    return take(s, end);
}

static bool
take_array(struct scan *s)
{
    s->arrays++;
    bool good = take_items(s, lk_span_make("", 0), false);
    s->arrays--;
    return good;
}

static bool
take_value(struct scan *s, struct lk_span object, struct lk_span key)
{
    struct lk_span value;
    bool brace = take(s, '{');
    if (brace || take(s, '[')) {
        if (s->depth == LK_JSONLINE_DEPTH_MAX)
            return false;
        s->depth++;
        bool good = brace ? take_items(s, s->depth == 2 ? key : object, true) : take_array(s);
        s->depth--;
        return good;
    }
    bool quoted = s->rest.n > 0 && s->rest.p[0] == '"';
    if (!(quoted ? take_string(s, &value) : take_bare(s, &value)))
        return false;
    if (s->depth <= 2 && s->arrays == 0)
        s->each(s->context, object, key, value, quoted);
    return true;
}

bool
lk_jsonline_read(struct lk_span line, struct lk_buf *room, lk_jsonline_fn *each, void *context)
{
    struct scan s = {.rest = line, .room = room, .each = each, .context = context, .depth = 1};
    room->len = 0;
    if (!lk_buf_reserve(room, line.n) || !take(&s, '{') || !take_items(&s, lk_span_make("", 0), true))
        return false;
    skip_space(&s);
    return s.rest.n == 0;
}
