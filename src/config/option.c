#include "config/option.h"

#include "base/mem.h"
#include "config/words.h"

#define FIELD(member) offsetof(struct lk_settings, member)

const char *const lk_words_pool_mode[] = {"session", "transaction", "statement", NULL};
static const char *const auth_types[] = {
    "trust", "any", "plain", "md5", "scram-sha-256", "cert", "hba", "pam", "ldap", NULL};
static const char *const sslmodes[] = {"disable", "allow", "prefer", "require", "verify-ca", "verify-full", NULL};
static const char *const facilities[] = {"auth", "authpriv", "daemon", "user", "local0", "local1", "local2", "local3",
    "local4", "local5", "local6", "local7", NULL};
const char *const lk_words_lock_policy[] = {"pin", "release", "rewrite", "reject", "observe", NULL};
const char *const lk_words_rewrite_fallback[] = {"pin", "reject", NULL};
const char *const lk_words_unlock_all[] = {"always", "tracked", NULL};
static const char *const leak_formats[] = {"json", "text", NULL};
static const char *const leak_queries[] = {"normalized", "full", "off", NULL};

enum {
    NONE = 0,
    RESTART = LK_OPTION_RESTART,
    INERT = LK_OPTION_INERT,
    LOCKS = LK_OPTION_LOCKS,
};

#define MOST INT32_MAX
#define STRING(n, start, fl, text)                                                                                     \
    {                                                                                                                  \
        .name = #n, .type = LK_OPTION_STRING, .flags = (fl), .offset = FIELD(n), .initial = (start), .help = (text)    \
    }
#define WORD(n, start, list, no, fl, text)                                                                             \
    {                                                                                                                  \
        .name = #n, .type = LK_OPTION_STRING, .flags = (fl), .offset = FIELD(n), .initial = (start), .words = (list),  \
        .refused = (no), .help = (text)                                                                                \
    }
#define ENUM(n, start, list, no, fl, text)                                                                             \
    {                                                                                                                  \
        .name = #n, .type = LK_OPTION_ENUM, .flags = (fl), .offset = FIELD(n), .initial = (start), .words = (list),    \
        .refused = (no), .help = (text)                                                                                \
    }
#define BOOL(n, start, fl, text)                                                                                       \
    {                                                                                                                  \
        .name = #n, .type = LK_OPTION_BOOL, .flags = (fl), .offset = FIELD(n), .initial = (start), .help = (text)      \
    }
#define INT(n, start, low, high, fl, text)                                                                             \
    {                                                                                                                  \
        .name = #n, .type = LK_OPTION_INT, .flags = (fl), .offset = FIELD(n), .initial = (start), .least = (low),      \
        .most = (high), .help = (text)                                                                                 \
    }
#define TIME(n, start, fl, text)                                                                                       \
    {                                                                                                                  \
        .name = #n, .type = LK_OPTION_TIME, .flags = (fl), .offset = FIELD(n##_us), .initial = (start), .most = MOST,  \
        .help = (text)                                                                                                 \
    }

