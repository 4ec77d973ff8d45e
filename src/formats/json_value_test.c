/* Nested values as text, in every format. Columns are laid out by hand, since what matters is which
 * slots of which child a value is made of. */
#include "formats/json_value.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fault.h"
#include "support/memory_file.h"

#define BYTES(...)  ((const uint8_t *)(__VA_ARGS__))
#define INT32S(...) BYTES((const int32_t[]){__VA_ARGS__})

/* ---- columns --------------------------------------------------------------------------------- */

static oci_field int32_field = {.name = (char[]){"i"}, .type = OCI_TYPE_INT32, .byte_width = 4};
static oci_field text_field = {.name = (char[]){"t\n\""}, .type = OCI_TYPE_UTF8};

static oci_column int32_column(const uint8_t *values, int64_t length, const uint8_t *validity)
{
    return (oci_column){.field = &int32_field,
                        .length = length,
                        .null_count = -1,
                        .validity = validity,
                        .values = values};
}

/* The texts "a", "b\"", "", "dd" and a null. */
static oci_column text_column(void)
{
    static const uint8_t valid[] = {0x0F};
    static const int32_t offsets[] = {0, 1, 3, 3, 5, 5};
    return (oci_column){.field = &text_field,
                        .length = 5,
                        .null_count = 1,
                        .validity = valid,
                        .values = BYTES(offsets),
                        .bytes = BYTES("ab\"dd")};
}

