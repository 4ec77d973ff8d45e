#include "formats/parquet/metadata.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "support/byte_file.h"
#include "support/memory_file.h"

#define BYTES(text) ((oci_parquet_bytes){(const uint8_t *)(text), sizeof(text) - 1})

/* A file of two leaves, "a" and "s.b", with two row groups whose pages are 100 bytes of nothing each. */
enum { CHUNK_BYTES = 100, N_GROUPS = 2 };

static oci_parquet_element elements[4];
static const oci_parquet_element *leaves[2] = {&elements[1], &elements[3]};
static oci_parquet_key_value pairs[1];

static oci_parquet_metadata make_metadata(void)
{
    elements[0] = (oci_parquet_element){.name = BYTES("schema"),
                                        .type = OCI_PARQUET_GROUP,
                                        .n_children = 2,
                                        .converted = OCI_PARQUET_CONVERTED_NONE};
    elements[1] = (oci_parquet_element){.name = BYTES("a"),
                                        .type = OCI_PARQUET_INT32,
                                        .repetition = OCI_PARQUET_OPTIONAL,
                                        .converted = OCI_PARQUET_CONVERTED_UINT8,
                                        .logical = OCI_PARQUET_LOGICAL_INTEGER,
                                        .bit_width = 8};
    elements[2] = (oci_parquet_element){.name = BYTES("s"),
                                        .type = OCI_PARQUET_GROUP,
                                        .n_children = 1,
                                        .converted = OCI_PARQUET_CONVERTED_NONE};
    elements[3] = (oci_parquet_element){.name = BYTES("b"),
                                        .type = OCI_PARQUET_FIXED,
                                        .type_length = 5,
                                        .converted = OCI_PARQUET_CONVERTED_DECIMAL,
                                        .logical = OCI_PARQUET_LOGICAL_DECIMAL,
                                        .precision = 11,
                                        .scale = 2};
    pairs[0] = (oci_parquet_key_value){BYTES("key"), BYTES("value")};
    return (oci_parquet_metadata){.version = 2,
                                  .n_rows = 30,
                                  .n_elements = 4,
                                  .elements = elements,
                                  .n_leaves = 2,
                                  .leaves = leaves,
                                  .n_row_groups = N_GROUPS,
                                  .n_key_values = 1,
                                  .key_values = pairs,
                                  .created_by = BYTES("test")};
}

static oci_parquet_column_chunk make_chunk(int64_t offset, int k)
{
    oci_parquet_column_chunk chunk = {
        .type = elements[k == 0 ? 1 : 3].type,
        .codec = OCI_PARQUET_ZSTD,
        .encodings = 1 << OCI_PARQUET_RLE | 1 << OCI_PARQUET_RLE_DICTIONARY,
        .n_values = 15,
        .uncompressed_bytes = 120,
        .compressed_bytes = CHUNK_BYTES,
        .offset = offset,
        .dictionary_page_offset = k == 0 ? offset : 0,
        .data_page_offset = k == 0 ? offset + 20 : offset,
        .statistics = {.null_count = 3, .distinct_count = -1, .nan_count = -1, .is_max_exact = 1}};
    chunk.statistics.min = BYTES("\1\0\0\0");
    chunk.statistics.max = BYTES("\7\0\0\0");
    chunk.statistics.is_min_exact = -1;
    return chunk;
}

/* Where the chunk of column k of group g is put; tests move it. */
typedef struct made_file {
    test_env t;
    oci_text text;
    oci_parquet_column_chunk chunks[N_GROUPS][2];
    oci_parquet_metadata metadata;
    int64_t group_rows;
} made_file;

static void begin_file(made_file *f)
{
    memset(f, 0, sizeof *f);
    assert_int_equal(test_env_try(&f->t, 1 << 20, NULL, NULL), OC_OK);
    f->text = (oci_text){.mem = f->t.mem};
    f->metadata = make_metadata();
    f->group_rows = 15;
    for (int g = 0; g < N_GROUPS; g++) {
        for (int k = 0; k < 2; k++) {
            f->chunks[g][k] = make_chunk(4 + (g * 2 + k) * CHUNK_BYTES, k);
        }
    }
}

