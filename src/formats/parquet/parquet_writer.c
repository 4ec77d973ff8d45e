/* The writer: batches into columns, columns into row groups, row groups into the file.
 *
 *   batch -> slices of about a block, in working form -> every column, some rows at a time -> pages
 *   row group is full: dictionary page and pages of each column -> file; its indexes -> file;
 *                      its metadata -> appended to the footer
 *   finish:            footer -> file
 *
 * All columns have the same rows when a slice has gone through, so a row group can end there. Pages are compressed
 * when they are full, so what is held for a row group is what it takes in the file. The writer itself is one struct
 * from malloc. */
#include "formats/parquet/parquet_writer_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "arrow/gather.h"
#include "base/bits.h"
#include "formats/parquet/schema.h"
#include "formats/parquet/write_shape.h"
#include "outcore/outcore.h"

#define ROW_GROUP_ROWS  (INT64_C(1) << 20)
#define ROW_GROUP_BYTES (INT64_C(128) << 20)
#define PAGE_BYTES_MIN  (INT64_C(4) << 10)
#define PAGE_BYTES_MAX  (INT64_C(1) << 20)

enum {
    PAGE_ROWS_MAX = 32768, /* readers skip pages by their bounds, so they are not too long either */
    ROW_BYTES_FEW =
        16, /* of a value with its index and levels: so many rows at once do not overfill a page */
    ROWS_AT_ONCE = 1024,        /* between looks at how full a page is */
    ROWS_BETWEEN_GROUPS = 8192, /* between looks at how full a row group is */
    UNPACKED_SHARE = 2,         /* of its bytes is what a page that is not full yet counts as */
    PAGES_SHARE = 64,           /* of the limit: one page of every column */
    HELD_SHARE = 8,             /* of the limit: finished pages of a row group */
    WORK_FACTOR = 6 /* what a column takes beside its page: dictionary, table, growing */
};

#define TEXT_OF(x)   #x
#define NUMBER_OF(x) TEXT_OF(x)
#define CREATED_BY                                                                                \
    "outcore version " NUMBER_OF(OC_VERSION_MAJOR) "." NUMBER_OF(OC_VERSION_MINOR) "." NUMBER_OF( \
        OC_VERSION_PATCH)

/* ---- open ------------------------------------------------------------------------------------ */

static oci_codec_id codec_of(oci_parquet_codec codec)
{
    switch (codec) {
    case OCI_PARQUET_SNAPPY: return OCI_CODEC_SNAPPY;
    case OCI_PARQUET_GZIP: return OCI_CODEC_GZIP;
    case OCI_PARQUET_BROTLI: return OCI_CODEC_BROTLI;
    case OCI_PARQUET_ZSTD: return OCI_CODEC_ZSTD;
    case OCI_PARQUET_LZ4_RAW: return OCI_CODEC_LZ4_RAW;
    case OCI_PARQUET_LZ4_HADOOP: return OCI_CODEC_LZ4_HADOOP;
    default: return OCI_CODEC_NONE;
    }
}

static oc_status open_codec(oci_parquet_writer *writer, oc_error *err)
{
    oci_parquet_codec codec = writer->options.codec;
    if (codec == OCI_PARQUET_UNCOMPRESSED) {
        return OC_OK;
    }
    writer->press.codec_id = codec_of(codec);
    if (writer->press.codec_id == OCI_CODEC_NONE) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "could not write Parquet with the codec %s: it is not supported",
                oci_parquet_codec_name(codec));
    }
    OC_TRY(
        oci_codec_create(writer->press.codec_id, writer->options.level, &writer->press.codec, err));
    oci_codec_charge(writer->press.codec, writer->mem);
    return OC_OK;
}

static oc_status open_metadata(oci_parquet_writer *writer, const oci_schema *schema, oc_error *err)
{
    oci_parquet_metadata *m = &writer->metadata;
    void *orders;
    OC_TRY(oci_parquet_schema_write(writer->working, schema, m, err));
    OC_TRY(oci_parquet_arena_alloc(&m->arena, m->n_leaves, sizeof *m->column_orders, &orders, err));
    m->column_orders = orders;
    for (int32_t i = 0; i < m->n_leaves; i++) {
        m->column_orders[i] = OCI_PARQUET_ORDER_TYPE;
    }
    m->version = 2;
    m->created_by = (oci_parquet_bytes){(const uint8_t *)CREATED_BY, sizeof CREATED_BY - 1};
    OC_TRY(oci_parquet_shape_create(writer->working, m, &m->arena, &writer->columns,
                                    &writer->n_columns, err));
    assert(writer->n_columns == m->n_leaves);
    return OC_OK;
}

