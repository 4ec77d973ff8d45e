#include "formats/parquet/prune.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "base/hash.h"
#include "formats/parquet/bloom.h"
#include "formats/parquet/parquet_schema_test_support.h"
#include "support/byte_file.h"
#include "support/memory_file.h"

enum { ROWS = 100 };

/* One row group of a schema; statistics and indexes are set by the tests. */
static test_env env;
static text_schema text;
static oci_parquet_schema *schema;
static oci_parquet_column_chunk chunks[4];
static oci_parquet_column_order orders[4];
static oci_parquet_row_group group;
static oci_text file_bytes; /* page indexes and Bloom filters */

static void begin(const char *fields)
{
    assert_int_equal(test_env_try(&env, 1 << 20, NULL, NULL), OC_OK);
    (void)parse_text_schema(&text, fields);
    assert_int_equal(oci_parquet_schema_create(&text.metadata, env.mem, &schema, NULL), OC_OK);
    for (int i = 0; i < 4; i++) {
        chunks[i] = (oci_parquet_column_chunk){
            .n_values = ROWS,
            .offset = 4,
            .compressed_bytes = 100,
            .statistics = {.null_count = -1, .distinct_count = -1, .nan_count = -1}};
        orders[i] = OCI_PARQUET_ORDER_TYPE;
    }
    text.metadata.column_orders = orders;
    group = (oci_parquet_row_group){.n_rows = ROWS, .n_columns = 4, .columns = chunks};
    file_bytes = (oci_text){.mem = env.mem};
    assert_int_equal(oci_text_append_str(&file_bytes, "PAR1", NULL), OC_OK);
}

static void end(void)
{
    oci_text_free(&file_bytes);
    oci_parquet_schema_destroy(schema);
    assert_int_equal(oci_mem_held(env.mem), 0);
    test_env_deinit(&env);
}

/* Row ranges that are left, as "0-10 20-30". */
static const char *select_rows(const oci_predicate *predicate, oc_status wanted)
{
    static char found[200];
    oci_parquet_arena arena = {.mem = env.mem};
    oci_parquet_selection selection;
    text.metadata.file_bytes = file_bytes.length + OCI_PARQUET_TAIL_BYTES;
    oci_file *file = byte_file_open((uint8_t *)file_bytes.data, file_bytes.length, 0);
    const oci_parquet_prune_source source = {file, &text.metadata, schema};
    assert_int_equal(oci_parquet_prune(&source, &group, predicate, &arena, &selection, NULL),
                     wanted);
    int at = 0;
    int64_t n_rows = 0;
    found[0] = '\0';
    for (int32_t i = 0; wanted == OC_OK && i < selection.n_ranges; i++) {
        const oci_parquet_rows *rows = &selection.ranges[i];
        at += snprintf(found + at, sizeof found - (size_t)at, "%s%d-%d", i > 0 ? " " : "",
                       (int)rows->start, (int)rows->end);
        n_rows += rows->end - rows->start;
    }
    assert_true(wanted != OC_OK || n_rows == selection.n_rows);
    oci_parquet_arena_free(&arena);
    oci_close(file, NULL);
    return found;
}

static bool may_match(oci_predicate_kind kind, int32_t column, const oci_predicate_value *values,
                      int32_t n)
{
    const oci_predicate predicate = {
        .kind = kind, .column = column, .n_values = n, .values = values};
    const char *rows = select_rows(&predicate, OC_OK);
    assert_true(rows[0] == '\0' || strcmp(rows, "0-100") == 0);
    return rows[0] != '\0';
}

/* Which of = <> < <= > >= may match column 0: one letter or '.' each. */
static const char *answers(oci_predicate_value value)
{
    static char found[7];
    static const char letters[] = "enlLgG";
    static const oci_predicate_kind kinds[] = {OCI_PREDICATE_EQUAL,   OCI_PREDICATE_NOT_EQUAL,
                                               OCI_PREDICATE_LESS,    OCI_PREDICATE_LESS_EQUAL,
                                               OCI_PREDICATE_GREATER, OCI_PREDICATE_GREATER_EQUAL};
    for (int i = 0; i < 6; i++) {
        found[i] = '.';
        if (may_match(kinds[i], 0, &value, 1)) {
            found[i] = letters[i];
        }
    }
    found[6] = '\0';
    return found;
}

