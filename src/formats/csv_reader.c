/* CSV files as a stream of batches. See csv.h.
 *
 * The path of a batch
 *   window (csv_window.h)   a stretch of text that begins with a record
 *   scan (csv_scan.h)       positions of the records and fields in it, as many as a batch takes
 *   fit                     fewer rows when their slab would pass the block
 *   fill (csv_column.h)     one slab, column by column, in the order of an IPC body
 *
 * Memory: window, positions and slab of about a block each. When the slab is refused the batch is
 * halved until it is one row; a row that does not fit is OC_EBUDGET. The column array of a batch
 * comes from malloc, as batches do; its size is that of the schema.
 *
 * A bad record ends the stream, after the good ones before it were handed out. Errors are kept and
 * given again. */
#include "formats/csv.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/text.h"
#include "formats/csv_shape.h"

typedef struct {
    oci_stream stream; /* first */
    const oci_env *env;
    oci_mem *mem;
    oci_csv_window window;
    oci_csv_shape shape;
    int64_t block_bytes;
    uint32_t *positions; /* of positions_records records */
    int64_t positions_records;
    uint8_t *bitmap;   /* validity of the column being filled */
    int64_t row_bytes; /* what a row took in the last batch */
    oc_status failed;  /* once not OC_OK, every next() gives `error` */
    oc_error error;
} csv_reader;

static int64_t positions_bytes(const csv_reader *r)
{
    return r->positions_records * (r->shape.n_fields + INT64_C(1)) * (int64_t)sizeof(uint32_t);
}

static int64_t bitmap_bytes(const csv_reader *r)
{
    return oci_round_up(oci_bytes_for_bits(r->positions_records), 8);
}

/* ---- errors ---------------------------------------------------------------------------------- */

enum { VALUE_TEXT_MAX = 160 };

/* The value for a message: at most 40 bytes, what is not printable ASCII or valid-looking UTF-8 as
 * \xHH. */
static const char *value_text(const uint8_t *text, int64_t length, char out[VALUE_TEXT_MAX + 8])
{
    const int64_t shown_max = 40;
    int64_t at = 0;
    for (int64_t i = 0; i < length && i < shown_max; i++) {
        uint8_t byte = text[i];
        if (byte < 0x20 || byte == 0x7F || byte >= 0xF8) {
            at += snprintf(out + at, 8, "\\x%02x", byte);
        } else {
            out[at++] = (char)byte;
        }
    }
    out[at] = '\0';
    if (length > shown_max) {
        while (at > 0 && ((uint8_t)out[at - 1] & 0xC0) == 0x80) { /* no character cut in two */
            at--;
        }
        at -= at > 0 && (uint8_t)out[at - 1] >= 0xC0;
        memcpy(out + at, "...", 4);
    }
    return out;
}

static int64_t line_of(const csv_reader *r, int64_t position)
{
    const oci_csv_window *w = &r->window;
    return w->line + oci_csv_count_byte(w->data + w->start, position - w->start, '\n');
}

static oc_status fail_value(const csv_reader *r, const oci_csv_rows *rows,
                            const oci_csv_column *column, int64_t row, oci_parse_result why,
                            oc_error *err)
{
    int64_t length;
    bool quoted;
    const uint8_t *text = oci_csv_field_text(rows, row, column->source, &length, &quoted);
    char type[128];
    char value[VALUE_TEXT_MAX + 8];
    oci_field_type_text(column->field, type, sizeof type);
    int64_t line = line_of(r, text - quoted - rows->data);
    const char *reason = oci_parse_reason(why);
    if (why == OCI_PARSE_NULL) {
        OC_FAIL(err, OC_EDATA,
                "file \"%s\", line %" PRId64 ", column %" PRId32 " (\"%s\"): value is null but %s",
                r->window.file->name, line, column->source + 1, column->field->name, reason);
    }
    OC_FAIL(err, OC_EDATA,
            "file \"%s\", line %" PRId64 ", column %" PRId32
            " (\"%s\"): could not read \"%s\" as %s%s%s%s; %s",
            r->window.file->name, line, column->source + 1, column->field->name,
            value_text(text, length, value), type,
            column->inferred ? ", the type guessed from the first lines" : "",
            reason[0] != '\0' ? ": " : "", reason,
            column->inferred ? "declare the column with --columns or fix the line"
                             : "fix the line or declare another type");
}