/* What a writer makes of a column called "c"; malloc'ed. `field` is the type that is announced. */
static char *text_of_field(const oci_field *field, const oci_column *column, oci_text_format format,
                           const oci_text_options *options)
{
    test_env t;
    oc_error err = {0};
    oci_text_writer *writer;
    oci_field named = *field;
    named.name = (char[]){"c"};
    oci_schema schema = {.n_fields = 1, .fields = &named};
    atomic_init(&schema.references, 1);
    oci_column columns[] = {*column};
    oci_batch batch = {.schema = &schema, .length = column->length, .columns = columns};
    assert_int_equal(test_env_try(&t, 1 << 20, NULL, NULL), OC_OK);
    memory_file *file = make_memory_file("", 0);
    if (oci_text_writer_open(&t.env, &file->file, &schema, format, options, t.mem, &writer, &err) !=
        OC_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(oci_text_writer_add(writer, &batch, NULL), OC_OK);
    assert_int_equal(oci_text_writer_finish(writer, NULL), OC_OK);
    oci_text_writer_destroy(writer);
    assert_int_equal(oci_mem_held(t.mem), 0);
    char *text = file->data;
    file->data = NULL;
    (void)memory_close(&file->file, NULL);
    test_env_deinit(&t);
    return text;
}

static void check_format(const oci_column *column, oci_text_format format, const char *want)
{
    oci_text_options options = {.header = false};
    char *text = text_of_field(column->field, column, format, &options);
    assert_string_equal(text, want);
    free(text);
}

/* `want` has the values, one a line. */
static void check(const oci_column *column, const char *want)
{
    char expected[4096] = "";
    for (const char *at = want; *at != '\0';) {
        const char *end = strchr(at, '\n');
        sprintf(expected + strlen(expected), "{\"c\":%.*s}\n", (int)(end - at), at);
        at = end + 1;
    }
    check_format(column, OCI_TEXT_NDJSON, expected);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void lists_of_every_kind_are_arrays(void **state)
{
    (void)state;
    /* 7, null, 9, 10, 11 behind two slots that no list may show. */
    oci_column child = int32_column(INT32S(-1, -1, 7, 8, 9, 10, 11), 5, BYTES("\xF7"));
    child.offset = 2;
    oci_field field = {.name = (char[]){"l"}, .n_children = 1, .children = &int32_field};
    oci_column list = {.field = &field, .null_count = -1, .children = &child};

    field.type = OCI_TYPE_LIST;
    list.values = INT32S(0, 1, 4, 4, 5);
    list.offset = 1;
    list.length = 3;
    list.validity = BYTES("\x0F");
    check(&list, "[null,9,10]\n[]\n[11]\n");
    list.validity = BYTES("\x0B");
    check(&list, "[null,9,10]\nnull\n[11]\n");

    field.type = OCI_TYPE_LARGE_LIST;
    list.values = BYTES((const int64_t[]){0, 1, 4, 4, 5});
    check(&list, "[null,9,10]\nnull\n[11]\n");

    field.type = OCI_TYPE_LIST_VIEW;
    list.values = INT32S(0, 2, 0, 0);
    list.sizes = INT32S(0, 3, 99, 2);
    check(&list, "[9,10,11]\nnull\n[7,null]\n");

    field.type = OCI_TYPE_LARGE_LIST_VIEW;
    list.values = BYTES((const int64_t[]){0, 2, 0, 0});
    list.sizes = BYTES((const int64_t[]){0, 3, 99, 2});
    check(&list, "[9,10,11]\nnull\n[7,null]\n");

    field.type = OCI_TYPE_FIXED_LIST;
    field.list_size = 2;
    list.length = 1;
    check(&list, "[9,10]\n");
    field.list_size = 0;
    check(&list, "[]\n");
}

static void values_in_lists_are_written_as_in_columns(void **state)
{
    (void)state;
    oci_field value = {.name = (char[]){"v"}, .type = OCI_TYPE_FLOAT64, .byte_width = 8};
    oci_field field = {
        .name = (char[]){"l"}, .type = OCI_TYPE_LIST, .n_children = 1, .children = &value};
    const double numbers[] = {0.1, (double)NAN, -(double)INFINITY, -0.0};
    oci_column child = {.field = &value, .length = 4, .values = BYTES(numbers)};
    oci_column list = {.field = &field, .length = 1, .values = INT32S(0, 4), .children = &child};
    check(&list, "[0.1,null,null,-0.0]\n");

    value = (oci_field){.name = value.name, .type = OCI_TYPE_DATE32, .byte_width = 4};
    child.values = INT32S(0, 19782, -1, 1);
    check(&list, "[\"1970-01-01\",\"2024-02-29\",\"1969-12-31\",\"1970-01-02\"]\n");

    value.type = OCI_TYPE_FIXED_BINARY;
    value.byte_width = 1;
    child.values = BYTES("\x00\xFF\x10z");
    check(&list, "[\"00\",\"ff\",\"10\",\"7a\"]\n");

    value = (oci_field){.name = value.name, .type = OCI_TYPE_BOOL};
    child.values = BYTES("\x05");
    check(&list, "[true,false,true,false]\n");

    value.type = OCI_TYPE_NULL;
    check(&list, "[null,null,null,null]\n");
}

/* ---- structs and maps ------------------------------------------------------------------------ */

static void structs_are_objects_and_keep_every_field(void **state)
{
    (void)state;
    oci_field fields[] = {int32_field, text_field, int32_field};
    oci_column children[] = {int32_column(INT32S(1, 2, 3, 4, 5), 5, NULL), text_column(),
                             int32_column(INT32S(6, 7, 8, 9, 10), 5, BYTES("\x1E"))};
    oci_field field = {
        .name = (char[]){"s"}, .type = OCI_TYPE_STRUCT, .n_children = 3, .children = fields};
    oci_column column = {.field = &field, .length = 5, .children = children};
    check(&column, "{\"i\":1,\"t\\n\\\"\":\"a\",\"i\":null}\n"
                   "{\"i\":2,\"t\\n\\\"\":\"b\\\"\",\"i\":7}\n"
                   "{\"i\":3,\"t\\n\\\"\":\"\",\"i\":8}\n"
                   "{\"i\":4,\"t\\n\\\"\":\"dd\",\"i\":9}\n"
                   "{\"i\":5,\"t\\n\\\"\":null,\"i\":10}\n");
    /* Its own offset moves the rows of the children; it may be null where they are not. */
    column.offset = 3;
    column.length = 2;
    column.validity = BYTES("\x10");
    check(&column, "null\n{\"i\":5,\"t\\n\\\"\":null,\"i\":10}\n");

    field.n_children = 0;
    column.children = NULL;
    column.validity = NULL;
    check(&column, "{}\n{}\n");
}

static void maps_of_texts_are_objects(void **state)
{
    (void)state;
    oci_field fields[] = {text_field, int32_field};
    oci_column children[] = {text_column(), int32_column(INT32S(1, 2, 3, 4, 5), 5, BYTES("\x1D"))};
    oci_field entry_field = {
        .name = (char[]){"e"}, .type = OCI_TYPE_STRUCT, .n_children = 2, .children = fields};
    oci_column entries = {.field = &entry_field, .length = 5, .children = children};
    oci_field field = {
        .name = (char[]){"m"}, .type = OCI_TYPE_MAP, .n_children = 1, .children = &entry_field};
    oci_column column = {.field = &field,
                         .length = 3,
                         .validity = BYTES("\x05"),
                         .values = INT32S(0, 2, 3, 4),
                         .children = &entries};
    check(&column, "{\"a\":1,\"b\\\"\":null}\nnull\n{\"dd\":4}\n");
    /* The offset of the entries counts for key and value. A null key is no key of Arrow, but must
     * not break the text. */
    entries.offset = 1;
    check(&column, "{\"b\\\"\":null,\"\":3}\nnull\n{\"null\":5}\n");
}

static void maps_of_other_keys_are_arrays_of_pairs(void **state)
{
    (void)state;
    oci_field fields[] = {int32_field, text_field};
    oci_column children[] = {int32_column(INT32S(1, 1, 3, 4, 5), 5, NULL), text_column()};
    oci_field entry_field = {
        .name = (char[]){"e"}, .type = OCI_TYPE_STRUCT, .n_children = 2, .children = fields};
    oci_column entries = {.field = &entry_field, .length = 5, .children = children};
    oci_field field = {
        .name = (char[]){"m"}, .type = OCI_TYPE_MAP, .n_children = 1, .children = &entry_field};
    oci_column column = {
        .field = &field, .length = 2, .values = INT32S(0, 2, 2), .children = &entries};
    check(&column, "[{\"key\":1,\"value\":\"a\"},{\"key\":1,\"value\":\"b\\\"\"}]\n[]\n");
}

/* ---- what is seen through -------------------------------------------------------------------- */

static void unions_are_the_value_of_their_child(void **state)
{
    (void)state;
    oci_field fields[] = {int32_field, text_field};
    oci_column children[] = {int32_column(INT32S(1, 2, 3, 4, 5), 5, BYTES("\x1D")), text_column()};
    oci_union_ids ids;
    memset(&ids, -1, sizeof ids);
    ids.child_of[5] = 0;
    ids.child_of[7] = 1;
    oci_field field = {.name = (char[]){"u"},
                       .type = OCI_TYPE_SPARSE_UNION,
                       .union_ids = &ids,
                       .n_children = 2,
                       .children = fields};
    oci_column column = {
        .field = &field, .length = 5, .values = BYTES("\5\5\7\7\7"), .children = children};
    check(&column, "1\nnull\n\"\"\n\"dd\"\nnull\n");
    check_format(&column, OCI_TEXT_CSV, "1\n\n\"\"\ndd\n\n");

    field.type = OCI_TYPE_DENSE_UNION;
    column.child_offsets = INT32S(4, 0, 1, 0, 4);
    column.offset = 1;
    column.length = 4;
    check(&column, "1\n\"b\\\"\"\n\"a\"\nnull\n");
    check_format(&column, OCI_TEXT_CSV, "1\n\"b\"\"\"\na\n\n");
}

static void dictionaries_and_runs_are_their_values(void **state)
{
    (void)state;
    oci_column values[] = {int32_column(INT32S(1, 2, 3), 3, NULL)};
    oci_field list_field = {
        .name = (char[]){""}, .type = OCI_TYPE_LIST, .n_children = 1, .children = &int32_field};
    /* [1, 2], null, [3] */
    oci_column lists = {.field = &list_field,
                        .length = 3,
                        .validity = BYTES("\x05"),
                        .values = INT32S(0, 2, 2, 3),
                        .children = values};
    oci_field dictionary_field = {.name = (char[]){"d"},
                                  .type = OCI_TYPE_DICTIONARY,
                                  .index_type = OCI_TYPE_UINT8,
                                  .byte_width = 1,
                                  .dictionary = &list_field};
    oci_column dictionary = {.field = &dictionary_field,
                             .length = 4,
                             .validity = BYTES("\x0B"),
                             .values = BYTES("\2\1\x77\0"),
                             .dictionary = &lists};
    check(&dictionary, "[3]\nnull\nnull\n[1,2]\n");

    oci_field run_fields[] = {int32_field, dictionary_field};
    oci_column run_children[] = {int32_column(INT32S(2, 3, 6, 8), 4, NULL), dictionary};
    oci_field runs_field = {.name = (char[]){"r"},
                            .type = OCI_TYPE_RUN_END_ENCODED,
                            .n_children = 2,
                            .children = run_fields};
    oci_column runs = {.field = &runs_field, .length = 5, .offset = 1, .children = run_children};
    check(&runs, "[3]\nnull\nnull\nnull\nnull\n");
    runs.offset = 4;
    runs.length = 4;
    check(&runs, "null\nnull\n[1,2]\n[1,2]\n");

    /* The working form of runs, written as what was announced. */
    oci_text_options options = {.header = false};
    char *text = text_of_field(&runs_field, &dictionary, OCI_TEXT_NDJSON, &options);
    assert_string_equal(text, "{\"c\":[3]}\n{\"c\":null}\n{\"c\":null}\n{\"c\":[1,2]}\n");
    free(text);
}

/* ---- other formats --------------------------------------------------------------------------- */

static void csv_has_nested_values_as_json_in_quotes(void **state)
{
    (void)state;
    oci_column texts = text_column();
    oci_field field = {
        .name = (char[]){"l"}, .type = OCI_TYPE_LIST, .n_children = 1, .children = &text_field};
    oci_column list = {.field = &field,
                       .length = 4,
                       .validity = BYTES("\x0B"),
                       .values = INT32S(0, 2, 2, 3, 5),
                       .children = &texts};
    check_format(&list, OCI_TEXT_CSV,
                 "\"[\"\"a\"\",\"\"b\\\"\"\"\"]\"\n\"[]\"\n\n\"[\"\"dd\"\",null]\"\n");
    /* A null text that looks like a value does not make it one. */
    oci_text_options options = {.null_text = "[]", .header = true};
    char *text = text_of_field(&field, &list, OCI_TEXT_CSV, &options);
    assert_string_equal(text,
                        "c\n\"[\"\"a\"\",\"\"b\\\"\"\"\"]\"\n\"[]\"\n[]\n\"[\"\"dd\"\",null]\"\n");
    free(text);
}

static void tables_show_the_beginning_of_nested_values(void **state)
{
    (void)state;
    enum { MANY = 2000000 };
    oci_column numbers = int32_column(INT32S(10, 20, 30), 3, NULL);
    oci_field field = {
        .name = (char[]){"l"}, .type = OCI_TYPE_LIST, .n_children = 1, .children = &int32_field};
    oci_column list = {
        .field = &field, .length = 2, .values = INT32S(0, 3, 3), .children = &numbers};
    check_format(&list, OCI_TEXT_TABLE,
                 "┌────────────┐\n"
                 "│ c          │\n"
                 "├────────────┤\n"
                 "│ [10,20,30] │\n"
                 "│ []         │\n"
                 "└────────────┘\n"
                 "(2 rows)\n");
    /* In a budget of 1 MiB: what is not shown is not made. */
    int32_t *zeros = calloc(MANY, sizeof *zeros);
    numbers = int32_column(BYTES(zeros), MANY, NULL);
    list.length = 1;
    list.values = INT32S(0, MANY);
    oci_text_options narrow = {.width = 14};
    char *text = text_of_field(&field, &list, OCI_TEXT_TABLE, &narrow);
    assert_string_equal(text, "┌────────────┐\n"
                              "│ c          │\n"
                              "├────────────┤\n"
                              "│ [0,0,0,0,… │\n"
                              "└────────────┘\n"
                              "(1 row)\n");
    free(text);
    free(zeros);
}

/* Far more text in one value than the budget of 1 MiB: many empty texts, then a long one. */
static void large_values_pass_through_the_buffer(void **state)
{
    (void)state;
    enum { TEXTS = 300000, PIECES = 300000 };
    static const char piece[] = "\"x\xE2\x82\xAC";
    const int64_t piece_length = (int64_t)strlen(piece);
    char *bytes = malloc(PIECES * sizeof piece);
    for (int64_t i = 0; i < PIECES; i++) {
        memcpy(bytes + i * piece_length, piece, (size_t)piece_length);
    }
    int32_t *offsets = calloc(TEXTS + 1, sizeof *offsets);
    offsets[TEXTS] = (int32_t)(PIECES * piece_length);
    oci_column texts = {
        .field = &text_field, .length = TEXTS, .values = BYTES(offsets), .bytes = BYTES(bytes)};
    oci_field field = {
        .name = (char[]){"l"}, .type = OCI_TYPE_LIST, .n_children = 1, .children = &text_field};
    oci_column list = {
        .field = &field, .length = 1, .values = INT32S(0, TEXTS), .children = &texts};
    oci_text_options options = {.header = false};

    /* Quotes around a text are 2 bytes in JSON and 4 in CSV; one in a text is \" and \"". */
    const int64_t commas = TEXTS - 1;
    char *json = text_of_field(&field, &list, OCI_TEXT_NDJSON, &options);
    assert_int_equal(strlen(json),
                     strlen("{\"c\":[]}\n") + commas + 2 * TEXTS + PIECES * (piece_length + 1));
    free(json);
    char *csv = text_of_field(&field, &list, OCI_TEXT_CSV, &options);
    assert_int_equal(strlen(csv),
                     strlen("\"[]\"\n") + commas + 4 * TEXTS + PIECES * (piece_length + 2));
    assert_int_equal(strncmp(csv, "\"[\"\"\"\",\"\"\"\",", 12), 0);
    free(csv);
    free(offsets);
    free(bytes);
}

static void types_may_be_as_deep_as_the_limit(void **state)
{
    (void)state;
    oci_field fields[OCI_NESTING_MAX];
    oci_column columns[OCI_NESTING_MAX];
    fields[0] = int32_field;
    columns[0] = int32_column(INT32S(42), 1, NULL);
    for (int i = 1; i < OCI_NESTING_MAX; i++) {
        fields[i] = (oci_field){.name = (char[]){"l"},
                                .type = OCI_TYPE_FIXED_LIST,
                                .list_size = 1,
                                .n_children = 1,
                                .children = &fields[i - 1]};
        columns[i] = (oci_column){.field = &fields[i], .length = 1, .children = &columns[i - 1]};
    }
    char want[2 * OCI_NESTING_MAX + 16] = "";
    memset(want, '[', OCI_NESTING_MAX - 1);
    strcpy(want + OCI_NESTING_MAX - 1, "42");
    memset(want + OCI_NESTING_MAX + 1, ']', OCI_NESTING_MAX - 1);
    strcpy(want + 2 * OCI_NESTING_MAX, "\n");
    check(&columns[OCI_NESTING_MAX - 1], want);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static oc_status write_with_faults(oci_fault_plan *plan, oci_schema *schema, const oci_batch *batch,
                                   oci_text_format format)
{
    test_env t;
    oci_text_writer *writer = NULL;
    oci_text_options options = {.header = true};
    memory_file *file = make_memory_file("", 0);
    oc_status status = test_env_try(&t, 1 << 20, oci_fault_allocator(plan), NULL);
    if (status == OC_OK) {
        status = oci_text_writer_open(&t.env, &file->file, schema, format, &options, t.mem, &writer,
                                      NULL);
    }
    if (status == OC_OK) {
        status = oci_text_writer_add(writer, batch, NULL);
    }
    if (status == OC_OK) {
        status = oci_text_writer_finish(writer, NULL);
    }
    oci_text_writer_destroy(writer);
    (void)memory_close(&file->file, NULL);
    if (t.mem != NULL) {
        assert_int_equal(oci_mem_held(t.mem), 0);
    }
    test_env_deinit(&t);
    return status;
}

static void every_failed_allocation_is_reported_and_undone(void **state)
{
    (void)state;
    oci_column texts = text_column();
    oci_field list_field = {
        .name = (char[]){"l"}, .type = OCI_TYPE_LIST, .n_children = 1, .children = &text_field};
    oci_field fields[] = {list_field, int32_field};
    oci_field struct_field = {
        .name = (char[]){"s"}, .type = OCI_TYPE_STRUCT, .n_children = 2, .children = fields};
    oci_column children[] = {
        {.field = &fields[0], .length = 2, .values = INT32S(0, 2, 5), .children = &texts},
        int32_column(INT32S(1, 2), 2, NULL)};
    oci_column column = {.field = &struct_field, .length = 2, .children = children};
    oci_schema schema = {.n_fields = 1, .fields = &struct_field};
    atomic_init(&schema.references, 1);
    oci_batch batch = {.schema = &schema, .length = 2, .columns = &column};
    for (int format = OCI_TEXT_CSV; format <= OCI_TEXT_TABLE; format++) {
        bool injected = true;
        for (int64_t n = 1; injected; n++) {
            assert_true(n < 100);
            oci_fault_plan *plan = oci_fault_plan_create();
            oci_fault_arm(plan, OCI_FAULT_ALLOC, n, n % 2 == 0);
            oc_status status = write_with_faults(plan, &schema, &batch, (oci_text_format)format);
            injected = oci_fault_injected(plan) > 0;
            assert_int_equal(status, injected ? OC_ENOMEM : OC_OK);
            assert_int_equal(oci_fault_live_bytes(plan), 0);
            oci_fault_plan_destroy(plan);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_every_kind_are_arrays),
        cmocka_unit_test(values_in_lists_are_written_as_in_columns),
        cmocka_unit_test(structs_are_objects_and_keep_every_field),
        cmocka_unit_test(maps_of_texts_are_objects),
        cmocka_unit_test(maps_of_other_keys_are_arrays_of_pairs),
        cmocka_unit_test(unions_are_the_value_of_their_child),
        cmocka_unit_test(dictionaries_and_runs_are_their_values),
        cmocka_unit_test(csv_has_nested_values_as_json_in_quotes),
        cmocka_unit_test(tables_show_the_beginning_of_nested_values),
        cmocka_unit_test(large_values_pass_through_the_buffer),
        cmocka_unit_test(types_may_be_as_deep_as_the_limit),
        cmocka_unit_test(every_failed_allocation_is_reported_and_undone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
