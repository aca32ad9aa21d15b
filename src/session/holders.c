#include "session/holders.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"

static bool
keeps_waiting(const struct lk_server *s, struct lk_holders_wanted wanted)
{
    const char *database = s->seat.pool->route.database;
    return s->state == LK_SERVER_LINKED && lk_ledger_own(&s->ledger) > 0 && (s->close_after || !wanted.closing) &&
        (!wanted.database || strcmp(database, wanted.database) == 0);
}

/* Names are a peer's: nothing in them may look like the end of a line. */
static void
add_name(struct lk_buf *out, const char *name)
{
    for (; *name; name++)
        lk_buf_add_u8(out, (uint8_t)*name < ' ' ? '?' : (uint8_t)*name);
}

static void
add_holder(struct lk_buf *out, const struct lk_server *s)
{
    char key[LK_KEY_TEXT], since[28];
    const struct lk_held *first = lk_ledger_oldest(&s->ledger);
    const struct lk_who *who = s->who;
    lk_key_format(first->key, key);
    lk_clock_logform(first->since.wall_us, since);
    lk_buf_add_format(out, "client %" PRIu64 " ", who->id);
    add_name(out, who->user);
    lk_buf_add_u8(out, '@');
    add_name(out, who->database);
    lk_buf_add(out, " (", 2);
    add_name(out, who->application_name);
    lk_buf_add_format(out, ") holds %s", key);
    if (lk_ledger_own(&s->ledger) > 1)
        lk_buf_add_format(out, " and %" PRIu32 " more", lk_ledger_own(&s->ledger) - 1);
    lk_buf_add_format(out, " since %s\n", since);
}

void
lk_holders_tell(const struct lk_core *core, struct lk_holders_wanted wanted, const char *what, struct lk_buf *out)
{
    unsigned count = 0, named = 0;
    LK_LIST_EACH(&core->servers, struct lk_server, node, s)
    count += keeps_waiting(s, wanted);
    if (count == 0)
        return;
    lk_buf_add_format(out, "%s waits for %u %s that session locks keep with %s\n", what, count,
        count == 1 ? "server" : "servers", count == 1 ? "its client" : "their clients");
    LK_LIST_EACH(&core->servers, struct lk_server, node, s)
    {
        if (named == LK_HOLDERS_NAMED || !keeps_waiting(s, wanted))
            continue;
        add_holder(out, s);
        named++;
    }
    if (count > named)
        lk_buf_add_format(out, "and %u others\n", count - named);
}

void
lk_holders_log(const struct lk_core *core, struct lk_holders_wanted wanted, const char *what)
{
    struct lk_buf lines = {0}, line = {0};
    lk_holders_tell(core, wanted, what, &lines);
    for (size_t i = 0; i + 1 < lines.len; i++) {
        if (lines.data[i] == '\n')
            lk_buf_add(&line, "; ", 2);
        else
            lk_buf_add_u8(&line, lines.data[i]);
    }
    if (line.len > 0)
        lk_log(LK_LOG_WARNING, "%.*s", (int)line.len, (const char *)line.data);
    lk_buf_clear(&lines);
    lk_buf_clear(&line);
}
