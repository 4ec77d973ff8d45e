/* Batches out as JSON (one array of objects) and NDJSON (one object a line). See text_writer.h;
 * values are json_value.h's.
 *
 * The keys are escaped once, when the writer is opened. Column names that occur twice are written
 * twice, as JSON allows. */
#include "base/text.h"
#include "formats/json_value.h"

typedef struct {
    oci_text keys;     /* {"a": | ,"b": | ... one after the other */
    int64_t *key_ends; /* n_fields */
} json_state;

/* Escapes a name and what surrounds it: {"name": for the first column, ,"name": for the others. */
static oc_status append_key(json_state *state, const char *name, bool first, oc_error *err)
{
    OC_TRY(oci_text_append_char(&state->keys, first ? '{' : ',', err));
    OC_TRY(oci_json_append_string(&state->keys, (const uint8_t *)name, (int64_t)strlen(name), err));
    return oci_text_append_char(&state->keys, ':', err);
}

static oc_status json_begin(oci_text_writer *writer, oc_error *err)
{
    void *block;
    OC_TRY(oci_mem_alloc(writer->mem, (int64_t)sizeof(json_state), &block, err));
    json_state *state = block;
    *state = (json_state){.keys = {.mem = writer->mem}};
    writer->state = state;
    int32_t n_fields = writer->schema->n_fields;
    OC_TRY(oci_mem_alloc(writer->mem, n_fields * (int64_t)sizeof *state->key_ends, &block, err));
    state->key_ends = block;
    for (int32_t i = 0; i < n_fields; i++) {
        OC_TRY(append_key(state, writer->schema->fields[i].name, i == 0, err));
        state->key_ends[i] = state->keys.length;
    }
    return writer->format == OCI_TEXT_JSON ? oci_text_sink_str(&writer->sink, "[", err) : OC_OK;
}

static oc_status write_object(oci_text_writer *writer, const oci_batch *batch, int64_t row,
                              oc_error *err)
{
    const json_state *state = writer->state;
    const char *keys = oci_text_chars(&state->keys);
    int64_t key_start = 0;
    for (int32_t i = 0; i < writer->schema->n_fields; i++) {
        OC_TRY(oci_text_sink_write(&writer->sink, keys + key_start, state->key_ends[i] - key_start,
                                   err));
        OC_TRY(oci_json_write_value(&writer->sink, &writer->formatters[i], &batch->columns[i], row,
                                    err));
        key_start = state->key_ends[i];
    }
    return oci_text_sink_str(&writer->sink, writer->schema->n_fields == 0 ? "{}" : "}", err);
}

static oc_status json_add(oci_text_writer *writer, const oci_batch *batch, oc_error *err)
{
    bool array = writer->format == OCI_TEXT_JSON;
    for (int64_t row = 0; row < batch->length; row++) {
        if (array) {
            OC_TRY(oci_text_sink_str(&writer->sink, writer->rows + row == 0 ? "\n" : ",\n", err));
        }
        OC_TRY(write_object(writer, batch, row, err));
        if (!array) {
            OC_TRY(oci_text_sink_char(&writer->sink, '\n', err));
        }
    }
    return OC_OK;
}

static oc_status json_end(oci_text_writer *writer, oc_error *err)
{
    if (writer->format != OCI_TEXT_JSON) {
        return OC_OK;
    }
    return oci_text_sink_str(&writer->sink, writer->rows > 0 ? "\n]\n" : "]\n", err);
}

static void json_deinit(oci_text_writer *writer)
{
    json_state *state = writer->state;
    if (state == NULL) {
        return;
    }
    oci_text_free(&state->keys);
    if (state->key_ends != NULL) {
        oci_mem_free(writer->mem, state->key_ends,
                     writer->schema->n_fields * (int64_t)sizeof *state->key_ends);
    }
    oci_mem_free(writer->mem, state, (int64_t)sizeof *state);
}

const oci_text_ops oci_json_text_ops = {json_begin, json_add, json_end, json_deinit};
