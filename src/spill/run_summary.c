/* See run_summary.h. The list of columns comes from malloc: it grows with the schema. */
#include "spill/run_summary.h"

#include <stdlib.h>

#include "ipc/layout_walk.h"
#include "ipc/message.h"
#include "spill/stream_metadata.h"

typedef struct walker {
    oci_file *file;
    oci_mem *mem;
    int64_t at;
    int64_t end;
    oci_spill_layout *layout; /* of the stream at hand; NULL: closing */
    bool has_blocks;          /* that stream */
    oci_run_summary *out;
} walker;

bool oci_is_spill_schema(const oci_schema *schema)
{
    const char *value;
    int64_t value_bytes;
    return oci_metadata_find(schema->metadata, schema->metadata_bytes, OCI_SPILL_VERSION_KEY,
                             &value, &value_bytes);
}

static oc_status damaged(const walker *w, const char *what, oc_error *err)
{
    OC_FAIL(err, OC_EDATA, "file \"%s\" is damaged at byte %" PRId64 ": %s", w->file->name, w->at,
            what);
}

/* ---- schemas --------------------------------------------------------------------------------- */

static oc_status begin_file(walker *w, oc_error *err)
{
    oci_run_summary *out = w->out;
    out->schema = oci_schema_retain(oci_spill_layout_logical(w->layout));
    out->columns = calloc((size_t)out->schema->n_fields + 1, sizeof *out->columns);
    if (out->columns == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not look at \"%s\": out of memory", w->file->name);
    }
    return OC_OK;
}

static oc_status add_schema(walker *w, const oci_message *message, const uint8_t *metadata,
                            int64_t size, oc_error *err)
{
    oci_schema *physical;
    int64_t batches;
    int64_t rows;
    bool is_sound;
    OC_TRY(oci_message_parse_schema(metadata, size, &physical, NULL, NULL, err));
    oci_spill_layout_destroy(w->layout);
    w->layout = NULL;
    w->has_blocks = false;
    oc_status status = OC_OK;
    if (!oci_closing_parse(physical, &batches, &rows, &is_sound)) {
        status = oci_spill_layout_parse(physical, w->out->schema, &w->layout, err);
    }
    oci_schema_release(physical);
    OC_TRY(status);
    if (w->layout == NULL) {
        return OC_OK;
    }
    w->out->has_checksums |= message->checksum != NULL;
    w->out->streams++;
    return w->out->schema == NULL ? begin_file(w, err) : OC_OK;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Gives the buffers of a batch to the columns that they are of. */
static void add_buffers(walker *w, const oci_message *message)
{
    const oci_schema *physical = oci_spill_layout_physical(w->layout);
    int64_t buffer = 0;
    int64_t variadic = 0;
    for (int32_t i = 0; i < physical->n_fields; i++) {
        oci_tree_shape shape = {0};
        oci_field_add_shape(&physical->fields[i], message->version, &shape);
        int64_t end = buffer + shape.n_buffers;
        for (int64_t v = 0; v < shape.n_variadic && variadic < message->n_variadic; v++) {
            end += oci_message_variadic(message, variadic++);
        }
        for (; buffer < end && buffer < message->n_buffers; buffer++) {
            w->out->columns[i].bytes += oci_message_buffer(message, buffer).length;
        }
    }
}

/* Dictionaries are numbered through the columns. */
static void add_dictionary(walker *w, const oci_message *message)
{
    const oci_schema *physical = oci_spill_layout_physical(w->layout);
    oci_tree_shape shape = {0};
    for (int32_t i = 0; i < physical->n_fields; i++) {
        oci_field_add_shape(&physical->fields[i], message->version, &shape);
        if (message->dictionary_id < shape.n_dictionaries) {
            w->out->columns[i].bytes += message->body_bytes;
            return;
        }
    }
}

static void add_batch(walker *w, const oci_message *message)
{
    oci_run_summary *out = w->out;
    for (int32_t i = 0; !w->has_blocks && i < out->schema->n_fields; i++) {
        out->columns[i].streams[oci_spill_layout_of(w->layout, i)]++;
    }
    w->has_blocks = true;
    out->blocks++;
    out->blocks_of[message->codec]++;
    out->rows += message->length;
    out->rows_max = message->length > out->rows_max ? message->length : out->rows_max;
    add_buffers(w, message);
}

static oc_status add_message(walker *w, const uint8_t *metadata, int64_t size, oc_error *err)
{
    oci_message message;
    oci_run_summary *out = w->out;
    OC_TRY(oci_message_parse(metadata, size, &message, err));
    out->metadata_bytes += OCI_IPC_PREFIX_BYTES + size;
    if (message.kind == OCI_MESSAGE_SCHEMA) {
        return add_schema(w, &message, metadata, size, err);
    }
    if (w->layout == NULL) {
        return damaged(w, "rows without a schema", err);
    }
    if (message.kind == OCI_MESSAGE_DICTIONARY) {
        add_dictionary(w, &message);
    } else {
        add_batch(w, &message);
    }
    if (message.body_bytes > w->end - w->at) {
        return damaged(w, "a message body ends behind the file", err);
    }
    w->at += message.body_bytes;
    out->body_bytes += message.body_bytes;
    out->body_bytes_max = message.body_bytes > out->body_bytes_max ? message.body_bytes
                                                                   : out->body_bytes_max;
    return OC_OK;
}

static oc_status walk_message(walker *w, oc_error *err)
{
    uint8_t prefix[OCI_IPC_PREFIX_BYTES];
    int64_t size;
    int prefix_bytes;
    OC_TRY(oci_pread_exact(w->file, prefix, OCI_IPC_PREFIX_BYTES, w->at, err));
    OC_TRY(oci_frame_parse(prefix, &size, &prefix_bytes, err));
    if (prefix_bytes != OCI_IPC_PREFIX_BYTES || size > w->end - w->at - OCI_IPC_PREFIX_BYTES) {
        return damaged(w, "a message header ends behind the file", err);
    }
    w->at += OCI_IPC_PREFIX_BYTES;
    if (size == 0) {
        return OC_OK;
    }
    void *metadata;
    OC_TRY(oci_mem_alloc(w->mem, size, &metadata, err));
    oc_status status = oci_pread_exact(w->file, metadata, size, w->at, err);
    w->at += size;
    if (status == OC_OK) {
        status = add_message(w, metadata, size, err);
    }
    oci_mem_free(w->mem, metadata, size);
    return status;
}

oc_status oci_run_summarize(oci_file *file, oci_mem *mem, oci_run_summary *out, oc_error *err)
{
    *out = (oci_run_summary){0};
    walker w = {.file = file, .mem = mem, .out = out};
    oc_status status = oci_file_size(file, &w.end, err);
    while (status == OC_OK && w.at < w.end) {
        status = walk_message(&w, err);
    }
    oci_spill_layout_destroy(w.layout);
    if (status == OC_OK && out->schema == NULL) {
        status = OC_SET(err, OC_EDATA, "file \"%s\" holds no spilled rows", file->name);
    }
    if (status != OC_OK) {
        oci_run_summary_deinit(out);
    }
    return status;
}

void oci_run_summary_deinit(oci_run_summary *summary)
{
    oci_schema_release(summary->schema);
    free(summary->columns);
    *summary = (oci_run_summary){0};
}
