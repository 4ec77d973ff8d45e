/* Values as JSON. See json_value.h.
 *
 * A value is written by walking its type and its columns side by side: formatter and column of a
 * list lead to those of its child, and so on down to values that format_value.h knows. Texts go
 * through the buffer in runs of bytes that need no escape. */
#include "formats/json_value.h"

#include "formats/utf8.h"

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

oc_status oci_json_write_string(oci_text_sink *sink, const uint8_t *text, int64_t length,
                                oc_error *err)
{
    OC_TRY(oci_text_sink_char(sink, '"', err));
    while (length > 0) {
        char escape[8];
        int64_t skip;
        int64_t n = plain_run(text, length, &skip, escape);
        OC_TRY(oci_text_sink_write(sink, (const char *)text, n, err));
        OC_TRY(oci_text_sink_str(sink, escape, err));
        text += n + skip;
        length -= n + skip;
    }
    return oci_text_sink_char(sink, '"', err);
}

oc_status oci_json_append_string(oci_text *out, const uint8_t *text, int64_t length, oc_error *err)
{
    OC_TRY(oci_text_append_char(out, '"', err));
    while (length > 0) {
        char escape[8];
        int64_t skip;
        int64_t n = plain_run(text, length, &skip, escape);
        OC_TRY(oci_text_append(out, (const char *)text, n, err));
        OC_TRY(oci_text_append_str(out, escape, err));
        text += n + skip;
        length -= n + skip;
    }
    return oci_text_append_char(out, '"', err);
}

/* ---- flat values ----------------------------------------------------------------------------- */

static oc_status write_hex_string(oci_text_sink *sink, const uint8_t *bytes, int64_t length,
                                  oc_error *err)
{
    OC_TRY(oci_text_sink_char(sink, '"', err));
    OC_TRY(oci_text_sink_hex(sink, bytes, length, err));
    return oci_text_sink_char(sink, '"', err);
}

static oc_status write_formatted(oci_text_sink *sink, const oci_formatter *formatter,
                                 const oci_column *column, int64_t row, oc_error *err)
{
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

/* ---- nested values --------------------------------------------------------------------------- */

static oc_status write_list(oci_text_sink *sink, const oci_formatter *formatter,
                            const oci_column *column, int64_t row, oc_error *err)
{
    int64_t start, length;
    oci_column_list_at(column, row, &start, &length);
    OC_TRY(oci_text_sink_char(sink, '[', err));
    for (int64_t i = 0; i < length && !sink->closed; i++) {
        if (i > 0) {
            OC_TRY(oci_text_sink_char(sink, ',', err));
        }
        OC_TRY(oci_json_write_value(sink, &formatter->children[0], &column->children[0], start + i,
                                    err));
    }
    return oci_text_sink_char(sink, ']', err);
}

static oc_status write_struct(oci_text_sink *sink, const oci_formatter *formatter,
                              const oci_column *column, int64_t row, oc_error *err)
{
    OC_TRY(oci_text_sink_char(sink, '{', err));
    for (int32_t i = 0; i < formatter->n_children && !sink->closed; i++) {
        const oci_formatter *child = &formatter->children[i];
        if (i > 0) {
            OC_TRY(oci_text_sink_char(sink, ',', err));
        }
        OC_TRY(oci_json_write_string(sink, (const uint8_t *)child->name,
                                     (int64_t)strlen(child->name), err));
        OC_TRY(oci_text_sink_char(sink, ':', err));
        OC_TRY(oci_json_write_value(sink, child, &column->children[i], column->offset + row, err));
    }
    return oci_text_sink_char(sink, '}', err);
}

/* A key as the name in an object. Arrow has no null keys; if there is one all the same, it is not
 * to make the whole text unreadable. */
static oc_status write_key(oci_text_sink *sink, const oci_formatter *formatter,
                           const oci_column *column, int64_t row, oc_error *err)
{
    if (!oci_value_resolve(&formatter, &column, &row)) {
        return oci_text_sink_write(sink, "\"null\"", 6, err);
    }
    int64_t length;
    const uint8_t *text = oci_value_bytes(column, row, &length);
    return oci_json_write_string(sink, text, length, err);
}

/* Row `row` of the struct of key and value. */
static oc_status write_entry(oci_text_sink *sink, const oci_formatter *map,
                             const oci_column *entries, int64_t row, oc_error *err)
{
    const oci_formatter *key = &map->children[0];
    bool named = key->kind == OCI_VALUE_TEXT;
    row += entries->offset;
    if (named) {
        OC_TRY(write_key(sink, key, &entries->children[0], row, err));
        OC_TRY(oci_text_sink_char(sink, ':', err));
    } else {
        OC_TRY(oci_text_sink_str(sink, "{\"key\":", err));
        OC_TRY(oci_json_write_value(sink, key, &entries->children[0], row, err));
        OC_TRY(oci_text_sink_str(sink, ",\"value\":", err));
    }
    OC_TRY(oci_json_write_value(sink, &map->children[1], &entries->children[1], row, err));
    return named ? OC_OK : oci_text_sink_char(sink, '}', err);
}

static oc_status write_map(oci_text_sink *sink, const oci_formatter *formatter,
                           const oci_column *column, int64_t row, oc_error *err)
{
    bool named = formatter->children[0].kind == OCI_VALUE_TEXT;
    int64_t start, length;
    oci_column_list_at(column, row, &start, &length);
    OC_TRY(oci_text_sink_char(sink, named ? '{' : '[', err));
    for (int64_t i = 0; i < length && !sink->closed; i++) {
        if (i > 0) {
            OC_TRY(oci_text_sink_char(sink, ',', err));
        }
        OC_TRY(write_entry(sink, formatter, &column->children[0], start + i, err));
    }
    return oci_text_sink_char(sink, named ? '}' : ']', err);
}

oc_status oci_json_write_value(oci_text_sink *sink, const oci_formatter *formatter,
                               const oci_column *column, int64_t row, oc_error *err)
{
    if (!oci_value_resolve(&formatter, &column, &row)) {
        return oci_text_sink_write(sink, "null", 4, err);
    }
    int64_t length;
    switch (formatter->kind) {
    case OCI_VALUE_TEXT: {
        const uint8_t *text = oci_value_bytes(column, row, &length);
        return oci_json_write_string(sink, text, length, err);
    }
    case OCI_VALUE_BINARY: {
        const uint8_t *bytes = oci_value_bytes(column, row, &length);
        return write_hex_string(sink, bytes, length, err);
    }
    case OCI_VALUE_LIST: return write_list(sink, formatter, column, row, err);
    case OCI_VALUE_STRUCT: return write_struct(sink, formatter, column, row, err);
    case OCI_VALUE_MAP: return write_map(sink, formatter, column, row, err);
    default: return write_formatted(sink, formatter, column, row, err);
    }
}
