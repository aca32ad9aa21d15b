/* Whole sessions: the input is a script of steps, carried out in a world of tests/replay, with a pool of two servers.
 * After each step the invariants hold. Byte 0 chooses the settings, byte 1 what the world does by itself. Then steps: a
 * byte whose low five bits are the kind (enum step) and whose high three say which client, server or canceller; then
 * what the step takes. What PostgreSQL would never say is among it: the core must stand it too. */
#include "fuzz/fuzz.h"
#include "fuzz/invariants.h"

#include "wire/build.h"

#define CLIENTS 4u
#define STEPS_MAX 250

enum step {
    SAY,        /* client: a message of client_says */
    TELL,       /* server: a message of server_says */
    ANSWER,     /* server: what PostgreSQL would answer to all that it was sent */
    FAIL,       /* server: an error to the first of it, the rest skipped as PostgreSQL would */
    SAY_FRAME,  /* client: type, length, body */
    TELL_FRAME, /* server: the same */
    SAY_BYTES,  /* client: length, bytes */
    TELL_BYTES, /* server: the same */
    SAY_PART,   /* client: a message of client_says, how much of it; the rest waits for REST */
    TELL_PART,  /* server: the same */
    REST,       /* client and server: the rests */
    SOON,       /* time: a byte of 10 ms */
    LATE,       /* time: a byte of 10 s */
    LOSE_CLIENT,
    LOSE_SERVER,
    LOSE_CANCELLER,
    CANCEL,    /* a new connection asks to cancel the client's query */
    CONNECT,   /* a new client, in place of one that is gone */
    RELOAD,    /* with other settings */
    OPERATE,   /* PAUSE, RESUME, RECONNECT, KILL, … */
    LONG_SAY,  /* client: type, length of three bytes, then as many bytes as the next says */
    LONG_TELL, /* server: the same */
    PROBES,    /* what automatic probes find from here on */
};

static const char *const client_says[] = {"Query \"select 1\"", "Query \"begin\"", "Query \"commit\"",
    "Query \"select pg_advisory_lock(42)\"", "Query \"select pg_advisory_unlock(42)\"", "Query \"select f()\"",
    "Parse \"s1\" \"select pg_advisory_lock($1)\" [20]", "Parse \"\" \"select 1\"", "Parse \"s1\" \"select $1\"",
    "Parse \"s2\" \"begin\"", "Bind \"\" \"s1\" [\"42\"]", "Bind \"\" \"\"", "Bind \"p\" \"s2\"", "Execute \"\" 0",
    "Execute \"p\" 1", "Describe S \"s1\"", "Describe P \"\"", "Close S \"s1\"", "Close P \"p\"", "Sync", "Flush",
    "Query \"copy t from stdin\"", "CopyData \"1\"", "CopyDone", "CopyFail \"no\"", "FunctionCall 2880 [\"42\"]",
    "Query \"discard all\"", "Query \"deallocate s1\"", "Query \"set search_path = x\"", "Query \"\"",
    "Query \"select pg_advisory_unlock_all()\"", "Query \"select pg_try_advisory_lock(1, 2); select 1\"", "Terminate",
    "Query \"rollback\"", "Query \"select pg_advisory_xact_lock(1)\"", "Query \"set client_encoding = sjis\"",
    "Query \"savepoint a\"", "Query \"rollback to a\"", "FunctionCall 2884 [\"42\"]",
    "Parse \"s1\" \"select pg_advisory_unlock($1)\"", "Query \"deallocate all\"", "Query \"execute x\"", "Parse \"s3\" \"copy t from stdin\"", "Bind \"\" \"s3\""};

