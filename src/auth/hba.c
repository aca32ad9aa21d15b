#include "auth/hba.h"

#include <arpa/inet.h>
#include <stdio.h>

void
lk_hba_set_address(struct lk_hba_request *r, const char *text)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    char plain[INET6_ADDRSTRLEN];
    (void)snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(text, "%"), text);
    r->address_n = 0;
    if (inet_pton(AF_INET, plain, r->address) == 1) {
        r->address_n = 4;
    } else if (inet_pton(AF_INET6, plain, r->address) == 1) {
        r->address_n = 16;
        if (memcmp(r->address, mapped, sizeof(mapped)) == 0) {
            memmove(r->address, r->address + sizeof(mapped), 4);
            r->address_n = 4;
        }
    }
}

static bool
has_name(const struct lk_hba_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->names[i], name) == 0)
            return true;
    return false;
}

static bool
database_fits(const struct lk_hba_names *names, const struct lk_hba_request *r)
{
    return names->words & LK_HBA_ALL || (names->words & LK_HBA_SAMEUSER && strcmp(r->database, r->user) == 0) ||
           has_name(names, r->database) || (r->alias && has_name(names, r->alias));
}

static bool
in_network(const struct lk_hba_network *n, const struct lk_hba_request *r)
{
    if (n->n != r->address_n)
        return false;
    for (size_t i = 0; i < n->n; i++)
        if ((n->address[i] ^ r->address[i]) & n->mask[i])
            return false;
    return true;
}

static bool
address_fits(const struct lk_hba_rule *rule, const struct lk_hba_request *r)
{
    if (r->way == LK_HBA_LOCAL || rule->anywhere)
        return true;
    for (size_t i = 0; i < rule->network_count; i++)
        if (in_network(&rule->networks[i], r))
            return true;
    return false;
}

const struct lk_hba_rule *
lk_hba_find(const struct lk_hba *h, const struct lk_hba_request *r)
{
    size_t count;
    const struct lk_hba_rule *rules = lk_hba_rules(h, &count);
    for (size_t i = 0; i < count; i++) {
        const struct lk_hba_rule *rule = &rules[i];
        bool user = rule->users.words & LK_HBA_ALL || has_name(&rule->users, r->user);
        if (rule->ways & r->way && user && database_fits(&rule->databases, r) && address_fits(rule, r))
            return rule;
    }
    return NULL;
}

bool
lk_hba_may_be(const struct lk_hba *h, const struct lk_hba_rule *rule, const char *system_name, const char *user)
{
    if (!rule->map)
        return strcmp(system_name, user) == 0;
    size_t count;
    const struct lk_hba_mapping *mappings = lk_hba_mappings(h, &count);
    for (size_t i = 0; i < count; i++) {
        const struct lk_hba_mapping *m = &mappings[i];
        if (strcmp(m->map, rule->map) == 0 && strcmp(m->system_name, system_name) == 0 &&
            (m->any_name || strcmp(m->name, user) == 0))
            return true;
    }
    return false;
}
