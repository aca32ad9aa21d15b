/* Prints the tables of options for docs/tools/generate.py: one option a line, fields separated by tabs, "-" for what is
 * not there. section, name, alias, type, default, flags, least, most, words, refused words, note, help. */
#include <inttypes.h>
#include <stdio.h>

#include "config/entry.h"

static const char *const types[] = {
    [LK_OPTION_STRING] = "text",
    [LK_OPTION_INT] = "number",
    [LK_OPTION_BOOL] = "switch",
    [LK_OPTION_SWITCH] = "switch",
    [LK_OPTION_TIME] = "seconds",
    [LK_OPTION_SIZE] = "bytes",
    [LK_OPTION_ENUM] = "text",
    [LK_OPTION_OCTAL] = "octal",
};

static const char *
or_dash(const char *s)
{
    return s ? s : "-";
}

static void
print_option(const char *section, const struct lk_option *o)
{
    printf("%s\t%s\t%s\t%s\t%s\t", section, o->name, or_dash(o->alias), types[o->type], or_dash(o->initial));
    if (o->flags & LK_OPTION_RESTART)
        printf("restart ");
    if (o->flags & LK_OPTION_INERT)
        printf("inert ");
    if (o->flags & LK_OPTION_LOCKS)
        printf("locks ");
    printf("\t%" PRId64 "\t%" PRId64 "\t", o->least, o->most);
    if (!o->words)
        printf("-");
    for (const char *const *w = o->words; w && *w; w++)
        printf("%s%s", w == o->words ? "" : "|", *w);
    printf("\t%s\t%s\t%s\n", or_dash(o->refused), or_dash(o->note), o->help);
}

static void
print_table(const char *section, const struct lk_option *table, size_t count)
{
    for (size_t i = 0; i < count; i++)
        print_option(section, &table[i]);
}

int
main(void)
{
    print_table("lockkeeper", lk_options, lk_option_count);
    print_table("databases", lk_database_options, lk_database_option_count);
    print_table("users", lk_user_options, lk_user_option_count);
    print_table("peers", lk_peer_options, lk_peer_option_count);
    return ferror(stdout) != 0;
}
