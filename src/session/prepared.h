/* Prepared statements across backends. A statement is a text with its declared types, interned per core under one name that
 * is unique in the process; a client maps its own names to statements, a server knows which statements it has. */
#ifndef LK_SESSION_PREPARED_H
#define LK_SESSION_PREPARED_H

#include <uthash.h>

#include "base/list.h"
#include "sql/analysis.h"

struct lk_core;

struct lk_statement {
    unsigned refs;
    uint64_t id;
    char name[24]; /* on servers: "lk_<id>" */
    struct lk_analysis *analysis; /* a reference; holds the text */
    uint16_t type_count;
    uint8_t *types; /* network order; owned */
    struct lk_core *core;
    UT_hash_handle hh; /* in core->statements, by key */
    size_t key_n;
    uint8_t *key; /* how it is read, types and text; owned */
};

/* The statement of that text and types, made if need be; a reference of the caller's. NULL: no memory. */
struct lk_statement *lk_statement_get(
    struct lk_core *core, struct lk_span text, uint16_t type_count, struct lk_span types, struct lk_sql_mode mode);
struct lk_statement *lk_statement_ref(struct lk_statement *s);
void lk_statement_unref(struct lk_statement *s);

/* A client's names. */
struct lk_prepared {
    char *name; /* owned; the key */
    struct lk_statement *statement; /* a reference */
    UT_hash_handle hh;
};
struct lk_prepared_map {
    struct lk_prepared *names; /* uthash */
};
struct lk_statement *lk_prepared_find(const struct lk_prepared_map *m, struct lk_span name);
/* Takes a reference of its own; replaces. */
void lk_prepared_put(struct lk_prepared_map *m, struct lk_span name, struct lk_statement *s);
void lk_prepared_drop(struct lk_prepared_map *m, struct lk_span name);
void lk_prepared_clear(struct lk_prepared_map *m);
unsigned lk_prepared_count(const struct lk_prepared_map *m);

/* What a server has, least recently used first. */
struct lk_parsed {
    struct lk_statement *statement; /* a reference; the key by id */
    uint64_t id;
    struct lk_node node;
    UT_hash_handle hh;
};
struct lk_parsed_set {
    struct lk_parsed *by_id; /* uthash */
    struct lk_list used;
};
void lk_parsed_init(struct lk_parsed_set *s);
/* Is it there? Marks it used. */
bool lk_parsed_has(struct lk_parsed_set *s, const struct lk_statement *st);
void lk_parsed_add(struct lk_parsed_set *s, struct lk_statement *st);
void lk_parsed_drop(struct lk_parsed_set *s, const struct lk_statement *st);
/* The least recently used, not taken out; NULL: empty. */
struct lk_statement *lk_parsed_oldest(const struct lk_parsed_set *s);
void lk_parsed_clear(struct lk_parsed_set *s);
unsigned lk_parsed_count(const struct lk_parsed_set *s);

#endif
