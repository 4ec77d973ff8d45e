/* The parts of oci_pack_column(), by layout. See packed_column.c for the way through them. */
#ifndef OUTCORE_ENCODING_PACK_INTERNAL_H
#define OUTCORE_ENCODING_PACK_INTERNAL_H

#include "arrow/batch.h"
#include "encoding/int_vector.h"
#include "encoding/pack_format.h"
#include "encoding/packed_column.h"
#include "encoding/string_vector.h"

#define OCI_PLAN_NUMBERS 8

/* How values of fixed width are stored. */
typedef struct oci_fixed_form {
    uint8_t kind;
    uint8_t part;
} oci_fixed_form;

/* What was chosen for one node, from block to block. */
typedef struct oci_pack_plan {
    oci_int_plan numbers[OCI_PLAN_NUMBERS]; /* vectors as they come; planes beyond have none */
    oci_int_plan bitmap;
    oci_string_plan strings;
    oci_fixed_form form;
    uint8_t blocks_left; /* until form is looked at anew */
} oci_pack_plan;

typedef struct oci_pack_job {
    oci_pack_out *out;
    oci_pack_plan *plan;   /* of the next node: they lie in the order of nodes */
    oci_reservation *from; /* scratch */
} oci_pack_job;

const oci_schema *oci_packer_schema(const oci_packer *packer);

/* Writes the node of a column and those below it. */
OC_NODISCARD oc_status oci_pack_node(oci_pack_job *job, const oci_column *column, oc_error *err);

/* ---- pieces ---------------------------------------------------------------------------------- */

void oci_pack_word(oci_pack_job *job, int64_t value);
void oci_pack_ints(oci_pack_job *job, const oci_int_source *source, int width, oci_int_plan *plan);
/* Bits [offset, offset + n). */
void oci_pack_bits(oci_pack_job *job, const uint8_t *bits, int64_t offset, int64_t n,
                   oci_int_plan *plan);
/* Header and validity. *n_valid gets the rows that are not null, the result is where the header is,
 * for kinds that are found later. */
uint8_t *oci_pack_validity(oci_pack_job *job, oci_pack_plan *plan, const oci_column *column,
                           int64_t *n_valid);

/* ---- layouts: all behind validity ------------------------------------------------------------ */

void oci_pack_fixed(oci_pack_job *job, oci_pack_plan *plan, const oci_column *column,
                    int64_t n_valid, uint8_t *header);
OC_NODISCARD oc_status oci_pack_dictionary(oci_pack_job *job, oci_pack_plan *plan,
                                           const oci_column *column, int64_t n_valid,
                                           oc_error *err);
OC_NODISCARD oc_status oci_pack_nested(oci_pack_job *job, oci_pack_plan *plan,
                                       const oci_column *column, uint8_t *header, oc_error *err);

/* Memory for marking the values in use of a dictionary. */
int64_t oci_pack_marks_bytes(int64_t n_values);

/* ---- values by place ------------------------------------------------------------------------- */

/* Values of one width, or some bytes of each, that lie at equal distances; with a bitmap only the
 * valid ones, which are then numbered as if the others were not there. */
typedef struct oci_fixed_source {
    const uint8_t *values; /* of the column's first row */
    int64_t stride;
    int load; /* bytes of a value that count: 1, 2, 4, 8; not all of them: 1 (unsigned), 8 */
    bool is_signed;
    const uint8_t *validity; /* NULL: all rows */
    int64_t offset;          /* of the first row in the bitmap */
    int64_t n_rows;          /* null ones too */
    int64_t first;           /* number of the value that is 0 to the reader: samples */
    int64_t *cursor;         /* [2]: a row, a multiple of 64, and the number of valid ones before */
    oci_int_array array;     /* for oci_fixed_ints() */
} oci_fixed_source;

/* Room for n values of fixed width in any form. */
int64_t oci_pack_fixed_bound(const oci_field *field, int64_t n);

/* The result refers to *source. */
oci_int_source oci_fixed_ints(oci_fixed_source *source, int64_t n);
/* The rows, counted from the column's first, of the valid ones [start, start + n),
 * n <= OCI_PAGE_VALUES. */
void oci_fixed_rows(const oci_fixed_source *source, int64_t start, int64_t n, int64_t *rows);

/* The least exponent with which nearly all of a sample of values, given as their bits, are whole
 * numbers; -1 = none. */
int oci_scaled_exponent(const oci_int_source *bits, bool is_narrow);
/* Writes the values as whole numbers over 10^exponent, returns the size; INT64_MAX when too many are
 * something else, or these take more than `room` allows. */
int64_t oci_write_scaled(const oci_int_source *bits, int exponent, bool is_narrow, int64_t room,
                         oci_int_plan *plan, uint8_t *out);

#endif /* OUTCORE_ENCODING_PACK_INTERNAL_H */
