/* From a message in memory to a batch.
 *
 *   message + body (slab)
 *     -> unpack (compressed bodies only: a new slab, the message's buffers rewritten to it)
 *     -> columns (each buffer held against the rows, pointers into the slab)
 *     -> dictionaries attached, values validated
 *     -> oci_batch that owns the slab
 *
 * Buffers are taken where they lie, at any alignment. An empty buffer is replaced by a few zeros of
 * our own, so that no column has a NULL where its layout wants a buffer (Arrow lets the offsets of
 * no rows be empty).
 *
 * Dictionaries. One entry per dictionary id holds the values as a batch of one column. A batch with
 * dictionary columns keeps the entries' batches alive, so that replacing a dictionary does not
 * disturb what was handed out before. The references hang on the batch as its `import`, whose
 * release callback lets go of them.
 *
 * Trust. The structure is always checked, since it is cheap (a few numbers per buffer). What costs
 * a pass over the rows (offsets in order, views, indices, the null count) is left out for data that
 * we wrote ourselves.
 *
 * Memory. Slabs come from the account. Lists with an entry per column, dictionary or buffer of a
 * message come from malloc: they grow with the schema, not with rows. */
#include "ipc/decoder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "ipc/dictionaries.h"

typedef struct dictionary_entry {
    int64_t id;
    oci_schema *schema; /* one field: type of the values, name of the first column that uses it */
    oci_batch *values;  /* NULL until sent */
} dictionary_entry;

struct oci_ipc_decoder {
    oci_schema *schema;
    bool trusted;
    oci_mem *mem;
    oci_codec *codecs[OCI_CODEC_ZSTD + 1]; /* made when first needed */
    int32_t n_dictionaries;
    dictionary_entry *dictionaries;
    int32_t *entry_of_field; /* index into dictionaries, for the dictionary columns */
    bool has_dictionaries;
};

static const uint8_t nothing[64] __attribute__((aligned(64)));

/* ---- life ------------------------------------------------------------------------------------ */

static dictionary_entry *find_entry(const oci_ipc_decoder *decoder, int64_t id)
{
    for (int32_t i = 0; i < decoder->n_dictionaries; i++) {
        if (decoder->dictionaries[i].id == id) {
            return &decoder->dictionaries[i];
        }
    }
    return NULL;
}

/* A schema of one column with the type of the values of `field`. */
static oc_status make_value_schema(const oci_field *field, oci_schema **out, oc_error *err)
{
    oci_field *fields = calloc(1, sizeof *fields);
    if (fields == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a decoder");
    }
    oc_status status = oci_field_copy(field->dictionary, fields, err);
    if (status != OC_OK) {
        free(fields);
        return status;
    }
    char *name = strdup(field->name);
    if (name == NULL) {
        oci_field_deinit(fields);
        free(fields);
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a decoder");
    }
    free(fields->name);
    fields->name = name;
    return oci_schema_create(fields, 1, NULL, 0, out, err);
}

static oc_status add_dictionary(oci_ipc_decoder *decoder, int32_t column, int64_t id, oc_error *err)
{
    const oci_field *field = &decoder->schema->fields[column];
    dictionary_entry *entry = find_entry(decoder, id);
    if (entry == NULL) {
        entry = &decoder->dictionaries[decoder->n_dictionaries];
        OC_TRY(make_value_schema(field, &entry->schema, err));
        entry->id = id;
        decoder->n_dictionaries++;
    } else if (!oci_field_same_type(&entry->schema->fields[0], field->dictionary)) {
        OC_FAIL(err, OC_EDATA,
                "columns \"%.80s\" and \"%.80s\" share dictionary %" PRId64
                " although their types differ",
                entry->schema->fields[0].name, field->name, id);
    }
    decoder->entry_of_field[column] = (int32_t)(entry - decoder->dictionaries);
    decoder->has_dictionaries = true;
    return OC_OK;
}

