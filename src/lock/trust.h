/* Trust by evidence (docs/architecture.md): which statements, by fingerprint, were probed often enough without leaving a
 * lock. One table a worker, bounded: what was long not looked at goes, by a clock's hand; learned touches go last, while
 * they fill no more than half of the table. */
#ifndef LK_LOCK_TRUST_H
#define LK_LOCK_TRUST_H

#include "base/clock.h"
#include "base/hash.h"

#define LK_TRUST_MAX 262144u

struct lk_trust;

enum lk_trusted {
    LK_TRUST_UNKNOWN,
    LK_TRUST_BLAMED, /* one of several suspects once, and without evidence since: its probe is not to be skipped */
    LK_TRUST_TRUSTED,
    LK_TRUST_TOUCH,
};

/* Where evidence counts: per (database, server user). `generation` goes up to forget all of it at once (DDL). */
struct lk_trust_scope {
    uint64_t id;
    uint32_t generation;
};

struct lk_trust *lk_trust_new(uint32_t max_entries);
void lk_trust_free(struct lk_trust *t);
/* `alone`: one autocommit statement with an exactly empty ledger before and nothing else before its probe. A learned
 * touch is one in either company. `after` 0 trusts everything that is no learned touch. */
enum lk_trusted lk_trust_look(
    struct lk_trust *t, const struct lk_trust_scope *scope, uint64_t fingerprint, bool alone, uint32_t after);
/* Evidence in tenths of an execution: 10, or 1 for an execution whose tag says 0 rows. Nothing is kept of fingerprint 0
 * (none), here and in blame. */
void lk_trust_evidence(
    struct lk_trust *t, const struct lk_trust_scope *scope, uint64_t fingerprint, bool alone, uint32_t tenths);
/* The statement left a lock that no plan explains. The sole suspect becomes a learned touch, and stays one as long as
 * there is room; one of several goes back to no evidence. */
void lk_trust_blame(struct lk_trust *t, const struct lk_trust_scope *scope, uint64_t fingerprint, bool sole);
uint32_t lk_trust_count(const struct lk_trust *t);

/* Keeps evidence and sample probes below a tenth of a pool's backend time, over the last second. A pool has at least
 * one second of it in a second, so probes of up to 100 ms in a second always pass. A zeroed meter allows. */
struct lk_probe_meter {
    int64_t second;   /* number of the second being counted */
    int64_t probe_us; /* spent in such probes in it */
    int64_t work_us;  /* backend time in it, probes included */
    bool over;        /* the last whole second was over a tenth */
};
/* `work_us`: time that a backend was busy; `probe_us`: the part of it that went into evidence and sample probes. */
void lk_probe_meter_add(struct lk_probe_meter *m, int64_t mono_us, int64_t work_us, int64_t probe_us);
bool lk_probe_meter_allows(struct lk_probe_meter *m, int64_t mono_us);

#endif