static const char *answers_for(int64_t value)
{
    return answers(oci_predicate_integer(value));
}

static oci_predicate_value unsigned_value(uint64_t value)
{
    return (oci_predicate_value){.type = OCI_PREDICATE_UNSIGNED, .unsigned_integer = value};
}

static oci_predicate_value number(double value)
{
    return (oci_predicate_value){.type = OCI_PREDICATE_FLOAT, .number = value};
}

static oci_predicate_value bytes_value(const char *value)
{
    return (oci_predicate_value){.type = OCI_PREDICATE_BYTES,
                                 .bytes = {(const uint8_t *)value, (int64_t)strlen(value)}};
}

static void set_stats(int column, const void *min, const void *max, int64_t size)
{
    chunks[column].statistics.min = (oci_parquet_bytes){min, size};
    chunks[column].statistics.max = (oci_parquet_bytes){max, size};
}

static void set_old_stats(int column, const void *min, const void *max, int64_t size)
{
    chunks[column].statistics.min_deprecated = (oci_parquet_bytes){min, size};
    chunks[column].statistics.max_deprecated = (oci_parquet_bytes){max, size};
}

static void set_texts(const char *min, const char *max)
{
    chunks[0].statistics.min = (oci_parquet_bytes){(const uint8_t *)min, (int64_t)strlen(min)};
    chunks[0].statistics.max = (oci_parquet_bytes){(const uint8_t *)max, (int64_t)strlen(max)};
}

/* ---- types ----------------------------------------------------------------------------------- */

static void integers_are_left_out_outside_of_min_and_max(void **state)
{
    (void)state;
    begin("required int32 a;");
    static const int32_t bounds[] = {-10, 20};
    set_stats(0, &bounds[0], &bounds[1], 4);
    assert_string_equal(answers_for(-11), ".n..gG");
    assert_string_equal(answers_for(-10), "en.LgG");
    assert_string_equal(answers_for(-9), "enlLgG");
    assert_string_equal(answers_for(20), "enlL.G");
    assert_string_equal(answers_for(21), ".nlL..");
    assert_string_equal(answers_for(INT64_MAX), ".nlL..");
    orders[0] = OCI_PARQUET_ORDER_UNKNOWN; /* signed numbers have one order */
    assert_string_equal(answers_for(21), ".nlL..");
    set_stats(0, &bounds[0], &bounds[0], 4);
    assert_string_equal(answers_for(-10), "e..L.G");
    end();
}

static void old_statistics_count_for_signed_numbers_alone(void **state)
{
    static const int64_t bounds[] = {-10, 20};
    static const uint32_t unsigned_bounds[] = {10, 20};
    (void)state;
    begin("required int64 a (TIMESTAMP(us,utc));");
    set_old_stats(0, &bounds[0], &bounds[1], 8);
    assert_string_equal(answers_for(21), ".nlL..");
    end();
    begin("required int32 a (INT(32,u));");
    set_old_stats(0, &unsigned_bounds[0], &unsigned_bounds[1], 4);
    assert_string_equal(answers(unsigned_value(21)), "enlLgG");
    end();
    begin("required binary a (STRING);");
    set_old_stats(0, "b", "c", 1);
    assert_string_equal(answers(bytes_value("d")), "enlLgG");
    end();
}

