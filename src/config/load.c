#include "config/settings.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/mem.h"
#include "config/check.h"
#include "config/entry.h"
#include "config/ini.h"
#include "config/snapshot.h"

#define MISTAKES_MOST 1000

enum section {
    SECTION_NONE,
    SECTION_UNKNOWN,
    SECTION_LOCKKEEPER,
    SECTION_PGBOUNCER,
    SECTION_DATABASES,
    SECTION_USERS,
    SECTION_PEERS,
    SECTION_NAMES,
};

static const struct {
    const char *name;
    enum section section;
    bool in_locks_file;
} sections[] = {
    {"lockkeeper", SECTION_LOCKKEEPER, true},
    {"pgbouncer", SECTION_PGBOUNCER, false},
    {"databases", SECTION_DATABASES, true},
    {"users", SECTION_USERS, true},
    {"peers", SECTION_PEERS, false},
    {"advisory_names", SECTION_NAMES, true},
};

/* Where something was said last. line 0: nowhere. */
struct mark {
    const char *file;
    int line;
    enum section section;
    bool locks_file;
};

struct marks {
    struct mark *items;
    size_t count;
};

struct loader {
    struct lk_settings *s, *defaults;
    struct lk_buf *errors, *warnings;
    size_t error_count, warning_count;
    bool locks_file; /* being read: NAME.locks.ini, or what it includes */
    enum section section;
    bool peers_told;
    struct mark main_section;             /* its first heading */
    struct mark *options;                 /* by index of lk_options */
    struct marks databases, users, names; /* by index in s */
    char **files;                         /* names that marks point to */
    size_t file_count;
};

static void
add_line(struct lk_buf *to, const char *file, int line, const char *format, va_list args)
{
    size_t start = to->len;
    char what[1024];
    vsnprintf(what, sizeof(what), format, args);
    if (line > 0)
        lk_buf_add_format(to, "%s:%d: %s", file, line, what);
    else
        lk_buf_add_format(to, "%s: %s", file, what);
    for (size_t i = start; i < to->len; i++)
        if (to->data[i] < ' ' || to->data[i] == 0x7f)
            to->data[i] = '?';
    lk_buf_add_u8(to, '\n');
}

