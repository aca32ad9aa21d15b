/* What is known of one text: its fingerprint, whether it touches session locks, and how. Immutable, shared by reference
 * within a worker (the cache, prepared statements, reply entries). */
#ifndef LK_SQL_ANALYSIS_H
#define LK_SQL_ANALYSIS_H

#include "base/hash.h"
#include "lock/call.h"
#include "lock/text.h"

enum lk_trust_class {
    LK_TRUST_BY_EVIDENCE,
    LK_TRUST_ALWAYS, /* BEGIN, SET, SHOW, … : can't take a lock */
    LK_TRUST_NEVER,  /* too long, or read under settings that could fool us */
};

/* A whole text that is exactly one such statement. */
enum lk_verb { LK_VERB_OTHER, LK_VERB_BEGIN, LK_VERB_COMMIT, LK_VERB_ROLLBACK, LK_VERB_DEALLOCATE };

struct lk_analysis {
    unsigned refs;
    struct lk_text *text; /* a reference; carries the fingerprint */
    uint64_t fingerprint;
    enum lk_trust_class trust;
    enum lk_verb verb;
    char *verb_name; /* DEALLOCATE's statement name, unquoted; owned; NULL for other verbs and DEALLOCATE ALL */
    bool plain;      /* one statement that begins SELECT, INSERT, UPDATE, DELETE, MERGE, VALUES, TABLE or WITH */
    bool single;     /* certainly one statement: no ';' but at its end */
    unsigned lints;  /* bits of enum lk_lint, sql/lint.h */
    uint16_t taking_count;
    struct lk_taking *takings; /* owned: the calls of either level that take locks with constant keys, wherever they stand
                                  in what is executed; also of a text that is no touch */
    const struct lk_plan *plan; /* owned; NULL: no touch */
    char **creates;             /* owned: the names, without schema, of functions that it creates and that touch session
                                   locks when they are called; ends with NULL; NULL: none */
};

/* How the server that the text goes to reads it. */
struct lk_sql_mode {
    bool standard_strings; /* standard_conforming_strings is on */
    bool ascii_safe;       /* no byte below 0x80 is part of a longer character in the client's encoding */
};

#define LK_SQL_TEXT_MAX (256u * 1024u) /* longer texts are searched, not parsed */
#define LK_SQL_TOKENS_MAX 500

/* Analyses a text without any cache. NULL only when there is no memory. Owner: the caller, one reference. */
struct lk_analysis *lk_analysis_make(struct lk_span sql, struct lk_sql_mode mode, const struct lk_hash_key *key);
/* The same in two halves: the pass over the text, which costs no memory, and what is made of it. */
struct lk_fingerprint;
void lk_analysis_scan(struct lk_span sql, const struct lk_hash_key *key, struct lk_fingerprint *out);
struct lk_analysis *lk_analysis_finish(struct lk_span sql, struct lk_sql_mode mode, const struct lk_fingerprint *f);
struct lk_analysis *lk_analysis_ref(struct lk_analysis *a);
/* Accepts NULL. */
void lk_analysis_unref(struct lk_analysis *a);

/* A cache of analyses by text and mode. Bounded by bytes; least recently used goes. */
struct lk_analysis_cache;
struct lk_analysis_cache *lk_analysis_cache_new(size_t max_bytes, struct lk_hash_key key);
void lk_analysis_cache_free(struct lk_analysis_cache *c);
/* As lk_analysis_make; returns a reference of the caller's. */
struct lk_analysis *lk_analysis_cache_get(struct lk_analysis_cache *c, struct lk_span sql, struct lk_sql_mode mode);
/* The same, but for a text that is no touch, has no comment and was not seen before, the analysis may be that of
 * another text of the same fingerprint: all but its constants is right. For texts that are sent once and whose
 * constants nobody will ask for. */
struct lk_analysis *lk_analysis_cache_get_alike(
    struct lk_analysis_cache *c, struct lk_span sql, struct lk_sql_mode mode);

#endif
