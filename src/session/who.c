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
    free(w);
}
