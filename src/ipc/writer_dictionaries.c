/* From the dictionaries of a batch to those of the file.
 *
 *      column of a batch -> unify: index of each row in the file's dictionary -> physical column
 *                             |
 *                             `-> values never seen before, in the form that is announced,
 *                                 with the dictionaries inside them translated in the same way
 *                                 (recursion): a part, kept until the end
 *
 * The format lets dictionaries stand anywhere in a file, and extends them by deltas, but there are
 * readers that take no deltas (Polars), or none of nested values (pyarrow). So everything is
 * written after the last batch, one message a dictionary, from joined parts. Only where memory or
 * 32-bit offsets do not allow to join them the rest goes out as deltas. Dictionaries are numbered
 * depth first from the outside in, as their ids are.
 *
 * Memory: the unified dictionaries, which hold the values that the parts refer to (views and runs
 * once more), the indices of the batch at hand, and at the end one dictionary joined and encoded.
 * Lists of one entry a dictionary come from malloc. */
#include "ipc/writer_dictionaries.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/column_range.h"
#include "base/bits.h"
#include "ipc/dictionaries.h"
#include "ipc/dictionary_unify.h"
#include "ipc/encoder.h"
#include "ipc/layout_walk.h"
#include "ipc/message.h"

#define PARTS_FIRST 16

/* Rows of a child beside those referred to that nobody minds. */
#define SPARE_ROWS 1024

typedef struct file_dictionary {
    const oci_field *field; /* of the schema, or of the values of another dictionary */
    oci_unify *unify;
    oci_schema *physical; /* one column: the values as an encoder sees them */
    int64_t n_inside;     /* dictionaries in the type of the values; they have the next numbers */
    bool is_sent;
    oci_batch **parts; /* with dictionaries inside: values in physical form, not written yet */
    int64_t n_parts;
    int64_t parts_max;
} file_dictionary;

struct oci_file_dictionaries {
    oci_mem *mem;
    oci_codec_id codec;
    int level;
    oci_message_sink sink;
    oci_schema *schema;
    oci_schema *physical;
    int64_t n;
    file_dictionary *list; /* [id] */
};

