"""What the tables of options don't say: the order in which the documents show the settings, and what a reader who comes
from PgBouncer has to know of one."""

# (heading, introduction, settings). Each setting of [lockkeeper] stands in exactly one group; generate.py sees to it.
GROUPS = [
    ("Where clients come in",
     "Relative names of files start from the folder that the daemon is started in.",
     ["listen_addr", "listen_port", "listen_backlog", "unix_socket_dir", "unix_socket_mode", "unix_socket_group",
      "so_reuseport", "max_client_conn"]),
    ("Who may come in",
     "auth_file has a line \"name\" \"secret\" for each user; the secret is a password, or what PostgreSQL keeps in "
     "pg_authid.rolpassword.",
     ["auth_type", "auth_file", "auth_hba_file", "auth_ident_file", "auth_user", "auth_query", "auth_dbname",
      "auth_ldap_options", "scram_iterations"]),
    ("Pools",
     "A pool is the server connections of one database and user. In session mode a server goes back to its pool when its "
     "client leaves, in transaction mode after each transaction, in statement mode after each statement.",
     ["pool_mode", "default_pool_size", "min_pool_size", "reserve_pool_size", "reserve_pool_timeout",
      "max_db_connections", "max_db_client_connections", "max_user_connections", "max_user_client_connections",
      "server_round_robin", "pool_idle_timeout", "autodb_idle_timeout"]),
    ("Advisory locks",
     "These may also stand in NAME.locks.ini beside NAME.ini. Policy pin: a client that holds session locks keeps its "
     "server until it has given them up. Policy release: the server goes back at the end of the transaction, its locks are "
     "recorded as leaks and freed.",
     ["advisory_lock_policy", "advisory_rewrite_fallback", "advisory_unlock_all", "advisory_trust_after",
      "advisory_probe_sample", "advisory_lock_notice", "advisory_pin_timeout", "advisory_idle_hold_log",
      "advisory_max_pins", "advisory_max_waits", "advisory_wait_log", "advisory_sweep_interval", "advisory_catalog"]),
    ("The leak log",
     "One record for each lock that a client left behind, and others about locks.",
     ["leak_log", "leak_log_format", "leak_log_query", "leak_log_events"]),
    ("What clients say and prepare", "",
     ["ignore_startup_parameters", "track_extra_parameters", "max_prepared_statements", "application_name_add_host",
      "disable_pqexec", "login_notify_message", "max_packet_size"]),
    ("Time limits of clients", "In seconds, with a fraction if need be.",
     ["query_timeout", "query_wait_timeout", "query_wait_notify", "client_idle_timeout", "client_login_timeout",
      "idle_transaction_timeout", "transaction_timeout", "cancel_wait_timeout", "suspend_timeout"]),
    ("Servers", "",
     ["server_reset_query", "server_reset_query_always", "server_check_query", "server_check_delay", "server_lifetime",
      "server_idle_timeout", "server_connect_timeout", "server_login_retry", "server_fast_close"]),
    ("TLS", "",
     ["client_tls_sslmode", "client_tls_key_file", "client_tls_cert_file", "client_tls_ca_file", "client_tls_protocols",
      "client_tls_ciphers", "client_tls13_ciphers", "client_tls_ecdhcurve", "client_tls_dheparams",
      "server_tls_sslmode", "server_tls_ca_file", "server_tls_key_file", "server_tls_cert_file",
      "server_tls_protocols", "server_tls_ciphers", "server_tls13_ciphers"]),
    ("The console and the log",
     "The console is the database lockkeeper, or pgbouncer.",
     ["admin_users", "stats_users", "stats_period", "logfile", "syslog", "syslog_ident", "syslog_facility", "verbose",
      "log_connections", "log_disconnections", "log_pooler_errors", "log_stats"]),
    ("The process", "",
     ["user", "pidfile", "conffile", "job_name", "workers", "peer_id", "metrics_listen_addr", "metrics_listen_port"]),
    ("Names and sockets", "",
     ["dns_max_ttl", "dns_nxdomain_ttl", "dns_zone_check_period", "resolv_conf", "tcp_defer_accept", "tcp_keepalive",
      "tcp_keepcnt", "tcp_keepidle", "tcp_keepintvl", "tcp_user_timeout", "tcp_socket_buffer", "pkt_buf",
      "sbuf_loopcnt"]),
]

# What the sample sets, so that it is a configuration to start with.
SAMPLE = {
    "listen_addr": "127.0.0.1",
    "listen_port": "6432",
    "auth_type": "scram-sha-256",
    "auth_file": "userlist.txt",
    "pool_mode": "transaction",
}