/* A record that the scanner refused, at the start of the window. */
static oc_status fail_record(const csv_reader *r, const oci_csv_scan *scan, oci_csv_stop stop,
                             oc_error *err)
{
    const oci_csv_window *w = &r->window;
    const oci_csv_dialect *dialect = &r->shape.dialect;
    int64_t n_fields = 0;
    if (stop == OCI_CSV_STOP_AFTER_QUOTE) {
        OC_FAIL(err, OC_EDATA,
                "file \"%s\", line %" PRId64
                ": a closing quote is followed by text; double the quotes inside a quoted field",
                w->file->name, line_of(r, scan->problem_at));
    }
    (void)oci_csv_scan_one(w->data, w->size, w->start, dialect, NULL, NULL, &n_fields, NULL);
    if (dialect->trailing_delimiter) {
        n_fields--; /* the empty one behind the last delimiter, unless that is missing */
        if (n_fields == r->shape.n_fields || n_fields + 1 == r->shape.n_fields) {
            OC_FAIL(err, OC_EDATA,
                    "file \"%s\", line %" PRId64 ": record does not end with the delimiter '%c'",
                    w->file->name, w->line, dialect->delimiter);
        }
    }
    OC_FAIL(err, OC_EDATA,
            "file \"%s\", line %" PRId64 ": record has %" PRId64 " %s instead of %" PRId32
            "; fix the line, or quote fields that hold the delimiter",
            w->file->name, w->line, n_fields, n_fields == 1 ? "field" : "fields",
            r->shape.n_fields);
}

/* ---- a batch --------------------------------------------------------------------------------- */

/* One pointer and one size per column, for columns of views: they have one buffer each. */
typedef struct {
    const uint8_t *bytes;
    int64_t size;
} view_buffer;

static int64_t slab_bound(const csv_reader *r, const oci_csv_rows *rows)
{
    int64_t bound = OCI_CSV_FILL_SLACK;
    for (int32_t i = 0; i < r->stream.schema->n_fields; i++) {
        bound += oci_csv_column_bound(&r->shape.columns[i], rows);
    }
    return bound;
}

/* Cuts the rows so that their slab is about a block. Returns the bound. */
static int64_t fit_rows(const csv_reader *r, oci_csv_rows *rows)
{
    int64_t bound = slab_bound(r, rows);
    while (rows->n_rows > 1 && bound > r->block_bytes + r->block_bytes / 4) {
        int64_t fewer = (int64_t)((double)rows->n_rows * ((double)r->block_bytes / (double)bound));
        rows->n_rows = oci_max64(1, oci_min64(fewer, rows->n_rows - 1));
        bound = slab_bound(r, rows);
    }
    return bound;
}

/* Describes a filled column, after putting the validity in front when there are nulls. Returns the
 * end of its buffers. */
static uint8_t *finish_column(const csv_reader *r, const oci_csv_fill *fill, int64_t n_rows,
                              uint8_t *to, view_buffer *view, oci_column *column)
{
    oci_layout layout = oci_field_layout(column->field);
    column->length = n_rows;
    column->null_count = fill->null_count;
    if (layout == OCI_LAYOUT_NULL) {
        column->null_count = n_rows;
        return to;
    }
    int64_t values_bytes = oci_round_up(fill->values_bytes, 8);
    int64_t buffers_bytes = values_bytes + oci_round_up(fill->bytes_size, 8);
    if (fill->null_count > 0) {
        int64_t validity_bytes = oci_round_up(oci_bytes_for_bits(n_rows), 8);
        memmove(to + validity_bytes, to, (size_t)buffers_bytes);
        memcpy(to, r->bitmap, (size_t)validity_bytes);
        column->validity = to;
        to += validity_bytes;
    }
    column->values = to;
    if (layout == OCI_LAYOUT_OFFSETS32 || layout == OCI_LAYOUT_OFFSETS64) {
        column->bytes = to + values_bytes;
    } else if (layout == OCI_LAYOUT_VIEWS) {
        *view = (view_buffer){to + values_bytes, fill->bytes_size};
        column->view_buffers = &view->bytes;
        column->view_sizes = &view->size;
        column->n_view_buffers = 1;
    }
    return to + buffers_bytes;
}

