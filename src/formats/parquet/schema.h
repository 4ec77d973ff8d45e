/* The schema tree of a Parquet file, and the Arrow schema that it is read as.
 *
 * Parquet stores leaves only; what is around them (struct, list, map) is told by two small numbers with each
 * value, the definition and the repetition level. A node of the tree below stands for one Arrow field and says
 * which levels mean what to it. With d, r the levels of an entry of any leaf below a node:
 *
 *   d <  slot_definition           nothing of this node: an ancestor list is null or empty
 *   slot_definition <= d, and r <= slot_repetition: a row of this node (r above it: more of the same row)
 *     d <  definition              the row is null (it or an ancestor struct)
 *     d >= definition              the row is there
 *   LIST, MAP, with the row there
 *     d == definition              the list is empty
 *     d >  definition              the entry begins an element when r <= repetition: a new list when
 *                                  r < repetition, one more element of the same list when r == repetition
 *
 * Example: optional group tags (LIST) { repeated group list { optional binary element (UTF8); } }
 *   node "tags"     LIST  slot_definition 0  slot_repetition 0  definition 1  repetition 1
 *   node "element"  LEAF  slot_definition 2  slot_repetition 1  definition 3
 *   d = 0: null list, 1: empty list, 2: list with a null element, 3: list with a value
 *
 * A MAP has two children, key and value, which are elements of the map as those of a list are: Arrow's struct of
 * entries between them has no node of its own. A map without values becomes a list of its keys, as in pyarrow.
 * Some writers say that keys may be null; Arrow's may not, so who meets one refuses it.
 *
 * Mapping. Logical types go before converted types, those before the physical type alone:
 *
 *   BOOLEAN                      bool
 *   INT32, INT64                 int32, int64; INTEGER(w, signed): (u)int8 .. (u)int64
 *     DATE                       date32
 *     TIME(ms / us / ns)         time32[ms] / time64[us] / time64[ns]
 *     TIMESTAMP(unit, UTC)       timestamp[unit] or timestamp[unit, UTC]
 *     DECIMAL(p, s)              decimal128(p, s)
 *   INT96                        timestamp[ns]
 *   FLOAT, DOUBLE                float32, float64
 *   BYTE_ARRAY                   binary; STRING, ENUM, JSON: utf8; BSON: binary
 *     DECIMAL(p, s)              decimal128 up to 38 digits, decimal256 up to 76
 *   FIXED(n)                     fixed_binary(n); also UUID and INTERVAL (Arrow's intervals are wider)
 *     FLOAT16                    float16
 *     DECIMAL(p, s)              as with BYTE_ARRAY
 *   UNKNOWN                      null, of any physical type
 *   LIST, MAP, plain groups      list, map, struct; a repeated field outside them is a list of it
 *
 * A logical type that does not fit its physical type is refused, with the column's path, but an unknown one is
 * passed over. LIST groups follow the rules of the format for two-level lists of old writers.
 *
 * The key ARROW:schema (an Arrow schema message in base 64, by pyarrow, arrow-rs and this program) refines that,
 * field by field, where it has the same name and place and the same values come out: large and view types,
 * dictionaries of texts and binary (always with int32 indices), time zones of UTC timestamps, durations,
 * fixed-size lists, large lists and list views, decimal widths, the metadata of fields. Anything else in it is
 * ignored, also a whole one that cannot be read. */
#ifndef OUTCORE_FORMATS_PARQUET_SCHEMA_H
#define OUTCORE_FORMATS_PARQUET_SCHEMA_H

#include "arrow/schema.h"
#include "formats/parquet/metadata.h"

typedef enum oci_parquet_node_kind {
    OCI_PARQUET_NODE_LEAF,
    OCI_PARQUET_NODE_STRUCT,
    OCI_PARQUET_NODE_LIST, /* one child; the field is any kind of list, or MAP never */
    OCI_PARQUET_NODE_MAP   /* two children, key and value; the field is a MAP */
} oci_parquet_node_kind;

typedef struct oci_parquet_leaf {
    const oci_parquet_element *element; /* physical type, type length, precision, scale */
    const oci_field *field;             /* that of its node */
    const char *path;                   /* "tags.list.element", NUL-terminated */
    int16_t max_definition;
    int16_t max_repetition;
    int32_t top; /* field of the schema that it belongs to */
} oci_parquet_leaf;

typedef struct oci_parquet_node {
    oci_parquet_node_kind kind;
    /* In the working form; for children of a MAP, of its struct of entries. */
    const oci_field *field;
    int16_t slot_definition;
    int16_t slot_repetition;
    int16_t definition; /* that of what is around for what cannot be null itself */
    int16_t repetition; /* LIST, MAP */
    int32_t leaf;       /* LEAF: its column; others: the first of theirs */
    int32_t n_leaves;
    int32_t n_children;
    struct oci_parquet_node *children;
} oci_parquet_node;

typedef struct oci_parquet_schema {
    oci_schema *arrow;   /* with the key-value metadata of the file, but ARROW:schema */
    oci_schema *working; /* its working form, of the same shape: what nodes refer to */
    int32_t n_nodes;     /* = arrow->n_fields */
    oci_parquet_node *nodes;
    int32_t n_leaves; /* = metadata->n_leaves */
    oci_parquet_leaf *leaves;
    /* private */
    oci_parquet_arena arena;
} oci_parquet_schema;

/* Makes the tree of `metadata` (borrowed until the destroy). Charged to `mem`, but for the Arrow schema, which
 * comes from malloc as all do. OC_EUNSUPPORTED: nested deeper than OCI_NESTING_MAX, a physical type with a
 * logical type that does not fit it. OC_EDATA: a tree that is none. */
OC_NODISCARD oc_status oci_parquet_schema_create(const oci_parquet_metadata *metadata, oci_mem *mem,
                                                 oci_parquet_schema **out, oc_error *err);
void oci_parquet_schema_destroy(oci_parquet_schema *schema); /* NULL is fine */

/* The other way, for the writer: elements, leaves and key_values (with ARROW:schema) of `metadata` (zeroed but for
 * its arena) from an Arrow schema in working form, which must outlive them: names point into it. `announced` is what
 * ARROW:schema says (the schema before it became the working form; NULL = the same).
 *
 *   integers         INT32, INT64, with INTEGER but for int32 and int64; durations INT64
 *   decimals         INT32 up to 9 digits, INT64 up to 18, else FIXED of as few bytes as hold the digits
 *   date32, date64   INT32 DATE: days
 *   seconds          as milliseconds; times are UTC, timestamps are when they have a time zone
 *   float16          FIXED(2); null: INT32 UNKNOWN
 *   texts, binary    BYTE_ARRAY with STRING or nothing; fixed binary: FIXED
 *   dictionary       the type of its values
 *
 * OC_EUNSUPPORTED by name: unions, structs without fields, intervals, dictionaries of nested values, decimals with a
 * scale outside of 0 .. digits, fixed binary of 0 bytes. */
OC_NODISCARD oc_status oci_parquet_schema_write(const oci_schema *working,
                                                const oci_schema *announced,
                                                oci_parquet_metadata *metadata, oc_error *err);

#endif /* OUTCORE_FORMATS_PARQUET_SCHEMA_H */
