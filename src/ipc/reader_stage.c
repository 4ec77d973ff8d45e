/* From a pipe or a compressed body to a scratch file that can be read anywhere.
 *
 * Two scratch files at most: one for bodies as they came (from a pipe, when their buffers are
 * not in order or when the whole is wanted), one for the buffers of the wanted columns, each on
 * an 8-byte boundary, decompressed. Both are private and nameless, and written anew from the
 * start for each body, so that the disk space is that of the largest.
 *
 * Memory: a buffer for what is read and one for what is decompressed, each as large as a block
 * (16 KiB to 256 KiB), held while a body is staged. A length prefix is a claim: the disk space
 * grows with what the frames really give, and a frame that gives more than was announced is an
 * error at once. */
#include "ipc/reader_stage.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "ipc/decoder.h"

#define COPY_BYTES_MIN (16 * 1024)
#define COPY_BYTES_MAX (256 * 1024)

/* A buffer of a compressed body begins with its size; this one says that the bytes follow as
 * they are. */
#define NOT_COMPRESSED (-1)

/* The work of staging one body. */
typedef struct copy_job {
    oci_stage *stage;
    oci_body *from;
    oci_file *to;
    int64_t end;      /* bytes of `to` written so far */
    int64_t capacity; /* of each buffer */
    uint8_t *in;
    uint8_t *out; /* NULL when nothing is decompressed */
} copy_job;

void oci_stage_init(oci_stage *stage, const oci_env *env, oci_mem *mem, const char *folder)
{
    *stage = (oci_stage){.env = env, .mem = mem, .folder = folder};
}

void oci_stage_deinit(oci_stage *stage)
{
    /* Their contents have served: whether they close cleanly does not matter any more. */
    (void)oci_close(stage->raw, NULL);
    (void)oci_close(stage->columns, NULL);
    oci_codec_destroy(stage->codec);
    *stage = (oci_stage){0};
}

static oc_status open_scratch(oci_stage *stage, oci_file **file, oc_error *err)
{
    if (*file != NULL) {
        return OC_OK;
    }
    return oci_open(stage->env->io, stage->folder, OCI_OPEN_SCRATCH, file, err);
}

static oc_status prepare_codec(oci_stage *stage, oci_codec_id id, oc_error *err)
{
    if (stage->codec != NULL && stage->codec_id == id) {
        return OC_OK;
    }
    oci_codec_destroy(stage->codec);
    stage->codec = NULL;
    OC_TRY(oci_codec_create(id, 0, &stage->codec, err));
    stage->codec_id = id;
    return OC_OK;
}

static oc_status job_begin(copy_job *job, bool decompress, oc_error *err)
{
    oci_stage *stage = job->stage;
    job->capacity =
        oci_max64(COPY_BYTES_MIN, oci_min64(COPY_BYTES_MAX, oci_env_block_bytes(stage->env)));
    void *in = NULL;
    OC_TRY(oci_mem_alloc(stage->mem, job->capacity, &in, err));
    job->in = in;
    if (decompress) {
        void *out = NULL;
        OC_TRY(oci_mem_alloc(stage->mem, job->capacity, &out, err));
        job->out = out;
    }
    return OC_OK;
}

static void job_end(copy_job *job)
{
    oci_mem_free(job->stage->mem, job->in, job->capacity);
    oci_mem_free(job->stage->mem, job->out, job->capacity);
}

static oc_status job_write(copy_job *job, const void *bytes, int64_t size, oc_error *err)
{
    OC_TRY(oci_env_check_cancel(job->stage->env, err));
    OC_TRY(oci_pwrite(job->to, bytes, size, job->end, err));
    job->end += size;
    return OC_OK;
}

/* ---- bodies as they come --------------------------------------------------------------------- */

/* Copies up to `bytes` of the pipe; stops earlier only at its end. */
static oc_status copy_pipe(copy_job *job, oci_source *pipe, int64_t bytes, oc_error *err)
{
    while (job->end < bytes) {
        int64_t n_read = 0;
        OC_TRY(oci_source_read(pipe, job->in, oci_min64(job->capacity, bytes - job->end), &n_read,
                               err));
        if (n_read == 0) {
            break;
        }
        OC_TRY(job_write(job, job->in, n_read, err));
    }
    return OC_OK;
}

