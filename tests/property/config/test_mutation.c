/* Whatever stands in the files, loading ends, and ends in a whole snapshot or in named mistakes. Files are made from
 * lines that mean something, then bytes are changed, dropped, doubled and swapped. LK_SEED and LK_ROUNDS choose other
 * runs. */
#include "unit/config/files.h"

static uint64_t random_state;

/* xorshift64*; its state is never 0. */
static uint32_t
pick(uint32_t below)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)((random_state * 0x2545F4914F6CDD1Du) >> 33) % below;
}

#define LINES_MOST 16

/* Each section with lines that belong there; some have a mistake, most have none. */
static const struct {
    const char *heading, *lines[LINES_MOST];
} sections[] = {
    {"[lockkeeper]",
        {"listen_port = 6432", "pool_mode = transaction", "server_lifetime = 1.5", "unix_socket_mode = 0777",
            "leak_log_events = leak, lost ,pin", "server_reset_query = DISCARD ALL ; SELECT 1", "workers = 2",
            "advisory_lock_policy = release", "; comment", "advisory_trust_after = 5", "max_packet_size = 2147483647",
            "admin_users = a, *, b", "log_stats = yes", "client_tls_sslmode = prefer", "auth_file ="}},
    {"[databases]",
        {"a = host=h1,h2 port=5 password='it''s' pool_size=3", "* = dbname=x min_pool_size=30",
            "\"q\"\"uoted\" = user=u", "b = advisory_unlock_all=tracked", "c =", "# comment", "%include /nowhere"}},
    {"[users]", {"u = pool_mode=session query_timeout=0.25", "v = advisory_lock_policy=pin"}},
    {"[peers]", {"1 = host=p port=1"}},
    {"[advisory_names]", {"42 = nightly", "1001,* = job", "-1, -7 = y"}},
    {"[pgbouncer]", {"job_name = x", "dns_max_ttl = 3", "%include lk.ini"}},
};

static size_t
make_text(char *out)
{
    size_t n = 0;
    for (uint32_t blocks = pick(5); blocks > 0; blocks--) {
        size_t s = pick(sizeof(sections) / sizeof(*sections));
        n += (size_t)sprintf(out + n, "%s\n", sections[s].heading);
        for (uint32_t lines = pick(6); lines > 0; lines--) {
            const char *line = sections[s].lines[pick(LINES_MOST)];
            if (line)
                n += (size_t)sprintf(out + n, "%s\n", line);
        }
    }
    return n;
}

static size_t
mutate(char *text, size_t n, size_t room)
{
    static const char strange[] = "\0\n\r=[]'\";#%* ,\\\x7f\xff\xc3\t-.0";
    for (uint32_t times = pick(2) ? pick(8) : 0; times > 0 && n > 0; times--) {
        size_t at = pick((uint32_t)n);
        size_t run = 1 + pick((uint32_t)(n - at));
        switch (pick(5)) {
        case 0:
            text[at] = (char)pick(256);
            break;
        case 1:
            text[at] = strange[pick(sizeof(strange))];
            break;
        case 2:
            memmove(text + at, text + at + run, n - at - run);
            n -= run;
            break;
        case 3:
            if (n + run <= room) {
                memmove(text + at + run, text + at, n - at);
                n += run;
            }
            break;
        default:
            memset(text + at, strange[pick(sizeof(strange))], run);
            break;
        }
    }
    return n;
}

static void
check_snapshot(struct files *f)
{
    struct lk_settings *copy = lk_settings_copy(f->s);
    assert_int_equal(copy->database_count, f->s->database_count);
    for (size_t i = 0; i < copy->database_count; i++) {
        const struct lk_database_settings *d = &copy->databases[i];
        assert_true(d->port >= 1 && d->port <= 65535);
        assert_true(d->automatic || lk_settings_database(copy, d->name) == d);
        assert_string_not_equal(d->name, "pgbouncer");
    }
    struct lk_buf differing = {0};
    lk_settings_restart_needed(f->s, copy, &differing);
    assert_int_equal(differing.len, 0);
    lk_settings_unref(copy);
}

static void
check_lines(const struct lk_buf *lines)
{
    for (size_t i = 0; i < lines->len; i++)
        assert_true(lines->data[i] == '\n' || (lines->data[i] >= ' ' && lines->data[i] != 0x7f));
    assert_true(lines->len == 0 || lines->data[lines->len - 1] == '\n');
}

static void
any_bytes_give_a_snapshot_or_named_mistakes(void **state)
{
    struct files *f = *state;
    const char *seed = getenv("LK_SEED"), *rounds = getenv("LK_ROUNDS");
    random_state = seed ? strtoull(seed, NULL, 0) | 1 : 20261130;
    long most = rounds ? atol(rounds) : 3000;
    printf("seed %llu, %ld rounds\n", (unsigned long long)random_state, most);
    assert_int_equal(chdir(f->folder), 0);
    static char text[8192];
    long loaded = 0;
    for (long i = 0; i < most; i++) {
        size_t n = (size_t)sprintf(text, "[lockkeeper]\nauth_type = any\n");
        n += make_text(text + n);
        files_write_bytes(f, "lk.ini", text, mutate(text, n, sizeof(text)));
        n = make_text(text);
        files_write_bytes(f, "lk.locks.ini", text, pick(4) ? 0 : mutate(text, n, sizeof(text)));
        files_read(f);
        check_lines(&f->errors);
        check_lines(&f->warnings);
        assert_int_equal(f->s == NULL, f->errors.len > 0);
        if (f->s) {
            check_snapshot(f);
            loaded++;
        }
    }
    assert_int_equal(chdir("/"), 0);
    print_message("%ld of them loaded\n", loaded);
    assert_true(loaded > most / 20);
}

static void
a_megabyte_of_noise_and_a_line_of_a_megabyte_only_give_mistakes(void **state)
{
    struct files *f = *state;
    size_t n = 1 << 20;
    char *noise = malloc(n);
    random_state = 7;
    for (size_t i = 0; i < n; i++)
        noise[i] = (char)pick(256);
    files_write_bytes(f, "lk.ini", noise, n);
    assert_null(files_read(f));
    assert_true(f->errors.len < (1 << 20));
    const char *starts[] = {"[", "[databases]\na = host='", "[databases]\n\"", "[databases]\n", "[lockkeeper]\n",
        "[advisory_names]\n", "%include ", "[lockkeeper]\nlisten_port="};
    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
        memset(noise, 'x', n);
        memcpy(noise, starts[i], strlen(starts[i]));
        files_write_bytes(f, "lk.ini", noise, n);
        assert_null(files_read(f));
        assert_true(f->errors.len > 0 && f->errors.len < 8192);
    }
    free(noise);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        FILES_TEST(any_bytes_give_a_snapshot_or_named_mistakes),
        FILES_TEST(a_megabyte_of_noise_and_a_line_of_a_megabyte_only_give_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
