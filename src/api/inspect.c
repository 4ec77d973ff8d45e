/* oc_inspect: what is in a file, as text for people. Names of types come from malloc, one at a time:
 * as long as the type is wide and deep, which does not grow with rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/context.h"
#include "api/file_format.h"
#include "api/inspect_print.h"
#include "api/spill_input.h"
#include "base/text.h"
#include "formats/csv.h"
#include "ipc/summary.h"
#include "spill/run_summary.h"
#include "spill/stream_metadata.h"

void oci_print(const oci_printer *p, const char *fmt, ...)
{
    char line[1024];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (n > 0) {
        p->print(line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1, p->arg);
    }
}

/* The whole type, however long it is: nested ones can be. malloc'ed; NULL when out of memory. */
static char *make_type_text(const oci_field *field)
{
    for (size_t size = 256;; size *= 4) {
        char *text = malloc(size);
        if (text == NULL) {
            return NULL;
        }
        oci_field_type_text(field, text, size);
        if (strlen(text) < size - 1) {
            return text;
        }
        free(text);
    }
}

oc_status oci_print_columns(const oci_printer *p, const oci_schema *schema,
                            void (*note)(const oci_printer *p, const void *arg, int32_t i),
                            const void *arg, oc_error *err)
{
    oci_print(p, "columns: %d\n", schema->n_fields);
    for (int32_t i = 0; i < schema->n_fields; i++) {
        const oci_field *field = &schema->fields[i];
        char *type = make_type_text(field);
        if (type == NULL) {
            OC_FAIL(err, OC_ENOMEM, "could not name the type of column \"%s\": out of memory",
                    field->name);
        }
        oci_print(p, "  %-4d %-32s ", i + 1, field->name);
        p->print(type, strlen(type), p->arg);
        oci_print(p, "%s", field->nullable ? "" : " not null");
        if (note != NULL) {
            note(p, arg, i);
        }
        oci_print(p, "\n");
        free(type);
    }
    return OC_OK;
}

static oc_status show_schema(const oci_printer *p, const oci_schema *schema, oc_error *err)
{
    return oci_print_columns(p, schema, NULL, NULL, err);
}

static oc_status show_summary(const oci_printer *p, const oci_ipc_summary *s, oc_error *err)
{
    char body[OCI_BYTES_TEXT];
    char largest[OCI_BYTES_TEXT];
    char metadata[OCI_BYTES_TEXT];
    oci_print(p, "format: Arrow IPC %s\n", s->is_file_format ? "file" : "stream");
    if (!s->is_file_format) {
        oci_print(p, "streams: %" PRId64 "%s\n", s->streams,
                  s->has_end_marker ? "" : " (no end marker)");
    }
    oci_print(p, "rows: %" PRId64 "\n", s->rows);
    oci_print(p, "record batches: %" PRId64 " (up to %" PRId64 " rows, bodies up to %s)\n",
              s->batches, s->rows_max, oci_format_bytes(s->body_bytes_max, largest));
    oci_print(p, "dictionary batches: %" PRId64 "\n", s->dictionaries);
    oci_print(p, "compression: %s\n", oci_codec_name(s->codec));
    oci_print(p, "bytes: %s in bodies, %s in headers\n", oci_format_bytes(s->body_bytes, body),
              oci_format_bytes(s->metadata_bytes, metadata));
    return show_schema(p, s->schema, err);
}

/* ---- spill files ----------------------------------------------------------------------------- */

static void show_layouts(const oci_printer *p, const void *arg, int32_t i)
{
    static const char *const names[] = {"plain", "lengths", "packed"};
    const oci_run_column_summary *column = &((const oci_run_summary *)arg)->columns[i];
    char bytes[OCI_BYTES_TEXT];
    const char *between = ", ";
    for (int layout = 0; layout < OCI_COLUMN_LAYOUTS; layout++) {
        if (column->streams[layout] > 0) {
            oci_print(p, "%s%s", between, names[layout]);
            between = " or ";
        }
    }
    oci_print(p, ", %s", oci_format_bytes(column->bytes, bytes));
}

static void show_codecs(const oci_printer *p, const oci_run_summary *s)
{
    const char *between = "compression: ";
    for (int codec = 0; codec < OCI_CODECS; codec++) {
        if (s->blocks_of[codec] == 0) {
            continue;
        }
        oci_print(p, "%s%s", between, oci_codec_name((oci_codec_id)codec));
        if (s->blocks_of[codec] < s->blocks) {
            oci_print(p, " (%" PRId64 " of %" PRId64 " blocks)", s->blocks_of[codec], s->blocks);
        }
        between = ", ";
    }
    oci_print(p, "%s\n", s->blocks == 0 ? "compression: none" : "");
}

static oc_status show_spill(const oci_printer *p, const oci_run_summary *s, int64_t memory_bytes,
                            oc_error *err)
{
    char body[OCI_BYTES_TEXT];
    char largest[OCI_BYTES_TEXT];
    char metadata[OCI_BYTES_TEXT];
    char memory[OCI_BYTES_TEXT];
    oci_print(p, "format: spill file of Outcore, version %s\n", OCI_SPILL_VERSION);
    oci_print(p, "rows: %" PRId64 "\n", s->rows);
    oci_print(p, "streams: %" PRId64 "\n", s->streams);
    oci_print(p, "blocks: %" PRId64 " (up to %" PRId64 " rows, bodies up to %s)\n", s->blocks,
              s->rows_max, oci_format_bytes(s->body_bytes_max, largest));
    show_codecs(p, s);
    oci_print(p, "checksums: %s\n", s->has_checksums ? "verified" : "none");
    oci_print(p, "bytes: %s in bodies, %s in headers; %s in memory\n",
              oci_format_bytes(s->body_bytes, body), oci_format_bytes(s->metadata_bytes, metadata),
              oci_format_bytes(memory_bytes, memory));
    return oci_print_columns(p, s->schema, show_layouts, s, err);
}

