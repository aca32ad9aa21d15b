#include "unit/config/files.h"

static void
a_pgbouncer_ini_is_read_as_it_is(void **state)
{
    struct files *f = *state;
    char text[2048];
    files_write(f, "userlist.txt", "\"app\" \"secret\"\n");
    snprintf(text, sizeof(text),
        ";; as a distribution ships it\n"
        "[databases]\n"
        "shop = host=localhost port=5433 dbname=shop_prod user=app password='it''s' connect_query='SELECT 1 ; SELECT "
        "2'\n"
        "* = host=/var/run/postgresql\n"
        "[users]\n"
        "batch = pool_mode=transaction max_user_client_connections=10\n"
        "[pgbouncer]\n"
        "   listen_addr = 127.0.0.1\n"
        "listen_port = 6543\n"
        "auth_type = scram-sha-256\n"
        "auth_file = %s/userlist.txt\n"
        "admin_users = postgres, root\n"
        "pool_mode = transaction\n"
        "server_reset_query = DISCARD ALL ; SELECT 1\n"
        "server_lifetime = 1800\n"
        "service_name = mine\n"
        "unix_socket_mode = 0770\n"
        "query_wait_notify = 5\n"
        "client_tls_sslmode = disable\n"
        "server_tls_sslmode = prefer\n",
        f->folder);
    struct lk_settings *s = files_load(f, text);
    assert_string_equal(files_errors(f), "");
    assert_non_null(s);
    assert_string_equal(files_warnings(f), "");
    const struct lk_database_settings *d = lk_settings_database(s, "shop");
    assert_string_equal(d->host, "localhost");
    assert_int_equal(d->port, 5433);
    assert_string_equal(d->dbname, "shop_prod");
    assert_string_equal(d->user, "app");
    assert_string_equal(d->password, "it's");
    assert_string_equal(d->connect_query, "SELECT 1 ; SELECT 2");
    assert_string_equal(lk_settings_fallback(s)->host, "/var/run/postgresql");
    assert_int_equal(lk_settings_user(s, "batch")->pool_mode, LK_POOL_TRANSACTION);
    assert_string_equal(s->listen_addr, "127.0.0.1");
    assert_int_equal(s->listen_port, 6543);
    assert_int_equal(s->auth_type, LK_AUTH_TYPE_SCRAM);
    assert_string_equal(s->auth_file_text, "\"app\" \"secret\"\n");
    assert_string_equal(s->server_reset_query, "DISCARD ALL ; SELECT 1");
    assert_int_equal(s->server_lifetime_us, 1800000000);
    assert_string_equal(s->service_name, "mine");
    assert_int_equal(s->unix_socket_mode, 0770);
}

static void
all_mistakes_are_told_at_once_with_their_lines(void **state)
{
    struct files *f = *state;
    files_load(f, "stray = 1\n"
                  "[pgbouncer]\n"
                  "listen_port = many\n"
                  "pool_mod = session\n"
                  "log_stats = perhaps\n"
                  "nonsense\n"
                  "auth_type = any\n"
                  "[databsaes]\n"
                  "a = whatever\n"
                  "[databases]\n"
                  "b = host=h prot=5\n"
                  "c = port=70000 pool_mode=weird\n"
                  "pgbouncer = host=h\n"
                  "lockkeeper = host=h\n"
                  "d = password='open\n"
                  "[users]\n"
                  "u = dbname=x\n"
                  "[advisory_names]\n"
                  "1,2,3 = x\n");
    files_assert_error(f, "lk.ini:1", "\"stray\" stands before any section");
    files_assert_error(f, "lk.ini:3", "listen_port = \"many\": must be a whole number from 1 to 65535");
    files_assert_error(f, "lk.ini:4", "unknown setting \"pool_mod\"; did you mean pool_mode?");
    files_assert_error(f, "lk.ini:5", "log_stats = \"perhaps\": must be 1 or 0");
    files_assert_error(f, "lk.ini:6", "neither a [section] nor NAME = VALUE");
    files_assert_error(f, "lk.ini:8", "unknown section [databsaes]");
    files_assert_error(f, "lk.ini:11", "unknown key \"prot\"; did you mean port?");
    files_assert_error(f, "lk.ini:12", "port = \"70000\": must be a whole number from 1 to 65535");
    files_assert_error(f, "lk.ini:12", "pool_mode = \"weird\": must be one of session, transaction");
    files_assert_error(f, "lk.ini:13", "console");
    files_assert_error(f, "lk.ini:14", "console");
    files_assert_error(f, "lk.ini:15", "d: a quote is not closed");
    files_assert_error(f, "lk.ini:17", "unknown key \"dbname\"");
    files_assert_error(f, "lk.ini:19", "\"1,2,3\" is no key");
    size_t lines = 0;
    for (const char *p = files_errors(f); *p; p++)
        lines += *p == '\n';
    assert_int_equal(lines, 14);
}

