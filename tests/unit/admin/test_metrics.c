#include "unit/admin/fake_core.h"

#include "admin/metrics.h"

static struct lk_buf
text_of(struct world *const *worlds, size_t count, const struct lk_metrics_process *process)
{
    struct lk_metrics parts[2];
    const struct lk_metrics *const of[] = {&parts[0], &parts[1]};
    struct lk_buf text = {0};
    for (size_t i = 0; i < count; i++)
        lk_metrics_collect(&parts[i], &(struct lk_show){.core = &worlds[i]->core, .now = NOW});
    lk_metrics_write(&text, of, count, process);
    for (size_t i = 0; i < count; i++)
        lk_metrics_clear(&parts[i]);
    assert_false(text.failed);
    lk_buf_add_u8(&text, 0);
    return text;
}

static void
assert_line(const struct lk_buf *text, const char *line)
{
    char whole[256];
    snprintf(whole, sizeof whole, "\n%s\n", line);
    if (!strstr((const char *)text->data, whole))
        fail_msg("no line %s in:\n%s", line, (const char *)text->data);
}

static void
figures_of_all_workers_are_added_up(void **state)
{
    struct world *worlds[] = {world_new(0), world_new(1)};
    for (size_t i = 0; i < 2; i++) {
        add_client(worlds[i], 1 + i, LK_CLIENT_READY, &worlds[i]->pools[0]);
        add_server(worlds[i], 5 + i, LK_SERVER_IDLE, &worlds[i]->pools[0], NULL);
        worlds[i]->pools[0].locks.leaks = 20 + i;
        worlds[i]->pools[0].locks.rejected = 1;
        lk_histogram_add(&worlds[i]->pools[0].locks.holds, 2500000);
        worlds[i]->pools[0].stats.wait_us = 1500000 + i;
    }
    struct lk_client *waiting = add_client(worlds[1], 9, LK_CLIENT_WAITING, &worlds[1]->pools[0]);
    waiting->place.since_us = NOW.mono_us - 2500000;
    struct lk_buf text = text_of(worlds, 2, &(struct lk_metrics_process){.max_client_conn = 77, .records_dropped = 3});
    const char *user = worlds[0]->pools[0].route.user;
    char line[200];
    snprintf(line, sizeof line, "lockkeeper_pools_client_active{database=\"sales\",user=\"%s\"} 2", user);
    assert_line(&text, line);
    snprintf(line, sizeof line, "lockkeeper_pools_server_idle{database=\"sales\",user=\"%s\"} 2", user);
    assert_line(&text, line);
    snprintf(line, sizeof line, "lockkeeper_pools_maxwait_seconds{database=\"sales\",user=\"%s\"} 2.500000", user);
    assert_line(&text, line);
    snprintf(line, sizeof line, "lockkeeper_advisory_leaks_total{database=\"sales\",user=\"%s\"} 41", user);
    assert_line(&text, line);
    static const char *const lines[] = {"rejected_total{%s} 2", "waiting{%s} 0", "hold_seconds_sum{%s} 5.000000",
        "hold_seconds_count{%s} 2", "hold_seconds_bucket{%s,le=\"0.001\"} 0", "hold_seconds_bucket{%s,le=\"1\"} 0",
        "hold_seconds_bucket{%s,le=\"10\"} 2", "hold_seconds_bucket{%s,le=\"3600\"} 2",
        "hold_seconds_bucket{%s,le=\"+Inf\"} 2"};
    for (size_t i = 0; i < LK_COUNT(lines); i++) {
        const char *at = strchr(lines[i], '%');
        snprintf(line, sizeof line, "lockkeeper_advisory_%.*sdatabase=\"sales\",user=\"%s\"%s", (int)(at - lines[i]), lines[i],
            user, at + 2);
        assert_line(&text, line);
    }
    assert_line(&text, "lockkeeper_stats_wait_seconds_total{database=\"sales\"} 3.000001");
    assert_line(&text, "lockkeeper_config_max_client_conn 77");
    assert_line(&text, "lockkeeper_advisory_records_dropped_total 3");
    assert_line(&text, "lockkeeper_clients 3");
    assert_line(&text, "lockkeeper_servers 2");
    lk_buf_clear(&text);
    world_free(worlds[0]);
    world_free(worlds[1]);
}

static void
names_are_escaped_repaired_and_cut(void **state)
{
    struct world *w = world_new(0);
    char *const kept = w->pools[0].route.database;
    char name[400] = "a\"b\\c\nd\xff" "e";
    memset(name + strlen(name), 'x', 300);
    w->pools[0].route.database = name;
    struct lk_buf text = text_of(&w, 1, &(struct lk_metrics_process){0});
    const char *found = strstr((const char *)text.data, "lockkeeper_stats_binds_total{database=\"a");
    assert_non_null(found);
    found = strchr(found, '"') + 1;
    static const char head[] = "a\\\"b\\\\c\\nd\xef\xbf\xbd" "exx";
    assert_memory_equal(found, head, sizeof head - 1);
    assert_memory_equal(strchr(found + 4, 'x') + LK_METRICS_NAME_MAX - 11, "\"} ", 3);
    lk_buf_clear(&text);
    w->pools[0].route.database = kept;
    world_free(w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_of_all_workers_are_added_up),
        cmocka_unit_test(names_are_escaped_repaired_and_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
