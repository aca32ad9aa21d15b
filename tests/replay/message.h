/* Messages of the protocol as words, both ways: `Parse "s1" "select $1"`, `DataRow ["t" null]`, `ErrorResponse ERROR 57014
 * "canceling statement"`. See README.md for the words of each. */
#ifndef LK_TESTS_REPLAY_MESSAGE_H
#define LK_TESTS_REPLAY_MESSAGE_H

#include "words.h"

/* Who says it. */
enum way { FROM_CLIENT, FROM_SERVER };

/* Appends the message's bytes. False: there is no such message. */
bool message_build(struct lk_buf *out, enum way way, const struct words *words);
/* Appends the words of a frame, without a NUL. */
void message_tell(struct lk_buf *out, enum way way, uint8_t type, struct lk_span body);

#endif
