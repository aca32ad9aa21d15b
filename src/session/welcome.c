/* What a pool's servers reported when they were logged in to, kept for the clients that log in later. */
#include "session/step.h"

#include <stdlib.h>
#include <strings.h>

#include "wire/build.h"

#define PAIRS_MAX 64u
/* What is longer than any parameter that a new client needs is left out. */
#define NAME_LONGEST 64u
#define VALUE_LONGEST 4096u

struct pair {
    char *name, *value; /* owned */
};

struct welcome {
    unsigned count;
    struct pair pairs[PAIRS_MAX];
};

/* The version is that of the console which ours is modelled on: drivers and dashboards choose their queries by it. */
static const struct {
    const char *name, *value;
} console_pairs[] = {
    {"server_version", "1.25.2/lockkeeper"},
    {"client_encoding", "UTF8"},
    {"server_encoding", "UTF8"},
    {"DateStyle", "ISO"},
    {"TimeZone", "GMT"},
    {"integer_datetimes", "on"},
    {"standard_conforming_strings", "on"},
    {"is_superuser", "on"},
};

void
lk_welcome_note(struct lk_pool *pool, struct lk_span name, struct lk_span value)
{
    if (name.n > NAME_LONGEST || value.n > VALUE_LONGEST)
        return;
    if (!pool->welcome)
        pool->welcome = LK_NEW(struct welcome);
    struct welcome *w = pool->welcome;
    for (unsigned i = 0; i < w->count; i++) {
        if (!lk_span_is(name, w->pairs[i].name))
            continue;
        free(w->pairs[i].value);
        w->pairs[i].value = lk_mem_dup_span(value);
        return;
    }
    if (w->count < PAIRS_MAX)
        w->pairs[w->count++] = (struct pair){lk_mem_dup_span(name), lk_mem_dup_span(value)};
}

void
lk_welcome_forget(struct lk_pool *pool)
{
    struct welcome *w = pool->welcome;
    pool->welcome = NULL;
    if (!w)
        return;
    for (unsigned i = 0; i < w->count; i++) {
        free(w->pairs[i].name);
        free(w->pairs[i].value);
    }
    free(w);
}

static void
add(struct lk_core *core, struct lk_client *c, struct lk_buf *out, const char *name, const char *value)
{
    int param = lk_param_find(core, lk_span_str(name));
    if (param >= 0) {
        const char **own = &c->params.value[param];
        /* the server's spelling of the same value, so that no link has to change it */
        bool same = *own && param != LK_PARAM_APPLICATION_NAME && strcasecmp(*own, value) == 0;
        if (!*own || same)
            *own = lk_param_intern(core, lk_span_str(value));
        if (*own)
            value = *own;
    }
    lk_build_parameter_status(out, name, value);
}

void
lk_welcome_send(struct lk_core *core, struct lk_client *c)
{
    struct lk_buf out = {0};
    const struct welcome *w = c->pool ? c->pool->welcome : NULL;
    for (unsigned i = 0; w && i < w->count; i++)
        add(core, c, &out, w->pairs[i].name, w->pairs[i].value);
    for (size_t i = 0; !c->pool && i < LK_COUNT(console_pairs); i++)
        add(core, c, &out, console_pairs[i].name, console_pairs[i].value);
    (void)lk_step_send_buf(core, &c->end, &out);
    lk_buf_clear(&out);
}
