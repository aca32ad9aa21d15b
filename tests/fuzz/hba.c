/* Three texts with a NUL between them: rules, maps, and a file that @FILE names; then words of a connection. */
#include "fuzz.h"

#include "auth/hba.h"
#include "base/mem.h"

struct sources {
    struct lk_span named;
    unsigned reads, mistakes;
};

static const char *
read_named(void *arg, const char *path, struct lk_buf *out)
{
    struct sources *s = arg;
    MUST(++s->reads <= LK_HBA_FILES_MOST);
    if (strcmp(path, "none") == 0 || strcmp(path, "etc/none") == 0)
        return "No such file or directory";
    lk_buf_add_span(out, s->named);
    return NULL;
}

static void
mistake(void *arg, const char *file, int line, const char *what)
{
    struct sources *s = arg;
    s->mistakes++;
    MUST(file && line >= 0 && what && what[0]);
}

static void
check_rules(const struct lk_hba *h, bool files)
{
    size_t count;
    const struct lk_hba_rule *rules = lk_hba_rules(h, &count);
    for (size_t i = 0; i < count; i++) {
        const struct lk_hba_rule *r = &rules[i];
        MUST(r->ways != 0 && r->ways < 8 && r->method <= LK_HBA_CERT);
        /* a file may hold no name: such a rule is about nobody */
        MUST(files || r->databases.words != 0 || r->databases.count > 0);
        MUST(files || r->users.words != 0 || r->users.count > 0);
        MUST(r->ways == LK_HBA_LOCAL || r->anywhere || r->network_count > 0);
    }
}

static void
ask(const struct lk_hba *h, struct lk_span *in)
{
    char *database = lk_mem_dup_span(fuzz_until(in, 0)), *user = lk_mem_dup_span(fuzz_until(in, 0));
    char *address = lk_mem_dup_span(fuzz_until(in, 0));
    static const enum lk_hba_way ways[] = {LK_HBA_LOCAL, LK_HBA_TLS, LK_HBA_CLEAR};
    for (size_t i = 0; i < LK_COUNT(ways); i++) {
        struct lk_hba_request r = {.database = database, .user = user, .way = ways[i]};
        if (ways[i] != LK_HBA_LOCAL)
            lk_hba_set_address(&r, address);
        MUST(r.address_n == 0 || r.address_n == 4 || r.address_n == 16);
        const struct lk_hba_rule *rule = lk_hba_find(h, &r);
        if (!rule)
            continue;
        MUST(rule->ways & (unsigned)ways[i]);
        MUST(rule->map || lk_hba_may_be(h, rule, user, user));
        (void)lk_hba_may_be(h, rule, database, user);
    }
    free(database);
    free(user);
    free(address);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct lk_hba_network interfaces[] = {
        {4, {10, 0, 0, 5}, {255, 255, 255, 0}}, {16, {0xfe, 0x80, [15] = 1}, {0xff, 0xff, 0xff, 0xff}}};
    struct lk_span in = lk_span_make(data, size);
    struct lk_span rules = fuzz_until(&in, 0), idents = fuzz_until(&in, 0);
    struct sources s = {.named = fuzz_until(&in, 0)};
    const struct lk_hba_source source = {read_named, mistake, &s, interfaces, LK_COUNT(interfaces)};
    struct lk_hba *h = lk_hba_parse(rules, "etc/hba", idents, idents.n ? "etc/ident" : NULL, &source);
    MUST(h);
    check_rules(h, s.reads > 0);
    ask(h, &in);
    ask(h, &in);
    lk_hba_unref(h);
    return 0;
}
