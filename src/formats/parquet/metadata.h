/* What the metadata of a Parquet file says, as C structs; reading and writing it.
 *
 * The footer (FileMetaData) is read once, as a whole, and kept as the bytes it is; strings and statistics
 * point into it. Opening it parses and verifies everything in it, row groups included, but keeps of these
 * only where they lie: oci_parquet_row_group_read() gives the structs of one when it is its turn. So a
 * file of ten thousand row groups takes the bytes of its footer and 40 bytes a row group.
 *
 * What has been verified when a call returns: every length and count against the bytes that are there;
 * row counts are not negative and add up to those of the file; each column chunk has the type of its leaf
 * of the schema and lies, with its dictionary page, between the magic and the footer; so do page indexes
 * and Bloom filters; sizes do not overflow. What pages hold is not known from here: who reads them holds
 * it against the numbers of their header (checked here only for being >= 0) and of the chunk.
 *
 * Errors: OC_EDATA: damaged, with what and where. OC_EUNSUPPORTED: encrypted files, column chunks in
 * other files, Parquet's own names of what this reader does not know. */
#ifndef OUTCORE_FORMATS_PARQUET_METADATA_H
#define OUTCORE_FORMATS_PARQUET_METADATA_H

#include "base/io.h"
#include "base/text.h"
#include "formats/parquet/parquet_arena.h"

/* ---- names of the format (their numbers are those of parquet.thrift) ------------------------- */

typedef enum oci_parquet_type {
    OCI_PARQUET_BOOLEAN = 0,
    OCI_PARQUET_INT32 = 1,
    OCI_PARQUET_INT64 = 2,
    OCI_PARQUET_INT96 = 3,
    OCI_PARQUET_FLOAT = 4,
    OCI_PARQUET_DOUBLE = 5,
    OCI_PARQUET_BYTE_ARRAY = 6,
    OCI_PARQUET_FIXED = 7, /* FIXED_LEN_BYTE_ARRAY */
    OCI_PARQUET_TYPES = 8,
    OCI_PARQUET_GROUP = -1 /* a schema element without a type */
} oci_parquet_type;

typedef enum oci_parquet_repetition {
    OCI_PARQUET_REQUIRED = 0,
    OCI_PARQUET_OPTIONAL = 1,
    OCI_PARQUET_REPEATED = 2
} oci_parquet_repetition;

typedef enum oci_parquet_converted {
    OCI_PARQUET_CONVERTED_NONE = -1,
    OCI_PARQUET_CONVERTED_UTF8 = 0,
    OCI_PARQUET_CONVERTED_MAP = 1,
    OCI_PARQUET_CONVERTED_MAP_KEY_VALUE = 2,
    OCI_PARQUET_CONVERTED_LIST = 3,
    OCI_PARQUET_CONVERTED_ENUM = 4,
    OCI_PARQUET_CONVERTED_DECIMAL = 5,
    OCI_PARQUET_CONVERTED_DATE = 6,
    OCI_PARQUET_CONVERTED_TIME_MILLIS = 7,
    OCI_PARQUET_CONVERTED_TIME_MICROS = 8,
    OCI_PARQUET_CONVERTED_TIMESTAMP_MILLIS = 9,
    OCI_PARQUET_CONVERTED_TIMESTAMP_MICROS = 10,
    OCI_PARQUET_CONVERTED_UINT8 = 11,
    OCI_PARQUET_CONVERTED_UINT16 = 12,
    OCI_PARQUET_CONVERTED_UINT32 = 13,
    OCI_PARQUET_CONVERTED_UINT64 = 14,
    OCI_PARQUET_CONVERTED_INT8 = 15,
    OCI_PARQUET_CONVERTED_INT16 = 16,
    OCI_PARQUET_CONVERTED_INT32 = 17,
    OCI_PARQUET_CONVERTED_INT64 = 18,
    OCI_PARQUET_CONVERTED_JSON = 19,
    OCI_PARQUET_CONVERTED_BSON = 20,
    OCI_PARQUET_CONVERTED_INTERVAL = 21
} oci_parquet_converted;

/* Field ids of the union LogicalType. */
typedef enum oci_parquet_logical {
    OCI_PARQUET_LOGICAL_NONE = 0,
    OCI_PARQUET_LOGICAL_STRING = 1,
    OCI_PARQUET_LOGICAL_MAP = 2,
    OCI_PARQUET_LOGICAL_LIST = 3,
    OCI_PARQUET_LOGICAL_ENUM = 4,
    OCI_PARQUET_LOGICAL_DECIMAL = 5,
    OCI_PARQUET_LOGICAL_DATE = 6,
    OCI_PARQUET_LOGICAL_TIME = 7,
    OCI_PARQUET_LOGICAL_TIMESTAMP = 8,
    OCI_PARQUET_LOGICAL_INTEGER = 10,
    OCI_PARQUET_LOGICAL_UNKNOWN = 11, /* only nulls */
    OCI_PARQUET_LOGICAL_JSON = 12,
    OCI_PARQUET_LOGICAL_BSON = 13,
    OCI_PARQUET_LOGICAL_UUID = 14,
    OCI_PARQUET_LOGICAL_FLOAT16 = 15,
    OCI_PARQUET_LOGICAL_VARIANT = 16,
    OCI_PARQUET_LOGICAL_GEOMETRY = 17,
    OCI_PARQUET_LOGICAL_GEOGRAPHY = 18,
    OCI_PARQUET_LOGICAL_OTHER = 99 /* one this reader does not know: the physical type counts */
} oci_parquet_logical;