static void
what_this_version_cannot_keep_is_refused(void **state)
{
    struct files *f = *state;
    const char *refused[] = {"auth_type = pam", "auth_type = ldap"};
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        char text[128];
        snprintf(text, sizeof(text), "[lockkeeper]\n%s\n[databases]\n", refused[i]);
        files_load(f, text);
        files_assert_error(f, "lk.ini:2", "not supported by this version");
    }
}

static void
what_has_no_effect_yet_is_warned_of_only_when_changed(void **state)
{
    struct files *f = *state;
    assert_non_null(
        files_load_main(f, "dns_zone_check_period = 0\npkt_buf = 4096\nworkers = 1\nsbuf_loopcnt = 5\n"
                           "server_tls_sslmode = allow\nquery_wait_notify = 5"));
    assert_string_equal(files_warnings(f), "");
    assert_non_null(files_load_main(f, "dns_zone_check_period = 1\npkt_buf = 8192\nworkers = 4\n"
                                       "sbuf_loopcnt = 0\n"
                                       "peer_id = 3\nauth_ldap_options = host=h\n"
                                       "[databases]\na = target_session_attrs=any load_balance_hosts=round-robin\n"
                                       "b = target_session_attrs=primary host=h1,h2"));
    files_assert_warning(f, "lk.ini:3", "dns_zone_check_period = 1: has no effect in this version");
    files_assert_warning(f, "lk.ini:4", "pkt_buf");
    files_assert_warning(f, "lk.ini:5", "workers = 4: this version runs one worker");
    files_assert_warning(f, "lk.ini:6", "sbuf_loopcnt");
    files_assert_warning(f, "lk.ini:7", "peer_id");
    files_assert_warning(f, "lk.ini:8", "auth_ldap_options");
    files_assert_warning(f, "lk.ini:11", "target_session_attrs");
    files_assert_warning(f, "lk.ini:11", "only the first of the list, h1");
    assert_null(strstr(files_warnings(f), "lk.ini:10:"));
    assert_string_equal(lk_settings_database(f->s, "b")->host, "h1");
    assert_int_equal(f->s->workers, 4);
}

static void
tls_needs_its_files(void **state)
{
    struct files *f = *state;
    static const char of_client[] = "client_tls_key_file = k\nclient_tls_cert_file = c\n";
    char text[256];
    assert_null(files_load_main(f, "client_tls_sslmode = allow"));
    files_assert_error(f, "lk.ini:1", "client_tls_key_file must be set, unless client_tls_sslmode is disable");
    files_assert_error(f, "lk.ini:1", "client_tls_cert_file must be set");
    snprintf(text, sizeof(text), "%sclient_tls_sslmode = verify-ca\nserver_tls_sslmode = verify-full", of_client);
    assert_null(files_load_main(f, text));
    files_assert_error(f, "lk.ini:1", "client_tls_ca_file must be set");
    files_assert_error(f, "lk.ini:1", "server_tls_ca_file must be set");
    assert_null(files_load_main(f, "server_tls_cert_file = c"));
    files_assert_error(f, "lk.ini:3", "go together");
    snprintf(text, sizeof(text), "%sclient_tls_ca_file = a\nclient_tls_sslmode = verify-full", of_client);
    struct lk_settings *s = files_load_main(f, text);
    assert_non_null(s);
    assert_int_equal(s->client_tls_sslmode, LK_SSLMODE_VERIFY_FULL);
    assert_int_equal(s->server_tls_sslmode, LK_SSLMODE_PREFER);
    assert_string_equal(files_warnings(f), "");
}

