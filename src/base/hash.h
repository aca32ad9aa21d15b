/* Keyed 64-bit hashing (SipHash-1-3 in shape), so that peers cannot choose colliding texts. */
#ifndef LK_BASE_HASH_H
#define LK_BASE_HASH_H

#include <stdint.h>

#include "base/span.h"

struct lk_hash_key {
    uint64_t k0, k1;
};

uint64_t lk_hash_bytes(const struct lk_hash_key *key, struct lk_span s);

#endif
