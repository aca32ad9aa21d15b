#include "config/settings.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

#include "base/mem.h"
#include "config/check.h"
#include "config/entry.h"
#include "config/ini.h"
#include "config/snapshot.h"

static void *
option_at(struct lk_settings *s, const struct lk_option *o)
{
    return (char *)s + o->offset;
}

static struct lk_settings *
new_empty(void)
{
    struct lk_settings *s = LK_NEW(struct lk_settings);
    atomic_init(&s->refs, 1);
    s->given = lk_mem_new(lk_option_count * sizeof(bool));
    return s;
}

struct lk_settings *
lk_snapshot_new(void)
{
    struct lk_settings *s = new_empty();
    for (size_t i = 0; i < lk_option_count; i++)
        if (lk_options[i].initial)
            lk_option_parse(&lk_options[i], lk_options[i].initial, option_at(s, &lk_options[i]), NULL);
    return s;
}

/* The array with a zeroed item more behind its `count` ones. */
static void *
grow(void *array, size_t count, size_t size)
{
    char *grown = lk_mem_grow(array, (count + 1) * size);
    memset(grown + count * size, 0, size);
    return grown;
}

struct lk_database_settings *
lk_snapshot_add_database(struct lk_settings *s, const char *name)
{
    s->databases = grow(s->databases, s->database_count, sizeof(*s->databases));
    struct lk_database_settings *d = &s->databases[s->database_count++];
    lk_entry_init(d, lk_database_options, lk_database_option_count);
    d->name = lk_mem_dup(name);
    d->automatic = strcmp(name, "*") == 0;
    return d;
}

struct lk_user_settings *
lk_snapshot_add_user(struct lk_settings *s, const char *name)
{
    s->users = grow(s->users, s->user_count, sizeof(*s->users));
    struct lk_user_settings *u = &s->users[s->user_count++];
    lk_entry_init(u, lk_user_options, lk_user_option_count);
    u->name = lk_mem_dup(name);
    return u;
}

struct lk_peer_settings *
lk_snapshot_add_peer(struct lk_settings *s, int id)
{
    s->peers = grow(s->peers, s->peer_count, sizeof(*s->peers));
    struct lk_peer_settings *p = &s->peers[s->peer_count++];
    lk_entry_init(p, lk_peer_options, lk_peer_option_count);
    p->id = id;
    return p;
}

struct lk_name_settings *
lk_snapshot_add_name(struct lk_settings *s, const char *pattern, const char *name)
{
    s->names = grow(s->names, s->name_count, sizeof(*s->names));
    struct lk_name_settings *n = &s->names[s->name_count++];
    n->pattern = lk_mem_dup(pattern);
    n->name = lk_mem_dup(name);
    return n;
}

struct lk_database_settings *
lk_snapshot_database(struct lk_settings *s, const char *name)
{
    for (size_t i = 0; i < s->database_count; i++)
        if (strcmp(s->databases[i].name, name) == 0)
            return &s->databases[i];
    return NULL;
}

struct lk_user_settings *
lk_snapshot_user(struct lk_settings *s, const char *name)
{
    for (size_t i = 0; i < s->user_count; i++)
        if (strcmp(s->users[i].name, name) == 0)
            return &s->users[i];
    return NULL;
}

static void
set_auth_text(struct lk_settings *s, char *text, size_t length)
{
    if (s->auth_file_text)
        explicit_bzero(s->auth_file_text, s->auth_file_length);
    free(s->auth_file_text);
    s->auth_file_text = text;
    s->auth_file_length = length;
}

const char *
lk_snapshot_read_auth_file(struct lk_settings *s)
{
    set_auth_text(s, NULL, 0);
    if (!s->auth_file || !*s->auth_file)
        return NULL;
    struct lk_buf text = {0};
    const char *wrong = lk_ini_read_file(s->auth_file, &text);
    if (!wrong && lk_buf_add_u8(&text, 0)) {
        set_auth_text(s, (char *)text.data, text.len - 1);
        return NULL;
    }
    if (text.data)
        explicit_bzero(text.data, text.len);
    lk_buf_clear(&text);
    return wrong ? wrong : "out of memory";
}

