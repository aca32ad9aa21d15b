#include "sql/fingerprint.h"

#include <endian.h>

struct sip {
    uint64_t v0, v1, v2, v3;
};

/* What a block of the hash stands for, in its top byte: below any byte of a word, so that words of any length and other
 * tokens can't be taken for one another. */
enum mark { MARK_WORD = 1, MARK_CONSTANT, MARK_PARAM, MARK_OPERATOR, MARK_SELF, MARK_BYTES, MARK_ITEM };

/* What stood before a token, as far as lists and signs must know. */
enum before { BEFORE_OTHER, BEFORE_OPEN, BEFORE_COMMA, BEFORE_OPERATOR, BEFORE_IN, BEFORE_ARRAY, BEFORE_VALUES };

#define SEEN 4

struct list {
    struct sip outer;    /* the state to come back to */
    uint64_t seen[SEEN]; /* the last item forms, each of which has been counted */
    unsigned seen_n;
    unsigned depth;                           /* of its items (IN, ARRAY), or of the VALUES (rows) */
    bool rows;                                /* VALUES */
    enum { IN_ROW, ROW_OVER, COMMA_SEEN } at; /* rows only */
};

struct pass {
    const struct lk_hash_key *key;
    struct sip s;
    enum before before;
    unsigned depth;
    unsigned lists_n;
    bool whole_strings; /* a DO */
    bool executes;
    struct list lists[LK_FINGERPRINT_LISTS];
};

static inline uint64_t
rotate(uint64_t x, int b)
{
    return (x << b) | (x >> (64 - b));
}