static const char *const server_says[] = {"ReadyForQuery I", "ReadyForQuery T", "ReadyForQuery E",
    "CommandComplete \"SELECT 1\"", "CommandComplete \"BEGIN\"", "CommandComplete \"DISCARD ALL\"", "ParseComplete",
    "BindComplete", "CloseComplete", "NoData", "EmptyQueryResponse", "PortalSuspended",
    "RowDescription [\"pg_advisory_lock\" 2278]", "RowDescription [\"x\" 16]", "DataRow [\"\"]", "DataRow [\"t\"]",
    "DataRow [\"f\"]", "DataRow [null]", "DataRow [\"0\" \"42\" \"1\" \"ExclusiveLock\"]", "ParameterDescription [20]",
    "ParameterStatus \"client_encoding\" \"SJIS\"", "ParameterStatus \"search_path\" \"x\"",
    "ParameterStatus \"session_authorization\" \"eve\"", "ErrorResponse ERROR 42601 \"no\"",
    "ErrorResponse ERROR 57014 \"cancelled\"", "ErrorResponse FATAL 57P01 \"shutdown\"",
    "ErrorResponse ERROR 26000 \"gone\"", "NoticeResponse NOTICE 00000 \"hm\"", "NotificationResponse 1 \"c\" \"p\"",
    "CopyInResponse", "CopyOutResponse", "CopyData \"1\"", "CopyDone", "FunctionCallResponse \"\"",
    "FunctionCallResponse null", "BackendKeyData 1 2", "AuthenticationOk 0", "CommandComplete \"ROLLBACK\"",
    "CommandComplete \"SAVEPOINT\"", "CommandComplete \"COMMIT\"", "ErrorResponse ERROR 25P02 \"aborted\"",
    "CommandComplete \"DEALLOCATE\"", "ParameterStatus \"standard_conforming_strings\" \"off\""};

#define COMMON "[databases]\nshop = host=127.0.0.1 pool_size=2\n[pgbouncer]\nauth_type = any\n"

static const char *const configs[] = {
    COMMON "pool_mode = transaction\nmax_prepared_statements = 2\n",
    COMMON "pool_mode = transaction\nquery_timeout = 30\nidle_transaction_timeout = 60\nserver_lifetime = 300\n"
           "query_wait_timeout = 60\n[lockkeeper]\nadvisory_lock_policy = pin\nadvisory_pin_timeout = "
           "100\nadvisory_trust_after = 1\n",
    COMMON "pool_mode = session\nserver_reset_query = DISCARD ALL\n",
    COMMON "pool_mode = statement\nserver_check_query = select 1\nserver_check_delay = 1\n",
    COMMON "pool_mode = transaction\nmax_prepared_statements = 0\n[lockkeeper]\nadvisory_lock_policy = release\n"
           "advisory_unlock_all = tracked\n",
    COMMON
    "pool_mode = transaction\nserver_round_robin = 1\nserver_idle_timeout = 20\nmin_pool_size = 1\n"
    "server_reset_query_always = 1\nreserve_pool_size = 1\nreserve_pool_timeout = 1\n"
    "track_extra_parameters = search_path\n[lockkeeper]\nadvisory_trust_after = 0\nadvisory_unlock_all = tracked\n",
    "[databases]\nshop = host=127.0.0.2 pool_size=1 connect_query='select 1'\n[pgbouncer]\nauth_type = any\n"
    "pool_mode = transaction\nquery_wait_notify = 1\nserver_connect_timeout = 3\n",
    COMMON "pool_mode = transaction\n[lockkeeper]\nadvisory_lock_policy = rewrite\nadvisory_lock_notice = on\n",
    COMMON "pool_mode = session\n[lockkeeper]\nadvisory_lock_policy = rewrite\nadvisory_rewrite_fallback = reject\n",
    COMMON "pool_mode = transaction\n[lockkeeper]\nadvisory_lock_policy = reject\nadvisory_trust_after = 0\n",
    COMMON "pool_mode = transaction\n[lockkeeper]\nadvisory_lock_policy = observe\nadvisory_idle_hold_log = 1\n",
    COMMON "pool_mode = transaction\n[lockkeeper]\nadvisory_max_pins = 1\nadvisory_max_waits = 1\n"
           "advisory_pin_timeout = 5\n",
    "[databases]\nother = host=127.0.0.1\n[pgbouncer]\nauth_type = any\n",
};

struct scene {
    struct world *w;
    struct lk_span in;
    struct peer *clients[CLIENTS];
    struct lk_buf rests[2]; /* of a client's message, of a server's */
    struct peer *rest_of[2];
    char status[PEERS_MAX]; /* by peer: what the server's next ReadyForQuery says */
    unsigned accepted;
};

static struct lk_settings *
settings_of(unsigned config)
{
    static struct lk_settings *made[LK_COUNT(configs)];
    config %= LK_COUNT(configs);
    if (!made[config])
        made[config] = fuzz_settings(configs[config]);
    return made[config];
}