static void finish_file(made_file *f)
{
    char pages[CHUNK_BYTES] = {0};
    oci_text groups = {.mem = f->t.mem};
    assert_int_equal(oci_text_append_str(&f->text, OCI_PARQUET_MAGIC, NULL), OC_OK);
    for (int i = 0; i < 2 * N_GROUPS; i++) {
        assert_int_equal(oci_text_append(&f->text, pages, sizeof pages, NULL), OC_OK);
    }
    for (int g = 0; g < N_GROUPS; g++) {
        oci_parquet_row_group group = {
            .n_rows = f->group_rows, .total_bytes = 240, .n_columns = 2, .columns = f->chunks[g]};
        assert_int_equal(oci_parquet_row_group_append(&group, &f->metadata, &groups, NULL), OC_OK);
    }
    assert_int_equal(oci_parquet_footer_append(&f->metadata, &groups, &f->text, NULL), OC_OK);
    oci_text_free(&groups);
}

static void end_file(made_file *f)
{
    oci_text_free(&f->text);
    assert_int_equal(oci_mem_held(f->t.mem), 0);
    test_env_deinit(&f->t);
}

/* Reads footer and all row groups of some bytes. */
static oc_status read_all(oci_mem *mem, const void *data, int64_t size, oc_error *err)
{
    oci_file *file = byte_file_open(data, size, 0);
    oci_parquet_metadata *metadata = NULL;
    oci_parquet_arena arena = {.mem = mem};
    oc_status status = oci_parquet_metadata_read(file, mem, &metadata, err);
    for (int32_t i = 0; status == OC_OK && i < metadata->n_row_groups; i++) {
        oci_parquet_row_group *group;
        status = oci_parquet_row_group_read(metadata, i, &arena, &group, err);
        assert_int_equal(status, OC_OK); /* what opens can be read */
        oci_parquet_arena_clear(&arena);
    }
    oci_parquet_arena_free(&arena);
    oci_parquet_metadata_destroy(metadata);
    oci_close(file, NULL);
    return status;
}

/* ---- footers --------------------------------------------------------------------------------- */

static void a_footer_that_is_written_is_read(void **state)
{
    made_file f;
    oci_parquet_metadata *m;
    oci_parquet_row_group *group;
    (void)state;
    begin_file(&f);
    finish_file(&f);
    oci_file *file = byte_file_open((uint8_t *)f.text.data, f.text.length, 0);
    assert_int_equal(oci_parquet_metadata_read(file, f.t.mem, &m, NULL), OC_OK);
    assert_int_equal(m->n_rows, 30);
    assert_int_equal(m->n_leaves, 2);
    assert_int_equal(m->n_elements, 4);
    assert_int_equal(m->n_row_groups, 2);
    assert_int_equal(m->row_groups[1].first_row, 15);
    assert_int_equal(m->row_groups[1].bytes, 2 * CHUNK_BYTES);
    assert_int_equal(m->leaves[0]->logical, OCI_PARQUET_LOGICAL_INTEGER);
    assert_int_equal(m->leaves[0]->bit_width, 8);
    assert_false(m->leaves[0]->is_signed);
    assert_int_equal(m->leaves[0]->repetition, OCI_PARQUET_OPTIONAL);
    assert_int_equal(m->leaves[1]->type_length, 5);
    assert_int_equal(m->leaves[1]->precision, 11);
    assert_int_equal(m->leaves[1]->scale, 2);
    assert_int_equal(m->column_orders[1], OCI_PARQUET_ORDER_TYPE);
    assert_memory_equal(m->created_by.data, "test", 4);
    assert_int_equal(oci_parquet_metadata_value(m, "key").size, 5);
    assert_null(oci_parquet_metadata_value(m, "ke").data);
    oci_parquet_arena arena = {.mem = f.t.mem};
    assert_int_equal(oci_parquet_row_group_read(m, 1, &arena, &group, NULL), OC_OK);
    assert_int_equal(group->n_rows, 15);
    assert_int_equal(group->columns[0].offset, 4 + 2 * CHUNK_BYTES);
    assert_int_equal(group->columns[0].data_page_offset, 24 + 2 * CHUNK_BYTES);
    assert_int_equal(group->columns[1].dictionary_page_offset, 0);
    assert_int_equal(group->columns[1].codec, OCI_PARQUET_ZSTD);
    assert_int_equal(group->columns[1].encodings, f.chunks[1][1].encodings);
    assert_int_equal(group->columns[1].statistics.null_count, 3);
    assert_int_equal(group->columns[1].statistics.is_min_exact, -1);
    assert_int_equal(group->columns[1].statistics.is_max_exact, 1);
    assert_memory_equal(group->columns[1].statistics.max.data, "\7\0\0\0", 4);
    oci_parquet_arena_free(&arena);
    oci_parquet_metadata_destroy(m);
    oci_close(file, NULL);
    end_file(&f);
}

