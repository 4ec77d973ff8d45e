/* Messages are taken apart and put together again with the calls of src/ipc; what those cannot do
 * is to say that a schema is big-endian. So a schema message (or footer) gets a new root table and a
 * new schema table in front of the old flatbuffer, which refer to the parts of the old one:
 *
 *     | root offset | new root | new schema | old flatbuffer ... |
 *
 * Tables are written with all the slots of the old ones, each 8 bytes wide. */
#include "support/big_endian.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "ipc/byte_order.h"
#include "ipc/message.h"

#define SLOTS_MAX 8

static void check(oc_status status, const oc_error *err)
{
    if (status != OC_OK) {
        fprintf(stderr, "big_endian_copy: %s\n", err->message);
        abort();
    }
}

static void append(byte_sink *out, const void *bytes, int64_t size)
{
    if (out->size + size > out->capacity) {
        out->capacity = 2 * (out->size + size) + 1024;
        out->data = realloc(out->data, (size_t)out->capacity);
        if (out->data == NULL) {
            abort();
        }
    }
    if (size > 0) {
        memcpy(out->data + out->size, bytes, (size_t)size);
    }
    out->size += size;
}

static void pad(byte_sink *out, int64_t unit)
{
    static const uint8_t zeros[64];
    append(out, zeros, oci_round_up(out->size, unit) - out->size);
}

/* ---- flatbuffers ----------------------------------------------------------------------------- */

/* A table as its slots: where each lies in the flatbuffer, 0 = absent. */
typedef struct fb_slots {
    int64_t at[SLOTS_MAX];
} fb_slots;

static fb_slots read_slots(const uint8_t *fb, int64_t table)
{
    fb_slots slots = {{0}};
    const uint8_t *vtable = fb + table - (int32_t)oci_load_le32(fb + table);
    int n = (oci_load_le16(vtable) - 4) / 2;
    for (int i = 0; i < n && i < SLOTS_MAX; i++) {
        int64_t offset = oci_load_le16(vtable + 4 + 2 * i);
        slots.at[i] = offset == 0 ? 0 : table + offset;
    }
    return slots;
}

#define TABLE_BYTES  (8 + 8 * SLOTS_MAX)
#define VTABLE_BYTES (4 + 2 * SLOTS_MAX + 4)

/* Writes a vtable and, behind it, a table with the slots of an old one. `references`: bits of the
 * slots that are offsets to something in the old flatbuffer, which lies `shift` bytes further in the
 * new one. Gives the place of the table. */
static int64_t write_table(uint8_t *to, int64_t at, const uint8_t *fb, const fb_slots *slots,
                           unsigned references, int64_t shift)
{
    int64_t table = at + VTABLE_BYTES;
    oci_store_le16(to + at, (uint16_t)(4 + 2 * SLOTS_MAX));
    oci_store_le16(to + at + 2, TABLE_BYTES);
    oci_store_le32(to + table, (uint32_t)(table - at));
    for (int i = 0; i < SLOTS_MAX; i++) {
        if (slots->at[i] == 0) {
            continue;
        }
        int64_t place = table + 8 + 8 * i;
        oci_store_le16(to + at + 4 + 2 * i, (uint16_t)(place - table));
        if (references >> i & 1) {
            int64_t target = shift + slots->at[i] + oci_load_le32(fb + slots->at[i]);
            oci_store_le32(to + place, (uint32_t)(target - place));
        } else {
            memcpy(to + place, fb + slots->at[i], 8); /* more than it has does no harm */
        }
    }
    return table;
}

/* Appends a flatbuffer whose root has its schema in slot `schema_slot` with another byte order.
 * `references` as above, of the root. */
