/* A client's first packets, under each way of authentication: the first byte chooses it, the second how the bytes are
 * cut. Servers log in by themselves, so that a client that gets through is welcomed. */
#include "fuzz/fuzz.h"
#include "fuzz/invariants.h"

#define COMMON                                                                                                         \
    "\n[databases]\nshop = host=127.0.0.1\n* = host=127.0.0.1 pool_size=1\n[pgbouncer]\npool_mode = transaction\n"

static const char *const ways[] = {
    COMMON "auth_type = any\nadmin_users = adm\nstats_users = sta\n",
    COMMON "auth_type = trust\nignore_startup_parameters = extra_float_digits\n",
    COMMON "auth_type = plain\n",
    COMMON "auth_type = md5\n",
    COMMON "auth_type = scram-sha-256\nscram_iterations = 1\n",
    COMMON "auth_type = any\nmax_client_conn = 1\nmax_prepared_statements = 0\nadmin_users = adm\nmin_pool_size = 1\n",
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct lk_settings *settings[LK_COUNT(ways)];
    struct lk_span in = lk_span_make(data, size);
    unsigned way = fuzz_u8(&in) % LK_COUNT(ways);
    uint8_t cut = fuzz_u8(&in);
    struct world *w = LK_NEW(struct world);
    if (!settings[way])
        settings[way] = fuzz_settings(ways[way]);
    fuzz_world_start(w, settings[way], cut & 1);
    struct peer *p = world_accept(w, "C1"), *other = world_accept(w, "C2");
    fuzz_check(w);
    for (bool going = true; going && in.n > 0 && p->end;) {
        world_say(w, p, fuzz_bytes(&in, cut > 1 ? cut : in.n));
        fuzz_check(w);
        going = fuzz_world_tidy(w);
    }
    if (other->end)
        world_pass_time(w, LK_SECOND_US * 120);
    fuzz_check(w);
    (void)fuzz_world_tidy(w);
    fuzz_world_end(w);
    free(w);
    return 0;
}
