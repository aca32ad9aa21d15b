/* What went wrong, for a peer: the fields of an ErrorResponse. Held by value, texts are cut at their room. */
#ifndef LK_BASE_ERROR_H
#define LK_BASE_ERROR_H

struct lk_error {
    char sqlstate[6];
    char message[320];
    char detail[320]; /* empty: none */
    char hint[320];   /* empty: none */
};

/* Sets SQLSTATE and message and empties detail and hint. */
void lk_error_set(struct lk_error *e, const char *sqlstate, const char *format, ...) __attribute__((format(printf, 3, 4)));
void lk_error_detail(struct lk_error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lk_error_hint(struct lk_error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