typedef enum oci_parquet_encoding {
    OCI_PARQUET_PLAIN = 0,
    OCI_PARQUET_PLAIN_DICTIONARY =
        2, /* old name: PLAIN in a dictionary page, RLE_DICTIONARY elsewhere */
    OCI_PARQUET_RLE = 3,
    OCI_PARQUET_BIT_PACKED = 4,
    OCI_PARQUET_DELTA_BINARY_PACKED = 5,
    OCI_PARQUET_DELTA_LENGTH_BYTE_ARRAY = 6,
    OCI_PARQUET_DELTA_BYTE_ARRAY = 7,
    OCI_PARQUET_RLE_DICTIONARY = 8,
    OCI_PARQUET_BYTE_STREAM_SPLIT = 9,
    OCI_PARQUET_ENCODINGS = 10
} oci_parquet_encoding;

typedef enum oci_parquet_codec {
    OCI_PARQUET_UNCOMPRESSED = 0,
    OCI_PARQUET_SNAPPY = 1,
    OCI_PARQUET_GZIP = 2,
    OCI_PARQUET_LZO = 3,
    OCI_PARQUET_BROTLI = 4,
    OCI_PARQUET_LZ4_HADOOP = 5, /* "LZ4": Hadoop's framing, or raw, or LZ4 frames */
    OCI_PARQUET_ZSTD = 6,
    OCI_PARQUET_LZ4_RAW = 7,
    OCI_PARQUET_CODECS = 8
} oci_parquet_codec;

typedef enum oci_parquet_page_type {
    OCI_PARQUET_DATA_PAGE = 0,
    OCI_PARQUET_INDEX_PAGE = 1,
    OCI_PARQUET_DICTIONARY_PAGE = 2,
    OCI_PARQUET_DATA_PAGE_V2 = 3
} oci_parquet_page_type;

/* Names as parquet.thrift has them ("DELTA_BYTE_ARRAY"); "unknown" for numbers that it does not have. */
const char *oci_parquet_type_name(oci_parquet_type type);
const char *oci_parquet_encoding_name(oci_parquet_encoding encoding);
const char *oci_parquet_codec_name(oci_parquet_codec codec);

/* ---- structs ---------------------------------------------------------------------------------
 * Pointers lead into the bytes that were parsed or into an arena; the structs own nothing. */

typedef struct oci_parquet_bytes {
    const uint8_t *data; /* NULL = absent */
    int64_t size;
} oci_parquet_bytes;

typedef struct oci_parquet_key_value {
    oci_parquet_bytes key;
    oci_parquet_bytes value; /* may be absent */
} oci_parquet_key_value;

/* One element of the schema, depth first; a group is followed by its children. */
typedef struct oci_parquet_element {
    oci_parquet_bytes name;
    oci_parquet_type type; /* OCI_PARQUET_GROUP: a group */
    int32_t type_length;   /* FIXED: bytes of a value, >= 0 */
    oci_parquet_repetition repetition;
    int32_t n_children;
    oci_parquet_converted converted;
    oci_parquet_logical logical;
    int32_t
        precision; /* decimals, by the logical type when there is one, else by the converted one */
    int32_t scale;
    int32_t field_id; /* valid when has_field_id */
    bool has_field_id;
    bool is_signed;   /* LOGICAL_INTEGER */
    bool is_utc;      /* LOGICAL_TIME, LOGICAL_TIMESTAMP: adjusted to UTC */
    int8_t bit_width; /* LOGICAL_INTEGER: 8, 16, 32, 64 */
    int8_t unit;      /* LOGICAL_TIME, LOGICAL_TIMESTAMP: 1 ms, 2 us, 3 ns */
} oci_parquet_element;

/* Counts are -1 when absent. min / max as the format defines them for the column's order; the deprecated
 * pair compares as signed bytes or numbers. */
typedef struct oci_parquet_statistics {
    oci_parquet_bytes min_deprecated;
    oci_parquet_bytes max_deprecated;
    oci_parquet_bytes min;
    oci_parquet_bytes max;
    int64_t null_count;
    int64_t distinct_count;
    int64_t nan_count;   /* floats; with orders of IEEE 754 */
    int8_t is_min_exact; /* 1 yes, 0 no (cut), -1 not said */
    int8_t is_max_exact;
} oci_parquet_statistics;

