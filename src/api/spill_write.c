/* Spill writers for other engines: arrays come in, are collected into blocks, and go to a run in a file
 * of its own. See outcore/spill.h. Writers and names come from malloc, one for each file. */
#include <stdlib.h>
#include <string.h>

#include "api/spill_handles.h"
#include "base/bits.h"
#include "spill/batch_collector.h"

/* All writers together may collect a quarter of the memory limit: while it is written a block takes
 * about three times its size more. Blocks of less than the least cost more than they save. */
#define COLLECT_SHARE          4
#define SHARED_BLOCK_BYTES_MIN ((int64_t)16 << 10)

struct oc_spill_writer {
    oc_spill_manager *manager;
    oci_schema *schema;
    oci_spill_file *file;
    oci_file *named; /* under `file`; NULL without a name */
    char *path;
    oci_run_writer *run;
    oci_batch_collector *collector; /* NULL: batches are kept as they are */
    int64_t rows;                   /* appended ... */
    int64_t batches;
    int64_t rows_written;
    int64_t blocks;
    bool is_finished;
    oc_status status; /* sticky */
    oc_error error;
};

/* ---- life ------------------------------------------------------------------------------------ */

static oc_status open_named(oc_spill_writer *writer, const char *path, oc_error *err)
{
    oc_spill_manager *manager = writer->manager;
    writer->path = strdup(path);
    if (writer->path == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not create spill file \"%s\": out of memory", path);
    }
    OC_TRY(oci_open(manager->env.io, path, OCI_OPEN_OUTPUT, &writer->named, err));
    return oci_spill_file_wrap(manager->spill, writer->named, 0, &writer->file, err);
}

static oc_status open_writer(oc_spill_writer *writer, const struct ArrowSchema *declared,
                             const char *path, oc_error *err)
{
    oc_spill_manager *manager = writer->manager;
    OC_TRY(oci_schema_import(declared, &writer->schema, err));
    if (path != NULL) {
        OC_TRY(open_named(writer, path, err));
    } else {
        OC_TRY(oci_spill_file_open(manager->spill, &writer->file, err));
    }
    OC_TRY(oci_run_writer_create(writer->file, writer->schema, manager->writing, NULL, &writer->run,
                                 err));
    if (!manager->keep_batches) {
        OC_TRY(oci_batch_collector_create(writer->schema, oci_run_writer_head_bytes(writer->run),
                                          manager->writing, &writer->collector, err));
    }
    return oci_run_writer_begin(writer->run, err);
}

oc_status oc_spill_writer_create(oc_spill_manager *manager, const struct ArrowSchema *declared,
                                 const char *path, oc_spill_writer **out, oc_error *error)
{
    oc_spill_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        OC_FAIL(error, OC_ENOMEM, "could not create a spill writer: out of memory");
    }
    writer->manager = oci_spill_handle_retain(manager);
    atomic_fetch_add(&manager->writers, 1);
    oc_status status = open_writer(writer, declared, path, error);
    if (status != OC_OK) {
        oc_spill_writer_destroy(writer);
        return status;
    }
    *out = writer;
    return OC_OK;
}

/* What is needed for writing alone. */
static void end_writing(oc_spill_writer *writer)
{
    if (!writer->is_finished) {
        writer->is_finished = true;
        atomic_fetch_sub(&writer->manager->writers, 1);
    }
    oci_batch_collector_destroy(writer->collector);
    oci_run_writer_destroy(writer->run);
    writer->collector = NULL;
    writer->run = NULL;
}