static void
certificates_as_logins_need_verify_full(void **state)
{
    struct files *f = *state;
    files_load(f, "[lockkeeper]\nauth_type = cert\nclient_tls_sslmode = verify-ca\nclient_tls_key_file = k\n"
                  "client_tls_cert_file = c\nclient_tls_ca_file = a\nauth_file =\n");
    files_assert_error(f, "lk.ini:2", "auth_type = cert needs client_tls_sslmode = verify-full");
}

static void
what_has_an_effect_is_not_warned_of(void **state)
{
    struct files *f = *state;
    assert_non_null(files_load_main(f, "dns_max_ttl = 16\ndns_nxdomain_ttl = 3\nserver_round_robin = 1\n"
                                       "so_reuseport = 1\ntcp_defer_accept = 0\nmax_packet_size = 65536\n"
                                       "log_stats = 0\nleak_log_events = leak,leak_summary,hidden,lost,pin,unpin"));
    assert_string_equal(files_warnings(f), "");
}

static void
peers_are_read_for_mistakes_and_warned_of(void **state)
{
    struct files *f = *state;
    struct lk_settings *s = files_load_main(f, "[peers]\n1 = host=a port=1\n2 = host=b pool_size=3");
    assert_non_null(s);
    struct lk_settings *copy = lk_settings_copy(s);
    assert_int_equal(copy->peer_count, 2);
    assert_int_equal(copy->peers[0].id, 1);
    assert_int_equal(copy->peers[0].port, 1);
    assert_int_equal(copy->peers[0].pool_size, -1);
    assert_string_equal(copy->peers[1].host, "b");
    assert_int_equal(copy->peers[1].port, 5432);
    assert_int_equal(copy->peers[1].pool_size, 3);
    lk_settings_unref(copy);
    files_assert_warning(f, "lk.ini:4", "[peers] is shown on the console and has no other effect");
    assert_null(strstr(files_warnings(f), "lk.ini:5"));
    files_load_main(f, "[peers]\nx = host=a\n1 = user=a");
    files_assert_error(f, "lk.ini:4", "peer_id");
    files_assert_error(f, "lk.ini:5", "unknown key \"user\"");
}

static void
the_last_of_two_lines_in_one_section_counts(void **state)
{
    struct files *f = *state;
    assert_non_null(files_load_main(f, "listen_port = 1\nlisten_port = 2\njob_name = a\nservice_name = b\n"
                                       "[databases]\na = host=h port=3\na = pool_size=9\n"
                                       "[users]\nu = pool_size=1\nu = query_timeout=2\n"
                                       "[advisory_names]\n42 = x\n42 = y"));
    assert_int_equal(f->s->listen_port, 2);
    assert_string_equal(f->s->service_name, "b");
    assert_int_equal(f->s->database_count, 1);
    assert_null(f->s->databases[0].host);
    assert_int_equal(f->s->databases[0].port, 5432);
    assert_int_equal(f->s->databases[0].pool_size, 9);
    assert_int_equal(f->s->users[0].pool_size, -1);
    assert_int_equal(f->s->users[0].query_timeout_us, 2000000);
    assert_int_equal(f->s->name_count, 1);
    assert_string_equal(f->s->names[0].name, "y");
    files_assert_warning(f, "lk.ini:4", "listen_port stands at");
    files_assert_warning(f, "lk.ini:9", "the last one counts");
}

static void
one_key_in_both_main_sections_is_a_mistake(void **state)
{
    struct files *f = *state;
    assert_non_null(
        files_load(f, "[pgbouncer]\nauth_type = any\n[lockkeeper]\nlisten_port = 5\n[pgbouncer]\nuser = x\n"));
    assert_int_equal(f->s->listen_port, 5);
    files_load(f, "[pgbouncer]\nauth_type = any\njob_name = x\n[lockkeeper]\nservice_name = x\n");
    files_assert_error(f, "lk.ini:5", "lk.ini:3 too; [lockkeeper] and [pgbouncer] are one section");
}

static void
names_of_databases_may_be_quoted(void **state)
{
    struct files *f = *state;
    assert_non_null(files_load_main(f, "[databases]\n\"my db\" = host=a\n\"q\"\"=x\" = host=b\nda-sh.1 = host=c"));
    assert_string_equal(lk_settings_database(f->s, "my db")->host, "a");
    assert_string_equal(lk_settings_database(f->s, "q\"=x")->host, "b");
    assert_string_equal(lk_settings_database(f->s, "da-sh.1")->host, "c");
}