static inline void
sip_round(struct sip *s)
{
    s->v0 += s->v1;
    s->v1 = rotate(s->v1, 13) ^ s->v0;
    s->v0 = rotate(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = rotate(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = rotate(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = rotate(s->v1, 17) ^ s->v2;
    s->v2 = rotate(s->v2, 32);
}

static inline struct sip
sip_start(const struct lk_hash_key *key)
{
    return (struct sip){key->k0 ^ 0x736f6d6570736575u, key->k1 ^ 0x646f72616e646f6du, key->k0 ^ 0x6c7967656e657261u,
        key->k1 ^ 0x7465646279746573u};
}

static inline void
sip_block(struct sip *s, uint64_t block)
{
    s->v3 ^= block;
    sip_round(s);
    s->v0 ^= block;
}

static inline uint64_t
sip_finish(struct sip s)
{
    s.v2 ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

static inline void
mark(struct pass *f, enum mark m, uint64_t payload)
{
    sip_block(&f->s, (uint64_t)m << 56 | payload);
}

/* Up to eight bytes, the first one lowest. */
static inline uint64_t
load(const uint8_t *p, size_t n, const uint8_t *end)
{
    uint64_t w = 0;
    if (end - p >= 8) {
        memcpy(&w, p, 8);
        w = le64toh(w);
        return n >= 8 ? w : w & ((UINT64_C(1) << 8 * n) - 1);
    }
    for (size_t i = n; i > 0; i--)
        w = w << 8 | p[i - 1];
    return w;
}

/* Sets bit 5 of each byte below 0x80: lower case for letters, and no two different bytes of a word become the same. */
static inline uint64_t
fold(uint64_t w)
{
    return w | ((~w & UINT64_C(0x8080808080808080)) >> 2);
}

static void
add_bytes(struct pass *f, const uint8_t *p, size_t n)
{
    const uint8_t *end = p + n;
    mark(f, MARK_BYTES, n);
    for (; n >= 8; p += 8, n -= 8)
        sip_block(&f->s, load(p, 8, end));
    if (n > 0)
        sip_block(&f->s, load(p, n, end));
}

#define LETTERS2(a, b) ((uint64_t)(a) | (uint64_t)(b) << 8)
#define LETTERS4(a, b, c, d) (LETTERS2(a, b) | LETTERS2(c, d) << 16)

static inline enum before
list_word(uint64_t w, size_t n)
{
    if (n == 2 && w == LETTERS2('i', 'n'))
        return BEFORE_IN;
    if (n == 5 && w == (LETTERS4('a', 'r', 'r', 'a') | (uint64_t)'y' << 32))
        return BEFORE_ARRAY;
    if (n == 6 && w == (LETTERS4('v', 'a', 'l', 'u') | LETTERS2('e', 's') << 32))
        return BEFORE_VALUES;
    return BEFORE_OTHER;
}

static inline bool
is_execute(uint64_t w, size_t n)
{
    return n == 7 && w == (LETTERS4('e', 'x', 'e', 'c') | (LETTERS2('u', 't') | (uint64_t)'e' << 16) << 32);
}

/* NULL, TRUE and FALSE stand for constants where a list's item begins. */
static inline bool
constant_word(const struct pass *f, uint64_t w, size_t n)
{
    if (f->lists_n == 0 || (f->before != BEFORE_OPEN && f->before != BEFORE_COMMA))
        return false;
    return (n == 4 && (w == LETTERS4('n', 'u', 'l', 'l') || w == LETTERS4('t', 'r', 'u', 'e'))) ||
           (n == 5 && w == (LETTERS4('f', 'a', 'l', 's') | (uint64_t)'e' << 32));
}

static inline void
add_word(struct pass *f, const struct lk_lexeme *t, const uint8_t *end)
{
    const uint8_t *p = t->p;
    size_t n = t->n;
    for (; n >= 8; p += 8, n -= 8)
        sip_block(&f->s, fold(load(p, 8, end)));
    uint64_t w = n == 0 ? 0 : load(p, n, end);
    w = fold(w) & (n == 0 ? 0 : (UINT64_C(1) << 8 * n) - 1);
    if (constant_word(f, w, t->n)) {
        mark(f, MARK_CONSTANT, 0);
        f->before = BEFORE_OTHER;
        return;
    }
    mark(f, MARK_WORD, w);
    f->before = list_word(w, t->n);
    f->executes = f->executes || is_execute(w, t->n);
}

static void
item_begin(struct pass *f)
{
    f->s = sip_start(f->key);
}

/* Counts the item's form unless it is one of the list's last ones. */
static void
item_end(struct pass *f, struct list *l)
{
    uint64_t form = sip_finish(f->s);
    unsigned known = l->seen_n < SEEN ? l->seen_n : SEEN;
    for (unsigned i = 0; i < known; i++)
        if (l->seen[i] == form)
            return;
    l->seen[l->seen_n++ % SEEN] = form;
    sip_block(&l->outer, (uint64_t)MARK_ITEM << 56);
    sip_block(&l->outer, form);
}

static void
list_push(struct pass *f, bool rows, unsigned depth)
{
    struct list *l = &f->lists[f->lists_n++];
    l->outer = f->s;
    l->seen_n = 0;
    l->depth = depth;
    l->rows = rows;
    l->at = IN_ROW;
    item_begin(f);
}

static void
list_pop(struct pass *f)
{
    f->s = f->lists[--f->lists_n].outer;
}

static inline struct list *
list_top(struct pass *f)
{
    return f->lists_n > 0 ? &f->lists[f->lists_n - 1] : NULL;
}

/* A row of VALUES is over: does this token still belong to the list? */
static void
leave_rows(struct pass *f, const struct lk_lexeme *t)
{
    struct list *l = list_top(f);
    if (!l || !l->rows || l->at == IN_ROW)
        return;
    uint8_t c = t->kind == LK_LEX_SELF ? *t->p : 0;
    if ((l->at == ROW_OVER && c == ',') || (l->at == COMMA_SEEN && c == '('))
        return;
    bool comma = l->at == COMMA_SEEN;
    list_pop(f);
    if (comma)
        mark(f, MARK_SELF, ',');
}

static void
add_open(struct pass *f, uint8_t c)
{
    struct list *l = list_top(f);
    if (l && l->rows && l->at == COMMA_SEEN) {
        l->at = IN_ROW;
        item_begin(f);
        f->depth++;
    } else if (c == '(' && f->before == BEFORE_VALUES && f->lists_n < LK_FINGERPRINT_LISTS) {
        list_push(f, true, f->depth++);
    } else {
        mark(f, MARK_SELF, c);
        f->depth++;
        if (f->before == (c == '(' ? BEFORE_IN : BEFORE_ARRAY) && f->lists_n < LK_FINGERPRINT_LISTS)
            list_push(f, false, f->depth);
    }
    f->before = BEFORE_OPEN;
}

static void
add_close(struct pass *f, uint8_t c)
{
    struct list *l = list_top(f);
    f->before = BEFORE_OTHER;
    if (l && !l->rows && f->depth == l->depth) {
        item_end(f, l);
        list_pop(f);
    }
    if (f->depth > 0)
        f->depth--;
    if (l && l->rows && f->depth == l->depth) {
        item_end(f, l);
        l->at = ROW_OVER;
        return;
    }
    mark(f, MARK_SELF, c);
}

static void
add_comma(struct pass *f)
{
    struct list *l = list_top(f);
    f->before = BEFORE_COMMA;
    if (l && l->rows && l->at == ROW_OVER) {
        l->at = COMMA_SEEN;
    } else if (l && !l->rows && f->depth == l->depth) {
        item_end(f, l);
        item_begin(f);
    } else {
        mark(f, MARK_SELF, ',');
    }
}

static void
add_self(struct pass *f, uint8_t c)
{
    switch (c) {
    case '(':
    case '[':
        add_open(f, c);
        return;
    case ')':
    case ']':
        add_close(f, c);
        return;
    case ',':
        add_comma(f);
        return;
    default:
        mark(f, MARK_SELF, c);
        f->before = BEFORE_OTHER;
    }
}

static void
add_operator(struct pass *f, const struct lk_lexeme *t, const uint8_t *end)
{
    bool no_operand = f->before == BEFORE_OPEN || f->before == BEFORE_COMMA || f->before == BEFORE_OPERATOR;
    const uint8_t *next = t->p + t->n;
    bool sign = t->n == 1 && (*t->p == '-' || *t->p == '+');
    if (sign && no_operand && next < end && ((*next >= '0' && *next <= '9') || *next == '.'))
        return;
    f->before = BEFORE_OPERATOR;
    if (t->n < 8) {
        mark(f, MARK_OPERATOR, load(t->p, t->n, end));
        return;
    }
    mark(f, MARK_OPERATOR, 0);
    add_bytes(f, t->p, t->n);
}

static void
statement_end(struct pass *f)
{
    while (f->lists_n > 0)
        list_pop(f);
    f->depth = 0;
    f->before = BEFORE_OTHER;
    f->whole_strings = false;
}

static inline void
add_token(struct pass *f, const struct lk_lexeme *t, const uint8_t *end)
{
    if (f->lists_n > 0)
        leave_rows(f, t);
    switch (t->kind) {
    case LK_LEX_WORD:
        add_word(f, t, end);
        return;
    case LK_LEX_SELF:
        add_self(f, *t->p);
        return;
    case LK_LEX_OPERATOR:
        add_operator(f, t, end);
        return;
    case LK_LEX_QUOTED:
        add_bytes(f, t->p, t->n);
        break;
    case LK_LEX_STRING:
        if (f->whole_strings)
            add_bytes(f, t->p, t->n);
        else
            mark(f, MARK_CONSTANT, 0);
        break;
    case LK_LEX_PARAM:
        mark(f, MARK_PARAM, 0);
        break;
    default:
        mark(f, MARK_CONSTANT, 0);
    }
    f->before = BEFORE_OTHER;
}

void
lk_fingerprint_make(struct lk_span sql, const struct lk_hash_key *key, struct lk_fingerprint *out)
{
    struct pass f; /* the lists stay as they are until pushed */
    f.key = key;
    f.s = sip_start(key);
    f.lists_n = 0;
    f.executes = false;
    statement_end(&f);
    struct lk_lex lex = lk_lex_start(sql);
    struct lk_lexeme t;
    bool fresh = true, over = false; /* at a statement's start; behind the first one's ';' */
    out->single = true;
    out->first.count = 0;
    while (lk_lex_next(&lex, &t)) {
        if (t.kind == LK_LEX_SELF && *t.p == ';') {
            statement_end(&f);
            fresh = over = true;
            continue;
        }
        if (over && fresh)
            mark(&f, MARK_SELF, ';');
        if (over)
            out->single = false;
        else if (out->first.count++ < LK_VERB_WORDS)
            out->first.head[out->first.count - 1] = t;
        if (fresh)
            f.whole_strings = lk_lexeme_is(&t, "do");
        fresh = false;
        add_token(&f, &t, lex.end);
    }
    statement_end(&f);
    out->hash = sip_finish(f.s);
    out->executes = f.executes;
}
