#include "config/hba.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

struct lk_hba {
    atomic_uint refs;
    struct lk_hba_rule *rules;
    size_t rule_count;
    struct lk_hba_mapping *mappings;
    size_t mapping_count;
};

/* A word as it stood, without its quotes; or a comma. */
struct token {
    const char *text; /* NULL: a comma */
    bool quoted;      /* it began with a quote: no special meaning */
};

/* One line's words, and where it stands. */
struct line {
    const char *file;
    int number;
    struct token *tokens; /* owned, as are the texts */
    size_t count, next;
    char *texts;
    bool bad; /* a mistake was told of it */
};

struct parser {
    struct lk_hba *h;
    const struct lk_hba_source *source;
    size_t files;
};

static void mistake(const struct parser *p, struct line *l, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void
mistake(const struct parser *p, struct line *l, const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    l->bad = true;
    p->source->mistake(p->source->arg, l->file, l->number, what);
}

/* --- words --- */

static bool
is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Takes a word off *at, unquoted, to *to; false: a quote is not closed. */
static bool
take_word(const char **at, const char *end, char **to, struct token *t)
{
    const char *p = *at;
    bool inside = false;
    t->quoted = *p == '"';
    t->text = *to;
    for (; p < end && (inside || (!is_space(*p) && *p != ',' && *p != '#')); p++) {
        if (*p != '"')
            *(*to)++ = *p;
        else if (inside && p + 1 < end && p[1] == '"')
            *(*to)++ = *p++;
        else
            inside = !inside;
    }
    *(*to)++ = '\0';
    *at = p;
    return !inside;
}

/* Cuts the line into words. */
static void
split(const struct parser *p, struct line *l, struct lk_span text)
{
    const char *at = (const char *)text.p, *end = at + text.n;
    if (memchr(text.p, '\0', text.n)) {
        mistake(p, l, "holds a NUL byte");
        return;
    }
    l->tokens = lk_mem_new((text.n + 1) * sizeof(*l->tokens));
    l->texts = lk_mem_new(2 * text.n + 1);
    char *to = l->texts;
    while (at < end && *at != '#') {
        struct token *t = &l->tokens[l->count];
        if (is_space(*at)) {
            at++;
        } else if (*at == ',') {
            at++;
            l->count++;
        } else {
            l->count++;
            if (!take_word(&at, end, &to, t))
                mistake(p, l, "a quote is not closed");
        }
    }
}

static void
line_clear(struct line *l)
{
    free(l->tokens);
    free(l->texts);
}

/* The next word; NULL: none, or a comma. */
static const struct token *
next_word(struct line *l)
{
    if (l->next == l->count || !l->tokens[l->next].text)
        return NULL;
    return &l->tokens[l->next++];
}

static bool
is_keyword(const struct token *t, const char *word)
{
    return !t->quoted && strcmp(t->text, word) == 0;
}

typedef void line_handler(struct parser *p, struct line *l, void *arg);

/* Calls the handler for each line that says something. */
static void
each_line(struct parser *p, struct lk_span text, const char *file, line_handler *handler, void *arg)
{
    static const uint8_t mark[] = {0xef, 0xbb, 0xbf};
    if (text.n >= sizeof(mark) && memcmp(text.p, mark, sizeof(mark)) == 0)
        text = lk_span_skip(text, sizeof(mark));
    for (int number = 1; text.n > 0; number++) {
        const uint8_t *newline = memchr(text.p, '\n', text.n);
        size_t n = newline ? (size_t)(newline - text.p) : text.n;
        struct line l = {.file = file, .number = number};
        split(p, &l, lk_span_head(text, n));
        if (!l.bad && l.count > 0)
            handler(p, &l, arg);
        line_clear(&l);
        text = lk_span_skip(text, newline ? n + 1 : n);
    }
}

/* --- names --- */

/* Where names go, and where they were asked for. */
struct gathering {
    struct lk_hba_names *names;
    bool of_databases;
    struct line *asked; /* the rule's line */
    int depth;
};

static void gather_file(struct parser *p, struct line *l, const char *name, const struct gathering *g);

static void
add_name(struct lk_hba_names *names, const char *name)
{
    if ((names->count & (names->count + 1)) == 0) /* room for a power of two less one: full */
        names->names = lk_mem_grow(names->names, (names->count + 1) * 2 * sizeof(char *));
    names->names[names->count++] = lk_mem_dup(name);
}

static void
gather(struct parser *p, struct line *l, const struct token *t, const struct gathering *g)
{
    const char *what = g->of_databases ? "database" : "user";
    if (!t->text[0])
        mistake(p, l, "an empty %s name", what);
    else if (t->quoted)
        add_name(g->names, t->text);
    else if (t->text[0] == '@')
        gather_file(p, l, t->text + 1, g);
    else if (t->text[0] == '+')
        mistake(p, l, "%.100s: groups are not supported: their members are known to the server only", t->text);
    else if (t->text[0] == '/')
        mistake(p, l, "%.100s: regular expressions are not supported; a name that begins so takes quotes", t->text);
    else if (strcmp(t->text, "all") == 0)
        g->names->words |= LK_HBA_ALL;
    else if (g->of_databases && strcmp(t->text, "sameuser") == 0)
        g->names->words |= LK_HBA_SAMEUSER;
    else if (g->of_databases && strcmp(t->text, "replication") == 0)
        g->names->words |= LK_HBA_REPLICATION;
    else if (g->of_databases && (strcmp(t->text, "samerole") == 0 || strcmp(t->text, "samegroup") == 0))
        mistake(p, l, "%s is not supported: members of roles are known to the server only", t->text);
    else
        add_name(g->names, t->text);
}

static void
on_name_line(struct parser *p, struct line *l, void *arg)
{
    const struct gathering *g = arg;
    for (size_t i = 0; i < l->count; i++)
        if (l->tokens[i].text)
            gather(p, l, &l->tokens[i], g);
    g->asked->bad |= l->bad;
}

/* A name relative to the folder of the file that holds it. Owner: the caller. */
static char *
resolve(const char *name, const char *holder)
{
    const char *slash = strrchr(holder, '/');
    size_t n = name[0] == '/' || !slash ? 0 : (size_t)(slash + 1 - holder);
    char *path = lk_mem_new(n + strlen(name) + 1);
    memcpy(path, holder, n);
    memcpy(path + n, name, strlen(name));
    return path;
}

static void
gather_file(struct parser *p, struct line *l, const char *name, const struct gathering *g)
{
    if (g->depth >= LK_HBA_DEPTH_MOST) {
        mistake(p, l, "@%.200s: too many files deep", name);
        return;
    }
    if (p->files++ >= LK_HBA_FILES_MOST) {
        mistake(p, l, "@%.200s: too many files", name);
        return;
    }
    struct lk_buf text = {0};
    char *path = resolve(name, l->file);
    const char *wrong = p->source->read(p->source->arg, path, &text);
    if (wrong) {
        mistake(p, l, "@%.200s cannot be read: %s", name, wrong);
    } else {
        struct gathering inner = *g;
        inner.depth++;
        each_line(p, lk_buf_span(&text), path, on_name_line, &inner);
    }
    free(path);
    lk_buf_clear(&text);
}

/* A name, or several with commas between them. */
static void
take_names(struct parser *p, struct line *l, struct lk_hba_names *names, bool of_databases)
{
    const struct gathering g = {.names = names, .of_databases = of_databases, .asked = l};
    for (;;) {
        const struct token *t = next_word(l);
        if (!t) {
            mistake(p, l, "the %s is missing", of_databases ? "database" : "user");
            return;
        }
        gather(p, l, t, &g);
        if (l->next == l->count || l->tokens[l->next].text)
            return;
        l->next++;
    }
}

/* --- addresses --- */

static void
add_network(struct lk_hba_rule *r, const struct lk_hba_network *n)
{
    r->networks = lk_mem_grow(r->networks, (r->network_count + 1) * sizeof(*r->networks));
    r->networks[r->network_count++] = *n;
}

static void
fill_mask(uint8_t *mask, size_t bits)
{
    for (size_t i = 0; i < bits; i++)
        mask[i / 8] |= (uint8_t)(0x80u >> i % 8);
}

static void
add_interfaces(const struct parser *p, struct lk_hba_rule *r, bool whole_nets)
{
    for (size_t i = 0; i < p->source->interface_count; i++) {
        struct lk_hba_network n = p->source->interfaces[i];
        if (!whole_nets)
            fill_mask(n.mask, n.n * 8);
        add_network(r, &n);
    }
}

/* The bytes of an address: 4 or 16; 0: it is none. */
static size_t
read_address(const char *text, uint8_t out[16])
{
    if (inet_pton(AF_INET, text, out) == 1)
        return 4;
    return inet_pton(AF_INET6, text, out) == 1 ? 16 : 0;
}

/* ADDRESS/BITS; false: the bits are no number up to that of the address. */
static bool
read_bits(const char *text, size_t most, uint8_t mask[16])
{
    char *end;
    unsigned long bits = text[0] >= '0' && text[0] <= '9' ? strtoul(text, &end, 10) : most + 1;
    if (bits > most || *end)
        return false;
    fill_mask(mask, bits);
    return true;
}

static void
take_network(struct parser *p, struct line *l, struct lk_hba_rule *r, const struct token *t)
{
    struct lk_hba_network n = {0};
    char *address = lk_mem_dup(t->text), *slash = strchr(address, '/');
    if (slash)
        *slash = '\0';
    n.n = read_address(address, n.address);
    if (n.n == 0) {
        mistake(p, l, "\"%.100s\" is no address; host names are not supported", t->text);
    } else if (slash) {
        if (!read_bits(slash + 1, n.n * 8, n.mask))
            mistake(p, l, "\"%.100s\": the mask must be a number from 0 to %zu", t->text, n.n * 8);
    } else {
        const struct token *mask = next_word(l);
        if (!mask || read_address(mask->text, n.mask) != n.n)
            mistake(p, l, "\"%.100s\" takes a mask: /BITS, or an address of its kind behind it", t->text);
    }
    if (!l->bad)
        add_network(r, &n);
    free(address);
}

static void
take_address(struct parser *p, struct line *l, struct lk_hba_rule *r)
{
    const struct token *t = next_word(l);
    if (!t)
        mistake(p, l, "the address is missing");
    else if (is_keyword(t, "all"))
        r->anywhere = true;
    else if (is_keyword(t, "samehost") || is_keyword(t, "samenet"))
        add_interfaces(p, r, is_keyword(t, "samenet"));
    else
        take_network(p, l, r, t);
}

/* --- rules --- */

static void
take_way(struct parser *p, struct line *l, struct lk_hba_rule *r)
{
    static const struct {
        const char *word;
        unsigned ways;
    } words[] = {
        {"local", LK_HBA_LOCAL},
        {"host", LK_HBA_TLS | LK_HBA_CLEAR},
        {"hostssl", LK_HBA_TLS},
        {"hostnossl", LK_HBA_CLEAR},
    };
    const struct token *t = next_word(l);
    for (size_t i = 0; t && i < LK_COUNT(words); i++)
        if (is_keyword(t, words[i].word))
            r->ways = words[i].ways;
    if (r->ways == 0)
        mistake(p, l, "\"%.100s\": must be local, host, hostssl or hostnossl", t ? t->text : ",");
}

static void
take_method(struct parser *p, struct line *l, struct lk_hba_rule *r)
{
    static const char *const methods[] = {
        [LK_HBA_TRUST] = "trust",
        [LK_HBA_REJECT] = "reject",
        [LK_HBA_PASSWORD] = "password",
        [LK_HBA_MD5] = "md5",
        [LK_HBA_SCRAM] = "scram-sha-256",
        [LK_HBA_PEER] = "peer",
        [LK_HBA_CERT] = "cert",
    };
    size_t found = 0;
    const struct token *t = next_word(l);
    if (!t) {
        mistake(p, l, "the method is missing");
        return;
    }
    while (found < LK_COUNT(methods) && strcmp(methods[found], t->text) != 0)
        found++;
    r->method = (enum lk_hba_method)found;
    if (found == LK_COUNT(methods))
        mistake(p, l,
            "method \"%.100s\" is not supported: must be trust, reject, password, md5, scram-sha-256, peer or cert",
            t->text);
    else if (r->method == LK_HBA_PEER && r->ways != LK_HBA_LOCAL)
        mistake(p, l, "method peer works in local rules only");
    else if (r->method == LK_HBA_CERT && r->ways != LK_HBA_TLS)
        mistake(p, l, "method cert works in hostssl rules only");
}

static bool
map_known(const struct lk_hba *h, const char *map)
{
    for (size_t i = 0; i < h->mapping_count; i++)
        if (strcmp(h->mappings[i].map, map) == 0)
            return true;
    return false;
}

static void
take_options(struct parser *p, struct line *l, struct lk_hba_rule *r)
{
    const struct token *t;
    bool named = r->method == LK_HBA_PEER || r->method == LK_HBA_CERT;
    while (!l->bad && (t = next_word(l))) {
        if (strncmp(t->text, "map=", 4) != 0)
            mistake(p, l, "option \"%.100s\" is not supported", t->text);
        else if (!named)
            mistake(p, l, "map works with the methods peer and cert only");
        else if (!map_known(p->h, t->text + 4))
            mistake(p, l, "there is no map \"%.100s\" in auth_ident_file", t->text + 4);
        else if (r->map)
            mistake(p, l, "map stands twice");
        else
            r->map = lk_mem_dup(t->text + 4);
    }
    if (!l->bad && l->next < l->count)
        mistake(p, l, "a comma stands where none may");
}

static void
names_clear(struct lk_hba_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
}

static void
rule_clear(struct lk_hba_rule *r)
{
    free(r->file);
    names_clear(&r->databases);
    names_clear(&r->users);
    free(r->networks);
    free(r->map);
}

static void
on_rule(struct parser *p, struct line *l, void *arg)
{
    struct lk_hba_rule r = {.file = lk_mem_dup(l->file), .line = l->number};
    struct lk_hba *h = p->h;
    take_way(p, l, &r);
    if (!l->bad)
        take_names(p, l, &r.databases, true);
    if (!l->bad)
        take_names(p, l, &r.users, false);
    if (!l->bad && r.ways != LK_HBA_LOCAL)
        take_address(p, l, &r);
    if (!l->bad)
        take_method(p, l, &r);
    if (!l->bad)
        take_options(p, l, &r);
    if (l->bad) {
        rule_clear(&r);
        return;
    }
    h->rules = lk_mem_grow(h->rules, (h->rule_count + 1) * sizeof(*h->rules));
    h->rules[h->rule_count++] = r;
}

/* --- maps --- */

static void
on_mapping(struct parser *p, struct line *l, void *arg)
{
    struct lk_hba *h = p->h;
    const struct token *map = next_word(l), *system_name = next_word(l), *name = next_word(l);
    if (!name || l->next < l->count) {
        mistake(p, l, "must be a map's name, a name of the system's and a user's name");
        return;
    }
    if ((!system_name->quoted && system_name->text[0] == '/') || (!name->quoted && strchr("/+", name->text[0]))) {
        mistake(p, l, "regular expressions and groups are not supported");
        return;
    }
    h->mappings = lk_mem_grow(h->mappings, (h->mapping_count + 1) * sizeof(*h->mappings));
    h->mappings[h->mapping_count++] = (struct lk_hba_mapping){
        .map = lk_mem_dup(map->text),
        .system_name = lk_mem_dup(system_name->text),
        .name = lk_mem_dup(name->text),
        .any_name = is_keyword(name, "all"),
    };
}

/* --- the whole --- */

struct lk_hba *
lk_hba_parse(struct lk_span rules, const char *rules_file, struct lk_span idents, const char *ident_file,
    const struct lk_hba_source *source)
{
    struct parser p = {.h = LK_NEW(struct lk_hba), .source = source};
    atomic_init(&p.h->refs, 1);
    if (ident_file)
        each_line(&p, idents, ident_file, on_mapping, NULL);
    each_line(&p, rules, rules_file, on_rule, NULL);
    return p.h;
}

struct lk_hba *
lk_hba_ref(struct lk_hba *h)
{
    atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
    return h;
}

void
lk_hba_unref(struct lk_hba *h)
{
    if (!h || atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) > 1)
        return;
    for (size_t i = 0; i < h->rule_count; i++)
        rule_clear(&h->rules[i]);
    for (size_t i = 0; i < h->mapping_count; i++) {
        free(h->mappings[i].map);
        free(h->mappings[i].system_name);
        free(h->mappings[i].name);
    }
    free(h->rules);
    free(h->mappings);
    free(h);
}

const struct lk_hba_rule *
lk_hba_rules(const struct lk_hba *h, size_t *count)
{
    *count = h->rule_count;
    return h->rules;
}

const struct lk_hba_mapping *
lk_hba_mappings(const struct lk_hba *h, size_t *count)
{
    *count = h->mapping_count;
    return h->mappings;
}
