#include "unit/session/world.h"

#include "session/method.h"

static const char rules[] = "local all ann peer\n"
                            "local all sue peer map=staff\n"
                            "local pgbouncer all reject\n"
                            "hostssl all sue all cert map=staff\n"
                            "hostssl all ann all cert\n"
                            "host shop ann 127.0.0.1/32 trust\n"
                            "host shop,forced sue 127.0.0.0/8 md5\n"
                            "host shop stats samehost password\n"
                            "host shop admin 127.0.0.1/32 scram-sha-256\n"
                            "hostnossl shop all 127.0.0.1/32 reject\n";

struct caller {
    struct world *w;
    char hba[64], ident[64];
};

static struct caller
caller_new(const char *text, const char *sslmode)
{
    struct caller h;
    char more[400];
    (void)snprintf(h.hba, sizeof(h.hba), "/tmp/lk-hba-%d.conf", (int)getpid());
    (void)snprintf(h.ident, sizeof(h.ident), "/tmp/lk-ident-%d.conf", (int)getpid());
    write_file(h.hba, text);
    write_file(h.ident, "staff susan sue\n");
    (void)snprintf(more, sizeof(more),
        "auth_hba_file = %s\nauth_ident_file = %s\n"
        "client_tls_sslmode = %s\nclient_tls_key_file = k\nclient_tls_cert_file = c\nclient_tls_ca_file = a\n",
        h.hba, h.ident, sslmode);
    h.w = world_new("hba", more);
    return h;
}

static void
caller_free(struct caller *h)
{
    (void)unlink(h->hba);
    (void)unlink(h->ident);
    world_free(h->w);
}

/* Someone who wants in. */
struct want {
    const char *user, *database, *addr, *tls, *name; /* name: by the certificate, or of the unix socket's peer */
};

static bool
choose(struct caller *h, const struct want *want, enum lk_auth_method *method, struct lk_error *why)
{
    bool local = strcmp(want->addr, "unix") == 0;
    const struct lk_peer peer = {
        .addr = want->addr, .unix_socket = local, .uid = local ? 1001 : UINT32_MAX, .user = local ? want->name : NULL};
    accept_from(h->w, &peer);
    struct lk_client *c = LK_CONTAINER(h->w->client, struct lk_client, end);
    c->end.tls = want->tls;
    c->end.tls_peer_cn = want->tls ? want->name : NULL;
    c->user = lk_mem_dup(want->user);
    c->database = lk_mem_dup(want->database);
    return lk_method_choose(h->w->core, c, method, why);
}

static void
the_rule_says_how_a_client_proves_who_it_is(void **state)
{
    static const struct {
        struct want want;
        enum lk_auth_method method;
    } cases[] = {
        {{"ann", "shop", "unix", NULL, "ann"}, LK_AUTH_TRUST},
        {{"sue", "shop", "unix", NULL, "susan"}, LK_AUTH_TRUST},
        {{"sue", "shop", "127.0.0.1", "TLSv1.3", "susan"}, LK_AUTH_TRUST},
        {{"ann", "shop", "1.2.3.4", "TLSv1.3", "ann"}, LK_AUTH_TRUST},
        {{"ann", "shop", "127.0.0.1", NULL, NULL}, LK_AUTH_TRUST},
        {{"sue", "forced", "127.9.9.9", NULL, NULL}, LK_AUTH_MD5},
        {{"stats", "shop", "127.0.0.1", NULL, NULL}, LK_AUTH_PLAIN},
        {{"admin", "shop", "127.0.0.1", NULL, NULL}, LK_AUTH_SCRAM},
    };
    struct caller h = caller_new(rules, "verify-ca");
    for (size_t i = 0; i < LK_COUNT(cases); i++) {
        enum lk_auth_method method;
        struct lk_error why = {0};
        if (!choose(&h, &cases[i].want, &method, &why))
            fail_msg("%zu: %s", i, why.message);
        assert_int_equal(method, cases[i].method);
    }
    caller_free(&h);
}

static void
who_fits_no_rule_or_a_rejecting_one_stays_outside(void **state)
{
    static const struct {
        struct want want;
        const char *message;
    } cases[] = {
        {{"ann", "shop", "unix", NULL, "sue"}, "unix socket login rejected"},
        {{"ann", "shop", "unix", NULL, NULL}, "unix socket login rejected"},
        {{"sue", "shop", "unix", NULL, "sue"}, "unix socket login rejected"},
        {{"bob", "shop", "unix", NULL, "bob"}, "login rejected"},
        {{"admin", "lockkeeper", "unix", NULL, "admin"}, "login rejected"},
        {{"admin", "pgbouncer", "unix", NULL, "admin"}, "login rejected"},
        {{"sue", "shop", "127.0.0.1", "TLSv1.3", "sue"}, "certificate authentication failed for user \"sue\""},
        {{"ann", "shop", "127.0.0.1", "TLSv1.3", NULL}, "certificate authentication failed for user \"ann\""},
        {{"ann", "forced", "127.0.0.1", NULL, NULL}, "login rejected"},
        {{"bob", "shop", "127.0.0.1", NULL, NULL}, "login rejected"},
        {{"bob", "shop", "127.0.0.2", NULL, NULL}, "login rejected"},
        {{"ann", "shop", "::1", NULL, NULL}, "login rejected"},
    };
    struct caller h = caller_new(rules, "verify-ca");
    for (size_t i = 0; i < LK_COUNT(cases); i++) {
        enum lk_auth_method method;
        struct lk_error why;
        if (choose(&h, &cases[i].want, &method, &why))
            fail_msg("%zu was let in", i);
        assert_string_equal(why.sqlstate, "28000");
        assert_string_equal(why.message, cases[i].message);
    }
    caller_free(&h);
}

static void
a_login_by_rule_goes_through_the_usual_messages(void **state)
{
    struct caller h = caller_new(strstr(rules, "host shop"), "disable");
    accept_one(h.w);
    play_login(h.w, "sue", "pencil");
    assert_int_equal(LK_CONTAINER(h.w->client, struct lk_client, end)->state, LK_CLIENT_WELCOME);
    accept_one(h.w);
    play_login(h.w, "stats", "pen");
    assert_refused(h.w, "28P01", "password authentication failed for user \"stats\"");
    accept_one(h.w);
    SAY_STARTUP(h.w, "user", "bob", "database", "shop");
    assert_refused(h.w, "28000", "login rejected");
    caller_free(&h);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule_says_how_a_client_proves_who_it_is),
        cmocka_unit_test(who_fits_no_rule_or_a_rejecting_one_stays_outside),
        cmocka_unit_test(a_login_by_rule_goes_through_the_usual_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
