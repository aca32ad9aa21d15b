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
    r->waited_us = -1;
    return r;
}

static void
clear_party(struct lk_party *p)
{
    free(p->addr);
    free(p->application_name);
}

void
lk_record_free(struct lk_record *r)
{
    if (!r)
        return;
    for (unsigned i = 0; i < r->wait_count; i++) {
        clear_party(&r->waits[i].waiter);
        clear_party(&r->waits[i].blocked_by);
        free(r->waits[i].lock_name);
        free(r->waits[i].lock_text);
    }
    free(r->waits);
    clear_party(&r->holder);
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

struct lk_deadlock_wait *
lk_record_add_wait(struct lk_record *r)
{
    if (r->wait_count == LK_RECORD_WAITS)
        return NULL;
    if (!r->waits)
        r->waits = lk_mem_new(LK_RECORD_WAITS * sizeof(*r->waits));
    return &r->waits[r->wait_count++];
}

static const struct {
    const char *name, *level;
} events[LK_EVENT_COUNT] = {
    [LK_EVENT_LEAK] = {"leak", "warning"},
    [LK_EVENT_LEAK_SUMMARY] = {"leak_summary", "warning"},
    [LK_EVENT_HIDDEN] = {"hidden", "warning"},
    [LK_EVENT_LOST] = {"lost", "error"},
    [LK_EVENT_PIN] = {"pin", "info"},
    [LK_EVENT_UNPIN] = {"unpin", "info"},
    [LK_EVENT_IDLE_HOLD] = {"idle_hold", "notice"},
    [LK_EVENT_PIN_TIMEOUT] = {"pin_timeout", "warning"},
    [LK_EVENT_PINS_FULL] = {"pins_full", "warning"},
    [LK_EVENT_UNLOCK_FAILED] = {"unlock_failed", "notice"},
    [LK_EVENT_REWRITTEN] = {"rewritten", "info"},
    [LK_EVENT_REJECTED] = {"rejected", "info"},
    [LK_EVENT_RELEASED] = {"released", "info"},
    [LK_EVENT_OBSERVED] = {"observed", "info"},
    [LK_EVENT_REWRITTEN_LOST] = {"rewritten_lost", "warning"},
    [LK_EVENT_WAIT] = {"wait", "notice"},
    [LK_EVENT_DEADLOCK] = {"deadlock", "warning"},
    [LK_EVENT_LINT] = {"lint", "info"},
};

const char *
lk_event_name(enum lk_event e)
{
    return events[e].name;
}

const char *
lk_event_level(enum lk_event e)
{
    return events[e].level;
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
