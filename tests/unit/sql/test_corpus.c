/* What well-known users of advisory locks send: texts of the same shape, and how each is understood. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sql/analysis.h"
#include "unit/sql/describe.h"

static const struct lk_hash_key KEY = {1, 2};

struct row {
    const char *who, *sql, *plan;
};

static void
check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char got[1024];
        struct lk_analysis *a = lk_analysis_make(lk_span_str(rows[i].sql), (struct lk_sql_mode){true, true}, &KEY);
        describe(a->plan, got, sizeof(got));
        lk_analysis_unref(a);
        if (strcmp(got, rows[i].plan) != 0)
            fail_msg("%s: %s\n  gave     %s\n  expected %s", rows[i].who, rows[i].sql, got, rows[i].plan);
    }
}

static void
migration_tools_are_understood_exactly(void **state)
{
    static const struct row rows[] = {
        {"Rails", "SELECT pg_try_advisory_lock(4611686018427387001)",
            "exact/1 0:pg_try_advisory_lock(4611686018427387001):bool"},
        {"Rails", "SELECT pg_advisory_unlock(4611686018427387001)",
            "exact/1 0:pg_advisory_unlock(4611686018427387001):bool"},
        {"Ecto", "SELECT pg_try_advisory_lock(72310144)", "exact/1 0:pg_try_advisory_lock(72310144):bool"},
        {"golang-migrate", "SELECT pg_advisory_lock($1)", "exact/1 0:pg_advisory_lock($1):void"},
        {"golang-migrate", "SELECT pg_advisory_unlock($1)", "exact/1 0:pg_advisory_unlock($1):bool"},
        {"goose", "SELECT pg_try_advisory_lock($1)", "exact/1 0:pg_try_advisory_lock($1):bool"},
        {"tern", "select pg_advisory_lock($1)", "exact/1 0:pg_advisory_lock($1):void"},
        {"postgres-migrations", "SELECT pg_try_advisory_lock(-8525285245963000605);",
            "exact/1 0:pg_try_advisory_lock(-8525285245963000605):bool"},
        {"postgres-migrations", "SELECT pg_advisory_unlock(-8525285245963000605);",
            "exact/1 0:pg_advisory_unlock(-8525285245963000605):bool"},
        {"Prisma", "SELECT pg_advisory_lock(72707369)", "exact/1 0:pg_advisory_lock(72707369):void"},
        {"Liquibase extension", "SELECT pg_try_advisory_lock($1,$2)", "exact/1 0:pg_try_advisory_lock($1,$2):bool"},
        {"Airflow", "SET LOCK_TIMEOUT to 1000; SELECT pg_advisory_lock(1);", "-; exact/1 0:pg_advisory_lock(1):void"},
        {"Grafana", "SELECT pg_advisory_unlock($1)", "exact/1 0:pg_advisory_unlock($1):bool"},
        {"authentik", "SELECT pg_advisory_lock(1000)", "exact/1 0:pg_advisory_lock(1000):void"},
        {"DBOS", "SELECT pg_try_advisory_lock($1::BIGINT)", "exact/1 0:pg_try_advisory_lock($1:int8):bool"},
        {"Marten", "select pg_advisory_lock(41730001);", "exact/1 0:pg_advisory_lock(41730001):void"},
        {"Windmill", "SELECT pg_try_advisory_lock($1)", "exact/1 0:pg_try_advisory_lock($1):bool"},
        {"Immich", "SELECT pg_advisory_lock(200)", "exact/1 0:pg_advisory_lock(200):void"},
    };
    check_rows(rows, LK_COUNT(rows));
}

static void
lock_libraries_are_understood_exactly(void **state)
{
    static const struct row rows[] = {
        {"with_advisory_lock", "SELECT pg_try_advisory_lock(1868359801,0) AS t6d2f41 /* nightly (EU); 'x' */",
            "exact/1 0:pg_try_advisory_lock(1868359801,0):bool"},
        {"with_advisory_lock", "SELECT pg_advisory_unlock_shared(1868359801,7) AS t9 /* x */",
            "exact/1 0:pg_advisory_unlock_shared(1868359801,7):bool"},
        {"sqlx guard", "SELECT pg_advisory_lock($1, $2)", "exact/1 0:pg_advisory_lock($1,$2):void"},
        {"sqlx guard, dropped", "SELECT pg_advisory_unlock(-5501234567890123456)",
            "exact/1 0:pg_advisory_unlock(-5501234567890123456):bool"},
        {"Concourse", "SELECT pg_try_advisory_lock($1, $2)", "exact/1 0:pg_try_advisory_lock($1,$2):bool"},
        {"django-pglocks", "SELECT pg_advisory_lock(-1907, 42) -- 'job' @ worker.py:12",
            "exact/1 0:pg_advisory_lock(-1907,42):void"},
        {"django-pglocks", "SELECT pg_try_advisory_lock_shared(-1907)",
            "exact/1 0:pg_try_advisory_lock_shared(-1907):bool"},
        {"go-pglock", "SELECT pg_try_advisory_lock_shared($1)", "exact/1 0:pg_try_advisory_lock_shared($1):bool"},
        {"Symfony", "SELECT pg_try_advisory_lock($1)", "exact/1 0:pg_try_advisory_lock($1):bool"},
        {"Weasel", "SELECT pg_try_advisory_lock($1);", "exact/1 0:pg_try_advisory_lock($1):bool"},
    };
    check_rows(rows, LK_COUNT(rows));
}

