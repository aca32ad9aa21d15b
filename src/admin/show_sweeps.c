/* What sweeps saw: locks of backends that are not ours, and who waits for whom. As old as the last sweep of each server. */
#include "admin/views.h"

#include "session/keyname.h"
#include "session/sweeps.h"

static void
add_uint_or_null(struct lk_table *t, uint64_t n)
{
    if (n > 0)
        lk_table_add_uint(t, n);
    else
        lk_table_add(t, NULL);
}

static void
add_nulls(struct lk_table *t, unsigned count)
{
    while (count-- > 0) lk_table_add(t, NULL);
}

static void
add_key(struct lk_table *t, const struct lk_show *from, const struct lk_sweep_row *r)
{
    char text[LK_KEY_TEXT];
    lk_key_format(r->key, text);
    lk_table_add(t, lk_space_name(lk_key_space(r->key)));
    lk_table_add(t, text);
    lk_table_add(t, lk_keyname_of(from->core->settings, r->database, r->key));
    lk_table_add(t, lk_mode_name(r->mode));
}

/* In the columns of ADVISORY_LOCKS. */
void
lk_show_foreign_locks(struct lk_table *t, const struct lk_show *from)
{
    for (const struct lk_sweep *sw = from->core->sweeps; sw; sw = sw->next) {
        for (uint32_t i = 0; i < sw->count; i++) {
            const struct lk_sweep_row *r = &sw->rows[i];
            if (lk_sweep_server(from->core, sw, r->pid))
                continue;
            add_nulls(t, 1);
            add_uint_or_null(t, r->pid);
            add_nulls(t, 1);
            lk_table_add(t, r->pid == 0 ? "(prepared transaction)" : NULL);
            lk_table_add(t, r->database[0] ? r->database : NULL);
            add_nulls(t, 1);
            add_key(t, from, r);
            add_nulls(t, 1);
            lk_table_add(t, r->granted ? "t" : "f");
            add_nulls(t, 1);
            if (r->waited_us >= 0)
                lk_show_time_ms(t, from->now.wall_us - (from->now.mono_us - sw->began_us) - r->waited_us);
            else
                lk_table_add(t, NULL);
            add_nulls(t, 1);
        }
    }
}

static void
add_end(struct lk_table *t, const struct lk_server *s, uint32_t pid)
{
    const struct lk_who *who = s ? s->who : NULL;
    add_uint_or_null(t, who ? who->id : 0);
    lk_table_add(t, who ? who->application_name : NULL);
    add_uint_or_null(t, pid);
}

void
lk_show_lock_waits(struct lk_table *t, const struct lk_show *from)
{
    for (const struct lk_sweep *sw = from->core->sweeps; sw; sw = sw->next) {
        int64_t age_us = from->now.mono_us - sw->began_us;
        for (uint32_t i = 0; i < sw->count; i++) {
            const struct lk_sweep_row *r = &sw->rows[i];
            if (r->granted)
                continue;
            const struct lk_sweep_row *holder = lk_sweep_holder(sw, r);
            lk_table_add(t, r->database[0] ? r->database : NULL);
            add_end(t, lk_sweep_server(from->core, sw, r->pid), r->pid);
            add_key(t, from, r);
            add_end(t, holder ? lk_sweep_server(from->core, sw, holder->pid) : NULL, holder ? holder->pid : 0);
            if (r->waited_us >= 0)
                lk_table_add_int(t, r->waited_us / 1000);
            else
                lk_table_add(t, NULL);
            lk_table_add_int(t, age_us / 1000);
        }
    }
}
