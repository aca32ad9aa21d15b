/* What the first words of a text say: the verbs that end or begin a transaction, and the statements that can't lock. */
#ifndef LK_SQL_VERB_H
#define LK_SQL_VERB_H

#include "sql/analysis.h"
#include "sql/lex.h"

#define LK_VERB_WORDS 4

/* The first tokens of a text of one statement; count is of all its tokens, head has the first LK_VERB_WORDS of them. */
struct lk_verb_head {
    struct lk_lexeme head[LK_VERB_WORDS];
    size_t count;
};

enum lk_verb lk_verb_of(const struct lk_verb_head *h);
/* The name token of a DEALLOCATE; NULL: ALL, or another verb. */
const struct lk_lexeme *lk_verb_name(const struct lk_verb_head *h);
/* Does it begin with SELECT, INSERT, UPDATE, DELETE, MERGE, VALUES, TABLE or WITH? Such a statement, alone, leaves no
 * open transaction and begins no COPY. */
bool lk_verb_plain(const struct lk_verb_head *h);
/* Can this one statement take no session lock, whatever the database holds? An empty text can't. */
bool lk_verb_harmless(const struct lk_verb_head *h);

#endif
