#include "sql/gate.h"

#include <strings.h>

#include "base/mem.h"

static const char WORD[] = "advisory";
#define WORD_N (sizeof(WORD) - 1)
#define WORD_V 2 /* v is the rarest of its letters */

static bool
has_word(struct lk_span s, char v)
{
    const uint8_t *p = s.p, *end = s.p + s.n;
    while (p < end && (p = memchr(p, v, (size_t)(end - p)))) {
        if (p - s.p >= WORD_V && (size_t)(end - p) >= WORD_N - WORD_V &&
            strncasecmp((const char *)p - WORD_V, WORD, WORD_N) == 0)
            return true;
        p++;
    }
    return false;
}

/* U&": an identifier that may spell the word in escapes. */
static bool
has_unicode_name(struct lk_span s)
{
    const uint8_t *p = s.p, *end = s.p + s.n;
    while (p < end && (p = memchr(p, '&', (size_t)(end - p)))) {
        if (p > s.p && (p[-1] | 0x20) == 'u' && end - p >= 2 && p[1] == '"')
            return true;
        p++;
    }
    return false;
}

static bool
search(struct lk_span s)
{
    return s.n > 0 && (has_word(s, 'v') || has_word(s, 'V') || has_unicode_name(s));
}

enum { BEFORE, DASH, LINE, SLASH, BLOCK, BLOCK_STAR, BLOCK_SLASH, INSIDE_WORD, DECIDED };

static bool
is_letter(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool
is_name_byte(uint8_t c)
{
    return is_letter(c) || is_digit(c) || c == '_' || c == '$' || c >= 0x80;
}

static uint8_t
before_word(struct lk_gate_window *w, uint8_t c)
{
    if (c == ' ' || (c >= '\t' && c <= '\r') || c == ';')
        return BEFORE;
    if (c == '-')
        return DASH;
    if (c == '/')
        return SLASH;
    w->matched = 1;
    return (c | 0x20) == 'e' ? INSIDE_WORD : DECIDED;
}

static uint8_t
inside_word(struct lk_gate_window *w, uint8_t c)
{
    static const char execute[] = "execute";
    if (w->matched == sizeof(execute) - 1) {
        w->hit = w->hit || !is_name_byte(c);
        return DECIDED;
    }
    return (c | 0x20) == execute[w->matched++] ? INSIDE_WORD : DECIDED;
}

/* One byte on the way to the first word. */
static uint8_t
first_word_step(struct lk_gate_window *w, uint8_t c)
{
    switch (w->state) {
    case BEFORE:
        return before_word(w, c);
    case DASH:
        return c == '-' ? LINE : DECIDED;
    case LINE:
        return c == '\n' || c == '\r' ? BEFORE : LINE;
    case SLASH:
        w->depth = 1;
        return c == '*' ? BLOCK : DECIDED;
    case BLOCK_STAR:
        if (c == '/')
            return --w->depth == 0 ? BEFORE : BLOCK;
        return c == '*' ? BLOCK_STAR : BLOCK;
    case BLOCK_SLASH:
        if (c == '*') {
            w->depth++;
            return BLOCK;
        }
        return c == '/' ? BLOCK_SLASH : BLOCK;
    case BLOCK:
        return c == '*' ? BLOCK_STAR : c == '/' ? BLOCK_SLASH : BLOCK;
    case INSIDE_WORD:
        return inside_word(w, c);
    default:
        return DECIDED;
    }
}

static void
find_first_word(struct lk_gate_window *w, struct lk_span s)
{
    for (size_t i = 0; i < s.n && w->state != DECIDED; i++)
        w->state = first_word_step(w, s.p[i]);
}

bool
lk_gate(struct lk_span sql)
{
    struct lk_gate_window w = {0};
    find_first_word(&w, sql);
    return w.hit || search(sql);
}

static void
keep_tail(struct lk_gate_window *w, struct lk_span piece)
{
    size_t keep = WORD_N - 1;
    if (piece.n >= keep) {
        memcpy(w->tail, piece.p + piece.n - keep, keep);
        w->tail_n = (uint8_t)keep;
        return;
    }
    size_t all = w->tail_n + piece.n, drop = all > keep ? all - keep : 0;
    memmove(w->tail, w->tail + drop, w->tail_n - drop);
    w->tail_n = (uint8_t)(w->tail_n - drop);
    memcpy(w->tail + w->tail_n, piece.p, piece.n);
    w->tail_n = (uint8_t)(w->tail_n + piece.n);
}

void
lk_gate_feed(struct lk_gate_window *w, struct lk_span piece)
{
    if (w->hit || piece.n == 0)
        return;
    find_first_word(w, piece);
    uint8_t border[2 * WORD_N];
    size_t head = piece.n < WORD_N - 1 ? piece.n : WORD_N - 1;
    memcpy(border, w->tail, w->tail_n);
    memcpy(border + w->tail_n, piece.p, head);
    if (!w->hit)
        w->hit = search(lk_span_make(border, w->tail_n + head)) || search(piece);
    keep_tail(w, piece);
}

/* Names as PostgreSQL compares them: letters in lower case and digits only. */
static const char *const SAFE_ENCODINGS[] = {"abc", "alt", "koi8", "koi8r", "koi8u", "muleinternal", "sqlascii", "tcvn",
    "tcvn5712", "unicode", "utf8", "vscii", "win", "win866", "win874", "windows866", "windows874", NULL};
static const char *const SAFE_FAMILIES[] = {"euc", "iso8859", "latin", "win125", "windows125", NULL};

bool
lk_encoding_ascii_safe(struct lk_span name)
{
    char clean[24];
    size_t n = 0;
    for (size_t i = 0; i < name.n; i++) {
        uint8_t c = name.p[i];
        if (!is_letter(c) && !is_digit(c))
            continue;
        if (n == sizeof(clean) - 1)
            return false;
        clean[n++] = (char)(is_letter(c) ? c | 0x20 : c);
    }
    clean[n] = 0;
    for (const char *const *s = SAFE_ENCODINGS; *s; s++)
        if (strcmp(clean, *s) == 0)
            return true;
    for (const char *const *s = SAFE_FAMILIES; *s; s++)
        if (strncmp(clean, *s, strlen(*s)) == 0)
            return true;
    return false;
}
