#include "session/method.h"

#include "auth/hba.h"
#include "base/log.h"
#include "session/step.h"

static bool
refuse_certificate(const struct lk_client *c, struct lk_error *why)
{
    lk_error_set(why, "28000", "certificate authentication failed for user \"%s\"", c->user);
    return false;
}

/* The rule about this login; NULL: there is none. */
static const struct lk_hba_rule *
find_rule(const struct lk_hba *h, const struct lk_client *c)
{
    struct lk_hba_request r = {
        .database = c->database,
        .user = c->user,
        .way = c->unix_socket ? LK_HBA_LOCAL
               : c->end.tls   ? LK_HBA_TLS
                              : LK_HBA_CLEAR,
    };
    /* the console answers to two names: a rule about one is about the other */
    if (strcmp(c->database, "lockkeeper") == 0)
        r.alias = "pgbouncer";
    else if (strcmp(c->database, "pgbouncer") == 0)
        r.alias = "lockkeeper";
    if (!c->unix_socket)
        lk_hba_set_address(&r, c->who->addr);
    return lk_hba_find(h, &r);
}

static bool
reject(const struct lk_core *core, const struct lk_client *c, const struct lk_hba_rule *rule, struct lk_error *why)
{
    lk_error_set(why, "28000", "login rejected");
    if (!core->settings->log_pooler_errors)
        return false;
    if (rule)
        lk_log(LK_LOG_INFO, "%s: rejected by %s:%d", lk_client_label(c), rule->file, rule->line);
    else
        lk_log(LK_LOG_INFO, "%s: no line of %s is about this login", lk_client_label(c), core->settings->auth_hba_file);
    return false;
}

static bool
by_rule(const struct lk_core *core, const struct lk_client *c, enum lk_auth_method *method, struct lk_error *why)
{
    static const enum lk_auth_method methods[] = {
        [LK_HBA_TRUST] = LK_AUTH_TRUST,
        [LK_HBA_REJECT] = LK_AUTH_REJECT,
        [LK_HBA_PASSWORD] = LK_AUTH_PLAIN,
        [LK_HBA_MD5] = LK_AUTH_MD5,
        [LK_HBA_SCRAM] = LK_AUTH_SCRAM,
        [LK_HBA_PEER] = LK_AUTH_TRUST,
        [LK_HBA_CERT] = LK_AUTH_TRUST,
    };
    const struct lk_hba *h = core->settings->hba;
    const struct lk_hba_rule *rule = h ? find_rule(h, c) : NULL;
    if (!rule || rule->method == LK_HBA_REJECT)
        return reject(core, c, rule, why);
    if (rule->method == LK_HBA_PEER && (!c->peer_user || !lk_hba_may_be(h, rule, c->peer_user, c->user))) {
        lk_error_set(why, "28000", "unix socket login rejected");
        return false;
    }
    if (rule->method == LK_HBA_CERT && (!c->end.tls_peer_cn || !lk_hba_may_be(h, rule, c->end.tls_peer_cn, c->user)))
        return refuse_certificate(c, why);
    *method = methods[rule->method];
    return true;
}

bool
lk_method_choose(
    const struct lk_core *core, const struct lk_client *c, enum lk_auth_method *method, struct lk_error *why)
{
    switch (core->settings->auth_type) {
    case LK_AUTH_TYPE_HBA:
        return by_rule(core, c, method, why);
    case LK_AUTH_TYPE_CERT:
        *method = LK_AUTH_TRUST;
        return (c->end.tls_peer_cn && strcmp(c->end.tls_peer_cn, c->user) == 0) || refuse_certificate(c, why);
    case LK_AUTH_TYPE_TRUST:
        *method = LK_AUTH_TRUST;
        return true;
    case LK_AUTH_TYPE_ANY:
        *method = LK_AUTH_ANY;
        return true;
    case LK_AUTH_TYPE_PLAIN:
        *method = LK_AUTH_PLAIN;
        return true;
    case LK_AUTH_TYPE_MD5:
        *method = LK_AUTH_MD5;
        return true;
    case LK_AUTH_TYPE_SCRAM:
        *method = LK_AUTH_SCRAM;
        return true;
    default:
        *method = LK_AUTH_REJECT;
        return true;
    }
}