static void
put(struct lk_buf *out, enum way way, const char *text)
{
    struct words words = {0};
    MUST(words_read(&words, text) && message_build(out, way, &words));
    words_clear(&words);
}

static void
say(struct scene *s, struct peer *p, struct lk_span bytes)
{
    if (p && p->end && bytes.n > 0)
        world_say(s->w, p, bytes);
}

static struct peer *
accept_client(struct scene *s)
{
    char name[16];
    (void)snprintf(name, sizeof(name), "C%u", ++s->accepted);
    return world_accept(s->w, name);
}

static void
connect_client(struct scene *s, unsigned which)
{
    static const char *const pairs[] = {"user", "app", "database", "shop", NULL};
    struct lk_buf out = {0};
    if (s->clients[which] && s->clients[which]->end)
        return;
    s->clients[which] = accept_client(s);
    lk_build_startup(&out, LK_PROTOCOL_3_0, pairs);
    say(s, s->clients[which], lk_buf_span(&out));
    lk_buf_clear(&out);
}

/* The how manieth of the open peers of that kind; NULL: there is none. */
static struct peer *
peer_of(struct scene *s, enum lk_end_kind kind, unsigned which)
{
    if (kind == LK_END_CLIENT)
        return s->clients[which % CLIENTS]->end ? s->clients[which % CLIENTS] : NULL;
    struct peer *open[PEERS_MAX];
    unsigned count = 0;
    for (size_t i = 0; i < s->w->peer_count; i++)
        if (s->w->peers[i].end && s->w->peers[i].kind == kind)
            open[count++] = &s->w->peers[i];
    return count > 0 ? open[which % count] : NULL;
}

static enum way
way_of(enum lk_end_kind kind)
{
    return kind == LK_END_CLIENT ? FROM_CLIENT : FROM_SERVER;
}

/* A message of the tables; `part`: some of it, the rest is kept. */
static void
say_message(struct scene *s, enum lk_end_kind kind, unsigned which, bool part)
{
    struct lk_buf out = {0};
    struct peer *p = peer_of(s, kind, which);
    bool client = kind == LK_END_CLIENT;
    uint8_t choice = fuzz_u8(&s->in);
    put(&out, way_of(kind),
        client ? client_says[choice % LK_COUNT(client_says)] : server_says[choice % LK_COUNT(server_says)]);
    size_t n = part ? fuzz_u8(&s->in) % out.len : out.len;
    if (part) {
        s->rest_of[!client] = p;
        s->rests[!client].len = 0;
        lk_buf_add(&s->rests[!client], out.data + n, out.len - n);
    }
    say(s, p, lk_span_make(out.data, n));
    lk_buf_clear(&out);
}

static void
say_rests(struct scene *s)
{
    for (int i = 0; i < 2; i++) {
        struct lk_buf rest = s->rests[i];
        s->rests[i] = (struct lk_buf){0};
        say(s, s->rest_of[i], lk_buf_span(&rest));
        lk_buf_clear(&rest);
    }
}

static void
say_frame(struct scene *s, enum lk_end_kind kind, unsigned which)
{
    struct lk_buf out = {0};
    size_t at = lk_build_begin(&out, fuzz_u8(&s->in));
    lk_buf_add_span(&out, fuzz_bytes(&s->in, fuzz_u8(&s->in)));
    lk_build_end(&out, at);
    say(s, peer_of(s, kind, which), lk_buf_span(&out));
    lk_buf_clear(&out);
}

/* The beginning of a frame that may be longer than what is kept of one, and some of its body. */
static void
say_long(struct scene *s, enum lk_end_kind kind, unsigned which)
{
    struct lk_buf out = {0};
    lk_buf_add_u8(&out, fuzz_u8(&s->in));
    lk_buf_add_u8(&out, 0);
    lk_buf_add_span(&out, fuzz_bytes(&s->in, 3));
    for (size_t n = 100u * fuzz_u8(&s->in); n > 0; n--)
        lk_buf_add_u8(&out, 'x');
    say(s, peer_of(s, kind, which), lk_buf_span(&out));
    lk_buf_clear(&out);
}

/* --- servers that answer as PostgreSQL does --- */

static bool
starts(const char *message, const char *with)
{
    return strncmp(message, with, strlen(with)) == 0;
}