static void a_file_cut_anywhere_is_refused(void **state)
{
    made_file f;
    (void)state;
    begin_file(&f);
    finish_file(&f);
    for (int64_t size = 0; size < f.text.length; size++) {
        assert_int_equal(read_all(f.t.mem, f.text.data, size, NULL), OC_EDATA);
        /* The same behind a tail that is right. */
        uint8_t cut[4096];
        if (size > 4 + 4 * CHUNK_BYTES && size < f.text.length - 8) {
            memcpy(cut, f.text.data, (size_t)size);
            oci_store_le32(cut + size, (uint32_t)(size - (4 + 4 * CHUNK_BYTES)));
            memcpy(cut + size + 4, f.text.data, 4);
            assert_int_equal(read_all(f.t.mem, cut, size + 8, NULL), OC_EDATA);
        }
    }
    end_file(&f);
}

static void flipped_bits_of_a_footer_are_refused_or_read(void **state)
{
    made_file f;
    (void)state;
    begin_file(&f);
    finish_file(&f);
    for (int64_t at = 4 + 4 * CHUNK_BYTES; at < f.text.length; at++) {
        for (int bit = 0; bit < 8; bit++) {
            f.text.data[at] = (char)(f.text.data[at] ^ 1 << bit);
            oc_status status = read_all(f.t.mem, f.text.data, f.text.length, NULL);
            assert_true(status == OC_OK || status == OC_EDATA || status == OC_EUNSUPPORTED);
            assert_int_equal(oci_mem_held(f.t.mem), oci_mem_charge_of(f.text.capacity));
            f.text.data[at] = (char)(f.text.data[at] ^ 1 << bit);
        }
    }
    end_file(&f);
}

static void expect_refusal(void (*change)(made_file *f), oc_status wanted, const char *message)
{
    made_file f;
    oc_error err = {0};
    begin_file(&f);
    change(&f);
    finish_file(&f);
    oc_status status = read_all(f.t.mem, f.text.data, f.text.length, &err);
    assert_int_equal(status, wanted);
    if (strstr(err.message, message) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", message, err.message);
    }
    end_file(&f);
}

static void move_behind_the_end(made_file *f)
{
    f->chunks[1][1].data_page_offset += 1;
}

static void move_before_the_start(made_file *f)
{
    f->chunks[0][1].data_page_offset = 3;
}

static void make_negative(made_file *f)
{
    f->chunks[0][1].compressed_bytes = -1;
}

static void make_overflow(made_file *f)
{
    f->chunks[0][1].compressed_bytes = INT64_MAX - 1000;
}

static void make_overlap(made_file *f)
{
    f->chunks[0][0].compressed_bytes += 1;
}

static void change_type(made_file *f)
{
    f->chunks[1][0].type = OCI_PARQUET_INT64;
}

static void move_index(made_file *f)
{
    f->chunks[0][0].column_index_offset = INT64_MAX;
    f->chunks[0][0].column_index_bytes = 10;
}

static void move_bloom(made_file *f)
{
    f->chunks[0][0].bloom_offset = 400;
    f->chunks[0][0].bloom_bytes = 100;
}

static void miscount_rows(made_file *f)
{
    f->group_rows = 14;
}

static void make_rows_overflow(made_file *f)
{
    f->group_rows = INT64_MAX;
}

static void cut_schema(made_file *f)
{
    elements[0].n_children = 3;
    (void)f;
}

static void grow_schema(made_file *f)
{
    elements[0].n_children = 1;
    (void)f;
}

static void offsets_and_sizes_are_held_against_the_file(void **state)
{
    (void)state;
    expect_refusal(move_behind_the_end, OC_EDATA,
                   "(\"b\") of row group 1 lies outside of the file");
    expect_refusal(move_before_the_start, OC_EDATA, "lies outside of the file");
    expect_refusal(make_negative, OC_EDATA, "has a negative size");
    expect_refusal(make_overflow, OC_EDATA, "lies outside of the file");
    expect_refusal(make_overlap, OC_EDATA, "columns of row group 0 lie over each other");
    expect_refusal(move_index, OC_EDATA, "has a column index outside of the file");
    expect_refusal(move_bloom, OC_EDATA, "has a Bloom filter outside of the file");
}

