/* The reader: from an input in the stream or the file format to batches that fit the memory.
 *
 *      message ─┬─ dictionary ──────────────> loaded whole ─> decoder remembers it
 *               └─ record batch
 *                    small ─────────────────> loaded whole ─> decoder ─> batch, cut at batch_rows
 *                    large, in a file ──────> slices read from where it lies
 *                    large, compressed ─┬───> memory, while there is plenty ─> slices
 *                    large, from a pipe ┴───> else scratch file ─> slices
 *
 * "Small" is what fits twice the block size, decompressed; a sixteenth of the budget may be
 * taken by what is not, if nobody has to give it. A projection is applied to the metadata
 * (reader_parts.h), so that behind it nothing knows of columns that are not wanted; of these
 * nothing is read where the input can be read anywhere.
 *
 * Formats. A stream is read message by message; several streams with the same schema, one behind
 * the other, are read as one. A file is read by its footer: dictionaries first, then the batches
 * in the order of the footer. It comes through a pipe? Then it is copied to a scratch file,
 * because the footer is at the end. A file whose end is missing is an error and not read as a
 * stream: whoever wrote it did not finish.
 *
 * Ownership: the reader owns the input, the scratch files, and what is loaded of the current
 * message. Batches own their slabs. Memory: two blocks for a small message (four while one is
 * decompressed), a block for a slice. The schema, ids and options come from malloc; they grow
 * with the columns only.
 *
 * Failure: the first error is kept and returned again by every later call. */
#include "ipc/reader.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "ipc/byte_order.h"
#include "ipc/decoder.h"
#include "ipc/reader_slices.h"

#define DEFAULT_FOLDER "/tmp"

/* Looking at a schema has no budget to work in. Metadata of 256 MiB, the most that is taken, and
 * some room. */
#define SCHEMA_BYTES_MAX (INT64_C(512) * 1024 * 1024)

/* The old Feather format is told apart by its magic, to be refused by name. */
static const char feather_magic[4] = {'F', 'E', 'A', '1'};

enum {
    SMALL_BLOCKS = 2, /* a body of so many blocks is loaded whole */
    LARGE_SHARE = 16  /* of the budget: a body that is cut into slices from memory */
};

/* A message body in memory. */
typedef struct loaded_body {
    uint8_t *slab;
    int64_t slab_bytes;
} loaded_body;

typedef struct ipc_reader {
    oci_stream stream; /* first: the stream that is handed out is this struct */
    const oci_env *env;
    oci_mem *mem;
    oci_file *input;
    oci_file *copy; /* a whole file that came through a pipe, in scratch space */
    oci_source source;
    oci_stage stage;
    char *folder;
    oci_schema *schema;     /* of the input */
    oci_dictionary_ids ids; /* of the input */
    oci_dictionary_ids wanted_ids;
    bool big_endian;  /* bodies */
    int32_t *columns; /* NULL = all */
    int32_t n_columns;
    oci_ipc_decoder *decoder; /* of the wanted columns */
    oci_metadata metadata;    /* of the current message */
    bool is_file;
    oci_ipc_footer footer;
    int64_t next_block;
    bool dictionaries_are_read;
    /* what is being handed out: one of the two, or none */
    oci_batch *whole;
    int64_t whole_row;
    oci_slices *slices;
    loaded_body held;      /* what the slices are cut from, when that is memory */
    int64_t done_bytes;    /* of the input, with the messages before the current one */
    int64_t current_bytes; /* of the current message */
    /* for messages: which one is being read */
    const char *kind;
    int64_t number;
    int64_t n_batches;
    int64_t n_dictionaries;
    bool has_ended;
    oc_error failure; /* status OC_OK = none so far */
} ipc_reader;

/* ---- errors ---------------------------------------------------------------------------------- */

/* Damage and refusals say which message of which file; failures of the system name their file
 * themselves. */
static oc_status name_place(const ipc_reader *reader, oc_status status, oc_error *err)
{
    switch (status) {
    case OC_EDATA:
    case OC_EUNSUPPORTED:
    case OC_EBUDGET:
        if (reader->kind != NULL) {
            oci_error_prefix(err, "file \"%s\", %s %" PRId64, reader->input->name, reader->kind,
                             reader->number);
        } else {
            oci_error_prefix(err, "file \"%s\"", reader->input->name);
        }
        break;
    default: break;
    }
    return status;
}

