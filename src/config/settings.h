/* The settings: an immutable, reference-counted snapshot made from the ini files. A RELOAD makes a new one; who holds an
 * old one may go on reading it. Times are in µs (0: off, unless said otherwise), sizes in bytes. A per-database or per-user
 * value of -1 (or NULL) means "as the general setting says". */
#ifndef LK_CONFIG_SETTINGS_H
#define LK_CONFIG_SETTINGS_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/span.h"
#include "config/hba.h"

enum lk_pool_mode { LK_POOL_SESSION, LK_POOL_TRANSACTION, LK_POOL_STATEMENT };
/* auth_type */
enum lk_auth_type {
    LK_AUTH_TYPE_TRUST,
    LK_AUTH_TYPE_ANY,
    LK_AUTH_TYPE_PLAIN,
    LK_AUTH_TYPE_MD5,
    LK_AUTH_TYPE_SCRAM,
    LK_AUTH_TYPE_CERT,
    LK_AUTH_TYPE_HBA,
    LK_AUTH_TYPE_PAM,
    LK_AUTH_TYPE_LDAP,
};

/* client_tls_sslmode, server_tls_sslmode */
enum lk_sslmode {
    LK_SSLMODE_DISABLE,
    LK_SSLMODE_ALLOW,
    LK_SSLMODE_PREFER,
    LK_SSLMODE_REQUIRE,
    LK_SSLMODE_VERIFY_CA,
    LK_SSLMODE_VERIFY_FULL,
};

/* One line of [databases]. */
struct lk_database_settings {
    char *name;   /* as clients say it; "*" for the fallback */
    char *dbname; /* on the server; NULL: the name */
    char *host;   /* NULL: the default unix socket; a path: a socket's folder; "@…": abstract */
    int port;     /* 5432 by default */
    char *user;   /* forced user, or NULL */
    char *password;
    char *auth_user, *auth_query, *auth_dbname;
    char *connect_query;
    char *load_balance_hosts;
    char *client_encoding, *datestyle, *timezone, *application_name;
    char *target_session_attrs;
    int pool_size, min_pool_size, reserve_pool_size, max_db_connections, max_db_client_connections; /* -1 */
    int pool_mode;                                    /* enum lk_pool_mode or -1 */
    int64_t server_lifetime_us, query_wait_timeout_us; /* -1 */
    /* locks */
    int advisory_lock_policy;     /* enum lk_policy (lock/policy.h) or -1 */
    int advisory_rewrite_fallback;
    int advisory_unlock_all;      /* enum lk_unlock_all or -1 */
    int advisory_trust_after, advisory_probe_sample, advisory_lock_notice, advisory_max_pins, advisory_max_waits,
        advisory_catalog; /* -1 */
    int64_t advisory_pin_timeout_us; /* -1 */
    bool automatic;                  /* made from "*" */
};

/* One line of [users]. */
struct lk_user_settings {
    char *name;
    int pool_size, reserve_pool_size, pool_mode, max_user_connections, max_user_client_connections; /* -1 */
    int64_t query_timeout_us, query_wait_timeout_us, idle_transaction_timeout_us, transaction_timeout_us,
        client_idle_timeout_us; /* -1 */
    int advisory_lock_policy, advisory_rewrite_fallback, advisory_lock_notice;
    int64_t advisory_pin_timeout_us; /* -1 */
};

/* One line of [peers]: shown on the console, and not used otherwise. */
struct lk_peer_settings {
    int id;
    char *host;
    int port, pool_size; /* pool_size -1: default_pool_size */
};

/* One line of [advisory_names]: a key, or a prefix "1001,*", and its name. */
struct lk_name_settings {
    char *pattern;
    char *name;
};

struct lk_settings {
    atomic_uint refs;
    char *path; /* of the ini file */

    /* general */
    char *logfile, *pidfile, *listen_addr, *unix_socket_dir, *unix_socket_group, *user, *service_name, *conffile, *resolv_conf;
    int listen_port, unix_socket_mode, peer_id, workers;
    bool application_name_add_host, disable_pqexec, so_reuseport;
    int64_t stats_period_us;
    char *metrics_listen_addr;
    int metrics_listen_port;

    /* pooling */
    int pool_mode, default_pool_size, min_pool_size, reserve_pool_size, max_prepared_statements;
    int64_t reserve_pool_timeout_us;
    bool server_round_robin;
    char *track_extra_parameters, *ignore_startup_parameters; /* comma lists */

    /* limits */
    int max_client_conn, max_db_connections, max_db_client_connections, max_user_connections, max_user_client_connections;

    /* authentication */
    int auth_type; /* enum lk_auth_type */
    char *auth_file, *auth_hba_file, *auth_ident_file, *auth_user, *auth_query, *auth_dbname, *auth_ldap_options;
    int scram_iterations;

    /* logging */
    bool syslog, log_connections, log_disconnections, log_pooler_errors, log_stats;
    int verbose;
    char *syslog_ident, *syslog_facility, *admin_users, *stats_users; /* comma lists */

