/* From verified messages to batches: the layouts that streams of an operator have, each with an IPC
 * decoder for its physical columns.
 *
 * Runs of an operator have a few layouts, again and again: a schema message that was seen before (but
 * for the digits of its checksum) is not parsed again. The list is short; what nobody reads any more
 * goes when it gets long, so that a foreign file with a new schema in each stream holds no more.
 *
 * Structs and copies of schema messages come from malloc: they grow with the schema. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/decoder.h"
#include "spill/run_internal.h"
#include "spill/stream_metadata.h"

/* Layouts that are remembered while no cursor uses them. */
#define LAYOUTS_MAX 8

struct oci_run_layout {
    oci_spill_layout *layout;
    oci_ipc_decoder *decoder;
    uint8_t *key; /* the schema message's metadata, without checksum */
    int64_t key_bytes;
    _Atomic int32_t references; /* cursors are finished by other threads than the one that reads */
    oci_run_layout *next;
};

struct oci_run_decoder {
    oci_spill_manager *manager;
    oci_schema *schema; /* NULL = of the first stream */
    bool trusted;
    oci_mem *mem;
    oci_run_layout *layouts; /* used last comes first; retained */
};

/* ---- life ------------------------------------------------------------------------------------ */

oc_status oci_run_decoder_create(oci_spill_manager *manager, oci_schema *schema, bool trusted,
                                 oci_mem *mem, oci_run_decoder **out, oc_error *err)
{
    *out = NULL;
    oci_run_decoder *decoder = calloc(1, sizeof *decoder);
    if (decoder == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a spill reader: out of memory");
    }
    decoder->manager = oci_spill_manager_retain(manager);
    decoder->schema = schema == NULL ? NULL : oci_schema_retain(schema);
    decoder->trusted = trusted;
    decoder->mem = mem;
    *out = decoder;
    return OC_OK;
}

void oci_run_layout_release(oci_run_layout *layout)
{
    if (layout == NULL || atomic_fetch_sub(&layout->references, 1) != 1) {
        return;
    }
    oci_spill_layout_destroy(layout->layout);
    oci_ipc_decoder_destroy(layout->decoder);
    free(layout->key);
    free(layout);
}

void oci_run_decoder_destroy(oci_run_decoder *decoder)
{
    if (decoder == NULL) {
        return;
    }
    while (decoder->layouts != NULL) {
        oci_run_layout *layout = decoder->layouts;
        decoder->layouts = layout->next;
        oci_run_layout_release(layout);
    }
    oci_schema_release(decoder->schema);
    oci_spill_manager_release(decoder->manager);
    free(decoder);
}

oci_schema *oci_run_decoder_schema(const oci_run_decoder *decoder)
{
    return decoder->schema;
}

oci_spill_manager *oci_run_decoder_manager(const oci_run_decoder *decoder)
{
    return decoder->manager;
}

oci_mem *oci_run_decoder_mem(const oci_run_decoder *decoder)
{
    return decoder->mem;
}

bool oci_run_decoder_is_trusted(const oci_run_decoder *decoder)
{
    return decoder->trusted;
}

/* ---- layouts --------------------------------------------------------------------------------- */

/* Moves a layout with this key to the front; false when there is none. */
static bool find_layout(oci_run_decoder *decoder, const uint8_t *key, int64_t key_bytes)
{
    for (oci_run_layout **at = &decoder->layouts; *at != NULL; at = &(*at)->next) {
        oci_run_layout *layout = *at;
        if (layout->key_bytes == key_bytes && memcmp(layout->key, key, (size_t)key_bytes) == 0) {
            *at = layout->next;
            layout->next = decoder->layouts;
            decoder->layouts = layout;
            return true;
        }
    }
    return false;
}

static void forget_old_layouts(oci_run_decoder *decoder)
{
    int n = 0;
    oci_run_layout **at = &decoder->layouts;
    while (*at != NULL) {
        oci_run_layout *layout = *at;
        if (++n > LAYOUTS_MAX) {
            *at = layout->next;
            oci_run_layout_release(layout);
        } else {
            at = &layout->next;
        }
    }
}

static oc_status make_ipc_decoder(oci_run_decoder *decoder, oci_run_layout *layout,
                                  const oci_dictionary_ids *ids, oc_error *err)
{
    /* Plain columns get the labels of the logical schema at once: the types are the same. */
    oci_schema *schema = oci_spill_layout_is_plain(layout->layout)
                             ? oci_spill_layout_logical(layout->layout)
                             : oci_spill_layout_physical(layout->layout);
    return oci_ipc_decoder_create(schema, ids, decoder->trusted, decoder->mem, &layout->decoder,
                                  err);
}

