#include "admin/request.h"

#include <inttypes.h>
#include <stdlib.h>

#include "admin/answer.h"
#include "admin/console.h"
#include "session/holders.h"

struct lk_request *
lk_request_new(enum lk_request_kind kind, char *database, uint32_t asker, uint64_t client_id, uint32_t workers)
{
    struct lk_request *r = lk_mem_new(sizeof *r + workers * sizeof r->parts[0]);
    r->kind = kind;
    r->database = database;
    r->asker = asker;
    r->client_id = client_id;
    r->workers = workers;
    atomic_init(&r->outstanding, workers);
    return r;
}

void
lk_request_free(struct lk_request *r)
{
    for (uint32_t i = 0; i < r->workers; i++) {
        lk_table_clear(&r->parts[i].table);
        lk_buf_clear(&r->parts[i].told);
        if (r->parts[i].metrics)
            lk_metrics_clear(r->parts[i].metrics);
        free(r->parts[i].metrics);
    }
    free(r->database);
    free(r->setting);
    free(r->value);
    free(r->error);
    free(r->warnings);
    free(r);
}

static bool
database_known(const struct lk_core *core, const char *database)
{
    if (!database || lk_settings_database(core->settings, database) || lk_names_has(&core->paused, database) ||
        lk_names_has(&core->disabled, database))
        return true;
    LK_LIST_EACH (&core->pools, struct lk_pool, node, pool) {
        if (strcmp(pool->route.database, database) == 0)
            return true;
    }
    return false;
}

/* Is what PAUSE ordered still in force? */
static bool
still_pausing(const struct lk_core *core, const char *database)
{
    if (!database)
        return core->mode == LK_CORE_PAUSED;
    LK_LIST_EACH (&core->pools, struct lk_pool, node, pool) {
        if (strcmp(pool->route.database, database) == 0 && pool->paused)
            return true;
    }
    return false;
}

/* Can it be done in the state that the core is in? False: *e says why not. */
static bool
permitted(const struct lk_request *r, const struct lk_core *core, struct lk_error *e)
{
    bool stops = r->kind == LK_REQUEST_PAUSE || r->kind == LK_REQUEST_KILL || r->kind == LK_REQUEST_SUSPEND;
    bool resumes = r->kind == LK_REQUEST_RESUME;
    if (stops && !r->database && core->mode != LK_CORE_ACTIVE)
        lk_error_set(e, "55000", "already suspended/paused");
    else if (r->kind == LK_REQUEST_SUSPEND && core->paused.count > 0)
        lk_error_set(e, "55000", "cannot suspend with paused databases");
    else if (resumes && !r->database && core->mode == LK_CORE_ACTIVE && core->paused.count == 0)
        lk_error_set(e, "55000", "pooler is not paused/suspended");
    else if (resumes && r->database && !lk_names_has(&core->paused, r->database))
        lk_error_set(e, "55000", "database %s is not paused", r->database);
    else
        return true;
    return false;
}

/* False: there is nobody and nothing to do it to. */
static bool
begin(const struct lk_request *r, struct lk_core *core, struct lk_now now)
{
    switch (r->kind) {
    case LK_REQUEST_PAUSE:
        lk_core_pause(core, r->database, now);
        break;
    case LK_REQUEST_RESUME:
        lk_core_resume(core, r->database, now);
        break;
    case LK_REQUEST_KILL:
        lk_core_kill(core, r->database, now);
        break;
    case LK_REQUEST_RECONNECT:
        lk_core_reconnect(core, r->database, now);
        break;
    case LK_REQUEST_DISABLE:
        lk_core_disable(core, r->database);
        break;
    case LK_REQUEST_ENABLE:
        lk_core_enable(core, r->database);
        break;
    case LK_REQUEST_SUSPEND:
        lk_core_suspend(core);
        break;
    case LK_REQUEST_KILL_CLIENT:
        return lk_core_kill_client(core, r->target, now);
    case LK_REQUEST_WAIT_CLOSE:
    case LK_REQUEST_STOPPING:
    case LK_REQUEST_SET:
    case LK_REQUEST_SHOW:
    case LK_REQUEST_RELOAD:
    case LK_REQUEST_STATE:
    case LK_REQUEST_METRICS:
        break;
    }
    return true;
}

static void
report(const struct lk_request *r, struct lk_request_part *part, const struct lk_core *core, struct lk_now now)
{
    part->begun = true;
    part->mode = core->mode;
    if (r->kind != LK_REQUEST_METRICS)
        return;
    part->metrics = LK_NEW(struct lk_metrics);
    lk_metrics_collect(part->metrics, &(struct lk_show){.core = core, .now = now});
}

bool
lk_request_run(struct lk_request *r, struct lk_core *core, struct lk_now now)
{
    struct lk_request_part *part = &r->parts[core->worker];
    if (r->kind == LK_REQUEST_SHOW) {
        lk_view_collect(r->view, &part->table, &(struct lk_show){.core = core, .hosts = part->hosts, .now = now});
        return true;
    }
    if (r->kind == LK_REQUEST_STATE || r->kind == LK_REQUEST_METRICS) {
        report(r, part, core, now);
        return true;
    }
    if (!part->begun) {
        part->begun = true;
        part->known = database_known(core, r->database);
        if (!part->known || !permitted(r, core, &part->refused))
            return true;
        part->known = begin(r, core, now);
        if (!part->known)
            return true;
    }
    if (r->kind == LK_REQUEST_STOPPING)
        return lk_core_stopped(core);
    if (r->kind == LK_REQUEST_SUSPEND) {
        part->undone = core->mode != LK_CORE_SUSPENDED;
        return part->undone || part->silent;
    }
    if (r->kind == LK_REQUEST_WAIT_CLOSE)
        return !lk_core_reconnecting(core, r->database);
    if (r->kind != LK_REQUEST_PAUSE || lk_core_paused(core, r->database))
        return true;
    part->undone = !still_pausing(core, r->database);
    return part->undone;
}

