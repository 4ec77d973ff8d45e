/* See spill_input.h. The struct comes from malloc: one per open file.
 *
 * A spill manager of its own says how files are read: with checksums verified and not sealed, whatever
 * the context wants of the files that it writes. */
#include "api/spill_input.h"

#include <stdlib.h>

#include "base/bits.h"
#include "ipc/reader.h"
#include "spill/run.h"
#include "spill/run_summary.h"

typedef struct spill_input {
    oci_stream base; /* must be first */
    oc_context *context;
    oci_spill_manager *manager;
    oci_spill_file *file;
    oci_run_decoder *decoder;
    oci_run_cursor cursor;
    oci_batch *block; /* is given out in slices; NULL: read the next one */
    int64_t given;    /* rows of it */
    int64_t counted;  /* bytes told to the progress */
    int64_t *memory_bytes;
} spill_input;

oc_status oci_is_spill_input(oci_file *file, bool *out, oc_error *err)
{
    *out = false;
    if (!file->seekable) {
        return OC_OK;
    }
    oci_schema *schema;
    oc_status status = oci_ipc_read_schema(file, &schema, err);
    if (status == OC_EDATA || status == OC_EUNSUPPORTED) {
        return OC_OK;
    }
    OC_TRY(status);
    *out = oci_is_spill_schema(schema);
    oci_schema_release(schema);
    return OC_OK;
}

static oc_status read_block(spill_input *self, oc_error *err)
{
    OC_TRY(oci_run_cursor_next(&self->cursor, self->decoder, &self->block, err));
    atomic_fetch_add(&self->context->progress.input_bytes, self->cursor.at - self->counted);
    self->counted = self->cursor.at;
    self->given = 0;
    if (self->block != NULL && self->memory_bytes != NULL) {
        *self->memory_bytes += self->block->slab_bytes;
    }
    return OC_OK;
}

static oc_status input_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    spill_input *self = (spill_input *)stream;
    *out = NULL;
    if (self->block == NULL) {
        OC_TRY(read_block(self, err));
    }
    oci_batch *block = self->block;
    if (block == NULL) {
        return OC_OK;
    }
    int64_t n = oci_min64(block->length - self->given, self->context->env.batch_rows);
    if (n == block->length) {
        *out = block;
        self->block = NULL;
        return OC_OK;
    }
    OC_TRY(oci_batch_slice(block, self->given, n, out, err));
    self->given += n;
    if (self->given == block->length) {
        oci_batch_release(block);
        self->block = NULL;
    }
    return OC_OK;
}

static void input_close(oci_stream *stream)
{
    spill_input *self = (spill_input *)stream;
    oci_batch_release(self->block);
    if (self->cursor.file != NULL) {
        oci_run_cursor_finish(&self->cursor);
    }
    oci_run_decoder_destroy(self->decoder);
    oci_spill_file_close(self->file);
    oci_spill_manager_release(self->manager);
    oci_schema_release(self->base.schema);
    free(self);
}

/* Takes the file. The first block is read for the schema. */
static oc_status open_input(spill_input *self, oci_file *file, oc_error *err)
{
    oc_context *context = self->context;
    oci_spill_settings settings = {.clock = context->env.clock};
    int64_t size;
    oc_status status = oci_file_size(file, &size, err);
    if (status == OC_OK) {
        status = oci_spill_manager_create(context->env.io, &settings, &self->manager, err);
    }
    if (status != OC_OK) {
        oci_close(file, NULL);
        return status;
    }
    OC_TRY(oci_spill_file_wrap(self->manager, file, size, &self->file, err));
    OC_TRY(oci_run_decoder_create(self->manager, NULL, false, context->scan, &self->decoder, err));
    oci_run_extent extent = {.bytes = size};
    oci_run_cursor_start(&self->cursor, self->file, &extent);
    self->cursor.is_kept = true;
    OC_TRY(read_block(self, err));
    self->base.schema = oci_schema_retain(oci_run_decoder_schema(self->decoder));
    return OC_OK;
}

oc_status oci_spill_input_open(oc_context *context, oci_file *file, int64_t *memory_bytes,
                               oci_stream **out, oc_error *err)
{
    spill_input *self = calloc(1, sizeof *self);
    if (self == NULL) {
        OC_SET(err, OC_ENOMEM, "could not open \"%s\": out of memory", file->name);
        oci_close(file, NULL);
        return OC_ENOMEM;
    }
    self->base = (oci_stream){.next = input_next, .close = input_close};
    self->context = context;
    self->memory_bytes = memory_bytes;
    oc_status status = open_input(self, file, err);
    if (status != OC_OK) {
        input_close(&self->base);
        return status;
    }
    *out = &self->base;
    return OC_OK;
}
