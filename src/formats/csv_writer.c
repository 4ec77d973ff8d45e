/* Batches out as CSV. See text_writer.h.
 *
 * Row by row: a value of fixed width is formatted straight into the buffer; a text is copied while
 * a table says whether any of its bytes asks for quotes, and written anew with quotes when one did.
 * What is written reads back as the same values when the types are declared: a null is the bare
 * null text, a value that looks like it is quoted, so is an empty text. Lists, structs and maps are
 * JSON in quotes: it goes through a small buffer of its own, behind which its quotes are doubled. */
#include "formats/json_value.h"

enum { QUOTE = '"', INSIDE = 1, AT_ENDS = 2 };

typedef struct {
    char delimiter;
    uint8_t
        special[256]; /* INSIDE: quotes are needed; AT_ENDS: when it is the first or last byte */
    oci_text_sink nested; /* drains into the writer's sink; data is NULL without nested columns */
} csv_state;

static bool is_plain_byte(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           strchr("+-.:\\", c) != NULL;
}

static oc_status check_options(const oci_text_writer *writer, char delimiter, oc_error *err)
{
    if (is_plain_byte(delimiter) || delimiter == QUOTE || delimiter == '\n' || delimiter == '\r') {
        OC_FAIL(err, OC_EINVAL,
                "could not write CSV with this delimiter: letters, digits, quotes, line ends and "
                "any of + - . : \\ "
                "are parts of values");
    }
    const char *null_text = writer->options.null_text;
    if (strpbrk(null_text, "\"\r\n") != NULL || strchr(null_text, delimiter) != NULL ||
        null_text[0] == ' ' ||
        (writer->null_length > 0 && null_text[writer->null_length - 1] == ' ')) {
        OC_FAIL(err, OC_EINVAL,
                "could not write CSV with nulls as \"%s\": it must not hold a delimiter, quote or "
                "line end, nor begin or "
                "end with a space",
                null_text);
    }
    return OC_OK;
}

static bool equals_null_text(const oci_text_writer *writer, const uint8_t *text, int64_t length)
{
    return length == writer->null_length &&
           memcmp(text, writer->options.null_text, (size_t)length) == 0;
}

static bool needs_quotes(const oci_text_writer *writer, const csv_state *state, const uint8_t *text,
                         int64_t length)
{
    if (length == 0 || equals_null_text(writer, text, length)) {
        return true;
    }
    uint8_t seen = 0;
    for (int64_t i = 0; i < length; i++) {
        seen |= state->special[text[i]];
    }
    return (seen & INSIDE) != 0 ||
           ((state->special[text[0]] | state->special[text[length - 1]]) & AT_ENDS) != 0;
}

/* Writes what is in quotes, quotes in it doubled. Long texts go through the buffer in pieces. */
static oc_status write_doubled(oci_text_sink *sink, const uint8_t *text, int64_t length,
                               oc_error *err)
{
    while (length > 0) {
        const uint8_t *found = memchr(text, QUOTE, (size_t)length);
        int64_t n = found == NULL ? length : found - text + 1;
        OC_TRY(oci_text_sink_write(sink, (const char *)text, n, err));
        if (found != NULL) {
            OC_TRY(oci_text_sink_char(sink, '"', err));
        }
        text += n;
        length -= n;
    }
    return OC_OK;
}

static oc_status write_quoted(oci_text_sink *sink, const uint8_t *text, int64_t length,
                              oc_error *err)
{
    OC_TRY(oci_text_sink_char(sink, '"', err));
    OC_TRY(write_doubled(sink, text, length, err));
    return oci_text_sink_char(sink, '"', err);
}

static oc_status write_text(oci_text_writer *writer, const uint8_t *text, int64_t length,
                            oc_error *err)
{
    if (needs_quotes(writer, writer->state, text, length)) {
        return write_quoted(&writer->sink, text, length, err);
    }
    return oci_text_sink_write(&writer->sink, (const char *)text, length, err);
}

static oc_status write_binary(oci_text_sink *sink, const uint8_t *bytes, int64_t length,
                              oc_error *err)
{
    OC_TRY(oci_text_sink_write(sink, "\\x", 2, err));
    return oci_text_sink_hex(sink, bytes, length, err);
}

static oc_status drain_doubled(oci_text_sink *nested, const char *bytes, int64_t length,
                               oc_error *err)
{
    return write_doubled(nested->target, (const uint8_t *)bytes, length, err);
}

static oc_status write_nested(oci_text_writer *writer, const oci_formatter *formatter,
                              const oci_column *column, int64_t row, oc_error *err)
{
    oci_text_sink *nested = &((csv_state *)writer->state)->nested;
    OC_TRY(oci_text_sink_char(&writer->sink, '"', err));
    OC_TRY(oci_json_write_value(nested, formatter, column, row, err));
    OC_TRY(oci_text_sink_flush(nested, err));
    return oci_text_sink_char(&writer->sink, '"', err);
}

