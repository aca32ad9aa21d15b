#include "admin/views.h"

static void
each_host(const struct lk_show *from, void (*host)(void *to, const struct lk_show_host *h), void *to)
{
    if (from->hosts)
        from->hosts->each(from->hosts->context, from->now, host, to);
}

static void
add_host(void *to, const struct lk_show_host *h)
{
    struct lk_table *t = to;
    lk_table_add(t, h->name);
    lk_table_add_int(t, h->left_us / LK_SECOND_US);
    lk_table_add(t, h->addresses);
}

void
lk_show_dns_hosts(struct lk_table *t, const struct lk_show *from)
{
    each_host(from, add_host, t);
}

/* "shop.example" of "db1.shop.example"; NULL: the name is in no zone. */
static const char *
zone_of(const char *name)
{
    const char *dot = strchr(name, '.');
    return dot && dot[1] ? dot + 1 : NULL;
}

static void
add_zone_host(void *to, const struct lk_show_host *h)
{
    const char *zone = zone_of(h->name);
    if (!zone)
        return;
    lk_table_add(to, zone);
    lk_table_add(to, h->name);
}

void
lk_show_zone_hosts(struct lk_table *t, const struct lk_show *from)
{
    each_host(from, add_zone_host, t);
}

/* How many rows are of the zone of that row; 0: an earlier row is, too. */
static size_t
count_zone(const struct lk_table *t, size_t row)
{
    const char *zone = lk_table_cell(t, row, 0);
    size_t count = 0;
    for (size_t i = 0; i < t->row_count; i++) {
        if (strcmp(lk_table_cell(t, i, 0), zone) != 0)
            continue;
        if (i < row)
            return 0;
        count++;
    }
    return count;
}

/* The serial numbers of zones are not asked for (dns_zone_check_period). */
void
lk_show_dns_zones_finish(struct lk_table *answer, const struct lk_table *merged)
{
    for (size_t row = 0; row < merged->row_count; row++) {
        size_t count = count_zone(merged, row);
        if (count == 0)
            continue;
        lk_table_add(answer, lk_table_cell(merged, row, 0));
        lk_table_add_uint(answer, 0);
        lk_table_add_uint(answer, count);
    }
}

static void
count_host(void *to, const struct lk_show_host *h)
{
    struct lk_show_host_counts *counts = to;
    counts->names++;
    counts->asking += h->asking;
}

struct lk_show_host_counts
lk_show_count_hosts(const struct lk_show *from)
{
    static const struct lk_column columns[] = {
        {"zonename", LK_COLUMN_TEXT, LK_MERGE_KEY}, {"hostname", LK_COLUMN_TEXT, LK_MERGE_KEY}};
    struct lk_show_host_counts counts = {0};
    struct lk_table zones;
    each_host(from, count_host, &counts);
    lk_table_init(&zones, columns, LK_COUNT(columns));
    lk_show_zone_hosts(&zones, from);
    for (size_t row = 0; row < zones.row_count; row++)
        counts.zones += count_zone(&zones, row) > 0;
    lk_table_clear(&zones);
    return counts;
}

void
lk_show_peers(struct lk_table *t, const struct lk_show *from)
{
    const struct lk_settings *s = from->core->settings;
    for (size_t i = 0; i < s->peer_count; i++) {
        const struct lk_peer_settings *p = &s->peers[i];
        lk_table_add_int(t, p->id);
        lk_table_add(t, p->host);
        lk_table_add_int(t, p->port);
        lk_table_add_int(t, p->pool_size >= 0 ? p->pool_size : s->default_pool_size);
    }
}

/* Nothing is sent to peers. */
void
lk_show_peer_pools(struct lk_table *t, const struct lk_show *from)
{
    const struct lk_settings *s = from->core->settings;
    for (size_t i = 0; i < s->peer_count; i++) {
        lk_table_add_int(t, s->peers[i].id);
        for (size_t c = 1; c < t->column_count; c++)
            lk_table_add_uint(t, 0);
    }
}
