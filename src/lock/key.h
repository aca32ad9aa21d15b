/* The key of an advisory lock, as pg_locks shows it: classid, objid, objsubid. The two key spaces never meet. */
#ifndef LK_LOCK_KEY_H
#define LK_LOCK_KEY_H

#include <stdbool.h>
#include <stdint.h>

enum lk_space {
    LK_SPACE_NONE = 0, /* key unknown */
    LK_SPACE_BIGINT = 1,
    LK_SPACE_INT4PAIR = 2,
    LK_SPACE_OTHER = 3, /* an extension's (objsubid other than 1 and 2): shown raw, never a leak */
};

struct lk_key {
    uint32_t classid;
    uint32_t objid;
    uint32_t subid; /* 1 bigint, 2 pair; no padding in this struct, so that it can be hashed as bytes */
};

#define LK_KEY_TEXT 40

struct lk_key lk_key_bigint(int64_t key);
struct lk_key lk_key_pair(int32_t first, int32_t second);
enum lk_space lk_key_space(struct lk_key k);
bool lk_key_eq(struct lk_key a, struct lk_key b);
/* "9527", "-1", "1001,42" (signed); raw "classid,objid,subid" for other spaces. */
void lk_key_format(struct lk_key k, char out[LK_KEY_TEXT]);
/* "bigint", "int4pair", "other"; empty for NONE. */
const char *lk_space_name(enum lk_space s);

#endif