/* PgBouncer's settings in the order of its SHOW CONFIG, then ours. */
const struct lk_option lk_options[] = {
    STRING(admin_users, "", NONE, "users who may do everything on the console, separated by commas"),
    BOOL(application_name_add_host, "0", INERT, "add the client's address to its application_name"),
    STRING(auth_dbname, NULL, NONE, "database in which auth_query runs"),
    STRING(auth_file, NULL, NONE, "file of user names and secrets (userlist.txt)"),
    STRING(auth_hba_file, "", NONE, "rules for auth_type hba"),
    STRING(auth_ident_file, NULL, NONE, "maps of names for auth_type hba"),
    STRING(auth_ldap_options, NULL, INERT, "parameters for auth_type ldap"),
    STRING(auth_query,
        "SELECT rolname, CASE WHEN rolvaliduntil < now() THEN NULL ELSE rolpassword END "
        "FROM pg_authid WHERE rolname=$1 AND rolcanlogin",
        NONE, "query that finds the secret of a user who is not in auth_file"),
    ENUM(auth_type, "md5", auth_types, "pam,ldap", NONE, "how clients prove who they are"),
    STRING(auth_user, NULL, NONE, "user who runs auth_query"),
    TIME(autodb_idle_timeout, "3600", NONE, "drop an unused database made from the * line after so long"),
    TIME(cancel_wait_timeout, "10", NONE, "longest time a cancel request waits for its connection"),
    TIME(client_idle_timeout, "0", NONE, "close a client that is idle so long; 0: never"),
    TIME(client_login_timeout, "60", NONE, "close a client that has not logged in after so long; 0: never"),
    STRING(client_tls13_ciphers, NULL, NONE, "TLS 1.3 cipher suites for clients"),
    STRING(client_tls_ca_file, "", NONE, "certificates that vouch for clients'"),
    STRING(client_tls_cert_file, "", NONE, "certificate shown to clients"),
    STRING(client_tls_ciphers, "default", NONE, "ciphers for clients"),
    STRING(client_tls_dheparams, "auto", NONE, "DHE parameters for clients"),
    STRING(client_tls_ecdhcurve, "auto", NONE, "ECDH curve for clients"),
    STRING(client_tls_key_file, "", NONE, "private key of client_tls_cert_file"),
    STRING(client_tls_protocols, "secure", NONE, "TLS versions for clients"),
    ENUM(client_tls_sslmode, "disable", sslmodes, NULL, NONE, "whether clients may or must use TLS"),
    STRING(conffile, NULL, INERT, "configuration file that RELOAD reads"),
    INT(default_pool_size, "20", 1, MOST, NONE, "server connections of a pool (a database and user)"),
    BOOL(disable_pqexec, "0", RESTART | INERT, "refuse several statements in one simple query"),
    TIME(dns_max_ttl, "15", NONE, "longest time an address is kept"),
    TIME(dns_nxdomain_ttl, "15", NONE, "how long a failed look-up is kept"),
    TIME(dns_zone_check_period, "0", INERT, "time between checks of a zone's serial; 0: never"),
    TIME(idle_transaction_timeout, "0", NONE, "close a client idle in a transaction so long; 0: never"),
    STRING(ignore_startup_parameters, "", NONE, "startup parameters to accept and drop, separated by commas"),
    {.name = "job_name",
        .alias = "service_name",
        .type = LK_OPTION_STRING,
        .flags = RESTART,
        .offset = FIELD(service_name),
        .initial = "lockkeeper",
        .help = "name of this service"},
    STRING(listen_addr, "", RESTART, "addresses to listen on, separated by commas; *: all; empty: unix socket only"),
    INT(listen_backlog, "128", 1, MOST, RESTART, "connections that may wait to be accepted"),
    INT(listen_port, "6432", 1, 65535, RESTART, "port, also in the unix socket's name"),
    BOOL(log_connections, "1", NONE, "log each login"),
    BOOL(log_disconnections, "1", NONE, "log each disconnection with its reason"),
    BOOL(log_pooler_errors, "1", NONE, "log the errors that clients are sent by the pooler"),
    BOOL(log_stats, "1", NONE, "log statistics every stats_period"),
    STRING(logfile, "", NONE, "file for the main log; empty: none"),
    STRING(login_notify_message, "", NONE, "notice sent to each client at login"),
    INT(max_client_conn, "100", 1, MOST, NONE, "clients that may be connected"),
    INT(max_db_client_connections, "0", 0, MOST, NONE, "clients of a database; 0: no limit"),
    INT(max_db_connections, "0", 0, MOST, NONE, "server connections of a database, over all users; 0: no limit"),
    {.name = "max_packet_size",
        .type = LK_OPTION_SIZE,
        .offset = FIELD(max_packet_size),
        .initial = "2147483647",
        .least = 1,
        .most = MOST,
        .help = "largest message, in bytes"},
    INT(max_prepared_statements, "200", 0, MOST, NONE, "named prepared statements kept on a server; 0: none"),
    INT(max_user_client_connections, "0", 0, MOST, NONE, "clients of a user; 0: no limit"),
    INT(max_user_connections, "0", 0, MOST, NONE, "server connections of a user, over all databases; 0: no limit"),
    INT(min_pool_size, "0", 0, MOST, NONE, "server connections a pool keeps open"),
    INT(peer_id, "0", 0, 16383, INERT, "number of this process among its [peers]; 0: none"),
    STRING(pidfile, "", RESTART, "file for the process id; empty: none"),
    INT(pkt_buf, "4096", 64, MOST, RESTART | INERT, "size of PgBouncer's packet buffer, in bytes"),
    TIME(pool_idle_timeout, "0", NONE, "drop an unused pool after so long; 0: never"),
    ENUM(pool_mode, "session", lk_words_pool_mode, NULL, NONE,
        "when a server goes back to its pool"),
    TIME(query_timeout, "0", NONE, "cancel a query that runs longer; 0: never"),
    TIME(query_wait_notify, "5", NONE, "tell a client after so long that it waits for a server; 0: never"),
    TIME(query_wait_timeout, "120", NONE, "close a client that waits longer for a server; 0: never"),
    {.name = "reserve_pool_size",
        .alias = "reserve_pool",
        .type = LK_OPTION_INT,
        .offset = FIELD(reserve_pool_size),
        .initial = "0",
        .most = MOST,
        .help = "further server connections of a pool whose clients wait too long"},
    TIME(reserve_pool_timeout, "5", NONE, "how long a client waits before the reserve pool is used; 0: never used"),
    STRING(resolv_conf, "", RESTART, "resolver configuration other than the system's"),
    INT(sbuf_loopcnt, "5", 0, MOST, INERT, "PgBouncer's rounds on one connection before it turns to the next"),
    INT(scram_iterations, "4096", 1, 1000000, NONE, "iterations of SCRAM secrets made from plain passwords"),
    TIME(server_check_delay, "30", NONE,
        "server_check_query runs on a server idle so long before it is used; 0: always"),
    STRING(server_check_query, "<empty>", NONE,
        "query that tells whether a server lives; <empty>: an empty one; '': none"),
    TIME(server_connect_timeout, "15", NONE, "give a connection attempt up after so long; 0: never"),
    BOOL(server_fast_close, "0", INERT, "at RECONNECT and RELOAD close session-mode servers after their transaction"),
    TIME(server_idle_timeout, "600", NONE, "close a server that is idle so long; 0: never"),
    TIME(server_lifetime, "3600", NONE, "close an unused server that is older; 0: after one use"),
    TIME(server_login_retry, "15", NONE, "wait so long after a failed login to a server"),
    STRING(server_reset_query, "DISCARD ALL", NONE, "query that cleans a server after a session; empty: none"),
    BOOL(server_reset_query_always, "0", NONE, "run server_reset_query in every pool mode"),
    BOOL(server_round_robin, "0", NONE, "use idle servers in turn, not the last used first"),
    STRING(server_tls13_ciphers, NULL, NONE, "TLS 1.3 cipher suites for servers"),
    STRING(server_tls_ca_file, "", NONE, "certificates that vouch for servers'"),
    STRING(server_tls_cert_file, "", NONE, "certificate shown to servers"),
    STRING(server_tls_ciphers, "default", NONE, "ciphers for servers"),
    STRING(server_tls_key_file, "", NONE, "private key of server_tls_cert_file"),
    STRING(server_tls_protocols, "secure", NONE, "TLS versions for servers"),
    ENUM(server_tls_sslmode, "prefer", sslmodes, NULL, NONE, "whether servers may or must use TLS"),
    BOOL(so_reuseport, "0", RESTART, "let several processes listen on one port"),
    TIME(stats_period, "60", NONE, "period of averages and of log_stats"),
    STRING(stats_users, "", NONE, "users who may use SHOW on the console, separated by commas"),
    TIME(suspend_timeout, "10", NONE, "how long SUSPEND waits for connections to fall silent"),
    BOOL(syslog, "0", NONE, "log to syslog too"),
    WORD(syslog_facility, "daemon", facilities, NULL, NONE, "facility for syslog"),
    STRING(syslog_ident, "lockkeeper", NONE, "program name for syslog"),
    INT(tcp_defer_accept, "1", 0, MOST, NONE, "TCP_DEFER_ACCEPT of the listening sockets"),
    BOOL(tcp_keepalive, "1", NONE, "TCP keepalive"),
    INT(tcp_keepcnt, "0", 0, MOST, NONE, "TCP_KEEPCNT; 0: the system's"),
    INT(tcp_keepidle, "0", 0, MOST, NONE, "TCP_KEEPIDLE in seconds; 0: the system's"),
    INT(tcp_keepintvl, "0", 0, MOST, NONE, "TCP_KEEPINTVL in seconds; 0: the system's"),
    INT(tcp_socket_buffer, "0", 0, MOST, NONE, "size of socket buffers in bytes; 0: the system's"),
    INT(tcp_user_timeout, "0", 0, MOST, NONE, "TCP_USER_TIMEOUT in milliseconds; 0: the system's"),
    STRING(track_extra_parameters, "IntervalStyle", RESTART, "further reported parameters that follow the client"),
    TIME(transaction_timeout, "0", NONE, "close a client whose transaction lasts longer; 0: never"),
    STRING(unix_socket_dir, "/tmp", RESTART, "folder of the unix socket; @name: abstract; empty: none"),
    STRING(unix_socket_group, "", RESTART, "group of the unix socket"),
    {.name = "unix_socket_mode",
        .type = LK_OPTION_OCTAL,
        .flags = RESTART,
        .offset = FIELD(unix_socket_mode),
        .initial = "0777",
        .most = 0777,
        .help = "permissions of the unix socket, octal"},
    STRING(user, NULL, RESTART, "user to become when started as root"),
    INT(verbose, NULL, 0, MOST, NONE, "how much to log: 0, or 1 and more for debugging"),

    ENUM(advisory_lock_policy, "pin", lk_words_lock_policy, NULL, LOCKS,
        "what becomes of a client's server at the end of a transaction that left advisory locks"),
    ENUM(advisory_rewrite_fallback, "pin", lk_words_rewrite_fallback, NULL, LOCKS,
        "what rewrite does where it may not"),
    ENUM(advisory_unlock_all, "always", lk_words_unlock_all, NULL, LOCKS,
        "when a released server is reset: always, or (tracked) unless nothing speaks for locks; tracked can miss a "
        "lock"),
    INT(advisory_trust_after, "3", 0, MOST, LOCKS, "probed executions before a statement is trusted; 0: at once"),
    INT(advisory_probe_sample, "1000", 0, MOST, LOCKS, "probe every n-th release after trusted statements; 0: none"),
    BOOL(advisory_lock_notice, "0", LOCKS, "warn the client whose call is pinned, rewritten or released"),
    TIME(advisory_pin_timeout, "0", LOCKS, "close a pinned client idle so long outside transactions; 0: never"),
    TIME(advisory_idle_hold_log, "60", LOCKS, "idle time with locks before an idle_hold record"),
    INT(advisory_max_pins, "0", 0, MOST, LOCKS, "pinned servers a pool may have; 0: no limit"),
    INT(advisory_max_waits, "0", 0, MOST, LOCKS, "servers waiting in lock calls a pool may have; 0: no limit"),
    TIME(advisory_wait_log, "5", LOCKS, "how long a lock call waits before a wait record"),
    TIME(advisory_sweep_interval, "10", LOCKS, "time between sweeps of pg_locks; 0: none"),
    BOOL(advisory_catalog, "1", LOCKS, "read from the catalogue which functions take session locks"),
    STRING(leak_log, "", LOCKS, "file for the records of locks, stderr or syslog; empty: the main log"),
    WORD(leak_log_format, "json", leak_formats, NULL, LOCKS, "form of the records: an object a line, or a line to read"),
    WORD(leak_log_query, "normalized", leak_queries, NULL, LOCKS, "how the records show the statement"),
    STRING(leak_log_events, "all", LOCKS, "which records are written, separated by commas; all"),
    STRING(metrics_listen_addr, "127.0.0.1", RESTART | LOCKS, "address for Prometheus: /metrics and /healthz"),
    INT(metrics_listen_port, "0", 0, 65535, RESTART | LOCKS, "port for Prometheus; 0: off"),
    {.name = "workers",
        .type = LK_OPTION_INT,
        .flags = RESTART | LOCKS | INERT,
        .offset = FIELD(workers),
        .initial = "1",
        .least = 1,
        .most = 1024,
        .note = "this version runs one worker",
        .help = "threads that serve clients; this version runs one"},
};
const size_t lk_option_count = LK_COUNT(lk_options);
