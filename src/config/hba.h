/* The rules of auth_hba_file and the maps of auth_ident_file, read into a value. The forms are those of PostgreSQL's
 * pg_hba.conf and pg_ident.conf that PgBouncer knows: local, host, hostssl and hostnossl; names, lists of names, "all",
 * "sameuser", "replication" and @FILE; addresses with a mask, "all", "samehost" and "samenet". What would need the
 * server's catalogue (+group, samerole) or a look-up (host names) is a mistake, as are regular expressions. Pure: the
 * files that @FILE names come through a function that is handed in. Whom the rules let in is seen to by auth/hba. */
#ifndef LK_CONFIG_HBA_H
#define LK_CONFIG_HBA_H

#include "base/buf.h"

#define LK_HBA_DEPTH_MOST 10  /* @FILE inside @FILE, as PostgreSQL */
#define LK_HBA_FILES_MOST 200 /* named by @FILE in one auth_hba_file */

/* The ways in that a rule is about: a set. */
enum lk_hba_way { LK_HBA_LOCAL = 1, LK_HBA_TLS = 2, LK_HBA_CLEAR = 4 };

/* Words in place of a name: a set. */
enum lk_hba_word { LK_HBA_ALL = 1, LK_HBA_SAMEUSER = 2, LK_HBA_REPLICATION = 4 };

enum lk_hba_method {
    LK_HBA_TRUST,
    LK_HBA_REJECT,
    LK_HBA_PASSWORD,
    LK_HBA_MD5,
    LK_HBA_SCRAM,
    LK_HBA_PEER, /* in local rules only */
    LK_HBA_CERT, /* in hostssl rules only */
};

/* Empty when @FILE holds no name: nobody is meant. */
struct lk_hba_names {
    unsigned words; /* enum lk_hba_word */
    char **names;   /* owned */
    size_t count;
};

/* An address belongs to it when it has as many bytes and is the same where the mask has ones. */
struct lk_hba_network {
    size_t n; /* 4 or 16 */
    uint8_t address[16], mask[16];
};

struct lk_hba_rule {
    char *file; /* owned */
    int line;
    unsigned ways; /* enum lk_hba_way */
    struct lk_hba_names databases, users;
    bool anywhere; /* "all": any address */
    struct lk_hba_network *networks;
    size_t network_count;
    enum lk_hba_method method;
    char *map; /* name of a map; NULL: the system's name must be the user's */
};

/* One line of auth_ident_file. */
struct lk_hba_mapping {
    char *map, *system_name, *name;
    bool any_name; /* "all": it may be any user */
};

struct lk_hba; /* shared by reference count, never changed */

/* What the parser needs from outside. */
struct lk_hba_source {
    /* A whole file, appended to out. NULL: done; else what went wrong. */
    const char *(*read)(void *arg, const char *path, struct lk_buf *out);
    /* Told of each mistake; line 0: the file as a whole. `what` is gone after the call. */
    void (*mistake)(void *arg, const char *file, int line, const char *what);
    void *arg;
    const struct lk_hba_network *interfaces; /* this machine's addresses, each with its net's mask */
    size_t interface_count;
};

/* Reads both texts; idents may be empty, with a NULL name. A rule with a mistake in it is left out. Owner: the caller,
 * one reference. */
struct lk_hba *lk_hba_parse(struct lk_span rules, const char *rules_file, struct lk_span idents, const char *ident_file,
    const struct lk_hba_source *source);
struct lk_hba *lk_hba_ref(struct lk_hba *h);
void lk_hba_unref(struct lk_hba *h);

const struct lk_hba_rule *lk_hba_rules(const struct lk_hba *h, size_t *count);
const struct lk_hba_mapping *lk_hba_mappings(const struct lk_hba *h, size_t *count);

#endif