static void
keys_that_the_server_computes_are_unsure(void **state)
{
    static const struct row rows[] = {
        {"good_job", "SELECT pg_try_advisory_lock(('x' || substr(md5($1::text), 1, 16))::bit(64)::bigint) AS locked",
            "unsure"},
        {"good_job", "SELECT pg_advisory_lock(hashtext($1::text)::bigint)::text AS locked", "unsure"},
        {"good_job",
            "WITH r AS (SELECT id, queue FROM jobs WHERE done IS NULL ORDER BY priority LIMIT 1) SELECT id FROM jobs "
            "WHERE "
            "id IN (SELECT id FROM r WHERE pg_try_advisory_lock(('x' || md5(id::text))::bit(64)::bigint))",
            "unsure"},
        {"que", "SELECT pg_advisory_unlock(v.i) FROM (VALUES (71),(72),(73)) v (i)", "unsure"},
        {"eventstore",
            "SELECT pg_try_advisory_lock(\n  '\"public\".\"subscriptions\"'::regclass::oid::int,\n  (CASE WHEN $1 > "
            "2147483647 THEN mod($1, 2147483647) ELSE $1 END)::int\n)",
            "unsure"},
        {"Symfony",
            "SELECT pg_advisory_unlock(objid::bigint) FROM pg_locks WHERE locktype = 'advisory' AND mode = "
            "'ExclusiveLock' "
            "AND objid = $1 AND pid = pg_backend_pid()",
            "unsure"},
    };
    check_rows(rows, LK_COUNT(rows));
}

static void
transaction_locks_and_hidden_ones_are_no_touch_by_their_text(void **state)
{
    static const struct row rows[] = {
        {"River", "-- name: Lock :exec\nSELECT pg_advisory_xact_lock($1)", "none"},
        {"sqlx tests", "SELECT pg_advisory_xact_lock(8318549251334697844); CREATE TABLE IF NOT EXISTS t (i int)",
            "none"},
        {"Flyway", "SELECT pg_try_advisory_xact_lock(77430000000000)", "none"},
        {"Coder", "SELECT pg_try_advisory_xact_lock($1)", "none"},
        {"terraform", "SELECT pg_advisory_xact_lock(oid::bigint) FROM pg_roles WHERE rolname = $1", "none"},
        {"pgroll", "SELECT pg_advisory_xact_lock($1)", "none"},
        {"pgqueuer",
            "WITH guard AS (SELECT pg_try_advisory_xact_lock(hashtext('q')) AS proceed) UPDATE jobs SET state = 'x' "
            "FROM "
            "guard WHERE guard.proceed",
            "none"},
        {"pulpcore", "SELECT pg_try_advisory_xact_lock(0, 42)", "none"},
        {"supabase storage", "SELECT pg_try_advisory_xact_lock($1) AS locked", "none"},
        {"que's poller",
            "WITH RECURSIVE jobs AS (SELECT (j).* FROM t AS j UNION ALL SELECT (l).* FROM jobs, LATERAL "
            "pg_temp.lock_and_update(jobs) AS l) SELECT * FROM jobs",
            "none"},
        {"pg_partman", "CALL partman.run_maintenance_proc()", "none"},
        {"pgmq", "SELECT pgmq.create('orders')", "none"},
        {"TimescaleDB", "SELECT debug_waitpoint_enable('x')", "none"},
        {"good_job's look at pg_locks",
            "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND pid = pg_backend_pid()", "none"},
    };
    check_rows(rows, LK_COUNT(rows));
}

