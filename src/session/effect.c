#include "session/effect.h"

#include <stdlib.h>

#include "base/mem.h"

static struct lk_effect *
append(struct lk_effects *e, enum lk_effect_kind kind, struct lk_end *end)
{
    if (e->count == e->room) {
        e->room = e->room ? e->room * 2 : 64;
        e->items = lk_mem_grow(e->items, e->room * sizeof(*e->items));
    }
    struct lk_effect *effect = &e->items[e->count++];
    effect->kind = kind;
    effect->end = end;
    return effect;
}

void
lk_effects_clear(struct lk_effects *e)
{
    for (size_t i = 0; i < e->count; i++)
        if (e->items[i].kind == LK_EFFECT_RECORD)
            lk_record_free(e->items[i].u.record);
    free(e->items);
    *e = (struct lk_effects){0};
}

void
lk_effects_send(struct lk_effects *e, struct lk_end *end, struct lk_span bytes)
{
    if (bytes.n == 0)
        return;
    if (e->count > 0) {
        struct lk_effect *last = &e->items[e->count - 1];
        if (last->kind == LK_EFFECT_SEND && last->end == end && last->u.bytes.p + last->u.bytes.n == bytes.p) {
            last->u.bytes.n += bytes.n;
            return;
        }
    }
    append(e, LK_EFFECT_SEND, end)->u.bytes = bytes;
}

void
lk_effects_open(struct lk_effects *e, struct lk_end *end, const char *host, int port)
{
    struct lk_effect *effect = append(e, LK_EFFECT_OPEN, end);
    effect->u.open.host = host;
    effect->u.open.port = port;
}

void
lk_effects_tls(struct lk_effects *e, struct lk_end *end, const char *host)
{
    end->securing = true;
    append(e, LK_EFFECT_TLS, end)->u.tls_host = host;
}

void
lk_effects_close(struct lk_effects *e, struct lk_end *end, bool force)
{
    append(e, LK_EFFECT_CLOSE, end)->u.force = force;
}

void
lk_effects_resume(struct lk_effects *e, struct lk_end *end)
{
    append(e, LK_EFFECT_RESUME, end);
}

void
lk_effects_record(struct lk_effects *e, struct lk_record *record)
{
    append(e, LK_EFFECT_RECORD, NULL)->u.record = record;
}

void
lk_effects_console(struct lk_effects *e, struct lk_end *end, struct lk_span text)
{
    append(e, LK_EFFECT_CONSOLE, end)->u.bytes = text;
}
