#include "admin/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <uthash.h>

#include "base/mem.h"

#define LK_TABLE_NULL SIZE_MAX

void
lk_table_init(struct lk_table *t, const struct lk_column *columns, size_t column_count)
{
    *t = (struct lk_table){.columns = columns, .column_count = column_count};
}

void
lk_table_clear(struct lk_table *t)
{
    lk_buf_clear(&t->bytes);
    lk_buf_clear(&t->cells);
    t->row_count = 0;
}

static size_t
offset_at(const struct lk_table *t, size_t cell)
{
    size_t offset;
    memcpy(&offset, t->cells.data + cell * sizeof offset, sizeof offset);
    return offset;
}

static size_t
cells_in(const struct lk_table *t)
{
    return t->cells.len / sizeof(size_t);
}

/* Appends the string and gives its offset; false: no room. */
static bool
store(struct lk_table *t, struct lk_span value, size_t *offset)
{
    if (t->bytes.len + value.n + 1 > LK_TABLE_MAX || !lk_buf_reserve(&t->bytes, value.n + 1))
        return false;
    *offset = t->bytes.len;
    lk_buf_add_span(&t->bytes, value);
    lk_buf_add_u8(&t->bytes, 0);
    return true;
}

/* Once cut a table takes no more, so that no row stands behind a missing one. */
static void
append(struct lk_table *t, const struct lk_span *value)
{
    if (t->cut)
        return;
    size_t offset = LK_TABLE_NULL;
    if ((value && !store(t, *value, &offset)) || !lk_buf_add(&t->cells, &offset, sizeof offset)) {
        t->cut = true;
        t->cells.len = t->row_count * t->column_count * sizeof offset;
        return;
    }
    if (cells_in(t) == (t->row_count + 1) * t->column_count)
        t->row_count++;
}

void
lk_table_add(struct lk_table *t, const char *value)
{
    struct lk_span span = value ? lk_span_str(value) : lk_span_make(NULL, 0);
    append(t, value ? &span : NULL);
}

void
lk_table_add_span(struct lk_table *t, struct lk_span value)
{
    append(t, &value);
}

void
lk_table_add_int(struct lk_table *t, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    lk_table_add(t, text);
}

void
lk_table_add_uint(struct lk_table *t, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    lk_table_add(t, text);
}

const char *
lk_table_cell(const struct lk_table *t, size_t row, size_t column)
{
    size_t offset = offset_at(t, row * t->column_count + column);
    return offset == LK_TABLE_NULL ? NULL : (const char *)t->bytes.data + offset;
}

uint64_t
lk_table_uint(const struct lk_table *t, size_t row, size_t column)
{
    const char *cell = lk_table_cell(t, row, column);
    return cell ? strtoull(cell, NULL, 10) : 0;
}

/* A row that has been put into the merged table, by its keys. */
struct entry {
    size_t row;
    struct lk_buf key;
    UT_hash_handle hh;
};

static void
key_of(const struct lk_table *t, size_t row, struct lk_buf *out)
{
    for (size_t c = 0; c < t->column_count; c++) {
        const char *cell = t->columns[c].merge == LK_MERGE_KEY ? lk_table_cell(t, row, c) : NULL;
        if (cell)
            lk_buf_add_cstr(out, cell);
    }
}

static void
combine(struct lk_table *t, size_t row, const struct lk_table *from, size_t from_row)
{
    for (size_t c = 0; c < t->column_count; c++) {
        enum lk_merge merge = t->columns[c].merge;
        if (merge != LK_MERGE_ADD && merge != LK_MERGE_MAX)
            continue;
        uint64_t a = lk_table_uint(t, row, c), b = lk_table_uint(from, from_row, c);
        uint64_t sum = merge == LK_MERGE_ADD ? a + b : a > b ? a : b;
        char text[24];
        snprintf(text, sizeof text, "%" PRIu64, sum);
        size_t offset;
        if (sum == a)
            continue;
        if (!store(t, lk_span_str(text), &offset)) {
            t->cut = true;
            return;
        }
        memcpy(t->cells.data + (row * t->column_count + c) * sizeof offset, &offset, sizeof offset);
    }
}

