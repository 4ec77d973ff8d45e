/* oc_write_file: runs a stream to its end and writes what it gives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/context.h"
#include "api/file_format.h"
#include "api/files.h"
#include "base/bits.h"
#include "base/text.h"
#include "formats/parquet/parquet_writer.h"
#include "formats/text_writer.h"
#include "ipc/writer.h"

/* How many requests as large as a refused one may have to be granted together. */
#define REQUESTS_AT_ONCE 8

/* One of the writers behind one face. */
typedef struct sink {
    oci_ipc_writer *ipc;
    oci_text_writer *text;
    oci_parquet_writer *parquet; /* all NULL: rows are counted only */
} sink;

static oci_codec_id body_codec(oc_codec codec)
{
    switch (codec) {
    case OC_CODEC_LZ4: return OCI_CODEC_LZ4_FRAME;
    case OC_CODEC_ZSTD: return OCI_CODEC_ZSTD;
    default: return OCI_CODEC_NONE;
    }
}

static oc_status open_text(oc_context *context, oci_file *file, oci_schema *schema,
                           oci_text_format format, const oc_write_options *given, char delimiter,
                           sink *out, oc_error *err)
{
    oci_text_options options = {
        .delimiter = given->delimiter != 0 ? given->delimiter : delimiter,
        .header = given->header != 2,
        .null_text = given->null_text,
        .width = given->table_width,
        .max_rows = given->max_rows,
    };
    return oci_text_writer_open(&context->env, file, schema, format, &options, context->output,
                                &out->text, err);
}

/* Codecs that only Parquet has. */
static oc_status open_arrow(oc_context *context, oci_file *file, oci_schema *schema,
                            const oc_write_options *options, sink *out, oc_error *err)
{
    if (options->codec > OC_CODEC_ZSTD) {
        OC_FAIL(err, OC_EINVAL,
                "could not write \"%s\": Arrow has no such compression; take none, lz4 or zstd",
                file->name);
    }
    return oci_ipc_writer_open(&context->env, file, schema, options->format == OC_FORMAT_ARROW,
                               body_codec(options->codec), 0, context->output, &out->ipc, err);
}

static oc_status open_parquet(oc_context *context, oci_file *file, oci_schema *schema,
                              const oc_write_options *given, sink *out, oc_error *err)
{
    static const oci_parquet_codec codecs[] = {
        [OC_CODEC_AUTO] = OCI_PARQUET_ZSTD,     [OC_CODEC_NONE] = OCI_PARQUET_UNCOMPRESSED,
        [OC_CODEC_LZ4] = OCI_PARQUET_LZ4_RAW,   [OC_CODEC_ZSTD] = OCI_PARQUET_ZSTD,
        [OC_CODEC_SNAPPY] = OCI_PARQUET_SNAPPY, [OC_CODEC_GZIP] = OCI_PARQUET_GZIP,
        [OC_CODEC_BROTLI] = OCI_PARQUET_BROTLI,
    };
    if ((int)given->codec < 0 || given->codec > OC_CODEC_BROTLI) {
        OC_FAIL(err, OC_EINVAL, "unknown codec %d", (int)given->codec);
    }
    if (given->row_group_rows < 0 || given->row_group_bytes < 0) {
        OC_FAIL(err, OC_EINVAL, "the size of row groups must not be negative");
    }
    oci_parquet_write_options options = {
        .codec = codecs[given->codec],
        .level = given->codec_level,
        .row_group_rows = given->row_group_rows,
        .row_group_bytes = given->row_group_bytes,
    };
    return oci_parquet_writer_open(&context->env, file, schema, &options, &out->parquet, err);
}