static void enter(ipc_reader *reader, const char *kind, int64_t number)
{
    reader->kind = kind;
    reader->number = number;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static int64_t small_bytes(const ipc_reader *reader)
{
    return SMALL_BLOCKS * oci_env_block_bytes(reader->env);
}

static int64_t large_bytes(const ipc_reader *reader)
{
    return oci_max64(small_bytes(reader), oci_budget_limit(reader->env->budget) / LARGE_SHARE);
}

static void unload(ipc_reader *reader, loaded_body *loaded)
{
    oci_mem_free(reader->mem, loaded->slab, loaded->slab_bytes);
    *loaded = (loaded_body){0};
}

/* Where the body of the message lies that the source has just read. */
static oc_status locate_body(ipc_reader *reader, int64_t position, int64_t bytes, oci_body *out,
                             oc_error *err)
{
    OC_TRY(oci_source_check(&reader->source, position, bytes, "body", err));
    *out = oci_source_is_seekable(&reader->source)
               ? (oci_body){.file = reader->source.file, .offset = position, .bytes = bytes}
               : (oci_body){.pipe = &reader->source, .bytes = bytes};
    return OC_OK;
}

/* Memory for a body. What is not small is asked for without pressing anybody: *out stays empty
 * when the budget refuses. */
static oc_status allocate_body(ipc_reader *reader, int64_t bytes, loaded_body *out, oc_error *err)
{
    void *slab = NULL;
    if (bytes <= small_bytes(reader)) {
        OC_TRY(oci_mem_alloc(reader->mem, bytes, &slab, err));
    } else if (bytes <= large_bytes(reader)) {
        if (oci_mem_try_alloc(reader->mem, bytes, &slab, NULL) != OC_OK) {
            slab = NULL; /* there is another way */
        }
    }
    *out = (loaded_body){.slab = slab, .slab_bytes = slab != NULL ? bytes : 0};
    return OC_OK;
}

/* Reads a whole body into the memory of `loaded`. */
static oc_status fill_body(oci_body *body, const loaded_body *loaded, oc_error *err)
{
    OC_TRY(body->pipe != NULL
               ? oci_source_read_exact(body->pipe, loaded->slab, body->bytes, "body", err)
               : oci_pread_exact(body->file, loaded->slab, body->bytes, body->offset, err));
    *body = (oci_body){.memory = loaded->slab, .bytes = body->bytes};
    return OC_OK;
}

/* ---- record batches -------------------------------------------------------------------------- */

static oc_status decode_whole(ipc_reader *reader, const oci_message *message, loaded_body *loaded,
                              oci_batch **out, oc_error *err)
{
    loaded_body given = *loaded;
    *loaded = (loaded_body){0}; /* the decoder takes the slab whatever happens */
    return oci_ipc_decode(reader->decoder, message, given.slab, given.slab_bytes, 0, NULL, out,
                          err);
}

/* Decodes a big-endian body of `fields`, which is in memory: its buffers are laid out anew, each by
 * itself, because those of a message may share bytes, and turned there. */
static oc_status decode_swapped(ipc_reader *reader, const oci_field *fields, int32_t n_fields,
                                oci_parts *parts, oci_body *body, int64_t unpacked_bytes,
                                oci_batch **out, oc_error *err)
{
    void *slab = NULL;
    OC_TRY(oci_mem_alloc(reader->mem, unpacked_bytes, &slab, err));
    loaded_body unpacked = {.slab = slab, .slab_bytes = unpacked_bytes};
    oc_status status = oci_stage_unpack(&reader->stage, body, parts, slab, unpacked_bytes, err);
    if (status == OC_OK) {
        oci_swap_body(fields, n_fields, &parts->message, slab);
        status = decode_whole(reader, &parts->message, &unpacked, out, err);
    }
    unload(reader, &unpacked);
    return status;
}

/* Begins slices of a body that lies in a file or in memory. Takes the parts. */
static oc_status create_slices(ipc_reader *reader, oci_parts *parts, const oci_body *body,
                               oci_slices_flags flags, oc_error *err)
{
    flags |= reader->big_endian ? OCI_SLICES_SWAP : 0;
    return oci_slices_create(reader->env, reader->stream.schema, reader->decoder, parts, body,
                             flags, reader->mem, &reader->slices, err);
}

/* Begins slices of a body that is in a file or has to be brought into one. Takes the parts. */
static oc_status begin_slices(ipc_reader *reader, oci_parts *parts, oci_body *body, oc_error *err)
{
    bool is_compressed = parts->message.codec != OCI_CODEC_NONE;
    bool is_ascending = oci_parts_are_ascending(parts);
    oci_slices_flags flags = 0;
    if (body->pipe != NULL && !is_ascending) {
        OC_TRY(oci_stage_raw(&reader->stage, body->pipe, body->bytes, body, err));
    }
    if (body->pipe != NULL || is_compressed) {
        OC_TRY(oci_stage_columns(&reader->stage, body, parts, err));
        flags = OCI_SLICES_DISCARD;
    }
    return create_slices(reader, parts, body, flags, err);
}

/* Slices of a body that is in memory, which the reader keeps as long. */
static oc_status begin_slices_of_memory(ipc_reader *reader, oci_parts *parts, oci_body *body,
                                        loaded_body *loaded, oc_error *err)
{
    reader->held = *loaded;
    *loaded = (loaded_body){0};
    return create_slices(reader, parts, body, 0, err);
}

/* A compressed body in memory that is large when decompressed: to memory if there is plenty,
 * else to the scratch file. */
static oc_status begin_unpacked(ipc_reader *reader, oci_parts *parts, oci_body *body,
                                int64_t unpacked_bytes, oc_error *err)
{
    loaded_body unpacked = {0};
    OC_TRY(allocate_body(reader, unpacked_bytes, &unpacked, err));
    if (unpacked.slab == NULL) {
        return begin_slices(reader, parts, body, err);
    }
    oc_status status =
        oci_stage_unpack(&reader->stage, body, parts, unpacked.slab, unpacked_bytes, err);
    if (status == OC_OK) {
        status = begin_slices_of_memory(reader, parts, body, &unpacked, err);
    }
    unload(reader, &unpacked);
    return status;
}

/* A body that is in memory: decoded at once unless that is large. */
static oc_status begin_loaded(ipc_reader *reader, oci_parts *parts, oci_body *body,
                              loaded_body *loaded, oc_error *err)
{
    bool is_plain = parts->message.codec == OCI_CODEC_NONE;
    int64_t bytes = body->bytes;
    if (!is_plain || reader->big_endian) {
        OC_TRY(oci_unpacked_bytes(parts, body, &bytes, err));
    }
    reader->whole_row = 0;
    if (oci_max64(bytes, body->bytes) > small_bytes(reader)) {
        return is_plain ? begin_slices_of_memory(reader, parts, body, loaded, err)
                        : begin_unpacked(reader, parts, body, bytes, err);
    }
    if (reader->big_endian) {
        return decode_swapped(reader, reader->stream.schema->fields,
                              reader->stream.schema->n_fields, parts, body, bytes, &reader->whole,
                              err);
    }
    return decode_whole(reader, &parts->message, loaded, &reader->whole, err);
}

/* Is the body better in memory? One that can be read anywhere, as it is, need not be when it is
 * large or most of it is not wanted. */
static bool wants_memory(const ipc_reader *reader, const oci_parts *parts, const oci_body *body)
{
    if (body->pipe != NULL || parts->message.codec != OCI_CODEC_NONE) {
        return true;
    }
    return body->bytes <= small_bytes(reader) &&
           (reader->columns == NULL || oci_parts_bytes(parts) >= body->bytes / 2);
}

/* Prepares a record batch for being handed out. */
static oc_status begin_batch(ipc_reader *reader, const oci_message *message, oci_body *body,
                             oc_error *err)
{
    oci_parts parts = {0};
    loaded_body loaded = {0};
    oc_status status = OC_OK;
    OC_GOTO(oci_parts_init(&parts, reader->schema->fields, reader->schema->n_fields, message,
                           reader->columns, reader->n_columns, reader->mem, err));
    if (wants_memory(reader, &parts, body)) {
        OC_GOTO(allocate_body(reader, body->bytes, &loaded, err));
    }
    if (loaded.slab != NULL) {
        OC_GOTO(fill_body(body, &loaded, err));
        OC_GOTO(begin_loaded(reader, &parts, body, &loaded, err));
    } else {
        OC_GOTO(begin_slices(reader, &parts, body, err));
    }
done:
    unload(reader, &loaded);
    oci_parts_deinit(&parts);
    return status;
}

/* ---- dictionaries ---------------------------------------------------------------------------- */

static bool is_wanted(const ipc_reader *reader, int64_t id)
{
    for (int32_t i = 0; i < reader->wanted_ids.n; i++) {
        if (reader->wanted_ids.ids[i] == id) {
            return true;
        }
    }
    return false;
}

/* The field of the values of the dictionary `id`, in a tree of fields whose dictionaries have the
 * ids from *next on. NULL when it is not there. */
static const oci_field *find_values(const oci_field *field, const oci_dictionary_ids *ids,
                                    int32_t *next, int64_t id)
{
    const oci_field *found = NULL;
    if (field->dictionary != NULL) {
        if (*next < ids->n && ids->ids[(*next)++] == id) {
            return field->dictionary;
        }
        found = find_values(field->dictionary, ids, next, id);
    }
    for (int32_t i = 0; i < field->n_children && found == NULL; i++) {
        found = find_values(&field->children[i], ids, next, id);
    }
    return found;
}

static const oci_field *find_dictionary(const ipc_reader *reader, int64_t id)
{
    const oci_field *found = NULL;
    int32_t next = 0;
    for (int32_t i = 0; i < reader->schema->n_fields && found == NULL; i++) {
        found = find_values(&reader->schema->fields[i], &reader->ids, &next, id);
    }
    return found;
}

/* Brings the body of a dictionary into memory, whatever its size. One from a pipe that is not
 * small has to arrive in scratch space first: only then its size is more than a claim. */
static oc_status load_dictionary(ipc_reader *reader, oci_body *body, loaded_body *out,
                                 oc_error *err)
{
    if (body->pipe != NULL && body->bytes > small_bytes(reader)) {
        OC_TRY(oci_stage_raw(&reader->stage, body->pipe, body->bytes, body, err));
    }
    void *slab = NULL;
    OC_TRY(oci_mem_alloc(reader->mem, body->bytes, &slab, err));
    *out = (loaded_body){.slab = slab, .slab_bytes = body->bytes};
    oc_status status = fill_body(body, out, err);
    if (status != OC_OK) {
        unload(reader, out);
    }
    return status;
}

/* Decodes a dictionary whose body is loaded. */
static oc_status decode_dictionary(ipc_reader *reader, const oci_field *values, oci_parts *parts,
                                   oci_body *body, loaded_body *loaded, oc_error *err)
{
    oci_batch *none = NULL;
    if (!reader->big_endian) {
        return decode_whole(reader, &parts->message, loaded, &none, err);
    }
    int64_t bytes = 0;
    OC_TRY(oci_unpacked_bytes(parts, body, &bytes, err));
    return decode_swapped(reader, values, 1, parts, body, bytes, &none, err);
}

/* Loads a dictionary, or passes over one that no wanted column uses. */
static oc_status take_dictionary(ipc_reader *reader, const oci_message *message, oci_body *body,
                                 oc_error *err)
{
    const oci_field *values = find_dictionary(reader, message->dictionary_id);
    if (values == NULL) {
        OC_FAIL(err, OC_EDATA, "no column uses the dictionary id %" PRId64, message->dictionary_id);
    }
    if (!is_wanted(reader, message->dictionary_id)) {
        return oci_body_finish(reader->env, body, err);
    }
    oci_parts parts = {0};
    loaded_body loaded = {0};
    oc_status status = OC_OK;
    OC_GOTO(oci_parts_init(&parts, values, 1, message, NULL, 0, reader->mem, err));
    OC_GOTO(load_dictionary(reader, body, &loaded, err));
    OC_GOTO(decode_dictionary(reader, values, &parts, body, &loaded, err));
done:
    unload(reader, &loaded);
    oci_parts_deinit(&parts);
    return status;
}

/* ---- schema ---------------------------------------------------------------------------------- */

/* Copies the ids of the wanted columns; those of column i are [firsts[i], firsts[i + 1]) of all. */
static oc_status project_ids(ipc_reader *reader, const int64_t *firsts, oc_error *err)
{
    int32_t n_wanted = reader->stream.schema->n_fields;
    int64_t n = 0;
    for (int32_t i = 0; i < n_wanted; i++) {
        int32_t column = reader->columns != NULL ? reader->columns[i] : i;
        n += firsts[column + 1] - firsts[column];
    }
    if (n > INT32_MAX) {
        OC_FAIL(err, OC_EINVAL, "too many columns are asked for");
    }
    reader->wanted_ids.ids = calloc((size_t)n + 1, sizeof(int64_t));
    if (reader->wanted_ids.ids == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while reading a schema");
    }
    for (int32_t i = 0; i < n_wanted; i++) {
        int32_t column = reader->columns != NULL ? reader->columns[i] : i;
        for (int64_t k = firsts[column]; k < firsts[column + 1]; k++) {
            reader->wanted_ids.ids[reader->wanted_ids.n++] = reader->ids.ids[k];
        }
    }
    return OC_OK;
}

/* The dictionary ids of the wanted columns, from those of all columns. Memory for the schema and
 * what belongs to it does not grow with rows, and is not charged. */
static oc_status take_ids(ipc_reader *reader, oc_error *err)
{
    int32_t n = reader->schema->n_fields;
    int64_t *firsts = calloc((size_t)n + 1, sizeof *firsts);
    if (firsts == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while reading a schema");
    }
    for (int32_t i = 0; i < n; i++) {
        oci_tree_shape shape = {0};
        oci_field_add_shape(&reader->schema->fields[i], OCI_IPC_V5, &shape);
        firsts[i + 1] = firsts[i] + shape.n_dictionaries;
    }
    assert(firsts[n] == reader->ids.n);
    oc_status status = project_ids(reader, firsts, err);
    free(firsts);
    return status;
}

static oc_status make_decoder(ipc_reader *reader, oc_error *err)
{
    oci_ipc_decoder_destroy(reader->decoder);
    reader->decoder = NULL;
    return oci_ipc_decoder_create(reader->stream.schema, &reader->wanted_ids, false, reader->mem,
                                  &reader->decoder, err);
}

/* From the schema of the input, which reader->schema and reader->ids have, to that of the
 * stream. */
static oc_status take_schema(ipc_reader *reader, oc_error *err)
{
    if (reader->columns == NULL) {
        reader->stream.schema = oci_schema_retain(reader->schema);
    } else {
        for (int32_t i = 0; i < reader->n_columns; i++) {
            if (reader->columns[i] < 0 || reader->columns[i] >= reader->schema->n_fields) {
                OC_FAIL(err, OC_EINVAL, "column %" PRId32 " is asked for, file \"%s\" has %" PRId32,
                        reader->columns[i], reader->input->name, reader->schema->n_fields);
            }
        }
        OC_TRY(oci_schema_select(reader->schema, reader->columns, reader->n_columns,
                                 &reader->stream.schema, err));
    }
    OC_TRY(take_ids(reader, err));
    return make_decoder(reader, err);
}

static oc_status read_stream_schema(ipc_reader *reader, oc_error *err)
{
    oci_source_end end = OCI_SOURCE_MESSAGE;
    int64_t position = reader->source.position;
    OC_TRY(oci_source_next(&reader->source, &reader->metadata, &end, err));
    if (end == OCI_SOURCE_END_INPUT) {
        OC_FAIL(err, OC_EDATA,
                position == 0 ? "it is empty: an Arrow stream has a schema at least"
                              : "it ends before the schema; the file is truncated");
    }
    if (end != OCI_SOURCE_MESSAGE || reader->metadata.message.kind != OCI_MESSAGE_SCHEMA) {
        OC_FAIL(err, OC_EDATA, "it does not begin with a schema message: not an Arrow IPC stream");
    }
    reader->done_bytes = reader->source.position;
    return oci_message_parse_schema(reader->metadata.data, reader->metadata.size, &reader->schema,
                                    &reader->ids, &reader->big_endian, err);
}

static bool is_same_schema(const ipc_reader *reader, const oci_schema *other,
                           const oci_dictionary_ids *ids)
{
    const oci_schema *schema = reader->schema;
    if (other->n_fields != schema->n_fields || ids->n != reader->ids.n) {
        return false;
    }
    for (int32_t i = 0; i < schema->n_fields; i++) {
        if (strcmp(schema->fields[i].name, other->fields[i].name) != 0 ||
            !oci_field_same_type(&schema->fields[i], &other->fields[i])) {
            return false;
        }
    }
    for (int32_t i = 0; i < ids->n; i++) {
        if (ids->ids[i] != reader->ids.ids[i]) {
            return false;
        }
    }
    return true;
}

/* Another stream begins at its schema, behind the end marker of one or where one just ended: it goes
 * on when the schema is the same, with dictionaries of its own. */
static oc_status join_stream(ipc_reader *reader, oc_error *err)
{
    oci_schema *schema = NULL;
    oci_dictionary_ids ids = {0};
    bool big_endian = false;
    OC_TRY(oci_message_parse_schema(reader->metadata.data, reader->metadata.size, &schema, &ids,
                                    &big_endian, err));
    bool is_same = is_same_schema(reader, schema, &ids);
    oci_schema_release(schema);
    free(ids.ids);
    if (!is_same) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "another stream with a different schema begins at byte %" PRId64
                "; only streams of one schema can be read as one",
                reader->metadata.position);
    }
    reader->big_endian = big_endian;
    return make_decoder(reader, err);
}