void oc_spill_writer_destroy(oc_spill_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    end_writing(writer);
    oci_spill_file_close(writer->file);
    oci_schema_release(writer->schema);
    oci_spill_handle_release(writer->manager);
    free(writer->path);
    free(writer);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int64_t block_bytes(oc_spill_manager *manager)
{
    int64_t limit = oci_budget_limit(manager->env.budget);
    int64_t writers = atomic_load(&manager->writers);
    int64_t fair = oci_max64(limit / (COLLECT_SHARE * writers), SHARED_BLOCK_BYTES_MIN);
    return oci_min64(manager->block_bytes, fair);
}

static oc_status write_block(oc_spill_writer *writer, oci_batch *block, oc_error *err)
{
    int64_t rows = block->length;
    oc_status status = oci_run_writer_add(writer->run, block, err);
    /* Else many writers would hold the limit between them while they wait for rows. */
    oci_run_writer_unreserve(writer->run);
    OC_TRY(status);
    writer->rows_written += rows;
    writer->blocks++;
    return OC_OK;
}

static oc_status write_ready(oc_spill_writer *writer, bool all, oc_error *err)
{
    while (writer->collector != NULL) {
        oci_batch *block;
        OC_TRY(oci_batch_collector_next(writer->collector, all, &block, err));
        if (block == NULL) {
            break;
        }
        OC_TRY(write_block(writer, block, err));
    }
    return OC_OK;
}

static oc_status append_batch(oc_spill_writer *writer, oci_batch *batch, oc_error *err)
{
    if (writer->collector == NULL) {
        return write_block(writer, batch, err);
    }
    if (batch->length == 0) {
        oci_batch_release(batch);
        return OC_OK;
    }
    OC_TRY(oci_batch_collector_add(writer->collector, batch, block_bytes(writer->manager), err));
    return write_ready(writer, false, err);
}

static oc_status append_array(oc_spill_writer *writer, struct ArrowArray *array, oc_error *err)
{
    oci_batch *batch;
    OC_TRY(oci_batch_import(array, writer->schema, &batch, err));
    oc_status status = oci_batch_validate_rows(batch, err);
    if (status != OC_OK) {
        oci_batch_release(batch);
        return status;
    }
    int64_t rows = batch->length;
    OC_TRY(append_batch(writer, batch, err));
    writer->rows += rows;
    writer->batches++;
    atomic_fetch_add(&writer->manager->rows, rows);
    atomic_fetch_add(&writer->manager->batches, 1);
    return OC_OK;
}

static oc_status report(const oc_spill_writer *writer, oc_error *err)
{
    if (writer->status != OC_OK && err != NULL) {
        *err = writer->error;
    }
    return writer->status;
}

oc_status oc_spill_writer_append(oc_spill_writer *writer, struct ArrowArray *batch, oc_error *error)
{
    if (writer->status == OC_OK && writer->is_finished) {
        writer->status = OC_SET(&writer->error, OC_EINVAL,
                                "could not append to a spill writer that is finished");
    }
    if (writer->status == OC_OK) {
        writer->status = append_array(writer, batch, &writer->error);
    } else if (batch->release != NULL) {
        batch->release(batch);
        batch->release = NULL;
    }
    return report(writer, error);
}

oc_status oc_spill_writer_flush(oc_spill_writer *writer, oc_error *error)
{
    if (writer->status == OC_OK) {
        writer->status = write_ready(writer, true, &writer->error);
    }
    return report(writer, error);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Gives the file its name, and opens it once more, for reading. */
static oc_status publish(oc_spill_writer *writer, int64_t size, oc_error *err)
{
    oc_spill_manager *manager = writer->manager;
    const oci_io *io = manager->env.io;
    OC_TRY(io->publish(io, writer->named, writer->path, err));
    oci_spill_file_close(writer->file);
    writer->file = NULL;
    oci_file *file;
    OC_TRY(oci_open(io, writer->path, OCI_OPEN_READ, &file, err));
    return oci_spill_file_wrap(manager->spill, file, size, &writer->file, err);
}

static oc_status finish(oc_spill_writer *writer, oc_spill_file **out, oc_error *err)
{
    OC_TRY(write_ready(writer, true, err));
    oci_run_extent extent;
    OC_TRY(oci_run_writer_finish(writer->run, &extent, err));
    end_writing(writer);
    if (writer->path != NULL) {
        OC_TRY(publish(writer, extent.bytes, err));
    }
    oci_spill_file *file = writer->file;
    writer->file = NULL;
    OC_TRY(oci_spill_file_handle(writer->manager, file, out, err));
    (*out)->extent = extent;
    (*out)->schema = oci_schema_retain(writer->schema);
    (*out)->batches = writer->batches;
    (*out)->has_name = writer->path != NULL;
    return OC_OK;
}

oc_status oc_spill_writer_finish(oc_spill_writer *writer, oc_spill_file **out, oc_error *error)
{
    *out = NULL;
    if (writer->status == OC_OK && writer->is_finished) {
        writer->status = OC_SET(&writer->error, OC_EINVAL, "could not finish a spill writer twice");
    }
    if (writer->status == OC_OK) {
        writer->status = finish(writer, out, &writer->error);
    }
    return report(writer, error);
}

void oc_spill_writer_info(const oc_spill_writer *writer, oc_spill_info *out)
{
    *out = (oc_spill_info){
        .rows = writer->rows,
        .batches = writer->batches,
        .blocks = writer->blocks,
        .rows_written = writer->rows_written,
        .disk_bytes = writer->file != NULL ? oci_spill_file_end(writer->file) : 0,
    };
}