/* Fills all columns of `rows` into the slab; *end is where the last buffer ends. */
static oc_status fill_slab(const csv_reader *r, const oci_csv_rows *rows, uint8_t *slab,
                           oci_column *columns, view_buffer *views, uint8_t **end, oc_error *err)
{
    uint8_t *to = slab;
    for (int32_t i = 0; i < r->stream.schema->n_fields; i++) {
        const oci_csv_column *column = &r->shape.columns[i];
        oci_csv_fill fill;
        oci_csv_column_fill(column, rows, to, r->bitmap, &fill);
        if (fill.bad_row >= 0) {
            return fail_value(r, rows, column, fill.bad_row, fill.why, err);
        }
        columns[i].field = &r->stream.schema->fields[i];
        to = finish_column(r, &fill, rows->n_rows, to, &views[i], &columns[i]);
    }
    *end = to;
    return OC_OK;
}

static bool has_views(const oci_schema *schema)
{
    for (int32_t i = 0; i < schema->n_fields; i++) {
        if (oci_field_layout(&schema->fields[i]) == OCI_LAYOUT_VIEWS) {
            return true;
        }
    }
    return false;
}

static oc_status make_batch(csv_reader *r, const oci_csv_rows *rows, int64_t slab_bytes,
                            oci_batch **out, oc_error *err)
{
    oci_schema *schema = r->stream.schema;
    void *slab;
    OC_TRY(oci_mem_alloc(r->mem, slab_bytes, &slab, err));
    int64_t views_bytes = ((int64_t)schema->n_fields + 1) * (int64_t)sizeof(view_buffer);
    oci_column *columns = calloc((size_t)schema->n_fields + 1, sizeof *columns);
    view_buffer *views = calloc(1, (size_t)views_bytes);
    uint8_t *end = slab;
    oc_status status = OC_OK;
    if (columns == NULL || views == NULL) {
        status = OC_SET(err, OC_ENOMEM, "out of memory while making a batch");
    } else {
        status = fill_slab(r, rows, slab, columns, views, &end, err);
    }
    if (status != OC_OK) {
        free(columns);
        free(views);
        oci_mem_free(r->mem, slab, slab_bytes);
        return status;
    }
    assert(end <= (uint8_t *)slab + slab_bytes - OCI_CSV_FILL_SLACK);
    int64_t body_bytes = end - (uint8_t *)slab;
    OC_TRY(oci_batch_adopt(schema, rows->n_rows, columns, r->mem, slab, slab_bytes, views,
                           views_bytes, out, err));
    (*out)->head_bytes = 0;
    (*out)->body_bytes = has_views(schema) ? -1 : body_bytes;
    r->row_bytes = body_bytes / rows->n_rows + 1;
    return OC_OK;
}

/* A slab that the budget refuses even for one row: name the line and a limit that works. */
static oc_status fail_row_over_budget(const csv_reader *r, int64_t slab_bytes, oc_error *err)
{
    int64_t needed = oci_csv_window_needed(&r->window, slab_bytes);
    char row_text[OCI_BYTES_TEXT];
    char limit_text[OCI_BYTES_TEXT];
    char needed_text[OCI_BYTES_TEXT];
    OC_SET(err, OC_EBUDGET,
           "file \"%s\", line %" PRId64
           ": a row of %s does not fit the memory limit of %s; use a limit of at least %s",
           r->window.file->name, r->window.line, oci_format_bytes(slab_bytes, row_text),
           oci_format_bytes(oci_budget_limit(oci_mem_budget(r->mem)), limit_text),
           oci_format_bytes_up(needed, needed_text));
    if (err != NULL) {
        err->needed_bytes = needed;
    }
    return OC_EBUDGET;
}

/* Makes a batch of the first rows of a scan and consumes their text. */
static oc_status take_batch(csv_reader *r, const oci_csv_scan *scan, oci_batch **out, oc_error *err)
{
    oci_csv_rows rows = {.data = r->window.data,
                         .positions = r->positions,
                         .stride = r->shape.n_fields + 1,
                         .n_rows = scan->n_records,
                         .quote = r->shape.dialect.quote,
                         .null_text = r->shape.null_text,
                         .null_length = r->shape.null_length};
    int64_t bound = fit_rows(r, &rows);
    oc_status status = make_batch(r, &rows, bound, out, err);
    while (status == OC_EBUDGET && rows.n_rows > 1) {
        rows.n_rows /= 2;
        bound = slab_bound(r, &rows);
        status = make_batch(r, &rows, bound, out, err);
    }
    if (status == OC_EBUDGET) {
        return fail_row_over_budget(r, bound, err);
    }
    OC_TRY(status);
    int64_t next = scan->start;
    if (rows.n_rows < scan->n_records) {
        next = (int64_t)r->positions[rows.n_rows * rows.stride] + 1;
    }
    oci_csv_window_consume(&r->window, next);
    return OC_OK;
}

