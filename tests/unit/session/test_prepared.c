#include "unit/session/world.h"

#define TYPES 64
#define PREFIX (TYPES * 4)

static void
types_are_never_taken_for_the_beginning_of_a_text(void **state)
{
    static const char query[] = "SELECT 1";
    const struct lk_sql_mode mode = {.standard_strings = true, .ascii_safe = true};
    struct world *w = world_new("trust", "");
    char text[PREFIX + sizeof(query)];
    memset(text, ' ', PREFIX);
    memcpy(text + PREFIX, query, sizeof(query));
    struct lk_span types = lk_span_make(text, PREFIX);
    struct lk_statement *typed = lk_statement_get(w->core, lk_span_str(query), TYPES, types, mode);
    struct lk_statement *plain = lk_statement_get(w->core, lk_span_str(text), 0, lk_span_make(NULL, 0), mode);
    assert_ptr_not_equal(typed, plain);
    assert_int_equal(plain->type_count, 0);
    assert_int_equal(plain->analysis->text->n, PREFIX + strlen(query));
    lk_statement_unref(typed);
    lk_statement_unref(plain);
    world_free(w);
}

static void
one_text_with_the_same_types_is_one_statement(void **state)
{
    const struct lk_sql_mode mode = {.standard_strings = true, .ascii_safe = true};
    const uint8_t int4[] = {0, 0, 0, 23};
    struct world *w = world_new("trust", "");
    struct lk_span text = lk_span_str("SELECT $1"), types = lk_span_make(int4, sizeof(int4));
    struct lk_statement *first = lk_statement_get(w->core, text, 1, types, mode);
    struct lk_statement *again = lk_statement_get(w->core, text, 1, types, mode);
    struct lk_statement *untyped = lk_statement_get(w->core, text, 0, lk_span_make(NULL, 0), mode);
    assert_ptr_equal(first, again);
    assert_ptr_not_equal(first, untyped);
    lk_statement_unref(first);
    lk_statement_unref(again);
    lk_statement_unref(untyped);
    world_free(w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_never_taken_for_the_beginning_of_a_text),
        cmocka_unit_test(one_text_with_the_same_types_is_one_statement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