static void end_input(ipc_reader *reader)
{
    reader->has_ended = true;
    oci_source_report(&reader->source,
                      reader->source.size); /* the parts between the messages too */
}

/* ---- the stream format ----------------------------------------------------------------------- */

/* Takes the message that the source has read. */
static oc_status take_message(ipc_reader *reader, oc_error *err)
{
    const oci_message *message = &reader->metadata.message;
    if (message->kind == OCI_MESSAGE_SCHEMA) {
        return join_stream(reader, err);
    }
    bool is_batch = message->kind == OCI_MESSAGE_BATCH;
    enter(reader, is_batch ? "record batch" : "dictionary batch",
          is_batch ? reader->n_batches++ : reader->n_dictionaries++);
    int64_t position = reader->source.position;
    oci_body body;
    OC_TRY(locate_body(reader, position, message->body_bytes, &body, err));
    OC_TRY(is_batch ? begin_batch(reader, message, &body, err)
                    : take_dictionary(reader, message, &body, err));
    if (oci_source_is_seekable(&reader->source)) {
        oci_source_seek(&reader->source, position + message->body_bytes);
    }
    reader->current_bytes = reader->source.position - reader->metadata.position;
    return OC_OK;
}

/* The marker ends a stream; whatever follows must be another stream, because nothing is passed
 * over in silence. */