static oc_status add_dictionaries(oci_ipc_decoder *decoder, const oci_dictionary_ids *ids,
                                  oc_error *err)
{
    int32_t next = 0;
    for (int32_t i = 0; i < decoder->schema->n_fields; i++) {
        if (decoder->schema->fields[i].type == OCI_TYPE_DICTIONARY) {
            assert(ids == NULL || next < ids->n);
            OC_TRY(add_dictionary(decoder, i, ids == NULL ? next : ids->ids[next], err));
            next++;
        }
    }
    return OC_OK;
}

oc_status oci_ipc_decoder_create(oci_schema *schema, const oci_dictionary_ids *ids, bool trusted,
                                 oci_mem *mem, oci_ipc_decoder **out, oc_error *err)
{
    *out = NULL;
    oci_ipc_decoder *decoder = calloc(1, sizeof *decoder);
    if (decoder == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a decoder");
    }
    decoder->schema = oci_schema_retain(schema);
    decoder->trusted = trusted;
    decoder->mem = mem;
    decoder->dictionaries = calloc((size_t)schema->n_fields + 1, sizeof *decoder->dictionaries);
    decoder->entry_of_field = calloc((size_t)schema->n_fields + 1, sizeof *decoder->entry_of_field);
    oc_status status = OC_OK;
    if (decoder->dictionaries == NULL || decoder->entry_of_field == NULL) {
        status = OC_SET(err, OC_ENOMEM, "out of memory while making a decoder");
    } else {
        status = add_dictionaries(decoder, ids, err);
    }
    if (status != OC_OK) {
        oci_ipc_decoder_destroy(decoder);
        return status;
    }
    *out = decoder;
    return OC_OK;
}

void oci_ipc_decoder_destroy(oci_ipc_decoder *decoder)
{
    if (decoder == NULL) {
        return;
    }
    for (int32_t i = 0; i < decoder->n_dictionaries; i++) {
        oci_batch_release(decoder->dictionaries[i].values);
        oci_schema_release(decoder->dictionaries[i].schema);
    }
    for (int i = 0; i <= OCI_CODEC_ZSTD; i++) {
        oci_codec_destroy(decoder->codecs[i]);
    }
    free(decoder->dictionaries);
    free(decoder->entry_of_field);
    oci_schema_release(decoder->schema);
    free(decoder);
}

/* ---- compressed bodies ----------------------------------------------------------------------- */

/* Bytes that buffer i takes when decompressed; *is_raw when it is stored as it is (behind its
 * prefix). */
static oc_status claimed_bytes(const oci_message *message, const uint8_t *body, int64_t i,
                               int64_t *out, bool *is_raw, oc_error *err)
{
    oci_ipc_buffer buffer = oci_message_buffer(message, i);
    *out = 0;
    *is_raw = false;
    if (buffer.length == 0) {
        return OC_OK;
    }
    if (buffer.length < 8) {
        OC_FAIL(err, OC_EDATA,
                "compressed buffer %" PRId64 " has %" PRId64
                " bytes, fewer than the 8 of its length",
                i, buffer.length);
    }
    int64_t claim = (int64_t)oci_load_le64(body + buffer.offset);
    *is_raw = claim == -1;
    *out = *is_raw ? buffer.length - 8 : claim;
    if (*out < 0) {
        OC_FAIL(err, OC_EDATA, "compressed buffer %" PRId64 " claims %" PRId64 " bytes", i, claim);
    }
    if (*is_raw) {
        return OC_OK;
    }
    int64_t most =
        oci_codec_content_max(message->codec, body + buffer.offset + 8, buffer.length - 8);
    if (claim > most) {
        OC_FAIL(err, OC_EDATA,
                "compressed buffer %" PRId64 " claims %" PRId64 " bytes, but its %" PRId64
                " bytes of %s cannot hold more than %" PRId64,
                i, claim, buffer.length - 8, oci_codec_name(message->codec), most);
    }
    return OC_OK;
}

