#include "sql/gate.h"

#include <strings.h>

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

bool
lk_gate(struct lk_span s)
{
    return s.n > 0 && (has_word(s, 'v') || has_word(s, 'V') || has_unicode_name(s));
}

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
