/* Which row groups, and which rows of a row group, can hold rows that a predicate wants.
 *
 * By statistics, the page index and Bloom filters. What the file does not say, or says in a way that cannot be
 * relied on, may match:
 *
 *   min / max are used for the column orders that the format defines, and without any for signed numbers (old
 *     writers); of texts, binary and unsigned numbers the deprecated pair is ignored: it was compared as signed
 *   min / max of INT96, INTERVAL and of types without order are ignored
 *   texts may be cut: min is a lower and max an upper bound, whether they are values or not
 *   floats: a NaN in min or max makes both unknown. NaN is above max unless NaN were counted and there are none, so
 *     x > c leaves nothing out of files that do not say. Zeros compare equal, whatever their sign
 *   a min above its max makes both unknown
 *   null counts that are not said mean there may be nulls
 *   nested columns match whatever is asked of them: their levels count entries and not rows
 */
#ifndef OUTCORE_FORMATS_PARQUET_PRUNE_H
#define OUTCORE_FORMATS_PARQUET_PRUNE_H

#include "formats/parquet/schema.h"
#include "formats/predicate.h"

/* Rows [start, end) of a row group. */
typedef struct oci_parquet_rows {
    int64_t start;
    int64_t end;
} oci_parquet_rows;

typedef struct oci_parquet_selection {
    int32_t n_ranges;         /* 0 = no row of the group can match */
    oci_parquet_rows *ranges; /* rising, not touching each other */
    int64_t n_rows;           /* in all of them */
} oci_parquet_selection;

/* Which file, and where it is. */
typedef struct oci_parquet_prune_source {
    oci_file *file;
    const oci_parquet_metadata *metadata;
    const oci_parquet_schema *schema;
} oci_parquet_prune_source;

/* The rows of `group` that may match `predicate` (NULL = all). First statistics of the chunks; then, only when
 * these leave it open, Bloom filters of columns that are compared for equality (charged to arena->mem while they
 * are looked at); then the page indexes of the columns in the predicate. The result is in `arena`. A page index
 * or Bloom filter that is damaged is an error, as all damage is. */
OC_NODISCARD oc_status oci_parquet_prune(const oci_parquet_prune_source *source,
                                         const oci_parquet_row_group *group,
                                         const oci_predicate *predicate, oci_parquet_arena *arena,
                                         oci_parquet_selection *out, oc_error *err);

#endif /* OUTCORE_FORMATS_PARQUET_PRUNE_H */
