#include "unit/admin/fake_core.h"

#include "admin/views.h"

/* Names as the shell would tell them. */
static void
tell_hosts(void *context, struct lk_now now, void (*host)(void *to, const struct lk_show_host *h), void *to)
{
    const struct lk_show_host *hosts = context;
    assert_int_equal(now.mono_us, NOW.mono_us);
    for (; hosts->name; hosts++)
        host(to, hosts);
}

static struct lk_show_host first[] = {
    {"db1.shop.example", false, 14 * LK_SECOND_US + 900000, "10.0.0.1,fe80::1"},
    {"db2.shop.example", true, 0, ""},
    {"localhost", false, LK_SECOND_US, "127.0.0.1"},
    {NULL, false, 0, NULL},
};
static struct lk_show_host second[] = {
    {"db1.shop.example", false, 3 * LK_SECOND_US, "10.0.0.1"},
    {"a.example", false, 0, ""},
    {NULL, false, 0, NULL},
};

/* The view's answer from two workers, as lines of cells. */
static void
assert_rows(const char *name, struct world *w, const char *wanted)
{
    const struct lk_view *v = lk_view_find(lk_span_str(name));
    struct lk_table parts[2], answer;
    const struct lk_table *const tables[] = {&parts[0], &parts[1]};
    size_t workers = v->everywhere ? 2 : 1;
    struct lk_buf got = {0};
    for (size_t i = 0; i < workers; i++) {
        const struct lk_show_hosts hosts = {i == 0 ? first : second, tell_hosts};
        lk_view_collect(v, &parts[i], &(struct lk_show){.core = &w->core, .hosts = &hosts, .now = NOW});
    }
    lk_view_answer(v, &answer, tables, workers);
    for (size_t row = 0; row < answer.row_count; row++)
        for (size_t c = 0; c < answer.column_count; c++)
            lk_buf_add_format(&got, "%s%s", lk_table_cell(&answer, row, c), c + 1 < answer.column_count ? "|" : "\n");
    lk_buf_add_u8(&got, 0);
    assert_string_equal((const char *)got.data, wanted);
    lk_buf_clear(&got);
    lk_table_clear(&answer);
    for (size_t i = 0; i < workers; i++)
        lk_table_clear(&parts[i]);
}

static void
names_of_hosts_are_shown_once_with_what_was_found(void **state)
{
    struct world *w = world_new(0);
    assert_rows("DNS_HOSTS", w,
        "db1.shop.example|14|10.0.0.1,fe80::1\ndb2.shop.example|0|\nlocalhost|1|127.0.0.1\na.example|0|\n");
    world_free(w);
}

static void
zones_count_the_names_in_them_once(void **state)
{
    struct world *w = world_new(0);
    assert_rows("DNS_ZONES", w, "shop.example|0|2\nexample|0|1\n");
    world_free(w);
}

static void
lists_counts_names_zones_and_those_being_asked_for(void **state)
{
    struct world *w = world_new(0);
    const struct lk_show_hosts hosts = {first, tell_hosts};
    struct lk_show_host_counts counts =
        lk_show_count_hosts(&(struct lk_show){.core = &w->core, .hosts = &hosts, .now = NOW});
    assert_int_equal(counts.names, 3);
    assert_int_equal(counts.zones, 1);
    assert_int_equal(counts.asking, 1);
    world_free(w);
}

static void
peers_are_those_of_the_settings(void **state)
{
    struct world *w = world_new(0);
    struct lk_peer_settings peers[] = {{1, (char[]){"10.0.0.6"}, 6432, 3}, {2, (char[]){"/run/two"}, 5432, -1}};
    w->settings.peers = peers;
    w->settings.peer_count = 2;
    assert_rows("PEERS", w, "1|10.0.0.6|6432|3\n2|/run/two|5432|20\n");
    assert_rows("PEER_POOLS", w, "1|0|0|0|0\n2|0|0|0|0\n");
    world_free(w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_hosts_are_shown_once_with_what_was_found),
        cmocka_unit_test(zones_count_the_names_in_them_once),
        cmocka_unit_test(lists_counts_names_zones_and_those_being_asked_for),
        cmocka_unit_test(peers_are_those_of_the_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
