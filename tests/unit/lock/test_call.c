#include "lock/call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static const struct lk_argument *arguments;

static bool
argument(void *context, uint16_t param, struct lk_argument *out)
{
    const uint16_t *count = context;
    if (param == 0 || param > *count)
        return false;
    *out = arguments[param - 1];
    return true;
}

static struct lk_call
call_of(const char *name, enum lk_space space)
{
    struct lk_call c = {.fn = lk_function_by_name(lk_span_str(name)), .space = space};
    assert_non_null(c.fn);
    return c;
}

/* pg_advisory_lock($1) with the cast, given the argument. */
static enum lk_bound
bind_one(uint32_t cast_type, struct lk_argument a, struct lk_key *key)
{
    struct lk_call c = call_of("pg_advisory_lock", LK_SPACE_BIGINT);
    uint16_t count = 1;
    c.part[0] = (struct lk_part){.source = LK_PART_PARAM, .param = 1, .cast_type = cast_type};
    arguments = &a;
    return lk_call_key(&c, argument, &count, key);
}

static struct lk_argument
text(const char *s)
{
    return (struct lk_argument){.data = lk_span_str(s)};
}

static struct lk_argument
binary(uint32_t type, const void *p, size_t n)
{
    return (struct lk_argument){.binary = true, .type = type, .data = lk_span_make(p, n)};
}

static void
expect_bigint(uint32_t cast_type, struct lk_argument a, int64_t value)
{
    struct lk_key key;
    assert_int_equal(bind_one(cast_type, a, &key), LK_BOUND_KEY);
    assert_true(lk_key_eq(key, lk_key_bigint(value)));
}

static void
expect_unknown(uint32_t cast_type, struct lk_argument a)
{
    struct lk_key key;
    assert_int_equal(bind_one(cast_type, a, &key), LK_BOUND_UNKNOWN);
}

static void
every_function_is_found_by_name_and_by_both_oids(void **state)
{
    static const struct {
        const char *name;
        uint32_t bigint, pair;
        bool xact, shared;
    } list[] = {
        {"pg_advisory_lock", 2880, 2886, false, false},
        {"pg_advisory_lock_shared", 2881, 2887, false, true},
        {"pg_try_advisory_lock", 2882, 2888, false, false},
        {"pg_try_advisory_lock_shared", 2883, 2889, false, true},
        {"pg_advisory_unlock", 2884, 2890, false, false},
        {"pg_advisory_unlock_shared", 2885, 2891, false, true},
        {"pg_advisory_xact_lock", 3089, 3093, true, false},
        {"pg_advisory_xact_lock_shared", 3090, 3094, true, true},
        {"pg_try_advisory_xact_lock", 3091, 3095, true, false},
        {"pg_try_advisory_xact_lock_shared", 3092, 3096, true, true},
    };
    for (size_t i = 0; i < LK_COUNT(list); i++) {
        enum lk_space space;
        const struct lk_function *f = lk_function_by_name(lk_span_str(list[i].name));
        assert_non_null(f);
        assert_int_equal(f->xact, list[i].xact);
        assert_int_equal(f->mode, list[i].shared ? LK_MODE_SHARED : LK_MODE_EXCLUSIVE);
        assert_ptr_equal(lk_function_by_oid(list[i].bigint, &space), f);
        assert_int_equal(space, LK_SPACE_BIGINT);
        assert_ptr_equal(lk_function_by_oid(list[i].pair, &space), f);
        assert_int_equal(space, LK_SPACE_INT4PAIR);
    }
}

static void
unlock_all_has_one_oid_and_no_key_space(void **state)
{
    enum lk_space space = LK_SPACE_OTHER;
    const struct lk_function *f = lk_function_by_oid(LK_OID_UNLOCK_ALL, &space);
    assert_non_null(f);
    assert_int_equal(f->op, LK_CALL_UNLOCK_ALL);
    assert_int_equal(space, LK_SPACE_NONE);
    assert_null(lk_function_by_oid(0, &space));
    assert_null(lk_function_by_oid(2893, &space));
    struct lk_call c = {.fn = f};
    struct lk_key key = lk_key_bigint(7);
    assert_int_equal(lk_call_key(&c, NULL, NULL, &key), LK_BOUND_KEY);
    assert_true(lk_key_eq(key, lk_key_bigint(7)));
}

static void
only_whole_lower_case_names_are_functions(void **state)
{
    assert_null(lk_function_by_name(lk_span_str("PG_ADVISORY_LOCK")));
    assert_null(lk_function_by_name(lk_span_str("pg_advisory_loc")));
    assert_null(lk_function_by_name(lk_span_str("pg_advisory_lock_")));
    assert_null(lk_function_by_name(lk_span_str("")));
}

