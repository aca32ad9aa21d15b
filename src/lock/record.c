#include "lock/record.h"

#include <stdlib.h>

#include "base/mem.h"

struct lk_record *
lk_record_new(enum lk_event event, struct lk_now at)
{
    struct lk_record *r = LK_NEW(struct lk_record);
    r->event = event;
    r->at = at;
    r->held_us = -1;
    return r;
}

void
lk_record_free(struct lk_record *r)
{
    if (!r)
        return;
    free(r->database);
    free(r->user);
    free(r->client.addr);
    free(r->client.application_name);
    free(r->backend.addr);
    free(r->lock.name);
    free(r->query);
    free(r->comment_source);
    free(r);
}

const char *
lk_event_name(enum lk_event e)
{
    static const char *const names[LK_EVENT_COUNT] = {
        [LK_EVENT_LEAK] = "leak",
        [LK_EVENT_LEAK_SUMMARY] = "leak_summary",
        [LK_EVENT_HIDDEN] = "hidden",
        [LK_EVENT_LOST] = "lost",
        [LK_EVENT_PIN] = "pin",
        [LK_EVENT_UNPIN] = "unpin",
    };
    return names[e];
}

const char *
lk_event_level(enum lk_event e)
{
    static const char *const levels[LK_EVENT_COUNT] = {
        [LK_EVENT_LEAK] = "warning",
        [LK_EVENT_LEAK_SUMMARY] = "warning",
        [LK_EVENT_HIDDEN] = "warning",
        [LK_EVENT_LOST] = "error",
        [LK_EVENT_PIN] = "info",
        [LK_EVENT_UNPIN] = "info",
    };
    return levels[e];
}

const char *
lk_reason_name(enum lk_reason r)
{
    static const char *const names[] = {
        [LK_REASON_NONE] = "",
        [LK_REASON_CLIENT_DISCONNECT] = "client_disconnect",
        [LK_REASON_CLIENT_ABORT] = "client_abort",
        [LK_REASON_TRANSACTION_END] = "transaction_end",
        [LK_REASON_PIN_TIMEOUT] = "pin_timeout",
        [LK_REASON_TIMEOUT] = "timeout",
        [LK_REASON_BACKEND_CLOSED] = "backend_closed",
        [LK_REASON_ADMIN] = "admin",
        [LK_REASON_SHUTDOWN] = "shutdown",
    };
    return names[r];
}

const char *
lk_action_name(enum lk_action a)
{
    static const char *const names[] = {
        [LK_ACTION_NONE] = "none",
        [LK_ACTION_UNLOCK_ALL] = "unlock_all",
        [LK_ACTION_DISCARD_ALL] = "discard_all",
        [LK_ACTION_CLOSE] = "close",
    };
    return names[a];
}

const char *
lk_source_name(enum lk_source s)
{
    static const char *const names[] = {
        [LK_SOURCE_NONE] = "",
        [LK_SOURCE_LEDGER] = "ledger",
        [LK_SOURCE_PROBE] = "probe",
        [LK_SOURCE_SWEEP] = "sweep",
    };
    return names[s];
}