static oc_status write_plain(oci_text_writer *writer, const oci_formatter *formatter,
                             const oci_column *column, int64_t row, oc_error *err)
{
    oci_text_sink *sink = &writer->sink;
    OC_TRY(oci_text_sink_reserve(sink, OCI_VALUE_TEXT_MAX, err));
    char *begin = sink->data + sink->used;
    char *end = oci_format_value(formatter, column, row, begin);
    if (writer->null_length > 0 && equals_null_text(writer, (const uint8_t *)begin, end - begin)) {
        memmove(begin + 1, begin, (size_t)(end - begin));
        *begin = QUOTE;
        end[1] = QUOTE;
        end += 2;
    }
    sink->used = end - sink->data;
    return OC_OK;
}

static oc_status write_value(oci_text_writer *writer, const oci_formatter *formatter,
                             const oci_column *column, int64_t row, oc_error *err)
{
    if (!oci_value_resolve(&formatter, &column, &row)) {
        return oci_text_sink_write(&writer->sink, writer->options.null_text, writer->null_length,
                                   err);
    }
    if (oci_kind_is_nested(formatter->kind)) {
        return write_nested(writer, formatter, column, row, err);
    }
    if (formatter->kind != OCI_VALUE_TEXT && formatter->kind != OCI_VALUE_BINARY) {
        return write_plain(writer, formatter, column, row, err);
    }
    int64_t length;
    const uint8_t *bytes = oci_value_bytes(column, row, &length);
    return formatter->kind == OCI_VALUE_TEXT ? write_text(writer, bytes, length, err)
                                             : write_binary(&writer->sink, bytes, length, err);
}

static oc_status write_header(oci_text_writer *writer, char delimiter, oc_error *err)
{
    for (int32_t i = 0; i < writer->schema->n_fields; i++) {
        const char *name = writer->schema->fields[i].name;
        if (i > 0) {
            OC_TRY(oci_text_sink_char(&writer->sink, delimiter, err));
        }
        OC_TRY(write_text(writer, (const uint8_t *)name, (int64_t)strlen(name), err));
    }
    return oci_text_sink_char(&writer->sink, '\n', err);
}

static void mark_special(csv_state *state)
{
    state->special[(uint8_t)state->delimiter] = INSIDE;
    state->special[QUOTE] = INSIDE;
    state->special['\n'] = INSIDE;
    state->special['\r'] = INSIDE;
    state->special[' '] |= AT_ENDS;
    state->special['\t'] |= AT_ENDS;
    /* The first bytes of byte order marks and compressed files, which readers look for. */
    state->special[0xEF] = AT_ENDS;
    state->special[0xFE] = AT_ENDS;
    state->special[0xFF] = AT_ENDS;
    state->special[0x1F] = AT_ENDS;
}

static oc_status make_nested_sink(oci_text_writer *writer, oci_text_sink *nested, oc_error *err)
{
    bool needed = false;
    for (int32_t i = 0; i < writer->schema->n_fields; i++) {
        needed = needed || oci_kind_is_nested(writer->formatters[i].kind);
    }
    *nested = (oci_text_sink){
        .drain = drain_doubled, .target = &writer->sink, .capacity = OCI_TEXT_SINK_BYTES_MIN};
    if (!needed) {
        return OC_OK;
    }
    void *block;
    OC_TRY(oci_mem_alloc(writer->mem, nested->capacity, &block, err));
    nested->data = block;
    return OC_OK;
}

static oc_status csv_begin(oci_text_writer *writer, oc_error *err)
{
    char delimiter = writer->options.delimiter != 0 ? writer->options.delimiter : ',';
    OC_TRY(check_options(writer, delimiter, err));
    void *block;
    OC_TRY(oci_mem_alloc(writer->mem, (int64_t)sizeof(csv_state), &block, err));
    csv_state *state = block;
    *state = (csv_state){.delimiter = delimiter};
    writer->state = state;
    mark_special(state);
    OC_TRY(make_nested_sink(writer, &state->nested, err));
    return writer->options.header ? write_header(writer, delimiter, err) : OC_OK;
}

static oc_status csv_add(oci_text_writer *writer, const oci_batch *batch, oc_error *err)
{
    const char delimiter = ((const csv_state *)writer->state)->delimiter;
    oci_text_sink *sink = &writer->sink;
    int32_t n_fields = writer->schema->n_fields;
    for (int64_t row = 0; row < batch->length; row++) {
        for (int32_t i = 0; i < n_fields; i++) {
            OC_TRY(write_value(writer, &writer->formatters[i], &batch->columns[i], row, err));
            OC_TRY(oci_text_sink_char(sink, i + 1 < n_fields ? delimiter : '\n', err));
        }
    }
    return OC_OK;
}

static oc_status csv_end(oci_text_writer *writer, oc_error *err)
{
    (void)writer;
    (void)err;
    return OC_OK;
}

static void csv_deinit(oci_text_writer *writer)
{
    csv_state *state = writer->state;
    if (state == NULL) {
        return;
    }
    if (state->nested.data != NULL) {
        oci_mem_free(writer->mem, state->nested.data, state->nested.capacity);
    }
    oci_mem_free(writer->mem, state, (int64_t)sizeof *state);
}

const oci_text_ops oci_csv_text_ops = {csv_begin, csv_add, csv_end, csv_deinit};