static void
lock_settings_of_databases_and_users_are_kept(void **state)
{
    struct files *f = *state;
    assert_non_null(
        files_load_main(f, "advisory_lock_policy = release\nadvisory_unlock_all = tracked\nadvisory_trust_after = 0\n"
                           "[databases]\na = advisory_lock_policy=pin advisory_unlock_all=always "
                           "advisory_probe_sample=5 advisory_trust_after=1\n"
                           "[users]\nu = advisory_lock_policy=release"));
    assert_string_equal(files_warnings(f), "");
    assert_int_equal(f->s->advisory_lock_policy, 1);
    assert_int_equal(f->s->advisory_unlock_all, 1);
    assert_int_equal(f->s->advisory_trust_after, 0);
    assert_int_equal(f->s->databases[0].advisory_lock_policy, 0);
    assert_int_equal(f->s->databases[0].advisory_unlock_all, 0);
    assert_int_equal(f->s->databases[0].advisory_probe_sample, 5);
    assert_int_equal(f->s->databases[0].advisory_trust_after, 1);
    assert_int_equal(f->s->users[0].advisory_lock_policy, 1);
}

static void
names_of_locks_are_tidied(void **state)
{
    struct files *f = *state;
    assert_non_null(files_load_main(f, "[advisory_names]\n42 = nightly billing\n 1001 , * = job_sync\n-1,-7 = x\n"
                                       "-9223372036854775808 = y"));
    assert_int_equal(f->s->name_count, 4);
    assert_string_equal(f->s->names[0].name, "nightly billing");
    assert_string_equal(f->s->names[1].pattern, "1001,*");
    assert_string_equal(f->s->names[2].pattern, "-1,-7");
    assert_string_equal(f->s->names[3].pattern, "-9223372036854775808");
    files_load_main(f, "[advisory_names]\n*,1 = a\n9223372036854775808 = b\n2147483648,1 = c\n1, = d\n5 =\n*=e");
    for (int line = 4; line <= 9; line++) {
        char where[32];
        snprintf(where, sizeof(where), "lk.ini:%d", line);
        files_assert_error(f, where, line == 8 ? "the name is missing" : "is no key");
    }
}

static void
the_locks_file_adds_what_pgbouncer_lacks(void **state)
{
    struct files *f = *state;
    files_write(f, "lk.locks.ini",
        "[lockkeeper]\nadvisory_unlock_all = tracked\nleak_log = /tmp/leaks\n"
        "[databases]\na = advisory_trust_after=7\n* = advisory_lock_policy=release\n"
        "[users]\nu = advisory_lock_policy=release\n[advisory_names]\n42 = x\n");
    assert_non_null(files_load_main(f, "[databases]\na = host=h\n* = host=i\n[users]\nu = pool_size=3"));
    assert_string_equal(files_warnings(f), "");
    assert_int_equal(f->s->advisory_unlock_all, 1);
    assert_string_equal(f->s->leak_log, "/tmp/leaks");
    assert_string_equal(lk_settings_database(f->s, "a")->host, "h");
    assert_int_equal(lk_settings_database(f->s, "a")->advisory_trust_after, 7);
    assert_int_equal(lk_settings_fallback(f->s)->advisory_lock_policy, 1);
    assert_int_equal(lk_settings_user(f->s, "u")->pool_size, 3);
    assert_int_equal(lk_settings_user(f->s, "u")->advisory_lock_policy, 1);
    assert_string_equal(f->s->names[0].name, "x");
}

