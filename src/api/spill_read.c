/* Spill files read back as Arrow C streams. See outcore/spill.h. Streams come from malloc, one for each
 * that is open.
 *
 * The first block is read when the stream is opened: so a file of another schema, and one that cannot
 * be read at all, are told at once, and a file that says what it holds is asked. */
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "api/spill_handles.h"

typedef struct spill_stream {
    oci_stream base;     /* must be first */
    oc_spill_file *file; /* retained */
    oci_run_decoder *decoder;
    oci_run_cursor cursor;
    oci_batch *first; /* read, and not given out yet */
    bool is_counted;  /* among the streams of the file */
} spill_stream;

/* ---- how often a file may be read ------------------------------------------------------------ */

/* Counts one more stream, unless the file is given up already, or is to be now while others read. */
static oc_status begin_reading(oc_spill_file *file, bool consume, oc_error *err)
{
    int32_t streams = atomic_load(&file->streams);
    int32_t next;
    do {
        if (streams < 0) {
            OC_FAIL(err, OC_EINVAL, "could not read a spill file: it %s",
                    file->is_sequential ? "comes from a source, which is read once"
                                        : "was consumed by an earlier stream");
        }
        if (consume && streams > 0) {
            OC_FAIL(err, OC_EINVAL,
                    "could not consume a spill file: %d other streams are reading it", streams);
        }
        next = consume || file->is_sequential ? OCI_SPILL_CONSUMED : streams + 1;
    } while (!atomic_compare_exchange_weak(&file->streams, &streams, next));
    return OC_OK;
}

static void end_reading(oc_spill_file *file)
{
    if (atomic_load(&file->streams) != OCI_SPILL_CONSUMED) {
        atomic_fetch_sub(&file->streams, 1);
    }
}

/* ---- the stream ------------------------------------------------------------------------------ */

static oc_status spill_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    spill_stream *self = (spill_stream *)stream;
    if (self->first != NULL) {
        *out = self->first;
        self->first = NULL;
        return OC_OK;
    }
    return oci_run_cursor_next(&self->cursor, self->decoder, out, err);
}

static void spill_close(oci_stream *stream)
{
    spill_stream *self = (spill_stream *)stream;
    oci_batch_release(self->first);
    oci_run_cursor_finish(&self->cursor);
    oci_run_decoder_destroy(self->decoder);
    oci_schema_release(self->base.schema);
    if (self->is_counted) {
        end_reading(self->file);
    }
    oc_spill_file_release(self->file);
    free(self);
}

/* `wanted` NULL: what the file says. */
static oc_status open_stream(spill_stream *self, oci_schema *wanted, bool consume, oc_error *err)
{
    oc_spill_file *file = self->file;
    OC_TRY(begin_reading(file, consume, err));
    self->is_counted = true;
    bool is_ours = file->schema != NULL;
    OC_TRY(oci_run_decoder_create(file->manager->spill, wanted != NULL ? wanted : file->schema,
                                  is_ours && !file->has_name, file->manager->reading,
                                  &self->decoder, err));
    oci_run_cursor_start(&self->cursor, file->file, &file->extent);
    self->cursor.is_kept = !consume;
    OC_TRY(oci_run_cursor_next(&self->cursor, self->decoder, &self->first, err));
    self->base.schema = oci_schema_retain(oci_run_decoder_schema(self->decoder));
    return OC_OK;
}

static void release_manager(void *arg)
{
    oci_spill_handle_release(arg);
}

static oc_status read_file(oc_spill_file *file, oci_schema *wanted, bool consume,
                           struct ArrowArrayStream *out, oc_error *err)
{
    spill_stream *self = calloc(1, sizeof *self);
    if (self == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not read a spill file: out of memory");
    }
    self->base = (oci_stream){.next = spill_next, .close = spill_close};
    self->file = oc_spill_file_retain(file);
    oc_status status = open_stream(self, wanted, consume, err);
    if (status != OC_OK) {
        spill_close(&self->base);
        return status;
    }
    /* The manager's account is used by the stream until it is released, which is after close. */
    oc_spill_manager *manager = oci_spill_handle_retain(file->manager);
    status = oci_stream_export(&self->base, self->base.schema, manager->reading, release_manager,
                               manager, out, err);
    if (status != OC_OK) {
        oci_spill_handle_release(manager);
    }
    return status;
}

oc_status oc_spill_file_read(oc_spill_file *file, const struct ArrowSchema *expected,
                             const oc_spill_read_options *options, struct ArrowArrayStream *out,
                             oc_error *error)
{
    out->release = NULL;
    oc_spill_read_options given = OC_SPILL_READ_OPTIONS_INIT;
    if (options != NULL) {
        OC_TRY(oci_copy_options(&given, options, options->struct_size, sizeof given,
                                "spill read options", error));
    }
    if (given.consume && (file->has_name || file->is_sequential)) {
        OC_FAIL(error, OC_EINVAL,
                "could not consume a spill file: only files without a name can be");
    }
    oci_schema *wanted = NULL;
    if (expected != NULL) {
        OC_TRY(oci_schema_import(expected, &wanted, error));
    }
    oc_status status = read_file(file, wanted, given.consume, out, error);
    oci_schema_release(wanted);
    return status;
}

/* ---- by name --------------------------------------------------------------------------------- */

/* Takes the file. */
static oc_status open_handle(oc_spill_manager *manager, oci_file *file, int64_t size,
                             bool is_sequential, oc_spill_file **out, oc_error *err)
{
    oci_spill_file *wrapped;
    OC_TRY(oci_spill_file_wrap(manager->spill, file, size, &wrapped, err));
    OC_TRY(oci_spill_file_handle(manager, wrapped, out, err));
    (*out)->extent.bytes = size;
    (*out)->has_name = true;
    (*out)->is_sequential = is_sequential;
    return OC_OK;
}

oc_status oc_spill_file_open(oc_spill_manager *manager, const char *path, oc_spill_file **out,
                             oc_error *error)
{
    oci_file *file;
    OC_TRY(oci_open(manager->env.io, path, OCI_OPEN_READ, &file, error));
    int64_t size = 0;
    oc_status status = oci_file_size(file, &size, error);
    if (status == OC_OK && !file->seekable) {
        status = OC_SET(error, OC_EINVAL,
                        "could not open \"%s\" as a spill file: it is a pipe; give its bytes as a "
                        "source",
                        path);
    }
    if (status != OC_OK) {
        oci_close(file, NULL);
        return status;
    }
    return open_handle(manager, file, size, false, out, error);
}

oc_status oc_spill_file_open_source(oc_spill_manager *manager, const oc_spill_source *source,
                                    oc_spill_file **out, oc_error *error)
{
    oci_file *file;
    OC_TRY(oci_source_open(source, &file, error));
    return open_handle(manager, file, source->size, true, out, error);
}
