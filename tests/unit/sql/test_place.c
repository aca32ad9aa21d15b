#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sql/recognise.h"

/* Each call of the text as NAME|CALL|COLUMN END, with q where it is qualified and a where its column is aliased. */
static void
describe(const char *sql, char *out, size_t room)
{
    struct lk_recognised r = lk_recognise(lk_span_str(sql));
    struct lk_plan *plan = r.plan;
    assert_non_null(plan);
    size_t n = 0;
    out[0] = 0;
    for (uint16_t i = 0; i < plan->count; i++)
        for (uint16_t k = 0; k < plan->statements[i].call_count; k++) {
            struct lk_place p = plan->statements[i].calls[k].place;
            assert_true(p.name_len <= p.len && p.at + p.len <= p.column_end && p.column_end <= strlen(sql));
            n += (size_t)snprintf(out + n, room - n, "%s%.*s|%.*s|%.*s%s%s", n > 0 ? " // " : "", (int)p.name_len,
                sql + p.at, (int)p.len, sql + p.at, (int)(p.column_end - p.at - p.len), sql + p.at + p.len,
                p.qualified ? "|q" : "", p.aliased ? "|a" : "");
        }
    lk_recognised_clear(&r);
}

static void
a_call_is_found_from_its_name_to_its_closing_parenthesis(void **state)
{
    static const struct {
        const char *sql, *places;
    } rows[] = {
        {"select pg_advisory_lock(1)", "pg_advisory_lock|pg_advisory_lock(1)|"},
        {"select pg_advisory_lock( 1 ) ; ", "pg_advisory_lock|pg_advisory_lock( 1 )|"},
        {"SELECT PG_Try_Advisory_Lock($1, $2)::text AS x --y",
            "PG_Try_Advisory_Lock|PG_Try_Advisory_Lock($1, $2)|::text AS x|a"},
        {"select pg_advisory_unlock(1) ok, 2", "pg_advisory_unlock|pg_advisory_unlock(1)| ok|a"},
        {"select pg_catalog . /* ( */ \"pg_advisory_lock\" -- )\n (1)",
            "pg_catalog . /* ( */ \"pg_advisory_lock\"|pg_catalog . /* ( */ \"pg_advisory_lock\" -- )\n (1)||q"},
        {"(select(pg_advisory_lock((1)))::text)", "pg_advisory_lock|pg_advisory_lock((1))|)::text"},
        {"select CAST(pg_try_advisory_lock(CAST($1 AS int8)) AS int4)",
            "pg_try_advisory_lock|pg_try_advisory_lock(CAST($1 AS int8))| AS int4)"},
        {"select U&\"!0070g_advisory_lock\" UESCAPE '!' (1)",
            "U&\"!0070g_advisory_lock\" UESCAPE '!'|U&\"!0070g_advisory_lock\" UESCAPE '!' (1)|"},
        {"select u&\"pg_catalog\".u&\"\\0070g_advisory_lock\"(1)::text",
            "u&\"pg_catalog\".u&\"\\0070g_advisory_lock\"|u&\"pg_catalog\".u&\"\\0070g_advisory_lock\"(1)|::text|q"},
        {"select 'é), ü', 'it''s', pg_advisory_lock('7'), pg_advisory_unlock(E'7')::int4, $1",
            "pg_advisory_lock|pg_advisory_lock('7')| // pg_advisory_unlock|pg_advisory_unlock(E'7')|::int4"},
        {"select 1; /* 語 */ select pg_advisory_lock(1) /* , */ , pg_advisory_lock(2) a; select "
         "pg_advisory_unlock_all()",
            "pg_advisory_lock|pg_advisory_lock(1)| // pg_advisory_lock|pg_advisory_lock(2)| a|a // "
            "pg_advisory_unlock_all|pg_advisory_unlock_all()|"},
        {"select pg_advisory_lock(' 7 '::int8)/*x*/", "pg_advisory_lock|pg_advisory_lock(' 7 '::int8)|"},
    };
    for (size_t i = 0; i < LK_COUNT(rows); i++) {
        char got[1024];
        describe(rows[i].sql, got, sizeof(got));
        if (strcmp(got, rows[i].places) != 0)
            fail_msg("%s\n  gave     %s\n  expected %s", rows[i].sql, got, rows[i].places);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_found_from_its_name_to_its_closing_parenthesis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
