/* The gate: does a text deserve a parse? Case-insensitive "advisory", or U&", or EXECUTE as first word. Searching, too,
 * for texts that come in pieces. */
#ifndef LK_SQL_GATE_H
#define LK_SQL_GATE_H

#include "base/span.h"

bool lk_gate(struct lk_span sql);

/* A text that is forwarded as it comes: keeps the last bytes so that a word over a border is found. Zeroed at start.
 * Any split of a text gives what lk_gate says of the whole. */
struct lk_gate_window {
    uint8_t tail[16];
    uint8_t tail_n;
    bool hit;
    uint8_t state;   /* where the search for the first word is; private to gate.c */
    uint8_t matched; /* bytes of EXECUTE seen */
    uint32_t depth;  /* of nested comments before it */
};
void lk_gate_feed(struct lk_gate_window *w, struct lk_span piece);

/* Is this name of PostgreSQL's client encodings ASCII-safe? UTF8, LATIN…, SQL_ASCII, EUC_… are; SJIS, BIG5, GBK, UHC,
 * GB18030, JOHAB, SHIFT_JIS_2004 are not. Any case, with or without dashes. */
bool lk_encoding_ascii_safe(struct lk_span name);

#endif
