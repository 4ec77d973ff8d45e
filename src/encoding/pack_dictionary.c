/* Packed columns: dictionaries, of which only the values that are used are kept.
 *
 * A column may be one of many slices that share a long dictionary. So the codes that its rows use are
 * marked in a bitmap over the dictionary; the place of a code among the marked ones is its new code,
 * which keeps their order. Counts of marks before each word of the bitmap make that a popcount. A
 * dictionary of which everything is used, as gather makes them, is packed as it lies, and so is one of
 * which a range is used; of others the used values are gathered first. Where gather changes the layout
 * (list views, runs, views inside other types) or may make more than there was (dense unions whose rows
 * share one of a child, dictionaries inside that get bitmaps), and where there are too many for it, the
 * dictionary is cut to the range from the first to the last used value instead.
 *
 * Memory: 12 bytes per 64 values of the dictionary from the reservation, while indices are written;
 * gathered values and references to them from the reservation's account, while they are packed. A
 * schema of the one field comes from malloc for that time. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/gather.h"
#include "base/bits.h"
#include "encoding/pack_internal.h"

/* Codes in use, and how many come before each word of them. */
typedef struct used_codes {
    int64_t n_words;
    uint64_t *marks;
    uint32_t *before;
    int64_t n;     /* in use */
    int64_t first; /* of them; a range when there are none is [0, 0) */
    int64_t end;
} used_codes;

int64_t oci_pack_marks_bytes(int64_t n_values)
{
    return (n_values / 64 + 1) * (int64_t)(sizeof(uint64_t) + sizeof(uint32_t));
}

/* ---- which codes are used -------------------------------------------------------------------- */

static oci_fixed_source index_source(const oci_column *column, int64_t n_valid, int64_t *cursor)
{
    int width = column->field->byte_width;
    oci_fixed_source source = {.values = column->values + column->offset * width,
                               .stride = width,
                               .load = width, /* valid ones are not negative */
                               .n_rows = column->length,
                               .cursor = cursor};
    if (n_valid < column->length) {
        source.validity = column->validity;
        source.offset = column->offset;
    }
    return source;
}

static void mark_codes(const oci_int_source *indices, used_codes *used)
{
    uint64_t codes[OCI_PAGE_VALUES];
    for (int64_t start = 0; start < indices->n; start += OCI_PAGE_VALUES) {
        int64_t n = oci_min64(OCI_PAGE_VALUES, indices->n - start);
        indices->page(indices->arg, start, n, codes);
        for (int64_t i = 0; i < n; i++) {
            assert(codes[i] / 64 < (uint64_t)used->n_words);
            used->marks[codes[i] / 64] |= UINT64_C(1) << (codes[i] % 64);
        }
    }
}

static void count_marks(used_codes *used)
{
    for (int64_t word = 0; word < used->n_words; word++) {
        uint64_t marks = used->marks[word];
        used->before[word] = (uint32_t)used->n;
        if (marks != 0) {
            used->first = used->n == 0 ? word * 64 + __builtin_ctzll(marks) : used->first;
            used->end = word * 64 + 64 - __builtin_clzll(marks);
            used->n += __builtin_popcountll(marks);
        }
    }
}

/* ---- indices --------------------------------------------------------------------------------- */

typedef struct new_codes {
    const oci_int_source *indices;
    const used_codes *used;
    bool by_rank; /* else counted from the first one */
} new_codes;