static void
ready(struct lk_buf *out, const char *status)
{
    lk_build_ready(out, (uint8_t)*status);
}

static void
answer_query(struct lk_buf *out, char *status, const char *message)
{
    if (strstr(message, "copy t from")) {
        put(out, FROM_SERVER, "CopyInResponse");
        return;
    }
    if (strstr(message, "advisory")) {
        put(out, FROM_SERVER, "RowDescription [\"f\" 2278]");
        put(out, FROM_SERVER, "DataRow [\"\"]");
    }
    if (strstr(message, "begin"))
        *status = 'T';
    else if (strstr(message, "commit") || strstr(message, "rollback") || strstr(message, "ROLLBACK"))
        *status = 'I';
    put(out, FROM_SERVER,
        strstr(message, "begin")             ? "CommandComplete \"BEGIN\""
        : strcasestr(message, "discard all") ? "CommandComplete \"DISCARD ALL\""
                                             : "CommandComplete \"SELECT 1\"");
    ready(out, status);
}

static void
answer(struct lk_buf *out, char *status, const char *message)
{
    if (starts(message, "Query")) {
        answer_query(out, status, message);
    } else if (starts(message, "Parse")) {
        put(out, FROM_SERVER, "ParseComplete");
    } else if (starts(message, "Bind")) {
        put(out, FROM_SERVER, "BindComplete");
    } else if (starts(message, "Describe")) {
        put(out, FROM_SERVER, "NoData");
    } else if (starts(message, "Close")) {
        put(out, FROM_SERVER, "CloseComplete");
    } else if (starts(message, "Execute")) {
        put(out, FROM_SERVER, "DataRow [\"\"]");
        put(out, FROM_SERVER, "CommandComplete \"SELECT 1\"");
    } else if (starts(message, "FunctionCall")) {
        put(out, FROM_SERVER, "FunctionCallResponse \"\"");
        ready(out, status);
    } else if (starts(message, "CopyDone") || starts(message, "CopyFail")) {
        put(out, FROM_SERVER,
            starts(message, "CopyDone") ? "CommandComplete \"COPY 1\"" : "ErrorResponse ERROR 57014 \"no\"");
        ready(out, status);
    } else if (starts(message, "Sync")) {
        ready(out, status);
    }
}

static void
answer_all(struct scene *s, unsigned which, bool fail)
{
    struct lk_buf out = {0};
    struct peer *p = peer_of(s, LK_END_SERVER, which);
    if (!p)
        return;
    char *status = &s->status[p - s->w->peers];
    for (*status = *status ? *status : 'I'; p->read < p->count; p->read++) {
        const char *message = p->messages[p->read];
        if (!fail) {
            answer(&out, status, message);
        } else if (starts(message, "Query") || starts(message, "FunctionCall") || starts(message, "Sync")) {
            if (out.len == 0)
                put(&out, FROM_SERVER, "ErrorResponse ERROR 42601 \"no\"");
            *status = *status == 'I' ? 'I' : 'E';
            ready(&out, status);
            fail = false;
        } else if (out.len == 0) {
            put(&out, FROM_SERVER, "ErrorResponse ERROR 42601 \"no\"");
        }
    }
    say(s, p, lk_buf_span(&out));
    lk_buf_clear(&out);
}

/* --- other steps --- */

static void
lose(struct scene *s, enum lk_end_kind kind, unsigned which)
{
    struct peer *p = peer_of(s, kind, which);
    if (p)
        world_lose(s->w, p);
}

static void
cancel(struct scene *s, unsigned which)
{
    uint8_t secret[4];
    struct lk_buf out = {0};
    const struct peer *of = s->clients[which % CLIENTS];
    for (int i = 0; i < 4; i++)
        secret[i] = (uint8_t)(of->secret >> (24 - 8 * i));
    lk_build_cancel(&out, of->pid, lk_span_make(secret, sizeof(secret)));
    say(s, accept_client(s), lk_buf_span(&out));
    lk_buf_clear(&out);
}

