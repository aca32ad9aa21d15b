#include "admin/views.h"

/* The order of the members of struct lk_stats is that of the columns. */
enum { ASSIGNMENTS, TRANSACTIONS, QUERIES, TRANSACTION_TIME = 5, QUERY_TIME, WAIT_TIME, COUNTS = 11 };
_Static_assert(sizeof(struct lk_stats) == COUNTS * sizeof(uint64_t), "a column for each member");

static void
add_counts(struct lk_table *t, const struct lk_stats *stats)
{
    uint64_t counts[COUNTS];
    memcpy(counts, stats, sizeof counts);
    for (size_t i = 0; i < COUNTS; i++)
        lk_table_add_uint(t, counts[i]);
}

void
lk_show_stats(struct lk_table *t, const struct lk_show *from)
{
    LK_LIST_EACH (&from->core->pools, struct lk_pool, node, pool) {
        lk_table_add(t, pool->route.database);
        add_counts(t, &pool->stats);
        add_counts(t, &pool->average);
    }
}

static uint64_t
total(const struct lk_table *merged, size_t row, size_t i)
{
    return lk_table_uint(merged, row, 1 + i);
}

/* Counts and bytes are a second's; times are those of one transaction, query or assignment. */
static uint64_t
average(const struct lk_table *merged, size_t row, size_t i)
{
    static const size_t of[COUNTS] = {
        [TRANSACTION_TIME] = TRANSACTIONS, [QUERY_TIME] = QUERIES, [WAIT_TIME] = ASSIGNMENTS};
    uint64_t value = lk_table_uint(merged, row, 1 + COUNTS + i);
    if (i != TRANSACTION_TIME && i != QUERY_TIME && i != WAIT_TIME)
        return value;
    uint64_t count = lk_table_uint(merged, row, 1 + COUNTS + of[i]);
    return count > 0 ? value / count : 0;
}

typedef uint64_t value_fn(const struct lk_table *merged, size_t row, size_t i);

static void
add_values(struct lk_table *answer, const struct lk_table *merged, size_t row, value_fn *value)
{
    for (size_t i = 0; i < COUNTS; i++)
        lk_table_add_uint(answer, value(merged, row, i));
}

void
lk_show_stats_finish(struct lk_table *answer, const struct lk_table *merged)
{
    for (size_t row = 0; row < merged->row_count; row++) {
        lk_table_add(answer, lk_table_cell(merged, row, 0));
        add_values(answer, merged, row, total);
        add_values(answer, merged, row, average);
    }
}

void
lk_show_stats_totals_finish(struct lk_table *answer, const struct lk_table *merged)
{
    for (size_t row = 0; row < merged->row_count; row++) {
        lk_table_add(answer, lk_table_cell(merged, row, 0));
        add_values(answer, merged, row, total);
    }
}

void
lk_show_stats_averages_finish(struct lk_table *answer, const struct lk_table *merged)
{
    for (size_t row = 0; row < merged->row_count; row++) {
        lk_table_add(answer, lk_table_cell(merged, row, 0));
        add_values(answer, merged, row, average);
    }
}

/* The mean time over all databases is that of their sums: the averages are made after adding up. */
void
lk_show_totals_finish(struct lk_table *answer, const struct lk_table *merged)
{
    struct lk_table sum;
    lk_table_init(&sum, merged->columns, merged->column_count);
    lk_table_add(&sum, "");
    for (size_t c = 1; c < merged->column_count; c++) {
        uint64_t of_column = 0;
        for (size_t row = 0; row < merged->row_count; row++)
            of_column += lk_table_uint(merged, row, c);
        lk_table_add_uint(&sum, of_column);
    }
    for (size_t i = 0; i < 2 * COUNTS; i++) {
        lk_table_add(answer, merged->columns[1 + i].name);
        lk_table_add_uint(answer, i < COUNTS ? total(&sum, 0, i) : average(&sum, 0, i - COUNTS));
    }
    lk_table_clear(&sum);
}
