/* The lines of a scenario, carried out in a world. The language: README.md. */
#ifndef LK_TESTS_REPLAY_SCRIPT_H
#define LK_TESTS_REPLAY_SCRIPT_H

#include "world.h"

#define DEFINES_MAX 64

struct script {
    struct world *world;
    struct {
        char *name, *text; /* owned */
    } defines[DEFINES_MAX];
    size_t define_count;
};

/* One line, changed in place. False: world->problem says what was expected and what came. */
bool script_line(struct script *s, char *line);
/* At the end nothing may be left that no line expected. */
bool script_end(struct script *s);
void script_clear(struct script *s);

/* --- expect.c --- */
/* What stands behind the word `expect`. */
bool script_expect(struct script *s, char *rest);

/* --- shared --- */
bool script_fail(struct script *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The first word of *rest, taken off; "" at the end. */
char *script_word(char **rest);
struct peer *script_peer(struct script *s, const char *name);
/* Calls `each` for every message of a line " ; "-parted, with defined names replaced by what they stand for. */
bool script_messages(struct script *s, char *line, bool (*each)(struct script *s, char *message, void *context), void *context);

#endif