static void
copy_row(struct lk_table *t, const struct lk_table *from, size_t row)
{
    for (size_t c = 0; c < t->column_count; c++)
        lk_table_add(t, lk_table_cell(from, row, c));
}

static bool
has_keys(const struct lk_table *t)
{
    for (size_t c = 0; c < t->column_count; c++) {
        if (t->columns[c].merge == LK_MERGE_KEY)
            return true;
    }
    return false;
}

/* Puts the row into the table and its index; false: it is there already, as row *found. */
static bool
enter(struct entry **index, const struct lk_table *from, size_t from_row, size_t row, size_t *found)
{
    struct entry *entry = LK_NEW(struct entry);
    struct entry *known = NULL;
    key_of(from, from_row, &entry->key);
    if (!entry->key.failed)
        HASH_FIND(hh, *index, entry->key.data, entry->key.len, known);
    if (known || entry->key.failed) {
        *found = known ? known->row : SIZE_MAX;
        lk_buf_clear(&entry->key);
        free(entry);
        return known == NULL;
    }
    entry->row = row;
    HASH_ADD_KEYPTR(hh, *index, entry->key.data, entry->key.len, entry);
    return true;
}

void
lk_table_merge(struct lk_table *t, const struct lk_table *const *from, size_t count)
{
    bool keyed = has_keys(t);
    bool cut = false;
    struct entry *index = NULL;
    for (size_t i = 0; i < count; i++) {
        cut = cut || from[i]->cut;
        for (size_t row = 0; row < from[i]->row_count; row++) {
            size_t found;
            if (!keyed || enter(&index, from[i], row, t->row_count, &found))
                copy_row(t, from[i], row);
            else if (found < t->row_count)
                combine(t, found, from[i], row);
        }
    }
    t->cut = t->cut || cut;
    struct entry *entry, *next;
    HASH_ITER(hh, index, entry, next)
    {
        HASH_DEL(index, entry);
        lk_buf_clear(&entry->key);
        free(entry);
    }
}

/* The order of two rows by their first cells. */
static int
compare_rows(const void *a, const void *b, void *table)
{
    const struct lk_table *t = table;
    size_t offset_a, offset_b;
    memcpy(&offset_a, a, sizeof offset_a);
    memcpy(&offset_b, b, sizeof offset_b);
    const char *text = (const char *)t->bytes.data;
    return strcmp(offset_a == LK_TABLE_NULL ? "" : text + offset_a, offset_b == LK_TABLE_NULL ? "" : text + offset_b);
}

void
lk_table_sort(struct lk_table *t)
{
    if (t->row_count > 1)
        qsort_r(t->cells.data, t->row_count, t->column_count * sizeof(size_t), compare_rows, t);
}

static void
warn_of_cut(struct lk_buf *out)
{
    struct lk_error e;
    lk_error_set(&e, "01000", "the answer was cut: it is longer than %u MB", LK_TABLE_MAX >> 20);
    lk_build_error(out, "WARNING", &e, true);
}

void
lk_table_build(const struct lk_table *t, struct lk_buf *out)
{
    struct lk_build_column columns[LK_TABLE_COLUMNS];
    const char *values[LK_TABLE_COLUMNS];
    for (size_t c = 0; c < t->column_count; c++)
        columns[c] = (struct lk_build_column){t->columns[c].name, t->columns[c].type};
    lk_build_row_description(out, columns, t->column_count);
    for (size_t row = 0; row < t->row_count; row++) {
        for (size_t c = 0; c < t->column_count; c++)
            values[c] = lk_table_cell(t, row, c);
        lk_build_data_row(out, values, t->column_count);
    }
    if (t->cut)
        warn_of_cut(out);
}