static void
a_text_parameter_is_space_sign_digits_space(void **state)
{
    expect_bigint(0, text("42"), 42);
    expect_bigint(0, text(" \t-42\r\n"), -42);
    expect_bigint(0, text("+007"), 7);
    expect_bigint(0, text("9223372036854775807"), INT64_MAX);
    expect_bigint(0, text("-9223372036854775808"), INT64_MIN);
    static const char *const bad[] = {"", " ", "-", "+-1", "- 1", "0x10", "1_000", "1.0", "1e3", "9223372036854775808",
        "-9223372036854775809", "99999999999999999999", "1 2",
        "\xc2\xa0"
        "1"};
    for (size_t i = 0; i < LK_COUNT(bad); i++)
        expect_unknown(0, text(bad[i]));
}

static void
a_binary_parameter_has_its_types_length(void **state)
{
    expect_bigint(0, binary(0, "\0\0\0\1\0\0\0\2", 8), 4294967298);
    expect_bigint(0, binary(LK_TYPE_INT8, "\xff\xff\xff\xff\xff\xff\xff\xff", 8), -1);
    expect_bigint(0, binary(LK_TYPE_INT4, "\xff\xff\xff\xfe", 4), -2);
    expect_bigint(0, binary(LK_TYPE_INT2, "\x80\x00", 2), -32768);
    expect_unknown(0, binary(LK_TYPE_INT8, "\0\0\0\1", 4));
    expect_unknown(0, binary(0, "\0\0\0\1", 4));
    expect_unknown(0, binary(LK_TYPE_INT4, "\0\0\0\0\0\0\0\1", 8));
}

static void
the_declared_type_goes_before_the_cast_which_goes_before_the_functions(void **state)
{
    expect_bigint(LK_TYPE_INT8, binary(LK_TYPE_INT4, "\0\0\0\5", 4), 5);
    expect_bigint(LK_TYPE_INT4, binary(0, "\0\0\0\5", 4), 5);
    expect_bigint(LK_TYPE_INT4, binary(705, "\0\0\0\5", 4), 5);
    expect_unknown(LK_TYPE_INT8, binary(LK_TYPE_TEXT, "12345678", 8));
    expect_unknown(0, (struct lk_argument){.type = 26, .data = lk_span_str("5")});
}

static void
a_value_out_of_its_types_range_is_unknown(void **state)
{
    expect_bigint(LK_TYPE_INT4, text("2147483647"), 2147483647);
    expect_unknown(LK_TYPE_INT4, text("2147483648"));
    expect_unknown(LK_TYPE_INT2, text("32768"));
    expect_unknown(LK_TYPE_INT4, binary(LK_TYPE_INT8, "\0\0\0\1\0\0\0\0", 8));
}

static void
a_pairs_untyped_parameters_are_int4(void **state)
{
    struct lk_call c = call_of("pg_try_advisory_lock", LK_SPACE_INT4PAIR);
    c.part[0] = (struct lk_part){.source = LK_PART_CONSTANT, .constant = -7};
    c.part[1] = (struct lk_part){.source = LK_PART_PARAM, .param = 1};
    struct lk_argument a = binary(0, "\0\0\0\x09", 4);
    arguments = &a;
    uint16_t count = 1;
    struct lk_key key;
    assert_int_equal(lk_call_key(&c, argument, &count, &key), LK_BOUND_KEY);
    assert_true(lk_key_eq(key, lk_key_pair(-7, 9)));
    a = text("2147483648");
    assert_int_equal(lk_call_key(&c, argument, &count, &key), LK_BOUND_UNKNOWN);
    c.part[0].constant = 2147483648;
    a = text("1");
    assert_int_equal(lk_call_key(&c, argument, &count, &key), LK_BOUND_UNKNOWN);
}

static void
one_null_is_enough_for_a_strict_function(void **state)
{
    struct lk_call c = call_of("pg_advisory_lock", LK_SPACE_INT4PAIR);
    struct lk_argument a = {.null = true};
    arguments = &a;
    uint16_t count = 1;
    struct lk_key key;
    c.part[0] = (struct lk_part){.source = LK_PART_PARAM, .param = 2};
    c.part[1] = (struct lk_part){.source = LK_PART_PARAM, .param = 1};
    assert_int_equal(lk_call_key(&c, argument, &count, &key), LK_BOUND_NULL);
    c.part[1] = (struct lk_part){.source = LK_PART_NULL};
    assert_int_equal(lk_call_key(&c, argument, &count, &key), LK_BOUND_NULL);
    assert_int_equal(bind_one(0, a, &key), LK_BOUND_NULL);
}

static void
a_parameter_that_was_not_bound_is_unknown(void **state)
{
    struct lk_call c = call_of("pg_advisory_lock", LK_SPACE_BIGINT);
    c.part[0] = (struct lk_part){.source = LK_PART_PARAM, .param = 3};
    uint16_t count = 0;
    struct lk_key key;
    assert_int_equal(lk_call_key(&c, argument, &count, &key), LK_BOUND_UNKNOWN);
    assert_int_equal(lk_call_key(&c, NULL, NULL, &key), LK_BOUND_UNKNOWN);
}

static enum lk_answer
answer(const char *name, uint32_t type, bool is_binary, const char *data, size_t n)
{
    struct lk_call c = call_of(name, LK_SPACE_BIGINT);
    c.result_type = type;
    return lk_call_answer(&c, false, is_binary, lk_span_make(data, n));
}

