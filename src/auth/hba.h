/* Whom the rules of auth_hba_file let in, and how: the first rule that is about a connection decides. Pure. */
#ifndef LK_AUTH_HBA_H
#define LK_AUTH_HBA_H

#include "config/hba.h"

/* A connection that wants in. */
struct lk_hba_request {
    const char *database;
    const char *alias; /* another name of the same database, which a rule may say as well; NULL: none */
    const char *user;
    enum lk_hba_way way;
    uint8_t address[16]; /* of the client */
    size_t address_n;    /* 4 or 16; 0 over a unix socket */
};

/* Reads an address as text, with or without a %zone, into the request; one of IPv4 in IPv6's clothes becomes IPv4. */
void lk_hba_set_address(struct lk_hba_request *r, const char *text);
/* The rule that decides; NULL: none is about it, which is a rejection. */
const struct lk_hba_rule *lk_hba_find(const struct lk_hba *h, const struct lk_hba_request *r);
/* May whom the system (a certificate, a unix socket's peer) knows by that name log in as that user, by the rule's map?
 */
bool lk_hba_may_be(const struct lk_hba *h, const struct lk_hba_rule *rule, const char *system_name, const char *user);

#endif
