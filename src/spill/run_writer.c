/* Writes runs. See run.h for the format and the order of calls.
 *
 * The struct comes from malloc, one per operator.
 *
 * One batch is in flight at most: add() waits until the worker is done with the one before, so that
 * memory is two slabs and one encode buffer. The encoder and the fields below "worker side" belong
 * to the worker while the task is in flight, and to the caller otherwise; oci_worker_wait() is the
 * hand-over in both directions. */
#include "spill/run.h"

#include <stdlib.h>

#include "ipc/encoder.h"

struct oci_run_writer {
    oci_spill_file *file;
    oci_mem *mem;
    oci_worker *worker;
    oci_ipc_encoder *encoder;
    oci_reservation space; /* pays for the encoder's buffer */
    oci_task task;
    bool in_run;

    /* worker side */
    oci_batch *batch;
    oci_run_extent extent;
    oc_status status; /* sticky within a run */
    oc_error error;
};

static void write_block(void *arg);

oc_status oci_run_writer_create(oci_spill_file *file, oci_schema *schema, oci_mem *mem,
                                oci_worker *worker, oci_run_writer **out, oc_error *err)
{
    oci_run_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a spill writer: out of memory");
    }
    oci_spill_manager *manager = oci_spill_file_manager(file);
    oc_status status = oci_ipc_encoder_create(schema, manager->codec, manager->codec_level, mem,
                                              &writer->encoder, err);
    if (status != OC_OK) {
        free(writer);
        return status;
    }
    writer->file = file;
    writer->mem = mem;
    writer->worker = worker;
    writer->space.mem = mem;
    writer->task.run = write_block;
    writer->task.arg = writer;
    *out = writer;
    return OC_OK;
}

static void wait_for_task(oci_run_writer *writer)
{
    if (writer->worker != NULL) {
        oci_worker_wait(writer->worker, &writer->task);
    }
}

void oci_run_writer_destroy(oci_run_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    oci_run_writer_abandon(writer);
    oci_ipc_encoder_destroy(writer->encoder);
    oci_reservation_release(&writer->space);
    free(writer);
}

int64_t oci_run_writer_head_bytes(const oci_run_writer *writer)
{
    return oci_ipc_encoder_head_bytes(writer->encoder);
}

int64_t oci_run_writer_space_for(const oci_run_writer *writer, int64_t slab_bytes)
{
    return oci_mem_charge_of(oci_ipc_encoder_bound_bytes(writer->encoder, slab_bytes));
}

oc_status oci_run_writer_reserve(oci_run_writer *writer, int64_t bytes, oc_error *err)
{
    if (bytes <= writer->space.bytes) {
        return OC_OK;
    }
    return oci_mem_try_reserve(writer->mem, &writer->space, bytes, err);
}

/* Appends to the file and to the extent of the run. */
static oc_status append(oci_run_writer *writer, const uint8_t *data, int64_t size, oc_error *err)
{
    int64_t offset;
    OC_TRY(oci_spill_append(writer->file, data, size, &offset, err));
    writer->extent.bytes += size;
    return OC_OK;
}

oc_status oci_run_writer_begin(oci_run_writer *writer, oc_error *err)
{
    wait_for_task(writer);
    writer->extent = (oci_run_extent){.offset = oci_spill_file_end(writer->file)};
    writer->status = OC_OK;
    writer->in_run = true;
    uint8_t *data;
    int64_t size;
    OC_TRY(oci_ipc_encode_schema(writer->encoder, &data, &size, err));
    return append(writer, data, size, err);
}

static oc_status encode_and_write(oci_run_writer *writer, const oci_batch *batch, oc_error *err)
{
    uint8_t *data;
    int64_t size;
    /* Every block stands alone: dictionaries are sent with each. */
    oci_ipc_encoder_restart(writer->encoder);
    OC_TRY(oci_ipc_encode_batch(writer->encoder, batch, &writer->space, &data, &size, err));
    oc_status status = append(writer, data, size, err);
    /* The buffer goes back to what was set aside, to pay for the next block. */
    oci_ipc_encoder_trim(writer->encoder, &writer->space);
    OC_TRY(status);
    oci_run_extent *extent = &writer->extent;
    extent->blocks++;
    extent->rows += batch->length;
    if (batch->length > extent->block_rows_max) {
        extent->block_rows_max = batch->length;
    }
    if (size > extent->block_bytes_max) {
        extent->block_bytes_max = size;
    }
    int64_t slab = oci_mem_charge_of(batch->slab_bytes);
    if (slab > extent->slab_bytes_max) {
        extent->slab_bytes_max = slab;
    }
    atomic_fetch_add(&oci_spill_file_manager(writer->file)->counters.spilled_rows, batch->length);
    return OC_OK;
}

/* The task: on the worker, or at once on the caller. */
static void write_block(void *arg)
{
    oci_run_writer *writer = arg;
    if (writer->status == OC_OK) {
        writer->status = encode_and_write(writer, writer->batch, &writer->error);
    }
    oci_batch_release(writer->batch);
    writer->batch = NULL;
}

static oc_status report(oci_run_writer *writer, oc_error *err)
{
    if (writer->status != OC_OK && err != NULL) {
        *err = writer->error;
    }
    return writer->status;
}

oc_status oci_run_writer_add(oci_run_writer *writer, oci_batch *batch, oc_error *err)
{
    wait_for_task(writer);
    if (writer->status != OC_OK) {
        oci_batch_release(batch);
        return report(writer, err);
    }
    writer->batch = batch;
    if (writer->worker != NULL) {
        oci_worker_submit(writer->worker, &writer->task);
        return OC_OK;
    }
    write_block(writer);
    return report(writer, err);
}

oc_status oci_run_writer_finish(oci_run_writer *writer, oci_run_extent *out, oc_error *err)
{
    wait_for_task(writer);
    OC_TRY(report(writer, err));
    OC_TRY(append(writer, oci_ipc_end_marker(), OCI_IPC_PREFIX_BYTES, err));
    writer->in_run = false;
    atomic_fetch_add(&oci_spill_file_manager(writer->file)->counters.spill_count, 1);
    *out = writer->extent;
    return OC_OK;
}

void oci_run_writer_abandon(oci_run_writer *writer)
{
    wait_for_task(writer);
    if (writer->in_run) {
        writer->in_run = false;
        oci_spill_discard(writer->file, writer->extent.offset, writer->extent.bytes);
    }
}
