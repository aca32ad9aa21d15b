#include "config/option.h"

#include <inttypes.h>

#include "config/entry.h"

static void
print_words(const struct lk_option *o, FILE *out)
{
    const char *between = "";
    for (const char *const *w = o->words; *w; w++) {
        if (o->refused && lk_settings_list_has(o->refused, *w))
            continue;
        fprintf(out, "%s%s", between, *w);
        between = "|";
    }
}

static void
print_kind(const struct lk_option *o, FILE *out)
{
    if (o->words) {
        print_words(o, out);
        return;
    }
    switch (o->type) {
    case LK_OPTION_INT:
        fprintf(out, "%" PRId64 "..", o->least);
        if (o->most < INT32_MAX)
            fprintf(out, "%" PRId64, o->most);
        return;
    case LK_OPTION_BOOL:
    case LK_OPTION_SWITCH:
        fputs("0|1", out);
        return;
    case LK_OPTION_TIME:
        fputs("seconds", out);
        return;
    case LK_OPTION_SIZE:
        fputs("bytes", out);
        return;
    case LK_OPTION_OCTAL:
        fputs("octal", out);
        return;
    case LK_OPTION_STRING:
    case LK_OPTION_ENUM:
        fputs("text", out);
        return;
    }
}

static void
print_table(const char *title, const struct lk_option *table, size_t count, FILE *out)
{
    fprintf(out, "%s\n", title);
    for (size_t i = 0; i < count; i++) {
        const struct lk_option *o = &table[i];
        fprintf(out, "  %s (", o->name);
        print_kind(o, out);
        if (o->initial && *o->initial)
            fprintf(out, "; default %s", o->initial);
        fputc(')', out);
        if (o->alias)
            fprintf(out, " or %s", o->alias);
        fprintf(out, "\n      %s%s%s\n", o->help, o->flags & LK_OPTION_RESTART ? "; takes a restart" : "",
            o->flags & LK_OPTION_INERT && !o->note ? "; no effect in this version" : "");
    }
}

void
lk_option_help(FILE *out)
{
    print_table("[lockkeeper] (or [pgbouncer])", lk_options, lk_option_count, out);
    print_table("[databases]  NAME = KEY=VALUE ...", lk_database_options, lk_database_option_count, out);
    print_table("[users]  NAME = KEY=VALUE ...", lk_user_options, lk_user_option_count, out);
    print_table("[peers]  ID = KEY=VALUE ...", lk_peer_options, lk_peer_option_count, out);
    fputs("[advisory_names]  KEY = NAME, where KEY is 42, or 1001,7, or 1001,*\n", out);
}