static oc_status fail_memory(oc_error *err)
{
    OC_FAIL(err, OC_ENOMEM, "out of memory while writing dictionaries");
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Makes indices of all dictionary fields of a tree. */
static void make_physical_field(oci_field *field)
{
    if (field->dictionary != NULL) {
        oci_field_deinit(field->dictionary);
        free(field->dictionary);
        field->dictionary = NULL;
        field->type = field->index_type;
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        make_physical_field(&field->children[i]);
    }
}

static oc_status make_physical(const oci_schema *schema, oci_schema **out, oc_error *err)
{
    oci_field *fields = calloc((size_t)schema->n_fields + 1, sizeof *fields);
    if (fields == NULL) {
        return fail_memory(err);
    }
    for (int32_t i = 0; i < schema->n_fields; i++) {
        oc_status status = oci_field_copy(&schema->fields[i], &fields[i], err);
        if (status != OC_OK) {
            while (i-- > 0) {
                oci_field_deinit(&fields[i]);
            }
            free(fields);
            return status;
        }
        make_physical_field(&fields[i]);
    }
    return oci_schema_create(fields, schema->n_fields, NULL, 0, out, err);
}

/* Makes the dictionaries of a tree, the first of which is *number. */
static oc_status add_dictionaries(oci_file_dictionaries *d, const oci_field *field, int64_t *number,
                                  oc_error *err)
{
    for (int32_t i = 0; i < field->n_children; i++) {
        OC_TRY(add_dictionaries(d, &field->children[i], number, err));
    }
    if (field->dictionary == NULL) {
        return OC_OK;
    }
    file_dictionary *dictionary = &d->list[(*number)++];
    int64_t first_inside = *number;
    dictionary->field = field;
    OC_TRY(oci_unify_create(field, d->mem, &dictionary->unify, err));
    OC_TRY(make_physical(oci_unify_schema(dictionary->unify), &dictionary->physical, err));
    OC_TRY(add_dictionaries(d, field->dictionary, number, err));
    dictionary->n_inside = *number - first_inside;
    return OC_OK;
}

static oc_status make_dictionaries(oci_file_dictionaries *d, oc_error *err)
{
    d->list = calloc((size_t)d->n, sizeof *d->list);
    if (d->list == NULL) {
        return fail_memory(err);
    }
    OC_TRY(make_physical(d->schema, &d->physical, err));
    int64_t number = 0;
    for (int32_t i = 0; i < d->schema->n_fields; i++) {
        OC_TRY(add_dictionaries(d, &d->schema->fields[i], &number, err));
    }
    return OC_OK;
}

oc_status oci_file_dictionaries_create(oci_schema *schema, oci_codec_id codec, int level,
                                       oci_message_sink sink, oci_mem *mem,
                                       oci_file_dictionaries **out, oc_error *err)
{
    *out = NULL;
    int64_t n = oci_schema_shape(schema, OCI_IPC_V5).n_dictionaries;
    if (n == 0) {
        return OC_OK;
    }
    oci_file_dictionaries *d = malloc(sizeof *d);
    if (d == NULL) {
        return fail_memory(err);
    }
    *d = (oci_file_dictionaries){.mem = mem,
                                 .codec = codec,
                                 .level = level,
                                 .sink = sink,
                                 .schema = oci_schema_retain(schema),
                                 .n = n};
    oc_status status = make_dictionaries(d, err);
    if (status != OC_OK) {
        oci_file_dictionaries_destroy(d);
        return status;
    }
    *out = d;
    return OC_OK;
}

static void destroy_dictionary(oci_file_dictionaries *d, file_dictionary *dictionary)
{
    for (int64_t i = 0; i < dictionary->n_parts; i++) {
        oci_batch_release(dictionary->parts[i]);
    }
    oci_mem_free(d->mem, dictionary->parts, dictionary->parts_max * (int64_t)sizeof(oci_batch *));
    oci_schema_release(dictionary->physical);
    oci_unify_destroy(dictionary->unify);
}

void oci_file_dictionaries_destroy(oci_file_dictionaries *d)
{
    if (d == NULL) {
        return;
    }
    for (int64_t i = 0; i < d->n && d->list != NULL; i++) {
        destroy_dictionary(d, &d->list[i]);
    }
    free(d->list);
    oci_schema_release(d->physical);
    oci_schema_release(d->schema);
    free(d);
}

oci_schema *oci_file_dictionaries_physical(const oci_file_dictionaries *d)
{
    return d->physical;
}

/* ---- messages -------------------------------------------------------------------------------- */

static oc_status translate(oci_file_dictionaries *d, const oci_batch *batch, oci_schema *physical,
                           int64_t number, oci_batch **out, oc_error *err);

/* The header of a dictionary message, made from that of a record batch with the same body. The lists
 * of the framed message, which we made ourselves, lie aligned. */
static oc_status build_header(const uint8_t *framed, int64_t size, int64_t id, bool is_delta,
                              oci_bytes *out, oc_error *err)
{
    oci_message message;
    OC_TRY(oci_message_parse(framed + OCI_IPC_PREFIX_BYTES, size - OCI_IPC_PREFIX_BYTES, &message,
                             err));
    message.kind = OCI_MESSAGE_DICTIONARY;
    message.dictionary_id = id;
    message.dictionary_delta = is_delta;
    assert((uintptr_t)message.nodes % 8 == 0 && (uintptr_t)message.buffers % 8 == 0);
    return oci_message_build_batch(&message, (const oci_ipc_node *)message.nodes,
                                   (const oci_ipc_buffer *)message.buffers,
                                   (const int64_t *)message.variadic, out, err);
}

/* Writes what the encoder made of values as a message of dictionary `number`. */
static oc_status write_encoded(oci_file_dictionaries *d, int64_t number, oci_ipc_encoder *encoder,
                               const oci_batch *values, oc_error *err)
{
    file_dictionary *dictionary = &d->list[number];
    uint8_t *data = NULL;
    int64_t size = 0;
    OC_TRY(oci_ipc_encode_batch(encoder, values, NULL, &data, &size, err));
    const oci_ipc_extent *extent = NULL;
    int32_t n = oci_ipc_encoder_extents(encoder, &extent);
    assert(n == 1 && extent->offset == 0);
    (void)n;
    oci_bytes header = {0};
    OC_TRY(build_header(data, extent->metadata_bytes, number, dictionary->is_sent, &header, err));
    oc_status status = d->sink.write(d->sink.arg, header.data, header.size,
                                     data + extent->metadata_bytes, extent->body_bytes, err);
    free(header.data);
    dictionary->is_sent = true;
    return status;
}

/* Writes values in physical form. The encoder lives no longer than that: with its codec it is large,
 * and there may be many dictionaries. */
static oc_status write_physical(oci_file_dictionaries *d, int64_t number, const oci_batch *values,
                                oc_error *err)
{
    oci_ipc_encoder *encoder = NULL;
    OC_TRY(oci_ipc_encoder_create(d->list[number].physical, d->codec, d->level, d->mem, &encoder,
                                  err));
    oc_status status = write_encoded(d, number, encoder, values, err);
    oci_ipc_encoder_destroy(encoder);
    return status;
}

/* Takes the reference to `values`, also on failure. */
static oc_status keep_part(oci_file_dictionaries *d, file_dictionary *dictionary, oci_batch *values,
                           oc_error *err)
{
    if (dictionary->n_parts == dictionary->parts_max) {
        int64_t more = dictionary->parts_max > 0 ? 2 * dictionary->parts_max : PARTS_FIRST;
        int64_t width = (int64_t)sizeof(oci_batch *);
        void *grown = NULL;
        oc_status status = oci_mem_realloc(d->mem, dictionary->parts, dictionary->parts_max * width,
                                           more * width, &grown, err);
        if (status != OC_OK) {
            oci_batch_release(values);
            return status;
        }
        dictionary->parts = grown;
        dictionary->parts_max = more;
    }
    dictionary->parts[dictionary->n_parts++] = values;
    return OC_OK;
}

/* Keeps values that have the announced type, in physical form. */
static oc_status keep_values(oci_file_dictionaries *d, int64_t number, oci_batch *values,
                             oc_error *err)
{
    file_dictionary *dictionary = &d->list[number];
    oci_batch *physical = NULL;
    OC_TRY(translate(d, values, dictionary->physical, number + 1, &physical, err));
    oc_status status = oci_batch_keep(physical, oci_batch_retain(values), err);
    if (status != OC_OK) {
        oci_batch_release(physical);
        return status;
    }
    return keep_part(d, dictionary, physical, err);
}

/* Keeps values in working form, in as many parts as run ends can count. */
static oc_status keep_chunk(oci_file_dictionaries *d, int64_t number, oci_batch *chunk,
                            oc_error *err)
{
    oci_schema *announced = oci_unify_schema(d->list[number].unify);
    int64_t row = 0;
    do {
        int64_t n = oci_batch_output_rows(chunk, announced, row, chunk->length - row);
        oci_batch *part = NULL;
        oci_batch *values = NULL;
        OC_TRY(oci_batch_slice(chunk, row, n, &part, err));
        oc_status status = oci_batch_output(part, announced, d->mem, &values, err);
        if (status == OC_OK) {
            status = keep_values(d, number, values, err);
        }
        oci_batch_release(values);
        oci_batch_release(part);
        OC_TRY(status);
        row += n;
    } while (row < chunk->length);
    return OC_OK;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* What is made of one batch. */
typedef struct translate_job {
    oci_file_dictionaries *d;
    int64_t number;    /* of the next dictionary */
    uint8_t *indices;  /* room for those of all dictionary columns, taken from the front */
    oci_column *space; /* the same for children */
} translate_job;

/* Rows in front of the translated indices: validity and indices have one offset, and the bitmap
 * is shared from the byte on in which the column starts. */
static int64_t lead_rows(const oci_column *column)
{
    return column->validity != NULL ? column->offset & 7 : 0;
}

/* Bytes for the indices of all dictionary columns of a tree. */
static int64_t indices_bytes(const oci_column *column)
{
    int64_t bytes = 0;
    if (column->field->dictionary != NULL) {
        bytes = oci_round_up((lead_rows(column) + column->length) * column->field->byte_width, 8);
    }
    for (int32_t i = 0; i < column->field->n_children; i++) {
        bytes += indices_bytes(&column->children[i]);
    }
    return bytes;
}

/* Gives the indices into the dictionary of the file, after adding what is new to it. */
static oc_status translate_dictionary(translate_job *job, const oci_column *column, oci_column *out,
                                      oc_error *err)
{
    int64_t number = job->number;
    oci_unify *unify = job->d->list[number].unify;
    int64_t lead_bytes = lead_rows(column) * column->field->byte_width;
    uint8_t *indices = job->indices;
    memset(indices, 0, (size_t)lead_bytes);
    OC_TRY(oci_unify_add(unify, column, indices + lead_bytes, err));
    oci_batch *const *chunks = NULL;
    int64_t n = oci_unify_fresh(unify, &chunks);
    for (int64_t i = 0; i < n; i++) {
        OC_TRY(keep_chunk(job->d, number, chunks[i], err));
    }
    job->number += 1 + job->d->list[number].n_inside;
    job->indices += oci_round_up(lead_bytes + column->length * column->field->byte_width, 8);
    out->dictionary = NULL;
    out->values = indices;
    out->offset = lead_rows(column);
    out->validity = column->validity != NULL ? column->validity + column->offset / 8 : NULL;
    return OC_OK;
}

static oc_status translate_column(translate_job *job, const oci_column *column,
                                  const oci_field *physical, oci_column *out, oc_error *err)
{
    *out = *column;
    out->field = physical;
    if (column->field->dictionary != NULL) {
        return translate_dictionary(job, column, out, err);
    }
    oci_column *children = job->space;
    job->space += physical->n_children;
    out->children = children;
    for (int32_t i = 0; i < physical->n_children; i++) {
        OC_TRY(
            translate_column(job, &column->children[i], &physical->children[i], &children[i], err));
    }
    return OC_OK;
}

/* Gives a batch in physical form; its first dictionary is `number`. */
static oc_status translate(oci_file_dictionaries *d, const oci_batch *batch, oci_schema *physical,
                           int64_t number, oci_batch **out, oc_error *err)
{
    *out = NULL;
    int32_t n = physical->n_fields;
    int64_t slab_bytes = 0;
    for (int32_t i = 0; i < n; i++) {
        slab_bytes += indices_bytes(&batch->columns[i]);
    }
    int64_t n_children = oci_schema_shape(physical, OCI_IPC_V5).n_nodes - n;
    int64_t extra_bytes = n_children * (int64_t)sizeof(oci_column);
    void *slab = NULL;
    OC_TRY(oci_mem_alloc(d->mem, slab_bytes, &slab, err));
    oci_column *columns = calloc((size_t)n + 1, sizeof *columns);
    oci_column *extra = calloc((size_t)n_children + 1, sizeof *extra);
    translate_job job = {.d = d, .number = number, .indices = slab, .space = extra};
    oc_status status = columns != NULL && extra != NULL ? OC_OK : fail_memory(err);
    for (int32_t i = 0; i < n && status == OC_OK; i++) {
        status = translate_column(&job, &batch->columns[i], &physical->fields[i], &columns[i], err);
    }
    if (status != OC_OK) {
        free(columns);
        free(extra);
        oci_mem_free(d->mem, slab, slab_bytes);
        return status;
    }
    return oci_batch_adopt(physical, batch->length, columns, d->mem, slab, slab_bytes, extra,
                           extra_bytes, out, err);
}

oc_status oci_file_dictionaries_translate(oci_file_dictionaries *d, const oci_batch *batch,
                                          oci_batch **out, oc_error *err)
{
    return translate(d, batch, d->physical, 0, out, err);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Makes one part of all, two by two, so that no value is copied more often than log2(parts). Joined
 * parts leave a NULL behind; after a failure the parts that are left still are all values in order. */
static oc_status join_parts(oci_file_dictionaries *d, file_dictionary *dictionary, oc_error *err)
{
    oci_batch **parts = dictionary->parts;
    for (int64_t step = 1; step < dictionary->n_parts; step *= 2) {
        for (int64_t i = 0; i + step < dictionary->n_parts; i += 2 * step) {
            oci_batch *joined = NULL;
            OC_TRY(oci_dictionary_concat(dictionary->physical, parts[i], parts[i + step], d->mem,
                                         &joined, err));
            oci_batch_release(parts[i]);
            oci_batch_release(parts[i + step]);
            parts[i] = joined;
            parts[i + step] = NULL;
        }
    }
    return OC_OK;
}

static oc_status finish_dictionary(oci_file_dictionaries *d, int64_t number, oc_error *err)
{
    file_dictionary *dictionary = &d->list[number];
    oc_error cannot_join;
    oci_unify_destroy(dictionary->unify); /* makes room: the parts keep what they refer to */
    dictionary->unify = NULL;
    oc_status status = join_parts(d, dictionary, &cannot_join);
    if (status != OC_OK && status != OC_EBUDGET && status != OC_EUNSUPPORTED) {
        OC_FAIL(err, status, "%s", cannot_join.message);
    }
    for (int64_t i = 0; i < dictionary->n_parts; i++) {
        oci_batch *part = dictionary->parts[i];
        if (part != NULL) {
            OC_TRY(write_physical(d, number, part, err));
            dictionary->parts[i] = NULL;
            oci_batch_release(part);
        }
    }
    return OC_OK;
}

oc_status oci_file_dictionaries_finish(oci_file_dictionaries *d, oc_error *err)
{
    for (int64_t number = d->n - 1; number >= 0; number--) {
        OC_TRY(finish_dictionary(d, number, err));
    }
    return OC_OK;
}

/* ---- waste ----------------------------------------------------------------------------------- */

static bool is_wasteful_column(const oci_column *column)
{
    for (int32_t i = 0; i < column->field->n_children; i++) {
        oci_tree_shape shape = {0};
        oci_field_add_shape(&column->field->children[i], OCI_IPC_V5, &shape);
        if (shape.n_dictionaries > 0) {
            oci_row_range range = oci_column_child_range(column, i);
            oci_column child = oci_column_child_view(column, i, range);
            if (column->children[i].length > 2 * range.length + SPARE_ROWS ||
                is_wasteful_column(&child)) {
                return true;
            }
        }
    }
    return false;
}

bool oci_file_dictionaries_is_wasteful(const oci_batch *batch)
{
    for (int32_t i = 0; i < batch->schema->n_fields; i++) {
        if (is_wasteful_column(&batch->columns[i])) {
            return true;
        }
    }
    return false;
}