static oc_status open_sink(oc_context *context, oci_file *file, oci_schema *schema,
                           const oc_write_options *options, sink *out, oc_error *err)
{
    switch (options->format) {
    case OC_FORMAT_CSV:
        return open_text(context, file, schema, OCI_TEXT_CSV, options, ',', out, err);
    case OC_FORMAT_TSV:
        return open_text(context, file, schema, OCI_TEXT_CSV, options, '\t', out, err);
    case OC_FORMAT_JSON:
        return open_text(context, file, schema, OCI_TEXT_JSON, options, 0, out, err);
    case OC_FORMAT_NDJSON:
        return open_text(context, file, schema, OCI_TEXT_NDJSON, options, 0, out, err);
    case OC_FORMAT_TABLE:
        return open_text(context, file, schema, OCI_TEXT_TABLE, options, 0, out, err);
    case OC_FORMAT_ARROW:
    case OC_FORMAT_ARROWS: return open_arrow(context, file, schema, options, out, err);
    case OC_FORMAT_PARQUET: return open_parquet(context, file, schema, options, out, err);
    case OC_FORMAT_NULL: return OC_OK;
    default:
        OC_FAIL(err, OC_EUNSUPPORTED, "could not write \"%s\": this format can be read only",
                file->name);
    }
}

static oc_status add_to_sink(sink *s, const oci_batch *batch, oc_error *err)
{
    if (s->ipc != NULL) {
        return oci_ipc_writer_add(s->ipc, batch, err);
    }
    if (s->parquet != NULL) {
        return oci_parquet_writer_add(s->parquet, batch, err);
    }
    return s->text != NULL ? oci_text_writer_add(s->text, batch, err) : OC_OK;
}

static oc_status finish_sink(sink *s, oc_error *err)
{
    if (s->ipc != NULL) {
        return oci_ipc_writer_finish(s->ipc, err);
    }
    if (s->parquet != NULL) {
        return oci_parquet_writer_finish(s->parquet, err);
    }
    return s->text != NULL ? oci_text_writer_finish(s->text, err) : OC_OK;
}

/* The budget names what one refused request would have taken. Readers and writers make a few such
 * requests after another (a dictionary that came, the one kept for the file, its message), so a
 * limit that is enough is named instead. Errors that carry their own advice stay as they are. */
static void name_enough_memory(const oc_context *context, oc_error *err)
{
    char *advice = err == NULL ? NULL : strstr(err->message, "; raise the memory limit");
    if (advice == NULL) {
        return;
    }
    oci_budget *budget = context->env.budget;
    int64_t request = oci_max64(0, err->needed_bytes - oci_budget_used(budget));
    err->needed_bytes = oci_max64(2 * oci_budget_limit(budget), REQUESTS_AT_ONCE * request);
    char text[OCI_BYTES_TEXT];
    int64_t used = advice - err->message;
    snprintf(advice, sizeof err->message - (size_t)used, "; a limit of %s is enough",
             oci_format_bytes_up(err->needed_bytes, text));
}

static oc_status drain(oc_context *context, oci_stream *input, sink *s, int64_t *rows,
                       oc_error *err)
{
    for (;;) {
        OC_TRY(oci_env_tick(&context->env, err));
        oci_batch *batch;
        OC_TRY(oci_stream_next(input, &batch, err));
        if (batch == NULL) {
            return finish_sink(s, err);
        }
        *rows += batch->length;
        oc_status status = add_to_sink(s, batch, err);
        oci_batch_release(batch);
        OC_TRY(status);
    }
}

static oc_status write_stream(oc_context *context, oci_stream *input, oci_file *file,
                              const oc_write_options *options, int64_t *rows, oc_error *err)
{
    sink s = {0};
    oc_status status = open_sink(context, file, input->schema, options, &s, err);
    if (status == OC_OK) {
        status = drain(context, input, &s, rows, err);
    }
    oci_ipc_writer_destroy(s.ipc);
    oci_text_writer_destroy(s.text);
    oci_parquet_writer_destroy(s.parquet);
    return status;
}

/* For system calls that tell what is at a path, right after one of them. */
static oc_status fail_create(const char *path, oc_error *err)
{
    int errnum = errno;
    char buffer[128];
    OC_FAIL_ERRNO(err, errnum == ENOMEM ? OC_ENOMEM : OC_EIO, errnum,
                  "could not create file \"%s\": %s", path,
                  oci_strerror(errnum, buffer, sizeof buffer));
}

/* Devices and pipes are written directly; a regular file (or none yet) is replaced when the new one
 * is complete. When that cannot be told nothing is written: a device must not be replaced. */
