/* See stream_metadata.h. Everything comes from malloc: it grows with the schema. */
#include "spill/stream_metadata.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