oc_status oci_ipc_decoded_bytes(const oci_message *message, const uint8_t *body, int64_t *out,
                                oc_error *err)
{
    *out = 0;
    if (message->codec == OCI_CODEC_NONE) {
        return OC_OK;
    }
    for (int64_t i = 0; i < message->n_buffers; i++) {
        int64_t size = 0;
        bool is_raw = false;
        OC_TRY(claimed_bytes(message, body, i, &size, &is_raw, err));
        if (size > INT64_MAX / 2 - 8 || !oci_add64(*out, oci_round_up(size, 8), out) ||
            *out > INT64_MAX / 2) {
            OC_FAIL(err, OC_EDATA,
                    "compressed buffers claim more bytes together than there can be");
        }
    }
    return OC_OK;
}

/* A body: the memory that holds it, and the message that describes it. */
typedef struct ipc_body {
    oci_message message;
    oci_mem *mem; /* whose the slab is */
    void *slab;
    int64_t slab_bytes;
    const uint8_t *data;       /* first byte of the body */
    oci_ipc_buffer *rewritten; /* malloc'ed: the buffers of an unpacked body, or NULL */
} ipc_body;

static void free_slab(ipc_body *body)
{
    if (body->slab != NULL) {
        oci_mem_free(body->mem, body->slab, body->slab_bytes);
    }
    body->slab = NULL;
}

static void body_deinit(ipc_body *body)
{
    free_slab(body);
    free(body->rewritten);
    body->rewritten = NULL;
}

static oc_status unpack_buffer(oci_codec *codec, const ipc_body *in, int64_t i, uint8_t *to,
                               int64_t *size, oc_error *err)
{
    oci_ipc_buffer buffer = oci_message_buffer(&in->message, i);
    bool is_raw = false;
    OC_TRY(claimed_bytes(&in->message, in->data, i, size, &is_raw, err));
    if (buffer.length == 0) {
        return OC_OK;
    }
    const uint8_t *from = in->data + buffer.offset + 8;
    if (!is_raw) {
        OC_TRY(oci_codec_decompress(codec, from, buffer.length - 8, to, *size, err));
    } else if (*size > 0) {
        memcpy(to, from, (size_t)*size);
    }
    memset(to + *size, 0, (size_t)(oci_round_up(*size, 8) - *size));
    return OC_OK;
}

static oc_status unpack_buffers(oci_codec *codec, const ipc_body *in, ipc_body *out, oc_error *err)
{
    int64_t at = 0;
    for (int64_t i = 0; i < in->message.n_buffers; i++) {
        int64_t size = 0;
        OC_TRY(unpack_buffer(codec, in, i, (uint8_t *)out->slab + at, &size, err));
        out->rewritten[i] = (oci_ipc_buffer){.offset = at, .length = size};
        at += oci_round_up(size, 8);
    }
    assert(at == out->slab_bytes);
    return OC_OK;
}

/* Replaces the body by a decompressed one. The old slab is freed then; on failure it stays with
 * `body`. */