static void unsigned_integers_compare_as_unsigned(void **state)
{
    static const uint32_t bounds[] = {5, 0xF0000000};
    static const uint64_t wide[] = {5, UINT64_C(0xF000000000000000)};
    (void)state;
    begin("required int32 a (INT(32,u));");
    set_stats(0, &bounds[0], &bounds[1], 4);
    assert_string_equal(answers(unsigned_value(0xEFFFFFFF)), "enlLgG");
    assert_string_equal(answers(unsigned_value(0xF0000001)), ".nlL..");
    orders[0] = OCI_PARQUET_ORDER_UNKNOWN; /* perhaps compared as signed */
    assert_string_equal(answers(unsigned_value(0xF0000001)), "enlLgG");
    end();
    begin("required int64 a (INT(64,u));");
    set_stats(0, &wide[0], &wide[1], 8);
    assert_string_equal(answers(unsigned_value(UINT64_MAX)), ".nlL..");
    assert_string_equal(answers(unsigned_value(4)), ".n..gG");
    end();
}

static void texts_compare_as_bytes_and_may_be_cut(void **state)
{
    (void)state;
    begin("required binary a (STRING);");
    set_texts("b", "c\xC3");
    chunks[0].statistics.is_max_exact = 0;
    assert_string_equal(answers(bytes_value("a")), ".n..gG");
    assert_string_equal(answers(bytes_value("b")), "en.LgG");
    assert_string_equal(answers(bytes_value("bb")), "enlLgG");
    assert_string_equal(answers(bytes_value("c\xC3\xA9")), ".nlL..");
    assert_string_equal(answers(bytes_value("")), ".n..gG");
    orders[0] = OCI_PARQUET_ORDER_UNKNOWN;
    assert_string_equal(answers(bytes_value("a")), "enlLgG");
    end();
    begin("required fixed(3) a;");
    set_texts("bb", "ccc"); /* one of them cut */
    assert_string_equal(answers(bytes_value("ccd")), ".nlL..");
    assert_string_equal(answers(bytes_value("bba")), "enlLgG");
    end();
}

static void nan_is_above_all_numbers_unless_there_is_none(void **state)
{
    static const double bounds[] = {-1.5, 2.5};
    static const double nan_bounds[] = {-1.5, NAN};
    (void)state;
    begin("required double a;");
    set_stats(0, &bounds[0], &bounds[1], 8);
    assert_string_equal(answers(number(-2)), ".n..gG");
    assert_string_equal(answers(number(3)), ".nlLgG"); /* x > 3 holds for NaN */
    assert_string_equal(answers(number(NAN)), "enlL.G");
    chunks[0].statistics.nan_count = 0;
    assert_string_equal(answers(number(3)), ".nlL..");
    assert_string_equal(answers(number(NAN)), ".nlL..");
    set_stats(0, &nan_bounds[0], &nan_bounds[1], 8);
    assert_string_equal(answers(number(-2)), "enlLgG");
    set_stats(0, &nan_bounds[1], &nan_bounds[0], 8);
    assert_string_equal(answers(number(3)), "enlLgG");
    end();
}

static void zeros_are_equal_whatever_their_sign(void **state)
{
    static const float bounds[] = {0.0F, 1.0F};
    static const float negative[] = {-1.0F, -0.0F};
    (void)state;
    begin("required float a;");
    chunks[0].statistics.nan_count = 0;
    set_stats(0, &bounds[0], &bounds[1], 4);
    assert_string_equal(answers(number(-0.0)), "en.LgG");
    set_stats(0, &negative[0], &negative[1], 4);
    assert_string_equal(answers(number(0.0)), "enlL.G");
    end();
}

static void halves_compare_as_numbers(void **state)
{
    static const uint16_t bounds[] = {0xBC00, 0x0001}; /* -1, the smallest above 0 */
    (void)state;
    begin("required fixed(2) a (FLOAT16);");
    chunks[0].statistics.nan_count = 0;
    set_stats(0, &bounds[0], &bounds[1], 2);
    assert_string_equal(answers(number(-1.5)), ".n..gG");
    assert_string_equal(answers(number(1e-7)), ".nlL..");
    assert_string_equal(answers(number(5e-8)), "enlLgG");
    end();
}

