/* Parsing the structs of metadata.h: what the files of this folder share about it. */
#ifndef OUTCORE_FORMATS_PARQUET_METADATA_PARSE_H
#define OUTCORE_FORMATS_PARQUET_METADATA_PARSE_H

#include "formats/parquet/metadata.h"
#include "formats/parquet/thrift_compact.h"

/* Groups of the schema inside each other: an Arrow list or map takes two. */
enum { OCI_PARQUET_SCHEMA_DEPTH_MAX = 192 };

/* A Thrift reader that also allocates. A refused allocation is kept in `status` and is a problem too. */
typedef struct oci_parquet_parser {
    oci_thrift_reader thrift;
    oci_parquet_arena *arena;
    oc_status status;
    oc_error *err;
} oci_parquet_parser;

/* A list field of elements of `type`: *n of them are to be parsed, into *out of *n * size zeroed bytes. */
void oci_parquet_parse_list(oci_parquet_parser *p, const oci_thrift_field *field,
                            oci_thrift_type type, int64_t size, int32_t *n, void **out);
oci_parquet_bytes oci_parquet_parse_bytes(oci_parquet_parser *p, const oci_thrift_field *field);
/* Structs, which begin where the parser stands. */
void oci_parquet_parse_statistics(oci_parquet_parser *p, oci_parquet_statistics *out);
void oci_parquet_parse_key_values(oci_parquet_parser *p, const oci_thrift_field *field, int32_t *n,
                                  oci_parquet_key_value **out);
void oci_parquet_parse_element(oci_parquet_parser *p, oci_parquet_element *out);
void oci_parquet_parse_row_group(oci_parquet_parser *p, oci_parquet_row_group *out);
/* A number that has to be one of 0 .. n - 1, below a byte. */
int32_t oci_parquet_parse_enum(oci_parquet_parser *p, const oci_thrift_field *field, int32_t n,
                               const char *problem);

/* Statistics that say nothing. */
oci_parquet_statistics oci_parquet_no_statistics(void);

/* OC_OK, what kept the parser from memory, or OC_EDATA (OC_EUNSUPPORTED when the problem is that something
 * is not supported): "could not read <what>: <problem> at byte n of it". */
OC_NODISCARD oc_status oci_parquet_parser_finish(const oci_parquet_parser *p, const char *what);

/* Problems that are no damage. */
extern const char oci_parquet_encrypted[];
extern const char oci_parquet_other_file[];

/* Writes the fields of statistics, in a struct that the writer stands in. */
void oci_parquet_write_statistics(oci_thrift_writer *w, const oci_parquet_statistics *statistics);

#endif /* OUTCORE_FORMATS_PARQUET_METADATA_PARSE_H */