static oc_status unpack(oci_ipc_decoder *decoder, ipc_body *body, oci_reservation *from,
                        oc_error *err)
{
    oci_codec_id id = body->message.codec;
    if (decoder->codecs[id] == NULL) {
        OC_TRY(oci_codec_create(id, 0, &decoder->codecs[id], err));
    }
    ipc_body plain = {.message = body->message, .mem = from != NULL ? from->mem : decoder->mem};
    OC_TRY(oci_ipc_decoded_bytes(&body->message, body->data, &plain.slab_bytes, err));
    OC_TRY(from != NULL ? oci_mem_alloc_reserved(from, plain.slab_bytes, &plain.slab, err)
                        : oci_mem_alloc(decoder->mem, plain.slab_bytes, &plain.slab, err));
    plain.rewritten = calloc((size_t)body->message.n_buffers + 1, sizeof *plain.rewritten);
    oc_status status = OC_OK;
    if (plain.rewritten == NULL) {
        status = OC_SET(err, OC_ENOMEM, "out of memory while decompressing a message");
    } else {
        status = unpack_buffers(decoder->codecs[id], body, &plain, err);
    }
    if (status != OC_OK) {
        body_deinit(&plain);
        return status;
    }
    plain.data = plain.slab;
    plain.message.codec = OCI_CODEC_NONE;
    plain.message.body_bytes = plain.slab_bytes;
    plain.message.buffers = (const uint8_t *)plain.rewritten;
    body_deinit(body);
    *body = plain;
    return OC_OK;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Where the next column finds its parts in the message. */
typedef struct column_cursor {
    const ipc_body *body;
    int64_t node;
    int64_t buffer;
    int64_t variadic;
    const uint8_t **view_buffers; /* room for those of all columns, taken from the front */
    int64_t *view_sizes;
} column_cursor;

/* Takes the next buffer. It lies inside the body, or the message was not parsed from where the body
 * is. */
static oc_status take_buffer(column_cursor *cursor, const oci_field *field, const uint8_t **data,
                             int64_t *size, oc_error *err)
{
    const oci_message *message = &cursor->body->message;
    if (cursor->buffer >= message->n_buffers) {
        OC_FAIL(err, OC_EDATA, "message has %" PRId64 " buffers, too few for column \"%.80s\"",
                message->n_buffers, field->name);
    }
    oci_ipc_buffer buffer = oci_message_buffer(message, cursor->buffer++);
    assert(buffer.offset >= 0 && buffer.length >= 0 && buffer.length <= message->body_bytes &&
           buffer.offset <= message->body_bytes - buffer.length);
    *size = buffer.length;
    *data = buffer.length == 0 ? nothing : cursor->body->data + buffer.offset;
    return OC_OK;
}

/* Takes the next buffer, which needs `needed` bytes. */
static oc_status take_sized(column_cursor *cursor, const oci_field *field, const char *what,
                            int64_t needed, const uint8_t **data, int64_t *size, oc_error *err)
{
    OC_TRY(take_buffer(cursor, field, data, size, err));
    if (*size < needed) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\" has %" PRId64 " bytes of %s, %" PRId64 " are needed", field->name,
                *size, what, needed);
    }
    return OC_OK;
}

static oc_status take_validity(column_cursor *cursor, oci_column *column, bool trusted,
                               oc_error *err)
{
    int64_t size = 0;
    const uint8_t *bits = NULL;
    OC_TRY(take_buffer(cursor, column->field, &bits, &size, err));
    int64_t needed = oci_bytes_for_bits(column->length);
    if (column->null_count > 0 && size < needed) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\" has %" PRId64 " nulls and %" PRId64 " bytes of validity, %" PRId64
                " are needed",
                column->field->name, column->null_count, size, needed);
    }
    if (column->null_count > 0) {
        column->validity = bits;
    }
    if (trusted || size < needed) {
        return OC_OK;
    }
    int64_t null_count = column->length - oci_bits_count(bits, 0, column->length);
    if (null_count != column->null_count) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\" has %" PRId64 " nulls where the message says %" PRId64,
                column->field->name, null_count, column->null_count);
    }
    return OC_OK;
}

static oc_status take_bytes(column_cursor *cursor, oci_column *column, int width,
                            int64_t *bytes_size, oc_error *err)
{
    int64_t needed = 0;
    int64_t size = 0;
    if (column->length > 0) {
        needed = column->length >= INT64_MAX / width ? INT64_MAX : (column->length + 1) * width;
    }
    OC_TRY(take_sized(cursor, column->field, "offsets", needed, &column->values, &size, err));
    OC_TRY(take_buffer(cursor, column->field, &column->bytes, bytes_size, err));
    if (column->length == 0) {
        column->values = nothing; /* whatever the one offset says, if there is one */
        return OC_OK;
    }
    const uint8_t *end = column->values + column->length * width;
    int64_t first = width == 4 ? (int32_t)oci_load_le32(column->values)
                               : (int64_t)oci_load_le64(column->values);
    int64_t last = width == 4 ? (int32_t)oci_load_le32(end) : (int64_t)oci_load_le64(end);
    if (first < 0 || last < first || last > *bytes_size) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\" has values from byte %" PRId64 " to %" PRId64
                ", but there are %" PRId64 " bytes",
                column->field->name, first, last, *bytes_size);
    }
    return OC_OK;
}