static void decimals_compare_by_their_digits(void **state)
{
    static const int32_t small[] = {-150, 250};
    static const uint8_t min[] = {0xFF, 0x6A}; /* -150 */
    static const uint8_t max[] = {0x00, 0xFA}; /* 250 */
    static const uint8_t short_max[] = {0x7F}; /* 127 */
    static const uint8_t long_min[] = {0xFF, 0xFF, 0x6A};
    (void)state;
    begin("required int32 a (DECIMAL(5,2));");
    set_stats(0, &small[0], &small[1], 4);
    assert_string_equal(answers_for(-151), ".n..gG");
    assert_string_equal(answers_for(251), ".nlL..");
    end();
    begin("required fixed(2) a (DECIMAL(4,2));");
    set_stats(0, min, max, 2);
    assert_string_equal(answers_for(-151), ".n..gG");
    assert_string_equal(answers_for(-150), "en.LgG");
    assert_string_equal(answers_for(251), ".nlL..");
    orders[0] = OCI_PARQUET_ORDER_UNKNOWN; /* old writers compared bytes */
    assert_string_equal(answers_for(251), "enlLgG");
    end();
    begin("required binary a (DECIMAL(40,2));");
    chunks[0].statistics.min = (oci_parquet_bytes){long_min, 3};
    chunks[0].statistics.max = (oci_parquet_bytes){short_max, 1};
    assert_string_equal(answers_for(-151), ".n..gG");
    assert_string_equal(answers_for(128), ".nlL..");
    const oci_predicate_value beyond = {.type = OCI_PREDICATE_INTEGER, .wide = {0, 0, 0, 1}};
    assert_string_equal(answers(beyond), ".nlL..");
    end();
}

static void bools_compare(void **state)
{
    static const uint8_t no[] = {0};
    (void)state;
    begin("required boolean a;");
    set_stats(0, no, no, 1);
    assert_string_equal(answers_for(1), ".nlL..");
    assert_string_equal(answers_for(0), "e..L.G");
    end();
}

static void types_without_an_order_match(void **state)
{
    static const uint8_t zeros[12] = {0};
    (void)state;
    begin("required int96 a;");
    set_stats(0, zeros, zeros, 12);
    assert_string_equal(answers_for(1), "enlLgG");
    end();
    begin("required fixed(12) a (INTERVAL);");
    set_stats(0, zeros, zeros, 12);
    assert_string_equal(answers(bytes_value("x")), "enlLgG");
    end();
}

/* ---- what cannot be relied on ---------------------------------------------------------------- */

static void statistics_that_cannot_be_are_ignored(void **state)
{
    static const int32_t bounds[] = {20, -10};
    (void)state;
    begin("required int32 a;");
    assert_string_equal(answers_for(100), "enlLgG"); /* none */
    set_stats(0, &bounds[0], &bounds[1], 4);         /* min above max */
    assert_string_equal(answers_for(100), "enlLgG");
    set_stats(0, &bounds[1], &bounds[0], 3); /* of another size */
    assert_string_equal(answers_for(100), "enlLgG");
    set_stats(0, &bounds[1], &bounds[0], 4);
    assert_string_equal(answers_for(100), ".nlL..");
    chunks[0].statistics.max.data = NULL; /* one of them alone */
    assert_string_equal(answers_for(100), "enlLgG");
    assert_string_equal(answers_for(-100), ".n..gG");
    end();
}

static void values_of_another_type_match(void **state)
{
    static const int32_t bounds[] = {-10, 20};
    (void)state;
    begin("required int32 a;");
    set_stats(0, &bounds[0], &bounds[1], 4);
    assert_string_equal(answers(number(100)), "enlLgG");
    assert_string_equal(answers(bytes_value("x")), "enlLgG");
    end();
}