struct lk_settings *
lk_settings_copy(const struct lk_settings *s)
{
    struct lk_settings *copy = new_empty();
    copy->path = lk_mem_dup(s->path);
    for (size_t i = 0; i < lk_option_count; i++) {
        lk_option_copy(&lk_options[i], (const char *)s + lk_options[i].offset, option_at(copy, &lk_options[i]));
        copy->given[i] = s->given[i];
    }
    for (size_t i = 0; i < s->database_count; i++) {
        struct lk_database_settings *d = lk_snapshot_add_database(copy, s->databases[i].name);
        lk_entry_copy(&s->databases[i], d, lk_database_options, lk_database_option_count);
        d->automatic = s->databases[i].automatic;
    }
    for (size_t i = 0; i < s->user_count; i++)
        lk_entry_copy(
            &s->users[i], lk_snapshot_add_user(copy, s->users[i].name), lk_user_options, lk_user_option_count);
    for (size_t i = 0; i < s->peer_count; i++)
        lk_entry_copy(
            &s->peers[i], lk_snapshot_add_peer(copy, s->peers[i].id), lk_peer_options, lk_peer_option_count);
    for (size_t i = 0; i < s->name_count; i++)
        lk_snapshot_add_name(copy, s->names[i].pattern, s->names[i].name);
    if (s->auth_file_text) {
        char *text = lk_mem_new(s->auth_file_length + 1);
        memcpy(text, s->auth_file_text, s->auth_file_length);
        set_auth_text(copy, text, s->auth_file_length);
    }
    copy->hba = s->hba ? lk_hba_ref(s->hba) : NULL;
    return copy;
}

static void
free_entries(struct lk_settings *s)
{
    for (size_t i = 0; i < s->database_count; i++) {
        lk_entry_clear(&s->databases[i], lk_database_options, lk_database_option_count);
        free(s->databases[i].name);
    }
    for (size_t i = 0; i < s->user_count; i++) {
        lk_entry_clear(&s->users[i], lk_user_options, lk_user_option_count);
        free(s->users[i].name);
    }
    for (size_t i = 0; i < s->peer_count; i++)
        lk_entry_clear(&s->peers[i], lk_peer_options, lk_peer_option_count);
    for (size_t i = 0; i < s->name_count; i++) {
        free(s->names[i].pattern);
        free(s->names[i].name);
    }
    free(s->databases);
    free(s->users);
    free(s->peers);
    free(s->names);
}

struct lk_settings *
lk_settings_ref(struct lk_settings *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void
lk_settings_unref(struct lk_settings *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) > 1)
        return;
    free_entries(s);
    for (size_t i = 0; i < lk_option_count; i++)
        lk_option_release(&lk_options[i], option_at(s, &lk_options[i]));
    set_auth_text(s, NULL, 0);
    lk_hba_unref(s->hba);
    free(s->given);
    free(s->path);
    free(s);
}

const struct lk_database_settings *
lk_settings_database(const struct lk_settings *s, const char *name)
{
    for (size_t i = 0; i < s->database_count; i++)
        if (strcmp(s->databases[i].name, name) == 0 && strcmp(name, "*") != 0)
            return &s->databases[i];
    return NULL;
}

const struct lk_database_settings *
lk_settings_fallback(const struct lk_settings *s)
{
    for (size_t i = 0; i < s->database_count; i++)
        if (strcmp(s->databases[i].name, "*") == 0)
            return &s->databases[i];
    return NULL;
}

const struct lk_user_settings *
lk_settings_user(const struct lk_settings *s, const char *name)
{
    for (size_t i = 0; i < s->user_count; i++)
        if (strcmp(s->users[i].name, name) == 0)
            return &s->users[i];
    return NULL;
}