    /* server health */
    char *server_reset_query, *server_check_query;
    bool server_reset_query_always, server_fast_close;
    int64_t server_check_delay_us, server_lifetime_us, server_idle_timeout_us, server_connect_timeout_us, server_login_retry_us;

    /* client and pool life */
    int64_t client_login_timeout_us, autodb_idle_timeout_us, pool_idle_timeout_us, query_wait_notify_us;
    char *login_notify_message;

    /* DNS */
    int64_t dns_max_ttl_us, dns_nxdomain_ttl_us, dns_zone_check_period_us;

    /* TLS */
    int client_tls_sslmode, server_tls_sslmode; /* enum lk_sslmode */
    char *client_tls_key_file, *client_tls_cert_file, *client_tls_ca_file, *client_tls_protocols,
        *client_tls_ciphers, *client_tls13_ciphers, *client_tls_ecdhcurve, *client_tls_dheparams;
    char *server_tls_key_file, *server_tls_cert_file, *server_tls_ca_file, *server_tls_protocols,
        *server_tls_ciphers, *server_tls13_ciphers;

    /* timeouts */
    int64_t query_timeout_us, query_wait_timeout_us, cancel_wait_timeout_us, client_idle_timeout_us, idle_transaction_timeout_us,
        transaction_timeout_us, suspend_timeout_us;

    /* network */
    int pkt_buf, listen_backlog, sbuf_loopcnt, tcp_defer_accept, tcp_keepcnt, tcp_keepidle, tcp_keepintvl, tcp_user_timeout;
    int tcp_socket_buffer;
    int64_t max_packet_size;
    bool tcp_keepalive;

    /* locks */
    int advisory_lock_policy, advisory_rewrite_fallback, advisory_unlock_all; /* enums of lock/policy.h */
    int advisory_trust_after, advisory_probe_sample, advisory_max_pins, advisory_max_waits;
    bool advisory_lock_notice, advisory_catalog;
    int64_t advisory_pin_timeout_us, advisory_idle_hold_log_us, advisory_wait_log_us, advisory_sweep_interval_us;
    char *leak_log, *leak_log_format, *leak_log_query;
    char *leak_log_events; /* comma list, or "all" */

    struct lk_database_settings *databases; /* owned, file order */
    size_t database_count;
    struct lk_user_settings *users;
    size_t user_count;
    struct lk_peer_settings *peers;
    size_t peer_count;
    struct lk_name_settings *names;
    size_t name_count;
    char *auth_file_text; /* contents of auth_file, read when the ini was; NULL: none. Wiped when freed */
    size_t auth_file_length;
    struct lk_hba *hba; /* rules and maps of auth_type hba, a reference; NULL: another auth_type */
    /* options that stand in a file (for SHOW CONFIG and RELOAD), by index of the option table */
    bool *given;
};

/* Reads NAME.ini, what it %includes, NAME.locks.ini beside it, and the files that settings name for authentication. NULL when there is any mistake: `errors` then
 * holds all of them, a line each, "file:line: what\n" ("file: what\n" for a file that can't be read at all; past 1,000 only
 * their number). Warnings (settings without effect) go to `warnings` in the same form. Relative names in the files are
 * relative to the working directory. Owner: the caller, one reference. */
struct lk_settings *lk_settings_load(const char *path, struct lk_buf *errors, struct lk_buf *warnings);
struct lk_settings *lk_settings_ref(struct lk_settings *s);
void lk_settings_unref(struct lk_settings *s);

/* The line of that name, or NULL; "*" is never returned by find. */
const struct lk_database_settings *lk_settings_database(const struct lk_settings *s, const char *name);
/* The "*" line, or NULL. */
const struct lk_database_settings *lk_settings_fallback(const struct lk_settings *s);
const struct lk_user_settings *lk_settings_user(const struct lk_settings *s, const char *name);
/* Is `name` in a comma-separated list (white space around names ignored; "*" holds everyone)? */
bool lk_settings_list_has(const char *list, const char *name);
/* Parameters named in ignore_startup_parameters. */
bool lk_settings_ignores_parameter(const struct lk_settings *s, struct lk_span name);
/* The name that [advisory_names] gives to a lock's key ("42", "1001,7"), by the key itself or its first half and "*"; NULL:
 * none. Of several the first counts. */
const char *lk_settings_lock_name(const struct lk_settings *s, const char *key);
/* For warnings at RELOAD: names of settings that differ but only take effect at a restart; one "name\n" each. */
void lk_settings_restart_needed(const struct lk_settings *old, const struct lk_settings *now, struct lk_buf *out);
/* A copy that shares nothing with the original, one reference: where console SET makes its change. */
struct lk_settings *lk_settings_copy(const struct lk_settings *s);
/* Changes one setting of a copy that nobody else reads yet, and checks the whole. False: `why` says why not (no such name, a
 * bad value, takes a restart); then throw the copy away. */
bool lk_settings_set(struct lk_settings *copy, const char *name, const char *value, struct lk_buf *why);

#endif