static oc_status take_views(column_cursor *cursor, oci_column *column, oc_error *err)
{
    const oci_message *message = &cursor->body->message;
    int64_t size = 0;
    int64_t needed = column->length > INT64_MAX / 16 ? INT64_MAX : 16 * column->length;
    OC_TRY(take_sized(cursor, column->field, "views", needed, &column->values, &size, err));
    if (cursor->variadic >= message->n_variadic) {
        OC_FAIL(err, OC_EDATA, "message does not say how many view buffers column \"%.80s\" has",
                column->field->name);
    }
    int64_t n = oci_message_variadic(message, cursor->variadic++);
    if (n > message->n_buffers - cursor->buffer || n > INT32_MAX) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\" claims %" PRId64 " view buffers, the message has %" PRId64
                " left",
                column->field->name, n, message->n_buffers - cursor->buffer);
    }
    column->view_buffers = cursor->view_buffers;
    column->view_sizes = cursor->view_sizes;
    column->n_view_buffers = (int32_t)n;
    for (int64_t i = 0; i < n; i++) {
        OC_TRY(
            take_buffer(cursor, column->field, cursor->view_buffers++, cursor->view_sizes++, err));
    }
    return OC_OK;
}

static oc_status take_values(column_cursor *cursor, oci_column *column, int64_t *bytes_size,
                             oc_error *err)
{
    const oci_field *field = column->field;
    int64_t size = 0;
    int64_t needed = 0;
    switch (oci_field_layout(field)) {
    case OCI_LAYOUT_BITS:
        return take_sized(cursor, field, "values", oci_bytes_for_bits(column->length),
                          &column->values, &size, err);
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_DICTIONARY:
        if (!oci_mul64(column->length, field->byte_width, &needed)) {
            needed = INT64_MAX;
        }
        return take_sized(cursor, field, "values", needed, &column->values, &size, err);
    case OCI_LAYOUT_OFFSETS32: return take_bytes(cursor, column, 4, bytes_size, err);
    case OCI_LAYOUT_OFFSETS64: return take_bytes(cursor, column, 8, bytes_size, err);
    case OCI_LAYOUT_VIEWS: return take_views(cursor, column, err);
    case OCI_LAYOUT_NULL:
    default: break;
    }
    assert(!"unsupported types are refused with the schema");
    return OC_OK;
}

/* bytes_size gets the size of the bytes of a string column, -1 for others. */
static oc_status take_column(column_cursor *cursor, const oci_field *field, bool trusted,
                             oci_column *column, int64_t *bytes_size, oc_error *err)
{
    const oci_message *message = &cursor->body->message;
    oci_ipc_node node = oci_message_node(message, cursor->node++);
    *bytes_size = -1;
    if (node.length != message->length) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\" has %" PRId64 " values, the batch has %" PRId64 " rows",
                field->name, node.length, message->length);
    }
    *column = (oci_column){.field = field, .length = node.length, .null_count = node.null_count};
    if (oci_field_layout(field) == OCI_LAYOUT_NULL) {
        column->null_count = node.length;
        return OC_OK;
    }
    OC_TRY(take_validity(cursor, column, trusted, err));
    return take_values(cursor, column, bytes_size, err);
}

/* ---- dictionary columns ---------------------------------------------------------------------- */

/* What a batch with dictionary columns holds on to. */
typedef struct kept_dictionaries {
    int32_t n;
    oci_batch *batches[];
} kept_dictionaries;

static void release_kept(struct ArrowArray *array)
{
    kept_dictionaries *kept = array->private_data;
    for (int32_t i = 0; i < kept->n; i++) {
        oci_batch_release(kept->batches[i]);
    }
    free(kept);
    array->release = NULL;
}

