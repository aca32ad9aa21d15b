#include "unit/config/hba_text.h"

#include "auth/hba.h"
#include "base/mem.h"

static const char rules[] = "local  all            ann             peer map=staff\n"    /* 1 */
                            "host   shop           ann,bob         10.0.0.0/8 md5\n"    /* 2 */
                            "hostssl all           cid             all scram-sha-256\n" /* 3 */
                            "host   sameuser       all             samenet password\n"  /* 4 */
                            "hostnossl pgbouncer   all             ::1/128 reject\n"    /* 5 */
                            "host   replication    rep             all trust\n"         /* 6 */
                            "host   all            \"all\"         0.0.0.0/0 trust\n"   /* 7 */
                            "local  all            dan             trust\n";            /* 8 */
static const char maps[] = "staff joe ann\nstaff root all\nother joe bob\n";

/* The line of the rule that decides; 0: none. */
static int
line(const struct lk_hba *h, struct lk_hba_request r, const char *address)
{
    if (r.way != LK_HBA_LOCAL)
        lk_hba_set_address(&r, address);
    const struct lk_hba_rule *rule = lk_hba_find(h, &r);
    return rule ? rule->line : 0;
}

static void
the_first_rule_about_a_connection_decides(void **state)
{
    struct hba_text t = {0};
    const struct lk_hba *h = hba_parse(&t, lk_span_str(rules), lk_span_str(maps));
    assert_string_equal(hba_mistakes(&t), "");
    const struct {
        struct lk_hba_request r;
        const char *address;
        int line;
    } cases[] = {
        {{"shop", NULL, "ann", LK_HBA_LOCAL, {0}, 0}, "unix", 1},
        {{"shop", NULL, "dan", LK_HBA_LOCAL, {0}, 0}, "unix", 8},
        {{"shop", NULL, "bob", LK_HBA_LOCAL, {0}, 0}, "unix", 0},
        {{"shop", NULL, "ann", LK_HBA_CLEAR, {0}, 0}, "10.255.0.1", 2},
        {{"shop", NULL, "bob", LK_HBA_TLS, {0}, 0}, "10.0.0.1", 2},
        {{"shop", NULL, "bob", LK_HBA_TLS, {0}, 0}, "::ffff:10.0.0.1", 2},
        {{"shop", NULL, "bob", LK_HBA_TLS, {0}, 0}, "11.0.0.1", 0},
        {{"other", NULL, "bob", LK_HBA_TLS, {0}, 0}, "10.0.0.1", 0},
        {{"other", NULL, "cid", LK_HBA_TLS, {0}, 0}, "fe80::1%eth0", 3},
        {{"other", NULL, "cid", LK_HBA_CLEAR, {0}, 0}, "1.2.3.4", 0},
        {{"eve", NULL, "eve", LK_HBA_CLEAR, {0}, 0}, "10.1.2.200", 4},
        {{"eve", NULL, "eve", LK_HBA_CLEAR, {0}, 0}, "10.1.3.3", 0},
        {{"lockkeeper", "pgbouncer", "eve", LK_HBA_CLEAR, {0}, 0}, "::1", 5},
        {{"lockkeeper", "pgbouncer", "eve", LK_HBA_CLEAR, {0}, 0}, "::2", 0},
        {{"replication", NULL, "rep", LK_HBA_CLEAR, {0}, 0}, "::2", 0},
        {{"x", NULL, "all", LK_HBA_CLEAR, {0}, 0}, "9.9.9.9", 7},
        {{"x", NULL, "all", LK_HBA_CLEAR, {0}, 0}, "::9", 0},
        {{"x", NULL, "all", LK_HBA_CLEAR, {0}, 0}, "nonsense", 0},
    };
    for (size_t i = 0; i < LK_COUNT(cases); i++)
        assert_int_equal(line(h, cases[i].r, cases[i].address), cases[i].line);
    hba_clear(&t);
}

static void
a_file_without_a_name_means_nobody(void **state)
{
    struct hba_text t = {.files = {"etc/blocked", "# nobody\n", NULL}};
    const struct lk_hba *h =
        hba_parse(&t, lk_span_str("host all @blocked all reject\nhost all all all md5\n"), lk_span_str(""));
    assert_string_equal(hba_mistakes(&t), "");
    assert_int_equal(line(h, (struct lk_hba_request){"shop", NULL, "ann", LK_HBA_CLEAR, {0}, 0}, "10.0.0.1"), 2);
    hba_clear(&t);
}

static void
maps_say_who_may_be_whom(void **state)
{
    struct hba_text t = {0};
    const struct lk_hba *h = hba_parse(&t, lk_span_str(rules), lk_span_str(maps));
    const struct lk_hba_request ann = {"shop", NULL, "ann", LK_HBA_LOCAL, {0}, 0};
    const struct lk_hba_request dan = {"shop", NULL, "dan", LK_HBA_LOCAL, {0}, 0};
    const struct lk_hba_rule *mapped = lk_hba_find(h, &ann), *plain = lk_hba_find(h, &dan);
    assert_true(lk_hba_may_be(h, mapped, "joe", "ann"));
    assert_true(lk_hba_may_be(h, mapped, "root", "whoever"));
    assert_false(lk_hba_may_be(h, mapped, "joe", "bob"));
    assert_false(lk_hba_may_be(h, mapped, "ann", "ann"));
    assert_true(lk_hba_may_be(h, plain, "dan", "dan"));
    assert_false(lk_hba_may_be(h, plain, "joe", "dan"));
    hba_clear(&t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_rule_about_a_connection_decides),
        cmocka_unit_test(a_file_without_a_name_means_nobody),
        cmocka_unit_test(maps_say_who_may_be_whom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
