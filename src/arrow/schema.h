/* Types and schemas.
 *
 * An `oci_field` is one column's name and type; an `oci_schema` is a reference-counted list of
 * them. Code that handles values switches on the *layout* of a type (how its bytes lie), never on
 * the long list of types: a new type with a known layout is one row in the table of schema.c, a
 * new layout is one new case in each of gather, key encoding, IPC and validation.
 *
 * Every type of the Arrow columnar format is known, nested to a depth of OCI_NESTING_MAX. An
 * extension type is its storage type plus metadata, which is kept. */
#ifndef OUTCORE_ARROW_SCHEMA_H
#define OUTCORE_ARROW_SCHEMA_H

#include "base/memory.h"
#include "outcore/arrow_abi.h"

typedef enum oci_type {
    OCI_TYPE_NULL,
    OCI_TYPE_BOOL,
    OCI_TYPE_INT8,
    OCI_TYPE_INT16,
    OCI_TYPE_INT32,
    OCI_TYPE_INT64,
    OCI_TYPE_UINT8,
    OCI_TYPE_UINT16,
    OCI_TYPE_UINT32,
    OCI_TYPE_UINT64,
    OCI_TYPE_FLOAT16,
    OCI_TYPE_FLOAT32,
    OCI_TYPE_FLOAT64,
    OCI_TYPE_DECIMAL32,
    OCI_TYPE_DECIMAL64,
    OCI_TYPE_DECIMAL128,
    OCI_TYPE_DECIMAL256,
    OCI_TYPE_DATE32, /* days since 1970-01-01 */
    OCI_TYPE_DATE64, /* milliseconds */
    OCI_TYPE_TIME32,
    OCI_TYPE_TIME64,
    OCI_TYPE_TIMESTAMP,
    OCI_TYPE_DURATION,
    OCI_TYPE_INTERVAL_MONTHS,
    OCI_TYPE_INTERVAL_DAY_TIME,
    OCI_TYPE_INTERVAL_MONTH_DAY_NANO,
    OCI_TYPE_FIXED_BINARY,
    OCI_TYPE_UTF8,
    OCI_TYPE_LARGE_UTF8,
    OCI_TYPE_UTF8_VIEW,
    OCI_TYPE_BINARY,
    OCI_TYPE_LARGE_BINARY,
    OCI_TYPE_BINARY_VIEW,
    OCI_TYPE_DICTIONARY,
    OCI_TYPE_LIST,
    OCI_TYPE_LARGE_LIST,
    OCI_TYPE_LIST_VIEW,
    OCI_TYPE_LARGE_LIST_VIEW,
    OCI_TYPE_FIXED_LIST,
    OCI_TYPE_STRUCT,
    OCI_TYPE_MAP,
    OCI_TYPE_DENSE_UNION,
    OCI_TYPE_SPARSE_UNION,
    OCI_TYPE_RUN_END_ENCODED,
    OCI_TYPE_COUNT
} oci_type;

typedef enum oci_layout {
    OCI_LAYOUT_NULL,       /* no buffers */
    OCI_LAYOUT_BITS,       /* validity, 1-bit values */
    OCI_LAYOUT_FIXED,      /* validity, values of `byte_width` */
    OCI_LAYOUT_OFFSETS32,  /* validity, int32 offsets, bytes */
    OCI_LAYOUT_OFFSETS64,  /* validity, int64 offsets, bytes */
    OCI_LAYOUT_VIEWS,      /* validity, 16-byte views, any number of byte buffers */
    OCI_LAYOUT_DICTIONARY, /* validity, indices of `byte_width`, values in column->dictionary */
    /* Nested: values lie in children. Rows of a child are counted in the child, whose own offset
     * comes on top; see batch.h. */
    OCI_LAYOUT_LIST32,       /* validity, int32 offsets into the only child (also map) */
    OCI_LAYOUT_LIST64,       /* validity, int64 offsets into the only child */
    OCI_LAYOUT_LIST_VIEW32,  /* validity, int32 offsets, int32 sizes, any order and overlap */
    OCI_LAYOUT_LIST_VIEW64,  /* validity, int64 offsets, int64 sizes */
    OCI_LAYOUT_FIXED_LIST,   /* validity; row i is `list_size` rows of the only child */
    OCI_LAYOUT_STRUCT,       /* validity; row i is row i of every child */
    OCI_LAYOUT_SPARSE_UNION, /* int8 type ids; row i is row i of the child that its id names */
    OCI_LAYOUT_DENSE_UNION,  /* int8 type ids, int32 rows of the child that the id names */
    OCI_LAYOUT_RUN_ENDS,     /* no buffers; children: run ends (int16/32/64), values */
    OCI_LAYOUT_UNKNOWN       /* no type has it */
} oci_layout;

typedef enum oci_time_unit { OCI_SECOND, OCI_MILLI, OCI_MICRO, OCI_NANO } oci_time_unit;

/* Type ids of a union and its children. */
typedef struct oci_union_ids {
    int8_t of_child[128]; /* type id of child i */
    int8_t child_of[128]; /* child that a type id names, -1 = none */
} oci_union_ids;

