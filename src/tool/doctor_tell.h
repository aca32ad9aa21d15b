/* What the doctor tells: findings, each on a line with what it is about, and below it what mends it; or one JSON object a
 * line. Goes to standard output. Texts of servers are cleaned of control characters. */
#ifndef LK_TOOL_DOCTOR_TELL_H
#define LK_TOOL_DOCTOR_TELL_H

#include "base/buf.h"

enum lk_doctor_level { LK_DOCTOR_OK, LK_DOCTOR_WARN, LK_DOCTOR_FAIL, LK_DOCTOR_LEVELS };

struct lk_doctor_tell {
    bool json;
    const char *subject; /* the database; "" for what concerns all. Borrowed */
    /* the finding that is not printed yet */
    bool pending;
    enum lk_doctor_level level;
    struct lk_buf what, mend;
    unsigned counts[LK_DOCTOR_LEVELS];
};

/* The next finding. */
void lk_doctor_say(struct lk_doctor_tell *t, enum lk_doctor_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What mends the finding that was said last. */
void lk_doctor_mend(struct lk_doctor_tell *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints what is pending: before the subject changes, and at the end. */
void lk_doctor_flush(struct lk_doctor_tell *t);

#endif
