#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

void
lk_error_set(struct lk_error *e, const char *sqlstate, const char *format, ...)
{
    *e = (struct lk_error){0};
    (void)snprintf(e->sqlstate, sizeof(e->sqlstate), "%s", sqlstate);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(e->message, sizeof(e->message), format, args);
    va_end(args);
}

void
lk_error_detail(struct lk_error *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(e->detail, sizeof(e->detail), format, args);
    va_end(args);
}

void
lk_error_hint(struct lk_error *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(e->hint, sizeof(e->hint), format, args);
    va_end(args);
}