static oc_status after_marker(ipc_reader *reader, oc_error *err)
{
    oci_source_end end = OCI_SOURCE_MESSAGE;
    int64_t position = reader->source.position;
    OC_TRY(oci_source_next(&reader->source, &reader->metadata, &end, err));
    if (end == OCI_SOURCE_END_INPUT) {
        end_input(reader);
        return OC_OK;
    }
    if (end != OCI_SOURCE_MESSAGE || reader->metadata.message.kind != OCI_MESSAGE_SCHEMA) {
        OC_FAIL(err, OC_EDATA, "bytes follow the end of the stream at byte %" PRId64, position);
    }
    return join_stream(reader, err);
}

static oc_status next_message(ipc_reader *reader, oc_error *err)
{
    oci_source_end end = OCI_SOURCE_MESSAGE;
    OC_TRY(oci_source_next(&reader->source, &reader->metadata, &end, err));
    switch (end) {
    case OCI_SOURCE_MESSAGE: return take_message(reader, err);
    case OCI_SOURCE_END_MARKER: return after_marker(reader, err);
    case OCI_SOURCE_END_INPUT: break;
    }
    end_input(reader);
    return OC_OK;
}

/* ---- the file format ------------------------------------------------------------------------- */

static oc_status read_tail(ipc_reader *reader, int64_t *footer_bytes, oc_error *err)
{
    uint8_t tail[OCI_IPC_FILE_TAIL_BYTES];
    int64_t size = reader->source.size;
    if (size >= OCI_IPC_FILE_HEAD_BYTES + OCI_IPC_FILE_TAIL_BYTES) {
        OC_TRY(oci_pread_exact(reader->source.file, tail, OCI_IPC_FILE_TAIL_BYTES,
                               size - OCI_IPC_FILE_TAIL_BYTES, err));
    }
    if (size < OCI_IPC_FILE_HEAD_BYTES + OCI_IPC_FILE_TAIL_BYTES ||
        memcmp(tail + 4, OCI_IPC_MAGIC, OCI_IPC_MAGIC_BYTES) != 0) {
        OC_FAIL(err, OC_EDATA,
                "it begins like an Arrow file but does not end with \"ARROW1\": the file is "
                "truncated or still"
                " being written");
    }
    *footer_bytes = (int32_t)oci_load_le32(tail);
    int64_t most = size - OCI_IPC_FILE_HEAD_BYTES - OCI_IPC_FILE_TAIL_BYTES;
    if (*footer_bytes <= 0 || *footer_bytes > most) {
        OC_FAIL(err, OC_EDATA,
                "footer of %" PRId64 " bytes does not fit a file of %" PRId64 " bytes",
                *footer_bytes, size);
    }
    return OC_OK;
}

