/* The key-value pairs that frameworks put into a statement's comments: sqlcommenter (key='url%20encoded',…, its
 * specification at google.github.io/sqlcommenter/spec) and marginalia (key:value,…). */
#ifndef LK_JOURNAL_TAGS_H
#define LK_JOURNAL_TAGS_H

#include "base/span.h"

#define LK_TAGS_MAX 32u
#define LK_TAG_KEY_MAX 64u
#define LK_TAG_VALUE_MAX 256u

struct lk_tag {
    char key[LK_TAG_KEY_MAX + 1];    /* ASCII without white space; not empty */
    uint8_t value[LK_TAG_VALUE_MAX]; /* any bytes, cut at its room */
    size_t value_n;
};

/* The pairs of all block comments, in their order, the first of each key; a comment that is not wholly of pairs gives
 * none. Returns how many. */
size_t lk_tags_read(struct lk_span sql, struct lk_tag tags[LK_TAGS_MAX]);

#endif
