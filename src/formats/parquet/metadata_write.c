/* Writing row groups and the footer: see metadata.h. Fields are written in the order of their numbers, and
 * those that only old readers want (converted types) where they say the same. */
#include <string.h>

#include "base/bits.h"
#include "formats/parquet/metadata_parse.h"

static void write_bytes(oci_thrift_writer *w, int16_t id, const oci_parquet_bytes *bytes)
{
    if (bytes->data != NULL) {
        oci_thrift_write_bytes(w, id, bytes->data, bytes->size);
    }
}

static void write_count(oci_thrift_writer *w, int16_t id, int64_t count)
{
    if (count >= 0) {
        oci_thrift_write_i64(w, id, count);
    }
}

void oci_parquet_write_statistics(oci_thrift_writer *w, const oci_parquet_statistics *statistics)
{
    write_bytes(w, 1, &statistics->max_deprecated);
    write_bytes(w, 2, &statistics->min_deprecated);
    write_count(w, 3, statistics->null_count);
    write_count(w, 4, statistics->distinct_count);
    write_bytes(w, 5, &statistics->max);
    write_bytes(w, 6, &statistics->min);
    if (statistics->is_max_exact >= 0) {
        oci_thrift_write_bool(w, 7, statistics->is_max_exact);
    }
    if (statistics->is_min_exact >= 0) {
        oci_thrift_write_bool(w, 8, statistics->is_min_exact);
    }
    write_count(w, 9, statistics->nan_count);
}

static void write_key_values(oci_thrift_writer *w, int16_t id, int32_t n,
                             const oci_parquet_key_value *pairs)
{
    if (n == 0) {
        return;
    }
    oci_thrift_write_list(w, id, OCI_THRIFT_STRUCT, n);
    for (int32_t i = 0; i < n; i++) {
        oci_thrift_write_element_struct(w);
        write_bytes(w, 1, &pairs[i].key);
        write_bytes(w, 2, &pairs[i].value);
        oci_thrift_write_end(w);
    }
}

/* ---- schema ---------------------------------------------------------------------------------- */

/* The union LogicalType, in a struct that is open. */
static void write_logical(oci_thrift_writer *w, const oci_parquet_element *element)
{
    oci_thrift_write_struct(w, (int16_t)element->logical);
    switch (element->logical) {
    case OCI_PARQUET_LOGICAL_DECIMAL:
        oci_thrift_write_i32(w, 1, element->scale);
        oci_thrift_write_i32(w, 2, element->precision);
        break;
    case OCI_PARQUET_LOGICAL_TIME:
    case OCI_PARQUET_LOGICAL_TIMESTAMP:
        oci_thrift_write_bool(w, 1, element->is_utc);
        oci_thrift_write_struct(w, 2);
        oci_thrift_write_struct(w, element->unit);
        oci_thrift_write_end(w);
        oci_thrift_write_end(w);
        break;
    case OCI_PARQUET_LOGICAL_INTEGER:
        oci_thrift_write_i8(w, 1, element->bit_width);
        oci_thrift_write_bool(w, 2, element->is_signed);
        break;
    default: break;
    }
    oci_thrift_write_end(w);
}

static void write_element(oci_thrift_writer *w, const oci_parquet_element *element, bool is_root)
{
    bool is_leaf = element->type != OCI_PARQUET_GROUP;
    oci_thrift_write_element_struct(w);
    if (is_leaf) {
        oci_thrift_write_i32(w, 1, (int32_t)element->type);
    }
    if (element->type == OCI_PARQUET_FIXED) {
        oci_thrift_write_i32(w, 2, element->type_length);
    }
    if (!is_root) {
        oci_thrift_write_i32(w, 3, (int32_t)element->repetition);
    }
    oci_thrift_write_bytes(w, 4, element->name.data, element->name.size);
    if (!is_leaf) {
        oci_thrift_write_i32(w, 5, element->n_children);
    }
    if (element->converted != OCI_PARQUET_CONVERTED_NONE) {
        oci_thrift_write_i32(w, 6, (int32_t)element->converted);
    }
    if (element->converted == OCI_PARQUET_CONVERTED_DECIMAL) {
        oci_thrift_write_i32(w, 7, element->scale);
        oci_thrift_write_i32(w, 8, element->precision);
    }
    if (element->has_field_id) {
        oci_thrift_write_i32(w, 9, element->field_id);
    }
    if (element->logical != OCI_PARQUET_LOGICAL_NONE &&
        element->logical != OCI_PARQUET_LOGICAL_OTHER) {
        oci_thrift_write_struct(w, 10);
        write_logical(w, element);
        oci_thrift_write_end(w);
    }
    oci_thrift_write_end(w);
}

