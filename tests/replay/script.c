#include "script.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "wire/build.h"

bool
script_fail(struct script *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(s->world->problem, sizeof(s->world->problem), format, args);
    va_end(args);
    return false;
}

char *
script_word(char **rest)
{
    char *word = *rest + strspn(*rest, " \t");
    char *end = word + strcspn(word, " \t");
    *rest = *end ? end + 1 : end;
    *end = '\0';
    *rest += strspn(*rest, " \t");
    return word;
}

struct peer *
script_peer(struct script *s, const char *name)
{
    struct peer *p = world_start(s->world) ? world_find(s->world, name) : NULL;
    if (!p && !s->world->problem[0])
        (void)script_fail(s, "there is no %s", name);
    return p;
}

static const char *
defined(const struct script *s, const char *name)
{
    for (size_t i = 0; i < s->define_count; i++)
        if (strcmp(s->defines[i].name, name) == 0)
            return s->defines[i].text;
    return NULL;
}

bool
script_messages(struct script *s, char *line, bool (*each)(struct script *s, char *message, void *context), void *context)
{
    char *part;
    while (words_next_part(&line, &part)) {
        const char *text = defined(s, part);
        char *copy = text ? lk_mem_dup(text) : NULL;
        bool good = copy ? script_messages(s, copy, each, context) : each(s, part, context);
        free(copy);
        if (!good)
            return false;
    }
    return true;
}

/* --- saying --- */

struct saying {
    struct lk_buf bytes;
    enum way way;
};

/* Probed KEYS, Unlocked, and the messages of the protocol; `part N MESSAGE` is the first N bytes of one, `but N` the rest. */
static bool
say_one(struct script *s, char *message, void *context)
{
    struct saying *saying = context;
    struct words words = {0};
    char *rest = message;
    size_t part = SIZE_MAX, skip = 0, at = saying->bytes.len;
    if (strncmp(message, "Probed ", 7) == 0) {
        server_probed(&saying->bytes, message + 7);
        return true;
    }
    if (strcmp(message, "Unlocked") == 0) {
        server_unlocked(&saying->bytes);
        return true;
    }
    if (strncmp(message, "part ", 5) == 0 || strncmp(message, "but ", 4) == 0) {
        bool head = *script_word(&rest) == 'p';
        size_t n = strtoul(script_word(&rest), NULL, 10);
        part = head ? n : part;
        skip = head ? 0 : n;
    }
    bool good = words_read(&words, rest) && message_build(&saying->bytes, saying->way, &words);
    words_clear(&words);
    if (!good)
        return script_fail(s, "no message of the protocol: %s", rest);
    if (saying->bytes.len - at > part)
        saying->bytes.len = at + part;
    if (skip > 0) {
        memmove(saying->bytes.data + at, saying->bytes.data + at + skip, saying->bytes.len - at - skip);
        saying->bytes.len -= skip;
    }
    return true;
}

static bool
say(struct script *s, struct peer *p, char *messages, enum way way)
{
    struct saying saying = {.way = way};
    bool good = script_messages(s, messages, say_one, &saying);
    if (good && !p->end)
        good = script_fail(s, "%s is closed", p->name);
    if (good)
        world_say(s->world, p, lk_buf_span(&saying.bytes));
    lk_buf_clear(&saying.bytes);
    return good;
}

/* --- commands --- */

static bool
connect_client(struct script *s, const char *name, char *rest)
{
    const char *pairs[64] = {"database", "shop", "user", "app"};
    size_t n = 4;
    while (*rest && n + 3 < LK_COUNT(pairs)) {
        char *pair = script_word(&rest), *value = strchr(pair, '=');
        if (!value)
            return script_fail(s, "expected name=value, not %s", pair);
        *value++ = '\0';
        if (strcmp(pair, "db") == 0 || strcmp(pair, "user") == 0) {
            pairs[pair[0] == 'd' ? 1 : 3] = value;
            continue;
        }
        pairs[n++] = pair;
        pairs[n++] = value;
    }
    if (!world_start(s->world))
        return false;
    if (world_find(s->world, name))
        return script_fail(s, "there is a %s already", name);
    struct lk_buf out = {0};
    lk_build_startup(&out, LK_PROTOCOL_3_0, pairs);
    world_say(s->world, world_accept(s->world, name), lk_buf_span(&out));
    lk_buf_clear(&out);
    return true;
}

