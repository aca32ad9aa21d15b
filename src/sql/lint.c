#include "sql/lint.h"

#include "base/mem.h"

static const struct {
    const char *name, *text;
} lints[LK_LINT_COUNT] = {
    {"xact_lock_in_autocommit",
        "outside a transaction block a transaction-level lock is freed as soon as the statement has ended"},
    {"lock_call_under_limit", "a lock call under LIMIT or OFFSET may lock rows that are not returned"},
    {"hashtext_key", "a key of 32 hashed bits: different names may share a lock; hashtextextended() has 64"},
    {"session_timeout",
        "lock_timeout and statement_timeout set without LOCAL stay with the server connection, not with the client"},
    {"both_key_spaces",
        "one number as a bigint key and as a pair of int4 keys: such locks never meet, though pg_locks shows them alike"},
    {"both_levels", "one key at session and at transaction level: clients exclude each other, but an unlock does not free "
                    "the transaction's lock, nor the transaction's end the session's"},
};

static size_t
index_of(enum lk_lint lint)
{
    return (size_t)__builtin_ctz((unsigned)lint);
}

const char *
lk_lint_name(enum lk_lint lint)
{
    return lints[index_of(lint)].name;
}

const char *
lk_lint_text(enum lk_lint lint)
{
    return lints[index_of(lint)].text;
}

unsigned
lk_lint_words(const struct lk_verb_head *h)
{
    if (h->count < 3 || !lk_lexeme_is(&h->head[0], "set"))
        return 0;
    const struct lk_lexeme *name = &h->head[lk_lexeme_is(&h->head[1], "session") ? 2 : 1];
    bool timeout = lk_lexeme_is(name, "lock_timeout") || lk_lexeme_is(name, "statement_timeout");
    return timeout ? LK_LINT_SET_TIMEOUT : 0;
}