static void append_big_endian(byte_sink *out, const uint8_t *fb, int64_t size, int schema_slot,
                              unsigned references)
{
    uint8_t head[256] = {0};
    int64_t shift = oci_round_up(8 + 2 * (VTABLE_BYTES + TABLE_BYTES), 8);
    uint8_t *copy = calloc(1, (size_t)size + 16); /* for the 8 bytes of the last slot */
    memcpy(copy, fb, (size_t)size);
    fb_slots root = read_slots(copy, oci_load_le32(copy));
    fb_slots schema =
        read_slots(copy, root.at[schema_slot] + oci_load_le32(copy + root.at[schema_slot]));
    int64_t root_table = write_table(head, 8, copy, &root, references, shift);
    int64_t schema_at = root_table + TABLE_BYTES;
    static const uint8_t big[8] = {1};
    schema.at[0] = size + 8; /* the endianness */
    memcpy(copy + schema.at[0], big, sizeof big);
    int64_t schema_table = write_table(head, schema_at, copy, &schema, 2 | 4 | 8, shift);
    int64_t slot = root_table + 8 + 8 * schema_slot;
    oci_store_le32(head + slot, (uint32_t)(schema_table - slot));
    oci_store_le32(head, (uint32_t)root_table);
    append(out, head, shift);
    append(out, fb, size);
    pad(out, 8);
    free(copy);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* Turns the other way than the library does: from this machine's order. */
static void turn(const oci_field *field, oci_buffer_kind kind, uint8_t *values, int64_t bytes)
{
    if (kind != OCI_BUFFER_VIEWS) {
        oci_swap_values(field, kind, values, bytes);
        return;
    }
    for (int64_t at = 0; at + 16 <= bytes; at += 16) {
        bool is_inlined = (int32_t)oci_load_le32(values + at) <= 12;
        for (int64_t word = 0; word < 16; word += 4) {
            if (word == 0 || (word >= 8 && !is_inlined)) {
                uint32_t value = oci_load_le32(values + at + word);
                oci_store_le32(values + at + word, __builtin_bswap32(value));
            }
        }
    }
}

/* A message that is being put together again. */
typedef struct body_copy {
    const oci_message *message;
    const uint8_t *body;
    oci_codec *codec;
    byte_sink out;
    oci_ipc_buffer *buffers; /* of `out` */
    int64_t buffer;
    int64_t variadic;
} body_copy;

static void copy_buffer(body_copy *copy, const oci_field *field, oci_buffer_kind kind)
{
    oc_error err = {0};
    oci_ipc_buffer buffer = oci_message_buffer(copy->message, copy->buffer);
    bool is_packed = copy->message->codec != OCI_CODEC_NONE && buffer.length > 0;
    int64_t head = is_packed ? 8 : 0;
    const uint8_t *from = copy->body + buffer.offset;
    int64_t claim = is_packed ? (int64_t)oci_load_le64(from) : -1;
    int64_t size = claim >= 0 ? claim : buffer.length - head;
    uint8_t *plain = calloc(1, (size_t)size + 1);
    if (claim >= 0) {
        check(oci_codec_decompress(copy->codec, from + 8, buffer.length - 8, plain, size, &err),
              &err);
    } else if (size > 0) {
        memcpy(plain, from + head, (size_t)size);
    }
    turn(field, kind, plain, size);
    pad(&copy->out, 8);
    int64_t start = copy->out.size;
    append(&copy->out, from, head);
    if (claim >= 0) {
        int64_t room = oci_codec_bound(copy->message->codec, size), packed_size = 0;
        uint8_t *packed = malloc((size_t)room);
        check(oci_codec_compress(copy->codec, plain, size, packed, room, &packed_size, &err), &err);
        append(&copy->out, packed, packed_size);
        free(packed);
    } else {
        append(&copy->out, plain, size);
    }
    copy->buffers[copy->buffer++] =
        (oci_ipc_buffer){.offset = start, .length = copy->out.size - start};
    free(plain);
}

static void copy_field(body_copy *copy, const oci_field *field)
{
    oci_node_shape shape = oci_node_shape_of(field, copy->message->version);
    for (int32_t i = 0; i < shape.n_buffers; i++) {
        copy_buffer(copy, field, shape.buffers[i]);
    }
    int64_t more = shape.has_views ? oci_message_variadic(copy->message, copy->variadic++) : 0;
    for (int64_t i = 0; i < more; i++) {
        copy_buffer(copy, field, OCI_BUFFER_BYTES);
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        copy_field(copy, &field->children[i]);
    }
}

/* The values of the dictionary `id`, or NULL. */
static const oci_field *find_values(const oci_field *field, const int64_t *ids, int32_t *next,
                                    int64_t id)
{
    const oci_field *found = NULL;
    if (field->dictionary != NULL) {
        if (ids[(*next)++] == id) {
            return field->dictionary;
        }
        found = find_values(field->dictionary, ids, next, id);
    }
    for (int32_t i = 0; i < field->n_children && found == NULL; i++) {
        found = find_values(&field->children[i], ids, next, id);
    }
    return found;
}

static void copy_body(const oci_schema *schema, const oci_dictionary_ids *ids,
                      const oci_message *message, const uint8_t *body, byte_sink *out,
                      oci_ipc_file_block *block)
{
    oc_error err = {0};
    body_copy copy = {.message = message, .body = body};
    copy.buffers = calloc((size_t)message->n_buffers + 1, sizeof *copy.buffers);
    check(oci_codec_create(message->codec, 0, &copy.codec, &err), &err);
    int32_t next = 0;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        const oci_field *field = &schema->fields[i];
        if (message->kind == OCI_MESSAGE_DICTIONARY) {
            field = find_values(field, ids->ids, &next, message->dictionary_id);
        }
        if (field != NULL) {
            copy_field(&copy, field);
        }
        if (field != NULL && message->kind == OCI_MESSAGE_DICTIONARY) {
            break;
        }
    }
    pad(&copy.out, 8);
    oci_message fields = *message;
    fields.body_bytes = copy.out.size;
    oci_bytes head = {0};
    int64_t *variadic = calloc((size_t)message->n_variadic + 1, sizeof *variadic);
    oci_ipc_node *nodes = calloc((size_t)message->n_nodes + 1, sizeof *nodes);
    for (int64_t i = 0; i < message->n_variadic; i++) {
        variadic[i] = oci_message_variadic(message, i);
    }
    for (int64_t i = 0; i < message->n_nodes; i++) {
        nodes[i] = oci_message_node(message, i);
    }
    check(oci_message_build_batch(&fields, nodes, copy.buffers, variadic, &head, &err), &err);
    *block = (oci_ipc_file_block){
        .offset = out->size, .metadata_bytes = (int32_t)head.size, .body_bytes = copy.out.size};
    append(out, head.data, head.size);
    append(out, copy.out.data, copy.out.size);
    free(nodes);
    free(variadic);
    free(head.data);
    free(copy.out.data);
    free(copy.buffers);
    oci_codec_destroy(copy.codec);
}