static void
resets_of_drivers_and_poolers_are_understood_exactly(void **state)
{
    static const struct row rows[] = {
        {"good_job", "SELECT pg_advisory_unlock_all()::text AS unlocked", "exact/1 0:pg_advisory_unlock_all():text"},
        {"Npgsql",
            "SET SESSION AUTHORIZATION DEFAULT;RESET ALL;CLOSE ALL;UNLISTEN *;SELECT pg_advisory_unlock_all();DISCARD "
            "SEQUENCES;DISCARD TEMP;select 7",
            "-; -; -; -; exact/1 0:pg_advisory_unlock_all():void; -; -; -"},
        {"asyncpg", "\n  SELECT pg_advisory_unlock_all();\n CLOSE ALL;\n UNLISTEN *;\n RESET ALL;",
            "exact/1 0:pg_advisory_unlock_all():void; -; -; -"},
        {"Odyssey",
            "SET SESSION AUTHORIZATION DEFAULT;RESET ALL;CLOSE ALL;UNLISTEN *;SELECT pg_advisory_unlock_all();DISCARD "
            "PLANS;DISCARD SEQUENCES;DISCARD TEMP;",
            "-; -; -; -; exact/1 0:pg_advisory_unlock_all():void; -; -; -"},
        {"PgDog", "SELECT pg_advisory_unlock_all()", "exact/1 0:pg_advisory_unlock_all():void"},
    };
    check_rows(rows, LK_COUNT(rows));
}

static void
functions_that_public_tools_create_are_named(void **state)
{
    static const struct {
        const char *who, *sql, *creates;
    } rows[] = {
        {"que",
            "CREATE FUNCTION pg_temp.lock_and_update(j t) RETURNS TABLE (a t) AS $$ WITH l AS (SELECT * FROM t) SELECT "
            "t FROM "
            "t, LATERAL pg_try_advisory_lock((j).id) $$ STABLE LANGUAGE SQL",
            "lock_and_update"},
        {"pg_partman",
            "CREATE OR REPLACE PROCEDURE partman.run_proc() LANGUAGE plpgsql AS $$ DECLARE v boolean; BEGIN v := "
            "pg_catalog.pg_try_advisory_lock(hashtext('run')); COMMIT; PERFORM pg_advisory_unlock(hashtext('run')); "
            "END $$",
            "run_proc"},
        {"pgmq",
            "CREATE FUNCTION pgmq.take(q text) RETURNS void AS $$ BEGIN PERFORM pg_advisory_xact_lock(hashtext('q' || "
            "q)); "
            "END $$ LANGUAGE plpgsql",
            NULL},
        {"pulpcore",
            "CREATE FUNCTION on_task() RETURNS trigger AS $$ BEGIN PERFORM pg_advisory_xact_lock(4711, hashtext(r)) "
            "FROM "
            "unnest(new.resources) r ORDER BY 1; RETURN new; END $$ LANGUAGE plpgsql",
            NULL},
    };
    for (size_t i = 0; i < LK_COUNT(rows); i++) {
        struct lk_analysis *a = lk_analysis_make(lk_span_str(rows[i].sql), (struct lk_sql_mode){true, true}, &KEY);
        const char *got = a->creates ? a->creates[0] : NULL;
        if (a->plan || !got != !rows[i].creates || (got && (strcmp(got, rows[i].creates) != 0 || a->creates[1])))
            fail_msg("%s: %s", rows[i].who, got ? got : "none");
        lk_analysis_unref(a);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(migration_tools_are_understood_exactly),
        cmocka_unit_test(lock_libraries_are_understood_exactly),
        cmocka_unit_test(keys_that_the_server_computes_are_unsure),
        cmocka_unit_test(transaction_locks_and_hidden_ones_are_no_touch_by_their_text),
        cmocka_unit_test(resets_of_drivers_and_poolers_are_understood_exactly),
        cmocka_unit_test(functions_that_public_tools_create_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
