/* Page indexes (offset index, column index), both ways: see metadata.h. */
#include "base/bits.h"
#include "formats/parquet/metadata_parse.h"

/* Reads the bytes of an index into the arena, for parsing. */
static oc_status read_index(oci_file *file, int64_t offset, int32_t size, oci_parquet_arena *arena,
                            oci_parquet_parser *p, oc_error *err)
{
    void *bytes;
    OC_TRY(oci_parquet_arena_alloc(arena, size, 1, &bytes, err));
    OC_TRY(oci_pread_exact(file, bytes, size, offset, err));
    *p = (oci_parquet_parser){.thrift = {.data = bytes, .size = size}, .arena = arena, .err = err};
    return OC_OK;
}

static oc_status finish(const oci_parquet_parser *p, oci_file *file, const char *what)
{
    oc_status status = oci_parquet_parser_finish(p, what);
    if (status != OC_OK) {
        oci_error_prefix(p->err, "Parquet file \"%s\"", file->name);
    }
    return status;
}

/* ---- offset index ---------------------------------------------------------------------------- */

static void parse_location(oci_parquet_parser *p, oci_parquet_page_location *out)
{
    oci_thrift_field field = {0};
    while (oci_thrift_next(&p->thrift, &field)) {
        switch (field.id) {
        case 1: out->offset = oci_thrift_int(&p->thrift, &field); break;
        case 2: out->bytes = oci_thrift_int32(&p->thrift, &field); break;
        case 3: out->first_row = oci_thrift_int(&p->thrift, &field); break;
        default: oci_thrift_skip(&p->thrift, &field);
        }
    }
}

/* Pages lie in the chunk one behind the other, and their rows follow each other. */
static void check_locations(oci_parquet_parser *p, const oci_parquet_offset_index *index,
                            const oci_parquet_column_chunk *chunk, int64_t n_rows)
{
    int64_t end = chunk->offset + chunk->compressed_bytes;
    int64_t at = chunk->offset;
    for (int32_t i = 0; i < index->n_pages; i++) {
        const oci_parquet_page_location *page = &index->pages[i];
        if (page->offset < at || page->bytes < 0 || page->offset > end ||
            page->bytes > end - page->offset) {
            oci_thrift_fail(&p->thrift, "a page lies outside of its column chunk");
            return;
        }
        at = page->offset + page->bytes;
        /* A page without rows shares its first row with the next. */
        int64_t least = i == 0 ? 0 : index->pages[i - 1].first_row;
        if (page->first_row < least || page->first_row > n_rows ||
            (i == 0 && page->first_row != 0)) {
            oci_thrift_fail(&p->thrift, "the rows of pages do not rise within the row group");
            return;
        }
    }
    if (index->n_pages == 0 && n_rows > 0) {
        oci_thrift_fail(&p->thrift, "it names no pages");
    }
}

oc_status oci_parquet_offset_index_read(oci_file *file, const oci_parquet_column_chunk *chunk,
                                        int64_t n_rows, oci_parquet_arena *arena,
                                        oci_parquet_offset_index **out, oc_error *err)
{
    oci_parquet_parser p;
    void *made;
    *out = NULL;
    if (chunk->offset_index_offset == 0) {
        return OC_OK;
    }
    OC_TRY(oci_parquet_arena_alloc(arena, 1, sizeof **out, &made, err));
    oci_parquet_offset_index *index = made;
    OC_TRY(read_index(file, chunk->offset_index_offset, chunk->offset_index_bytes, arena, &p, err));
    oci_thrift_field field = {0};
    while (oci_thrift_next(&p.thrift, &field)) {
        if (field.id == 1) {
            oci_parquet_parse_list(&p, &field, OCI_THRIFT_STRUCT, sizeof *index->pages,
                                   &index->n_pages, &made);
            index->pages = made;
            for (int32_t i = 0; i < index->n_pages; i++) {
                parse_location(&p, &index->pages[i]);
            }
        } else {
            oci_thrift_skip(&p.thrift, &field);
        }
    }
    if (p.thrift.problem == NULL) {
        check_locations(&p, index, chunk, n_rows);
    }
    OC_TRY(finish(&p, file, "an offset index"));
    *out = index;
    return OC_OK;
}

oc_status oci_parquet_offset_index_append(const oci_parquet_offset_index *index, oci_text *out,
                                          oc_error *err)
{
    oci_thrift_writer w = {.out = out, .err = err};
    oci_thrift_write_list(&w, 1, OCI_THRIFT_STRUCT, index->n_pages);
    for (int32_t i = 0; i < index->n_pages; i++) {
        oci_thrift_write_element_struct(&w);
        oci_thrift_write_i64(&w, 1, index->pages[i].offset);
        oci_thrift_write_i32(&w, 2, index->pages[i].bytes);
        oci_thrift_write_i64(&w, 3, index->pages[i].first_row);
        oci_thrift_write_end(&w);
    }
    oci_thrift_write_end(&w);
    return w.status;
}

/* ---- column index ---------------------------------------------------------------------------- */