typedef struct oci_field {
    char *name; /* never NULL */
    oci_type type;
    bool nullable;
    int32_t byte_width; /* FIXED: width of a value; DICTIONARY: width of an index; else 0 */
    int32_t precision;  /* decimals */
    int32_t scale;
    oci_time_unit unit;           /* time, timestamp, duration */
    char *timezone;               /* timestamp; NULL = without */
    oci_type index_type;          /* DICTIONARY: an integer type */
    bool dictionary_ordered;      /* DICTIONARY */
    struct oci_field *dictionary; /* DICTIONARY: type of the values (name ""), else NULL */
    int32_t list_size;            /* FIXED_LIST: rows of the child per row, >= 0 */
    bool keys_sorted;             /* MAP */
    oci_union_ids *union_ids;     /* unions, else NULL */
    int32_t n_children;           /* as many as the layout has; any number for struct and unions */
    struct oci_field *children;   /* MAP: one struct of key and value */
    char *metadata; /* C data encoding: int32 n, then length-prefixed pairs; or NULL */
    int64_t metadata_bytes;
} oci_field;

typedef struct oci_schema oci_schema; /* immutable, reference-counted */
struct oci_schema {
    int32_t n_fields;
    oci_field *fields;
    char *metadata;
    int64_t metadata_bytes;
    /* private */
    _Atomic int32_t references;
};

/* Longest chain of nested types that is taken from outside. */
#define OCI_NESTING_MAX 64

oci_layout oci_type_layout(oci_type type);
/* Decimal type of this width and how many digits it can hold; false when Arrow has no such width. */
bool oci_decimal_of_bits(int64_t bits, oci_type *type, int32_t *digits_max);
const char *oci_type_name(oci_type type); /* "utf8", "large_list", ... */
/* "decimal128(15, 2)", "timestamp[us, UTC]", "dictionary<int8, utf8>", "list<int32>",
 * "struct<a: int32, b: utf8>". Cut to the buffer. */
void oci_field_type_text(const oci_field *field, char *buf, size_t size);
static inline oci_layout oci_field_layout(const oci_field *field)
{
    return oci_type_layout(field->type);
}

/* Schemas are small and rare (not per row): malloc'ed, not charged.
 *
 * From a C data schema, which must be a struct ("+s"). Reads it only; the caller still releases
 * it. OC_EUNSUPPORTED for types nested deeper than OCI_NESTING_MAX and for dictionaries of
 * dictionaries, OC_EDATA for a format string that means nothing and children that do not fit it. */
OC_NODISCARD oc_status oci_schema_import(const struct ArrowSchema *in, oci_schema **out,
                                         oc_error *err);
OC_NODISCARD oc_status oci_schema_export(const oci_schema *schema, struct ArrowSchema *out,
                                         oc_error *err);
oci_schema *oci_schema_retain(oci_schema *schema);
void oci_schema_release(oci_schema *schema); /* NULL is fine */

/* Makes a schema out of fields; takes the array and its contents (malloc'ed), also on failure. */
OC_NODISCARD oc_status oci_schema_create(oci_field *fields, int32_t n_fields, char *metadata,
                                         int64_t metadata_bytes, oci_schema **out, oc_error *err);
/* Deep copy into `out`; deinit frees what a field points to (not the struct). */
OC_NODISCARD oc_status oci_field_copy(const oci_field *in, oci_field *out, oc_error *err);
void oci_field_deinit(oci_field *field);
/* Fills a field of a simple type (no parameters); sets byte_width. name is copied. */
OC_NODISCARD oc_status oci_field_init(oci_field *field, const char *name, oci_type type,
                                      bool nullable, oc_error *err);
/* Sets byte_width from type (and index_type); call after filling a field by hand. */
void oci_field_set_width(oci_field *field);

/* The columns `indices[n]` of `schema`. */
OC_NODISCARD oc_status oci_schema_select(const oci_schema *schema, const int32_t *indices,
                                         int32_t n, oci_schema **out, oc_error *err);
/* Same type tree and parameters; names, nullability and metadata do not count. */
bool oci_field_same_type(const oci_field *a, const oci_field *b);
/* How many children a field of this type must have: of a union as many as it has type ids; -1 = any
 * number. */
int32_t oci_field_child_count(const oci_field *field);
/* How many dictionary-encoded fields there are, at any depth. */
int32_t oci_schema_dictionaries(const oci_schema *schema);
/* Index of the only column with this name; exact match first, else case-insensitive when unique.
 * OC_EINVAL when there is none (the message lists near names) or several. */
OC_NODISCARD oc_status oci_schema_find(const oci_schema *schema, const char *name, int32_t *out,
                                       oc_error *err);

/* Sets the ids of a union's children: `ids[n]`, NULL = 0, 1, 2, ... OC_EDATA for an id that is
 * negative or there twice, or more than 128 children. */
OC_NODISCARD oc_status oci_field_set_union_ids(oci_field *field, const int8_t *ids, int32_t n,
                                               oc_error *err);

/* The working form of a schema, at every depth: views become plain 32-bit utf8 / binary, list
 * views become lists of their width, a run-end encoded field becomes the field of its values
 * (with its own name, nullability and metadata). Operators buffer, spill and merge batches of this
 * schema; oci_batch_output turns them back. A schema that is its own working form is returned as
 * it is, retained. */
OC_NODISCARD oc_status oci_schema_working(oci_schema *schema, oci_schema **out, oc_error *err);

#endif /* OUTCORE_ARROW_SCHEMA_H */
