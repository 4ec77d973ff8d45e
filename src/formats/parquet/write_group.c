/* A row group into the file: of each column the dictionary page and the pages that are ready, then the indexes of all
 * columns, and its metadata behind that of the row groups before it. */
#include "base/bits.h"
#include "formats/parquet/parquet_writer_internal.h"

oc_status oci_parquet_put(oci_parquet_writer *writer, const void *data, int64_t size, oc_error *err)
{
    if (size > 0) {
        OC_TRY(oci_write(writer->file, data, size, err));
    }
    writer->position += size;
    return OC_OK;
}

static oci_parquet_bytes bytes_of(const oci_parquet_bound *bound)
{
    return (oci_parquet_bytes){bound->bytes, bound->length};
}

/* Bounds and nulls of all pages; `bounds` has to outlive what points to it. */
static void join_statistics(const oci_parquet_column_writer *c, oci_parquet_bounds *bounds,
                            oci_parquet_statistics *out)
{
    bool is_first = true;
    *out = (oci_parquet_statistics){
        .distinct_count = -1, .nan_count = -1, .is_min_exact = -1, .is_max_exact = -1};
    bounds->is_known = false;
    for (int64_t i = 0; i < c->n_pages; i++) {
        const oci_parquet_ready_page *page = &c->pages[i];
        out->null_count += page->n_nulls;
        if (page->n_nulls < page->n_entries) {
            oci_parquet_bounds_join(c->order, &page->bounds, is_first, bounds);
            is_first = false;
        }
    }
    if (bounds->is_known) {
        out->min = bytes_of(&bounds->min);
        out->max = bytes_of(&bounds->max);
        out->is_min_exact = bounds->min.is_exact;
        out->is_max_exact = bounds->max.is_exact;
    }
}

static oc_status write_chunk(oci_parquet_writer *writer, oci_parquet_column_writer *c,
                             oci_parquet_column_chunk *chunk, oci_parquet_bounds *bounds,
                             oc_error *err)
{
    *chunk = (oci_parquet_column_chunk){
        .type = c->element->type,
        .codec = writer->options.codec,
        .encodings = c->encodings | 1U << OCI_PARQUET_RLE,
        .offset = writer->position,
    };
    if (c->table.n > 0) {
        int64_t plain_bytes;
        OC_TRY(oci_parquet_write_dictionary(c, &writer->press, &plain_bytes, err));
        chunk->dictionary_page_offset = writer->position;
        chunk->encodings |= 1U << OCI_PARQUET_PLAIN;
        chunk->uncompressed_bytes += plain_bytes;
        OC_TRY(oci_parquet_put(writer, writer->press.other.data, writer->press.other.length, err));
    }
    chunk->data_page_offset = writer->position;
    for (int64_t i = 0; i < c->n_pages; i++) {
        const oci_parquet_ready_page *page = &c->pages[i];
        chunk->n_values += page->n_entries;
        chunk->uncompressed_bytes += page->plain_bytes;
        OC_TRY(oci_parquet_put(writer, page->block, page->bytes, err));
    }
    chunk->compressed_bytes = writer->position - chunk->offset;
    join_statistics(c, bounds, &chunk->statistics);
    return OC_OK;
}

/* Whether the bounds of pages only rise or only fall. Pages of nulls only do not count. */
static oci_parquet_boundary_order find_order(const oci_parquet_column_writer *c)
{
    bool rises = true;
    bool falls = true;
    const oci_parquet_bounds *before = NULL;
    for (int64_t i = 0; i < c->n_pages; i++) {
        const oci_parquet_bounds *bounds = &c->pages[i].bounds;
        if (c->pages[i].n_nulls == c->pages[i].n_entries) {
            continue;
        }
        if (before != NULL) {
            int min = oci_parquet_bound_compare(c->order, &before->min, &bounds->min);
            int max = oci_parquet_bound_compare(c->order, &before->max, &bounds->max);
            rises = rises && min <= 0 && max <= 0;
            falls = falls && min >= 0 && max >= 0;
        }
        before = bounds;
    }
    return rises ? OCI_PARQUET_ASCENDING : falls ? OCI_PARQUET_DESCENDING : OCI_PARQUET_UNORDERED;
}

/* Every page with values has to have bounds, or the chunk has no column index. */
static bool has_all_bounds(const oci_parquet_column_writer *c)
{
    for (int64_t i = 0; i < c->n_pages; i++) {
        if (!c->pages[i].bounds.is_known && c->pages[i].n_nulls < c->pages[i].n_entries) {
            return false;
        }
    }
    return c->order != OCI_PARQUET_COMPARE_NONE;
}

