/* What spill files say about themselves: pairs of key and value in the custom metadata of schema
 * messages.
 *
 * Metadata are in the encoding of the C data interface (int32 number of pairs, then key and value of
 * each, with an int32 length in front), as schemas hold them. */
#ifndef OUTCORE_SPILL_STREAM_METADATA_H
#define OUTCORE_SPILL_STREAM_METADATA_H

#include "arrow/schema.h"
#include "ipc/message.h"

/* Every schema message of ours has this pair; other versions are refused. */
#define OCI_SPILL_VERSION_KEY "outcore:spill"
#define OCI_SPILL_VERSION     "1"
/* One letter per column; see layout.h. */
#define OCI_SPILL_LAYOUT_KEY "outcore:layout"
/* The logical schema: its framed schema message in base64. */
#define OCI_SPILL_SCHEMA_KEY "outcore:schema"
/* Of the closing stream, decimal. */
#define OCI_SPILL_BATCHES_KEY "outcore:batches"
#define OCI_SPILL_ROWS_KEY    "outcore:rows"

typedef struct oci_metadata_pair {
    const char *key;
    const char *value;
    int64_t value_bytes;
} oci_metadata_pair;

/* *out is malloc'ed. */
OC_NODISCARD oc_status oci_metadata_build(const oci_metadata_pair *pairs, int32_t n, char **out,
                                          int64_t *bytes, oc_error *err);
/* The value of the first pair with this key, inside the metadata; false when there is none. Metadata
 * that are not sound have what can be read of them. */
bool oci_metadata_find(const char *metadata, int64_t bytes, const char *key, const char **value,
                       int64_t *value_bytes);

/* The schema message of the closing stream. Free out->data. */
OC_NODISCARD oc_status oci_closing_build(int64_t batches, int64_t rows, bool with_checksum,
                                         oci_bytes *out, oc_error *err);
/* Whether a schema is that of a closing stream; *sound says whether its counts could be read. */
bool oci_closing_parse(const oci_schema *schema, int64_t *batches, int64_t *rows, bool *sound);

#endif /* OUTCORE_SPILL_STREAM_METADATA_H */
