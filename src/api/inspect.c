/* oc_inspect: what is in a file, as text for people. Names of types come from malloc, one at a time:
 * as long as the type is wide and deep, which does not grow with rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/context.h"
#include "api/file_format.h"
#include "base/text.h"
#include "formats/csv.h"
#include "ipc/summary.h"

typedef struct printer {
    void (*print)(const char *text, size_t size, void *arg);
    void *arg;
} printer;

static void show(const printer *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void show(const printer *p, const char *fmt, ...)
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

static oc_status show_schema(const printer *p, const oci_schema *schema, oc_error *err)
{
    show(p, "columns: %d\n", schema->n_fields);
    for (int32_t i = 0; i < schema->n_fields; i++) {
        const oci_field *field = &schema->fields[i];
        char *type = make_type_text(field);
        if (type == NULL) {
            OC_FAIL(err, OC_ENOMEM, "could not name the type of column \"%s\": out of memory",
                    field->name);
        }
        show(p, "  %-4d %-32s ", i + 1, field->name);
        p->print(type, strlen(type), p->arg);
        show(p, "%s\n", field->nullable ? "" : " not null");
        free(type);
    }
    return OC_OK;
}

static oc_status show_summary(const printer *p, const oci_ipc_summary *s, oc_error *err)
{
    char body[OCI_BYTES_TEXT];
    char largest[OCI_BYTES_TEXT];
    char metadata[OCI_BYTES_TEXT];
    show(p, "format: Arrow IPC %s\n", s->is_file_format ? "file" : "stream");
    if (!s->is_file_format) {
        show(p, "streams: %" PRId64 "%s\n", s->streams,
             s->has_end_marker ? "" : " (no end marker)");
    }
    show(p, "rows: %" PRId64 "\n", s->rows);
    show(p, "record batches: %" PRId64 " (up to %" PRId64 " rows, bodies up to %s)\n", s->batches,
         s->rows_max, oci_format_bytes(s->body_bytes_max, largest));
    show(p, "dictionary batches: %" PRId64 "\n", s->dictionaries);
    show(p, "compression: %s\n", oci_codec_name(s->codec));
    show(p, "bytes: %s in bodies, %s in headers\n", oci_format_bytes(s->body_bytes, body),
         oci_format_bytes(s->metadata_bytes, metadata));
    return show_schema(p, s->schema, err);
}

static oc_status inspect_csv(oc_context *context, const char *path, const oc_read_options *options,
                             const printer *p, oc_error *err)
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
        show(p, "format: delimited text\nrows: %" PRId64 "\n", rows);
        status = show_schema(p, stream->schema, err);
    }
    oci_stream_close(stream);
    return status;
}

static bool is_arrow(oc_format format)
{
    return format == OC_FORMAT_ARROW || format == OC_FORMAT_ARROWS;
}

static oc_status inspect_arrow(oc_context *context, oci_file *file, const printer *p, oc_error *err)
{
    oci_ipc_summary summary;
    OC_TRY(oci_ipc_summarize(file, context->scan, &summary, err));
    oc_status status = show_summary(p, &summary, err);
    oci_ipc_summary_deinit(&summary);
    return status;
}

oc_status oc_inspect(oc_context *context, const char *path, const oc_read_options *options,
                     void (*print)(const char *text, size_t size, void *arg), void *arg,
                     oc_error *error)
{
    printer p = {.print = print, .arg = arg};
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
    oc_status status = OC_OK;
    if (is_arrow(format)) {
        status = inspect_arrow(context, file, &p, error);
    } else if (is_stdin || !file->seekable) {
        /* Text is opened a second time, to be read as by oc_read_files(). */
        status = OC_SET(error, OC_EUNSUPPORTED,
                        "could not inspect %s: only Arrow can be inspected there",
                        is_stdin ? "standard input" : "a pipe");
    }
    oci_close(file, NULL);
    if (status != OC_OK || is_arrow(format)) {
        return status;
    }
    return inspect_csv(context, path, options, &p, error);
}