static oc_status append_column_index(oci_parquet_writer *writer, const oci_parquet_column_writer *c,
                                     oci_parquet_arena *arena, oc_error *err)
{
    int32_t n = (int32_t)c->n_pages;
    void *null_pages, *min, *max, *null_counts;
    OC_TRY(oci_parquet_arena_alloc(arena, n, sizeof(bool), &null_pages, err));
    OC_TRY(oci_parquet_arena_alloc(arena, n, sizeof(oci_parquet_bytes), &min, err));
    OC_TRY(oci_parquet_arena_alloc(arena, n, sizeof(oci_parquet_bytes), &max, err));
    OC_TRY(oci_parquet_arena_alloc(arena, n, sizeof(int64_t), &null_counts, err));
    oci_parquet_column_index index = {.n_pages = n,
                                      .null_pages = null_pages,
                                      .min = min,
                                      .max = max,
                                      .order = find_order(c),
                                      .null_counts = null_counts};
    for (int32_t i = 0; i < n; i++) {
        const oci_parquet_ready_page *page = &c->pages[i];
        index.null_pages[i] = page->n_nulls == page->n_entries;
        index.null_counts[i] = page->n_nulls;
        index.min[i] = index.max[i] = (oci_parquet_bytes){(const uint8_t *)"", 0};
        if (!index.null_pages[i]) {
            index.min[i] = bytes_of(&page->bounds.min);
            index.max[i] = bytes_of(&page->bounds.max);
        }
    }
    return oci_parquet_column_index_append(&index, &writer->tail, err);
}

static oc_status append_offset_index(oci_parquet_writer *writer, const oci_parquet_column_writer *c,
                                     const oci_parquet_column_chunk *chunk,
                                     oci_parquet_arena *arena, oc_error *err)
{
    void *pages;
    OC_TRY(
        oci_parquet_arena_alloc(arena, c->n_pages, sizeof(oci_parquet_page_location), &pages, err));
    oci_parquet_offset_index index = {.n_pages = (int32_t)c->n_pages, .pages = pages};
    int64_t offset = chunk->data_page_offset;
    int64_t row = 0;
    for (int32_t i = 0; i < index.n_pages; i++) {
        index.pages[i] = (oci_parquet_page_location){offset, (int32_t)c->pages[i].bytes, row};
        offset += c->pages[i].bytes;
        row += c->pages[i].n_rows;
    }
    return oci_parquet_offset_index_append(&index, &writer->tail, err);
}

/* The indexes of all chunks, behind their pages. */
static oc_status write_indexes(oci_parquet_writer *writer, oci_parquet_column_chunk *chunks,
                               oci_parquet_arena *arena, oc_error *err)
{
    oci_text_clear(&writer->tail);
    for (int32_t i = 0; i < writer->n_columns; i++) {
        if (has_all_bounds(&writer->columns[i])) {
            int64_t start = writer->tail.length;
            OC_TRY(append_column_index(writer, &writer->columns[i], arena, err));
            chunks[i].column_index_offset = writer->position + start;
            chunks[i].column_index_bytes = (int32_t)(writer->tail.length - start);
        }
    }
    for (int32_t i = 0; i < writer->n_columns; i++) {
        int64_t start = writer->tail.length;
        OC_TRY(append_offset_index(writer, &writer->columns[i], &chunks[i], arena, err));
        chunks[i].offset_index_offset = writer->position + start;
        chunks[i].offset_index_bytes = (int32_t)(writer->tail.length - start);
    }
    return oci_parquet_put(writer, writer->tail.data, writer->tail.length, err);
}

static oc_status write_row_group(oci_parquet_writer *writer, oci_parquet_arena *arena,
                                 oc_error *err)
{
    void *chunks, *bounds;
    oci_parquet_row_group group = {.n_rows = writer->group_rows, .n_columns = writer->n_columns};
    OC_TRY(oci_parquet_arena_alloc(arena, writer->n_columns, sizeof *group.columns, &chunks, err));
    OC_TRY(oci_parquet_arena_alloc(arena, writer->n_columns, sizeof(oci_parquet_bounds), &bounds,
                                   err));
    group.columns = chunks;
    for (int32_t i = 0; i < writer->n_columns; i++) {
        OC_TRY(write_chunk(writer, &writer->columns[i], &group.columns[i],
                           (oci_parquet_bounds *)bounds + i, err));
        group.total_bytes += group.columns[i].uncompressed_bytes;
    }
    OC_TRY(write_indexes(writer, group.columns, arena, err));
    return oci_parquet_row_group_append(&group, &writer->metadata, &writer->row_groups, err);
}

oc_status oci_parquet_end_row_group(oci_parquet_writer *writer, oc_error *err)
{
    if (writer->group_rows == 0) {
        return OC_OK;
    }
    for (int32_t i = 0; i < writer->n_columns; i++) {
        OC_TRY(oci_parquet_write_page(&writer->columns[i], &writer->press, err));
    }
    oci_parquet_arena arena = {.mem = writer->mem};
    oc_status status = write_row_group(writer, &arena, err);
    oci_parquet_arena_free(&arena);
    OC_TRY(status);
    for (int32_t i = 0; i < writer->n_columns; i++) {
        oci_parquet_column_clear(&writer->columns[i]);
    }
    writer->metadata.n_rows += writer->group_rows;
    writer->metadata.n_row_groups++;
    writer->group_rows = 0;
    return OC_OK;
}
