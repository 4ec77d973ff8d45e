/* Levels to nested columns, by cases that were worked out by hand: the documents of Melnik et al., "Dremel" (2010), with
 * numbers in place of texts, and levels that no records have. */
#include "formats/parquet/record_assembly.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "formats/parquet/parquet_schema_test_support.h"
#include "support/memory_file.h"

enum { ENTRIES_MAX = 8, LEAVES_MAX = 4, COLUMNS_MAX = 16, TEXT_MAX = 400 };

/* Entries of one leaf; levels are digits. */
typedef struct entries {
    const char *repetition;
    const char *definition;
    int32_t n_values;
    int32_t values[ENTRIES_MAX];
} entries;

static text_schema text;

/* ---- a column as text: [list] {struct} - null ------------------------------------------------ */

static void append(char *out, const char *more)
{
    strncat(out, more, TEXT_MAX - strlen(out) - 1);
}

static void append_value(char *out, const oci_column *c, int64_t row)
{
    char number[16];
    if (c->validity != NULL && !oci_bit_get(c->validity, row)) {
        append(out, "-");
    } else if (c->field->type == OCI_TYPE_STRUCT) {
        append(out, "{");
        for (int32_t i = 0; i < c->field->n_children; i++) {
            append(out, i > 0 ? " " : "");
            append_value(out, &c->children[i], row);
        }
        append(out, "}");
    } else if (c->field->type == OCI_TYPE_LIST) {
        const uint8_t *offsets = c->values;
        int64_t begin = (int32_t)oci_load_le32(offsets + 4 * row);
        int64_t end = (int32_t)oci_load_le32(offsets + 4 * row + 4);
        append(out, "[");
        for (int64_t i = begin; i < end; i++) {
            append(out, i > begin ? " " : "");
            append_value(out, &c->children[0], i);
        }
        append(out, "]");
    } else {
        const uint8_t *values = c->values;
        snprintf(number, sizeof number, "%d", (int)oci_load_le32(values + 4 * row));
        append(out, number);
    }
}

/* ---- columns from entries -------------------------------------------------------------------- */

static void give(oci_parquet_leaf_column *leaf, const oci_parquet_leaf *what, oci_file *file,
                 const entries *given, oci_mem *mem)
{
    int64_t n = (int64_t)strlen(given->definition);
    assert_int_equal(n, strlen(given->repetition));
    leaf->reader.leaf = what;
    leaf->reader.mem = mem;
    leaf->reader.pages.mem = mem;
    leaf->reader.pages.file = file;
    leaf->reader.pages.column = what->path;
    leaf->n_entries = n;
    assert_int_equal(oci_parquet_values_init(&leaf->values, what, what->field, mem, NULL), OC_OK);
    assert_int_equal(oci_parquet_values_begin(&leaf->values, ENTRIES_MAX, NULL), OC_OK);
    memcpy(leaf->values.fixed.data, given->values, sizeof given->values);
    leaf->values.n = given->n_values;
    assert_int_equal(oci_parquet_block_grow(mem, &leaf->definition, 0, n, NULL), OC_OK);
    assert_int_equal(oci_parquet_block_grow(mem, &leaf->repetition, 0, n, NULL), OC_OK);
    for (int64_t i = 0; i < n; i++) {
        leaf->definition.data[i] = (uint8_t)(given->definition[i] - '0');
        leaf->repetition.data[i] = (uint8_t)(given->repetition[i] - '0');
    }
}