/* ---- row groups ------------------------------------------------------------------------------ */

/* The way through the schema, leaf by leaf. */
typedef struct path_walk {
    const oci_parquet_metadata *metadata;
    int32_t at;
    int32_t depth;
    struct {
        int32_t element;
        int32_t left;
    } open[OCI_PARQUET_SCHEMA_DEPTH_MAX];
} path_walk;

/* Goes to the next leaf, whose path is the open groups but the root, and `at`. */
static void next_leaf(path_walk *walk)
{
    const oci_parquet_element *elements = walk->metadata->elements;
    for (walk->at++; walk->at < walk->metadata->n_elements; walk->at++) {
        while (walk->depth > 0 && walk->open[walk->depth - 1].left == 0) {
            walk->depth--;
        }
        if (walk->depth > 0) {
            walk->open[walk->depth - 1].left--;
        }
        if (elements[walk->at].type != OCI_PARQUET_GROUP) {
            return;
        }
        walk->open[walk->depth].element = walk->at;
        walk->open[walk->depth++].left = elements[walk->at].n_children;
    }
}

static void write_path(oci_thrift_writer *w, int16_t id, const path_walk *walk)
{
    const oci_parquet_element *elements = walk->metadata->elements;
    oci_thrift_write_list(w, id, OCI_THRIFT_BINARY, walk->depth); /* without the root */
    for (int32_t i = 1; i <= walk->depth; i++) {
        int32_t element = i < walk->depth ? walk->open[i].element : walk->at;
        oci_thrift_write_element_bytes(w, elements[element].name.data, elements[element].name.size);
    }
}

/* ColumnMetaData, in a struct that is open. */
static void write_column(oci_thrift_writer *w, const oci_parquet_column_chunk *chunk,
                         const path_walk *walk)
{
    oci_thrift_write_i32(w, 1, (int32_t)chunk->type);
    oci_thrift_write_list(w, 2, OCI_THRIFT_I32, __builtin_popcount(chunk->encodings));
    for (int encoding = 0; encoding < 32; encoding++) {
        if ((chunk->encodings >> encoding & 1) != 0) {
            oci_thrift_write_element_int(w, encoding);
        }
    }
    write_path(w, 3, walk);
    oci_thrift_write_i32(w, 4, (int32_t)chunk->codec);
    oci_thrift_write_i64(w, 5, chunk->n_values);
    oci_thrift_write_i64(w, 6, chunk->uncompressed_bytes);
    oci_thrift_write_i64(w, 7, chunk->compressed_bytes);
    write_key_values(w, 8, chunk->n_key_values, chunk->key_values);
    oci_thrift_write_i64(w, 9, chunk->data_page_offset);
    if (chunk->dictionary_page_offset != 0) {
        oci_thrift_write_i64(w, 11, chunk->dictionary_page_offset);
    }
    oci_thrift_write_struct(w, 12);
    oci_parquet_write_statistics(w, &chunk->statistics);
    oci_thrift_write_end(w);
    if (chunk->bloom_offset != 0) {
        oci_thrift_write_i64(w, 14, chunk->bloom_offset);
        oci_thrift_write_i32(w, 15, (int32_t)chunk->bloom_bytes);
    }
}

static void write_chunk(oci_thrift_writer *w, const oci_parquet_column_chunk *chunk,
                        const path_walk *walk)
{
    oci_thrift_write_element_struct(w);
    oci_thrift_write_i64(w, 2, 0); /* of a copy of the metadata, which nobody writes any more */
    oci_thrift_write_struct(w, 3);
    write_column(w, chunk, walk);
    oci_thrift_write_end(w);
    if (chunk->offset_index_offset != 0) {
        oci_thrift_write_i64(w, 4, chunk->offset_index_offset);
        oci_thrift_write_i32(w, 5, chunk->offset_index_bytes);
    }
    if (chunk->column_index_offset != 0) {
        oci_thrift_write_i64(w, 6, chunk->column_index_offset);
        oci_thrift_write_i32(w, 7, chunk->column_index_bytes);
    }
    oci_thrift_write_end(w);
}

