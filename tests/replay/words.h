/* The words of a scenario's line: bare words, "quoted texts", and brackets. */
#ifndef LK_TESTS_REPLAY_WORDS_H
#define LK_TESTS_REPLAY_WORDS_H

#include "base/buf.h"

#define WORDS_MAX 256

struct word {
    char kind; /* 'w' bare, 's' quoted, '[' or ']' */
    char *text; /* NUL-terminated, owned by the words */
};

struct words {
    struct word items[WORDS_MAX];
    size_t count;
};

/* Cuts a text into words; "ab"*3 is "ababab". False: it can't be read. Clear it either way. */
bool words_read(struct words *w, const char *text);
void words_clear(struct words *w);
/* Do they say the same? `*` stands for any word and ** for any number of them; words that `expected` leaves off at its end
 * are not compared. */
bool words_match(const struct words *expected, const struct words *is);
/* The next part of a line of parts with " ; " between them, without the space around it; false at the end. Changes the
 * line in place. */
bool words_next_part(char **line, char **part);
/* A text in quotes, as words_read takes it. */
void words_quote(struct lk_buf *out, struct lk_span text);

#endif
