#include "unit/journal/example.h"

#include <jansson.h>

#define COMMON(event, level)                                                                                           \
    "{\"ts\":\"2026-11-30T09:15:02.123456Z\",\"event\":\"" event "\",\"level\":\"" level                               \
    "\",\"database\":\"shop\",\"user\":\"app\",\"pool_mode\":\"transaction\""
#define CLIENT ",\"client\":{\"id\":17,\"addr\":\"127.0.0.1\",\"port\":50312,\"application_name\":\"billing\"}"
#define BACKEND ",\"backend\":{\"id\":4,\"pid\":18422,\"addr\":\"127.0.0.1\",\"port\":5432}"
#define LOCK                                                                                                           \
    ",\"lock\":{\"space\":\"bigint\",\"key\":\"9527\",\"mode\":\"exclusive\",\"count\":2,\"name\":\"nightly "          \
    "billing\"}"

/* Frees the record. Owner of the text: the caller. */
static char *
written(struct lk_record *r)
{
    struct lk_buf b = {0};
    lk_journal_json(r, &b);
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

static json_t *
parsed(struct lk_record *r)
{
    char *line = written(r);
    json_t *o = json_loads(line, 0, NULL);
    assert_non_null(o);
    free(line);
    return o;
}

static void
a_leak_has_every_field_in_its_order(void **state)
{
    expect(record(LK_EVENT_LEAK), COMMON("leak", "warning") CLIENT BACKEND LOCK
        ",\"held_ms\":9652,\"acquired_at\":\"2026-11-30T09:14:52.470457Z\",\"query\":\"SELECT pg_advisory_lock($1)\","
        "\"fingerprint\":\"fedcba9876543210\",\"tags\":{\"route\":\"/pay\"},\"source\":\"ledger\","
        "\"reason\":\"client_disconnect\",\"action\":\"unlock_all\"}");
}

static void
what_is_not_known_is_null(void **state)
{
    struct lk_record *r = lk_record_new(LK_EVENT_LEAK, (struct lk_now){.wall_us = WALL_US});
    r->lock.present = true;
    expect(r, "{\"ts\":\"2026-11-30T09:15:02.123456Z\",\"event\":\"leak\",\"level\":\"warning\",\"database\":null,"
              "\"user\":null,\"pool_mode\":null,"
              "\"lock\":{\"space\":null,\"key\":null,\"mode\":null,\"count\":null,\"name\":null},\"held_ms\":null,"
              "\"acquired_at\":null,\"query\":null,\"fingerprint\":null,\"tags\":{},\"source\":null,\"reason\":null,"
              "\"action\":\"none\"}");
}

static void
each_event_has_its_own_fields(void **state)
{
    struct lk_record *r = record(LK_EVENT_LEAK_SUMMARY);
    r->omitted = 900;
    expect(r, COMMON("leak_summary", "warning") CLIENT BACKEND ",\"omitted\":900,\"reason\":\"client_disconnect\"}");
    r = record(LK_EVENT_HIDDEN);
    r->source = LK_SOURCE_PROBE;
    expect(r, COMMON("hidden", "warning") CLIENT BACKEND LOCK
        ",\"query\":\"SELECT pg_advisory_lock($1)\",\"fingerprint\":\"fedcba9876543210\",\"source\":\"probe\"}");
    expect(record(LK_EVENT_LOST), COMMON("lost", "error") CLIENT BACKEND LOCK
        ",\"held_ms\":9652,\"query\":\"SELECT pg_advisory_lock($1)\",\"fingerprint\":\"fedcba9876543210\"}");
    expect(record(LK_EVENT_PIN), COMMON("pin", "info") CLIENT BACKEND LOCK ",\"held_ms\":9652}");
    expect(record(LK_EVENT_UNPIN), COMMON("unpin", "info") CLIENT BACKEND LOCK ",\"held_ms\":9652}");
}

#define STATEMENT                                                                                                      \
    ",\"query\":\"SELECT pg_advisory_lock($1)\",\"fingerprint\":\"fedcba9876543210\""                                  \
    ",\"tags\":{\"route\":\"/pay\"}"
#define OURS "{\"client\":{\"id\":3,\"addr\":\"unix\",\"port\":6432,\"application_name\":\"cron\"},\"pid\":900}"

static void
a_holder_is_a_client_where_it_is_ours_and_else_a_pid(void **state)
{
    struct lk_record *r = record(LK_EVENT_WAIT);
    r->waited_us = 5000999;
    r->holder = ours();
    expect(r, COMMON("wait", "notice") CLIENT BACKEND LOCK ",\"waited_ms\":5000,\"holder\":" OURS STATEMENT "}");
    r = record(LK_EVENT_WAIT);
    r->holder = (struct lk_party){.present = true, .pid = 77};
    expect(r, COMMON("wait", "notice") CLIENT BACKEND LOCK ",\"waited_ms\":null,\"holder\":{\"pid\":77}" STATEMENT "}");
    expect(record(LK_EVENT_UNLOCK_FAILED),
        COMMON("unlock_failed", "notice") CLIENT BACKEND LOCK ",\"holder\":null" STATEMENT "}");
}

static void
a_full_pool_names_the_lock_that_is_held_longest(void **state)
{
    struct lk_record *r = record(LK_EVENT_PINS_FULL);
    r->client.present = r->backend.present = false;
    r->pinned = 10;
    r->waiting = 3;
    r->pool_size = 20;
    r->holder = ours();
    expect(r, COMMON("pins_full", "warning") LOCK
        ",\"held_ms\":9652,\"pinned\":10,\"waiting\":3,\"pool_size\":20,\"holder\":" OURS "}");
}

static void
a_deadlock_tells_who_waits_for_what_and_for_whom(void **state)
{
    struct lk_record *r = record(LK_EVENT_DEADLOCK);
    add_waits(r);
    expect(r, COMMON("deadlock", "warning") CLIENT BACKEND
        ",\"waits\":[{\"client\":{\"id\":3,\"addr\":\"unix\",\"port\":6432,\"application_name\":\"cron\"},\"pid\":900,"
        "\"lock\":{\"space\":\"bigint\",\"key\":\"-1\",\"mode\":\"exclusive\",\"name\":\"nightly\"},"
        "\"blocked_by\":{\"pid\":901}},"
        "{\"pid\":901,\"lock\":\"transaction 815\",\"blocked_by\":" OURS "}]" STATEMENT "}");
}

static void
what_a_policy_did_is_told_with_lock_and_statement(void **state)
{
    expect(record(LK_EVENT_IDLE_HOLD),
        COMMON("idle_hold", "notice") CLIENT BACKEND LOCK ",\"held_ms\":9652" STATEMENT "}");
    expect(record(LK_EVENT_PIN_TIMEOUT), COMMON("pin_timeout", "warning") CLIENT BACKEND LOCK ",\"held_ms\":9652}");
    expect(record(LK_EVENT_REWRITTEN), COMMON("rewritten", "info") CLIENT BACKEND LOCK STATEMENT "}");
    expect(record(LK_EVENT_REJECTED), COMMON("rejected", "info") CLIENT BACKEND LOCK STATEMENT "}");
    expect(record(LK_EVENT_RELEASED), COMMON("released", "info") CLIENT BACKEND LOCK STATEMENT "}");
    expect(record(LK_EVENT_OBSERVED), COMMON("observed", "info") CLIENT BACKEND LOCK STATEMENT "}");
    expect(record(LK_EVENT_REWRITTEN_LOST),
        COMMON("rewritten_lost", "warning") CLIENT BACKEND LOCK ",\"held_ms\":9652" STATEMENT "}");
    struct lk_record *r = record(LK_EVENT_LINT);
    r->lock.present = r->backend.present = false;
    r->lint = "the key comes from hashtext()";
    expect(r, COMMON("lint", "info") CLIENT STATEMENT ",\"lint\":\"the key comes from hashtext()\"}");
}

static void
a_hidden_lock_of_several_suspects_names_them(void **state)
{
    struct lk_record *r = record(LK_EVENT_HIDDEN);
    r->suspect_count = 2;
    r->suspects[0] = 1;
    r->suspects[1] = 0xabcdef;
    free(r->query);
    r->query = NULL;
    expect(r, COMMON("hidden", "warning") CLIENT BACKEND LOCK
        ",\"query\":null,\"suspects\":[\"0000000000000001\",\"0000000000abcdef\"],\"source\":\"ledger\"}");
}

static void
keys_of_both_spaces_are_signed_strings(void **state)
{
    struct lk_record *r = record(LK_EVENT_PIN);
    r->lock.key = lk_key_pair(-7, 9);
    r->lock.mode = LK_MODE_SHARED;
    r->lock.count = 0;
    json_t *o = parsed(r), *lock = json_object_get(o, "lock");
    assert_string_equal(json_string_value(json_object_get(lock, "space")), "int4pair");
    assert_string_equal(json_string_value(json_object_get(lock, "key")), "-7,9");
    assert_string_equal(json_string_value(json_object_get(lock, "mode")), "shared");
    assert_true(json_is_null(json_object_get(lock, "count")));
    json_decref(o);
}

static void
untrusted_text_is_escaped_and_repaired(void **state)
{
    struct lk_record *r = record(LK_EVENT_LEAK);
    free(r->client.application_name);
    r->client.application_name = lk_mem_dup("a\"b\\c\n\x1b\xff");
    char *line = written(r);
    assert_non_null(strstr(line, "\"application_name\":\"a\\\"b\\\\c\\n\\u001B\xef\xbf\xbd\""));
    assert_null(strchr(line, '\n'));
    free(line);
}

static void
a_query_is_cut_at_1024_bytes_on_a_characters_border(void **state)
{
    struct lk_record *r = record(LK_EVENT_LEAK);
    free(r->query);
    r->query = lk_mem_new(2000);
    memset(r->query, 'x', 1023);
    for (size_t i = 1023; i < 1900; i += 3)
        memcpy(r->query + i, "\xe2\x82\xac", 3);
    json_t *o = parsed(r);
    assert_int_equal(json_string_length(json_object_get(o, "query")), 1023);
    json_decref(o);
}

static void
the_first_of_two_tags_of_one_name_counts(void **state)
{
    struct lk_record *r = record(LK_EVENT_LEAK);
    free(r->comment_source);
    r->comment_source = lk_mem_dup("/*a:1*/ select 1 /*a:2,b='%00%ff'*/");
    char *line = written(r);
    assert_non_null(strstr(line, "\"tags\":{\"a\":\"1\",\"b\":\"\\u0000\xef\xbf\xbd\"}"));
    free(line);
}

static void
lines_are_appended(void **state)
{
    struct lk_buf b = {0};
    struct lk_record *r = record(LK_EVENT_PIN);
    lk_buf_add(&b, "x", 1);
    lk_journal_json(r, &b);
    assert_memory_equal(b.data, "x{\"ts\"", 6);
    lk_record_free(r);
    lk_buf_clear(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leak_has_every_field_in_its_order),
        cmocka_unit_test(what_is_not_known_is_null),
        cmocka_unit_test(each_event_has_its_own_fields),
        cmocka_unit_test(a_holder_is_a_client_where_it_is_ours_and_else_a_pid),
        cmocka_unit_test(a_full_pool_names_the_lock_that_is_held_longest),
        cmocka_unit_test(a_deadlock_tells_who_waits_for_what_and_for_whom),
        cmocka_unit_test(what_a_policy_did_is_told_with_lock_and_statement),
        cmocka_unit_test(a_hidden_lock_of_several_suspects_names_them),
        cmocka_unit_test(keys_of_both_spaces_are_signed_strings),
        cmocka_unit_test(untrusted_text_is_escaped_and_repaired),
        cmocka_unit_test(a_query_is_cut_at_1024_bytes_on_a_characters_border),
        cmocka_unit_test(the_first_of_two_tags_of_one_name_counts),
        cmocka_unit_test(lines_are_appended),
    };
    return cmocka_run_group_tests_name("journal/json", tests, NULL, NULL);
}
