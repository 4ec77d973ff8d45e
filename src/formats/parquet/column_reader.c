/* See column_reader.h. Lists of leaves come from malloc: they grow with the schema. */
#include "formats/parquet/column_reader.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/bits.h"
#include "formats/parquet/record_assembly.h"

/* Entries of which levels are looked at at once. */
#define PART 4096
/* Byte arrays longer than this on average: a batch ends with their page, as the next may be larger. */
#define LONG_BYTES 64

/* ---- making ---------------------------------------------------------------------------------- */

int64_t oci_parquet_columns_below(const oci_field *field)
{
    int64_t n = field->dictionary != NULL ? 1 : 0;
    for (int32_t i = 0; i < field->n_children; i++) {
        n += 1 + oci_parquet_columns_below(&field->children[i]);
    }
    return n;
}

static bool is_text(const oci_field *field)
{
    const oci_field *values = field->type == OCI_TYPE_DICTIONARY ? field->dictionary : field;
    return values->type == OCI_TYPE_UTF8 || values->type == OCI_TYPE_LARGE_UTF8;
}

static oc_status init_leaves(oci_parquet_column_reader *c, const oci_parquet_column_source *source,
                             const oci_parquet_node *node, oc_error *err)
{
    for (int32_t i = 0; i < node->n_children; i++) {
        OC_TRY(init_leaves(c, source, &node->children[i], err));
    }
    if (node->kind != OCI_PARQUET_NODE_LEAF) {
        return OC_OK;
    }
    oci_parquet_leaf_column *leaf = &c->leaves[node->leaf - c->node->leaf];
    const oci_parquet_leaf *what = &source->schema->leaves[node->leaf];
    OC_TRY(oci_parquet_values_init(&leaf->values, what, node->field, source->mem, err));
    return oci_parquet_leaf_reader_init(&leaf->reader, source->file, what, is_text(node->field),
                                        source->window_bytes, source->bytes_read, source->mem, err);
}

oc_status oci_parquet_column_reader_init(oci_parquet_column_reader *c,
                                         const oci_parquet_column_source *source,
                                         const oci_parquet_node *node, oc_error *err)
{
    *c = (oci_parquet_column_reader){.node = node, .n_leaves = node->n_leaves, .mem = source->mem};
    c->leaves = calloc((size_t)node->n_leaves, sizeof *c->leaves);
    if (c->leaves == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not open a Parquet column: out of memory");
    }
    const oci_parquet_leaf *first = &source->schema->leaves[node->leaf];
    c->is_flat = node->kind == OCI_PARQUET_NODE_LEAF && first->max_repetition == 0 &&
                 first->max_definition <= 1;
    return init_leaves(c, source, node, err);
}

void oci_parquet_column_reader_deinit(oci_parquet_column_reader *c)
{
    for (int32_t i = 0; c->leaves != NULL && i < c->n_leaves; i++) {
        oci_parquet_leaf_column *leaf = &c->leaves[i];
        oci_parquet_values_deinit(&leaf->values);
        oci_parquet_leaf_reader_deinit(&leaf->reader);
        oci_parquet_block_free(c->mem, &leaf->definition);
        oci_parquet_block_free(c->mem, &leaf->repetition);
    }
    free(c->leaves);
    c->leaves = NULL;
}

oc_status oci_parquet_column_reader_start(oci_parquet_column_reader *c,
                                          const oci_parquet_row_group *group, oc_error *err)
{
    for (int32_t i = 0; i < c->n_leaves; i++) {
        const oci_parquet_column_chunk *chunk = &group->columns[c->node->leaf + i];
        oci_parquet_values_new_chunk(&c->leaves[i].values);
        OC_TRY(oci_parquet_leaf_reader_start(&c->leaves[i].reader, chunk, err));
    }
    return OC_OK;
}

/* ---- entries --------------------------------------------------------------------------------- */

static oc_status too_few(const oci_parquet_leaf_column *leaf, oc_error *err)
{
    OC_SET(err, OC_EDATA, "a column chunk has fewer rows than its row group");
    return oci_parquet_leaf_reader_blame(&leaf->reader, OC_EDATA, err);
}

/* Of the next n entries, those up to the row after `rows`; *rows_seen counts the rows that begin. */
static oc_status take_repetition(oci_parquet_leaf_column *leaf, int64_t n, int64_t rows,
                                 int64_t *rows_seen, uint8_t *out, int64_t *taken, oc_error *err)
{
    oci_parquet_levels *levels = &leaf->reader.repetition;
    if (levels->max == 0) {
        *taken = oci_min64(n, rows - *rows_seen);
        *rows_seen += *taken;
        memset(out, 0, (size_t)*taken);
        return OC_OK;
    }
    oci_parquet_levels ahead = *levels;
    OC_TRY(oci_parquet_levels_read(&ahead, n, out, err));
    *taken = n;
    for (int64_t i = 0; i < n; i++) {
        if (out[i] == 0 && *rows_seen == rows) {
            *taken = i;
            return oci_parquet_levels_skip(levels, i, err);
        }
        *rows_seen += out[i] == 0;
    }
    *levels = ahead;
    if (*rows_seen == 0) {
        OC_FAIL(err, OC_EDATA, "a row group begins inside a row");
    }
    return OC_OK;
}