static void nested_columns_match(void **state)
{
    static const int32_t bounds[] = {-10, 20};
    const oci_predicate_value value = oci_predicate_integer(100);
    (void)state;
    begin("repeated int32 a; optional group b { required int32 c; }");
    for (int i = 0; i < 2; i++) {
        set_stats(i, &bounds[0], &bounds[1], 4);
        assert_true(may_match(OCI_PREDICATE_EQUAL, i, &value, 1));
        chunks[i].statistics.null_count = 0;
        assert_true(may_match(OCI_PREDICATE_IS_NULL, i, NULL, 0));
    }
    assert_true(may_match(OCI_PREDICATE_EQUAL, 7, &value, 1)); /* nor what is not there */
    end();
}

static void nulls_are_left_out_by_their_count(void **state)
{
    const oci_predicate_value value = oci_predicate_integer(1);
    (void)state;
    begin("optional int32 a; required int32 b;");
    assert_true(may_match(OCI_PREDICATE_IS_NULL, 0, NULL, 0));
    assert_true(may_match(OCI_PREDICATE_IS_NOT_NULL, 0, NULL, 0));
    assert_false(may_match(OCI_PREDICATE_IS_NULL, 1, NULL, 0)); /* required */
    chunks[0].statistics.null_count = 0;
    assert_false(may_match(OCI_PREDICATE_IS_NULL, 0, NULL, 0));
    assert_true(may_match(OCI_PREDICATE_IS_NOT_NULL, 0, NULL, 0));
    chunks[0].statistics.null_count = ROWS;
    assert_true(may_match(OCI_PREDICATE_IS_NULL, 0, NULL, 0));
    assert_false(may_match(OCI_PREDICATE_IS_NOT_NULL, 0, NULL, 0));
    assert_false(may_match(OCI_PREDICATE_EQUAL, 0, &value, 1)); /* null never compares */
    assert_false(may_match(OCI_PREDICATE_NOT_EQUAL, 0, &value, 1));
    end();
}

/* ---- trees ----------------------------------------------------------------------------------- */

