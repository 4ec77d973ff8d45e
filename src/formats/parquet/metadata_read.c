/* Reading the footer: see metadata.h.
 *
 * The tail of the file leads to the footer, which is read whole into the arena of the metadata and parsed
 * front to back. A row group is parsed into an arena of its own when it is met, checked and let go of;
 * oci_parquet_row_group_read() does the same again for one of them. What a check normalises (where a chunk
 * begins, counts that cannot be) comes out both times. */
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "formats/parquet/metadata_parse.h"

static const char magic_encrypted[] = "PARE";

/* ---- checks of a row group ------------------------------------------------------------------- */

/* Where pages may lie: behind the first magic, in front of the footer. */
typedef struct bounds {
    int64_t start;
    int64_t end;
} bounds;

static bounds file_bounds(const oci_parquet_metadata *metadata)
{
    int64_t tail = metadata->footer.size + OCI_PARQUET_TAIL_BYTES;
    return (bounds){OCI_PARQUET_MAGIC_BYTES, metadata->file_bytes - tail};
}

static bool lies_in(const bounds *b, int64_t offset, int64_t size)
{
    return offset >= b->start && size >= 0 && offset <= b->end && size <= b->end - offset;
}

/* NULL, or what is wrong with a chunk. */
static const char *settle_chunk(oci_parquet_column_chunk *chunk, const oci_parquet_element *leaf,
                                const bounds *b)
{
    if (chunk->type != leaf->type) {
        return "has another physical type than the schema says";
    }
    if (chunk->n_values < 0 || chunk->uncompressed_bytes < 0 || chunk->compressed_bytes < 0) {
        return "has a negative size";
    }
    /* Some writers say 0 for "no dictionary", others name one that lies behind; without data pages there
     * may be nothing but a dictionary. */
    bool has_data = chunk->data_page_offset != 0 || chunk->n_values > 0;
    if (chunk->dictionary_page_offset <= 0 ||
        (has_data && chunk->dictionary_page_offset >= chunk->data_page_offset)) {
        chunk->dictionary_page_offset = 0;
    }
    chunk->offset = chunk->dictionary_page_offset != 0 ? chunk->dictionary_page_offset
                                                       : chunk->data_page_offset;
    /* A chunk without pages may be anywhere. */
    bool is_empty = chunk->compressed_bytes == 0 && chunk->n_values == 0;
    if (!is_empty && !lies_in(b, chunk->offset, chunk->compressed_bytes)) {
        return "lies outside of the file";
    }
    if (has_data && !is_empty &&
        chunk->data_page_offset - chunk->offset > chunk->compressed_bytes) {
        return "has its pages outside of its bytes";
    }
    if (chunk->offset_index_offset == 0 || chunk->offset_index_bytes == 0) {
        chunk->offset_index_offset = 0;
    } else if (!lies_in(b, chunk->offset_index_offset, chunk->offset_index_bytes)) {
        return "has an offset index outside of the file";
    }
    if (chunk->column_index_offset == 0 || chunk->column_index_bytes == 0) {
        chunk->column_index_offset = 0;
    } else if (!lies_in(b, chunk->column_index_offset, chunk->column_index_bytes)) {
        return "has a column index outside of the file";
    }
    if (chunk->bloom_offset != 0 && !lies_in(b, chunk->bloom_offset, chunk->bloom_bytes)) {
        return "has a Bloom filter outside of the file";
    }
    oci_parquet_statistics *statistics = &chunk->statistics;
    if (statistics->null_count > chunk->n_values || statistics->null_count < 0) {
        statistics->null_count = -1;
    }
    if (statistics->nan_count > chunk->n_values || statistics->nan_count < 0) {
        statistics->nan_count = -1;
    }
    return NULL;
}