static oc_status next_batch(csv_reader *r, oci_batch **out, oc_error *err)
{
    oci_csv_window *w = &r->window;
    OC_TRY(oci_env_check_cancel(r->env, err));
    OC_TRY(oci_csv_window_refill(w, err));
    for (;;) {
        int64_t wanted = oci_max64(1, r->block_bytes / r->row_bytes);
        oci_csv_scan scan = {.data = w->data,
                             .size = w->size,
                             .dialect = r->shape.dialect,
                             .n_fields = r->shape.n_fields,
                             .records_max = oci_min64(wanted, r->positions_records),
                             .positions = r->positions,
                             .start = w->start};
        oci_csv_stop stop = oci_csv_scan_records(&scan);
        if (scan.n_records > 0) {
            return take_batch(r, &scan, out, err);
        }
        oci_csv_window_consume(w, scan.start); /* blank lines */
        if (stop != OCI_CSV_STOP_MORE) {
            return fail_record(r, &scan, stop, err);
        }
        if (w->at_end) {
            return w->start < w->size ? oci_csv_window_fail_open_quote(w, &r->shape.dialect, err)
                                      : OC_OK;
        }
        OC_TRY(oci_csv_window_more(w, &r->shape.dialect, err));
    }
}

static oc_status reader_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    csv_reader *r = (csv_reader *)stream;
    *out = NULL;
    if (r->failed == OC_OK) {
        r->failed = next_batch(r, out, &r->error);
    }
    if (r->failed != OC_OK && err != NULL) {
        *err = r->error;
    }
    return r->failed;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void reader_close(oci_stream *stream)
{
    csv_reader *r = (csv_reader *)stream;
    if (r->positions != NULL) {
        oci_mem_free(r->mem, r->positions, positions_bytes(r));
    }
    if (r->bitmap != NULL) {
        oci_mem_free(r->mem, r->bitmap, bitmap_bytes(r));
    }
    oci_csv_shape_deinit(&r->shape);
    oci_csv_window_deinit(&r->window);
    oci_mem_free(r->mem, r, (int64_t)sizeof *r);
}

/* Positions for as many records as a batch can take, and not more than a block of them. */
static oc_status allocate_scratch(csv_reader *r, oc_error *err)
{
    int64_t record_bytes = (r->shape.n_fields + INT64_C(1)) * (int64_t)sizeof(uint32_t);
    r->positions_records =
        oci_max64(1, oci_min64(r->env->batch_rows, r->block_bytes / record_bytes));
    void *block;
    OC_TRY(oci_mem_alloc(r->mem, positions_bytes(r), &block, err));
    r->positions = block;
    OC_TRY(oci_mem_alloc(r->mem, bitmap_bytes(r), &block, err));
    r->bitmap = block;
    r->row_bytes = 1;
    for (int32_t i = 0; i < r->stream.schema->n_fields; i++) {
        /* 8: a guess for short texts, corrected by the first batch. */
        r->row_bytes += oci_csv_column_row_bytes(&r->shape.columns[i]) +
                        (oci_csv_column_has_bytes(&r->shape.columns[i]) ? 8 : 0);
    }
    return OC_OK;
}

static oc_status open_reader(csv_reader *r, oci_file *file, const oci_csv_options *options,
                             oc_error *err)
{
    OC_TRY(oci_csv_window_init(&r->window, r->env, file, r->block_bytes, r->mem,
                               options->bytes_read, err));
    OC_TRY(oci_csv_shape_find(&r->shape, &r->window, options, r->mem, err));
    r->stream.schema = r->shape.schema;
    return allocate_scratch(r, err);
}

oc_status oci_csv_reader_open(const oci_env *env, oci_file *file, const oci_csv_options *options,
                              oci_mem *mem, oci_stream **out, oc_error *err)
{
    *out = NULL;
    void *block;
    oc_status status = oci_mem_alloc(mem, (int64_t)sizeof(csv_reader), &block, err);
    if (status != OC_OK) {
        (void)oci_close(file, NULL);
        return status;
    }
    csv_reader *r = block;
    *r = (csv_reader){.stream = {.next = reader_next, .close = reader_close},
                      .env = env,
                      .mem = mem,
                      .block_bytes = options->block_bytes > 0 ? options->block_bytes
                                                              : oci_env_block_bytes(env)};
    status = open_reader(r, file, options, err);
    if (status != OC_OK) {
        reader_close(&r->stream);
        return status;
    }
    *out = &r->stream;
    return OC_OK;
}