static void and_needs_all_or_needs_one(void **state)
{
    static const int32_t bounds[] = {-10, 20};
    const oci_predicate_value values[] = {oci_predicate_integer(100), oci_predicate_integer(0),
                                          oci_predicate_integer(-100)};
    (void)state;
    begin("required int32 a;");
    set_stats(0, &bounds[0], &bounds[1], 4);
    assert_true(may_match(OCI_PREDICATE_IN, 0, values, 3));
    const oci_predicate_value outside[] = {values[0], values[2]};
    assert_false(may_match(OCI_PREDICATE_IN, 0, outside, 2));
    assert_false(may_match(OCI_PREDICATE_IN, 0, NULL, 0));
    const oci_predicate no = {.kind = OCI_PREDICATE_EQUAL, .n_values = 1, .values = &values[0]};
    const oci_predicate yes = {.kind = OCI_PREDICATE_EQUAL, .n_values = 1, .values = &values[1]};
    const oci_predicate both[] = {yes, no};
    const oci_predicate twice[] = {no, no};
    const oci_predicate with_true[] = {no, {.kind = OCI_PREDICATE_TRUE}};
    oci_predicate tree = {.kind = OCI_PREDICATE_AND, .n_children = 2, .children = both};
    assert_string_equal(select_rows(&tree, OC_OK), "");
    tree.kind = OCI_PREDICATE_OR;
    assert_string_equal(select_rows(&tree, OC_OK), "0-100");
    tree.children = twice;
    assert_string_equal(select_rows(&tree, OC_OK), "");
    tree.children = with_true;
    assert_string_equal(select_rows(&tree, OC_OK), "0-100");
    tree.kind = OCI_PREDICATE_AND;
    assert_string_equal(select_rows(&tree, OC_OK), "");
    assert_string_equal(select_rows(NULL, OC_OK), "0-100");
    end();
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Puts page indexes of a column behind what is there: pages of 10 bytes each. */
static void add_indexes(int column, int32_t n, const int64_t *first_rows, const bool *null_pages,
                        const int32_t *min, const int32_t *max, const int64_t *null_counts)
{
    oci_parquet_page_location pages[10];
    oci_parquet_bytes bounds[2][10];
    bool nulls[10] = {false};
    for (int32_t i = 0; i < n; i++) {
        pages[i] = (oci_parquet_page_location){4 + 10 * i, 10, first_rows[i]};
        bounds[0][i] = (oci_parquet_bytes){(const uint8_t *)&min[i], 4};
        bounds[1][i] = (oci_parquet_bytes){(const uint8_t *)&max[i], 4};
        nulls[i] = null_pages != NULL && null_pages[i];
        if (nulls[i]) {
            bounds[0][i].size = 0;
            bounds[1][i].size = 0;
        }
    }
    const oci_parquet_offset_index places = {n, pages};
    const oci_parquet_column_index index = {.n_pages = n,
                                            .null_pages = nulls,
                                            .min = bounds[0],
                                            .max = bounds[1],
                                            .null_counts = (int64_t *)(uintptr_t)null_counts};
    chunks[column].offset_index_offset = file_bytes.length;
    assert_int_equal(oci_parquet_offset_index_append(&places, &file_bytes, NULL), OC_OK);
    chunks[column].column_index_offset = file_bytes.length;
    chunks[column].offset_index_bytes =
        (int32_t)(file_bytes.length - chunks[column].offset_index_offset);
    assert_int_equal(oci_parquet_column_index_append(&index, &file_bytes, NULL), OC_OK);
    chunks[column].column_index_bytes =
        (int32_t)(file_bytes.length - chunks[column].column_index_offset);
}

static const char *rows_where(oci_predicate_kind kind, int32_t column, int64_t value)
{
    const oci_predicate_value wanted = oci_predicate_integer(value);
    const oci_predicate predicate = {
        .kind = kind, .column = column, .n_values = 1, .values = &wanted};
    return select_rows(&predicate, OC_OK);
}

static void pages_are_left_out_by_their_bounds(void **state)
{
    static const int64_t rows[] = {0, 10, 30, 60};
    static const int32_t min[] = {0, 10, 0, 5};
    static const int32_t max[] = {9, 19, 0, 15};
    static const bool null_pages[] = {false, false, true, false};
    static const int64_t null_counts[] = {0, 3, 30, 0};
    (void)state;
    begin("optional int32 a;");
    add_indexes(0, 4, rows, null_pages, min, max, null_counts);
    assert_string_equal(rows_where(OCI_PREDICATE_EQUAL, 0, 7), "0-10 60-100");
    assert_string_equal(rows_where(OCI_PREDICATE_EQUAL, 0, 12), "10-30 60-100");
    assert_string_equal(rows_where(OCI_PREDICATE_GREATER, 0, 15), "10-30");
    assert_string_equal(rows_where(OCI_PREDICATE_LESS, 0, 100), "0-30 60-100");
    assert_string_equal(rows_where(OCI_PREDICATE_EQUAL, 0, 50), "");
    const oci_predicate is_null = {.kind = OCI_PREDICATE_IS_NULL};
    assert_string_equal(select_rows(&is_null, OC_OK), "10-60");
    chunks[0].column_index_offset = 0; /* where, but not what */
    assert_string_equal(rows_where(OCI_PREDICATE_EQUAL, 0, 7), "0-100");
    end();
}

static void pages_of_several_columns_meet_by_their_rows(void **state)
{
    static const int64_t rows_a[] = {0, 50};
    static const int32_t min_a[] = {0, 10};
    static const int32_t max_a[] = {9, 19};
    static const int64_t rows_b[] = {0, 20, 70};
    static const int32_t min_b[] = {0, 10, 20};
    static const int32_t max_b[] = {9, 19, 29};
    const oci_predicate_value values[] = {oci_predicate_integer(5), oci_predicate_integer(15),
                                          oci_predicate_integer(25)};
    (void)state;
    begin("required int32 a; required int32 b; required int32 c;");
    add_indexes(0, 2, rows_a, NULL, min_a, max_a, NULL);
    add_indexes(1, 3, rows_b, NULL, min_b, max_b, NULL);
    oci_predicate both[] = {
        {.kind = OCI_PREDICATE_EQUAL, .column = 0, .n_values = 1, .values = &values[1]},
        {.kind = OCI_PREDICATE_EQUAL, .column = 1, .n_values = 1, .values = &values[1]}};
    oci_predicate tree = {.kind = OCI_PREDICATE_AND, .n_children = 2, .children = both};
    assert_string_equal(select_rows(&tree, OC_OK), "50-70");
    tree.kind = OCI_PREDICATE_OR;
    assert_string_equal(select_rows(&tree, OC_OK), "20-100");
    both[0].values = &values[0];
    both[1].values = &values[2];
    assert_string_equal(select_rows(&tree, OC_OK), "0-50 70-100");
    tree.kind = OCI_PREDICATE_AND;
    assert_string_equal(select_rows(&tree, OC_OK), "");
    both[1].column = 2; /* without indexes */
    assert_string_equal(select_rows(&tree, OC_OK), "0-50");
    end();
}

static void damaged_page_indexes_are_errors(void **state)
{
    static const int64_t rows[] = {0, 10, 30};
    static const int32_t bounds[] = {0, 10, 20};
    const oci_predicate_value value = oci_predicate_integer(5);
    const oci_predicate predicate = {.kind = OCI_PREDICATE_EQUAL, .n_values = 1, .values = &value};
    (void)state;
    begin("required int32 a; required int32 b;");
    add_indexes(0, 3, rows, NULL, bounds, bounds, NULL);
    add_indexes(1, 2, rows, NULL, bounds, bounds, NULL);
    chunks[0].column_index_offset = chunks[1].column_index_offset; /* of fewer pages */
    chunks[0].column_index_bytes = chunks[1].column_index_bytes;
    (void)select_rows(&predicate, OC_EDATA);
    chunks[0].column_index_bytes--;
    (void)select_rows(&predicate, OC_EDATA);
    end();
}

/* ---- Bloom filters --------------------------------------------------------------------------- */

enum { BLOOM_BYTES = 64 };

/* A filter for column 0 with these values. `header` as the format has it, or NULL for a right one. */
static void add_bloom(const void *values, int64_t size, int n, const char *header)
{
    static const char right[] = "\x15\x80\x01\x1C\x1C\0\0\x1C\x1C\0\0\x1C\x1C\0\0";
    uint8_t blocks[BLOOM_BYTES] = {0};
    chunks[0].bloom_offset = file_bytes.length;
    assert_int_equal(oci_text_append(&file_bytes, header != NULL ? header : right, 16, NULL),
                     OC_OK);
    for (int i = 0; i < n; i++) {
        uint32_t mask[8];
        uint64_t hash = oci_hash_xxh64((const uint8_t *)values + i * size, size);
        uint8_t *block = blocks + 32 * oci_parquet_bloom_block(hash, BLOOM_BYTES / 32);
        oci_parquet_bloom_mask(hash, mask);
        for (int k = 0; k < 8; k++) {
            oci_store_le32(block + 4 * k, oci_load_le32(block + 4 * k) | mask[k]);
        }
    }
    assert_int_equal(oci_text_append(&file_bytes, (const char *)blocks, sizeof blocks, NULL),
                     OC_OK);
}

static void bloom_filters_leave_out_what_they_do_not_hold(void **state)
{
    static const int64_t longs[] = {7, -8};
    static const int32_t ints[] = {7, -8};
    static const double doubles[] = {7.5, 0.0};
    (void)state;
    begin("optional int64 a;");
    add_bloom(longs, 8, 2, NULL);
    assert_string_equal(answers_for(7), "enlLgG");
    assert_string_equal(answers_for(-8), "enlLgG");
    assert_string_equal(answers_for(9), ".nlLgG"); /* only equality is known */
    const oci_predicate_value values[] = {oci_predicate_integer(9), oci_predicate_integer(7)};
    assert_true(may_match(OCI_PREDICATE_IN, 0, values, 2));
    assert_false(may_match(OCI_PREDICATE_IN, 0, values, 1));
    assert_true(may_match(OCI_PREDICATE_IS_NULL, 0, NULL, 0));
    end();
    begin("required int32 a (DECIMAL(5,1));");
    add_bloom(ints, 4, 2, NULL);
    assert_string_equal(answers_for(-8), "enlLgG");
    assert_string_equal(answers_for(-9), ".nlLgG");
    assert_string_equal(answers_for(INT64_C(1) << 40), "enlLgG"); /* has no form there */
    end();
    begin("required double a;");
    add_bloom(doubles, 8, 2, NULL);
    assert_string_equal(answers(number(7.5)), "enlLgG");
    assert_string_equal(answers(number(8.5)), ".nlLgG");
    assert_string_equal(answers(number(-0.0)), "enlLgG");
    assert_string_equal(answers(number(NAN)), "enlL.G");
    end();
    begin("required binary a (STRING);");
    add_bloom("abcdef", 3, 2, NULL);
    assert_string_equal(answers(bytes_value("def")), "enlLgG");
    assert_string_equal(answers(bytes_value("xyz")), ".nlLgG");
    end();
    begin("required fixed(2) a (DECIMAL(4,0));");
    add_bloom("\xFF\xF8", 2, 1, NULL);
    assert_string_equal(answers_for(-8), "enlLgG");
    assert_string_equal(answers_for(-7), ".nlLgG");
    assert_string_equal(answers_for(100000), "enlLgG");
    end();
}

static void bloom_filters_of_other_kinds_match_and_damaged_ones_are_errors(void **state)
{
    static const int64_t longs[] = {7};
    const oci_predicate_value value = oci_predicate_integer(9);
    const oci_predicate predicate = {.kind = OCI_PREDICATE_EQUAL, .n_values = 1, .values = &value};
    (void)state;
    begin("required int64 a;"); /* another hash */
    add_bloom(longs, 8, 1, "\x15\x80\x01\x1C\x1C\0\0\x1C\x2C\0\0\x1C\x1C\0\0");
    assert_string_equal(answers_for(9), "enlLgG");
    end();
    begin("required int64 a;"); /* no multiple of 32 bytes */
    add_bloom(longs, 8, 1, "\x15\x82\x01\x1C\x1C\0\0\x1C\x1C\0\0\x1C\x1C\0\0");
    (void)select_rows(&predicate, OC_EDATA);
    end();
    begin("required int64 a;"); /* longer than the file */
    add_bloom(longs, 8, 1, "\x15\x80\x08\x1C\x1C\0\0\x1C\x1C\0\0\x1C\x1C\0\0");
    (void)select_rows(&predicate, OC_EDATA);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_left_out_outside_of_min_and_max),
        cmocka_unit_test(old_statistics_count_for_signed_numbers_alone),
        cmocka_unit_test(unsigned_integers_compare_as_unsigned),
        cmocka_unit_test(texts_compare_as_bytes_and_may_be_cut),
        cmocka_unit_test(nan_is_above_all_numbers_unless_there_is_none),
        cmocka_unit_test(zeros_are_equal_whatever_their_sign),
        cmocka_unit_test(halves_compare_as_numbers),
        cmocka_unit_test(decimals_compare_by_their_digits),
        cmocka_unit_test(bools_compare),
        cmocka_unit_test(types_without_an_order_match),
        cmocka_unit_test(statistics_that_cannot_be_are_ignored),
        cmocka_unit_test(values_of_another_type_match),
        cmocka_unit_test(nested_columns_match),
        cmocka_unit_test(nulls_are_left_out_by_their_count),
        cmocka_unit_test(and_needs_all_or_needs_one),
        cmocka_unit_test(pages_are_left_out_by_their_bounds),
        cmocka_unit_test(pages_of_several_columns_meet_by_their_rows),
        cmocka_unit_test(damaged_page_indexes_are_errors),
        cmocka_unit_test(bloom_filters_leave_out_what_they_do_not_hold),
        cmocka_unit_test(bloom_filters_of_other_kinds_match_and_damaged_ones_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