static bool
cancel(struct script *s, const char *name, const char *whom)
{
    struct peer *c = script_peer(s, whom);
    if (!c)
        return false;
    uint32_t n = c->secret;
    const uint8_t secret[4] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
    struct lk_buf out = {0};
    lk_build_cancel(&out, c->pid, lk_span_make(secret, sizeof(secret)));
    world_say(s->world, world_accept(s->world, name), lk_buf_span(&out));
    lk_buf_clear(&out);
    return true;
}

static bool
of_peer(struct script *s, const char *name, char *rest)
{
    const char *verb = script_word(&rest);
    if (strcmp(verb, "connect") == 0)
        return connect_client(s, name, rest);
    if (strcmp(verb, "cancels") == 0)
        return cancel(s, name, script_word(&rest));
    struct peer *p = script_peer(s, name);
    if (!p)
        return false;
    if (strcmp(verb, p->kind == LK_END_SERVER ? "<" : ">") == 0)
        return say(s, p, rest, p->kind == LK_END_SERVER ? FROM_SERVER : FROM_CLIENT);
    if (strcmp(verb, "lost") != 0)
        return script_fail(s, "what is %s %s?", name, verb);
    if (!p->end)
        return script_fail(s, "%s is closed", name);
    world_lose(s->world, p);
    return true;
}

static bool
set(struct script *s, char *rest)
{
    bool locks = strncmp(rest, "advisory_", 9) == 0 || strncmp(rest, "leak_", 5) == 0;
    lk_buf_add_format(locks ? &s->world->lock_lines : &s->world->pooler_lines, "%s\n", rest);
    return true;
}

static bool
automatic(struct script *s, char *rest)
{
    struct world *w = s->world;
    const char *what = script_word(&rest);
    bool on = strcmp(rest, "off") != 0;
    if (strcmp(what, "setup") == 0)
        w->auto_setup = on;
    else if (strcmp(what, "reset") == 0)
        w->auto_reset = on;
    else if (strcmp(what, "probe") == 0)
        w->auto_probe = on;
    else if (strcmp(what, "piggyback") == 0)
        w->shared.separate_resets = !on;
    else
        return script_fail(s, "auto setup, reset, probe or piggyback, not %s", what);
    if (strcmp(what, "probe") == 0)
        (void)snprintf(w->probe_answer, sizeof(w->probe_answer), "%s", rest);
    return true;
}

static bool
define(struct script *s, char *rest)
{
    char *name = script_word(&rest);
    if (*rest != '=' || s->define_count == DEFINES_MAX)
        return script_fail(s, "define NAME = MESSAGES");
    s->defines[s->define_count].name = lk_mem_dup(name);
    s->defines[s->define_count++].text = lk_mem_dup(rest + 1);
    return true;
}

static bool
pass_time(struct script *s, const char *text)
{
    char *unit;
    double n = strtod(text, &unit);
    bool seconds = strcmp(unit, "s") == 0;
    if (text[0] != '+' || (!seconds && strcmp(unit, "ms") != 0))
        return script_fail(s, "time +5s or +100ms, not %s", text);
    if (!world_start(s->world))
        return false;
    world_pass_time(s->world, (int64_t)(n * (seconds ? 1e6 : 1e3)));
    return true;
}

bool
script_line(struct script *s, char *line)
{
    char *rest = line;
    char *word = script_word(&rest);
    if (strcmp(word, "expect") == 0)
        return script_expect(s, rest);
    if (strcmp(word, "set") == 0)
        return set(s, rest);
    if (strcmp(word, "database") == 0)
        return lk_buf_add_format(&s->world->database_lines, "%s\n", rest);
    if (strcmp(word, "auto") == 0)
        return automatic(s, rest);
    if (strcmp(word, "define") == 0)
        return define(s, rest);
    if (strcmp(word, "time") == 0)
        return pass_time(s, rest);
    if (strcmp(word, "reload") == 0)
        return world_start(s->world) && world_reload(s->world);
    if (strchr("CSKX", word[0]) && isdigit((unsigned char)word[1]))
        return of_peer(s, word, rest);
    return script_fail(s, "what is %s?", word);
}

void
script_clear(struct script *s)
{
    for (size_t i = 0; i < s->define_count; i++) {
        free(s->defines[i].name);
        free(s->defines[i].text);
    }
}