static void
a_granted_void_is_an_empty_value(void **state)
{
    assert_int_equal(answer("pg_advisory_lock", LK_TYPE_VOID, false, "", 0), LK_ANSWER_TRUE);
    assert_int_equal(answer("pg_advisory_lock", LK_TYPE_VOID, true, "", 0), LK_ANSWER_TRUE);
    assert_int_equal(answer("pg_advisory_lock", LK_TYPE_TEXT, false, "", 0), LK_ANSWER_TRUE);
    assert_int_equal(answer("pg_advisory_unlock_all", LK_TYPE_TEXT, false, "", 0), LK_ANSWER_TRUE);
    assert_int_equal(answer("pg_advisory_lock", LK_TYPE_BOOL, false, "t", 1), LK_ANSWER_BAD);
    assert_int_equal(answer("pg_advisory_lock", LK_TYPE_VOID, false, "x", 1), LK_ANSWER_BAD);
    struct lk_call c = call_of("pg_advisory_lock", LK_SPACE_BIGINT);
    c.result_type = LK_TYPE_VOID;
    assert_int_equal(lk_call_answer(&c, true, false, lk_span_make(NULL, 0)), LK_ANSWER_NULL);
}

static void
a_boolean_is_read_in_every_form_that_the_white_list_allows(void **state)
{
    static const struct {
        uint32_t type;
        bool binary;
        const char *data;
        size_t n;
        enum lk_answer answer;
    } list[] = {
        {LK_TYPE_BOOL, false, "t", 1, LK_ANSWER_TRUE},
        {LK_TYPE_BOOL, false, "f", 1, LK_ANSWER_FALSE},
        {LK_TYPE_BOOL, true, "\1", 1, LK_ANSWER_TRUE},
        {LK_TYPE_BOOL, true, "\0", 1, LK_ANSWER_FALSE},
        {LK_TYPE_BOOL, true, "t", 1, LK_ANSWER_BAD},
        {LK_TYPE_BOOL, false, "true", 4, LK_ANSWER_BAD},
        {LK_TYPE_TEXT, false, "true", 4, LK_ANSWER_TRUE},
        {LK_TYPE_TEXT, true, "false", 5, LK_ANSWER_FALSE},
        {LK_TYPE_TEXT, false, "t", 1, LK_ANSWER_BAD},
        {LK_TYPE_INT4, false, "1", 1, LK_ANSWER_TRUE},
        {LK_TYPE_INT4, false, "0", 1, LK_ANSWER_FALSE},
        {LK_TYPE_INT4, true, "\0\0\0\1", 4, LK_ANSWER_TRUE},
        {LK_TYPE_INT4, true, "\0\0\0\0", 4, LK_ANSWER_FALSE},
        {LK_TYPE_INT4, true, "\0\0\0\2", 4, LK_ANSWER_BAD},
        {LK_TYPE_VOID, false, "", 0, LK_ANSWER_BAD},
        {LK_TYPE_BOOL, false, "", 0, LK_ANSWER_BAD},
    };
    for (size_t i = 0; i < LK_COUNT(list); i++) {
        assert_int_equal(
            answer("pg_try_advisory_lock", list[i].type, list[i].binary, list[i].data, list[i].n), list[i].answer);
        assert_int_equal(
            answer("pg_advisory_unlock", list[i].type, list[i].binary, list[i].data, list[i].n), list[i].answer);
    }
}

static void
a_plan_owns_its_calls(void **state)
{
    struct lk_plan *p = lk_plan_new(2);
    assert_int_equal(p->count, 2);
    assert_false(lk_plan_touches(&p->statements[1]));
    p->statements[1].calls = lk_mem_new(3 * sizeof(struct lk_call));
    p->statements[1].call_count = 3;
    lk_plan_free(p);
    p = lk_plan_new(0);
    assert_null(p->statements);
    lk_plan_free(p);
    lk_plan_free(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_is_found_by_name_and_by_both_oids),
        cmocka_unit_test(unlock_all_has_one_oid_and_no_key_space),
        cmocka_unit_test(only_whole_lower_case_names_are_functions),
        cmocka_unit_test(a_text_parameter_is_space_sign_digits_space),
        cmocka_unit_test(a_binary_parameter_has_its_types_length),
        cmocka_unit_test(the_declared_type_goes_before_the_cast_which_goes_before_the_functions),
        cmocka_unit_test(a_value_out_of_its_types_range_is_unknown),
        cmocka_unit_test(a_pairs_untyped_parameters_are_int4),
        cmocka_unit_test(one_null_is_enough_for_a_strict_function),
        cmocka_unit_test(a_parameter_that_was_not_bound_is_unknown),
        cmocka_unit_test(a_granted_void_is_an_empty_value),
        cmocka_unit_test(a_boolean_is_read_in_every_form_that_the_white_list_allows),
        cmocka_unit_test(a_plan_owns_its_calls),
    };
    return cmocka_run_group_tests_name("lock/call", tests, NULL, NULL);
}
