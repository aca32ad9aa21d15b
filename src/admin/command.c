#include "admin/command.h"

#include <stdlib.h>
#include <strings.h>

#include "base/mem.h"

static const struct {
    const char *name;
    bool argument; /* may have one */
    bool argument_required;
} commands[] = {
    [LK_COMMAND_EMPTY] = {"", false, false},
    [LK_COMMAND_HELP] = {"HELP", false, false},
    [LK_COMMAND_SHOW] = {"SHOW", true, true},
    [LK_COMMAND_RELOAD] = {"RELOAD", false, false},
    [LK_COMMAND_PAUSE] = {"PAUSE", true, false},
    [LK_COMMAND_RESUME] = {"RESUME", true, false},
    [LK_COMMAND_KILL] = {"KILL", true, false},
    [LK_COMMAND_RECONNECT] = {"RECONNECT", true, false},
    [LK_COMMAND_WAIT_CLOSE] = {"WAIT_CLOSE", true, false},
    [LK_COMMAND_DISABLE] = {"DISABLE", true, false},
    [LK_COMMAND_ENABLE] = {"ENABLE", true, false},
    [LK_COMMAND_KILL_CLIENT] = {"KILL_CLIENT", true, true},
    [LK_COMMAND_SUSPEND] = {"SUSPEND", false, false},
    [LK_COMMAND_SET] = {"SET", true, true},
    [LK_COMMAND_SHUTDOWN] = {"SHUTDOWN", true, false},
};

static bool
is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void
skip_space(struct lk_span *s)
{
    for (;;) {
        while (s->n > 0 && is_space(s->p[0]))
            *s = lk_span_skip(*s, 1);
        if (s->n < 2 || s->p[0] != '-' || s->p[1] != '-')
            return;
        while (s->n > 0 && s->p[0] != '\n')
            *s = lk_span_skip(*s, 1);
    }
}

/* A quoted text, unquoted; NULL: it has no end, or is empty where it may not be. */
static char *
take_quoted(struct lk_span *s, bool may_be_empty)
{
    uint8_t quote = s->p[0];
    char *out = lk_mem_try(s->n);
    if (!out)
        return NULL;
    size_t n = 0;
    for (size_t i = 1; i < s->n; i++) {
        if (s->p[i] == quote) {
            if (i + 1 == s->n || s->p[i + 1] != quote) {
                out[n] = '\0';
                *s = lk_span_skip(*s, i + 1);
                if (n > 0 || may_be_empty)
                    return out;
                break;
            }
            i++;
        }
        out[n++] = (char)s->p[i];
    }
    free(out);
    return NULL;
}

/* A bare word, which may be empty. */
static struct lk_span
take_word(struct lk_span *s)
{
    size_t n = 0;
    while (n < s->n && !is_space(s->p[n]) && !memchr(";\"'", s->p[n], 3))
        n++;
    struct lk_span word = lk_span_head(*s, n);
    *s = lk_span_skip(*s, n);
    return word;
}

bool
lk_command_word_is(struct lk_span word, const char *name)
{
    return word.n == strlen(name) && strncasecmp((const char *)word.p, name, word.n) == 0;
}

static bool
find(struct lk_span word, enum lk_command_kind *kind)
{
    for (size_t i = LK_COMMAND_HELP; i < LK_COUNT(commands); i++) {
        if (lk_command_word_is(word, commands[i].name)) {
            *kind = (enum lk_command_kind)i;
            return true;
        }
    }
    return false;
}

/* The argument, if there is one; false: it can't be read. */
static bool
take_argument(struct lk_span *s, char **argument)
{
    skip_space(s);
    if (s->n == 0 || s->p[0] == ';')
        return true;
    if (s->p[0] == '"' || s->p[0] == '\'') {
        *argument = take_quoted(s, false);
        return *argument != NULL;
    }
    struct lk_span word = take_word(s);
    *argument = lk_mem_dup_span(word);
    return true;
}

static bool
at_end(struct lk_span *s)
{
    skip_space(s);
    if (s->n > 0 && s->p[0] == ';')
        *s = lk_span_skip(*s, 1);
    skip_space(s);
    return s->n == 0;
}

/* "name = value" or "name TO value"; the value is a word, or quoted. */
static bool
take_setting(struct lk_span *s, struct lk_command *out)
{
    size_t n = 0;
    skip_space(s);
    while (n < s->n && s->p[n] != '=' && !is_space(s->p[n]) && s->p[n] != ';')
        n++;
    out->argument = lk_mem_dup_span(lk_span_head(*s, n));
    *s = lk_span_skip(*s, n);
    skip_space(s);
    if (s->n > 0 && s->p[0] == '=')
        *s = lk_span_skip(*s, 1);
    else if (!lk_command_word_is(take_word(s), "TO"))
        return false;
    skip_space(s);
    if (s->n > 0 && (s->p[0] == '\'' || s->p[0] == '"')) {
        out->value = take_quoted(s, true);
        return n > 0 && out->value;
    }
    struct lk_span word = take_word(s);
    out->value = lk_mem_dup_span(word);
    return n > 0 && word.n > 0;
}

static bool
parse(struct lk_span s, struct lk_command *out)
{
    struct lk_span rest = s;
    if (at_end(&rest))
        return true;
    skip_space(&s);
    struct lk_span word = take_word(&s);
    if (!find(word, &out->kind))
        return false;
    bool taken = out->kind == LK_COMMAND_SET ? take_setting(&s, out) : take_argument(&s, &out->argument);
    if (!taken || !at_end(&s))
        return false;
    return out->argument ? commands[out->kind].argument : !commands[out->kind].argument_required;
}

/* Bytes of the text that an error quotes: at most 200, whole characters. */
static int
quotable(struct lk_span text)
{
    if (text.n <= 200)
        return (int)text.n;
    int n = 200;
    while (n > 0 && (text.p[n] & 0xC0) == 0x80)
        n--;
    return n;
}

void
lk_command_invalid(struct lk_span text, struct lk_error *e)
{
    lk_error_set(e, "42601", "invalid command '%.*s', use SHOW HELP;", quotable(text), (const char *)text.p);
}

bool
lk_command_parse(struct lk_span text, struct lk_command *out, struct lk_error *e)
{
    *out = (struct lk_command){.kind = LK_COMMAND_EMPTY};
    if (text.n <= LK_COMMAND_TEXT_MAX && parse(text, out))
        return true;
    lk_command_clear(out);
    lk_command_invalid(text, e);
    return false;
}

void
lk_command_clear(struct lk_command *c)
{
    free(c->argument);
    free(c->value);
    c->argument = c->value = NULL;
}

const char *
lk_command_name(enum lk_command_kind kind)
{
    return commands[kind].name;
}