/* Lists of one column index have as many elements as it has pages. */
static void count_pages(oci_parquet_parser *p, oci_parquet_column_index *index, bool *is_known,
                        int32_t n)
{
    if (*is_known && n != index->n_pages) {
        oci_thrift_fail(&p->thrift, "its lists differ in length");
    }
    index->n_pages = n;
    *is_known = true;
}

static int64_t *parse_counts(oci_parquet_parser *p, const oci_thrift_field *field, int32_t *n)
{
    void *made;
    oci_parquet_parse_list(p, field, OCI_THRIFT_I64, sizeof(int64_t), n, &made);
    int64_t *counts = made;
    for (int32_t i = 0; i < *n; i++) {
        counts[i] = oci_max64(oci_thrift_element_int(&p->thrift), -1); /* parquet-mr wrote -1 */
    }
    return counts;
}

static oci_parquet_bytes *parse_bounds(oci_parquet_parser *p, const oci_thrift_field *field,
                                       int32_t *n)
{
    void *made;
    oci_parquet_parse_list(p, field, OCI_THRIFT_BINARY, sizeof(oci_parquet_bytes), n, &made);
    oci_parquet_bytes *values = made;
    for (int32_t i = 0; i < *n; i++) {
        values[i].data = oci_thrift_element_bytes(&p->thrift, &values[i].size);
    }
    return values;
}

static void parse_column_index(oci_parquet_parser *p, oci_parquet_column_index *index)
{
    oci_thrift_field field = {0};
    bool is_known = false;
    void *made;
    while (oci_thrift_next(&p->thrift, &field)) {
        int32_t n = -1;
        switch (field.id) {
        case 1:
            oci_parquet_parse_list(p, &field, OCI_THRIFT_TRUE, sizeof(bool), &n, &made);
            index->null_pages = made;
            for (int32_t i = 0; i < n; i++) {
                index->null_pages[i] = oci_thrift_element_bool(&p->thrift);
            }
            break;
        case 2: index->min = parse_bounds(p, &field, &n); break;
        case 3: index->max = parse_bounds(p, &field, &n); break;
        case 4:
            index->order = (oci_parquet_boundary_order)oci_parquet_parse_enum(
                p, &field, 3, "its order is unknown");
            break;
        case 5: index->null_counts = parse_counts(p, &field, &n); break;
        case 8: index->nan_counts = parse_counts(p, &field, &n); break;
        default: oci_thrift_skip(&p->thrift, &field);
        }
        if (n >= 0) {
            count_pages(p, index, &is_known, n);
        }
    }
    if (p->thrift.problem == NULL && index->n_pages > 0 &&
        (index->null_pages == NULL || index->min == NULL || index->max == NULL)) {
        oci_thrift_fail(&p->thrift, "it lacks minima, maxima or which pages are null");
    }
}

oc_status oci_parquet_column_index_read(oci_file *file, const oci_parquet_column_chunk *chunk,
                                        oci_parquet_arena *arena, oci_parquet_column_index **out,
                                        oc_error *err)
{
    oci_parquet_parser p;
    void *made;
    *out = NULL;
    if (chunk->column_index_offset == 0) {
        return OC_OK;
    }
    OC_TRY(oci_parquet_arena_alloc(arena, 1, sizeof **out, &made, err));
    OC_TRY(read_index(file, chunk->column_index_offset, chunk->column_index_bytes, arena, &p, err));
    parse_column_index(&p, made);
    OC_TRY(finish(&p, file, "a column index"));
    *out = made;
    return OC_OK;
}

static void write_counts(oci_thrift_writer *w, int16_t id, int32_t n, const int64_t *counts)
{
    if (counts != NULL) {
        oci_thrift_write_list(w, id, OCI_THRIFT_I64, n);
        for (int32_t i = 0; i < n; i++) {
            oci_thrift_write_element_int(w, counts[i]);
        }
    }
}

oc_status oci_parquet_column_index_append(const oci_parquet_column_index *index, oci_text *out,
                                          oc_error *err)
{
    oci_thrift_writer w = {.out = out, .err = err};
    oci_thrift_write_list(&w, 1, OCI_THRIFT_TRUE, index->n_pages);
    for (int32_t i = 0; i < index->n_pages; i++) {
        oci_thrift_write_element_bool(&w, index->null_pages[i]);
    }
    const oci_parquet_bytes *const bounds[2] = {index->min, index->max};
    for (int16_t k = 0; k < 2; k++) {
        oci_thrift_write_list(&w, (int16_t)(2 + k), OCI_THRIFT_BINARY, index->n_pages);
        for (int32_t i = 0; i < index->n_pages; i++) {
            oci_thrift_write_element_bytes(&w, bounds[k][i].data, bounds[k][i].size);
        }
    }
    oci_thrift_write_i32(&w, 4, (int32_t)index->order);
    write_counts(&w, 5, index->n_pages, index->null_counts);
    write_counts(&w, 8, index->n_pages, index->nan_counts);
    oci_thrift_write_end(&w);
    return w.status;
}