static oc_status stage_pipe(oci_stage *stage, oci_source *pipe, int64_t bytes, int64_t *copied,
                            oc_error *err)
{
    OC_TRY(open_scratch(stage, &stage->raw, err));
    copy_job job = {.stage = stage, .to = stage->raw};
    oc_status status = job_begin(&job, false, err);
    if (status == OC_OK) {
        status = copy_pipe(&job, pipe, bytes, err);
    }
    job_end(&job);
    *copied = job.end;
    return status;
}

oc_status oci_stage_raw(oci_stage *stage, oci_source *pipe, int64_t bytes, oci_body *body,
                        oc_error *err)
{
    int64_t position = pipe->position;
    int64_t copied = 0;
    OC_TRY(stage_pipe(stage, pipe, bytes, &copied, err));
    if (copied < bytes) {
        OC_FAIL(err, OC_EDATA,
                "body of %" PRId64 " bytes at byte %" PRId64 " ends %" PRId64
                " bytes early; the file is truncated",
                bytes, position, bytes - copied);
    }
    *body = (oci_body){.file = stage->raw, .bytes = bytes};
    return OC_OK;
}

oc_status oci_stage_rest(oci_stage *stage, oci_source *pipe, oci_file **file, int64_t *bytes,
                         oc_error *err)
{
    OC_TRY(stage_pipe(stage, pipe, INT64_MAX, bytes, err));
    /* The file is the input now and no longer a place for bodies. */
    *file = stage->raw;
    stage->raw = NULL;
    return OC_OK;
}

/* ---- reading bodies -------------------------------------------------------------------------- */

/* Takes body bytes [taken, offset) of a pipe out of the way. */
static oc_status skip_to(const oci_env *env, oci_body *body, int64_t offset, oc_error *err)
{
    uint8_t rubbish[OCI_SOURCE_AHEAD];
    while (body->taken < offset) {
        int64_t n = oci_min64((int64_t)sizeof rubbish, offset - body->taken);
        OC_TRY(oci_env_check_cancel(env, err));
        OC_TRY(oci_source_read_exact(body->pipe, rubbish, n, "body", err));
        body->taken += n;
    }
    return OC_OK;
}

oc_status oci_body_finish(const oci_env *env, oci_body *body, oc_error *err)
{
    return body->pipe != NULL ? skip_to(env, body, body->bytes, err) : OC_OK;
}

/* Reads bytes [offset, offset + size) of a body; they are inside it. */
static oc_status body_read(const oci_env *env, oci_body *body, int64_t offset, void *to,
                           int64_t size, oc_error *err)
{
    assert(offset >= 0 && size >= 0 && offset + size <= body->bytes);
    if (body->memory != NULL) {
        memcpy(to, body->memory + offset, (size_t)size);
        return OC_OK;
    }
    if (body->file != NULL) {
        return oci_pread_exact(body->file, to, size, body->offset + offset, err);
    }
    assert(offset >= body->taken);
    OC_TRY(skip_to(env, body, offset, err));
    OC_TRY(oci_source_read_exact(body->pipe, to, size, "body", err));
    body->taken += size;
    return OC_OK;
}

/* ---- columns --------------------------------------------------------------------------------- */

static oc_status copy_bytes(copy_job *job, int64_t offset, int64_t size, oc_error *err)
{
    while (size > 0) {
        int64_t n = oci_min64(size, job->capacity);
        OC_TRY(body_read(job->stage->env, job->from, offset, job->in, n, err));
        OC_TRY(job_write(job, job->in, n, err));
        offset += n;
        size -= n;
    }
    return OC_OK;
}

/* Feeds `n` bytes of compressed input in job->in to the codec and writes what comes out, which
 * must not become more than *expected; *at_end tells whether a frame has just ended. */
