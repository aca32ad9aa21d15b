/* Whatever stands in auth_hba_file, reading it ends: each line that says something is a rule or has a mistake. LK_SEED
 * and LK_ROUNDS choose other runs. */
#include "unit/config/hba_text.h"

#include "base/mem.h"

static uint64_t random_state;

/* xorshift64*; its state is never 0. */
static uint32_t
pick(uint32_t below)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)((random_state * 0x2545F4914F6CDD1Du) >> 33) % below;
}

static const char *const words[] = {"local", "host", "hostssl", "hostnossl", "all", "sameuser", "replication", "a",
    "\"b c\"", "\"all\"", "+g", "@names", "@none", "/x", ",", ",", "127.0.0.1/32", "10.0.0.0", "255.0.0.0", "::1/128",
    "fe80::", "samehost", "samenet", "trust", "reject", "password", "md5", "scram-sha-256", "peer", "cert", "map=m",
    "map=", "\"", "#", "\"\"", "1.2.3.4/", "/32"};

static size_t
make_text(char *out)
{
    size_t n = 0;
    for (uint32_t lines = 1 + pick(6); lines > 0; lines--) {
        if (pick(2)) {
            n += (size_t)sprintf(out + n, "%s %s %s", words[pick(4)], words[4 + pick(6)], words[4 + pick(6)]);
            n += (size_t)sprintf(out + n, " %s %s", words[16 + pick(7)], words[23 + pick(9)]);
        } else {
            for (uint32_t count = pick(9); count > 0; count--)
                n += (size_t)sprintf(out + n, "%s%s", words[pick(LK_COUNT(words))], pick(5) ? " " : "");
        }
        out[n++] = '\n';
    }
    for (uint32_t times = pick(2) ? pick(4) : 0; times > 0; times--)
        out[pick((uint32_t)n)] = (char)pick(256);
    return n;
}

static void
check_rules(const struct lk_hba *h, size_t lines)
{
    size_t count;
    const struct lk_hba_rule *rules = lk_hba_rules(h, &count);
    int before = 0;
    assert_true(count <= lines);
    for (size_t i = 0; i < count; i++) {
        const struct lk_hba_rule *r = &rules[i];
        assert_true(r->line > before);
        before = r->line;
        assert_true(r->ways != 0 && r->ways < 8);
        assert_true(r->databases.words != 0 || r->databases.count > 0);
        assert_true(r->users.words != 0 || r->users.count > 0);
        assert_true(r->ways == LK_HBA_LOCAL || r->anywhere || r->network_count > 0);
        assert_true(r->method <= LK_HBA_CERT);
        for (size_t n = 0; n < r->network_count; n++)
            assert_true(r->networks[n].n == 4 || r->networks[n].n == 16);
    }
}

static void
any_bytes_give_rules_or_named_mistakes(void **state)
{
    static char text[4096], idents[4096];
    struct hba_text t = {.files = {"etc/names", "x, y\n@names", NULL}};
    const char *seed = getenv("LK_SEED"), *rounds = getenv("LK_ROUNDS");
    random_state = seed ? strtoull(seed, NULL, 0) | 1 : 20261130;
    long most = rounds ? atol(rounds) : 20000, whole = 0;
    printf("seed %llu, %ld rounds\n", (unsigned long long)random_state, most);
    for (long i = 0; i < most; i++) {
        size_t n = make_text(text), m = pick(3) ? 0 : make_text(idents), lines = 0;
        for (size_t at = 0; at < n; at++)
            lines += text[at] == '\n' || at + 1 == n;
        if (m == 0)
            m = (size_t)sprintf(idents, "m joe ann\n");
        check_rules(hba_parse(&t, lk_span_make(text, n), lk_span_make(idents, m)), lines);
        whole += t.mistakes.len == 0;
    }
    print_message("%ld of them without a mistake\n", whole);
    assert_true(whole > most / 100);
    hba_clear(&t);
}

static void
a_megabyte_of_noise_ends_too(void **state)
{
    struct hba_text t = {0};
    size_t n = 1 << 20;
    char *noise = malloc(n);
    random_state = 7;
    for (size_t i = 0; i < n; i++)
        noise[i] = (char)pick(256);
    hba_parse(&t, lk_span_make(noise, n), lk_span_make(noise, n));
    assert_true(t.mistakes.len > 0);
    memset(noise, '"', n);
    hba_parse(&t, lk_span_make(noise, n), lk_span_make(NULL, 0));
    memset(noise, ',', n);
    hba_parse(&t, lk_span_make(noise, n), lk_span_make(NULL, 0));
    assert_string_equal(hba_mistakes(&t), "etc/hba.conf:1: \",\": must be local, host, hostssl or hostnossl\n");
    free(noise);
    hba_clear(&t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_bytes_give_rules_or_named_mistakes),
        cmocka_unit_test(a_megabyte_of_noise_ends_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