static oc_status read_footer(ipc_reader *reader, oc_error *err)
{
    int64_t size = 0;
    OC_TRY(read_tail(reader, &size, err));
    void *bytes = NULL;
    OC_TRY(oci_mem_alloc(reader->mem, size, &bytes, err));
    int64_t offset = reader->source.size - OCI_IPC_FILE_TAIL_BYTES - size;
    oc_status status = oci_pread_exact(reader->source.file, bytes, size, offset, err);
    if (status == OC_OK) {
        status = oci_footer_parse(bytes, size, reader->source.size, &reader->footer, err);
    }
    oci_mem_free(reader->mem, bytes, size);
    if (status == OC_OK) {
        reader->schema = oci_schema_retain(reader->footer.schema);
        reader->ids = reader->footer.ids;
        reader->big_endian = reader->footer.big_endian;
        reader->footer.ids = (oci_dictionary_ids){0};
        reader->done_bytes = OCI_IPC_FILE_HEAD_BYTES + size + OCI_IPC_FILE_TAIL_BYTES;
    }
    return status;
}

/* Reads the message of a block; OC_EDATA when it is of another kind than the footer says. */
static oc_status read_block(ipc_reader *reader, const oci_ipc_file_block *block,
                            oci_message_kind kind, oci_body *body, oc_error *err)
{
    OC_TRY(oci_source_message_at(&reader->source, block, &reader->metadata, err));
    if (reader->metadata.message.kind != kind) {
        OC_FAIL(err, OC_EDATA,
                "message at byte %" PRId64 " is of another kind than the footer says",
                block->offset);
    }
    return locate_body(reader, block->offset + block->metadata_bytes, block->body_bytes, body, err);
}

