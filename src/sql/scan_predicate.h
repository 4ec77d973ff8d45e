/* What a filter says about single columns of a table, in the form that formats understand
 * (formats/predicate.h). */
#ifndef OUTCORE_SQL_SCAN_PREDICATE_H
#define OUTCORE_SQL_SCAN_PREDICATE_H

#include "expr/expr.h"
#include "formats/predicate.h"

typedef struct oci_scan_predicate {
    oci_predicate *nodes; /* malloc'ed; the root first */
    oci_predicate_value *values;
    int32_t n_nodes;
    int32_t n_values;
} oci_scan_predicate;

/* Makes it of a boolean expression; column i of it is columns[i] of the table. Texts point into the
 * expression, which must live longer. Where nothing is said the root is OCI_PREDICATE_TRUE. */
OC_NODISCARD oc_status oci_scan_predicate_make(const oci_expr *filter, const int32_t *columns,
                                               oci_scan_predicate *out, oc_error *err);
void oci_scan_predicate_deinit(oci_scan_predicate *predicate); /* zeroed is fine */

#endif /* OUTCORE_SQL_SCAN_PREDICATE_H */