static void new_codes_page(const void *arg, int64_t start, int64_t n, uint64_t *out)
{
    const new_codes *codes = arg;
    const used_codes *used = codes->used;
    codes->indices->page(codes->indices->arg, start, n, out);
    for (int64_t i = 0; i < n; i++) {
        uint64_t code = out[i];
        uint64_t below = used->marks[code / 64] & oci_low_mask((int)(code % 64));
        out[i] = codes->by_rank ? used->before[code / 64] + (uint64_t)__builtin_popcountll(below)
                                : code - (uint64_t)used->first;
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A batch of one column that borrows everything. */
static oc_status borrow_values(const oci_column *values, oci_batch **out, oc_error *err)
{
    oci_schema *schema = NULL;
    oci_field *field = calloc(1, sizeof *field);
    oci_column *columns = malloc(sizeof *columns);
    oc_status status = OC_OK;
    *out = NULL;
    if (field == NULL || columns == NULL) {
        free(field);
        free(columns);
        OC_FAIL(err, OC_ENOMEM, "out of memory while packing a dictionary");
    }
    status = oci_field_copy(values->field, field, err);
    if (status != OC_OK) {
        free(field);
        free(columns);
        return status;
    }
    status = oci_schema_create(field, 1, NULL, 0, &schema, err);
    if (status != OC_OK) {
        free(columns);
        return status;
    }
    *columns = *values;
    columns->field = schema->fields;
    status = oci_batch_adopt(schema, values->length, columns, NULL, NULL, 0, NULL, 0, out, err);
    oci_schema_release(schema);
    return status;
}

static bool is_kept_by_gather(const oci_field *field)
{
    switch (oci_field_layout(field)) {
    case OCI_LAYOUT_VIEWS:
    case OCI_LAYOUT_LIST_VIEW32:
    case OCI_LAYOUT_LIST_VIEW64:
    case OCI_LAYOUT_RUN_ENDS:
    case OCI_LAYOUT_DENSE_UNION: return false;
    default: break;
    }
    bool is_kept = field->dictionary == NULL;
    for (int32_t i = 0; i < field->n_children && is_kept; i++) {
        is_kept = is_kept_by_gather(&field->children[i]);
    }
    return is_kept;
}

static void refer_to_used(const used_codes *used, oci_row_ref *rows)
{
    int64_t n = 0;
    for (int64_t word = 0; word < used->n_words; word++) {
        for (uint64_t marks = used->marks[word]; marks != 0; marks &= marks - 1) {
            uint32_t code = (uint32_t)(word * 64 + __builtin_ctzll(marks));
            rows[n++] = (oci_row_ref){.source = 0, .row = code};
        }
    }
    assert(n == used->n);
}

/* Views of some rows, over the same buffers. */
static oc_status gather_views(const oci_batch *source, const oci_row_ref *rows, int64_t n,
                              oci_mem *mem, oci_batch **out, oc_error *err)
{
    const oci_column *from = source->columns;
    int64_t width = (int64_t)sizeof(oci_view), bytes = n * width + oci_bytes_for_bits(n);
    oci_column *columns = malloc(sizeof *columns);
    void *slab = NULL;
    if (columns == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while packing a dictionary");
    }
    oc_status status = oci_mem_alloc(mem, bytes, &slab, err);
    if (status != OC_OK) {
        free(columns);
        return status;
    }
    uint8_t *views = slab, *validity = views + n * width;
    *columns = *from;
    columns->offset = 0;
    columns->length = n;
    columns->null_count = from->validity == NULL ? 0 : -1;
    columns->values = views;
    columns->validity = from->validity == NULL ? NULL : validity;
    for (int64_t i = 0; i < n; i++) {
        int64_t slot = from->offset + rows[i].row;
        memcpy(views + i * width, from->values + slot * width, (size_t)width);
        if (from->validity != NULL) {
            oci_bit_put(validity, i, oci_bit_get(from->validity, slot));
        }
    }
    return oci_batch_adopt(source->schema, n, columns, mem, slab, bytes, NULL, 0, out, err);
}

/* *out stays NULL where a range has to do. */
static oc_status gather_used(const oci_column *values, const used_codes *used, oci_mem *mem,
                             oci_batch **out, oc_error *err)
{
    bool has_views = oci_field_layout(values->field) == OCI_LAYOUT_VIEWS;
    oci_batch *source = NULL;
    oci_row_ref *rows = NULL;
    int64_t rows_bytes = used->n * (int64_t)sizeof *rows, n_fit = 0;
    oc_status status = OC_OK;
    *out = NULL;
    if (used->n > OCI_GATHER_ROWS_MAX || used->end > UINT32_MAX ||
        (!has_views && !is_kept_by_gather(values->field))) {
        return OC_OK;
    }
    OC_TRY(oci_mem_alloc(mem, rows_bytes, (void **)&rows, err));
    refer_to_used(used, rows);
    OC_GOTO(borrow_values(values, &source, err));
    if (has_views) {
        status = gather_views(source, rows, used->n, mem, out, err);
        goto done;
    }
    const oci_batch *const *sources = (const oci_batch *const *)&source;
    OC_GOTO(
        oci_gather_fit(source->schema, sources, rows, used->n, INT64_MAX, mem, &n_fit, NULL, err));
    if (n_fit == used->n) {
        status = oci_gather(source->schema, sources, rows, used->n, 0, mem, NULL, out, err);
    }
done:
    oci_mem_free(mem, rows, rows_bytes);
    oci_batch_release(source);
    return status;
}

static oci_column cut_values(const oci_column *values, const used_codes *used)
{
    oci_column cut = *values;
    if (used->first > 0 || used->end < values->length) {
        cut.offset += used->first;
        cut.length = used->end - used->first;
        cut.null_count = values->validity == NULL ? 0 : -1;
    }
    return cut;
}

/* Marks, values, indices, and then the values' node. `used` has memory for its marks. */
static oc_status pack_used(oci_pack_job *job, oci_pack_plan *plan, const oci_column *column,
                           int64_t n_valid, used_codes *used, oci_column *values,
                           oci_batch **gathered, oc_error *err)
{
    int64_t cursor[2] = {0};
    oci_fixed_source source = index_source(column, n_valid, cursor);
    oci_int_source indices = oci_fixed_ints(&source, n_valid);
    mark_codes(&indices, used);
    count_marks(used);
    if (used->n < used->end - used->first) {
        OC_TRY(gather_used(column->dictionary, used, job->from->mem, gathered, err));
    }
    *values = *gathered != NULL ? (*gathered)->columns[0] : cut_values(column->dictionary, used);
    oci_pack_word(job, values->length);
    if (n_valid > 0) {
        new_codes codes = {.indices = &indices, .used = used, .by_rank = *gathered != NULL};
        bool moved = codes.by_rank || used->first > 0;
        oci_int_source renumbered = {.page = new_codes_page, .arg = &codes, .n = n_valid};
        oci_pack_ints(job, moved ? &renumbered : &indices, column->field->byte_width,
                      &plan->numbers[0]);
    }
    return OC_OK;
}

oc_status oci_pack_dictionary(oci_pack_job *job, oci_pack_plan *plan, const oci_column *column,
                              int64_t n_valid, oc_error *err)
{
    used_codes used = {.n_words = column->dictionary->length / 64 + 1};
    int64_t bytes = oci_pack_marks_bytes(column->dictionary->length);
    oci_batch *gathered = NULL;
    oci_column values = {0};
    void *marks = NULL;
    OC_TRY(oci_mem_alloc_reserved(job->from, bytes, &marks, err));
    memset(marks, 0, (size_t)bytes);
    used.marks = marks;
    used.before = (uint32_t *)(used.marks + used.n_words);
    oc_status status = pack_used(job, plan, column, n_valid, &used, &values, &gathered, err);
    oci_mem_free_reserved(job->from, marks, bytes);
    if (status == OC_OK) {
        status = oci_pack_node(job, &values, err);
    }
    oci_batch_release(gathered);
    return status;
}
