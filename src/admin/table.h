/* A table of text cells: what a SHOW command answers with, and what workers hand each other to make it. Rows are
 * bounded in bytes; what comes beyond is left out and `cut` says so. Not thread-safe: it belongs to who holds it. */
#ifndef LK_ADMIN_TABLE_H
#define LK_ADMIN_TABLE_H

#include "wire/build.h"

/* How a column of equal rows is put together (lk_table_merge). A table without a KEY column keeps all its rows. */
enum lk_merge { LK_MERGE_KEEP, LK_MERGE_KEY, LK_MERGE_ADD, LK_MERGE_MAX };

struct lk_column {
    const char *name;
    uint32_t type; /* OID: LK_COLUMN_… */
    enum lk_merge merge;
};

#define LK_COLUMN_TEXT 25u
#define LK_COLUMN_INT4 23u
#define LK_COLUMN_INT8 20u
#define LK_COLUMN_NUMERIC 1700u
#define LK_COLUMN_BOOL 16u
#define LK_COLUMN_BYTEA 17u

/* Columns of one table at most. */
#define LK_TABLE_COLUMNS 32u

/* Bytes of cells that one table holds at most. */
#define LK_TABLE_MAX (64u * 1024u * 1024u)

struct lk_table {
    const struct lk_column *columns; /* static */
    size_t column_count;
    size_t row_count;    /* whole rows */
    struct lk_buf bytes; /* the cells' strings, each with its NUL */
    struct lk_buf cells; /* size_t a cell: the offset of its string, or SIZE_MAX: NULL */
    bool cut;            /* rows were left out: no room */
};

void lk_table_init(struct lk_table *t, const struct lk_column *columns, size_t column_count);
void lk_table_clear(struct lk_table *t);

/* The next cell; the row is whole when it has as many as there are columns. NULL is NULL. */
void lk_table_add(struct lk_table *t, const char *value);
void lk_table_add_span(struct lk_table *t, struct lk_span value);
void lk_table_add_int(struct lk_table *t, int64_t value);
void lk_table_add_uint(struct lk_table *t, uint64_t value);

/* A cell of a whole row; valid until the next change of the table. */
const char *lk_table_cell(const struct lk_table *t, size_t row, size_t column);
/* The cell as a number; 0 for NULL and for what is none. */
uint64_t lk_table_uint(const struct lk_table *t, size_t row, size_t column);

/* Appends the rows of the tables, which have the same columns. Rows with equal KEY cells become one, in the place of
 * the first: ADD and MAX columns are numbers, KEEP stays as the first row had it. `t` must be empty. */
void lk_table_merge(struct lk_table *t, const struct lk_table *const *from, size_t count);
/* Orders rows by their first column. */
void lk_table_sort(struct lk_table *t);

/* RowDescription, DataRows, and a WARNING when rows were left out; out->failed: no memory. */
void lk_table_build(const struct lk_table *t, struct lk_buf *out);

#endif
