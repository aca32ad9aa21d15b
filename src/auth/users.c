#include "auth/users.h"

#include <stdlib.h>

#include "auth/scram.h"
#include "base/hash.h"
#include "base/mem.h"

struct entry {
    char *name;
    char *secret;
};

struct lk_users {
    struct entry *entries; /* in file order */
    size_t count, cap;
    size_t scram_count; /* entries whose secret is a SCRAM verifier */
    size_t *slots; /* open addressing: index of an entry + 1, or 0; slot_count is a power of 2, at most half full */
    size_t slot_count;
};

/* Names come from the operator's own file, so the key need not be a secret. */
static const struct lk_hash_key hash_key = {0x6c6b2d7573657273ULL, 0};

/* The slot that holds that name, or the empty one where it belongs. */
static size_t *
slot_of(const struct lk_users *u, const char *name)
{
    size_t at = (size_t)lk_hash_bytes(&hash_key, lk_span_str(name));
    for (;; at++) {
        size_t *slot = &u->slots[at & (u->slot_count - 1)];
        if (*slot == 0 || strcmp(u->entries[*slot - 1].name, name) == 0)
            return slot;
    }
}

static void
grow(struct lk_users *u)
{
    u->cap = u->cap ? u->cap * 2 : 16;
    u->entries = lk_mem_grow(u->entries, u->cap * sizeof(*u->entries));
    free(u->slots);
    u->slot_count = u->cap * 2;
    u->slots = lk_mem_new(u->slot_count * sizeof(*u->slots));
    for (size_t i = 0; i < u->count; i++)
        *slot_of(u, u->entries[i].name) = i + 1;
}

static bool
is_scram(const char *secret)
{
    struct lk_scram_verifier v;
    return lk_scram_verifier_parse(secret, &v);
}

/* Takes over both strings. */
static void
add(struct lk_users *u, char *name, char *secret)
{
    if (u->count == u->cap)
        grow(u);
    u->scram_count += is_scram(secret);
    size_t *slot = slot_of(u, name);
    if (*slot == 0) {
        u->entries[u->count++] = (struct entry){name, secret};
        *slot = u->count;
        return;
    }
    struct entry *e = &u->entries[*slot - 1];
    u->scram_count -= is_scram(e->secret);
    lk_mem_wipe_free(e->secret);
    e->secret = secret;
    free(name);
}

static struct lk_span
skip_blanks(struct lk_span s)
{
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t' || s.p[0] == '\r' || s.p[0] == '\f' || s.p[0] == '\v'))
        s = lk_span_skip(s, 1);
    return s;
}

/* Takes a quoted string; NULL and `what` if there is none. Owner of the string: the caller. */
static char *
take_quoted(struct lk_span *rest, const char **what)
{
    if (rest->n == 0 || rest->p[0] != '"') {
        *what = "expected a string in double quotes";
        return NULL;
    }
    char *text = lk_mem_new(rest->n);
    size_t n = 0;
    for (size_t i = 1; i < rest->n; i++) {
        if (rest->p[i] == '"') {
            if (i + 1 == rest->n || rest->p[i + 1] != '"') {
                *rest = lk_span_skip(*rest, i + 1);
                return text;
            }
            i++;
        }
        text[n++] = (char)rest->p[i];
    }
    *what = "the closing double quote is missing";
    explicit_bzero(text, n);
    free(text);
    return NULL;
}

/* What is wrong with the line, or NULL. */
static const char *
parse_line(struct lk_users *u, struct lk_span line)
{
    struct lk_span rest = skip_blanks(line);
    if (rest.n == 0 || rest.p[0] == ';' || rest.p[0] == '#')
        return NULL;
    if (memchr(line.p, 0, line.n))
        return "a NUL byte can't be part of a name or secret";
    const char *what;
    char *name = take_quoted(&rest, &what);
    if (!name)
        return what;
    rest = skip_blanks(rest);
    char *secret = take_quoted(&rest, &what);
    if (!secret) {
        free(name);
        return what;
    }
    add(u, name, secret);
    return NULL;
}

struct lk_users *
lk_users_parse(struct lk_span text, const char *file_name, struct lk_buf *errors)
{
    struct lk_users *u = LK_NEW(struct lk_users);
    grow(u);
    for (unsigned number = 1; text.n > 0; number++) {
        const uint8_t *end = memchr(text.p, '\n', text.n);
        struct lk_span line = lk_span_head(text, end ? (size_t)(end - text.p) : text.n);
        const char *what = parse_line(u, line);
        if (what)
            lk_buf_add_format(errors, "%s:%u: %s\n", file_name, number, what);
        text = lk_span_skip(text, end ? line.n + 1 : line.n);
    }
    return u;
}

void
lk_users_free(struct lk_users *u)
{
    if (!u)
        return;
    for (size_t i = 0; i < u->count; i++) {
        free(u->entries[i].name);
        lk_mem_wipe_free(u->entries[i].secret);
    }
    free(u->entries);
    free(u->slots);
    free(u);
}

const char *
lk_users_secret(const struct lk_users *u, const char *name)
{
    size_t at = *slot_of(u, name);
    return at == 0 ? NULL : u->entries[at - 1].secret;
}

size_t
lk_users_count(const struct lk_users *u)
{
    return u->count;
}

const char *
lk_users_name(const struct lk_users *u, size_t i)
{
    return u->entries[i].name;
}

bool
lk_users_mostly_scram(const struct lk_users *u)
{
    return u->scram_count * 2 > u->count;
}