/* What a step of the operator's led to is carried out by the time that passes. */
static void
operate(struct scene *s)
{
    struct lk_core *core = s->w->core;
    uint8_t what = fuzz_u8(&s->in);
    const char *database = what & 0x80 ? "shop" : NULL;
    switch (what % 8) {
    case 0:
    case 1:
        lk_core_pause(core, database, s->w->now);
        break;
    case 2:
        lk_core_kill(core, database, s->w->now);
        break;
    case 3:
        lk_core_reconnect(core, database, s->w->now);
        break;
    case 4:
        lk_core_stop(core, what & 0x40 ? LK_CORE_WAIT_FOR_CLIENTS : LK_CORE_WAIT_FOR_SERVERS, s->w->now);
        break;
    case 5:
        lk_core_suspend(core);
        break;
    default:
        lk_core_resume(core, database, s->w->now);
    }
    world_pass_time(s->w, 0);
}

/* A peer says something. False: it is another kind of step. */
static bool
speak(struct scene *s, enum step kind, unsigned which)
{
    bool client = kind == SAY || kind == SAY_FRAME || kind == SAY_BYTES || kind == SAY_PART || kind == LONG_SAY;
    enum lk_end_kind from = client ? LK_END_CLIENT : LK_END_SERVER;
    switch (kind) {
    case SAY:
    case TELL:
    case SAY_PART:
    case TELL_PART:
        say_message(s, from, which, kind == SAY_PART || kind == TELL_PART);
        return true;
    case SAY_FRAME:
    case TELL_FRAME:
        say_frame(s, from, which);
        return true;
    case SAY_BYTES:
    case TELL_BYTES: {
        struct lk_span bytes = fuzz_bytes(&s->in, fuzz_u8(&s->in));
        say(s, peer_of(s, from, which), bytes);
        return true;
    }
    case LONG_SAY:
    case LONG_TELL:
        say_long(s, from, which);
        return true;
    case REST:
        say_rests(s);
        return true;
    case ANSWER:
    case FAIL:
        answer_all(s, which, kind == FAIL);
        return true;
    default:
        return false;
    }
}

static void
happen(struct scene *s, enum step kind, unsigned which)
{
    static const char *const probes[] = {"none", "42", "42 1001,42/shared"};
    switch (kind) {
    case SOON:
        world_pass_time(s->w, fuzz_u8(&s->in) * 10000);
        break;
    case LATE:
        world_pass_time(s->w, fuzz_u8(&s->in) * LK_SECOND_US * 10);
        break;
    case LOSE_CLIENT:
        lose(s, LK_END_CLIENT, which);
        break;
    case LOSE_SERVER:
        lose(s, LK_END_SERVER, which);
        break;
    case LOSE_CANCELLER:
        lose(s, LK_END_CANCEL, which);
        break;
    case CANCEL:
        cancel(s, which);
        break;
    case CONNECT:
        connect_client(s, which % CLIENTS);
        break;
    case RELOAD:
        lk_core_reload(s->w->core, settings_of(fuzz_u8(&s->in)), s->w->now);
        world_pass_time(s->w, 0);
        break;
    case OPERATE:
        operate(s);
        break;
    case PROBES:
        (void)snprintf(s->w->probe_answer, sizeof(s->w->probe_answer), "%s", probes[which % LK_COUNT(probes)]);
        break;
    default:
        break;
    }
}

static void
step(struct scene *s)
{
    uint8_t code = fuzz_u8(&s->in);
    unsigned which = code >> 5;
    if (s->w->tracing)
        (void)printf("  step %u of %u\n", code % 32u, which);
    if (!speak(s, (enum step)(code % 32), which))
        happen(s, (enum step)(code % 32), which);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scene s = {.w = LK_NEW(struct world), .in = lk_span_make(data, size)};
    uint8_t config = fuzz_u8(&s.in), does = fuzz_u8(&s.in);
    fuzz_world_start(s.w, settings_of(config), does & 1);
    s.w->auto_reset = !(does & 2);
    s.w->auto_probe = !(does & 4);
    s.w->auto_setup = !(does & 8);
    for (unsigned i = 0; i < CLIENTS; i++)
        connect_client(&s, i);
    fuzz_check(s.w);
    for (int i = 0; i < STEPS_MAX && s.in.n > 0 && fuzz_world_tidy(s.w); i++) {
        step(&s);
        fuzz_check(s.w);
    }
    (void)fuzz_world_tidy(s.w);
    fuzz_world_end(s.w);
    lk_buf_clear(&s.rests[0]);
    lk_buf_clear(&s.rests[1]);
    free(s.w);
    return 0;
}