static void row_groups_are_held_against_the_schema(void **state)
{
    (void)state;
    expect_refusal(change_type, OC_EDATA, "another physical type than the schema says");
    expect_refusal(miscount_rows, OC_EDATA, "the rows of the row groups are not those of the file");
    expect_refusal(make_rows_overflow, OC_EDATA, "more than 2^63 rows");
    expect_refusal(cut_schema, OC_EDATA, "the schema ends early");
    expect_refusal(grow_schema, OC_EDATA, "elements outside of its tree");
}

static void encrypted_files_are_refused_by_name(void **state)
{
    made_file f;
    oc_error err = {0};
    (void)state;
    begin_file(&f);
    finish_file(&f);
    memcpy(f.text.data + f.text.length - 4, "PARE", 4);
    assert_int_equal(read_all(f.t.mem, f.text.data, f.text.length, &err), OC_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "encrypted"));
    end_file(&f);
}

static void a_footer_beyond_the_limit_is_refused_by_the_budget(void **state)
{
    made_file f;
    test_env small;
    (void)state;
    begin_file(&f);
    finish_file(&f);
    assert_int_equal(test_env_try(&small, 2048, NULL, NULL), OC_OK);
    assert_int_equal(read_all(small.mem, f.text.data, f.text.length, NULL), OC_EBUDGET);
    assert_int_equal(oci_mem_held(small.mem), 0);
    test_env_deinit(&small);
    end_file(&f);
}

/* ---- page headers ---------------------------------------------------------------------------- */

static void check_page_header(test_env *t, const oci_parquet_page_header *header)
{
    oci_text text = {.mem = t->mem};
    oci_parquet_page_header back;
    int64_t used;
    assert_int_equal(oci_parquet_page_header_append(header, &text, NULL), OC_OK);
    int64_t size = text.length;
    assert_int_equal(oci_text_append_str(&text, "page", NULL), OC_OK);
    const uint8_t *data = (const uint8_t *)text.data;
    assert_int_equal(oci_parquet_page_header_parse(data, text.length, &back, &used, NULL), OC_OK);
    assert_int_equal(used, size);
    assert_int_equal(back.type, header->type);
    assert_int_equal(back.uncompressed_bytes, header->uncompressed_bytes);
    assert_int_equal(back.compressed_bytes, header->compressed_bytes);
    assert_int_equal(back.has_crc, header->has_crc);
    assert_int_equal(back.crc, header->crc);
    assert_int_equal(back.n_values, header->n_values);
    assert_int_equal(back.encoding, header->encoding);
    assert_int_equal(back.definition_encoding, header->definition_encoding);
    assert_int_equal(back.n_nulls, header->n_nulls);
    assert_int_equal(back.n_rows, header->n_rows);
    assert_int_equal(back.definition_bytes, header->definition_bytes);
    assert_int_equal(back.repetition_bytes, header->repetition_bytes);
    assert_int_equal(back.is_compressed, header->is_compressed);
    for (int64_t cut = 0; cut < size; cut++) { /* more is asked for */
        assert_int_equal(oci_parquet_page_header_parse(data, cut, &back, &used, NULL), OC_OK);
        assert_int_equal(used, 0);
    }
    oci_text_free(&text);
}

static void page_headers_that_are_written_are_read(void **state)
{
    test_env t;
    (void)state;
    assert_int_equal(test_env_try(&t, 1 << 20, NULL, NULL), OC_OK);
    oci_parquet_page_header header = {.type = OCI_PARQUET_DATA_PAGE,
                                      .uncompressed_bytes = 1000,
                                      .compressed_bytes = 500,
                                      .has_crc = true,
                                      .crc = 0xF2345678,
                                      .n_values = 77,
                                      .encoding = OCI_PARQUET_DELTA_BYTE_ARRAY,
                                      .definition_encoding = OCI_PARQUET_RLE,
                                      .repetition_encoding = OCI_PARQUET_RLE,
                                      .is_compressed = true};
    check_page_header(&t, &header);
    header.type = OCI_PARQUET_DICTIONARY_PAGE;
    header.has_crc = false;
    header.crc = 0;
    header.definition_encoding = OCI_PARQUET_PLAIN;
    check_page_header(&t, &header);
    header.type = OCI_PARQUET_DATA_PAGE_V2;
    header.n_nulls = 70;
    header.n_rows = 20;
    header.definition_bytes = 400;
    header.repetition_bytes = 100;
    header.is_compressed = false;
    check_page_header(&t, &header);
    test_env_deinit(&t);
}

