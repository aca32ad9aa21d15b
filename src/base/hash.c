#include "base/hash.h"

#define ROTL(x, b) (((x) << (b)) | ((x) >> (64 - (b))))

struct sip {
    uint64_t v0, v1, v2, v3;
};

static inline void
sip_round(struct sip *s)
{
    s->v0 += s->v1;
    s->v1 = ROTL(s->v1, 13);
    s->v1 ^= s->v0;
    s->v0 = ROTL(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = ROTL(s->v3, 16);
    s->v3 ^= s->v2;
    s->v0 += s->v3;
    s->v3 = ROTL(s->v3, 21);
    s->v3 ^= s->v0;
    s->v2 += s->v1;
    s->v1 = ROTL(s->v1, 17);
    s->v1 ^= s->v2;
    s->v2 = ROTL(s->v2, 32);
}

static inline uint64_t
load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

uint64_t
lk_hash_bytes(const struct lk_hash_key *key, struct lk_span in)
{
    struct sip s = {key->k0 ^ 0x736f6d6570736575ULL, key->k1 ^ 0x646f72616e646f6dULL, key->k0 ^ 0x6c7967656e657261ULL,
        key->k1 ^ 0x7465646279746573ULL};
    uint64_t tail = (uint64_t)in.n << 56;
    while (in.n >= 8) {
        uint64_t m = load64(in.p);
        s.v3 ^= m;
        sip_round(&s);
        s.v0 ^= m;
        in = lk_span_skip(in, 8);
    }
    for (size_t i = 0; i < in.n; i++)
        tail |= (uint64_t)in.p[i] << (8 * i);
    s.v3 ^= tail;
    sip_round(&s);
    s.v0 ^= tail;
    s.v2 ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