static void
the_locks_file_may_hold_nothing_else_and_nothing_twice(void **state)
{
    struct files *f = *state;
    files_write(f, "lk.locks.ini",
        "[lockkeeper]\nlisten_port = 5\nleak_log = twice\n[databases]\nnosuch = advisory_trust_after=7\n"
        "a = host=x\na = advisory_trust_after=7\n[users]\nnosuch = advisory_lock_policy=release\n"
        "[pgbouncer]\nleak_log = x\n[peers]\n1 = host=h\n[advisory_names]\n42 = x\n");
    files_load_main(f, "leak_log = once\n[databases]\na = advisory_trust_after=1\n[advisory_names]\n42 = y");
    files_assert_error(f, "lk.locks.ini:2", "only what PgBouncer lacks");
    files_assert_error(f, "lk.locks.ini:3", "lk.ini:3 too; only one of the files may hold it");
    files_assert_error(f, "lk.locks.ini:5", "there is no database nosuch");
    files_assert_error(f, "lk.locks.ini:6", "only what PgBouncer lacks");
    files_assert_error(f, "lk.locks.ini:7", "advisory_trust_after is already set");
    files_assert_error(f, "lk.locks.ini:9", "there is no user nosuch");
    files_assert_error(f, "lk.locks.ini:10", "[pgbouncer] belongs into");
    files_assert_error(f, "lk.locks.ini:12", "[peers] belongs into");
    files_assert_error(f, "lk.locks.ini:15", "lk.ini:7 too");
}

static void
a_locks_file_that_cannot_be_read_is_a_mistake(void **state)
{
    struct files *f = *state;
    char path[256];
    snprintf(path, sizeof(path), "%s/lk.locks.ini", f->folder);
    assert_int_equal(symlink("lk.locks.ini", path), 0);
    files_load_main(f, "");
    files_assert_error(f, "lk.locks.ini", "cannot be read");
}

static void
an_include_is_blamed_with_its_own_lines(void **state)
{
    struct files *f = *state;
    char text[256];
    files_write(f, "more.ini", "listen_port = x\n[databases]\na = host=h\n");
    snprintf(text, sizeof(text), "%%include %s/more.ini\nb = host=i\n%%include %s/none.ini", f->folder, f->folder);
    files_load_main(f, text);
    files_assert_error(f, "more.ini:1", "listen_port");
    files_assert_error(f, "lk.ini:5", "none.ini\": cannot be read: No such file or directory");
    files_write(f, "more.ini", "listen_port = 9\n[databases]\na = host=h\n");
    files_write(f, "none.ini", "");
    assert_non_null(files_load_main(f, text));
    assert_int_equal(f->s->listen_port, 9);
    assert_string_equal(lk_settings_database(f->s, "b")->host, "i");
}

static void
settings_are_judged_together(void **state)
{
    struct files *f = *state;
    files_load(f, "[lockkeeper]\nauth_type = trust\n");
    files_assert_error(f, "lk.ini:2", "auth_file must be set");
    files_load(f, "; nothing\n[databases]\n");
    files_assert_error(f, "lk.ini:1", "auth_file must be set");
    files_load(f, "[lockkeeper]\nauth_file = /nowhere/users.txt\n");
    files_assert_error(f, "lk.ini:2", "auth_file /nowhere/users.txt cannot be read: No such file");
    files_load_main(f, "unix_socket_dir =");
    files_assert_error(f, "lk.ini:1", "nowhere to listen");
    files_load_main(f, "leak_log_events = leak, lsot,,lint");
    files_assert_error(f, "lk.ini:3", "there is no event \"lsot\"");
    assert_non_null(
        files_load_main(f, "leak_log_events = leak,leak_summary, hidden ,lost,pin,unpin,idle_hold,pin_timeout,"
                           "pins_full,unlock_failed,rewritten,rejected,released,observed,rewritten_lost,wait,"
                           "deadlock,lint"));
    assert_null(strstr(files_warnings(f), "leak_log_events"));
    assert_non_null(
        files_load_main(f, "min_pool_size = 30\n[databases]\na = pool_size=2 min_pool_size=3\nb = pool_size=40"));
    files_assert_warning(f, "lk.ini:3", "default_pool_size is only 20");
    files_assert_warning(f, "lk.ini:5", "min_pool_size is 3");
    char text[512] = "[databases]\na = host=/";
    memset(text + strlen(text), 'x', 120);
    files_load_main(f, text);
    files_assert_error(f, "lk.ini:4", "too long for a socket");
}