static void page_headers_that_cannot_be_are_refused(void **state)
{
    test_env t;
    oci_parquet_page_header back;
    int64_t used;
    (void)state;
    assert_int_equal(test_env_try(&t, 1 << 20, NULL, NULL), OC_OK);
    const oci_parquet_page_header good = {.type = OCI_PARQUET_DATA_PAGE_V2,
                                          .uncompressed_bytes = 1000,
                                          .compressed_bytes = 500,
                                          .n_values = 70,
                                          .n_rows = 70,
                                          .definition_bytes = 400,
                                          .repetition_bytes = 100};
    oci_parquet_page_header bad[6];
    for (int i = 0; i < 6; i++) {
        bad[i] = good;
    }
    bad[0].uncompressed_bytes = -1;
    bad[1].compressed_bytes = -1;
    bad[2].n_values = -1;
    bad[3].definition_bytes = 401;
    bad[4].repetition_bytes = -1;
    bad[5].n_nulls = 71;
    for (int i = 0; i < 6; i++) {
        oci_text text = {.mem = t.mem};
        assert_int_equal(oci_parquet_page_header_append(&bad[i], &text, NULL), OC_OK);
        assert_int_equal(
            oci_parquet_page_header_parse((uint8_t *)text.data, text.length, &back, &used, NULL),
            OC_EDATA);
        oci_text_free(&text);
    }
    static const uint8_t no_part[] = {0x15, 0, 0x15, 2, 0x15, 2, 0}; /* type, sizes, nothing else */
    static const uint8_t no_type[] = {0x25, 2, 0x15, 2, 0};
    static const uint8_t other_type[] = {0x15, 20, 0x15, 2, 0x15, 2, 0};
    assert_int_equal(oci_parquet_page_header_parse(no_part, sizeof no_part, &back, &used, NULL),
                     OC_EDATA);
    assert_int_equal(oci_parquet_page_header_parse(no_type, sizeof no_type, &back, &used, NULL),
                     OC_EDATA);
    assert_int_equal(
        oci_parquet_page_header_parse(other_type, sizeof other_type, &back, &used, NULL), OC_OK);
    assert_int_equal((int)back.type, 10);
    test_env_deinit(&t);
}

/* ---- page indexes ---------------------------------------------------------------------------- */

static oc_status read_offset_index(test_env *t, const oci_parquet_offset_index *index,
                                   int64_t n_rows)
{
    oci_text text = {.mem = t->mem};
    oci_parquet_arena arena = {.mem = t->mem};
    oci_parquet_offset_index *back;
    assert_int_equal(oci_parquet_offset_index_append(index, &text, NULL), OC_OK);
    oci_parquet_column_chunk chunk = {.offset = 100,
                                      .compressed_bytes = 50,
                                      .offset_index_offset = 3,
                                      .offset_index_bytes = (int32_t)text.length - 3};
    /* It lies behind 3 bytes of something else. */
    oci_text file_text = {.mem = t->mem};
    assert_int_equal(oci_text_append_str(&file_text, "xyz", NULL), OC_OK);
    assert_int_equal(oci_text_append(&file_text, text.data, text.length, NULL), OC_OK);
    chunk.offset_index_bytes = (int32_t)text.length;
    oci_file *file = byte_file_open((uint8_t *)file_text.data, file_text.length, 0);
    oc_status status = oci_parquet_offset_index_read(file, &chunk, n_rows, &arena, &back, NULL);
    if (status == OC_OK) {
        assert_int_equal(back->n_pages, index->n_pages);
        assert_memory_equal(&back->pages[1].first_row, &index->pages[1].first_row, 8);
        assert_int_equal(back->pages[1].offset, index->pages[1].offset);
        assert_int_equal(back->pages[1].bytes, index->pages[1].bytes);
    }
    oci_parquet_arena_free(&arena);
    oci_text_free(&text);
    oci_text_free(&file_text);
    oci_close(file, NULL);
    return status;
}

