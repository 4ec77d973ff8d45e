/* What the parts of the metadata code share: field numbers of Arrow's flatbuffer schemas, and the
 * two halves of reading and writing a schema. The names follow Schema.fbs, Message.fbs and File.fbs
 * of the Arrow format. */
#ifndef OUTCORE_IPC_MESSAGE_INTERNAL_H
#define OUTCORE_IPC_MESSAGE_INTERNAL_H

#include "ipc/flatbuf.h"
#include "ipc/message.h"

/* MetadataVersion */
enum { FB_VERSION_V4 = 3, FB_VERSION_V5 = 4 };

/* MessageHeader */
enum {
    FB_HEADER_SCHEMA = 1,
    FB_HEADER_DICTIONARY_BATCH = 2,
    FB_HEADER_RECORD_BATCH = 3,
    FB_HEADER_TENSOR = 4,
    FB_HEADER_SPARSE_TENSOR = 5
};

/* Fields by table. */
enum {
    MESSAGE_VERSION,
    MESSAGE_HEADER_TYPE,
    MESSAGE_HEADER,
    MESSAGE_BODY_LENGTH,
    MESSAGE_METADATA
};
enum { BATCH_LENGTH, BATCH_NODES, BATCH_BUFFERS, BATCH_COMPRESSION, BATCH_VARIADIC_COUNTS };
enum { DICTIONARY_ID, DICTIONARY_DATA, DICTIONARY_IS_DELTA };
enum { COMPRESSION_CODEC, COMPRESSION_METHOD };
enum { SCHEMA_ENDIANNESS, SCHEMA_FIELDS, SCHEMA_METADATA, SCHEMA_FEATURES };
enum {
    FIELD_NAME,
    FIELD_NULLABLE,
    FIELD_TYPE_TYPE,
    FIELD_TYPE,
    FIELD_DICTIONARY,
    FIELD_CHILDREN,
    FIELD_METADATA
};
enum { ENCODING_ID, ENCODING_INDEX_TYPE, ENCODING_IS_ORDERED, ENCODING_KIND };
enum { KEY_VALUE_KEY, KEY_VALUE_VALUE };
enum { FOOTER_VERSION, FOOTER_SCHEMA, FOOTER_DICTIONARIES, FOOTER_BATCHES, FOOTER_METADATA };

/* Type: the members of the union. */
enum {
    FB_TYPE_NULL = 1,
    FB_TYPE_INT,
    FB_TYPE_FLOATING_POINT,
    FB_TYPE_BINARY,
    FB_TYPE_UTF8,
    FB_TYPE_BOOL,
    FB_TYPE_DECIMAL,
    FB_TYPE_DATE,
    FB_TYPE_TIME,
    FB_TYPE_TIMESTAMP,
    FB_TYPE_INTERVAL,
    FB_TYPE_LIST,
    FB_TYPE_STRUCT,
    FB_TYPE_UNION,
    FB_TYPE_FIXED_SIZE_BINARY,
    FB_TYPE_FIXED_SIZE_LIST,
    FB_TYPE_MAP,
    FB_TYPE_DURATION,
    FB_TYPE_LARGE_BINARY,
    FB_TYPE_LARGE_UTF8,
    FB_TYPE_LARGE_LIST,
    FB_TYPE_RUN_END_ENCODED,
    FB_TYPE_BINARY_VIEW,
    FB_TYPE_UTF8_VIEW,
    FB_TYPE_LIST_VIEW,
    FB_TYPE_LARGE_LIST_VIEW
};

/* Fields of the types that have parameters. */
enum { INT_BIT_WIDTH, INT_IS_SIGNED };
enum { FLOATING_POINT_PRECISION }; /* 0 half, 1 single, 2 double */
enum { DECIMAL_PRECISION, DECIMAL_SCALE, DECIMAL_BIT_WIDTH };
enum { DATE_UNIT }; /* 0 days, 1 milliseconds (default) */
enum { TIME_UNIT, TIME_BIT_WIDTH };
enum { TIMESTAMP_UNIT, TIMESTAMP_TIMEZONE };
enum { INTERVAL_UNIT }; /* 0 months, 1 days and milliseconds, 2 months, days and nanoseconds */
enum { DURATION_UNIT };
enum { FIXED_SIZE_BINARY_BYTE_WIDTH };
enum { UNION_MODE, UNION_TYPE_IDS }; /* 0 sparse, 1 dense */
enum { FIXED_SIZE_LIST_LIST_SIZE };
enum { MAP_KEYS_SORTED };

/* Bytes of a FieldNode, a Buffer and a Block, which are structs, not tables. */
#define FB_NODE_BYTES   16
#define FB_BUFFER_BYTES 16
#define FB_BLOCK_BYTES  24

/* OC_EDATA when the reader found something wrong, else OC_OK. */
OC_NODISCARD oc_status oci_fb_check(const oci_fb *fb, oc_error *err);
OC_NODISCARD oc_status oci_metadata_version_check(int64_t version, oc_error *err);

/* Reads a Schema table. ids and big_endian may be NULL, as for oci_message_parse_schema. */
OC_NODISCARD oc_status oci_schema_read(oci_fb *fb, const oci_fb_table *table, oci_schema **out,
                                       oci_dictionary_ids *ids, bool *big_endian, oc_error *err);
/* Writes one; 0 with OC_OK never happens but when b->failed. */
OC_NODISCARD oc_status oci_schema_write(oci_fb_builder *b, const oci_schema *schema,
                                        oci_fb_ref *out, oc_error *err);

#endif /* OUTCORE_IPC_MESSAGE_INTERNAL_H */