/* Some entries of the page at hand, n at most; values are taken, or passed. */
static oc_status take_part(oci_parquet_leaf_column *leaf, int64_t n, int64_t rows,
                           int64_t *rows_seen, bool keep, int64_t *taken, oc_error *err)
{
    oci_parquet_leaf_reader *reader = &leaf->reader;
    oci_mem *mem = reader->mem;
    int64_t at = leaf->n_entries;
    int64_t n_values = 0;
    if (at + n > INT32_MAX) {
        OC_FAIL(err, OC_EUNSUPPORTED, "a batch of rows with 2^31 nested values");
    }
    OC_TRY(oci_parquet_block_grow(mem, &leaf->repetition, at, at + n, err));
    OC_TRY(oci_parquet_block_grow(mem, &leaf->definition, at, at + n, err));
    OC_TRY(take_repetition(leaf, n, rows, rows_seen, leaf->repetition.data + at, taken, err));
    uint8_t *definition = leaf->definition.data + at;
    OC_TRY(oci_parquet_levels_read(&reader->definition, *taken, definition, err));
    for (int64_t i = 0; i < *taken; i++) {
        n_values += definition[i] == reader->leaf->max_definition;
    }
    leaf->n_entries += keep ? *taken : 0;
    return keep ? oci_parquet_values_take(&leaf->values, reader, n_values, err)
                : oci_parquet_decode_skip(&reader->values, n_values, err);
}

/* The entries of the next `rows` rows. A row may go on in the next page. */
static oc_status take_entries(oci_parquet_leaf_column *leaf, int64_t rows, bool keep, oc_error *err)
{
    oci_parquet_leaf_reader *reader = &leaf->reader;
    int64_t rows_seen = 0;
    leaf->n_entries = 0;
    for (;;) {
        OC_TRY(oci_parquet_leaf_reader_fill(reader, err));
        if (reader->page_left == 0) {
            return rows_seen == rows ? OC_OK : too_few(leaf, err);
        }
        int64_t part = oci_min64(PART, reader->page_left);
        int64_t taken = 0;
        oc_status status = take_part(leaf, part, rows, &rows_seen, keep, &taken, err);
        OC_TRY(oci_parquet_leaf_reader_blame(reader, status, err));
        oci_parquet_leaf_reader_took(reader, taken);
        if (taken < part || (reader->repetition.max == 0 && rows_seen == rows)) {
            return OC_OK;
        }
    }
}

static oc_status read_nested(oci_parquet_column_reader *c, int64_t rows, oci_column *out,
                             oci_column **space, oci_batch *batch, oc_error *err)
{
    for (int32_t i = 0; i < c->n_leaves; i++) {
        oci_parquet_leaf_column *leaf = &c->leaves[i];
        OC_TRY(oci_parquet_values_begin(&leaf->values, rows, err));
        OC_TRY(take_entries(leaf, rows, true, err));
        c->read_bytes += oci_parquet_values_bytes(&leaf->values) + 6 * leaf->n_entries;
    }
    return oci_parquet_assemble(c, rows, out, space, batch, err);
}

/* ---- flat leaves ----------------------------------------------------------------------------- */

/* Definition levels of n rows from row `at` of `rows` on; the bitmap is made when the first null comes. */
static oc_status take_nulls(oci_parquet_leaf_column *leaf, int64_t at, int64_t n, int64_t rows,
                            oci_parquet_block *validity, int64_t *n_valid, oc_error *err)
{
    oci_parquet_levels *levels = &leaf->reader.definition;
    uint8_t level;
    int64_t n_equal;
    *n_valid = n;
    if (levels->max == 0) {
        return OC_OK;
    }
    OC_TRY(oci_parquet_levels_peek(levels, n, &level, &n_equal, err));
    if (n_equal == n && level == levels->max) {
        if (validity->data != NULL) {
            oci_bits_fill(validity->data, at, n, true);
        }
        return oci_parquet_levels_skip(levels, n, err);
    }
    if (validity->data == NULL) {
        int64_t bytes = oci_bytes_for_bits(rows) + 8;
        OC_TRY(oci_parquet_block_grow(leaf->reader.mem, validity, 0, bytes, err));
        oci_bits_fill(validity->data, 0, at, true);
    }
    return oci_parquet_levels_read_bits(levels, n, validity->data, at, n_valid, err);
}

static oc_status take_flat(oci_parquet_leaf_column *leaf, int64_t rows, oci_parquet_block *validity,
                           oc_error *err)
{
    oci_parquet_leaf_reader *reader = &leaf->reader;
    for (int64_t at = 0; at < rows;) {
        OC_TRY(oci_parquet_leaf_reader_fill(reader, err));
        int64_t n = oci_min64(rows - at, reader->page_left);
        int64_t n_valid;
        if (n == 0) {
            return too_few(leaf, err);
        }
        oc_status status = take_nulls(leaf, at, n, rows, validity, &n_valid, err);
        OC_TRY(oci_parquet_leaf_reader_blame(reader, status, err));
        OC_TRY(oci_parquet_values_take(&leaf->values, reader, n_valid, err));
        oci_parquet_leaf_reader_took(reader, n);
        at += n;
    }
    return OC_OK;
}