/* Cuts the next item off a comma list, without white space around it. False: the end. Empty items are left out. */
static bool
next_item(struct lk_span *list, struct lk_span *item)
{
    while (list->n > 0) {
        const uint8_t *comma = memchr(list->p, ',', list->n);
        *item = lk_span_head(*list, comma ? (size_t)(comma - list->p) : list->n);
        *list = lk_span_skip(*list, comma ? item->n + 1 : item->n);
        while (item->n > 0 && isspace(item->p[0]))
            *item = lk_span_skip(*item, 1);
        while (item->n > 0 && isspace(item->p[item->n - 1]))
            item->n--;
        if (item->n > 0)
            return true;
    }
    return false;
}

bool
lk_settings_list_has(const char *list, const char *name)
{
    struct lk_span rest = lk_span_str(list ? list : "");
    struct lk_span item;
    while (next_item(&rest, &item))
        if (lk_span_is(item, name) || lk_span_is(item, "*"))
            return true;
    return false;
}

bool
lk_settings_ignores_parameter(const struct lk_settings *s, struct lk_span name)
{
    struct lk_span rest = lk_span_str(s->ignore_startup_parameters);
    struct lk_span item;
    while (next_item(&rest, &item))
        if (item.n == name.n && strncasecmp((const char *)item.p, (const char *)name.p, name.n) == 0)
            return true;
    return false;
}

const char *
lk_settings_lock_name(const struct lk_settings *s, const char *key)
{
    for (size_t i = 0; i < s->name_count; i++) {
        const char *pattern = s->names[i].pattern;
        size_t n = strlen(pattern);
        if (strcmp(pattern, key) == 0 || (n > 1 && pattern[n - 1] == '*' && strncmp(pattern, key, n - 1) == 0))
            return s->names[i].name;
    }
    return NULL;
}

void
lk_settings_restart_needed(const struct lk_settings *old, const struct lk_settings *now, struct lk_buf *out)
{
    for (size_t i = 0; i < lk_option_count; i++) {
        if ((lk_options[i].flags & LK_OPTION_RESTART) && !lk_option_same(&lk_options[i], old, now))
            lk_buf_add_format(out, "%s\n", lk_options[i].name);
    }
}

struct complaint {
    struct lk_buf *why;
    bool any;
};

static void
on_hba_mistake(void *arg, const char *file, int line, const char *what)
{
    struct complaint *c = arg;
    if (!c->any && line > 0)
        lk_buf_add_format(c->why, "%s:%d: %s", file, line, what);
    else if (!c->any)
        lk_buf_add_format(c->why, "%s: %s", file, what);
    c->any = true;
}

/* Keeps the first mistake. */
static void
on_finding(void *arg, const struct lk_check_finding *f)
{
    struct complaint *c = arg;
    if (f->error && !c->any)
        lk_buf_add_format(c->why, "%s", f->what);
    c->any = c->any || f->error;
}

bool
lk_settings_set(struct lk_settings *copy, const char *name, const char *value, struct lk_buf *why)
{
    const struct lk_option *o = lk_option_find(name);
    if (!o) {
        const char *near = lk_option_nearest(lk_options, lk_option_count, name);
        lk_buf_add_format(why, "no such setting: %.64s", name);
        if (near)
            lk_buf_add_format(why, "; did you mean %s?", near);
        return false;
    }
    if (o->flags & LK_OPTION_RESTART) {
        lk_buf_add_format(why, "changing %s takes a restart", o->name);
        return false;
    }
    if (!lk_option_parse(o, value, option_at(copy, o), why))
        return false;
    copy->given[o - lk_options] = true;
    if (strcmp(o->name, "auth_file") == 0) {
        const char *wrong = lk_snapshot_read_auth_file(copy);
        if (wrong) {
            lk_buf_add_format(why, "auth_file cannot be read: %s", wrong);
            return false;
        }
    }
    struct complaint c = {.why = why};
    if (strncmp(o->name, "auth_", 5) == 0)
        lk_snapshot_read_hba(copy, on_hba_mistake, &c);
    lk_check_settings(copy, on_finding, &c);
    return !c.any;
}
