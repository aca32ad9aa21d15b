#include "lock/known.h"

#include <string.h>

#include <zlib.h>

#include "base/mem.h"

static const struct {
    int64_t key; /* a bigint */
    const char *name;
} fixed[] = {
    {72707369, "Prisma Migrate"},
    {INT64_C(7241865325823964), "node-pg-migrate"},
    {INT64_C(-8525285245963000605), "postgres-migrations or supabase storage"},
    {INT64_C(4097083626), "goose"},
    {INT64_C(9628173550095224), "tern"},
    {INT64_C(8318549251334697844), "sqlx test harness"}, /* "sqlxtest" */
    {41730001, "Marten"},
    {INT64_C(0x2c03057fb9525b), "pgroll"},
    {INT64_C(0x6c6b646f63746f72), "lockkeeper doctor"}, /* "lkdoctor" */
};

/* "Flyway", to which Java's hash of the history table's name is added. */
#define FLYWAY INT64_C(0x466c79776179)

#define RAILS_SALT UINT64_C(2053462845)
#define SQLX_SALT UINT64_C(0x3d32ad9e)
#define GOLANG_MIGRATE_SALT 1486364155u

static uint32_t
crc_of(uint32_t crc, const char *s, size_t n)
{
    return (uint32_t)crc32(crc, (const unsigned char *)s, (unsigned)n);
}

/* Keys made from CRC-32 of the database's name. */
static const char *
derived(const char *dbname, uint64_t key)
{
    /* golang-migrate's name of a database, when schema and table are its defaults. */
    static const char before[] = "public\0schema_migrations"; /* and this array's NUL */
    size_t n = strlen(dbname);
    uint32_t crc = crc_of(0, dbname, n);
    if (key == RAILS_SALT * crc)
        return "Rails migrations";
    if (key == SQLX_SALT * crc)
        return "sqlx migrations";
    if (key == crc_of(crc_of(0, before, sizeof(before)), dbname, n) * GOLANG_MIGRATE_SALT)
        return "golang-migrate";
    return NULL;
}

const char *
lk_known_name(const char *dbname, struct lk_key key)
{
    if (lk_key_space(key) != LK_SPACE_BIGINT)
        return NULL;
    int64_t value = (int64_t)((uint64_t)key.classid << 32 | key.objid);
    for (size_t i = 0; i < LK_COUNT(fixed); i++)
        if (fixed[i].key == value)
            return fixed[i].name;
    if (value >= FLYWAY + INT32_MIN && value <= FLYWAY + INT32_MAX)
        return "Flyway";
    return dbname ? derived(dbname, (uint64_t)value) : NULL;
}
