/* Batches out as JSON (one array of objects) and NDJSON (one object a line). See text_writer.h.
 *
 * The keys are escaped once, when the writer is opened. Texts go through the buffer in runs of
 * bytes that need no escape. Column names that occur twice are written twice, as JSON allows. */
#include "formats/text_internal.h"

#include "base/bits.h"
#include "base/text.h"
#include "formats/utf8.h"

typedef struct {
    oci_text keys;     /* {"a": | ,"b": | ... one after the other */
    int64_t *key_ends; /* n_fields */
} json_state;

/* ---- strings --------------------------------------------------------------------------------- */

/* How many bytes from `text` on can be written as they are, and what stands for the ones behind
 * them: *skip bytes of the text become `escape`. */
static int64_t plain_run(const uint8_t *text, int64_t length, int64_t *skip, char escape[8])
{
    static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */
    int64_t i = 0;
    *skip = 0;
    escape[0] = '\0';
    while (i < length) {
        uint8_t byte = text[i];
        if (byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\') {
            i++;
            continue;
        }
        if (byte >= 0x80) {
            uint32_t code;
            int n = oci_utf8_decode(text + i, length - i, &code);
            if (n > 0) {
                i += n;
                continue;
            }
            memcpy(escape, replacement, sizeof replacement);
        } else if (byte == '"' || byte == '\\') {
            escape[0] = '\\';
            escape[1] = (char)byte;
            escape[2] = '\0';
        } else {
            static const char names[] = "\bb\tt\nn\ff\rr";
            const char *name = byte == 0 ? NULL : strchr(names, byte);
            if (name != NULL) {
                escape[0] = '\\';
                escape[1] = name[1];
                escape[2] = '\0';
            } else {
                memcpy(escape, "\\u00", 4);
                oci_format_hex(&byte, 1, escape + 4)[0] = '\0';
            }
        }
        *skip = 1;
        break;
    }
    return i;
}

static oc_status write_string(oci_text_sink *sink, const uint8_t *text, int64_t length,
                              oc_error *err)
{
    OC_TRY(oci_text_sink_write(sink, "\"", 1, err));
    while (length > 0) {
        char escape[8];
        int64_t skip;
        int64_t n = plain_run(text, length, &skip, escape);
        OC_TRY(oci_text_sink_write(sink, (const char *)text, n, err));
        OC_TRY(oci_text_sink_str(sink, escape, err));
        text += n + skip;
        length -= n + skip;
    }
    return oci_text_sink_write(sink, "\"", 1, err);
}

static oc_status write_hex_string(oci_text_sink *sink, const uint8_t *bytes, int64_t length,
                                  oc_error *err)
{
    const int64_t piece = OCI_TEXT_BUFFER_BYTES / 4;
    OC_TRY(oci_text_sink_write(sink, "\"", 1, err));
    while (length > 0) {
        int64_t n = oci_min64(length, piece);
        OC_TRY(oci_text_sink_reserve(sink, 2 * n, err));
        oci_format_hex(bytes, n, sink->data + sink->used);
        sink->used += 2 * n;
        bytes += n;
        length -= n;
    }
    return oci_text_sink_write(sink, "\"", 1, err);
}

/* ---- values ---------------------------------------------------------------------------------- */

static oc_status write_value(oci_text_writer *writer, const oci_formatter *formatter,
                             const oci_column *column, int64_t row, oc_error *err)
{
    oci_text_sink *sink = &writer->sink;
    if (!oci_value_resolve(&column, &row)) {
        return oci_text_sink_write(sink, "null", 4, err);
    }
    int64_t length;
    if (formatter->kind == OCI_VALUE_TEXT) {
        const uint8_t *text = oci_value_bytes(column, row, &length);
        return write_string(sink, text, length, err);
    }
    if (formatter->kind == OCI_VALUE_BINARY) {
        const uint8_t *bytes = oci_value_bytes(column, row, &length);
        return write_hex_string(sink, bytes, length, err);
    }
    OC_TRY(oci_text_sink_reserve(sink, OCI_VALUE_TEXT_MAX, err));
    char *begin = sink->data + sink->used;
    bool quoted = formatter->kind == OCI_VALUE_TIME;
    *begin = '"';
    char *end = oci_format_value(formatter, column, row, begin + quoted);
    if (quoted) {
        *end++ = '"';
    } else if (formatter->kind == OCI_VALUE_FLOAT &&
               (end[-1] == 'N' || end[-1] == 'f')) { /* NaN, inf */
        return oci_text_sink_write(sink, "null", 4, err);
    }
    sink->used = end - sink->data;
    return OC_OK;
}

/* ---- the format ------------------------------------------------------------------------------ */

/* Escapes a name and what surrounds it: {"name": for the first column, ,"name": for the others. */
static oc_status append_key(json_state *state, const char *name, bool first, oc_error *err)
{
    const uint8_t *text = (const uint8_t *)name;
    int64_t length = (int64_t)strlen(name);
    OC_TRY(oci_text_append_str(&state->keys, first ? "{\"" : ",\"", err));
    while (length > 0) {
        char escape[8];
        int64_t skip;
        int64_t n = plain_run(text, length, &skip, escape);
        OC_TRY(oci_text_append(&state->keys, (const char *)text, n, err));
        OC_TRY(oci_text_append_str(&state->keys, escape, err));
        text += n + skip;
        length -= n + skip;
    }
    return oci_text_append_str(&state->keys, "\":", err);
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
        OC_TRY(write_value(writer, &writer->formatters[i], &batch->columns[i], row, err));
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
            OC_TRY(oci_text_sink_write(&writer->sink, "\n", 1, err));
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