# Beyond the line of help, where it says too little.
MORE = {
    "autodb_idle_timeout": "One whose server never let anybody in goes after server_login_retry.",
    "pool_idle_timeout": "Its servers are closed then, whatever min_pool_size and server_idle_timeout say.",
    "suspend_timeout": "What is not silent by then is closed.",
    "advisory_unlock_all": "With tracked a lock taken where no evidence shows it can pass to the next client.",
    "leak_log_events": "docs/advisory-locks.md lists the events, in \"The leak log\".",
    "server_reset_query": "Used in session mode; see server_reset_query_always.",
}

# For those who come from PgBouncer: (section, name) -> (verdict, remark). What isn't here is the same, or what its row in
# the table of options says: without effect, or with values that are refused.
MOVED = {
    ("lockkeeper", "auth_type"): ("same", "with `md5` a user with a SCRAM secret logs in by SCRAM, as in PgBouncer"),
    ("lockkeeper", "cancel_wait_timeout"): ("better", "bounds the cleaning of a server too; one that takes longer is "
                                                      "closed"),
    ("lockkeeper", "job_name"): ("same", "default `lockkeeper`"),
    ("lockkeeper", "syslog_ident"): ("same", "default `lockkeeper`"),
    ("lockkeeper", "max_packet_size"): ("same", "large messages are passed on in pieces, not gathered"),
    ("lockkeeper", "max_prepared_statements"): ("better", "`DEALLOCATE name` is understood, and the unnamed statement "
                                                          "follows its client too"),
    ("lockkeeper", "query_wait_timeout"): ("better", "the error's DETAIL tells how many servers are pinned, and by whom "
                                                     "the longest"),
    ("lockkeeper", "server_idle_timeout"): ("better", "never takes a server from a client that holds locks on it"),
    ("lockkeeper", "server_lifetime"): ("better", "never takes a server from a client that holds locks on it"),
    ("lockkeeper", "server_reset_query"): ("same", "besides, `pg_advisory_unlock_all()` runs as `advisory_unlock_all` "
                                                   "says"),
    ("lockkeeper", "pool_mode"): ("better", "a client that holds session advisory locks keeps its server in each mode"),
    ("lockkeeper", "verbose"): ("same", "`-v` on the command line adds to it"),
    ("lockkeeper", "track_extra_parameters"): ("same", "`default_transaction_read_only` follows without it"),
    ("databases", "host"): ("warning", "of a list only the first host is used"),
    ("databases", "password"): ("same", "never shown"),
}

# PgBouncer's console: its commands and the views of SHOW.
COMMANDS = ["SHOW", "SET", "RELOAD", "PAUSE", "RESUME", "SUSPEND", "DISABLE", "ENABLE", "RECONNECT", "WAIT_CLOSE", "KILL",
            "KILL_CLIENT", "SHUTDOWN"]
VIEWS = ["HELP", "VERSION", "CLIENTS", "SERVERS", "POOLS", "DATABASES", "USERS", "STATS", "STATS_TOTALS",
         "STATS_AVERAGES", "TOTALS", "LISTS", "CONFIG", "STATE", "MEM", "SOCKETS", "ACTIVE_SOCKETS", "FDS", "DNS_HOSTS",
         "DNS_ZONES", "PEERS", "PEER_POOLS"]

# What differs, or what an added one is for.
CONSOLE = {
    "PAUSE": "a server that stays with its client for locks counts as in use; notices name whose locks it waits for",
    "WAIT_CLOSE": "notices name whose locks it waits for",
    "SHUTDOWN": "with WAIT_FOR_SERVERS: notices name whose locks it waits for",
    "RELOAD": "tells every mistake and warning; if there is a mistake the old settings stay",
    "KILL": "locks that clients held are told as lost",
    "SERVERS": "further columns behind PgBouncer's: locks, pins",
    "POOLS": "a further column behind PgBouncer's: sv_pinned",
    "CONFIG": "Lockkeeper's own settings too",
    "VERSION": "Lockkeeper's version; the connection itself says server_version 1.25.2/lockkeeper, by which tools choose "
               "their queries",
    "ADVISORY_LOCKS": "locks that clients hold through this process, and lock calls that are not answered yet",
    "LOCK_WAITS": "who waits for whose lock, as the last sweep saw it: clients where they are ours, else processes",
    "PINS": "servers that stay with their client for locks, since when and for which statement",
    "LOCK_STATEMENTS": "statements that take session locks: how often, how long, and how that is known",
    "LEAKS": "the last 1,000 records of leaked, hidden and lost locks",
    "MEM": "pools, servers and clients",
    "SET": "holds until the next RELOAD",
    "DNS_ZONES": "serial is 0, since serials are not asked for",
    "PEERS": "what `[peers]` says; nothing is sent to peers",
    "PEER_POOLS": "zeros; nothing is sent to peers",
    "SUSPEND": "new clients can log in, and wait; so an admin can say RESUME",
}

# Known to the console, and yet not the same.
NOT_THE_SAME = {
    "FDS": "without rows",
}
