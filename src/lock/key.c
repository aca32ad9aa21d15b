#include "lock/key.h"

#include <inttypes.h>
#include <stdio.h>

#define SUBID_BIGINT 1u
#define SUBID_PAIR 2u

struct lk_key
lk_key_bigint(int64_t key)
{
    uint64_t bits = (uint64_t)key;
    return (struct lk_key){.classid = (uint32_t)(bits >> 32), .objid = (uint32_t)bits, .subid = SUBID_BIGINT};
}

struct lk_key
lk_key_pair(int32_t first, int32_t second)
{
    return (struct lk_key){.classid = (uint32_t)first, .objid = (uint32_t)second, .subid = SUBID_PAIR};
}

enum lk_space
lk_key_space(struct lk_key k)
{
    switch (k.subid) {
    case SUBID_BIGINT:
        return LK_SPACE_BIGINT;
    case SUBID_PAIR:
        return LK_SPACE_INT4PAIR;
    default:
        return LK_SPACE_OTHER;
    }
}

bool
lk_key_eq(struct lk_key a, struct lk_key b)
{
    return a.objid == b.objid && a.classid == b.classid && a.subid == b.subid;
}

void
lk_key_format(struct lk_key k, char out[LK_KEY_TEXT])
{
    switch (lk_key_space(k)) {
    case LK_SPACE_BIGINT:
        (void)snprintf(out, LK_KEY_TEXT, "%" PRId64, (int64_t)((uint64_t)k.classid << 32 | k.objid));
        break;
    case LK_SPACE_INT4PAIR:
        (void)snprintf(out, LK_KEY_TEXT, "%" PRId32 ",%" PRId32, (int32_t)k.classid, (int32_t)k.objid);
        break;
    case LK_SPACE_OTHER:
    case LK_SPACE_NONE:
        (void)snprintf(out, LK_KEY_TEXT, "%" PRIu32 ",%" PRIu32 ",%" PRIu32, k.classid, k.objid, k.subid);
        break;
    }
}

const char *
lk_space_name(enum lk_space s)
{
    static const char *const names[] = {
        [LK_SPACE_NONE] = "",
        [LK_SPACE_BIGINT] = "bigint",
        [LK_SPACE_INT4PAIR] = "int4pair",
        [LK_SPACE_OTHER] = "other",
    };
    return names[s];
}