/* A file cannot replace a dictionary, since its batches may be read in any order: only the first
 * message of an id may be one that is not a delta. */
static oc_status check_dictionary(const ipc_reader *reader, int64_t *seen, int64_t n_seen,
                                  oc_error *err)
{
    const oci_message *message = &reader->metadata.message;
    for (int64_t i = 0; i < n_seen && !message->dictionary_delta; i++) {
        if (seen[i] == message->dictionary_id) {
            OC_FAIL(err, OC_EDATA,
                    "dictionary %" PRId64
                    " is replaced, which the file format does not allow; only the stream"
                    " format does",
                    message->dictionary_id);
        }
    }
    seen[n_seen] = message->dictionary_id;
    return OC_OK;
}

static oc_status read_dictionary_blocks(ipc_reader *reader, int64_t *seen, oc_error *err)
{
    int64_t n_seen = 0;
    for (int64_t i = 0; i < reader->footer.n_dictionaries; i++) {
        const oci_ipc_file_block *block = &reader->footer.dictionaries[i];
        enter(reader, "dictionary batch", i);
        OC_TRY(oci_env_check_cancel(reader->env, err));
        oci_body body;
        OC_TRY(read_block(reader, block, OCI_MESSAGE_DICTIONARY, &body, err));
        OC_TRY(check_dictionary(reader, seen, n_seen, err));
        if (!reader->metadata.message.dictionary_delta) {
            n_seen++;
        }
        OC_TRY(take_dictionary(reader, &reader->metadata.message, &body, err));
        reader->done_bytes += block->metadata_bytes + block->body_bytes;
        oci_source_report(&reader->source, reader->done_bytes);
    }
    return OC_OK;
}