static void open_column(oci_parquet_writer *writer, oci_parquet_column_writer *c)
{
    oci_parquet_buffer *const buffers[] = {&c->definitions, &c->repetitions, &c->values,
                                           &c->lengths,     &c->indices,     &c->table.values,
                                           &c->table.ends};
    c->mem = writer->mem;
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
        buffers[i]->mem = writer->mem;
    }
    c->table.width = c->width;
    c->table_bytes_max = writer->page_bytes;
    oci_parquet_column_clear(c);
}

/* Sets sizes by the limit, and as much memory aside as the limit lets: less means smaller row groups, and that others
 * may be asked to give some back in the middle of a page. */
static void set_sizes(oci_parquet_writer *writer)
{
    int64_t limit = oci_budget_limit(writer->env->budget);
    int64_t columns = oci_max64(1, writer->n_columns);
    oci_parquet_write_options *o = &writer->options;
    writer->page_bytes =
        oci_min64(PAGE_BYTES_MAX, oci_max64(PAGE_BYTES_MIN, limit / PAGES_SHARE / columns));
    o->row_group_rows = o->row_group_rows > 0 ? o->row_group_rows : ROW_GROUP_ROWS;
    o->row_group_bytes = oci_min64(o->row_group_bytes > 0 ? o->row_group_bytes : ROW_GROUP_BYTES,
                                   limit / HELD_SHARE);
    oci_reservation reserved = {.mem = writer->mem};
    int64_t work = columns * writer->page_bytes * WORK_FACTOR;
    while (oci_mem_try_reserve(writer->mem, &reserved, work + o->row_group_bytes, NULL) != OC_OK &&
           o->row_group_bytes > writer->page_bytes) {
        o->row_group_bytes /= 2;
    }
    oci_reservation_promise(&reserved);
}

static oc_status open_writer(oci_parquet_writer *writer, oci_schema *schema, oc_error *err)
{
    OC_TRY(oci_mem_open(writer->env->budget, "Parquet writer", &writer->mem, err));
    oci_parquet_buffer *const buffers[] = {&writer->press.levels, &writer->press.encoded,
                                           &writer->press.other, &writer->press.packed};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
        buffers[i]->mem = writer->mem;
    }
    writer->press.header.mem = writer->mem;
    writer->row_groups.mem = writer->mem;
    writer->tail.mem = writer->mem;
    writer->metadata.arena.mem = writer->mem;
    OC_TRY(oci_schema_working(schema, &writer->working, err));
    OC_TRY(open_metadata(writer, schema, err));
    set_sizes(writer);
    for (int32_t i = 0; i < writer->n_columns; i++) {
        open_column(writer, &writer->columns[i]);
    }
    OC_TRY(open_codec(writer, err));
    return oci_parquet_put(writer, OCI_PARQUET_MAGIC, OCI_PARQUET_MAGIC_BYTES, err);
}

oc_status oci_parquet_writer_open(const oci_env *env, oci_file *file, oci_schema *schema,
                                  const oci_parquet_write_options *options,
                                  oci_parquet_writer **out, oc_error *err)
{
    oci_parquet_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while opening \"%s\" for writing", file->name);
    }
    writer->env = env;
    writer->file = file;
    writer->options = *options;
    oc_status status = open_writer(writer, schema, err);
    if (status != OC_OK) {
        oci_parquet_writer_destroy(writer);
        return status;
    }
    *out = writer;
    return OC_OK;
}