static oc_status decompress_piece(copy_job *job, int64_t n, int64_t *expected, bool *at_end,
                                  oc_error *err)
{
    oci_codec *codec = job->stage->codec;
    const uint8_t *from = job->in;
    int64_t produced = 0;
    /* A full output buffer may mean that the codec holds more although it has taken all input. */
    while (n > 0 || (produced == job->capacity && !*at_end)) {
        if (*at_end && n > 0) {
            OC_TRY(oci_codec_stream_begin(codec, err)); /* a buffer may hold several frames */
            *at_end = false;
        }
        int64_t taken = n;
        produced = job->capacity;
        OC_TRY(oci_codec_stream_step(codec, from, &taken, job->out, &produced, at_end, err));
        from += taken;
        n -= taken;
        if (produced > *expected) {
            OC_FAIL(err, OC_EDATA, "compressed buffer holds more bytes than it announces");
        }
        if (taken == 0 && produced == 0) {
            break; /* the caller sees that something is missing */
        }
        OC_TRY(job_write(job, job->out, produced, err));
        *expected -= produced;
    }
    if (n > 0) {
        OC_FAIL(err, OC_EDATA, "compressed buffer has %" PRId64 " bytes that are no part of it", n);
    }
    return OC_OK;
}

/* Decompresses frames in body bytes [offset, offset + size) that have to give `expected` bytes. */
static oc_status decompress_bytes(copy_job *job, int64_t offset, int64_t size, int64_t expected,
                                  oc_error *err)
{
    int64_t missing = expected;
    bool at_end = true; /* so that the first bytes begin a frame */
    while (size > 0) {
        int64_t n = oci_min64(size, job->capacity);
        OC_TRY(body_read(job->stage->env, job->from, offset, job->in, n, err));
        OC_TRY(decompress_piece(job, n, &missing, &at_end, err));
        offset += n;
        size -= n;
    }
    if (!at_end || missing > 0) {
        OC_FAIL(err, OC_EDATA,
                "compressed buffer announces %" PRId64 " bytes and ends %" PRId64 " early",
                expected, missing);
    }
    return OC_OK;
}

/* What is behind the header of a compressed buffer: `size` bytes at `offset` of the body that
 * give `announced` bytes, or are these bytes themselves (announced == NOT_COMPRESSED). */
typedef struct packed_buffer {
    int64_t offset;
    int64_t size;
    int64_t announced;
} packed_buffer;

static oc_status read_header(const oci_env *env, oci_body *body, const oci_ipc_buffer *buffer,
                             packed_buffer *out, oc_error *err)
{
    uint8_t header[8];
    if (buffer->length < (int64_t)sizeof header) {
        OC_FAIL(err, OC_EDATA, "compressed buffer has %" PRId64 " bytes, less than its header",
                buffer->length);
    }
    OC_TRY(body_read(env, body, buffer->offset, header, sizeof header, err));
    *out = (packed_buffer){.offset = buffer->offset + (int64_t)sizeof header,
                           .size = buffer->length - (int64_t)sizeof header,
                           .announced = (int64_t)oci_load_le64(header)};
    if (out->announced < NOT_COMPRESSED) {
        OC_FAIL(err, OC_EDATA, "compressed buffer announces a length of %" PRId64, out->announced);
    }
    return OC_OK;
}

static oc_status copy_compressed(copy_job *job, const oci_ipc_buffer *buffer, oc_error *err)
{
    packed_buffer packed;
    OC_TRY(read_header(job->stage->env, job->from, buffer, &packed, err));
    if (packed.announced == NOT_COMPRESSED) {
        return copy_bytes(job, packed.offset, packed.size, err);
    }
    return decompress_bytes(job, packed.offset, packed.size, packed.announced, err);
}

/* Copies one buffer and notes where it lies now. */
static oc_status copy_buffer(copy_job *job, oci_ipc_buffer *buffer, bool compressed, oc_error *err)
{
    job->end = oci_round_up(job->end, 8);
    int64_t start = job->end;
    if (buffer->length > 0) {
        OC_TRY(compressed ? copy_compressed(job, buffer, err)
                          : copy_bytes(job, buffer->offset, buffer->length, err));
    }
    *buffer = (oci_ipc_buffer){.offset = start, .length = job->end - start};
    return OC_OK;
}