static oc_status read_dictionaries(ipc_reader *reader, oc_error *err)
{
    int64_t bytes = (reader->ids.n + 1) * (int64_t)sizeof(int64_t);
    void *seen = NULL;
    OC_TRY(oci_mem_alloc(reader->mem, bytes, &seen, err));
    oc_status status = read_dictionary_blocks(reader, seen, err);
    oci_mem_free(reader->mem, seen, bytes);
    reader->dictionaries_are_read = true;
    return status;
}

static oc_status next_block(ipc_reader *reader, oc_error *err)
{
    if (!reader->dictionaries_are_read) {
        OC_TRY(read_dictionaries(reader, err));
    }
    if (reader->next_block >= reader->footer.n_batches) {
        end_input(reader);
        return OC_OK;
    }
    const oci_ipc_file_block *block = &reader->footer.batches[reader->next_block];
    enter(reader, "record batch", reader->next_block++);
    oci_body body;
    OC_TRY(read_block(reader, block, OCI_MESSAGE_BATCH, &body, err));
    reader->current_bytes = block->metadata_bytes + block->body_bytes;
    return begin_batch(reader, &reader->metadata.message, &body, err);
}

/* ---- handing out ----------------------------------------------------------------------------- */

/* The current message has been handed out. */
static void end_message(ipc_reader *reader)
{
    oci_batch_release(reader->whole);
    reader->whole = NULL;
    oci_slices_destroy(reader->slices);
    reader->slices = NULL;
    unload(reader, &reader->held);
    reader->done_bytes += reader->current_bytes;
    reader->current_bytes = 0;
    oci_source_report(&reader->source, reader->done_bytes);
}

/* The next piece of a batch that is in memory. */
static oc_status cut_whole(ipc_reader *reader, oci_batch **out, oc_error *err)
{
    oci_batch *whole = reader->whole;
    int64_t n = oci_min64(whole->length - reader->whole_row, reader->env->batch_rows);
    if (n == whole->length) {
        *out = whole;
        reader->whole = NULL;
        end_message(reader);
        return OC_OK;
    }
    OC_TRY(oci_batch_slice(whole, reader->whole_row, n, out, err));
    reader->whole_row += n;
    if (reader->whole_row == whole->length) {
        end_message(reader);
    }
    return OC_OK;
}

static oc_status cut_slices(ipc_reader *reader, oci_batch **out, oc_error *err)
{
    OC_TRY(oci_slices_next(reader->slices, out, err));
    if (*out == NULL) {
        end_message(reader);
        return OC_OK;
    }
    double share = (double)oci_slices_done(reader->slices) /
                   (double)oci_max64(1, oci_slices_rows(reader->slices));
    oci_source_report(&reader->source,
                      reader->done_bytes + (int64_t)(share * (double)reader->current_bytes));
    return OC_OK;
}

static oc_status next_batch(ipc_reader *reader, oci_batch **out, oc_error *err)
{
    while (*out == NULL && !reader->has_ended) {
        OC_TRY(oci_env_check_cancel(reader->env, err));
        if (reader->whole != NULL) {
            OC_TRY(cut_whole(reader, out, err));
        } else if (reader->slices != NULL) {
            OC_TRY(cut_slices(reader, out, err));
        } else {
            end_message(reader);
            enter(reader, NULL, 0);
            OC_TRY(reader->is_file ? next_block(reader, err) : next_message(reader, err));
        }
    }
    return OC_OK;
}

static oc_status reader_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    ipc_reader *reader = (ipc_reader *)stream;
    *out = NULL;
    if (reader->failure.status == OC_OK) {
        oc_error failure = {0};
        oc_status status = name_place(reader, next_batch(reader, out, &failure), &failure);
        if (status == OC_OK) {
            return OC_OK;
        }
        reader->failure = failure;
    }
    if (err != NULL) {
        *err = reader->failure;
    }
    return reader->failure.status;
}

/* Frees all that the reader holds but the input and the struct. */
static void reader_deinit(ipc_reader *reader)
{
    oci_batch_release(reader->whole);
    oci_slices_destroy(reader->slices);
    unload(reader, &reader->held);
    oci_ipc_decoder_destroy(reader->decoder);
    oci_metadata_deinit(&reader->metadata, reader->mem);
    oci_footer_deinit(&reader->footer);
    oci_schema_release(reader->schema);
    oci_schema_release(reader->stream.schema);
    free(reader->ids.ids);
    free(reader->wanted_ids.ids);
    oci_stage_deinit(&reader->stage);
    /* Files that were only read: a failing close loses nothing. */
    (void)oci_close(reader->copy, NULL);
    free(reader->columns);
    free(reader->folder);
}

static void reader_close(oci_stream *stream)
{
    ipc_reader *reader = (ipc_reader *)stream;
    reader_deinit(reader);
    (void)oci_close(reader->input, NULL);
    oci_mem_free(reader->mem, reader, (int64_t)sizeof *reader);
}

