/* Unit tests of what spill files say about themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "spill/stream_metadata.h"

static void pairs_are_found_by_their_keys(void **state)
{
    (void)state;
    const oci_metadata_pair pairs[] = {
        {"a", "1", 1}, {"bb", "", 0}, {"a", "2", 1}, {"c", "x\0y", 3}};
    char *metadata;
    int64_t bytes;
    assert_int_equal(oci_metadata_build(pairs, 4, &metadata, &bytes, NULL), OC_OK);
    const char *value;
    int64_t size;
    assert_true(oci_metadata_find(metadata, bytes, "a", &value, &size));
    assert_int_equal(size, 1);
    assert_memory_equal(value, "1", 1);
    assert_true(oci_metadata_find(metadata, bytes, "bb", &value, &size));
    assert_int_equal(size, 0);
    assert_true(oci_metadata_find(metadata, bytes, "c", &value, &size));
    assert_int_equal(size, 3);
    assert_memory_equal(value, "x\0y", 3);
    assert_false(oci_metadata_find(metadata, bytes, "b", &value, &size));
    assert_false(oci_metadata_find(metadata, bytes, "", &value, &size));
    assert_false(oci_metadata_find(NULL, 0, "a", &value, &size));
    free(metadata);
}

static void cut_pairs_are_not_read_behind_their_end(void **state)
{
    (void)state;
    const oci_metadata_pair pairs[] = {{"first", "1", 1}, {"second", "value", 5}};
    char *metadata;
    int64_t bytes;
    assert_int_equal(oci_metadata_build(pairs, 2, &metadata, &bytes, NULL), OC_OK);
    for (int64_t cut = 0; cut < bytes; cut++) {
        char *copy = malloc((size_t)cut + 1);
        assert_non_null(copy);
        memcpy(copy, metadata, (size_t)cut);
        const char *value;
        int64_t size;
        assert_false(oci_metadata_find(copy, cut, "second", &value, &size));
        free(copy);
    }
    const char *value;
    int64_t size;
    int32_t negative = -1;
    memcpy(metadata + 4, &negative, sizeof negative);
    assert_false(oci_metadata_find(metadata, bytes, "second", &value, &size));
    free(metadata);
}

static void the_closing_stream_says_what_was_written(void **state)
{
    (void)state;
    static const int64_t counts[][2] = {{0, 0}, {1, 7}, {123456, INT64_C(999999999999999999)}};
    for (size_t i = 0; i < 3; i++) {
        oci_bytes message;
        oci_schema *schema;
        assert_int_equal(oci_closing_build(counts[i][0], counts[i][1], i == 1, &message, NULL),
                         OC_OK);
        assert_int_equal(message.size % 8, 0);
        assert_int_equal(oci_message_parse_schema(message.data + OCI_IPC_PREFIX_BYTES,
                                                  message.size - OCI_IPC_PREFIX_BYTES, &schema,
                                                  NULL, NULL, NULL),
                         OC_OK);
        int64_t batches;
        int64_t rows;
        bool is_sound = false;
        assert_true(oci_closing_parse(schema, &batches, &rows, &is_sound));
        assert_true(is_sound);
        assert_int_equal(batches, counts[i][0]);
        assert_int_equal(rows, counts[i][1]);
        oci_schema_release(schema);
        free(message.data);
    }
}

static oci_schema *schema_with(const char *batches, const char *rows)
{
    const oci_metadata_pair pairs[] = {
        {OCI_SPILL_BATCHES_KEY, batches, (int64_t)strlen(batches)},
        {OCI_SPILL_ROWS_KEY, rows, (int64_t)strlen(rows)},
    };
    char *metadata;
    int64_t bytes;
    oci_schema *schema;
    assert_int_equal(oci_metadata_build(pairs, 2, &metadata, &bytes, NULL), OC_OK);
    assert_int_equal(oci_schema_create(NULL, 0, metadata, bytes, &schema, NULL), OC_OK);
    return schema;
}

static void counts_that_are_no_numbers_are_noticed(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "-1", "x", "1 ", "1000000000000000000000"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t batches;
        int64_t rows;
        bool is_sound = true;
        oci_schema *schema = schema_with("3", bad[i]);
        assert_true(oci_closing_parse(schema, &batches, &rows, &is_sound));
        assert_false(is_sound);
        oci_schema_release(schema);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_found_by_their_keys),
        cmocka_unit_test(cut_pairs_are_not_read_behind_their_end),
        cmocka_unit_test(the_closing_stream_says_what_was_written),
        cmocka_unit_test(counts_that_are_no_numbers_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
