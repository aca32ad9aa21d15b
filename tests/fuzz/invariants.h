/* What is so of a core between any two steps, whatever the peers said; and a world for fuzzing made from settings. */
#ifndef LK_TESTS_FUZZ_INVARIANTS_H
#define LK_TESTS_FUZZ_INVARIANTS_H

#include "replay/world.h"

/* Aborts and says what is not so. */
void fuzz_check(const struct world *w);
/* Settings from the text of an ini file, whose auth_file holds ann, bob and eve; never NULL. */
struct lk_settings *fuzz_settings(const char *ini);
/* With FUZZ_TRACE in the environment what reaches each peer is printed. */
void fuzz_world_start(struct world *w, struct lk_settings *settings, bool bytewise);
/* Ends everything; nothing may be left. */
void fuzz_world_end(struct world *w);
/* Frees what has been recorded and told so far; false: the world has no room for much more. */
bool fuzz_world_tidy(struct world *w);

#endif
