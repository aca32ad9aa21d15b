#include "unit/config/hba_text.h"

#include "base/mem.h"

/* One rule, read without a mistake. */
static const struct lk_hba_rule *
rule(struct hba_text *t, const char *text)
{
    size_t count;
    const struct lk_hba *h = hba_parse(t, lk_span_str(text), lk_span_str("m joe ann\n"));
    assert_string_equal(hba_mistakes(t), "");
    const struct lk_hba_rule *r = lk_hba_rules(h, &count);
    assert_int_equal(count, 1);
    return r;
}

static void
each_way_in_has_its_word(void **state)
{
    struct hba_text t = {0};
    assert_int_equal(rule(&t, "local all all trust")->ways, LK_HBA_LOCAL);
    assert_int_equal(rule(&t, "host all all all md5")->ways, LK_HBA_TLS | LK_HBA_CLEAR);
    assert_int_equal(rule(&t, "hostssl all all all cert")->ways, LK_HBA_TLS);
    assert_int_equal(rule(&t, "hostnossl all all all reject # why")->ways, LK_HBA_CLEAR);
    hba_clear(&t);
}

static void
each_method_is_known(void **state)
{
    static const struct {
        const char *text;
        enum lk_hba_method method;
    } cases[] = {
        {"host all all all trust", LK_HBA_TRUST},
        {"host all all all reject", LK_HBA_REJECT},
        {"host all all all password", LK_HBA_PASSWORD},
        {"host all all all md5", LK_HBA_MD5},
        {"host all all all scram-sha-256", LK_HBA_SCRAM},
        {"local all all peer map=m", LK_HBA_PEER},
        {"hostssl all all all cert map=\"m\"", LK_HBA_CERT},
    };
    struct hba_text t = {0};
    for (size_t i = 0; i < LK_COUNT(cases); i++)
        assert_int_equal(rule(&t, cases[i].text)->method, cases[i].method);
    assert_string_equal(rule(&t, "local all all peer map=m")->map, "m");
    hba_clear(&t);
}

static void
names_stand_in_lists_in_quotes_and_for_words(void **state)
{
    struct hba_text t = {0};
    const struct lk_hba_rule *r = rule(&t, "\xef\xbb\xbflocal a, \"b c\" ,\"all\",d\"x\"\"y\"z sameuser trust\r\n");
    assert_int_equal(r->databases.words, 0);
    assert_int_equal(r->databases.count, 4);
    assert_string_equal(r->databases.names[0], "a");
    assert_string_equal(r->databases.names[1], "b c");
    assert_string_equal(r->databases.names[2], "all");
    assert_string_equal(r->databases.names[3], "dx\"yz");
    assert_int_equal(r->users.words, 0);
    assert_string_equal(r->users.names[0], "sameuser");
    r = rule(&t, "local replication,sameuser,all \"+g\",\"@f\",all trust\n");
    assert_int_equal(r->databases.words, LK_HBA_ALL | LK_HBA_SAMEUSER | LK_HBA_REPLICATION);
    assert_int_equal(r->databases.count, 0);
    assert_int_equal(r->users.words, LK_HBA_ALL);
    assert_int_equal(r->users.count, 2);
    hba_clear(&t);
}

static void
names_come_from_files_beside_the_rules(void **state)
{
    struct hba_text t = {.files = {"etc/users", "ann, bob # and\n\n# nobody\n@more\n", "etc/more", "cid\nall", NULL}};
    const struct lk_hba_rule *r = rule(&t, "local all @users,dan trust");
    assert_int_equal(r->users.count, 4);
    assert_string_equal(r->users.names[0], "ann");
    assert_string_equal(r->users.names[2], "cid");
    assert_string_equal(r->users.names[3], "dan");
    assert_int_equal(r->users.words, LK_HBA_ALL);
    hba_clear(&t);
}

static void
mistakes_in_such_files_are_told_with_their_lines(void **state)
{
    struct hba_text t = {.files = {"etc/users", "ann\n+staff\n\"bob", "etc/loop", "@loop", NULL}};
    size_t count;
    hba_parse(&t, lk_span_str("local all @users trust\nlocal all @none trust\n\nlocal @loop all trust\n"),
        lk_span_make(NULL, 0));
    assert_string_equal(hba_mistakes(&t),
        "etc/users:2: +staff: groups are not supported: their members are known to the server only\n"
        "etc/users:3: a quote is not closed\n"
        "etc/hba.conf:2: @none cannot be read: No such file or directory\n"
        "etc/loop:1: @loop: too many files deep\n");
    lk_hba_rules(t.h, &count);
    assert_int_equal(count, 0);
    hba_clear(&t);
}

