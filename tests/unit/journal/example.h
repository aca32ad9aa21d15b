/* A record with everything filled in, for the tests of both forms of the leak log. Included by one test program each.
 */
#ifndef LK_TESTS_EXAMPLE_H
#define LK_TESTS_EXAMPLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "journal/journal.h"

#define WALL_US (INT64_C(1796030102) * LK_SECOND_US + 123456)

static struct lk_record *
record(enum lk_event event)
{
    struct lk_record *r = lk_record_new(event, (struct lk_now){.mono_us = 5, .wall_us = WALL_US});
    r->database = lk_mem_dup("shop");
    r->user = lk_mem_dup("app");
    r->pool_mode = "transaction";
    r->client.present = r->backend.present = r->lock.present = true;
    r->client.id = 17;
    r->client.addr = lk_mem_dup("127.0.0.1");
    r->client.port = 50312;
    r->client.application_name = lk_mem_dup("billing");
    r->backend.id = 4;
    r->backend.pid = 18422;
    r->backend.addr = lk_mem_dup("127.0.0.1");
    r->backend.port = 5432;
    r->lock.key_known = r->lock.mode_known = true;
    r->lock.key = lk_key_bigint(9527);
    r->lock.count = 2;
    r->lock.name = lk_mem_dup("nightly billing");
    r->held_us = 9652999;
    r->acquired_wall_us = WALL_US - 9652999;
    r->query = lk_mem_dup("SELECT pg_advisory_lock($1)");
    r->comment_source = lk_mem_dup("SELECT pg_advisory_lock(9527) /*route='%2Fpay'*/");
    r->fingerprint = 0xfedcba9876543210u;
    r->source = LK_SOURCE_LEDGER;
    r->reason = LK_REASON_CLIENT_DISCONNECT;
    r->action = LK_ACTION_UNLOCK_ALL;
    return r;
}

static struct lk_party
ours(void)
{
    return (struct lk_party){.present = true,
        .client_id = 3,
        .addr = lk_mem_dup("unix"),
        .port = 6432,
        .application_name = lk_mem_dup("cron"),
        .pid = 900};
}

static void
add_waits(struct lk_record *r)
{
    struct lk_deadlock_wait *w = lk_record_add_wait(r);
    *w = (struct lk_deadlock_wait){.waiter = ours(),
        .key_known = true,
        .key = lk_key_bigint(-1),
        .mode_known = true,
        .lock_name = lk_mem_dup("nightly"),
        .blocked_by = {.present = true, .pid = 901}};
    w = lk_record_add_wait(r);
    *w = (struct lk_deadlock_wait){
        .waiter = {.present = true, .pid = 901}, .lock_text = lk_mem_dup("transaction 815"), .blocked_by = ours()};
}

#endif
