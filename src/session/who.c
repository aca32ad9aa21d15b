#include "session/who.h"

#include <stdlib.h>

#include "base/mem.h"

struct lk_who *
lk_who_new(uint64_t id, const char *addr, int port)
{
    struct lk_who *w = LK_NEW(struct lk_who);
    w->refs = 1;
    w->id = id;
    w->addr = lk_mem_dup(addr);
    w->port = port;
    w->application_name = lk_mem_dup("");
    return w;
}

struct lk_who *
lk_who_ref(struct lk_who *w)
{
    w->refs++;
    return w;
}

void
lk_who_unref(struct lk_who *w)
{
    if (!w || --w->refs > 0)
        return;
    free(w->addr);
    free(w->database);
    free(w->user);
    free(w->application_name);
    free(w->told);
    free(w);
}

bool
lk_who_first(struct lk_who *w, uint64_t what)
{
    if (!w->told)
        w->told = lk_mem_new(LK_WHO_TOLD * sizeof(*w->told));
    for (uint32_t i = 0; i < w->told_count && i < LK_WHO_TOLD; i++)
        if (w->told[i] == what)
            return false;
    w->told[w->told_count++ % LK_WHO_TOLD] = what;
    return true;
}
