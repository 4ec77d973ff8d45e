/* Writes runs. See run.h for the format and the order of calls, and block_encoder.h for how a batch
 * becomes a block.
 *
 * The struct comes from malloc, one per operator.
 *
 * One batch is in flight at most: add() waits until the worker is done with the one before, so that
 * memory is two slabs and what encoding takes. The encoder and the fields below "worker side" belong
 * to the worker while the task is in flight, and to the caller otherwise; oci_worker_wait() is the
 * hand-over in both directions. */
#include "spill/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "spill/block_encoder.h"

struct oci_run_writer {
    oci_spill_file *file;
    oci_spill_manager *manager;
    oci_mem *mem;
    oci_worker *worker;
    oci_block_encoder *encoder;
    oci_reservation space; /* pays for what encoding takes; all of it, when it was set aside */
    bool is_reserved;
    oci_task task;
    bool in_run;

    /* worker side */
    oci_batch *batch;
    oci_run_extent extent;
    oc_status status; /* sticky within a run */
    oc_error error;
};

static void write_block(void *arg);

/* ---- life ------------------------------------------------------------------------------------ */

oc_status oci_run_writer_prepare(oci_spill_manager *manager, oci_schema *schema, oci_mem *mem,
                                 oci_worker *worker, oci_run_writer **out, oc_error *err)
{
    oci_run_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a spill writer: out of memory");
    }
    oc_status status = oci_block_encoder_create(manager, schema, mem, &writer->encoder, err);
    if (status != OC_OK) {
        free(writer);
        return status;
    }
    writer->manager = oci_spill_manager_retain(manager);
    writer->mem = mem;
    writer->worker = worker;
    writer->space.mem = mem;
    writer->task.run = write_block;
    writer->task.arg = writer;
    *out = writer;
    return OC_OK;
}

void oci_run_writer_set_file(oci_run_writer *writer, oci_spill_file *file)
{
    writer->file = file;
}

oc_status oci_run_writer_create(oci_spill_file *file, oci_schema *schema, oci_mem *mem,
                                oci_worker *worker, oci_run_writer **out, oc_error *err)
{
    OC_TRY(oci_run_writer_prepare(oci_spill_file_manager(file), schema, mem, worker, out, err));
    oci_run_writer_set_file(*out, file);
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
    oci_block_encoder_destroy(writer->encoder);
    oci_reservation_release(&writer->space);
    oci_spill_manager_release(writer->manager);
    free(writer);
}

int64_t oci_run_writer_head_bytes(const oci_run_writer *writer)
{
    return oci_block_encoder_head_bytes(writer->encoder);
}

int64_t oci_run_writer_space_for(const oci_run_writer *writer, int64_t slab_bytes, int64_t rows)
{
    return oci_block_encoder_space_for(writer->encoder, slab_bytes, rows);
}

int64_t oci_run_writer_space_least(const oci_run_writer *writer, int64_t slab_bytes)
{
    return oci_block_encoder_space_least(writer->encoder, slab_bytes);
}

oc_status oci_run_writer_reserve(oci_run_writer *writer, int64_t bytes, oc_error *err)
{
    wait_for_task(writer);
    writer->is_reserved = true;
    if (bytes <= writer->space.bytes) {
        return OC_OK;
    }
    return oci_mem_try_reserve(writer->mem, &writer->space, bytes, err);
}