char *
lk_request_news(struct lk_request *r, const struct lk_core *core, struct lk_now now)
{
    static const char *const names[] = {
        [LK_REQUEST_PAUSE] = "PAUSE", [LK_REQUEST_WAIT_CLOSE] = "WAIT_CLOSE", [LK_REQUEST_STOPPING] = "SHUTDOWN"};
    struct lk_request_part *part = &r->parts[core->worker];
    const struct lk_holders_wanted wanted = {r->database, r->kind == LK_REQUEST_WAIT_CLOSE};
    struct lk_buf lines = {0};
    bool first = part->told_us == 0;
    if (r->kind == LK_REQUEST_SUSPEND || (!first && now.mono_us - part->told_us < LK_REQUEST_TELL_US))
        return NULL;
    lk_holders_tell(core, wanted, names[r->kind], &lines);
    if (lines.failed || lines.len == 0 || lk_span_eq(lk_buf_span(&lines), lk_buf_span(&part->told))) {
        lk_buf_clear(&lines);
        return NULL;
    }
    lk_buf_clear(&part->told);
    part->told = lines;
    part->told_us = now.mono_us;
    /* A shutdown has been logged by whoever began it. */
    if (first && r->kind != LK_REQUEST_STOPPING)
        lk_holders_log(core, wanted, names[r->kind]);
    return lk_mem_dup_span(lk_buf_span(&lines));
}

bool
lk_request_leave(struct lk_request *r)
{
    return atomic_fetch_sub_explicit(&r->outstanding, 1, memory_order_acq_rel) == 1;
}

bool
lk_request_whole(const struct lk_request *r)
{
    for (uint32_t i = 0; i < r->workers; i++)
        if (!r->parts[i].begun)
            return false;
    return true;
}

bool
lk_request_paused(const struct lk_request *r)
{
    for (uint32_t i = 0; i < r->workers; i++)
        if (r->parts[i].mode != LK_CORE_ACTIVE && r->parts[i].mode != LK_CORE_WAIT_FOR_CLIENTS)
            return true;
    return false;
}

static struct lk_client *
find_client(const struct lk_core *core, uint64_t id)
{
    LK_LIST_EACH (&core->clients, struct lk_client, node, c) {
        if (c->who->id == id && c->state == LK_CLIENT_CONSOLE)
            return c;
    }
    return NULL;
}

static void
answer_show(struct lk_core *core, struct lk_client *client, const struct lk_request *r)
{
    const struct lk_table **tables = lk_mem_new(r->workers * sizeof *tables);
    for (uint32_t i = 0; i < r->workers; i++)
        tables[i] = &r->parts[i].table;
    lk_answer_view(core, client, r->view, tables, r->workers);
    free(tables);
}

static void
answer_command(struct lk_core *core, struct lk_client *client, const struct lk_request *r)
{
    static const char *const tags[] = {
        [LK_REQUEST_PAUSE] = "PAUSE",
        [LK_REQUEST_RESUME] = "RESUME",
        [LK_REQUEST_KILL] = "KILL",
        [LK_REQUEST_RECONNECT] = "RECONNECT",
        [LK_REQUEST_WAIT_CLOSE] = "WAIT_CLOSE",
        [LK_REQUEST_DISABLE] = "DISABLE",
        [LK_REQUEST_ENABLE] = "ENABLE",
        [LK_REQUEST_KILL_CLIENT] = "KILL_CLIENT",
        [LK_REQUEST_SUSPEND] = "SUSPEND",
    };
    bool known = false, undone = false;
    const struct lk_error *refused = NULL;
    for (uint32_t i = 0; i < r->workers; i++) {
        refused = r->parts[i].refused.sqlstate[0] ? &r->parts[i].refused : refused;
        known = known || r->parts[i].known;
        undone = undone || r->parts[i].undone;
    }
    struct lk_error e;
    if (!known && r->kind == LK_REQUEST_KILL_CLIENT) {
        lk_error_set(&e, "22023", "no such client: %" PRIu64, r->target);
        lk_answer_error(core, client, &e);
    } else if (!known) {
        lk_error_set(&e, "3D000", "no such database: %s", r->database);
        lk_answer_error(core, client, &e);
    } else if (refused) {
        lk_answer_error(core, client, refused);
    } else if (undone) {
        lk_error_set(&e, "57014", "RESUME came before %s",
            r->kind == LK_REQUEST_SUSPEND ? "all connections were silent" : "all servers were idle");
        lk_answer_error(core, client, &e);
    } else {
        lk_answer_tag(core, client, tags[r->kind]);
    }
}

void
lk_request_finish(const struct lk_console_host *host, struct lk_core *core, struct lk_request *r)
{
    struct lk_client *client = find_client(core, r->client_id);
    if (client && r->kind != LK_REQUEST_STOPPING) {
        if (r->kind == LK_REQUEST_SHOW)
            answer_show(core, client, r);
        else if (r->kind == LK_REQUEST_RELOAD)
            lk_answer_reload(core, client, r->error, r->warnings);
        else if (r->kind == LK_REQUEST_SET)
            lk_answer_set(core, client, r);
        else
            answer_command(core, client, r);
    }
    lk_request_free(r);
}

void
lk_request_tell(struct lk_core *core, uint64_t client_id, const char *lines)
{
    struct lk_client *client = find_client(core, client_id);
    if (client)
        lk_answer_news(core, client, lines);
}