/* ---- opening --------------------------------------------------------------------------------- */

static oc_status copy_options(ipc_reader *reader, const oci_ipc_read_options *options,
                              oc_error *err)
{
    const char *folder = options != NULL && options->temp_dir != NULL ? options->temp_dir
                                                                      : DEFAULT_FOLDER;
    reader->folder = strdup(folder);
    bool is_copied = reader->folder != NULL;
    if (options != NULL && options->columns != NULL) {
        size_t bytes = (size_t)options->n_columns * sizeof(int32_t);
        reader->columns = malloc(bytes + 1); /* no columns at all is a projection too */
        reader->n_columns = options->n_columns;
        if (reader->columns != NULL) {
            memcpy(reader->columns, options->columns, bytes);
        }
        is_copied = is_copied && reader->columns != NULL;
    }
    if (!is_copied) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while opening file \"%s\"", reader->input->name);
    }
    return OC_OK;
}

/* Puts a whole file that comes through a pipe into scratch space, and goes on from there. All of
 * it has been reported as progress then. */
static oc_status copy_input(ipc_reader *reader, oc_error *err)
{
    int64_t bytes = 0;
    OC_TRY(oci_stage_rest(&reader->stage, &reader->source, &reader->copy, &bytes, err));
    return oci_source_init(&reader->source, reader->mem, reader->copy, NULL, err);
}

/* Tells the formats apart by the first bytes. */
static oc_status detect_format(ipc_reader *reader, _Atomic int64_t *bytes_read, oc_error *err)
{
    uint8_t head[OCI_IPC_FILE_HEAD_BYTES] = {0};
    int64_t n_read = 0;
    OC_TRY(oci_source_init(&reader->source, reader->mem, reader->input, bytes_read, err));
    OC_TRY(oci_source_peek(&reader->source, head, OCI_IPC_FILE_HEAD_BYTES, &n_read, err));
    if (memcmp(head, feather_magic, sizeof feather_magic) == 0) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "it is a Feather V1 file; write it as Arrow IPC (Feather V2)");
    }
    reader->is_file = memcmp(head, OCI_IPC_MAGIC, OCI_IPC_MAGIC_BYTES) == 0;
    return OC_OK;
}

static oc_status read_schema(ipc_reader *reader, oc_error *err)
{
    if (!reader->is_file) {
        return read_stream_schema(reader, err);
    }
    if (!oci_source_is_seekable(&reader->source)) {
        OC_TRY(copy_input(reader, err));
    }
    return read_footer(reader, err);
}

oc_status oci_ipc_reader_open(const oci_env *env, oci_file *file,
                              const oci_ipc_read_options *options, oci_mem *mem, oci_stream **out,
                              oc_error *err)
{
    void *made = NULL;
    oc_status status = oci_mem_alloc(mem, (int64_t)sizeof(ipc_reader), &made, err);
    if (status != OC_OK) {
        (void)oci_close(file, NULL);
        return status;
    }
    ipc_reader *reader = made;
    *reader = (ipc_reader){.env = env, .mem = mem, .input = file};
    reader->stream.next = reader_next;
    reader->stream.close = reader_close;
    OC_GOTO(copy_options(reader, options, err));
    oci_stage_init(&reader->stage, env, mem, reader->folder);
    OC_GOTO(detect_format(reader, options != NULL ? options->bytes_read : NULL, err));
    OC_GOTO(read_schema(reader, err));
    OC_GOTO(take_schema(reader, err));
    *out = &reader->stream;
    return OC_OK;
done:
    status = name_place(reader, status, err);
    reader_close(&reader->stream);
    return status;
}

/* The footer of a file in a pipe is out of reach, but what follows the magic is a stream with
 * the same schema. */
static oc_status look_at_schema(ipc_reader *reader, oc_error *err)
{
    OC_TRY(detect_format(reader, NULL, err));
    if (reader->is_file && !oci_source_is_seekable(&reader->source)) {
        uint8_t head[OCI_IPC_FILE_HEAD_BYTES];
        OC_TRY(
            oci_source_read_exact(&reader->source, head, OCI_IPC_FILE_HEAD_BYTES, "header", err));
        return read_stream_schema(reader, err);
    }
    return read_schema(reader, err);
}

oc_status oci_ipc_read_schema(oci_file *file, oci_schema **out, oc_error *err)
{
    ipc_reader reader = {.input = file};
    oci_budget *budget = NULL;
    oc_status status = OC_OK;
    OC_GOTO(oci_budget_create(SCHEMA_BYTES_MAX, NULL, &budget, err));
    OC_GOTO(oci_mem_open(budget, "schema", &reader.mem, err));
    OC_GOTO(name_place(&reader, look_at_schema(&reader, err), err));
    *out = oci_schema_retain(reader.schema);
done:
    reader_deinit(&reader);
    oci_mem_close(reader.mem);
    oci_budget_destroy(budget);
    return status;
}
