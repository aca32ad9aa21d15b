#include "unit/journal/example.h"

#define HEAD(level, event) "2026-11-30 09:15:02.123 UTC " level " " event " shop/app transaction"
#define CLIENT ", client 17 (billing) 127.0.0.1:50312"
#define BACKEND ", backend 4 pid 18422 127.0.0.1:5432"
#define LOCK ", lock 9527 exclusive x2 (\"nightly billing\")"
#define BARE ", fingerprint fedcba9876543210, statement: SELECT pg_advisory_lock($1)"
#define STATEMENT ", tags route=/pay" BARE

/* Frees the record. Owner of the text: the caller. */
static char *
written(struct lk_record *r)
{
    struct lk_buf b = {0};
    lk_journal_text(r, &b);
    assert_false(b.failed);
    lk_record_free(r);
    char *line = lk_mem_dup_span(lk_buf_span(&b));
    lk_buf_clear(&b);
    return line;
}

static void
expect(struct lk_record *r, const char *line)
{
    char *out = written(r);
    assert_string_equal(out, line);
    free(out);
}

static void
set(char **field, const char *value)
{
    free(*field);
    *field = lk_mem_dup(value);
}

static void
a_leak_is_one_line_with_the_statement_last(void **state)
{
    expect(record(LK_EVENT_LEAK),
        HEAD("WARNING", "leak") CLIENT BACKEND LOCK ", held 9.652 s since 2026-11-30 09:14:52.470 UTC, reason "
                                                    "client_disconnect, action unlock_all, source ledger" STATEMENT);
}

static void
what_is_not_known_is_left_out(void **state)
{
    struct lk_record *r = lk_record_new(LK_EVENT_LEAK, (struct lk_now){.wall_us = WALL_US});
    r->lock.present = true;
    expect(r, "2026-11-30 09:15:02.123 UTC WARNING leak unknown/unknown unknown, lock unknown, action none");
}

static void
each_event_tells_what_it_has(void **state)
{
    struct lk_record *r = record(LK_EVENT_LEAK_SUMMARY);
    r->omitted = 900;
    expect(r, HEAD("WARNING", "leak_summary") CLIENT BACKEND ", 900 more locks, reason client_disconnect");
    expect(record(LK_EVENT_LOST), HEAD("ERROR", "lost") CLIENT BACKEND LOCK ", held 9.652 s" BARE);
    expect(record(LK_EVENT_PIN), HEAD("INFO", "pin") CLIENT BACKEND LOCK ", held 9.652 s");
    expect(record(LK_EVENT_REJECTED), HEAD("INFO", "rejected") CLIENT BACKEND LOCK STATEMENT);
    r = record(LK_EVENT_LINT);
    r->lock.present = r->backend.present = false;
    r->lint = "the key comes from hashtext()";
    expect(r, HEAD("INFO", "lint") CLIENT ", the key comes from hashtext()" STATEMENT);
    r = record(LK_EVENT_HIDDEN);
    r->suspects[r->suspect_count++] = 1;
    r->suspects[r->suspect_count++] = 0xabcdef;
    set(&r->query, NULL);
    expect(
        r, HEAD("WARNING", "hidden") CLIENT BACKEND LOCK ", source ledger, suspects 0000000000000001 0000000000abcdef");
}

static void
who_waits_and_who_holds_is_told_in_words(void **state)
{
    struct lk_record *r = record(LK_EVENT_WAIT);
    r->waited_us = 5000999;
    r->holder = ours();
    expect(r, HEAD("NOTICE", "wait") CLIENT BACKEND LOCK
        ", waited 5.000 s, held by client 3 (cron) unix:6432 pid 900" STATEMENT);
    r = record(LK_EVENT_UNLOCK_FAILED);
    r->holder = (struct lk_party){.present = true, .pid = 77};
    expect(r, HEAD("NOTICE", "unlock_failed") CLIENT BACKEND LOCK ", held by pid 77" STATEMENT);
    expect(record(LK_EVENT_UNLOCK_FAILED), HEAD("NOTICE", "unlock_failed") CLIENT BACKEND LOCK STATEMENT);
    r = record(LK_EVENT_PINS_FULL);
    r->client.present = r->backend.present = false;
    r->pinned = 10;
    r->waiting = 3;
    r->pool_size = 20;
    r->holder = ours();
    expect(r, HEAD("WARNING", "pins_full") LOCK ", held 9.652 s, 10 of 20 servers pinned, 3 waiting"
                                                ", held by client 3 (cron) unix:6432 pid 900");
    r = record(LK_EVENT_DEADLOCK);
    add_waits(r);
    expect(r, HEAD("WARNING", "deadlock") CLIENT BACKEND
        ", client 3 (cron) unix:6432 pid 900 waits for lock -1 exclusive (nightly) of pid 901"
        ", pid 901 waits for \"transaction 815\" of client 3 (cron) unix:6432 pid 900" STATEMENT);
}

static void
names_that_could_feign_something_are_quoted_and_escaped(void **state)
{
    struct lk_record *r = record(LK_EVENT_PIN);
    set(&r->database, "sh op");
    set(&r->user, "\xc3\xa4pp");
    set(&r->client.application_name, "x) 1.2.3.4:5, lock 1 \"\\\n\t\r\x1b\x7f\xff\xc2\x9b");
    set(&r->client.addr, "::1");
    set(&r->lock.name, "");
    expect(r, "2026-11-30 09:15:02.123 UTC INFO pin \"sh op\"/\"\xc3\xa4pp\" transaction, client 17 "
              "(\"x) 1.2.3.4:5, lock 1 \\\"\\\\\\n\\t\\r\\u001b\\u007f\xef\xbf\xbd\\u009b\") [::1]:50312" BACKEND
              ", lock 9527 exclusive x2, held 9.652 s");
}

static void
a_statement_stays_on_its_line_and_is_cut(void **state)
{
    struct lk_record *r = record(LK_EVENT_LOST);
    set(&r->query, "select\n  pg_advisory_lock(\"id\")");
    char *line = written(r);
    assert_non_null(strstr(line, ", statement: select\\n  pg_advisory_lock(\"id\")"));
    assert_null(strchr(line, '\n'));
    free(line);
    r = record(LK_EVENT_LOST);
    free(r->query);
    r->query = lk_mem_new(2000);
    memset(r->query, 'x', 1999);
    line = written(r);
    assert_int_equal(strlen(strstr(line, "statement: ")), strlen("statement: ") + 1024);
    free(line);
}

static void
dropped_records_are_told_in_the_same_form(void **state)
{
    struct lk_buf b = {0};
    lk_journal_text_dropped(3, WALL_US, &b);
    lk_buf_add_u8(&b, '\0');
    assert_string_equal((char *)b.data, "2026-11-30 09:15:02.123 UTC WARNING dropped 3 records could not be written");
    lk_buf_clear(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leak_is_one_line_with_the_statement_last),
        cmocka_unit_test(what_is_not_known_is_left_out),
        cmocka_unit_test(each_event_tells_what_it_has),
        cmocka_unit_test(who_waits_and_who_holds_is_told_in_words),
        cmocka_unit_test(names_that_could_feign_something_are_quoted_and_escaped),
        cmocka_unit_test(a_statement_stays_on_its_line_and_is_cut),
        cmocka_unit_test(dropped_records_are_told_in_the_same_form),
    };
    return cmocka_run_group_tests_name("journal/text", tests, NULL, NULL);
}