static int compare_offsets(const void *a, const void *b)
{
    const oci_parquet_column_chunk *x = *(const oci_parquet_column_chunk *const *)a;
    const oci_parquet_column_chunk *y = *(const oci_parquet_column_chunk *const *)b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* No byte of the file belongs to two chunks of a row group. */
static oc_status check_overlap(const oci_parquet_row_group *group, oci_parquet_arena *arena,
                               bool *overlap, oc_error *err)
{
    const oci_parquet_column_chunk **order;
    int32_t n = 0;
    void *made;
    OC_TRY(oci_parquet_arena_alloc(arena, group->n_columns, sizeof(void *), &made, err));
    order = made;
    for (int32_t i = 0; i < group->n_columns; i++) {
        if (group->columns[i].compressed_bytes > 0) {
            order[n++] = &group->columns[i];
        }
    }
    qsort(order, (size_t)n, sizeof(void *), compare_offsets);
    *overlap = false;
    for (int32_t i = 1; i < n; i++) {
        *overlap = *overlap ||
                   order[i - 1]->offset + order[i - 1]->compressed_bytes > order[i]->offset;
    }
    return OC_OK;
}

static oc_status check_row_group(const oci_parquet_metadata *metadata, int32_t i,
                                 oci_parquet_row_group *group, oci_parquet_arena *arena,
                                 oc_error *err)
{
    bounds b = file_bounds(metadata);
    bool overlap;
    if (group->n_columns != metadata->n_leaves) {
        OC_FAIL(err, OC_EDATA,
                "could not read the footer: row group %d has %d columns and the schema %d", i,
                group->n_columns, metadata->n_leaves);
    }
    if (group->n_rows < 0) {
        OC_FAIL(err, OC_EDATA, "could not read the footer: row group %d has no number of rows", i);
    }
    for (int32_t k = 0; k < group->n_columns; k++) {
        const oci_parquet_element *leaf = metadata->leaves[k];
        const char *problem = settle_chunk(&group->columns[k], leaf, &b);
        if (problem != NULL) {
            OC_FAIL(err, OC_EDATA,
                    "could not read the footer: column %d (\"%.*s\") of row group %d %s", k,
                    (int)oci_min64(leaf->name.size, 64), (const char *)leaf->name.data, i, problem);
        }
    }
    OC_TRY(check_overlap(group, arena, &overlap, err));
    if (overlap) {
        OC_FAIL(err, OC_EDATA,
                "could not read the footer: columns of row group %d lie over each other", i);
    }
    return OC_OK;
}

/* ---- schema ---------------------------------------------------------------------------------- */

/* Goes through the elements as the tree that they are. NULL, or what is wrong. */
static const char *check_tree(oci_parquet_metadata *metadata)
{
    int32_t left
        [OCI_PARQUET_SCHEMA_DEPTH_MAX]; /* children that are still to come, of each open group */
    int32_t depth = 0;
    for (int32_t i = 0; i < metadata->n_elements; i++) {
        const oci_parquet_element *element = &metadata->elements[i];
        bool is_leaf = element->type != OCI_PARQUET_GROUP;
        if (element->n_children < 0 || (is_leaf && element->n_children > 0)) {
            return "the schema is no tree";
        }
        if (is_leaf && element->type == OCI_PARQUET_FIXED && element->type_length < 0) {
            return "a type has a negative length";
        }
        if (element->name.data == NULL) {
            metadata->elements[i].name = (oci_parquet_bytes){(const uint8_t *)"", 0};
        }
        if (i > 0) {
            while (depth > 0 && left[depth - 1] == 0) {
                depth--;
            }
            if (depth == 0) {
                return "the schema has elements outside of its tree";
            }
            left[depth - 1]--;
        } else if (is_leaf) {
            return "the root of the schema is no group";
        }
        if (is_leaf) {
            metadata->leaves[metadata->n_leaves++] = element;
        } else if (depth == OCI_PARQUET_SCHEMA_DEPTH_MAX) {
            return "the schema is nested too deep";
        } else {
            left[depth++] = element->n_children;
        }
    }
    while (depth > 0) {
        if (left[--depth] > 0) {
            return "the schema ends early";
        }
    }
    return NULL;
}

static void parse_schema(oci_parquet_parser *p, const oci_thrift_field *field,
                         oci_parquet_metadata *metadata)
{
    void *made;
    oci_parquet_parse_list(p, field, OCI_THRIFT_STRUCT, sizeof *metadata->elements,
                           &metadata->n_elements, &made);
    metadata->elements = made;
    for (int32_t i = 0; i < metadata->n_elements; i++) {
        oci_parquet_parse_element(p, &metadata->elements[i]);
    }
    if (p->thrift.problem != NULL || metadata->n_elements == 0) {
        return;
    }
    metadata->n_leaves = 0;
    p->status = oci_parquet_arena_alloc(p->arena, metadata->n_elements, sizeof *metadata->leaves,
                                        &made, p->err);
    if (p->status != OC_OK) {
        oci_thrift_fail(&p->thrift, "out of memory");
        return;
    }
    metadata->leaves = made;
    const char *problem = check_tree(metadata);
    if (problem != NULL) {
        oci_thrift_fail(&p->thrift, problem);
    }
}

/* ---- footer ---------------------------------------------------------------------------------- */

static int64_t sum_bytes(const oci_parquet_row_group *group)
{
    int64_t sum = 0; /* of chunks that do not overlap in one file */
    for (int32_t i = 0; i < group->n_columns; i++) {
        sum += group->columns[i].compressed_bytes;
    }
    return sum;
}

/* Parses and checks the row groups, and keeps where they are. */
static void parse_row_groups(oci_parquet_parser *p, const oci_thrift_field *field,
                             oci_parquet_metadata *metadata)
{
    void *made;
    int64_t rows = 0;
    if (metadata->elements == NULL || metadata->row_groups != NULL) {
        oci_thrift_fail(&p->thrift, "row groups are not where they belong");
        return;
    }
    oci_parquet_parse_list(p, field, OCI_THRIFT_STRUCT, sizeof *metadata->row_groups,
                           &metadata->n_row_groups, &made);
    metadata->row_groups = made;
    oci_parquet_arena scratch = {.mem = p->arena->mem};
    oci_parquet_arena *kept = p->arena;
    p->arena = &scratch;
    for (int32_t i = 0; i < metadata->n_row_groups && p->thrift.problem == NULL; i++) {
        oci_parquet_row_group group;
        int64_t offset = p->thrift.at;
        oci_parquet_parse_row_group(p, &group);
        if (p->thrift.problem == NULL) {
            p->status = check_row_group(metadata, i, &group, &scratch, p->err);
        }
        if (p->status != OC_OK || p->thrift.problem != NULL) {
            oci_thrift_fail(&p->thrift, "a row group is wrong");
            break;
        }
        metadata->row_groups[i] = (oci_parquet_row_group_place){.offset = offset,
                                                                .n_rows = group.n_rows,
                                                                .first_row = rows,
                                                                .bytes = sum_bytes(&group)};
        if (!oci_add64(rows, group.n_rows, &rows)) {
            oci_thrift_fail(&p->thrift, "row groups have more than 2^63 rows");
        }
        oci_parquet_arena_clear(&scratch);
    }
    p->arena = kept;
    oci_parquet_arena_free(&scratch);
    metadata->n_rows = rows;
}

static void parse_column_orders(oci_parquet_parser *p, const oci_thrift_field *list,
                                oci_parquet_metadata *metadata)
{
    int32_t n;
    void *made;
    oci_parquet_parse_list(p, list, OCI_THRIFT_STRUCT, sizeof *metadata->column_orders, &n, &made);
    oci_parquet_column_order *orders = made;
    for (int32_t i = 0; i < n; i++) {
        oci_thrift_field field = {0};
        while (oci_thrift_next(&p->thrift, &field)) {
            bool known = field.id == OCI_PARQUET_ORDER_TYPE ||
                         field.id == OCI_PARQUET_ORDER_IEEE754;
            orders[i] = known ? (oci_parquet_column_order)field.id : OCI_PARQUET_ORDER_UNKNOWN;
            oci_thrift_skip(&p->thrift, &field);
        }
    }
    if (n == metadata->n_leaves) {
        metadata->column_orders = orders;
    }
}

static oc_status parse_footer(oci_parquet_metadata *metadata, oc_error *err)
{
    oci_parquet_parser p = {
        .thrift = {.data = metadata->footer.data, .size = metadata->footer.size},
        .arena = &metadata->arena,
        .err = err};
    oci_thrift_field field = {0};
    int64_t rows = 0;
    while (oci_thrift_next(&p.thrift, &field)) {
        switch (field.id) {
        case 1: metadata->version = oci_thrift_int32(&p.thrift, &field); break;
        case 2: parse_schema(&p, &field, metadata); break;
        case 3: rows = oci_thrift_int(&p.thrift, &field); break;
        case 4: parse_row_groups(&p, &field, metadata); break;
        case 5:
            oci_parquet_parse_key_values(&p, &field, &metadata->n_key_values,
                                         &metadata->key_values);
            break;
        case 6: metadata->created_by = oci_parquet_parse_bytes(&p, &field); break;
        case 7: parse_column_orders(&p, &field, metadata); break;
        default: oci_thrift_skip(&p.thrift, &field);
        }
    }
    if (p.thrift.problem == NULL && metadata->n_elements == 0) {
        oci_thrift_fail(&p.thrift, "it has no schema");
    }
    if (p.thrift.problem == NULL && rows != metadata->n_rows && rows != 0) { /* parquet-rs 0.3: 0 */
        oci_thrift_fail(&p.thrift, "the rows of the row groups are not those of the file");
    }
    return oci_parquet_parser_finish(&p, "the footer");
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Finds the footer by the tail: where it begins, and its size. */
static oc_status find_footer(oci_file *file, int64_t file_bytes, int64_t *offset, int64_t *size,
                             oc_error *err)
{
    uint8_t head[OCI_PARQUET_MAGIC_BYTES];
    uint8_t tail[OCI_PARQUET_TAIL_BYTES];
    if (file_bytes < OCI_PARQUET_MAGIC_BYTES + OCI_PARQUET_TAIL_BYTES) {
        OC_FAIL(err, OC_EDATA, "%" PRId64 " bytes are too few for a Parquet file; it is truncated",
                file_bytes);
    }
    OC_TRY(oci_pread_exact(file, head, sizeof head, 0, err));
    OC_TRY(oci_pread_exact(file, tail, sizeof tail, file_bytes - OCI_PARQUET_TAIL_BYTES, err));
    if (memcmp(tail + 4, magic_encrypted, OCI_PARQUET_MAGIC_BYTES) == 0) {
        OC_FAIL(err, OC_EUNSUPPORTED, "its footer is encrypted, which is not supported");
    }
    if (memcmp(head, OCI_PARQUET_MAGIC, OCI_PARQUET_MAGIC_BYTES) != 0) {
        OC_FAIL(err, OC_EDATA, "it does not begin with PAR1, so it is no Parquet file");
    }
    if (memcmp(tail + 4, OCI_PARQUET_MAGIC, OCI_PARQUET_MAGIC_BYTES) != 0) {
        OC_FAIL(err, OC_EDATA, "it does not end with PAR1; the file is truncated or damaged");
    }
    *size = oci_load_le32(tail);
    *offset = file_bytes - OCI_PARQUET_TAIL_BYTES - *size;
    if (*offset < OCI_PARQUET_MAGIC_BYTES) {
        OC_FAIL(err, OC_EDATA,
                "its footer has %" PRId64 " bytes and the file %" PRId64
                "; it is truncated or damaged",
                *size, file_bytes);
    }
    return OC_OK;
}

static oc_status read_into(oci_parquet_metadata *metadata, oci_file *file, oc_error *err)
{
    int64_t offset;
    void *bytes;
    OC_TRY(oci_file_size(file, &metadata->file_bytes, err));
    OC_TRY(find_footer(file, metadata->file_bytes, &offset, &metadata->footer.size, err));
    OC_TRY(oci_parquet_arena_alloc(&metadata->arena, metadata->footer.size, 1, &bytes, err));
    OC_TRY(oci_pread_exact(file, bytes, metadata->footer.size, offset, err));
    metadata->footer.data = bytes;
    return parse_footer(metadata, err);
}

oc_status oci_parquet_metadata_read(oci_file *file, oci_mem *mem, oci_parquet_metadata **out,
                                    oc_error *err)
{
    oci_parquet_arena arena = {.mem = mem};
    void *made;
    OC_TRY(oci_parquet_arena_alloc(&arena, 1, sizeof **out, &made, err));
    oci_parquet_metadata *metadata = made;
    metadata->arena = arena;
    metadata->file_name = file->name;
    oc_status status = read_into(metadata, file, err);
    if (status != OC_OK) {
        oci_error_prefix(err, "Parquet file \"%s\"", file->name);
        oci_parquet_metadata_destroy(metadata);
        return status;
    }
    *out = metadata;
    return OC_OK;
}

void oci_parquet_metadata_destroy(oci_parquet_metadata *metadata)
{
    if (metadata != NULL) {
        oci_parquet_arena arena = metadata->arena; /* it holds the struct too */
        oci_parquet_arena_free(&arena);
    }
}

oc_status oci_parquet_row_group_read(const oci_parquet_metadata *metadata, int32_t i,
                                     oci_parquet_arena *arena, oci_parquet_row_group **out,
                                     oc_error *err)
{
    oci_parquet_parser p = {.thrift = {.data = metadata->footer.data,
                                       .size = metadata->footer.size,
                                       .at = metadata->row_groups[i].offset},
                            .arena = arena,
                            .err = err};
    void *made;
    OC_TRY(oci_parquet_arena_alloc(arena, 1, sizeof **out, &made, err));
    *out = made;
    oci_parquet_parse_row_group(&p, *out);
    OC_TRY(oci_parquet_parser_finish(&p, "the footer"));
    return check_row_group(metadata, i, *out, arena, err);
}

oci_parquet_bytes oci_parquet_metadata_value(const oci_parquet_metadata *metadata, const char *key)
{
    int64_t size = (int64_t)strlen(key);
    for (int32_t i = 0; i < metadata->n_key_values; i++) {
        const oci_parquet_key_value *pair = &metadata->key_values[i];
        if (pair->key.size == size && memcmp(pair->key.data, key, (size_t)size) == 0) {
            return pair->value;
        }
    }
    return (oci_parquet_bytes){0};
}