/* Takes the key, also on failure. */
static oc_status make_layout(oci_run_decoder *decoder, oci_schema *physical,
                             const oci_dictionary_ids *ids, uint8_t *key, int64_t key_bytes,
                             oc_error *err)
{
    oci_run_layout *layout = calloc(1, sizeof *layout);
    if (layout == NULL) {
        free(key);
        OC_FAIL(err, OC_ENOMEM, "could not read a spill file: out of memory");
    }
    layout->key = key;
    layout->key_bytes = key_bytes;
    atomic_init(&layout->references, 1);
    oc_status status = oci_spill_layout_parse(physical, decoder->schema, &layout->layout, err);
    if (status == OC_OK) {
        status = make_ipc_decoder(decoder, layout, ids, err);
    }
    if (status != OC_OK) {
        oci_run_layout_release(layout);
        return status;
    }
    if (decoder->schema == NULL) {
        decoder->schema = oci_schema_retain(oci_spill_layout_logical(layout->layout));
    }
    layout->next = decoder->layouts;
    decoder->layouts = layout;
    forget_old_layouts(decoder);
    return OC_OK;
}

/* The metadata without the digits of the checksum, which differ from place to place. */
static oc_status copy_key(const oci_run_message *message, uint8_t **out, oc_error *err)
{
    uint8_t *key = malloc((size_t)message->metadata_bytes + 1);
    if (key == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not read a spill file: out of memory");
    }
    memcpy(key, message->metadata, (size_t)message->metadata_bytes);
    if (message->parsed.checksum != NULL) {
        memset(key + (message->parsed.checksum - message->metadata), '0', OCI_CHECKSUM_DIGITS);
    }
    *out = key;
    return OC_OK;
}

/* A schema that was not seen before. Takes the key, also on failure. */
static oc_status open_new(oci_run_decoder *decoder, const oci_run_message *message, uint8_t *key,
                          oci_run_stream *out, bool *is_closing, oc_error *err)
{
    oci_schema *schema = NULL;
    oci_dictionary_ids ids = {0};
    oc_status status = oci_message_parse_schema(message->metadata, message->metadata_bytes, &schema,
                                                &ids, NULL, err);
    if (status != OC_OK) {
        free(key);
        return status;
    }
    bool is_sound = true;
    *is_closing = oci_closing_parse(schema, &out->batches, &out->rows, &is_sound);
    if (*is_closing) {
        free(key);
        status = is_sound ? OC_OK : OC_SET(err, OC_EDATA, "its counts cannot be read");
    } else {
        status = make_layout(decoder, schema, &ids, key, message->metadata_bytes, err);
    }
    free(ids.ids);
    oci_schema_release(schema);
    return status;
}

oc_status oci_run_decoder_open(oci_run_decoder *decoder, const oci_run_message *message,
                               oci_run_stream *out, oc_error *err)
{
    *out = (oci_run_stream){0};
    uint8_t *key;
    bool is_closing = false;
    OC_TRY(copy_key(message, &key, err));
    if (find_layout(decoder, key, message->metadata_bytes)) {
        free(key);
    } else {
        OC_TRY(open_new(decoder, message, key, out, &is_closing, err));
    }
    if (!is_closing) {
        out->layout = decoder->layouts;
        atomic_fetch_add(&out->layout->references, 1);
    }
    return OC_OK;
}

/* ---- batches --------------------------------------------------------------------------------- */

oc_status oci_run_decoder_decode(oci_run_decoder *decoder, oci_run_layout *layout,
                                 oci_run_message *message, oci_batch **out, oc_error *err)
{
    oci_spill_manager *manager = decoder->manager;
    int64_t start = oci_spill_now(manager);
    void *slab = message->slab;
    oci_batch *physical = NULL;
    *out = NULL;
    message->slab = NULL;
    OC_TRY(oci_ipc_decode(layout->decoder, &message->parsed, slab, message->slab_bytes,
                          message->body_at, NULL, &physical, err));
    int64_t codec_ns = oci_spill_now(manager) - start;
    if (physical != NULL) {
        /* The end of a block. The next one brings its own dictionaries, and whoever holds this one keeps
         * those that it shows: no memory but that of blocks is held. */
        oci_ipc_decoder_restart(layout->decoder);
        if (manager->choice != NULL) {
            oci_codec_choice_note_decode(manager->choice, message->parsed.codec,
                                         physical->slab_bytes, codec_ns);
        }
        OC_TRY(oci_spill_layout_decode(layout->layout, physical, decoder->mem, out, err));
    }
    OCI_SPILL_ADD(manager, decode_ns, oci_spill_now(manager) - start);
    return OC_OK;
}
