/* The gate: does a text deserve a parse? Case-insensitive "advisory", or U&". (Those with the word EXECUTE do, too:
 * sql/fingerprint.h.) */
#ifndef LK_SQL_GATE_H
#define LK_SQL_GATE_H

#include "base/span.h"

bool lk_gate(struct lk_span sql);

/* Is this name of PostgreSQL's client encodings ASCII-safe? UTF8, LATIN…, SQL_ASCII, EUC_… are; SJIS, BIG5, GBK, UHC,
 * GB18030, JOHAB, SHIFT_JIS_2004 are not. Any case, with or without dashes. */
bool lk_encoding_ascii_safe(struct lk_span name);

#endif
