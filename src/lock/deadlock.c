#include "lock/deadlock.h"

#include <ctype.h>

#include "base/mem.h"

static bool
take_number(struct lk_span *s, uint32_t *out)
{
    uint64_t n = 0;
    while (s->n > 0 && !isdigit(s->p[0]))
        *s = lk_span_skip(*s, 1);
    if (s->n == 0)
        return false;
    while (s->n > 0 && isdigit(s->p[0])) {
        n = n > UINT32_MAX ? n : n * 10 + (uint64_t)(s->p[0] - '0');
        *s = lk_span_skip(*s, 1);
    }
    *out = (uint32_t)n;
    return n <= UINT32_MAX;
}

/* [database,classid,objid,objsubid], all unsigned */
static bool
take_key(struct lk_span s, struct lk_key *out)
{
    const uint8_t *open = s.n > 0 ? memchr(s.p, '[', s.n) : NULL;
    uint32_t part[4];
    if (!open)
        return false;
    s = lk_span_skip(s, (size_t)(open - s.p));
    const uint8_t *close = memchr(s.p, ']', s.n);
    if (!close)
        return false;
    s = lk_span_head(s, (size_t)(close - s.p));
    for (size_t i = 0; i < LK_COUNT(part); i++)
        if (!take_number(&s, &part[i]))
            return false;
    *out = (struct lk_key){.classid = part[1], .objid = part[2], .subid = part[3]};
    return s.n == 0;
}

static struct lk_span
trim(struct lk_span s)
{
    while (s.n > 0 && isspace(s.p[0]))
        s = lk_span_skip(s, 1);
    while (s.n > 0 && isspace(s.p[s.n - 1]))
        s.n--;
    return s;
}

static bool
contains(struct lk_span s, const char *word)
{
    return s.n > 0 && memmem(s.p, s.n, word, strlen(word)) != NULL;
}

static bool
read_line(struct lk_span line, struct lk_deadlock_line *out)
{
    *out = (struct lk_deadlock_line){0};
    const uint8_t *middle = line.n > 0 ? memchr(line.p, ';', line.n) : NULL;
    if (!middle)
        return false;
    struct lk_span lock = lk_span_head(line, (size_t)(middle - line.p));
    struct lk_span rest = lk_span_skip(line, lock.n);
    if (!take_number(&lock, &out->waiter) || !take_number(&rest, &out->blocker))
        return false;
    out->lock = trim(lock);
    out->advisory = take_key(lock, &out->key);
    out->mode = contains(lock, "ShareLock") ? LK_MODE_SHARED : LK_MODE_EXCLUSIVE;
    return true;
}

bool
lk_deadlock_next(struct lk_span *detail, struct lk_deadlock_line *out)
{
    while (detail->n > 0) {
        const uint8_t *end = memchr(detail->p, '\n', detail->n);
        struct lk_span line = end ? lk_span_head(*detail, (size_t)(end - detail->p)) : *detail;
        *detail = lk_span_skip(*detail, end ? line.n + 1 : line.n);
        if (read_line(line, out))
            return true;
    }
    return false;
}