typedef struct oci_parquet_column_chunk {
    oci_parquet_type type;
    oci_parquet_codec codec;
    uint32_t encodings;     /* bit 1 << encoding for each that is named */
    bool is_all_dictionary; /* the writer says (encoding_stats) that every data page is */
    int64_t n_values;       /* entries, with nulls and empty lists */
    int64_t uncompressed_bytes;
    int64_t compressed_bytes; /* with page headers */
    /* [offset, offset + compressed_bytes): where its pages lie, the dictionary page first. Made from the
     * offsets below; within the file. */
    int64_t offset;
    int64_t data_page_offset;
    int64_t dictionary_page_offset; /* 0 = none */
    int64_t bloom_offset;           /* 0 = none */
    int64_t bloom_bytes;            /* header included; 0 = not said */
    int64_t offset_index_offset;    /* 0 = none */
    int32_t offset_index_bytes;
    int64_t column_index_offset; /* 0 = none */
    int32_t column_index_bytes;
    oci_parquet_statistics statistics;
    int32_t n_key_values;
    const oci_parquet_key_value *key_values;
} oci_parquet_column_chunk;

typedef struct oci_parquet_sorting_column {
    int32_t column; /* leaf */
    bool is_descending;
    bool nulls_first;
} oci_parquet_sorting_column;

typedef struct oci_parquet_row_group {
    int64_t n_rows;
    int64_t total_bytes; /* uncompressed, as said by the writer */
    int32_t n_columns;   /* as many as the schema has leaves, in their order */
    oci_parquet_column_chunk *columns;
    int32_t n_sorting;
    oci_parquet_sorting_column *sorting;
} oci_parquet_row_group;

/* How min / max of a column compare. */
typedef enum oci_parquet_column_order {
    OCI_PARQUET_ORDER_UNKNOWN = 0, /* min / max mean nothing (but see statistics of old writers) */
    OCI_PARQUET_ORDER_TYPE = 1,    /* TypeDefinedOrder */
    OCI_PARQUET_ORDER_IEEE754 = 2  /* total order of floats */
} oci_parquet_column_order;

/* Where a row group lies in the footer. */
typedef struct oci_parquet_row_group_place {
    int64_t offset; /* into the footer's bytes */
    int64_t n_rows;
    int64_t first_row; /* of the file */
    int64_t bytes;     /* compressed, of all its chunks */
} oci_parquet_row_group_place;

typedef struct oci_parquet_metadata {
    int32_t version;
    int64_t n_rows;
    int32_t n_elements; /* >= 1; element 0 is the root, a group */
    oci_parquet_element *elements;
    int32_t n_leaves;
    const oci_parquet_element **leaves; /* elements that are no groups, in order: columns */
    int32_t n_row_groups;
    oci_parquet_row_group_place *row_groups;
    int32_t n_key_values;
    oci_parquet_key_value *key_values;
    oci_parquet_bytes created_by;            /* may be absent */
    oci_parquet_column_order *column_orders; /* of each leaf, or NULL = not said */
    oci_parquet_bytes footer;                /* the Thrift bytes */
    int64_t file_bytes;
    const char *file_name; /* for messages; the file's */
    /* private */
    oci_parquet_arena arena;
} oci_parquet_metadata;

/* Reads the footer of `file` (borrowed until the destroy, must be seekable). Charged to `mem`. */
OC_NODISCARD oc_status oci_parquet_metadata_read(oci_file *file, oci_mem *mem,
                                                 oci_parquet_metadata **out, oc_error *err);
void oci_parquet_metadata_destroy(oci_parquet_metadata *metadata); /* NULL is fine */

/* The structs of row group i, in `arena`; they point into the footer too. Verified before, so only
 * memory can be missing. May be called by several threads with an arena each. */
OC_NODISCARD oc_status oci_parquet_row_group_read(const oci_parquet_metadata *metadata, int32_t i,
                                                  oci_parquet_arena *arena,
                                                  oci_parquet_row_group **out, oc_error *err);

/* The value of the key (NUL-terminated) in the key-value metadata; data NULL when there is none. */
oci_parquet_bytes oci_parquet_metadata_value(const oci_parquet_metadata *metadata, const char *key);

/* ---- pages ----------------------------------------------------------------------------------- */

