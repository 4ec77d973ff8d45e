/* libFuzzer target: the metadata of a Parquet file, as it could come from anywhere.
 *
 * The input is a whole file, or, when it does not begin with the magic, a footer alone, around which a file is made:
 * so that fuzzing spends its time on what is parsed. What is accepted must be readable to the last row group, become
 * a schema or be refused, answer predicates, and be accepted again after it was written. Nothing may be held in the
 * end. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "formats/parquet/prune.h"
#include "support/byte_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT = 8 << 20, PAGES_BYTES = 4096, GROUPS_MAX = 20, COLUMNS_MAX = 20 };

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static bool is_expected(oc_status status)
{
    return status == OC_OK || status == OC_EDATA || status == OC_EUNSUPPORTED ||
           status == OC_EBUDGET;
}

/* "PAR1", pages of nothing, the footer, its length, "PAR1". */
static void make_file(oci_text *file, int64_t pages_bytes, const void *footer, int64_t size)
{
    static const char zeros[PAGES_BYTES];
    uint8_t tail[OCI_PARQUET_TAIL_BYTES] = {0};
    oci_store_le32(tail, (uint32_t)size);
    memcpy(tail + 4, OCI_PARQUET_MAGIC, OCI_PARQUET_MAGIC_BYTES);
    require(oci_text_append_str(file, OCI_PARQUET_MAGIC, NULL) == OC_OK);
    for (int64_t left = pages_bytes; left > 0; left -= PAGES_BYTES) {
        require(oci_text_append(file, zeros, oci_min64(left, PAGES_BYTES), NULL) == OC_OK);
    }
    if (footer != NULL) {
        require(oci_text_append(file, footer, size, NULL) == OC_OK);
        require(oci_text_append(file, (char *)tail, sizeof tail, NULL) == OC_OK);
    }
}

static void ask(const oci_parquet_prune_source *source, const oci_parquet_row_group *group,
                oci_mem *mem)
{
    static const uint8_t text[] = "m";
    const oci_predicate_value values[] = {oci_predicate_integer(3),
                                          {.type = OCI_PREDICATE_UNSIGNED, .unsigned_integer = 3},
                                          {.type = OCI_PREDICATE_FLOAT, .number = 0.5},
                                          {.type = OCI_PREDICATE_BYTES, .bytes = {text, 1}}};
    for (int32_t i = 0; i < source->schema->n_nodes && i < COLUMNS_MAX; i++) {
        oci_predicate both[2] = {
            {.kind = OCI_PREDICATE_IN, .column = i, .n_values = 4, .values = values},
            {.kind = OCI_PREDICATE_GREATER, .column = i, .n_values = 4, .values = values}};
        const oci_predicate either = {.kind = OCI_PREDICATE_OR, .n_children = 2, .children = both};
        oci_parquet_arena arena = {.mem = mem};
        oci_parquet_selection selection;
        require(is_expected(oci_parquet_prune(source, group, &either, &arena, &selection, NULL)));
        int64_t at = -1;
        for (int32_t k = 0; k < selection.n_ranges; k++) {
            require(selection.ranges[k].start > at &&
                    selection.ranges[k].end > selection.ranges[k].start);
            at = selection.ranges[k].end;
        }
        require(at <= group->n_rows);
        oci_parquet_arena_free(&arena);
    }
}

/* What was accepted is accepted again after it was written, at the same places of a file. */
static void write_again(const oci_parquet_metadata *metadata, oci_mem *mem)
{
    oci_text groups = {.mem = mem};
    oci_text file = {.mem = mem};
    oci_parquet_arena arena = {.mem = mem};
    for (int32_t i = 0; i < metadata->n_row_groups; i++) {
        oci_parquet_row_group *group;
        require(oci_parquet_row_group_read(metadata, i, &arena, &group, NULL) == OC_OK);
        require(oci_parquet_row_group_append(group, metadata, &groups, NULL) == OC_OK);
        oci_parquet_arena_clear(&arena);
    }
    make_file(&file, metadata->file_bytes, NULL, 0);
    require(oci_parquet_footer_append(metadata, &groups, &file, NULL) == OC_OK);
    oci_file *again = byte_file_open((uint8_t *)file.data, file.length, 0);
    oci_parquet_metadata *back = NULL;
    require(oci_parquet_metadata_read(again, mem, &back, NULL) == OC_OK);
    require(back->n_rows == metadata->n_rows && back->n_leaves == metadata->n_leaves &&
            back->n_row_groups == metadata->n_row_groups);
    oci_parquet_metadata_destroy(back);
    oci_close(again, NULL);
    oci_parquet_arena_free(&arena);
    oci_text_free(&groups);
    oci_text_free(&file);
}

static void read_file(const uint8_t *data, int64_t size, oci_mem *mem)
{
    oci_file *file = byte_file_open(data, size, 0);
    oci_parquet_metadata *metadata = NULL;
    oci_parquet_schema *schema = NULL;
    oc_status status = oci_parquet_metadata_read(file, mem, &metadata, NULL);
    require(is_expected(status));
    if (status == OC_OK) {
        status = oci_parquet_schema_create(metadata, mem, &schema, NULL);
        require(is_expected(status));
        if (size < LIMIT / 64) {
            write_again(metadata, mem);
        }
    }
    for (int32_t i = 0; status == OC_OK && i < metadata->n_row_groups && i < GROUPS_MAX; i++) {
        oci_parquet_arena arena = {.mem = mem};
        oci_parquet_row_group *group;
        status = oci_parquet_row_group_read(metadata, i, &arena, &group, NULL);
        require(status == OC_OK || status == OC_EBUDGET);
        if (status == OC_OK) {
            ask(&(oci_parquet_prune_source){file, metadata, schema}, group, mem);
        }
        oci_parquet_arena_free(&arena);
    }
    oci_parquet_schema_destroy(schema);
    oci_parquet_metadata_destroy(metadata);
    oci_close(file, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oci_budget *budget = NULL;
    oci_mem *mem = NULL;
    oci_parquet_page_header header;
    int64_t used;
    require(oci_budget_create(LIMIT, NULL, &budget, NULL) == OC_OK);
    require(oci_mem_open(budget, "fuzz", &mem, NULL) == OC_OK);
    require(is_expected(oci_parquet_page_header_parse(data, (int64_t)size, &header, &used, NULL)));
    require(used >= 0 && used <= (int64_t)size);
    if (size >= OCI_PARQUET_MAGIC_BYTES &&
        memcmp(data, OCI_PARQUET_MAGIC, OCI_PARQUET_MAGIC_BYTES) == 0) {
        read_file(data, (int64_t)size, mem);
    } else if (size < LIMIT / 64) {
        oci_text file = {.mem = mem};
        make_file(&file, PAGES_BYTES, data, (int64_t)size);
        read_file((const uint8_t *)file.data, file.length, mem);
        oci_text_free(&file);
    }
    require(oci_mem_held(mem) == 0);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    return 0;
}