static oc_status find_kind(const char *path, bool *direct, oc_error *err)
{
    struct stat info;
    if (stat(path, &info) == 0) {
        *direct = !S_ISREG(info.st_mode);
        return OC_OK;
    }
    if (errno == ENOENT) {
        *direct = false;
        return OC_OK;
    }
    return fail_create(path, err);
}

static oc_status open_output(oc_context *context, const char *path, bool *direct, oci_file **out,
                             oc_error *err)
{
    const oci_io *io = context->env.io;
    *direct = true;
    if (strcmp(path, "-") == 0) {
        return io->wrap(io, STDOUT_FILENO, "standard output", out, err);
    }
    OC_TRY(find_kind(path, direct, err));
    return oci_open(io, path, *direct ? OCI_OPEN_CREATE : OCI_OPEN_OUTPUT, out, err);
}

static oc_status write_to_target(oc_context *context, oci_stream *input, const char *path,
                                 const oc_write_options *options, int64_t *rows, oc_error *err)
{
    oci_file *file = NULL;
    bool direct = true;
    OC_TRY(open_output(context, path, &direct, &file, err));
    oc_status status = write_stream(context, input, file, options, rows, err);
    if (status == OC_EBUDGET) {
        name_enough_memory(context, err);
    }
    if (status == OC_OK && !direct) {
        status = context->env.io->publish(context->env.io, file, path, err);
        direct = status != OC_OK;
    }
    oc_status closed = oci_close(file, status == OC_OK && direct ? err : NULL);
    return status != OC_OK || !direct ? status : closed;
}

/* A symbolic link stays, and what it points to is replaced; *out is malloc'ed, NULL when the path is
 * no link, or one to nothing, which is replaced itself. */
static oc_status resolve_link(const char *path, char **out, oc_error *err)
{
    struct stat info;
    *out = NULL;
    if (strcmp(path, "-") == 0) {
        return OC_OK;
    }
    if (lstat(path, &info) != 0) {
        return errno == ENOENT ? OC_OK : fail_create(path, err);
    }
    if (!S_ISLNK(info.st_mode)) {
        return OC_OK;
    }
    *out = realpath(path, NULL);
    return *out != NULL || errno == ENOENT ? OC_OK : fail_create(path, err);
}

static oc_status write_to_path(oc_context *context, oci_stream *input, const char *path,
                               const oc_write_options *options, int64_t *rows, oc_error *err)
{
    char *target;
    OC_TRY(resolve_link(path, &target, err));
    oc_status status =
        write_to_target(context, input, target != NULL ? target : path, options, rows, err);
    free(target);
    return status;
}

oc_status oci_write_file(oc_context *context, oci_stream *input, const char *path,
                         const oc_write_options *options, int64_t *rows, oc_error *err)
{
    oc_write_options given = *options;
    if (given.format == OC_FORMAT_AUTO) {
        given.format = oci_format_of_name(path);
        given.format = given.format == OC_FORMAT_AUTO ? OC_FORMAT_CSV : given.format;
    }
    if (given.format == OC_FORMAT_NULL) {
        sink nothing = {0};
        return drain(context, input, &nothing, rows, err);
    }
    return write_to_path(context, input, path, &given, rows, err);
}

oc_status oc_write_file(oc_context *context, struct ArrowArrayStream *input, const char *path,
                        const oc_write_options *options, int64_t *rows, oc_error *error)
{
    int64_t n = 0;
    if (rows != NULL) {
        *rows = 0;
    }
    oci_stream *stream;
    OC_TRY(oci_stream_import(input, &stream, error));
    oc_write_options given = OC_WRITE_OPTIONS_INIT;
    oc_status status = OC_OK;
    if (options != NULL) {
        status = oci_copy_options(&given, options, options->struct_size, sizeof given,
                                  "write options", error);
    }
    if (status == OC_OK) {
        status = oci_write_file(context, stream, path, &given, &n, error);
    }
    oci_stream_close(stream);
    if (rows != NULL) {
        *rows = n;
    }
    return status;
}
