/* Calls of the advisory-lock functions, and the plan of a text: which calls it makes and whether the answer tells their
 * outcome exactly (which texts are such: sql/exact.h). */
#ifndef LK_LOCK_CALL_H
#define LK_LOCK_CALL_H

#include "base/span.h"
#include "lock/key.h"

enum lk_lock_mode { LK_MODE_EXCLUSIVE, LK_MODE_SHARED };
enum lk_call_op { LK_CALL_LOCK, LK_CALL_TRY, LK_CALL_UNLOCK, LK_CALL_UNLOCK_ALL };

#define LK_TYPE_BOOL 16u
#define LK_TYPE_INT8 20u
#define LK_TYPE_INT2 21u
#define LK_TYPE_INT4 23u
#define LK_TYPE_TEXT 25u
#define LK_TYPE_VOID 2278u

struct lk_function {
    const char *name;
    uint32_t oid_bigint; /* 0: no such form (unlock_all has only this one, without arguments) */
    uint32_t oid_pair;
    enum lk_call_op op;
    enum lk_lock_mode mode;
    bool xact; /* transaction level: never a touch */
};

#define LK_OID_UNLOCK_ALL 2892u

/* By lower-case name without schema; NULL: none of ours. */
const struct lk_function *lk_function_by_name(struct lk_span name);
/* A number below LK_FUNCTIONS for each function, and back. */
#define LK_FUNCTIONS 11u
unsigned lk_function_index(const struct lk_function *fn);
const struct lk_function *lk_function_at(unsigned index);
/* By OID of either form; *space says which (NONE for unlock_all). NULL: none of ours. */
const struct lk_function *lk_function_by_oid(uint32_t oid, enum lk_space *space);
/* The transaction-level sibling of a session-level lock or try; NULL: it has none. */
const struct lk_function *lk_function_xact(const struct lk_function *fn);

enum lk_part_source {
    LK_PART_CONSTANT,
    LK_PART_NULL, /* the constant NULL: the call does nothing */
    LK_PART_PARAM,
};

/* One argument of a call. */
struct lk_part {
    enum lk_part_source source;
    int64_t constant;
    uint16_t param;     /* $n, from 1 */
    uint32_t cast_type; /* the innermost cast's type when the source is a parameter (LK_TYPE_INT…); 0: no cast */
};

/* Where a call stands in its text, in bytes; len 0: not known. The call begins with its function's name. */
struct lk_place {
    uint32_t at;
    uint32_t len;        /* up to and with its closing parenthesis */
    uint32_t name_len;   /* of the name as written: qualified or quoted it may be */
    uint32_t column_end; /* behind the output column's last token, cast and alias included */
    bool qualified;      /* by pg_catalog */
    bool aliased;        /* the output column has a name of its own */
};

struct lk_call {
    const struct lk_function *fn;
    enum lk_space space; /* NONE for unlock_all */
    struct lk_part part[2];
    uint16_t column;      /* output column, from 0 */
    uint32_t result_type; /* what RowDescription must say: VOID, BOOL, or the cast's TEXT, BOOL, INT4 */
    struct lk_place place;
};

/* A call that takes a lock whose key is known. */
struct lk_taking {
    const struct lk_function *fn;
    struct lk_key key;
};

/* What was found in a statement. All but XACT make it a touch. */
enum lk_find {
    LK_FIND_LOCK = 1,     /* a session-level lock or try, by its own name */
    LK_FIND_UNLOCK = 2,   /* an unlock, by its own name */
    LK_FIND_XACT = 4,     /* a transaction-level function */
    LK_FIND_FOREIGN = 8,  /* a function of such a name in another schema */
    LK_FIND_STRING = 16,  /* a string that speaks of session locks: dynamic SQL, the body of a DO */
    LK_FIND_EXECUTE = 32, /* EXECUTE of a statement whose text stands elsewhere */
};
#define LK_FIND_TOUCHES ((unsigned)~LK_FIND_XACT)

/* One statement of a text. Only an exact one has calls. */
struct lk_plan_statement {
    unsigned finds;     /* bits of enum lk_find */
    unsigned functions; /* bit i: the i-th function is called by its own name */
    bool exact;         /* the answer tells: one row, these calls */
    uint16_t columns;
    uint16_t call_count;
    struct lk_call *calls; /* owned */
};

/* May it change session locks? */
static inline bool
lk_plan_touches(const struct lk_plan_statement *s)
{
    return s->finds & LK_FIND_TOUCHES;
}

/* Why a text is not parsed. */
enum lk_unparsed {
    LK_UNPARSED_NOT, /* it is */
    LK_UNPARSED_SYNTAX,
    LK_UNPARSED_LONG,     /* more than LK_SQL_TEXT_MAX */
    LK_UNPARSED_TOKENS,   /* more than LK_SQL_TOKENS_MAX */
    LK_UNPARSED_STRINGS,  /* standard_conforming_strings is off */
    LK_UNPARSED_ENCODING, /* the client's encoding is not ASCII-safe */
};

/* Immutable once made. */
struct lk_plan {
    enum lk_unparsed unparsed;            /* if so, count is 0 and all of it is one unsure touch */
    uint16_t count;                       /* statements */
    struct lk_plan_statement *statements; /* owned */
};

struct lk_plan *lk_plan_new(uint16_t statements);
void lk_plan_free(struct lk_plan *p);

/* The outcome of an argument, once parameters are bound. */
enum lk_bound { LK_BOUND_KEY, LK_BOUND_NULL, LK_BOUND_UNKNOWN };

/* A parameter's value as the client sent it. `type`: the declared OID, or 0. */
struct lk_argument {
    bool null;
    bool binary;
    uint32_t type;
    struct lk_span data;
};
typedef bool lk_argument_fn(void *context, uint16_t param, struct lk_argument *out);

/* The key of a call: KEY and *key; NULL when an argument is; UNKNOWN when one can't be decoded (then the touch is
 * unsure). Text strictly [space][sign]digits[space], within the type's range; binary of the type's length. The type is
 * the declared one (PostgreSQL then casts what it read), else the innermost cast's, else int8 for one argument and int4
 * for two. One NULL is enough: the functions are STRICT. A call of unlock_all gives KEY and leaves *key. */
enum lk_bound lk_call_key(const struct lk_call *c, lk_argument_fn *argument, void *context, struct lk_key *key);

enum lk_answer { LK_ANSWER_TRUE, LK_ANSWER_FALSE, LK_ANSWER_NULL, LK_ANSWER_BAD };

/* What a result column says, by the call's result type: a void (empty, also as text) that is not NULL is TRUE. BAD:
 * none of the forms. */
enum lk_answer lk_call_answer(const struct lk_call *c, bool null, bool binary, struct lk_span data);

#endif
