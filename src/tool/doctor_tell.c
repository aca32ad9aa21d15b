#include "tool/doctor_tell.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "journal/utf8.h"

#define TEXT_MAX 2000

static const char *const words[LK_DOCTOR_LEVELS] = {"ok", "warn", "FAIL"};

/* One line of valid UTF-8: also a server's message, which may hold anything. */
static void
add_text(struct lk_buf *b, const char *format, va_list args)
{
    char text[TEXT_MAX];
    int n = vsnprintf(text, sizeof(text), format, args);
    size_t length = n < 0 ? 0 : (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            text[i] = ' ';
    lk_utf8_repair(lk_span_make(text, length), SIZE_MAX, b);
}

static void
print_json(const struct lk_doctor_tell *t)
{
    json_t *o = json_object();
    (void)json_object_set_new(o, "level", json_string(words[t->level]));
    (void)json_object_set_new(o, "database", t->subject[0] ? json_string(t->subject) : json_null());
    (void)json_object_set_new(o, "what", json_stringn((const char *)t->what.data, t->what.len));
    (void)json_object_set_new(
        o, "mend", t->mend.len > 0 ? json_stringn((const char *)t->mend.data, t->mend.len) : json_null());
    (void)json_dumpf(o, stdout, JSON_COMPACT);
    (void)putchar('\n');
    json_decref(o);
}

void
lk_doctor_flush(struct lk_doctor_tell *t)
{
    if (!t->pending)
        return;
    if (t->json) {
        print_json(t);
    } else {
        (void)printf("%-4s  %s%s%.*s\n", words[t->level], t->subject, t->subject[0] ? ": " : "", (int)t->what.len,
            (const char *)t->what.data);
        if (t->mend.len > 0)
            (void)printf("      mend: %.*s\n", (int)t->mend.len, (const char *)t->mend.data);
    }
    (void)fflush(stdout);
    lk_buf_clear(&t->what);
    lk_buf_clear(&t->mend);
    t->pending = false;
}

void
lk_doctor_say(struct lk_doctor_tell *t, enum lk_doctor_level level, const char *format, ...)
{
    va_list args;
    lk_doctor_flush(t);
    t->pending = true;
    t->level = level;
    t->counts[level]++;
    va_start(args, format);
    add_text(&t->what, format, args);
    va_end(args);
}

void
lk_doctor_mend(struct lk_doctor_tell *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_text(&t->mend, format, args);
    va_end(args);
}
