/* What the kinds of aggregators share. */
#ifndef OUTCORE_OPS_AGGREGATE_AGGREGATE_INTERNAL_H
#define OUTCORE_OPS_AGGREGATE_AGGREGATE_INTERNAL_H

#include "arrow/row_key_decode.h"
#include "base/bits.h"
#include "ops/aggregate/aggregate.h"
#include "ops/aggregate/state_store.h"

__extension__ typedef __int128 oci_int128;
__extension__ typedef unsigned __int128 oci_uint128;

/* -- making (one maker per file of kinds; `self` has mem and result set, and takes over the rest) ------- */

oc_status oci_agg_create_count(const oci_aggregate *aggregate, const oci_schema *input,
                               oci_mem *mem, oci_aggregator **out, oc_error *err);
oc_status oci_agg_create_sum(const oci_aggregate *aggregate, const oci_schema *input, oci_mem *mem,
                             oci_aggregator **out, oc_error *err);
oc_status oci_agg_create_moments(const oci_aggregate *aggregate, const oci_schema *input,
                                 oci_mem *mem, oci_aggregator **out, oc_error *err);
oc_status oci_agg_create_extreme(const oci_aggregate *aggregate, const oci_schema *input,
                                 oci_mem *mem, oci_aggregator **out, oc_error *err);
oc_status oci_agg_create_bits(const oci_aggregate *aggregate, const oci_schema *input, oci_mem *mem,
                              oci_aggregator **out, oc_error *err);
oc_status oci_agg_create_approx(const oci_aggregate *aggregate, const oci_schema *input,
                                oci_mem *mem, oci_aggregator **out, oc_error *err);

/* Fills what all aggregators have: result and state fields (`types[n]`, nullable, of simple types; or copies of
 * fields[n]). */
OC_NODISCARD oc_status oci_agg_init(oci_aggregator *self, const oci_aggregate *aggregate,
                                    const oci_schema *input, const oci_aggregator_ops *ops,
                                    oci_mem *mem, const oci_field *states, int32_t n_states,
                                    oc_error *err);
void oci_agg_deinit(oci_aggregator *self);
/* A field of a simple type, or a decimal. */
oci_field oci_agg_field(oci_type type, int32_t precision, int32_t scale);

/* -- reading arguments ------------------------------------------------------------------------- */

/* Through dictionaries and run ends to the field of the values. */
const oci_field *oci_agg_value_field(const oci_field *field);
/* The place of row i's value among the values of *leaf (offset included), -1 when it is null. */
int64_t oci_agg_find_value(const oci_column *column, int64_t i, const oci_column **leaf);

static inline bool oci_agg_is_plain(const oci_column *column)
{
    return column->field->type != OCI_TYPE_DICTIONARY &&
           column->field->type != OCI_TYPE_RUN_END_ENCODED;
}

static inline int64_t oci_agg_value_at(const oci_column *column, bool is_plain, int64_t i,
                                       const oci_column **leaf)
{
    if (!is_plain) {
        return oci_agg_find_value(column, i, leaf);
    }
    int64_t at = column->offset + i;
    return column->validity == NULL || oci_bit_get(column->validity, at) ? at : -1;
}

/* Integers, dates and such as int64; a uint64 as its bits. */
int64_t oci_agg_load_int(const oci_field *field, const uint8_t *values, int64_t at);
/* Numbers of any type but decimals as double. */
double oci_agg_load_double(const oci_field *field, const uint8_t *values, int64_t at);

/* -- writing columns --------------------------------------------------------------------------- */

/* Makes a batch of columns of fixed width, bits, or strings: open, one column after the other, finish. */
typedef struct oci_agg_writer {
    oci_schema *schema;
    oci_mem *mem;
    oci_column *columns;
    uint8_t *block;
    uint8_t *at;
    int64_t bytes;
    int64_t n;
    int32_t n_columns;
} oci_agg_writer;

/* Bytes for a column of n values of a field; `text_bytes` of strings together. */
int64_t oci_agg_column_bytes(const oci_field *field, int64_t n, int64_t text_bytes);
OC_NODISCARD oc_status oci_agg_writer_open(oci_agg_writer *writer, oci_schema *schema, oci_mem *mem,
                                           int64_t n, int64_t bytes, oc_error *err);
/* The next column; all values valid and zero. *values (and *text for strings, whose offsets *values are) are to be
 * filled. Clear bits of the bitmap with oci_agg_set_null. */
oci_column *oci_agg_writer_column(oci_agg_writer *writer, int64_t text_bytes, uint8_t **values,
                                  uint8_t **text);
OC_NODISCARD oc_status oci_agg_writer_finish(oci_agg_writer *writer, oci_batch **out,
                                             oc_error *err);
void oci_agg_writer_abandon(oci_agg_writer *writer);
void oci_agg_set_null(oci_column *column, int64_t row);

#endif /* OUTCORE_OPS_AGGREGATE_AGGREGATE_INTERNAL_H */