oc_status oci_stage_columns(oci_stage *stage, oci_body *body, oci_parts *parts, oc_error *err)
{
    bool compressed = parts->message.codec != OCI_CODEC_NONE;
    OC_TRY(open_scratch(stage, &stage->columns, err));
    if (compressed) {
        OC_TRY(prepare_codec(stage, parts->message.codec, err));
    }
    copy_job job = {.stage = stage, .from = body, .to = stage->columns};
    oc_status status = OC_OK;
    OC_GOTO(job_begin(&job, compressed, err));
    for (int64_t i = 0; i < parts->message.n_buffers; i++) {
        OC_GOTO(copy_buffer(&job, &parts->buffers[i], compressed, err));
    }
    parts->message.codec = OCI_CODEC_NONE;
    parts->message.body_bytes = job.end;
    OC_GOTO(oci_body_finish(stage->env, body, err));
    *body = (oci_body){.file = stage->columns, .bytes = job.end};
done:
    job_end(&job);
    return status;
}

/* Decompresses one buffer to `to`, which has `room` bytes; *size gets how many it has. */
static oc_status unpack_buffer(oci_stage *stage, oci_codec_id codec, oci_body *body,
                               const oci_ipc_buffer *buffer, uint8_t *to, int64_t room,
                               int64_t *size, oc_error *err)
{
    *size = 0;
    if (buffer->length == 0) {
        return OC_OK;
    }
    packed_buffer packed = {buffer->offset, buffer->length, NOT_COMPRESSED};
    if (codec != OCI_CODEC_NONE) {
        OC_TRY(read_header(stage->env, body, buffer, &packed, err));
    }
    bool is_plain = packed.announced == NOT_COMPRESSED;
    *size = is_plain ? packed.size : packed.announced;
    assert(*size <= room);
    (void)room;
    if (is_plain) {
        return body_read(stage->env, body, packed.offset, to, packed.size, err);
    }
    return oci_codec_decompress(stage->codec, body->memory + packed.offset, packed.size, to, *size,
                                err);
}

oc_status oci_unpacked_bytes(const oci_parts *parts, const oci_body *body, int64_t *out,
                             oc_error *err)
{
    assert(body->memory != NULL);
    if (parts->message.codec != OCI_CODEC_NONE) {
        return oci_ipc_decoded_bytes(&parts->message, body->memory, out, err);
    }
    *out = 0;
    for (int64_t i = 0; i < parts->message.n_buffers; i++) {
        /* Buffers lie in the body, but any number of them may share its bytes. */
        if (!oci_add64(*out, oci_round_up(parts->buffers[i].length, 8), out)) {
            OC_FAIL(err, OC_EDATA, "buffers have more bytes together than there can be");
        }
    }
    return OC_OK;
}

oc_status oci_stage_unpack(oci_stage *stage, oci_body *body, oci_parts *parts, uint8_t *slab,
                           int64_t slab_bytes, oc_error *err)
{
    assert(body->memory != NULL);
    oci_codec_id codec = parts->message.codec;
    if (codec != OCI_CODEC_NONE) {
        OC_TRY(prepare_codec(stage, codec, err));
    }
    int64_t end = 0;
    for (int64_t i = 0; i < parts->message.n_buffers; i++) {
        int64_t size = 0;
        OC_TRY(oci_env_check_cancel(stage->env, err));
        OC_TRY(unpack_buffer(stage, codec, body, &parts->buffers[i], slab + end, slab_bytes - end,
                             &size, err));
        parts->buffers[i] = (oci_ipc_buffer){.offset = end, .length = size};
        end += oci_round_up(size, 8);
    }
    parts->message.codec = OCI_CODEC_NONE;
    parts->message.body_bytes = end;
    *body = (oci_body){.memory = slab, .bytes = end};
    return OC_OK;
}
