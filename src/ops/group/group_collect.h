/* Collecting aggregates: values of one group after the other, in order. See docs/group.md, "Sorted".
 *
 * Values are kept as normalised keys (arrow/row_key.h), one behind the other, and decoded when groups are given out;
 * texts of string_agg as bytes. Groups are numbered from 0 within the window of groups that are not given out yet;
 * rows come with ascending groups. */
#ifndef OUTCORE_OPS_GROUP_GROUP_COLLECT_H
#define OUTCORE_OPS_GROUP_GROUP_COLLECT_H

#include "ops/aggregate/aggregate.h"

typedef struct oci_collector oci_collector;

/* For a collecting kind; texts of the aggregate are copied. */
OC_NODISCARD oc_status oci_collector_create(const oci_aggregate *aggregate, const oci_schema *input,
                                            oci_mem *mem, oci_collector **out, oc_error *err);
void oci_collector_destroy(oci_collector *collector); /* NULL is fine */

/* Rows that are only counted, for quantiles: groups[i], OCI_GROUP_NONE for rows that do not belong. */
OC_NODISCARD oc_status oci_collector_count(oci_collector *collector, const oci_column *arg,
                                           const uint32_t *groups, int64_t n, int64_t n_groups,
                                           oc_error *err);
/* Rows whose values are taken. `keys` are those of the argument. OC_EBUDGET. */
OC_NODISCARD oc_status oci_collector_add(oci_collector *collector, const oci_column *arg,
                                         const oci_row_keys *keys, const uint32_t *groups,
                                         int64_t n, int64_t n_groups, oc_error *err);
/* The results of groups 0..n-1 as a batch of one column. */
OC_NODISCARD oc_status oci_collector_finish(oci_collector *collector, int64_t n, oci_batch **out,
                                            oc_error *err);
/* Forgets groups 0..n-1; group n becomes 0. */
void oci_collector_shift(oci_collector *collector, int64_t n);

#endif /* OUTCORE_OPS_GROUP_GROUP_COLLECT_H */
