#include "admin/console.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "admin/answer.h"
#include "admin/command.h"
#include "base/log.h"

static void
refuse(struct lk_core *core, struct lk_client *client, struct lk_span text)
{
    struct lk_error e;
    lk_command_invalid(text, &e);
    lk_answer_error(core, client, &e);
}

/* The database names of the console itself can't be acted on. */
static bool
is_console(const char *database)
{
    return database && (strcmp(database, "lockkeeper") == 0 || strcmp(database, "pgbouncer") == 0);
}

static void
broadcast(const struct lk_console_host *host, struct lk_core *core, const struct lk_client *client,
    enum lk_request_kind kind, const struct lk_view *view, const char *database)
{
    struct lk_request *r = lk_request_new(kind, lk_mem_dup(database), core->worker, client->who->id, host->workers);
    r->view = view;
    host->broadcast(host->context, r);
}

static void
show(const struct lk_console_host *host, struct lk_core *core, struct lk_client *client, const char *name,
    struct lk_span text)
{
    const struct lk_view *view = lk_view_find(lk_span_str(name));
    if (lk_command_word_is(lk_span_str(name), "HELP")) {
        lk_answer_help(core, client);
    } else if (!view) {
        refuse(core, client, text);
    } else if (view->everywhere) {
        broadcast(host, core, client, LK_REQUEST_SHOW, view, NULL);
    } else {
        struct lk_table table;
        const struct lk_table *const tables[] = {&table};
        const struct lk_show from = {.core = core, .journal = host->journal, .now = core->now};
        lk_view_collect(view, &table, &from);
        lk_answer_view(core, client, view, tables, 1);
        lk_table_clear(&table);
    }
}

static void
act(const struct lk_console_host *host, struct lk_core *core, struct lk_client *client,
    const struct lk_command *command)
{
    static const enum lk_request_kind kinds[] = {
        [LK_COMMAND_PAUSE] = LK_REQUEST_PAUSE,
        [LK_COMMAND_RESUME] = LK_REQUEST_RESUME,
        [LK_COMMAND_KILL] = LK_REQUEST_KILL,
        [LK_COMMAND_RECONNECT] = LK_REQUEST_RECONNECT,
        [LK_COMMAND_WAIT_CLOSE] = LK_REQUEST_WAIT_CLOSE,
        [LK_COMMAND_DISABLE] = LK_REQUEST_DISABLE,
        [LK_COMMAND_ENABLE] = LK_REQUEST_ENABLE,
    };
    struct lk_error e;
    const char *name = lk_command_name(command->kind);
    bool needs_database = command->kind == LK_COMMAND_DISABLE || command->kind == LK_COMMAND_ENABLE;
    if (needs_database && !command->argument) {
        lk_error_set(&e, "08P01", "a database is required");
        lk_answer_error(core, client, &e);
        return;
    }
    if (is_console(command->argument)) {
        lk_error_set(&e, "0A000", "%s does not work on the console's database: %s", name, command->argument);
        lk_answer_error(core, client, &e);
        return;
    }
    broadcast(host, core, client, kinds[command->kind], NULL, command->argument);
}

static void
kill_client(const struct lk_console_host *host, struct lk_core *core, struct lk_client *client, const char *id,
    struct lk_span text)
{
    char *end;
    errno = 0;
    unsigned long long number = isdigit((unsigned char)id[0]) ? strtoull(id, &end, 10) : 0;
    if (number == 0 || *end || errno) {
        refuse(core, client, text);
        return;
    }
    struct lk_request *r = lk_request_new(LK_REQUEST_KILL_CLIENT, NULL, core->worker, client->who->id, host->workers);
    r->target = number;
    host->broadcast(host->context, r);
}

static void
set(const struct lk_console_host *host, struct lk_core *core, const struct lk_client *client,
    const struct lk_command *command)
{
    struct lk_request *r = lk_request_new(LK_REQUEST_SET, NULL, core->worker, client->who->id, host->workers);
    r->setting = lk_mem_dup(command->argument);
    r->value = lk_mem_dup(command->value);
    host->reload(host->context, r);
}

static void
stop(const struct lk_console_host *host, struct lk_core *core, struct lk_client *client, const char *how,
    struct lk_span text)
{
    static const char *const words[] = {
        [LK_STOP_NOW] = "",
        [LK_STOP_WAIT_FOR_SERVERS] = "WAIT_FOR_SERVERS",
        [LK_STOP_WAIT_FOR_CLIENTS] = "WAIT_FOR_CLIENTS",
    };
    for (size_t i = 0; i < LK_COUNT(words); i++) {
        if (lk_command_word_is(lk_span_str(how ? how : ""), words[i])) {
            lk_answer_tag(core, client, "SHUTDOWN");
            host->shutdown(host->context, (enum lk_stop)i);
            if (i == LK_STOP_WAIT_FOR_SERVERS)
                broadcast(host, core, client, LK_REQUEST_STOPPING, NULL, NULL);
            return;
        }
    }
    refuse(core, client, text);
}

static void
run(const struct lk_console_host *host, struct lk_core *core, struct lk_client *client,
    const struct lk_command *command, struct lk_span text)
{
    switch (command->kind) {
    case LK_COMMAND_EMPTY:
        lk_answer_empty(core, client);
        break;
    case LK_COMMAND_HELP:
        lk_answer_help(core, client);
        break;
    case LK_COMMAND_SHOW:
        show(host, core, client, command->argument, text);
        break;
    case LK_COMMAND_RELOAD:
        host->reload(
            host->context, lk_request_new(LK_REQUEST_RELOAD, NULL, core->worker, client->who->id, host->workers));
        break;
    case LK_COMMAND_PAUSE:
    case LK_COMMAND_RESUME:
    case LK_COMMAND_KILL:
    case LK_COMMAND_RECONNECT:
    case LK_COMMAND_WAIT_CLOSE:
    case LK_COMMAND_DISABLE:
    case LK_COMMAND_ENABLE:
        act(host, core, client, command);
        break;
    case LK_COMMAND_KILL_CLIENT:
        kill_client(host, core, client, command->argument, text);
        break;
    case LK_COMMAND_SUSPEND:
        broadcast(host, core, client, LK_REQUEST_SUSPEND, NULL, NULL);
        break;
    case LK_COMMAND_SET:
        set(host, core, client, command);
        break;
    case LK_COMMAND_SHUTDOWN:
        stop(host, core, client, command->argument, text);
        break;
    }
}

static void
log_command(const struct lk_client *client, const struct lk_command *command)
{
    const struct lk_who *who = client->who;
    lk_log(LK_LOG_INFO, "C-%" PRIu64 " %s/%s@%s:%d: console: %s%s%s%s%s", who->id, client->database, client->user,
        who->addr, who->port, lk_command_name(command->kind), command->argument ? " " : "",
        command->argument ? command->argument : "", command->value ? " = " : "", command->value ? command->value : "");
}

void
lk_console_query(
    const struct lk_console_host *host, struct lk_core *core, struct lk_client *client, struct lk_span text)
{
    struct lk_command command;
    struct lk_error e;
    if (!lk_command_parse(text, &command, &e)) {
        lk_answer_error(core, client, &e);
        return;
    }
    bool reads = command.kind <= LK_COMMAND_SHOW;
    if (!reads && !client->admin) {
        lk_error_set(&e, "42501", "admin access needed");
        lk_answer_error(core, client, &e);
    } else {
        if (!reads)
            log_command(client, &command);
        run(host, core, client, &command, text);
    }
    lk_command_clear(&command);
}
