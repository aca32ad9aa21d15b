/* Which fields the records of an event have, besides the common keys, client and backend (docs/advisory-locks.md). One
 * table for both forms of the leak log. */
#ifndef LK_JOURNAL_FIELDS_H
#define LK_JOURNAL_FIELDS_H

#include "lock/record.h"

enum lk_field {
    LK_FIELD_LOCK = 1 << 0, /* only where the record has one */
    LK_FIELD_HELD = 1 << 1,
    LK_FIELD_ACQUIRED = 1 << 2,
    LK_FIELD_QUERY = 1 << 3, /* and the fingerprint */
    LK_FIELD_TAGS = 1 << 4,
    LK_FIELD_SOURCE = 1 << 5,
    LK_FIELD_REASON = 1 << 6,
    LK_FIELD_ACTION = 1 << 7,
    LK_FIELD_OMITTED = 1 << 8,
    LK_FIELD_WAITED = 1 << 9,
    LK_FIELD_HOLDER = 1 << 10,
    LK_FIELD_POOL = 1 << 11,
    LK_FIELD_WAITS = 1 << 12,
    LK_FIELD_LINT = 1 << 13,
};

/* Names and addresses are cut, too: a client may send any length. */
#define LK_FIELD_NAME_MAX 1024u

/* A set of enum lk_field. */
unsigned lk_fields_of(enum lk_event e);

#endif
