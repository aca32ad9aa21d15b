/* What the fuzz targets share. A target is one file with LLVMFuzzerTestOneInput: libFuzzer calls it in `make fuzz`,
 * replay.c with the files of corpus/<target> in `make check`. Whatever the bytes are, it must come back: MUST holds,
 * the sanitizers find nothing, and nothing is kept from one call to the next but what is the same for all of them. */
#ifndef LK_TESTS_FUZZ_FUZZ_H
#define LK_TESTS_FUZZ_FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#include "base/span.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            (void)fprintf(stderr, "%s:%d: must hold: %s\n", __FILE__, __LINE__, #condition);                           \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* The next byte of the input; 0 at its end. */
static inline uint8_t
fuzz_u8(struct lk_span *in)
{
    uint8_t v = 0;
    if (in->n > 0) {
        v = in->p[0];
        *in = lk_span_skip(*in, 1);
    }
    return v;
}

/* At most n bytes of the input. */
static inline struct lk_span
fuzz_bytes(struct lk_span *in, size_t n)
{
    struct lk_span taken = lk_span_head(*in, n < in->n ? n : in->n);
    *in = lk_span_skip(*in, taken.n);
    return taken;
}

/* Up to the next byte of that value, which is passed over; to the end when there is none. */
static inline struct lk_span
fuzz_until(struct lk_span *in, uint8_t end)
{
    const uint8_t *at = in->n > 0 ? memchr(in->p, end, in->n) : NULL;
    struct lk_span taken = lk_span_head(*in, at ? (size_t)(at - in->p) : in->n);
    *in = lk_span_skip(*in, taken.n + (at ? 1 : 0));
    return taken;
}

/* Does the part lie in the whole? An empty one without an address does. */
static inline bool
fuzz_inside(struct lk_span whole, struct lk_span part)
{
    return (!part.p && part.n == 0) ||
           (part.p >= whole.p && part.p <= whole.p + whole.n && part.n <= (size_t)(whole.p + whole.n - part.p));
}

#endif