static oc_status read_flat(oci_parquet_column_reader *c, int64_t rows, oci_column *out,
                           oci_column **space, oci_batch *batch, oc_error *err)
{
    oci_parquet_leaf_column *leaf = &c->leaves[0];
    oci_parquet_block validity = {.data = NULL};
    OC_TRY(oci_parquet_values_begin(&leaf->values, rows, err));
    oc_status status = take_flat(leaf, rows, &validity, err);
    c->read_bytes += oci_parquet_values_bytes(&leaf->values);
    if (status != OC_OK || leaf->values.n == rows) {
        oci_parquet_block_free(c->mem, &validity);
        OC_TRY(status);
    }
    const uint8_t *bits = validity.data;
    OC_TRY(oci_parquet_keep_block(batch, c->mem, &validity, err));
    oci_column *dictionary = c->node->field->dictionary != NULL ? (*space)++ : NULL;
    return oci_parquet_values_finish(&leaf->values, bits, rows, out, dictionary, batch, err);
}

oc_status oci_parquet_column_reader_read(oci_parquet_column_reader *c, int64_t rows,
                                         oci_column *out, oci_column **space, oci_batch *batch,
                                         oc_error *err)
{
    c->read_bytes = 0;
    return c->is_flat ? read_flat(c, rows, out, space, batch, err)
                      : read_nested(c, rows, out, space, batch, err);
}

oc_status oci_parquet_column_reader_skip(oci_parquet_column_reader *c, int64_t rows, oc_error *err)
{
    for (int32_t i = 0; rows > 0 && i < c->n_leaves; i++) {
        oci_parquet_leaf_column *leaf = &c->leaves[i];
        if (leaf->reader.leaf->max_repetition == 0) {
            OC_TRY(oci_parquet_leaf_reader_skip_flat(&leaf->reader, rows, err));
        } else {
            OC_TRY(take_entries(leaf, rows, false, err));
        }
    }
    return OC_OK;
}

/* ---- size ------------------------------------------------------------------------------------ */

/* What the values of the page may take: nothing in it can be longer than these. */
static int64_t page_bytes_max(const oci_parquet_leaf_reader *reader, int64_t rows)
{
    return reader->is_dictionary_page ? rows * reader->dictionary_longest
                                      : reader->pages.header.uncompressed_bytes;
}

/* Rows of the page at hand, n at most, whose values take about `bytes`. */
static oc_status fit_page(oci_parquet_leaf_column *leaf, int64_t n, int64_t bytes, int64_t *fit,
                          int64_t *seen_bytes, oc_error *err)
{
    oci_parquet_leaf_reader *reader = &leaf->reader;
    int64_t n_valid = n;
    int64_t refs_at = oci_round_up(oci_bytes_for_bits(n) + 8, 64);
    OC_TRY(
        oci_parquet_block_grow(reader->mem, &leaf->values.scratch, 0, refs_at + n * 4 + 64, err));
    uint8_t *bits = leaf->values.scratch.data;
    int32_t *refs = (int32_t *)(void *)(bits + refs_at);
    if (reader->definition.max > 0) {
        oci_parquet_levels ahead = reader->definition;
        OC_TRY(oci_parquet_levels_read_bits(&ahead, n, bits, 0, &n_valid, err));
    }
    OC_TRY(oci_parquet_decode_refs(&reader->values, n_valid, refs, seen_bytes, err));
    *fit = n;
    if (*seen_bytes > bytes) {
        int64_t taken;
        int64_t fits = oci_parquet_refs_fit(&reader->values, refs, n_valid, bytes, &taken);
        /* As if nulls were everywhere alike; one more is no harm. */
        *fit = oci_max64(1, (int64_t)((double)n * (double)fits / (double)n_valid));
        *seen_bytes = taken;
    }
    return OC_OK;
}

oc_status oci_parquet_column_reader_fit(oci_parquet_column_reader *c, int64_t rows, int64_t bytes,
                                        int64_t *fit, oc_error *err)
{
    oci_parquet_leaf_column *leaf = &c->leaves[0];
    oci_parquet_leaf_reader *reader = &leaf->reader;
    *fit = rows;
    if (!c->is_flat || leaf->values.form != OCI_PARQUET_FORM_BYTES) {
        return OC_OK;
    }
    OC_TRY(oci_parquet_leaf_reader_fill(reader, err));
    int64_t n = oci_min64(rows, reader->page_left);
    if (n == 0 || page_bytes_max(reader, n) <= bytes) {
        return OC_OK;
    }
    int64_t seen_bytes = 0;
    oc_status status = fit_page(leaf, n, bytes, fit, &seen_bytes, err);
    OC_TRY(oci_parquet_leaf_reader_blame(reader, status, err));
    if (*fit == n && n < rows && seen_bytes < LONG_BYTES * n) {
        *fit = rows;
    }
    return OC_OK;
}