void oci_parquet_writer_destroy(oci_parquet_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    for (int32_t i = 0; i < writer->n_columns && writer->columns != NULL; i++) {
        if (writer->columns[i].mem != NULL) {
            oci_parquet_column_free(&writer->columns[i]);
        }
    }
    oci_codec_destroy(writer->press.codec);
    if (writer->mem != NULL) {
        oci_parquet_buffer_free(&writer->press.levels);
        oci_parquet_buffer_free(&writer->press.encoded);
        oci_parquet_buffer_free(&writer->press.other);
        oci_parquet_buffer_free(&writer->press.packed);
        oci_text_free(&writer->press.header);
        oci_text_free(&writer->row_groups);
        oci_text_free(&writer->tail);
        oci_parquet_arena_free(&writer->metadata.arena);
        oci_mem_end_promise(writer->mem);
    }
    oci_schema_release(writer->working);
    oci_mem_close(writer->mem);
    free(writer);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Rows of one column, which ends pages where they are full. */
static oc_status fill_column(oci_parquet_writer *writer, oci_parquet_column_writer *c,
                             const oci_column *column, int64_t row, int64_t end, oc_error *err)
{
    while (row < end) {
        int64_t n =
            oci_min64(oci_min64(ROWS_AT_ONCE, writer->page_bytes / ROW_BYTES_FEW), end - row);
        bool is_full = false;
        OC_TRY(oci_parquet_write_rows(c, column, row, n, err));
        row += n;
        if (c->has_table) {
            OC_TRY(oci_parquet_write_indices(c, &is_full, err));
        }
        int64_t weight = oci_parquet_page_weight(c);
        if (!c->is_chosen && weight < writer->page_bytes / 2 && c->n_rows <= PAGE_ROWS_MAX / 2) {
            c->n_early = c->n_values;
            c->n_different_early = c->table.n;
        }
        if (is_full || weight >= writer->page_bytes || c->n_rows >= PAGE_ROWS_MAX) {
            OC_TRY(oci_parquet_write_page(c, &writer->press, err));
            c->has_table = c->has_table && !is_full;
        }
    }
    return OC_OK;
}

/* Rows [start, end) of a batch in working form. */
static oc_status fill_columns(oci_parquet_writer *writer, const oci_batch *batch, int64_t start,
                              int64_t end, oc_error *err)
{
    while (start < end) {
        int64_t n = oci_min64(oci_min64(end - start, ROWS_BETWEEN_GROUPS),
                              writer->options.row_group_rows - writer->group_rows);
        int64_t held = 0;
        for (int32_t i = 0; i < writer->n_columns; i++) {
            oci_parquet_column_writer *c = &writer->columns[i];
            OC_TRY(fill_column(writer, c, &batch->columns[c->top], start, start + n, err));
            held += c->ready_bytes + oci_parquet_page_weight(c) / UNPACKED_SHARE;
        }
        start += n;
        writer->group_rows += n;
        if (held >= writer->options.row_group_bytes ||
            writer->group_rows == writer->options.row_group_rows) {
            OC_TRY(oci_parquet_end_row_group(writer, err));
        }
    }
    return OC_OK;
}

static bool is_working_form(const oci_parquet_writer *writer, const oci_batch *batch)
{
    for (int32_t i = 0; i < writer->working->n_fields; i++) {
        if (!oci_field_same_type(&batch->schema->fields[i], &writer->working->fields[i])) {
            return false;
        }
    }
    return true;
}

static oc_status add_slice(oci_parquet_writer *writer, const oci_batch *batch, int64_t start,
                           int64_t n, bool is_working, oc_error *err)
{
    if (is_working) {
        return fill_columns(writer, batch, start, start + n, err);
    }
    oci_batch *made;
    OC_TRY(oci_gather_range(writer->working, batch, start, n, 0, writer->mem, NULL, &made, err));
    oc_status status = fill_columns(writer, made, 0, n, err);
    oci_batch_release(made);
    return status;
}

static oc_status add_batch(oci_parquet_writer *writer, const oci_batch *batch, oc_error *err)
{
    int64_t block_bytes = oci_env_block_bytes(writer->env);
    bool is_working = is_working_form(writer, batch);
    if (is_working && batch->bytes > 0 && batch->bytes <= 2 * block_bytes) {
        return add_slice(writer, batch, 0, batch->length, true, err);
    }
    for (int64_t start = 0; start < batch->length;) {
        int64_t n;
        OC_TRY(oci_gather_range_fit(writer->working, batch, start, batch->length - start,
                                    block_bytes, writer->mem, &n, NULL, err));
        OC_TRY(oci_env_check_cancel(writer->env, err));
        OC_TRY(add_slice(writer, batch, start, n, is_working, err));
        start += n;
    }
    return OC_OK;
}

/* What is done after a failure is nothing, with the same failure. */
static oc_status give_failure(const oci_parquet_writer *writer, oc_error *err)
{
    if (writer->failure.status != OC_OK && err != NULL) {
        *err = writer->failure;
    }
    return writer->failure.status;
}

oc_status oci_parquet_writer_add(oci_parquet_writer *writer, const oci_batch *batch, oc_error *err)
{
    if (writer->failure.status == OC_OK) {
        writer->failure.status = add_batch(writer, batch, &writer->failure);
    }
    return give_failure(writer, err);
}

static oc_status finish(oci_parquet_writer *writer, oc_error *err)
{
    OC_TRY(oci_parquet_end_row_group(writer, err));
    oci_text_clear(&writer->tail);
    OC_TRY(oci_parquet_footer_append(&writer->metadata, &writer->row_groups, &writer->tail, err));
    return oci_parquet_put(writer, writer->tail.data, writer->tail.length, err);
}

oc_status oci_parquet_writer_finish(oci_parquet_writer *writer, oc_error *err)
{
    if (writer->failure.status == OC_OK) {
        writer->failure.status = finish(writer, &writer->failure);
    }
    return give_failure(writer, err);
}