/* Reads all rows, which verifies them. Takes the file. */
static oc_status verify_spill(oc_context *context, oci_file *file, int64_t *memory_bytes,
                              oc_error *err)
{
    oci_stream *stream;
    *memory_bytes = 0;
    OC_TRY(oci_spill_input_open(context, file, memory_bytes, &stream, err));
    oc_status status;
    oci_batch *batch = NULL;
    do {
        status = oci_env_tick(&context->env, err);
        if (status == OC_OK) {
            status = oci_stream_next(stream, &batch, err);
        }
        if (status == OC_OK) {
            oci_batch_release(batch);
        }
    } while (status == OC_OK && batch != NULL);
    oci_stream_close(stream);
    return status;
}

/* Takes the file. */
static oc_status inspect_spill(oc_context *context, oci_file *file, const oci_printer *p,
                               oc_error *err)
{
    oci_run_summary summary;
    oc_status status = oci_run_summarize(file, context->scan, &summary, err);
    int64_t memory_bytes;
    /* What is damaged is told better by who reads the rows. */
    oc_status verified = verify_spill(context, file, &memory_bytes, err);
    status = verified != OC_OK ? verified : status;
    if (status == OC_OK) {
        status = show_spill(p, &summary, memory_bytes, err);
    }
    oci_run_summary_deinit(&summary);
    return status;
}

/* ---- all files ------------------------------------------------------------------------------- */

static oc_status inspect_csv(oc_context *context, const char *path, const oc_read_options *options,
                             const oci_printer *p, oc_error *err)
{
    struct ArrowArrayStream c_stream;
    OC_TRY(oc_read_files(context, &path, 1, options, &c_stream, err));
    oci_stream *stream;
    OC_TRY(oci_stream_import(&c_stream, &stream, err));
    int64_t rows = 0;
    oc_status status;
    oci_batch *batch;
    while ((status = oci_stream_next(stream, &batch, err)) == OC_OK && batch != NULL) {
        rows += batch->length;
        oci_batch_release(batch);
    }
    if (status == OC_OK) {
        oci_print(p, "format: delimited text\nrows: %" PRId64 "\n", rows);
        status = show_schema(p, stream->schema, err);
    }
    oci_stream_close(stream);
    return status;
}

static bool is_arrow(oc_format format)
{
    return format == OC_FORMAT_ARROW || format == OC_FORMAT_ARROWS;
}

/* Takes the file. */
static oc_status inspect_arrow(oc_context *context, oci_file *file, bool physical,
                               const oci_printer *p, oc_error *err)
{
    bool is_spill = false;
    oc_status status = physical ? OC_OK : oci_is_spill_input(file, &is_spill, err);
    if (status == OC_OK && is_spill) {
        return inspect_spill(context, file, p, err);
    }
    oci_ipc_summary summary;
    if (status == OC_OK) {
        status = oci_ipc_summarize(file, context->scan, &summary, err);
    }
    if (status == OC_OK) {
        status = show_summary(p, &summary, err);
        oci_ipc_summary_deinit(&summary);
    }
    oci_close(file, NULL);
    return status;
}

oc_status oc_inspect(oc_context *context, const char *path, const oc_read_options *options,
                     void (*print)(const char *text, size_t size, void *arg), void *arg,
                     oc_error *error)
{
    oci_printer p = {.print = print, .arg = arg};
    const oci_io *io = context->env.io;
    oc_read_options given = OC_READ_OPTIONS_INIT;
    if (options != NULL) {
        OC_TRY(oci_copy_options(&given, options, options->struct_size, sizeof given, "read options",
                                error));
    }
    bool is_stdin = strcmp(path, "-") == 0;
    oc_format format = given.format == OC_FORMAT_AUTO ? oci_format_of_name(path) : given.format;
    oci_file *file;
    if (is_stdin) {
        OC_TRY(io->wrap(io, STDIN_FILENO, "standard input", &file, error));
    } else {
        OC_TRY(oci_open(io, path, OCI_OPEN_READ, &file, error));
    }
    if (format == OC_FORMAT_AUTO) {
        OC_TRY(oci_format_of_content(&file, &format, error));
    }
    if (format == OC_FORMAT_PARQUET) {
        return oci_inspect_parquet(context, file, given.physical, &p, error);
    }
    if (is_arrow(format)) {
        return inspect_arrow(context, file, given.physical, &p, error);
    }
    bool is_pipe = !file->seekable;
    oci_close(file, NULL);
    if (is_stdin || is_pipe) {
        /* Text is opened a second time, to be read as by oc_read_files(). */
        OC_FAIL(error, OC_EUNSUPPORTED, "could not inspect %s: only Arrow can be inspected there",
                is_stdin ? "standard input" : "a pipe");
    }
    return inspect_csv(context, path, options, &p, error);
}