void oci_run_writer_unreserve(oci_run_writer *writer)
{
    wait_for_task(writer);
    oci_reservation_release(&writer->space);
    writer->space.mem = writer->mem;
    writer->is_reserved = false;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Appends to the file and to the extent of the run. */
static oc_status append(oci_run_writer *writer, const uint8_t *data, int64_t size, oc_error *err)
{
    int64_t offset;
    int64_t start = oci_spill_now(writer->manager);
    OC_TRY(oci_spill_append(writer->file, data, size, &offset, err));
    int64_t ns = oci_spill_now(writer->manager) - start;
    OCI_SPILL_ADD(writer->manager, write_ns, ns);
    if (writer->manager->choice != NULL) {
        oci_codec_choice_note_write(writer->manager->choice, size, ns);
    }
    writer->extent.bytes += size;
    return OC_OK;
}

static void widen(int64_t *most, int64_t value)
{
    *most = oci_max64(*most, value);
}

/* A block is on disk. */
static void count_block(oci_run_writer *writer, const oci_batch *batch, const oci_block *block)
{
    oci_run_extent *extent = &writer->extent;
    extent->blocks++;
    extent->rows += batch->length;
    widen(&extent->block_rows_max, batch->length);
    widen(&extent->block_bytes_max, block->bytes);
    widen(&extent->slab_bytes_max, block->slab_bytes);
    widen(&extent->read_bytes_max, block->read_bytes);
    OCI_SPILL_ADD(writer->manager, spilled_rows, batch->length);
    OCI_SPILL_ADD(writer->manager, memory_bytes, block->plain_bytes);
}

static oc_status encode_block(oci_run_writer *writer, oci_batch *batch, oci_block *block,
                              oc_error *err)
{
    int64_t start = oci_spill_now(writer->manager);
    int64_t room = writer->is_reserved ? writer->space.bytes : INT64_MAX;
    OC_TRY(oci_block_encoder_encode(writer->encoder, batch, room, &writer->space, block, err));
    OCI_SPILL_ADD(writer->manager, encode_ns, oci_spill_now(writer->manager) - start);
    if (writer->manager->choice != NULL) {
        oci_codec_choice_note_encode(writer->manager->choice, block->codec, block->body_bytes,
                                     block->bytes, block->codec_ns);
    }
    return OC_OK;
}

static oc_status encode_and_write(oci_run_writer *writer, oci_batch *batch, oc_error *err)
{
    oci_block block;
    OC_TRY(encode_block(writer, batch, &block, err));
    if (block.opening_bytes > 0) {
        OC_TRY(append(writer, block.opening, block.opening_bytes, err));
    }
    OC_TRY(append(writer, block.data, block.bytes, err));
    count_block(writer, batch, &block);
    return OC_OK;
}

/* The task: on the worker, or at once on the caller. */
static void write_block(void *arg)
{
    oci_run_writer *writer = arg;
    if (writer->status == OC_OK) {
        writer->status = encode_and_write(writer, writer->batch, &writer->error);
        /* Buffers go back to what was set aside, to pay for the next block. */
        oci_block_encoder_trim(writer->encoder, &writer->space);
    }
    oci_batch_release(writer->batch);
    writer->batch = NULL;
}

/* ---- runs ------------------------------------------------------------------------------------ */

oc_status oci_run_writer_begin(oci_run_writer *writer, oc_error *err)
{
    wait_for_task(writer);
    writer->extent = (oci_run_extent){.offset = oci_spill_file_end(writer->file)};
    writer->status = OC_OK;
    OC_TRY(oci_block_encoder_begin(writer->encoder, writer->extent.run_id, err));
    writer->in_run = true;
    return OC_OK;
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

static oc_status write_end(oci_run_writer *writer, oc_error *err)
{
    const uint8_t *data;
    int64_t size;
    OC_TRY(oci_block_encoder_finish(writer->encoder, writer->extent.blocks, writer->extent.rows,
                                    &data, &size, err));
    /* Frames are read to memory of their own; other messages as short as these are not. */
    if (writer->manager->settings.is_sealed) {
        widen(&writer->extent.read_bytes_max, oci_mem_charge_of(size));
    }
    return append(writer, data, size, err);
}

oc_status oci_run_writer_finish(oci_run_writer *writer, oci_run_extent *out, oc_error *err)
{
    wait_for_task(writer);
    OC_TRY(report(writer, err));
    writer->status = write_end(writer, &writer->error);
    OC_TRY(report(writer, err));
    writer->in_run = false;
    OCI_SPILL_ADD(writer->manager, spill_count, 1);
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