static void mistake(struct loader *l, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void warn(struct loader *l, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void
mistake(struct loader *l, const char *file, int line, const char *format, ...)
{
    if (l->error_count++ >= MISTAKES_MOST)
        return;
    va_list args;
    va_start(args, format);
    add_line(l->errors, file, line, format, args);
    va_end(args);
}

static void
warn(struct loader *l, const char *file, int line, const char *format, ...)
{
    if (l->warning_count++ >= MISTAKES_MOST)
        return;
    va_list args;
    va_start(args, format);
    add_line(l->warnings, file, line, format, args);
    va_end(args);
}

/* A copy of a file's name that lives as long as the loader. */
static const char *
keep_name(struct loader *l, const char *file)
{
    for (size_t i = 0; i < l->file_count; i++)
        if (strcmp(l->files[i], file) == 0)
            return l->files[i];
    l->files = lk_mem_grow(l->files, (l->file_count + 1) * sizeof(*l->files));
    return l->files[l->file_count++] = lk_mem_dup(file);
}

static struct mark
mark_here(struct loader *l, const struct lk_ini_line *line)
{
    return (struct mark){
        .file = keep_name(l, line->file), .line = line->line, .section = l->section, .locks_file = l->locks_file};
}

static void
set_mark(struct marks *m, size_t index, struct mark mark)
{
    if (index >= m->count) {
        m->items = lk_mem_grow(m->items, (index + 1) * sizeof(*m->items));
        m->count = index + 1;
    }
    m->items[index] = mark;
}

static void
unknown(struct loader *l, const struct lk_ini_line *line, const char *what, const char *name,
    const struct lk_option *table, size_t count)
{
    const char *near = lk_option_nearest(table, count, name);
    if (near)
        mistake(l, line->file, line->line, "unknown %s \"%.60s\"; did you mean %s?", what, name, near);
    else
        mistake(l, line->file, line->line, "unknown %s \"%.60s\"", what, name);
}

/* Parses into an option's or key's place and tells what is wrong. */
static bool
parse(struct loader *l, const struct lk_ini_line *line, const struct lk_option *o, const char *value, void *at)
{
    struct lk_buf why = {0};
    bool ok = lk_option_parse(o, value, at, &why);
    if (!ok && (o->flags & LK_OPTION_SECRET))
        mistake(l, line->file, line->line, "%s: %.*s", o->name, (int)why.len, (const char *)why.data);
    else if (!ok)
        mistake(
            l, line->file, line->line, "%s = \"%.100s\": %.*s", o->name, value, (int)why.len, (const char *)why.data);
    lk_buf_clear(&why);
    return ok;
}

static void
warn_inert(struct loader *l, const struct lk_ini_line *line, const struct lk_option *o, const char *value)
{
    warn(l, line->file, line->line, "%s = %.100s: %s", o->name, value,
        o->note ? o->note : "has no effect in this version");
}

/* Tells if the setting was said before. */
static void
judge_repeated(struct loader *l, const struct lk_ini_line *line, const struct lk_option *o, const struct mark *before)
{
    if (before->line == 0)
        return;
    if (before->locks_file != l->locks_file)
        mistake(l, line->file, line->line, "%s stands at %s:%d too; only one of the files may hold it", o->name,
            before->file, before->line);
    else if (before->section != l->section)
        mistake(l, line->file, line->line, "%s stands at %s:%d too; [lockkeeper] and [pgbouncer] are one section",
            o->name, before->file, before->line);
    else
        warn(l, line->file, line->line, "%s stands at %s:%d too; the last one counts", o->name, before->file,
            before->line);
}

static void
on_setting(struct loader *l, const struct lk_ini_line *line)
{
    const struct lk_option *o = lk_option_find(line->name);
    if (!o) {
        unknown(l, line, "setting", line->name, lk_options, lk_option_count);
        return;
    }
    if (l->locks_file && !(o->flags & LK_OPTION_LOCKS)) {
        mistake(l, line->file, line->line, "%s belongs into %s: only what PgBouncer lacks may stand here", o->name,
            l->s->path);
        return;
    }
    size_t i = (size_t)(o - lk_options);
    judge_repeated(l, line, o, &l->options[i]);
    l->options[i] = mark_here(l, line);
    if (!parse(l, line, o, line->value, (char *)l->s + o->offset))
        return;
    l->s->given[i] = true;
    if ((o->flags & LK_OPTION_INERT) && !lk_option_same(o, l->s, l->defaults))
        warn_inert(l, line, o, line->value);
}

/* Of a host list only the first is used. */
static void
cut_host_list(struct loader *l, const struct lk_ini_line *line, char *host)
{
    char *comma = strchr(host, ',');
    if (!comma)
        return;
    *comma = '\0';
    warn(l, line->file, line->line, "host: this version uses only the first of the list, %.200s", host);
}

static void
on_pair(struct loader *l, const struct lk_ini_line *line, const struct lk_option *o, const char *value, void *entry)
{
    if (l->locks_file && !(o->flags & LK_OPTION_LOCKS)) {
        mistake(l, line->file, line->line, "%s belongs into %s: only what PgBouncer lacks may stand here", o->name,
            l->s->path);
        return;
    }
    if (l->locks_file && !lk_entry_unset(o, entry)) {
        mistake(l, line->file, line->line, "%s is already set for this name; only one place may set it", o->name);
        return;
    }
    if (!parse(l, line, o, value, (char *)entry + o->offset))
        return;
    if ((o->flags & LK_OPTION_INERT) && !(o->initial && strcasecmp(value, o->initial) == 0))
        warn_inert(l, line, o, value);
    if (strcmp(o->name, "host") == 0)
        cut_host_list(l, line, *(char **)(void *)((char *)entry + o->offset));
}

static void
on_entry(struct loader *l, const struct lk_ini_line *line, const struct lk_option *table, size_t count, void *entry)
{
    char *cursor = line->value, *key, *value;
    const char *why = NULL;
    int found;
    while ((found = lk_entry_next(&cursor, &key, &value, &why)) > 0) {
        const struct lk_option *o = lk_option_find_in(table, count, key);
        if (o)
            on_pair(l, line, o, value, entry);
        else
            unknown(l, line, "key", key, table, count);
    }
    if (found < 0)
        mistake(l, line->file, line->line, "%.64s: %s", line->name, why);
}

static void
warn_repeated(struct loader *l, const struct lk_ini_line *line, const struct mark *before)
{
    warn(l, line->file, line->line, "%.64s stands at %s:%d too; the last one counts", line->name, before->file,
        before->line);
}

static void
on_database(struct loader *l, const struct lk_ini_line *line)
{
    if (strcmp(line->name, "pgbouncer") == 0 || strcmp(line->name, "lockkeeper") == 0) {
        mistake(l, line->file, line->line, "%s is the console's name and can't be a database's", line->name);
        return;
    }
    struct lk_database_settings *d = lk_snapshot_database(l->s, line->name);
    if (l->locks_file && !d) {
        mistake(l, line->file, line->line, "there is no database %.64s in %s", line->name, l->s->path);
        return;
    }
    if (!l->locks_file) {
        if (d) {
            warn_repeated(l, line, &l->databases.items[d - l->s->databases]);
            lk_entry_clear(d, lk_database_options, lk_database_option_count);
            lk_entry_init(d, lk_database_options, lk_database_option_count);
        } else {
            d = lk_snapshot_add_database(l->s, line->name);
        }
        set_mark(&l->databases, (size_t)(d - l->s->databases), mark_here(l, line));
    }
    on_entry(l, line, lk_database_options, lk_database_option_count, d);
}

static void
on_user(struct loader *l, const struct lk_ini_line *line)
{
    struct lk_user_settings *u = lk_snapshot_user(l->s, line->name);
    if (l->locks_file && !u) {
        mistake(l, line->file, line->line, "there is no user %.64s in %s", line->name, l->s->path);
        return;
    }
    if (!l->locks_file) {
        if (u) {
            warn_repeated(l, line, &l->users.items[u - l->s->users]);
            lk_entry_clear(u, lk_user_options, lk_user_option_count);
            lk_entry_init(u, lk_user_options, lk_user_option_count);
        } else {
            u = lk_snapshot_add_user(l->s, line->name);
        }
        set_mark(&l->users, (size_t)(u - l->s->users), mark_here(l, line));
    }
    on_entry(l, line, lk_user_options, lk_user_option_count, u);
}

static void
on_peer(struct loader *l, const struct lk_ini_line *line)
{
    char *end;
    long id = strtol(line->name, &end, 10);
    if (!isdigit((unsigned char)line->name[0]) || *end || id < 1 || id > 16383)
        mistake(l, line->file, line->line, "%.64s: a peer's name is its peer_id, from 1 to 16383", line->name);
    on_entry(l, line, lk_peer_options, lk_peer_option_count, lk_snapshot_add_peer(l->s, (int)id));
    if (!l->peers_told)
        warn(l, line->file, line->line, "[peers] is shown on the console and has no other effect in this version");
    l->peers_told = true;
}

/* A number at *p, moved behind it and behind white space. */
static bool
read_key(const char **p, int64_t least, int64_t most, int64_t *key)
{
    while (isspace((unsigned char)**p))
        (*p)++;
    if (!isdigit((unsigned char)**p) && **p != '-')
        return false;
    char *end;
    errno = 0;
    long long n = strtoll(*p, &end, 10);
    if (end == *p || errno || n < least || n > most)
        return false;
    for (*p = end; isspace((unsigned char)**p);)
        (*p)++;
    *key = n;
    return true;
}

/* Writes "42", "1001,7" or "1001,*" without white space; false: it is none of them. */
static bool
tidy_pattern(const char *p, char out[64])
{
    bool pair = strchr(p, ',') != NULL;
    int64_t first, second;
    if (!read_key(&p, pair ? INT32_MIN : INT64_MIN, pair ? INT32_MAX : INT64_MAX, &first))
        return false;
    if (!pair) {
        snprintf(out, 64, "%" PRId64, first);
        return *p == '\0';
    }
    if (*p++ != ',')
        return false;
    p += strspn(p, " \t");
    if (p[0] == '*' && p[1] == '\0') {
        snprintf(out, 64, "%" PRId64 ",*", first);
        return true;
    }
    if (!read_key(&p, INT32_MIN, INT32_MAX, &second) || *p != '\0')
        return false;
    snprintf(out, 64, "%" PRId64 ",%" PRId64, first, second);
    return true;
}

static void
on_name(struct loader *l, const struct lk_ini_line *line)
{
    char pattern[64];
    if (!tidy_pattern(line->name, pattern)) {
        mistake(l, line->file, line->line, "\"%.60s\" is no key: must be like 42, or 1001,7, or 1001,*", line->name);
        return;
    }
    if (*line->value == '\0') {
        mistake(l, line->file, line->line, "%s: the name is missing", pattern);
        return;
    }
    for (size_t i = 0; i < l->s->name_count; i++) {
        struct lk_name_settings *n = &l->s->names[i];
        if (strcmp(n->pattern, pattern) != 0)
            continue;
        const struct mark *before = &l->names.items[i];
        if (before->locks_file != l->locks_file) {
            mistake(l, line->file, line->line, "%s stands at %s:%d too; only one of the files may hold it", pattern,
                before->file, before->line);
            return;
        }
        warn_repeated(l, line, before);
        free(n->name);
        n->name = lk_mem_dup(line->value);
        l->names.items[i] = mark_here(l, line);
        return;
    }
    set_mark(&l->names, l->s->name_count, mark_here(l, line));
    lk_snapshot_add_name(l->s, pattern, line->value);
}

static void
on_section(struct loader *l, const struct lk_ini_line *line)
{
    l->section = SECTION_UNKNOWN;
    for (size_t i = 0; i < LK_COUNT(sections); i++) {
        if (strcmp(sections[i].name, line->name) != 0)
            continue;
        if (l->locks_file && !sections[i].in_locks_file) {
            mistake(l, line->file, line->line, "section [%s] belongs into %s", line->name, l->s->path);
            return;
        }
        l->section = sections[i].section;
    }
    if (l->section == SECTION_UNKNOWN)
        mistake(l, line->file, line->line, "unknown section [%.60s]", line->name);
    if (l->main_section.line == 0 && (l->section == SECTION_LOCKKEEPER || l->section == SECTION_PGBOUNCER))
        l->main_section = mark_here(l, line);
}

static void
on_line(void *arg, const struct lk_ini_line *line)
{
    struct loader *l = arg;
    if (line->kind == LK_INI_SECTION) {
        on_section(l, line);
        return;
    }
    if (line->kind == LK_INI_BROKEN) {
        mistake(l, line->file, line->line, "%s", line->value);
        return;
    }
    switch (l->section) {
    case SECTION_NONE:
        mistake(l, line->file, line->line, "\"%.60s\" stands before any section", line->name);
        return;
    case SECTION_UNKNOWN: /* told at its heading */
        return;
    case SECTION_LOCKKEEPER:
    case SECTION_PGBOUNCER:
        on_setting(l, line);
        return;
    case SECTION_DATABASES:
        on_database(l, line);
        return;
    case SECTION_USERS:
        on_user(l, line);
        return;
    case SECTION_PEERS:
        on_peer(l, line);
        return;
    case SECTION_NAMES:
        on_name(l, line);
        return;
    }
}

/* The line of an option; one that stands nowhere is missing from the main section. */
static struct mark
option_mark(const struct loader *l, const char *name)
{
    const struct lk_option *o = lk_option_find(name);
    if (o && l->options[o - lk_options].line > 0)
        return l->options[o - lk_options];
    if (l->main_section.line > 0)
        return l->main_section;
    return (struct mark){.file = l->s->path, .line = 1};
}

static void
on_finding(void *arg, const struct lk_check_finding *f)
{
    struct loader *l = arg;
    struct mark at = f->option ? option_mark(l, f->option)
                               : l->databases.items[lk_snapshot_database(l->s, f->database) - l->s->databases];
    if (f->error)
        mistake(l, at.file, at.line, "%s", f->what);
    else
        warn(l, at.file, at.line, "%s", f->what);
}

static void
on_hba_mistake(void *arg, const char *file, int line, const char *what)
{
    mistake(arg, file, line, "%s", what);
}

/* NAME.locks.ini for NAME.ini, and for a name that doesn't end so: behind it. Owner: the caller. */
static char *
locks_path(const char *path)
{
    size_t n = strlen(path);
    if (n > 4 && strcmp(path + n - 4, ".ini") == 0)
        n -= 4;
    struct lk_buf name = {0};
    lk_buf_add(&name, path, n);
    lk_buf_add_cstr(&name, ".locks.ini");
    return (char *)name.data;
}

static void
read_all(struct loader *l, const char *path)
{
    lk_ini_read(path, on_line, l);
    char *locks = locks_path(path);
    if (locks && (access(locks, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR))) {
        l->locks_file = true;
        l->section = SECTION_NONE;
        lk_ini_read(locks, on_line, l);
    }
    free(locks);
    const char *wrong = lk_snapshot_read_auth_file(l->s);
    if (wrong) {
        struct mark at = option_mark(l, "auth_file");
        mistake(l, at.file, at.line, "auth_file %.300s cannot be read: %s", l->s->auth_file, wrong);
    }
    lk_snapshot_read_hba(l->s, on_hba_mistake, l);
    lk_check_settings(l->s, on_finding, l);
    if (l->error_count > MISTAKES_MOST)
        lk_buf_add_format(l->errors, "%s: and %zu mistakes more\n", path, l->error_count - MISTAKES_MOST);
    if (l->warning_count > MISTAKES_MOST)
        lk_buf_add_format(l->warnings, "%s: and %zu warnings more\n", path, l->warning_count - MISTAKES_MOST);
}

struct lk_settings *
lk_settings_load(const char *path, struct lk_buf *errors, struct lk_buf *warnings)
{
    struct loader l = {.errors = errors, .warnings = warnings};
    l.s = lk_snapshot_new();
    l.s->path = lk_mem_dup(path);
    l.defaults = lk_snapshot_new();
    l.options = lk_mem_new(lk_option_count * sizeof(*l.options));
    read_all(&l, path);
    lk_settings_unref(l.defaults);
    free(l.options);
    free(l.databases.items);
    free(l.users.items);
    free(l.names.items);
    for (size_t i = 0; i < l.file_count; i++)
        free(l.files[i]);
    free(l.files);
    if (l.error_count == 0)
        return l.s;
    lk_settings_unref(l.s);
    return NULL;
}
