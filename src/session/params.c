#include "session/params.h"

#include <stdlib.h>
#include <strings.h>

#include "session/core.h"
#include "session/step.h"
#include "wire/build.h"

struct lk_interned {
    UT_hash_handle hh;
    bool used;
    char value[];
};

/* Values beyond this many make room for those in use. */
#define INTERN_SWEEP 8192u

static const char *const fixed_names[LK_PARAM_FIXED] = {
    [LK_PARAM_APPLICATION_NAME] = "application_name",
    [LK_PARAM_CLIENT_ENCODING] = "client_encoding",
    [LK_PARAM_DATESTYLE] = "DateStyle",
    [LK_PARAM_TIMEZONE] = "TimeZone",
    [LK_PARAM_INTERVALSTYLE] = "IntervalStyle",
    [LK_PARAM_STANDARD_STRINGS] = "standard_conforming_strings",
    [LK_PARAM_READ_ONLY] = "default_transaction_read_only",
};

const char *
lk_param_name(const struct lk_core *core, int param)
{
    return param < LK_PARAM_FIXED ? fixed_names[param] : core->extra_params[param - LK_PARAM_FIXED];
}

int
lk_param_find(const struct lk_core *core, struct lk_span name)
{
    for (unsigned i = 0; i < core->param_count; i++) {
        const char *known = lk_param_name(core, (int)i);
        if (strlen(known) == name.n && strncasecmp(known, (const char *)name.p, name.n) == 0)
            return (int)i;
    }
    return -1;
}

static void
mark(struct lk_core *core, const struct lk_params *p)
{
    for (unsigned i = 0; i < core->param_count; i++) {
        struct lk_interned *in = NULL;
        if (p->value[i])
            HASH_FIND(hh, core->interned, p->value[i], strlen(p->value[i]), in);
        if (in)
            in->used = true;
    }
}

static void
sweep(struct lk_core *core)
{
    core->encoding_seen = ""; /* none of the values: its address may soon be another's */
    struct lk_interned *in, *next;
    HASH_ITER(hh, core->interned, in, next)
    {
        in->used = false;
    }
    LK_LIST_EACH(&core->clients, struct lk_client, node, c) mark(core, &c->params);
    LK_LIST_EACH(&core->servers, struct lk_server, node, s) mark(core, &s->params);
    HASH_ITER(hh, core->interned, in, next)
    {
        if (in->used)
            continue;
        HASH_DEL(core->interned, in);
        free(in);
    }
}

const char *
lk_param_intern(struct lk_core *core, struct lk_span value)
{
    struct lk_interned *in = NULL;
    HASH_FIND(hh, core->interned, value.p, value.n, in);
    if (in)
        return in->value;
    in = lk_mem_try(sizeof(*in) + value.n + 1);
    if (!in)
        return NULL;
    memcpy(in->value, value.p, value.n);
    in->value[value.n] = '\0';
    HASH_ADD_KEYPTR(hh, core->interned, in->value, value.n, in);
    return in->value;
}

void
lk_params_tidy(struct lk_core *core, bool all)
{
    if (!all && HASH_COUNT(core->interned) > INTERN_SWEEP)
        sweep(core);
    struct lk_interned *in, *next;
    HASH_ITER(hh, core->interned, in, next)
    {
        if (!all)
            break;
        HASH_DEL(core->interned, in);
        free(in);
    }
}

static uint32_t
differing(const struct lk_core *core, const struct lk_server *s)
{
    uint32_t set = 0;
    if (memcmp(&s->client->params, &s->params, sizeof(s->params)) == 0)
        return 0;
    for (unsigned i = 0; i < core->param_count; i++) {
        const char *wanted = s->client->params.value[i], *is = s->params.value[i];
        if (wanted && is && wanted != is)
            set |= 1u << i;
    }
    return set;
}

void
lk_params_follow(struct lk_core *core, struct lk_server *s)
{
    uint32_t set = differing(core, s);
    if (set == 0)
        return;
    struct lk_buf text = {0}, out = {0};
    struct lk_span values[2 * LK_PARAM_MAX];
    uint16_t n = 0;
    for (unsigned i = 0; i < core->param_count; i++) {
        if (!(set & 1u << i))
            continue;
        (void)lk_buf_add_format(&text, "%s pg_catalog.set_config($%d, $%d, false)", n ? "," : "SELECT", n + 1, n + 2);
        values[n++] = lk_span_str(lk_param_name(core, (int)i));
        values[n++] = lk_span_str(s->client->params.value[i]);
    }
    lk_build_parse(&out, "", lk_buf_span(&text), 0, lk_span_make(NULL, 0));
    lk_build_bind(&out, "", values, n);
    lk_build_execute(&out, "", 0);
    lk_build_sync(&out);
    static const enum lk_reply_kind kinds[] = {LK_REPLY_PARSE, LK_REPLY_BIND, LK_REPLY_EXECUTE, LK_REPLY_SYNC};
    if (lk_step_expect(s, LK_FOR_PARAMS, kinds, LK_COUNT(kinds)) && lk_step_send_buf(core, &s->end, &out)) {
        s->following = set;
        lk_server_set_unnamed(s, NULL);
    }
    lk_buf_clear(&text);
    lk_buf_clear(&out);
}

static void
rename_client(struct lk_client *c, const char *value)
{
    free(c->who->application_name);
    c->who->application_name = lk_mem_dup(value);
}

bool
lk_params_reported(struct lk_core *core, struct lk_server *s, const struct lk_msg_param *p)
{
    if (lk_span_is(p->name, "session_authorization")) {
        free(s->authorization);
        s->authorization = lk_mem_dup_span(p->value);
        return true;
    }
    int param = lk_param_find(core, p->name);
    if (param < 0)
        return true;
    const char *value = lk_param_intern(core, p->value);
    if (!value)
        return true;
    s->params.value[param] = value;
    if (s->following)
        return false;
    if (s->client) {
        s->client->params.value[param] = value;
        if (param == LK_PARAM_APPLICATION_NAME)
            rename_client(s->client, value);
    }
    return true;
}

void
lk_params_settled(struct lk_core *core, struct lk_server *s, struct lk_span row)
{
    unsigned column = 0;
    for (unsigned i = 0; i < core->param_count; i++) {
        struct lk_msg_value v;
        if (!(s->following & 1u << i))
            continue;
        if (!lk_msg_row_value(row, column++, &v, NULL) || v.null)
            continue;
        const char *value = lk_param_intern(core, v.data);
        if (!value)
            continue;
        s->params.value[i] = value;
        if (!s->client || s->client->params.value[i] == value)
            continue;
        s->client->params.value[i] = value;
        struct lk_buf out = {0};
        lk_build_parameter_status(&out, lk_param_name(core, (int)i), value);
        (void)lk_step_send_buf(core, &s->client->end, &out);
        lk_buf_clear(&out);
    }
}