typedef struct oci_parquet_page_header {
    oci_parquet_page_type type;
    int32_t uncompressed_bytes; /* V2: levels included */
    int32_t compressed_bytes;   /* behind the header; V2: levels included */
    bool has_crc;
    uint32_t crc;                  /* CRC-32 (gzip's) of the compressed bytes as they lie */
    int32_t n_values;              /* data: entries, with nulls; dictionary: values */
    oci_parquet_encoding encoding; /* of the values */
    oci_parquet_encoding definition_encoding; /* V1 only */
    oci_parquet_encoding repetition_encoding; /* V1 only */
    /* V2 only: levels lie uncompressed in front of the values, repetition first. */
    int32_t n_nulls;
    int32_t n_rows;
    int32_t definition_bytes;
    int32_t repetition_bytes;
    bool is_compressed;                /* whether the values are; true for V1 and dictionaries */
    bool is_sorted;                    /* dictionary */
    oci_parquet_statistics statistics; /* of a data page; points into the bytes that were parsed */
} oci_parquet_page_header;

/* Longest header that is taken: statistics in it may be long. */
enum { OCI_PARQUET_PAGE_HEADER_BYTES_MAX = 16 << 20 };

/* Parses the header of a page, of which the first `size` bytes are there. *used: how long it is, or 0 when
 * it goes on behind them (then more is to be given, up to OCI_PARQUET_PAGE_HEADER_BYTES_MAX). Numbers are
 * checked for being >= 0 and, in V2, for levels that fit the page. An unknown page type is kept as its
 * number: such pages are skipped. */
OC_NODISCARD oc_status oci_parquet_page_header_parse(const uint8_t *data, int64_t size,
                                                     oci_parquet_page_header *out, int64_t *used,
                                                     oc_error *err);

/* ---- page index ------------------------------------------------------------------------------ */

typedef struct oci_parquet_page_location {
    int64_t offset;    /* of the page header in the file */
    int32_t bytes;     /* header included */
    int64_t first_row; /* in the row group; the first page's is 0, then rising */
} oci_parquet_page_location;

typedef struct oci_parquet_offset_index {
    int32_t n_pages; /* data pages only */
    oci_parquet_page_location *pages;
} oci_parquet_offset_index;

typedef enum oci_parquet_boundary_order {
    OCI_PARQUET_UNORDERED = 0,
    OCI_PARQUET_ASCENDING = 1,
    OCI_PARQUET_DESCENDING = 2
} oci_parquet_boundary_order;

typedef struct oci_parquet_column_index {
    int32_t n_pages;
    bool *null_pages; /* nothing but nulls: min and max mean nothing */
    oci_parquet_bytes *min;
    oci_parquet_bytes *max;
    oci_parquet_boundary_order order;
    int64_t *null_counts; /* NULL or -1 = not said */
    int64_t *nan_counts;  /* NULL or -1 = not said */
} oci_parquet_column_index;

/* Read the indexes of a chunk, which says that it has them, into `arena`. Pages of the offset index are
 * checked to lie in the chunk, one behind the other, and rows to rise below `n_rows`. *out NULL: the chunk
 * has none. */
OC_NODISCARD oc_status oci_parquet_offset_index_read(oci_file *file,
                                                     const oci_parquet_column_chunk *chunk,
                                                     int64_t n_rows, oci_parquet_arena *arena,
                                                     oci_parquet_offset_index **out, oc_error *err);
OC_NODISCARD oc_status oci_parquet_column_index_read(oci_file *file,
                                                     const oci_parquet_column_chunk *chunk,
                                                     oci_parquet_arena *arena,
                                                     oci_parquet_column_index **out, oc_error *err);

/* ---- writing: all append Thrift to `out` ------------------------------------------------------ */

#define OCI_PARQUET_MAGIC "PAR1"
enum { OCI_PARQUET_MAGIC_BYTES = 4, OCI_PARQUET_TAIL_BYTES = 8 };

OC_NODISCARD oc_status oci_parquet_page_header_append(const oci_parquet_page_header *header,
                                                      oci_text *out, oc_error *err);
OC_NODISCARD oc_status oci_parquet_offset_index_append(const oci_parquet_offset_index *index,
                                                       oci_text *out, oc_error *err);
OC_NODISCARD oc_status oci_parquet_column_index_append(const oci_parquet_column_index *index,
                                                       oci_text *out, oc_error *err);
/* As an element of the footer's list of row groups: appended one behind the other while they are written.
 * `metadata` gives the paths of the leaves. */
OC_NODISCARD oc_status oci_parquet_row_group_append(const oci_parquet_row_group *group,
                                                    const oci_parquet_metadata *metadata,
                                                    oci_text *out, oc_error *err);
/* The footer: version, n_rows, elements, n_row_groups, key_values, created_by and column_orders of
 * `metadata`, with the row groups that were appended to `row_groups`; then its length and the magic. */
OC_NODISCARD oc_status oci_parquet_footer_append(const oci_parquet_metadata *metadata,
                                                 const oci_text *row_groups, oci_text *out,
                                                 oc_error *err);

#endif /* OUTCORE_FORMATS_PARQUET_METADATA_H */