/* An array that is nothing but a reference to the dictionaries in use. */
static oc_status keep_dictionaries(const oci_ipc_decoder *decoder, struct ArrowArray **out,
                                   oc_error *err)
{
    struct ArrowArray *array = calloc(1, sizeof *array);
    kept_dictionaries *kept =
        malloc(sizeof *kept + (size_t)decoder->n_dictionaries * sizeof(oci_batch *));
    if (array == NULL || kept == NULL) {
        free(array);
        free(kept);
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a batch");
    }
    kept->n = 0;
    for (int32_t i = 0; i < decoder->n_dictionaries; i++) {
        if (decoder->dictionaries[i].values != NULL) {
            kept->batches[kept->n++] = oci_batch_retain(decoder->dictionaries[i].values);
        }
    }
    array->private_data = kept;
    array->release = release_kept;
    *out = array;
    return OC_OK;
}

static oc_status make_empty_dictionary(dictionary_entry *entry, oc_error *err)
{
    oci_column *column = calloc(1, sizeof *column);
    if (column == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a batch");
    }
    *column = (oci_column){.field = &entry->schema->fields[0], .values = nothing, .bytes = nothing};
    return oci_batch_adopt(entry->schema, 0, column, NULL, NULL, 0, NULL, 0, &entry->values, err);
}

/* Gives the column its values. Arrow lets a dictionary be missing as long as every value is
 * null. */
static oc_status attach_dictionary(oci_ipc_decoder *decoder, int32_t i, oci_column *column,
                                   oc_error *err)
{
    dictionary_entry *entry = &decoder->dictionaries[decoder->entry_of_field[i]];
    if (entry->values == NULL) {
        if (column->null_count != column->length) {
            OC_FAIL(err, OC_EDATA,
                    "column \"%.80s\" needs dictionary %" PRId64 ", which was not sent before it",
                    column->field->name, entry->id);
        }
        OC_TRY(make_empty_dictionary(entry, err));
    }
    column->dictionary = &entry->values->columns[0];
    return OC_OK;
}

/* The values of a dictionary were validated when it came; only the indices are new. */
static oc_status validate_indices(const oci_column *column, oc_error *err)
{
    static char no_name[] = "";
    static const oci_field plain = {.name = no_name, .type = OCI_TYPE_INT8, .byte_width = 1};
    oci_column values = {.field = &plain, .length = column->dictionary->length, .values = nothing};
    oci_column indices = *column;
    indices.dictionary = &values;
    return oci_column_validate(&indices, -1, err);
}

/* ---- batches --------------------------------------------------------------------------------- */

static oc_status decode_column(oci_ipc_decoder *decoder, column_cursor *cursor,
                               const oci_field *field, int32_t i, oci_column *column, oc_error *err)
{
    int64_t bytes_size = -1;
    OC_TRY(take_column(cursor, field, decoder->trusted, column, &bytes_size, err));
    if (field->type == OCI_TYPE_DICTIONARY) {
        OC_TRY(attach_dictionary(decoder, i, column, err));
        return decoder->trusted ? OC_OK : validate_indices(column, err);
    }
    return decoder->trusted ? OC_OK : oci_column_validate(column, bytes_size, err);
}

static oc_status decode_columns(oci_ipc_decoder *decoder, const oci_schema *schema,
                                const ipc_body *body, oci_column *columns, void *extra,
                                oc_error *err)
{
    const oci_message *message = &body->message;
    if (message->n_nodes != schema->n_fields) {
        OC_FAIL(err, OC_EDATA, "message has %" PRId64 " columns, the schema has %" PRId32,
                message->n_nodes, schema->n_fields);
    }
    column_cursor cursor = {.body = body};
    if (extra != NULL) {
        cursor.view_buffers = extra;
        cursor.view_sizes = (int64_t *)(cursor.view_buffers + message->n_buffers);
    }
    for (int32_t i = 0; i < schema->n_fields; i++) {
        OC_TRY(decode_column(decoder, &cursor, &schema->fields[i], i, &columns[i], err));
    }
    if (cursor.buffer != message->n_buffers || cursor.variadic != message->n_variadic) {
        OC_FAIL(err, OC_EDATA,
                "message has %" PRId64 " buffers and %" PRId64
                " counts of view buffers, the schema asks for %" PRId64 " and %" PRId64,
                message->n_buffers, message->n_variadic, cursor.buffer, cursor.variadic);
    }
    return OC_OK;
}