oc_status oci_parquet_row_group_append(const oci_parquet_row_group *group,
                                       const oci_parquet_metadata *metadata, oci_text *out,
                                       oc_error *err)
{
    oci_thrift_writer w = {.out = out, .err = err};
    path_walk walk = {.metadata = metadata, .at = -1};
    int64_t compressed_bytes = 0;
    oci_thrift_write_list(&w, 1, OCI_THRIFT_STRUCT, group->n_columns);
    for (int32_t i = 0; i < group->n_columns; i++) {
        next_leaf(&walk);
        write_chunk(&w, &group->columns[i], &walk);
        compressed_bytes += group->columns[i].compressed_bytes;
    }
    oci_thrift_write_i64(&w, 2, group->total_bytes);
    oci_thrift_write_i64(&w, 3, group->n_rows);
    if (group->n_sorting > 0) {
        oci_thrift_write_list(&w, 4, OCI_THRIFT_STRUCT, group->n_sorting);
        for (int32_t i = 0; i < group->n_sorting; i++) {
            oci_thrift_write_element_struct(&w);
            oci_thrift_write_i32(&w, 1, group->sorting[i].column);
            oci_thrift_write_bool(&w, 2, group->sorting[i].is_descending);
            oci_thrift_write_bool(&w, 3, group->sorting[i].nulls_first);
            oci_thrift_write_end(&w);
        }
    }
    if (group->n_columns > 0) {
        oci_thrift_write_i64(&w, 5, group->columns[0].offset);
    }
    oci_thrift_write_i64(&w, 6, compressed_bytes);
    oci_thrift_write_end(&w);
    return w.status;
}

/* ---- footer ---------------------------------------------------------------------------------- */

oc_status oci_parquet_footer_append(const oci_parquet_metadata *metadata,
                                    const oci_text *row_groups, oci_text *out, oc_error *err)
{
    oci_thrift_writer w = {.out = out, .err = err};
    int64_t start = out->length;
    oci_thrift_write_i32(&w, 1, metadata->version);
    oci_thrift_write_list(&w, 2, OCI_THRIFT_STRUCT, metadata->n_elements);
    for (int32_t i = 0; i < metadata->n_elements; i++) {
        write_element(&w, &metadata->elements[i], i == 0);
    }
    oci_thrift_write_i64(&w, 3, metadata->n_rows);
    oci_thrift_write_list(&w, 4, OCI_THRIFT_STRUCT, metadata->n_row_groups);
    OC_TRY(w.status);
    OC_TRY(oci_text_append(out, oci_text_chars(row_groups), row_groups->length, err));
    write_key_values(&w, 5, metadata->n_key_values, metadata->key_values);
    write_bytes(&w, 6, &metadata->created_by);
    oci_thrift_write_list(&w, 7, OCI_THRIFT_STRUCT, metadata->n_leaves);
    for (int32_t i = 0; i < metadata->n_leaves; i++) {
        oci_thrift_write_element_struct(&w);
        oci_thrift_write_struct(&w, OCI_PARQUET_ORDER_TYPE);
        oci_thrift_write_end(&w);
        oci_thrift_write_end(&w);
    }
    oci_thrift_write_end(&w);
    OC_TRY(w.status);
    if (out->length - start > INT32_MAX) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "could not write the footer: it has %" PRId64
                " bytes, and the format ends at 2 GiB; write fewer row groups",
                out->length - start);
    }
    uint8_t tail[OCI_PARQUET_TAIL_BYTES];
    oci_store_le32(tail, (uint32_t)(out->length - start));
    memcpy(tail + 4, OCI_PARQUET_MAGIC, OCI_PARQUET_MAGIC_BYTES);
    return oci_text_append(out, (const char *)tail, sizeof tail, err);
}
