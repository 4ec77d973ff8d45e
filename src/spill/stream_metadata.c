/* See stream_metadata.h. Everything comes from malloc: it grows with the schema. */
#include "spill/stream_metadata.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

/* Room for an int64 in decimal. */
#define DECIMAL_TEXT 24

static oc_status fail_memory(oc_error *err)
{
    OC_FAIL(err, OC_ENOMEM, "out of memory while describing a spill file");
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static char *put_text(char *to, const char *text, int64_t size)
{
    int32_t length = (int32_t)size;
    memcpy(to, &length, sizeof length);
    memcpy(to + sizeof length, text, (size_t)size);
    return to + sizeof length + size;
}

oc_status oci_metadata_build(const oci_metadata_pair *pairs, int32_t n, char **out, int64_t *bytes,
                             oc_error *err)
{
    int64_t size = (int64_t)sizeof n;
    for (int32_t i = 0; i < n; i++) {
        size += 2 * (int64_t)sizeof n + (int64_t)strlen(pairs[i].key) + pairs[i].value_bytes;
    }
    if (size > INT32_MAX) {
        OC_FAIL(err, OC_EUNSUPPORTED, "could not describe a schema of %" PRId64 " bytes", size);
    }
    char *metadata = malloc((size_t)size);
    if (metadata == NULL) {
        return fail_memory(err);
    }
    memcpy(metadata, &n, sizeof n);
    char *at = metadata + sizeof n;
    for (int32_t i = 0; i < n; i++) {
        at = put_text(at, pairs[i].key, (int64_t)strlen(pairs[i].key));
        at = put_text(at, pairs[i].value, pairs[i].value_bytes);
    }
    *out = metadata;
    *bytes = size;
    return OC_OK;
}

/* The text at *at, which is moved behind it; false when it does not lie inside. */
static bool take_text(const char *metadata, int64_t bytes, int64_t *at, const char **text,
                      int64_t *size)
{
    int32_t length;
    if (*at > bytes - (int64_t)sizeof length) {
        return false;
    }
    memcpy(&length, metadata + *at, sizeof length);
    *at += (int64_t)sizeof length;
    if (length < 0 || length > bytes - *at) {
        return false;
    }
    *text = metadata + *at;
    *size = length;
    *at += length;
    return true;
}

bool oci_metadata_find(const char *metadata, int64_t bytes, const char *key, const char **value,
                       int64_t *value_bytes)
{
    int32_t n = 0;
    if (metadata != NULL && bytes >= (int64_t)sizeof n) {
        memcpy(&n, metadata, sizeof n);
    }
    int64_t at = (int64_t)sizeof n;
    int64_t wanted = (int64_t)strlen(key);
    for (int32_t i = 0; i < n; i++) {
        const char *name;
        int64_t name_bytes;
        if (!take_text(metadata, bytes, &at, &name, &name_bytes) ||
            !take_text(metadata, bytes, &at, value, value_bytes)) {
            return false;
        }
        if (name_bytes == wanted && memcmp(name, key, (size_t)wanted) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- base64 ---------------------------------------------------------------------------------- */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

oc_status oci_base64_encode(const uint8_t *data, int64_t size, oci_bytes *out, oc_error *err)
{
    int64_t length = (size + 2) / 3 * 4;
    uint8_t *text = malloc((size_t)length + 1);
    if (text == NULL) {
        return fail_memory(err);
    }
    uint8_t *to = text;
    for (int64_t i = 0; i < size; i += 3) {
        int64_t n = oci_min64(3, size - i);
        uint32_t bits = (uint32_t)data[i] << 16;
        bits |= n > 1 ? (uint32_t)data[i + 1] << 8 : 0;
        bits |= n > 2 ? data[i + 2] : 0;
        *to++ = (uint8_t)digits[bits >> 18];
        *to++ = (uint8_t)digits[(bits >> 12) & 63];
        *to++ = (uint8_t)(n > 1 ? digits[(bits >> 6) & 63] : '=');
        *to++ = (uint8_t)(n > 2 ? digits[bits & 63] : '=');
    }
    *to = '\0';
    *out = (oci_bytes){.data = text, .size = length};
    return OC_OK;
}

/* 0..63, or -1. */
static int digit_value(char c)
{
    const char *at = c == '\0' ? NULL : strchr(digits, c);
    return at == NULL ? -1 : (int)(at - digits);
}

/* Four digits to three bytes; padding counts as 0. False for what is no digit. */
static bool decode_group(const char *text, int n_digits, uint8_t out[3])
{
    uint32_t bits = 0;
    for (int i = 0; i < 4; i++) {
        int value = i < n_digits ? digit_value(text[i]) : 0;
        if (value < 0) {
            return false;
        }
        bits = bits << 6 | (uint32_t)value;
    }
    out[0] = (uint8_t)(bits >> 16);
    out[1] = (uint8_t)(bits >> 8);
    out[2] = (uint8_t)bits;
    return true;
}

oc_status oci_base64_decode(const char *text, int64_t length, oci_bytes *out, oc_error *err)
{
    int64_t padding = 0;
    while (padding < 2 && padding < length && text[length - 1 - padding] == '=') {
        padding++;
    }
    if (length % 4 != 0) {
        OC_FAIL(err, OC_EDATA, "base64 text has %" PRId64 " characters", length);
    }
    uint8_t *data = malloc((size_t)(length / 4 * 3) + 1);
    if (data == NULL) {
        return fail_memory(err);
    }
    for (int64_t i = 0; i < length / 4; i++) {
        bool is_last = 4 * i + 4 == length;
        if (!decode_group(text + 4 * i, is_last ? 4 - (int)padding : 4, data + 3 * i)) {
            free(data);
            OC_FAIL(err, OC_EDATA, "base64 text has a character that is none of its digits");
        }
    }
    *out = (oci_bytes){.data = data, .size = length / 4 * 3 - padding};
    return OC_OK;
}

/* ---- the closing stream ---------------------------------------------------------------------- */

oc_status oci_closing_build(int64_t batches, int64_t rows, bool with_checksum, oci_bytes *out,
                            oc_error *err)
{
    char batches_text[DECIMAL_TEXT];
    char rows_text[DECIMAL_TEXT];
    int batches_length = snprintf(batches_text, sizeof batches_text, "%" PRId64, batches);
    int rows_length = snprintf(rows_text, sizeof rows_text, "%" PRId64, rows);
    const oci_metadata_pair pairs[] = {
        {OCI_SPILL_VERSION_KEY, OCI_SPILL_VERSION, 1},
        {OCI_SPILL_BATCHES_KEY, batches_text, batches_length},
        {OCI_SPILL_ROWS_KEY, rows_text, rows_length},
    };
    char *metadata;
    int64_t bytes;
    OC_TRY(oci_metadata_build(pairs, 3, &metadata, &bytes, err));
    oci_schema *schema;
    OC_TRY(oci_schema_create(NULL, 0, metadata, bytes, &schema, err));
    oc_status status = oci_message_build_schema(schema, with_checksum, out, err);
    oci_schema_release(schema);
    return status;
}

/* Digits only, no more than an int64 holds. */
static bool find_count(const oci_schema *schema, const char *key, int64_t *out)
{
    const char *text;
    int64_t length;
    if (!oci_metadata_find(schema->metadata, schema->metadata_bytes, key, &text, &length) ||
        length < 1 || length > 18) {
        return false;
    }
    *out = 0;
    for (int64_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        *out = *out * 10 + (text[i] - '0');
    }
    return true;
}

bool oci_closing_parse(const oci_schema *schema, int64_t *batches, int64_t *rows, bool *sound)
{
    const char *text;
    int64_t length;
    if (schema->n_fields > 0 || !oci_metadata_find(schema->metadata, schema->metadata_bytes,
                                                   OCI_SPILL_BATCHES_KEY, &text, &length)) {
        return false;
    }
    *sound = find_count(schema, OCI_SPILL_BATCHES_KEY, batches) &&
             find_count(schema, OCI_SPILL_ROWS_KEY, rows);
    return true;
}