/* Makes the batch; it takes the slab of `body`. */
static oc_status decode_batch(oci_ipc_decoder *decoder, oci_schema *schema, ipc_body *body,
                              oci_batch **out, oc_error *err)
{
    const oci_message *message = &body->message;
    /* Pointers and sizes of view buffers, of which there are fewer than buffers. */
    int64_t extra_bytes = message->n_variadic > 0 ? 16 * message->n_buffers : 0;
    void *extra = extra_bytes > 0 ? malloc((size_t)extra_bytes) : NULL;
    oci_column *columns = calloc((size_t)schema->n_fields + 1, sizeof *columns);
    struct ArrowArray *kept = NULL;
    oc_status status = OC_OK;
    if (columns == NULL || (extra_bytes > 0 && extra == NULL)) {
        status = OC_SET(err, OC_ENOMEM, "out of memory while making a batch");
        goto failed;
    }
    status = decode_columns(decoder, schema, body, columns, extra, err);
    if (status == OC_OK && decoder->has_dictionaries && schema == decoder->schema) {
        status = keep_dictionaries(decoder, &kept, err);
    }
    if (status != OC_OK) {
        goto failed;
    }
    void *slab = body->slab;
    body->slab = NULL;
    status = oci_batch_adopt(schema, message->length, columns, body->mem, slab, body->slab_bytes,
                             extra, extra_bytes, out, err);
    if (status == OC_OK) {
        (*out)->import = kept;
        return OC_OK;
    }
    columns = NULL; /* taken, like the slab */
    extra = NULL;
failed:
    if (kept != NULL) {
        release_kept(kept);
        free(kept);
    }
    free(columns);
    free(extra);
    return status;
}

/* Remembers what a dictionary message brought: instead of, or behind, what was there. */
static oc_status decode_dictionary(oci_ipc_decoder *decoder, ipc_body *body, oc_error *err)
{
    const oci_message *message = &body->message;
    dictionary_entry *entry = find_entry(decoder, message->dictionary_id);
    if (entry == NULL) {
        OC_FAIL(err, OC_EDATA, "no column uses dictionary %" PRId64, message->dictionary_id);
    }
    oci_batch *values = NULL;
    OC_TRY(decode_batch(decoder, entry->schema, body, &values, err));
    if (message->dictionary_delta && entry->values != NULL) {
        oci_batch *both = NULL;
        oc_status status =
            oci_dictionary_concat(entry->schema, entry->values, values, decoder->mem, &both, err);
        oci_batch_release(values);
        OC_TRY(status);
        values = both;
    }
    oci_batch_release(entry->values);
    entry->values = values;
    return OC_OK;
}

oc_status oci_ipc_decode(oci_ipc_decoder *decoder, const oci_message *message, void *slab,
                         int64_t slab_bytes, int64_t body_offset, oci_reservation *from,
                         oci_batch **out, oc_error *err)
{
    *out = NULL;
    ipc_body body = {.message = *message,
                     .mem = decoder->mem,
                     .slab = slab,
                     .slab_bytes = slab_bytes,
                     .data = slab == NULL ? nothing : (const uint8_t *)slab + body_offset};
    oc_status status = OC_OK;
    if (body_offset < 0 || message->body_bytes > slab_bytes - body_offset) {
        status = OC_SET(err, OC_EDATA,
                        "message body of %" PRId64 " bytes ends %" PRId64 " bytes early",
                        message->body_bytes, message->body_bytes - (slab_bytes - body_offset));
    } else if (message->codec != OCI_CODEC_NONE) {
        status = unpack(decoder, &body, from, err);
    }
    if (status == OC_OK) {
        assert(message->kind != OCI_MESSAGE_SCHEMA);
        status = message->kind == OCI_MESSAGE_DICTIONARY
                     ? decode_dictionary(decoder, &body, err)
                     : decode_batch(decoder, decoder->schema, &body, out, err);
    }
    body_deinit(&body);
    return status;
}
