/* Batches out as text: what is the same for all formats. See text_writer.h.
 *
 * A writer holds one buffer and one tree of formatters per column, charged to its account. The first error
 * is kept: after it every call gives it again, so that a caller can check at the end. */
#include "formats/text_writer.h"

#include <string.h>

#include "base/bits.h"
#include "formats/text_internal.h"

oc_status oci_text_sink_flush(oci_text_sink *sink, oc_error *err)
{
    int64_t used = sink->used;
    sink->used = 0; /* also when it fails: the writer gives up then */
    return used == 0 ? OC_OK : sink->drain(sink, sink->data, used, err);
}

oc_status oci_text_sink_write(oci_text_sink *sink, const char *bytes, int64_t length, oc_error *err)
{
    if (sink->used + length > sink->capacity) {
        OC_TRY(oci_text_sink_flush(sink, err));
        if (length > sink->capacity / 2) {
            return sink->drain(sink, bytes, length, err);
        }
    }
    if (length > 0) {
        memcpy(sink->data + sink->used, bytes, (size_t)length);
        sink->used += length;
    }
    return OC_OK;
}

oc_status oci_text_sink_hex(oci_text_sink *sink, const uint8_t *bytes, int64_t n, oc_error *err)
{
    const int64_t piece = sink->capacity / 4;
    while (n > 0) {
        int64_t now = oci_min64(n, piece);
        OC_TRY(oci_text_sink_reserve(sink, 2 * now, err));
        oci_format_hex(bytes, now, sink->data + sink->used);
        sink->used += 2 * now;
        bytes += now;
        n -= now;
    }
    return OC_OK;
}

static oc_status drain_to_file(oci_text_sink *sink, const char *bytes, int64_t length,
                               oc_error *err)
{
    return oci_write(sink->target, bytes, length, err);
}

static const oci_text_ops *ops_of(oci_text_format format)
{
    switch (format) {
    case OCI_TEXT_JSON:
    case OCI_TEXT_NDJSON: return &oci_json_text_ops;
    case OCI_TEXT_TABLE: return &oci_table_text_ops;
    case OCI_TEXT_CSV: break;
    }
    return &oci_csv_text_ops;
}

/* Keeps the options, with a copy of the null text. */
static oc_status take_options(oci_text_writer *writer, const oci_text_options *options,
                              oc_error *err)
{
    writer->options = *options;
    const char *null_text = options->null_text;
    if (null_text == NULL) {
        null_text = writer->format == OCI_TEXT_TABLE ? "NULL" : "";
    }
    writer->options.null_text = NULL;
    writer->null_length = (int64_t)strlen(null_text);
    void *copy;
    OC_TRY(oci_mem_alloc(writer->mem, writer->null_length + 1, &copy, err));
    memcpy(copy, null_text, (size_t)writer->null_length + 1);
    writer->options.null_text = copy;
    return OC_OK;
}

static oc_status open_writer(oci_text_writer *writer, const oci_text_options *options,
                             oc_error *err)
{
    const oci_schema *schema = writer->schema;
    OC_TRY(take_options(writer, options, err));
    void *block;
    int64_t formatter_bytes = schema->n_fields * (int64_t)sizeof *writer->formatters;
    OC_TRY(oci_mem_alloc(writer->mem, formatter_bytes, &block, err));
    writer->formatters = block;
    memset(block, 0, (size_t)formatter_bytes);
    for (int32_t i = 0; i < schema->n_fields; i++) {
        OC_TRY(oci_formatter_init(&writer->formatters[i], &schema->fields[i], writer->mem, err));
    }
    OC_TRY(oci_mem_alloc(writer->mem, OCI_TEXT_BUFFER_BYTES, &block, err));
    writer->sink.data = block;
    return writer->ops->begin(writer, err);
}

oc_status oci_text_writer_open(const oci_env *env, oci_file *file, oci_schema *schema,
                               oci_text_format format, const oci_text_options *options,
                               oci_mem *mem, oci_text_writer **out, oc_error *err)
{
    *out = NULL;
    void *block;
    OC_TRY(oci_mem_alloc(mem, (int64_t)sizeof(oci_text_writer), &block, err));
    oci_text_writer *writer = block;
    *writer = (oci_text_writer){
        .env = env,
        .ops = ops_of(format),
        .mem = mem,
        .schema = oci_schema_retain(schema),
        .format = format,
        .sink = {.drain = drain_to_file, .target = file, .capacity = OCI_TEXT_BUFFER_BYTES}};
    oc_status status = open_writer(writer, options, err);
    if (status != OC_OK) {
        oci_text_writer_destroy(writer);
        return status;
    }
    *out = writer;
    return OC_OK;
}

/* Keeps the outcome of a step and reports it. */
static oc_status keep(oci_text_writer *writer, oc_status status, oc_error *err)
{
    writer->failed = status;
    if (status != OC_OK && err != NULL) {
        *err = writer->error;
    }
    return status;
}

oc_status oci_text_writer_add(oci_text_writer *writer, const oci_batch *batch, oc_error *err)
{
    if (writer->failed == OC_OK) {
        writer->failed = oci_env_check_cancel(writer->env, &writer->error);
    }
    if (writer->failed == OC_OK) {
        writer->failed = writer->ops->add(writer, batch, &writer->error);
        writer->rows += batch->length;
    }
    return keep(writer, writer->failed, err);
}

oc_status oci_text_writer_finish(oci_text_writer *writer, oc_error *err)
{
    if (writer->failed == OC_OK) {
        writer->failed = writer->ops->end(writer, &writer->error);
    }
    if (writer->failed == OC_OK) {
        writer->failed = oci_text_sink_flush(&writer->sink, &writer->error);
    }
    return keep(writer, writer->failed, err);
}

void oci_text_writer_destroy(oci_text_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    if (writer->sink.data != NULL) { /* only then was the format begun */
        writer->ops->deinit(writer);
        oci_mem_free(writer->mem, writer->sink.data, OCI_TEXT_BUFFER_BYTES);
    }
    if (writer->formatters != NULL) {
        for (int32_t i = 0; i < writer->schema->n_fields; i++) {
            oci_formatter_deinit(&writer->formatters[i], writer->mem);
        }
        oci_mem_free(writer->mem, writer->formatters,
                     writer->schema->n_fields * (int64_t)sizeof *writer->formatters);
    }
    if (writer->options.null_text != NULL) {
        oci_mem_free(writer->mem, (void *)(uintptr_t)writer->options.null_text,
                     writer->null_length + 1);
    }
    oci_schema_release(writer->schema);
    oci_mem_free(writer->mem, writer, (int64_t)sizeof *writer);
}