static void
addresses_have_bits_or_a_mask(void **state)
{
    static const uint8_t v6[16] = {0xfe, 0x80};
    struct hba_text t = {0};
    const struct lk_hba_rule *r = rule(&t, "host all all 10.0.0.0/9 trust");
    assert_int_equal(r->networks[0].n, 4);
    assert_memory_equal(r->networks[0].address, "\x0a\0\0\0", 4);
    assert_memory_equal(r->networks[0].mask, "\xff\x80\0\0", 4);
    r = rule(&t, "host all all 127.0.0.1 255.255.255.255 trust");
    assert_memory_equal(r->networks[0].mask, "\xff\xff\xff\xff", 4);
    r = rule(&t, "host all all fe80::/10 trust");
    assert_int_equal(r->networks[0].n, 16);
    assert_memory_equal(r->networks[0].address, v6, 16);
    assert_memory_equal(r->networks[0].mask, "\xff\xc0\0", 3);
    r = rule(&t, "host all all samehost trust");
    assert_int_equal(r->network_count, 2);
    assert_memory_equal(r->networks[0].address, "\x0a\1\2\3", 4);
    assert_memory_equal(r->networks[0].mask, "\xff\xff\xff\xff", 4);
    r = rule(&t, "host all all samenet trust");
    assert_memory_equal(r->networks[0].mask, "\xff\xff\xff\0", 4);
    assert_true(rule(&t, "host all all all trust")->anywhere);
    hba_clear(&t);
}

static void
every_mistake_is_told_and_its_rule_left_out(void **state)
{
    static const struct {
        const char *text, *what;
    } cases[] = {
        {"hostgssenc all all all trust", "\"hostgssenc\": must be local, host, hostssl or hostnossl"},
        {"\"local\" all all trust", "\"local\": must be local, host, hostssl or hostnossl"},
        {", all all trust", "\",\": must be local, host, hostssl or hostnossl"},
        {"local", "the database is missing"},
        {"local all,", "the database is missing"},
        {"local all", "the user is missing"},
        {"host all all", "the address is missing"},
        {"local all all", "the method is missing"},
        {"local samerole all trust", "samerole is not supported: members of roles are known to the server only"},
        {"local \"\" all trust", "an empty database name"},
        {"local /^a all trust", "/^a: regular expressions are not supported; a name that begins so takes quotes"},
        {"local all +dba trust", "+dba: groups are not supported: their members are known to the server only"},
        {"host all all example.com trust", "\"example.com\" is no address; host names are not supported"},
        {"host all all 1.2.3.4/33 trust", "\"1.2.3.4/33\": the mask must be a number from 0 to 32"},
        {"host all all ::/ trust", "\"::/\": the mask must be a number from 0 to 128"},
        {"host all all 1.2.3.4 trust", "\"1.2.3.4\" takes a mask: /BITS, or an address of its kind behind it"},
        {"host all all 1.2.3.4 ffff:: trust", "\"1.2.3.4\" takes a mask: /BITS, or an address of its kind behind it"},
        {"local all all ident",
            "method \"ident\" is not supported: must be trust, reject, password, md5, scram-sha-256, peer or cert"},
        {"host all all all peer", "method peer works in local rules only"},
        {"host all all all cert", "method cert works in hostssl rules only"},
        {"local all all md5 map=m", "map works with the methods peer and cert only"},
        {"local all all peer map=n", "there is no map \"n\" in auth_ident_file"},
        {"local all all peer map=m map=m", "map stands twice"},
        {"hostssl all all all cert clientcert=1", "option \"clientcert=1\" is not supported"},
        {"local all all trust ,", "a comma stands where none may"},
        {"local all \"all trust", "a quote is not closed"},
    };
    struct hba_text t = {0};
    for (size_t i = 0; i < LK_COUNT(cases); i++) {
        char text[256], expected[256];
        size_t count;
        snprintf(text, sizeof(text), "# head\nlocal all ann trust\n%s\n", cases[i].text);
        snprintf(expected, sizeof(expected), "etc/hba.conf:3: %s\n", cases[i].what);
        hba_parse(&t, lk_span_str(text), lk_span_str("m joe ann\n"));
        assert_string_equal(hba_mistakes(&t), expected);
        lk_hba_rules(t.h, &count);
        assert_int_equal(count, 1);
    }
    hba_clear(&t);
}

static void
maps_are_three_names_a_line(void **state)
{
    struct hba_text t = {0};
    size_t count;
    hba_parse(&t, lk_span_make(NULL, 0),
        lk_span_str("m joe ann\nm \"sys tem\" all\nm jim \"all\"\nshort joe\nm /re ann\nm joe +g\nm a b c\nm a,b c\n"));
    assert_string_equal(hba_mistakes(&t),
        "ident.conf:4: must be a map's name, a name of the system's and a user's name\n"
        "ident.conf:5: regular expressions and groups are not supported\n"
        "ident.conf:6: regular expressions and groups are not supported\n"
        "ident.conf:7: must be a map's name, a name of the system's and a user's name\n"
        "ident.conf:8: must be a map's name, a name of the system's and a user's name\n");
    const struct lk_hba_mapping *m = lk_hba_mappings(t.h, &count);
    assert_int_equal(count, 3);
    assert_false(m[0].any_name);
    assert_string_equal(m[1].system_name, "sys tem");
    assert_true(m[1].any_name);
    assert_false(m[2].any_name);
    hba_clear(&t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_in_has_its_word),
        cmocka_unit_test(each_method_is_known),
        cmocka_unit_test(names_stand_in_lists_in_quotes_and_for_words),
        cmocka_unit_test(names_come_from_files_beside_the_rules),
        cmocka_unit_test(mistakes_in_such_files_are_told_with_their_lines),
        cmocka_unit_test(addresses_have_bits_or_a_mask),
        cmocka_unit_test(every_mistake_is_told_and_its_rule_left_out),
        cmocka_unit_test(maps_are_three_names_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
