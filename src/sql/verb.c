#include "sql/verb.h"

#include "base/mem.h"

/* PostgreSQL cuts names at 63 bytes; what is longer than this, quotes included, is left alone. */
#define NAME_MAX_BYTES 63

static bool
word_at(const struct lk_verb_head *h, size_t i, const char *word)
{
    return i < h->count && i < LK_VERB_WORDS && lk_lexeme_is(&h->head[i], word);
}

/* Ends the text at token i, an optional WORK or TRANSACTION left out? */
static bool
ends_at(const struct lk_verb_head *h, size_t i)
{
    return h->count == i || (h->count == i + 1 && (word_at(h, i, "work") || word_at(h, i, "transaction")));
}

/* Where the name of a DEALLOCATE stands; 0: it isn't one. PREPARE may be a noise word or the name itself. */
static size_t
deallocate_name(const struct lk_verb_head *h)
{
    if (!word_at(h, 0, "deallocate"))
        return 0;
    size_t i = h->count == 3 && word_at(h, 1, "prepare") ? 2 : 1;
    if (h->count != i + 1)
        return 0;
    const struct lk_lexeme *t = &h->head[i];
    bool plain = t->kind == LK_LEX_QUOTED && *t->p == '"' && !t->open;
    return t->n <= NAME_MAX_BYTES && (t->kind == LK_LEX_WORD || plain) ? i : 0;
}

enum lk_verb
lk_verb_of(const struct lk_verb_head *h)
{
    if (h->count == 0)
        return LK_VERB_OTHER;
    if (word_at(h, 0, "begin") && ends_at(h, 1))
        return LK_VERB_BEGIN;
    if (word_at(h, 0, "start") && word_at(h, 1, "transaction") && h->count == 2)
        return LK_VERB_BEGIN;
    if ((word_at(h, 0, "commit") || word_at(h, 0, "end")) && ends_at(h, 1))
        return LK_VERB_COMMIT;
    if ((word_at(h, 0, "rollback") || word_at(h, 0, "abort")) && ends_at(h, 1))
        return LK_VERB_ROLLBACK;
    return deallocate_name(h) ? LK_VERB_DEALLOCATE : LK_VERB_OTHER;
}

const struct lk_lexeme *
lk_verb_name(const struct lk_verb_head *h)
{
    size_t i = deallocate_name(h);
    return i == 0 || lk_lexeme_is(&h->head[i], "all") ? NULL : &h->head[i];
}

bool
lk_verb_harmless(const struct lk_verb_head *h)
{
    static const char *const words[] = {"begin", "start", "savepoint", "release", "rollback", "abort", "set", "reset",
        "show", "listen", "unlisten", "notify", "deallocate"};
    if (h->count == 0)
        return true;
    /* SET CONSTRAINTS … IMMEDIATE runs deferred triggers, as COMMIT does. */
    if (word_at(h, 0, "set") && word_at(h, 1, "constraints"))
        return false;
    for (size_t i = 0; i < LK_COUNT(words); i++)
        if (word_at(h, 0, words[i]))
            return true;
    return false;
}

bool
lk_verb_plain(const struct lk_verb_head *h)
{
    static const char *const words[] = {"select", "insert", "update", "delete", "with", "values", "merge", "table"};
    for (size_t i = 0; i < LK_COUNT(words); i++)
        if (word_at(h, 0, words[i]))
            return true;
    return false;
}