static void pages_of_an_offset_index_lie_in_their_chunk_in_order(void **state)
{
    test_env t;
    (void)state;
    assert_int_equal(test_env_try(&t, 1 << 20, NULL, NULL), OC_OK);
    oci_parquet_page_location pages[2] = {{100, 20, 0}, {120, 30, 10}};
    const oci_parquet_offset_index index = {2, pages};
    assert_int_equal(read_offset_index(&t, &index, 11), OC_OK);
    assert_int_equal(read_offset_index(&t, &index, 9), OC_EDATA);
    pages[1].bytes = 31;
    assert_int_equal(read_offset_index(&t, &index, 11), OC_EDATA);
    pages[1] = (oci_parquet_page_location){119, 30, 10};
    assert_int_equal(read_offset_index(&t, &index, 11), OC_EDATA);
    pages[1] = (oci_parquet_page_location){INT64_MAX, 30, 10};
    assert_int_equal(read_offset_index(&t, &index, 11), OC_EDATA);
    pages[1] = (oci_parquet_page_location){120, -1, 10};
    assert_int_equal(read_offset_index(&t, &index, 11), OC_EDATA);
    pages[1] = (oci_parquet_page_location){120, 30, -1};
    assert_int_equal(read_offset_index(&t, &index, 11), OC_EDATA);
    pages[1] = (oci_parquet_page_location){120, 30, 10};
    pages[0].first_row = 1;
    assert_int_equal(read_offset_index(&t, &index, 11), OC_EDATA);
    test_env_deinit(&t);
}

static void a_column_index_that_is_written_is_read(void **state)
{
    test_env t;
    oci_parquet_column_index *back;
    (void)state;
    assert_int_equal(test_env_try(&t, 1 << 20, NULL, NULL), OC_OK);
    bool null_pages[2] = {false, true};
    oci_parquet_bytes min[2] = {BYTES("a"), BYTES("")};
    oci_parquet_bytes max[2] = {BYTES("bcd"), BYTES("")};
    int64_t null_counts[2] = {0, 12};
    const oci_parquet_column_index index = {.n_pages = 2,
                                            .null_pages = null_pages,
                                            .min = min,
                                            .max = max,
                                            .order = OCI_PARQUET_ASCENDING,
                                            .null_counts = null_counts};
    oci_text text = {.mem = t.mem};
    assert_int_equal(oci_text_append_str(&text, "x", NULL), OC_OK);
    assert_int_equal(oci_parquet_column_index_append(&index, &text, NULL), OC_OK);
    oci_parquet_column_chunk chunk = {.column_index_offset = 1,
                                      .column_index_bytes = (int32_t)text.length - 1};
    oci_parquet_arena arena = {.mem = t.mem};
    oci_file *file = byte_file_open((uint8_t *)text.data, text.length, 0);
    assert_int_equal(oci_parquet_column_index_read(file, &chunk, &arena, &back, NULL), OC_OK);
    assert_int_equal(back->n_pages, 2);
    assert_false(back->null_pages[0]);
    assert_true(back->null_pages[1]);
    assert_int_equal(back->max[0].size, 3);
    assert_memory_equal(back->max[0].data, "bcd", 3);
    assert_int_equal(back->order, OCI_PARQUET_ASCENDING);
    assert_int_equal(back->null_counts[1], 12);
    assert_null(back->nan_counts);
    for (chunk.column_index_bytes--; chunk.column_index_bytes > 0; chunk.column_index_bytes--) {
        assert_int_equal(oci_parquet_column_index_read(file, &chunk, &arena, &back, NULL),
                         OC_EDATA);
    }
    chunk.column_index_offset = 0;
    assert_int_equal(oci_parquet_column_index_read(file, &chunk, &arena, &back, NULL), OC_OK);
    assert_null(back);
    oci_parquet_arena_free(&arena);
    oci_close(file, NULL);
    oci_text_free(&text);
    test_env_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_footer_that_is_written_is_read),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(flipped_bits_of_a_footer_are_refused_or_read),
        cmocka_unit_test(offsets_and_sizes_are_held_against_the_file),
        cmocka_unit_test(row_groups_are_held_against_the_schema),
        cmocka_unit_test(encrypted_files_are_refused_by_name),
        cmocka_unit_test(a_footer_beyond_the_limit_is_refused_by_the_budget),
        cmocka_unit_test(page_headers_that_are_written_are_read),
        cmocka_unit_test(page_headers_that_cannot_be_are_refused),
        cmocka_unit_test(pages_of_an_offset_index_lie_in_their_chunk_in_order),
        cmocka_unit_test(a_column_index_that_is_written_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