/* ---- streams and files ----------------------------------------------------------------------- */

static void copy_schema(const uint8_t *metadata, int64_t size, byte_sink *out)
{
    byte_sink fb = {0};
    append_big_endian(&fb, metadata, size, 2, 1 << 2 | 1 << 4);
    uint8_t prefix[8] = {0xFF, 0xFF, 0xFF, 0xFF};
    oci_store_le32(prefix + 4, (uint32_t)fb.size);
    append(out, prefix, sizeof prefix);
    append(out, fb.data, fb.size);
    free(fb.data);
}

static void append_footer(oci_ipc_footer *footer, byte_sink *out)
{
    oc_error err = {0};
    oci_bytes bytes = {0};
    check(oci_footer_build(footer, &bytes, &err), &err);
    int64_t start = out->size;
    append_big_endian(out, bytes.data, bytes.size, 1, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4);
    uint8_t tail[4];
    oci_store_le32(tail, (uint32_t)(out->size - start));
    append(out, tail, sizeof tail);
    append(out, "ARROW1", 6);
    free(bytes.data);
}

static void add_block(oci_ipc_file_block **blocks, int64_t *n, oci_ipc_file_block block)
{
    *blocks = realloc(*blocks, (size_t)(*n + 1) * sizeof **blocks);
    (*blocks)[(*n)++] = block;
}

void big_endian_copy(const byte_sink *in, byte_sink *out)
{
    oc_error err = {0};
    bool is_file = in->size > 8 && memcmp(in->data, "ARROW1", 6) == 0;
    int64_t at = is_file ? 8 : 0;
    oci_ipc_footer footer = {0};
    *out = (byte_sink){0};
    append(out, in->data, at);
    while (at + 8 <= in->size) {
        int64_t size = 0;
        int prefix = 0;
        check(oci_frame_parse(in->data + at, &size, &prefix, &err), &err);
        const uint8_t *metadata = in->data + at + prefix;
        if (size == 0) {
            append(out, in->data + at, prefix);
            break;
        }
        oci_message message;
        check(oci_message_parse(metadata, size, &message, &err), &err);
        const uint8_t *body = metadata + size;
        if (message.kind == OCI_MESSAGE_SCHEMA) {
            check(oci_message_parse_schema(metadata, size, &footer.schema, &footer.ids, NULL, &err),
                  &err);
            copy_schema(metadata, size, out);
        } else {
            oci_ipc_file_block block;
            bool is_batch = message.kind == OCI_MESSAGE_BATCH;
            copy_body(footer.schema, &footer.ids, &message, body, out, &block);
            add_block(is_batch ? &footer.batches : &footer.dictionaries,
                      is_batch ? &footer.n_batches : &footer.n_dictionaries, block);
        }
        at = body - in->data + message.body_bytes;
    }
    if (is_file) {
        append_footer(&footer, out);
    }
    oci_footer_deinit(&footer);
}