static void
rules_are_read_with_the_settings_and_their_mistakes_told(void **state)
{
    struct files *f = *state;
    char text[512];
    files_write(f, "hba.conf", "local all all trust\nhostssl all all all cert\n");
    files_write(f, "users", "\"app\" \"x\"\n");
    snprintf(text, sizeof(text),
        "[lockkeeper]\nauth_type = hba\nauth_file = %s/users\nauth_hba_file = %s/hba.conf\n"
        "auth_ident_file = %s/ident.conf\n",
        f->folder, f->folder, f->folder);
    files_load(f, text);
    files_assert_error(f, "ident.conf", "cannot be read: No such file or directory");
    files_write(f, "ident.conf", "m joe\n");
    files_load(f, text);
    files_assert_error(f, "ident.conf:1", "must be a map's name");
    files_assert_error(f, "lk.ini:1", "needs client_tls_sslmode = verify-ca or verify-full");
    files_write(f, "hba.conf", "local all all trust\nlocal all +g trust\n");
    files_write(f, "ident.conf", "");
    files_load(f, text);
    files_assert_error(f, "hba.conf:2", "groups are not supported");
    files_write(f, "hba.conf", "local all all trust\nhost all all samenet md5\n");
    files_load(f, text);
    assert_string_equal(files_errors(f), "");
    size_t count;
    (void)lk_hba_rules(f->s->hba, &count);
    assert_int_equal(count, 2);
    struct lk_settings *copy = lk_settings_copy(f->s);
    assert_ptr_equal(copy->hba, f->s->hba);
    lk_settings_unref(copy);
    files_load(f, "[lockkeeper]\nauth_type = hba\nauth_file = x\n");
    files_assert_error(f, "lk.ini:2", "auth_hba_file must be set when auth_type is hba");
}

static void
a_missing_file_is_told_by_its_name(void **state)
{
    struct files *f = *state;
    files_read(f);
    files_assert_error(f, "lk.ini", "cannot be read: No such file or directory");
}

static void
endless_mistakes_are_counted_in_the_end(void **state)
{
    struct files *f = *state;
    size_t n = 5000;
    char *text = malloc(n * 2 + 1);
    for (size_t i = 0; i < n; i++)
        memcpy(text + i * 2, "\x01\n", 2);
    text[n * 2] = '\0';
    files_load(f, text);
    free(text);
    files_assert_error(f, "lk.ini", "and 4001 mistakes more");
    assert_null(strchr(files_errors(f), 1));
}

static void
no_message_tells_a_password(void **state)
{
    struct files *f = *state;
    files_load_main(
        f, "[databases]\na = password='hunter2'x host=h\nb = password=hunter2 port=x\nc = password='hunter2\n");
    assert_null(f->s);
    assert_null(strstr(files_errors(f), "hunter2"));
    assert_null(strstr(files_warnings(f), "hunter2"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        FILES_TEST(a_pgbouncer_ini_is_read_as_it_is),
        FILES_TEST(all_mistakes_are_told_at_once_with_their_lines),
        FILES_TEST(what_this_version_cannot_keep_is_refused),
        FILES_TEST(what_has_no_effect_yet_is_warned_of_only_when_changed),
        FILES_TEST(tls_needs_its_files),
        FILES_TEST(certificates_as_logins_need_verify_full),
        FILES_TEST(what_has_an_effect_is_not_warned_of),
        FILES_TEST(peers_are_read_for_mistakes_and_warned_of),
        FILES_TEST(the_last_of_two_lines_in_one_section_counts),
        FILES_TEST(one_key_in_both_main_sections_is_a_mistake),
        FILES_TEST(names_of_databases_may_be_quoted),
        FILES_TEST(lock_settings_of_databases_and_users_are_kept),
        FILES_TEST(names_of_locks_are_tidied),
        FILES_TEST(the_locks_file_adds_what_pgbouncer_lacks),
        FILES_TEST(the_locks_file_may_hold_nothing_else_and_nothing_twice),
        FILES_TEST(a_locks_file_that_cannot_be_read_is_a_mistake),
        FILES_TEST(an_include_is_blamed_with_its_own_lines),
        FILES_TEST(settings_are_judged_together),
        FILES_TEST(rules_are_read_with_the_settings_and_their_mistakes_told),
        FILES_TEST(a_missing_file_is_told_by_its_name),
        FILES_TEST(endless_mistakes_are_counted_in_the_end),
        FILES_TEST(no_message_tells_a_password),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