/* The first field of the schema, assembled from the entries of its leaves; out[TEXT_MAX] has the rows. */
static oc_status assemble(const char *fields, const entries *given, int64_t rows, char *out,
                          oc_error *err)
{
    test_env t;
    oci_parquet_schema *schema = NULL;
    oci_batch *batch = NULL;
    assert_int_equal(test_env_try(&t, 1 << 20, NULL, NULL), OC_OK);
    assert_int_equal(
        oci_parquet_schema_create(parse_text_schema(&text, fields), t.mem, &schema, NULL), OC_OK);
    assert_int_equal(oci_batch_without_columns(0, t.mem, NULL, 0, &batch, NULL), OC_OK);
    memory_file *file = make_memory_file("", 0);
    const oci_parquet_node *node = &schema->nodes[0];
    oci_parquet_column_reader c = {.node = node, .n_leaves = node->n_leaves, .mem = t.mem};
    c.leaves = calloc((size_t)c.n_leaves, sizeof *c.leaves);
    assert_non_null(c.leaves);
    for (int32_t i = 0; i < c.n_leaves; i++) {
        give(&c.leaves[i], &schema->leaves[node->leaf + i], &file->file, &given[i], t.mem);
    }
    oci_column columns[COLUMNS_MAX];
    oci_column *space = columns + 1;
    oc_status status = oci_parquet_assemble(&c, rows, &columns[0], &space, batch, err);
    out[0] = '\0';
    for (int64_t row = 0; status == OC_OK && row < rows; row++) {
        append(out, row > 0 ? " | " : "");
        append_value(out, &columns[0], row);
    }
    oci_parquet_column_reader_deinit(&c);
    oci_batch_release(batch);
    oci_parquet_schema_destroy(schema);
    memory_close(&file->file, NULL);
    assert_int_equal(oci_mem_held(t.mem), 0);
    test_env_deinit(&t);
    return status;
}

static void expect(const char *fields, const entries *given, int64_t rows, const char *expected)
{
    char out[TEXT_MAX];
    oc_error err = {0};
    if (assemble(fields, given, rows, out, &err) != OC_OK) {
        fail_msg("%s: %s", fields, err.message);
    }
    assert_string_equal(out, expected);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void the_links_of_the_paper(void **state)
{
    (void)state;
    static const entries given[] = {{"001", "122", 2, {10, 30}},
                                    {"0110", "2222", 4, {20, 40, 60, 80}}};
    expect("optional group Links { repeated int32 Backward; repeated int32 Forward; }", given, 2,
           "{[] [20 40 60]} | {[10 30] [80]}");
}

static const char names[] = "repeated group Name { repeated group Language { required int32 Code; "
                            "optional int32 Country; } "
                            "optional int32 Url; }";

static void the_names_of_the_paper(void **state)
{
    (void)state;
    static const entries given[] = {{"02110", "22121", 3, {1, 2, 3}},
                                    {"02110", "32131", 2, {7, 8}},
                                    {"0110", "2212", 3, {100, 200, 300}}};
    expect(names, given, 2, "[{[{1 7} {2 -}] 100} {[] 200} {[{3 8}] -}] | [{[] 300}]");
}

static const char tags[] =
    "optional group tags (LIST) { repeated group list { optional int32 element; } }";

static void null_empty_and_lists_of_nulls_are_told_apart(void **state)
{
    (void)state;
    static const entries given[] = {{"000101", "012323", 2, {5, 6}}};
    expect(tags, given, 4, "- | [] | [- 5] | [- 6]");
}

static void contradictions_are_refused(void **state)
{
    (void)state;
    static const entries too_few_rows[] = {{"000", "012", 0, {0}}};
    static const entries too_many_values[] = {{"00", "33", 3, {1, 2, 3}}};
    static const entries leaves_differ[] = {{"02110", "22121", 3, {1, 2, 3}},
                                            {"0110", "3131", 2, {7, 8}},
                                            {"0110", "2212", 3, {1, 2, 3}}};
    char out[TEXT_MAX];
    oc_error err = {0};
    assert_int_equal(assemble(tags, too_few_rows, 4, out, &err), OC_EDATA);
    assert_non_null(strstr(err.message, "contradict each other"));
    assert_non_null(strstr(err.message, "tags.list.element"));
    assert_int_equal(assemble(tags, too_many_values, 2, out, &err), OC_EDATA);
    assert_int_equal(assemble(names, leaves_differ, 2, out, &err), OC_EDATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_links_of_the_paper),
        cmocka_unit_test(the_names_of_the_paper),
        cmocka_unit_test(null_empty_and_lists_of_nulls_are_told_apart),
        cmocka_unit_test(contradictions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
