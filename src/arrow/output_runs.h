/* Finding the runs of a column, for oci_batch_output. */
#ifndef OUTCORE_ARROW_OUTPUT_RUNS_H
#define OUTCORE_ARROW_OUTPUT_RUNS_H

#include "arrow/batch.h"

/* Rows of a column in which runs can be found. */
#define OCI_RUN_ROWS_MAX INT32_MAX

/* The runs of a column. Plain struct, zero-initialise; deinit also after a failure. */
typedef struct oci_run_set {
    int64_t n;
    int32_t *starts; /* first row of each; ascending */
    int64_t capacity;
    oci_column picked; /* the value of each run */
    oci_batch *values; /* whose memory `picked` uses; NULL: nothing repeats, and it is the column */
} oci_run_set;

/* Cuts a column (at most OCI_RUN_ROWS_MAX rows, any type in working form) into runs of values that
 * are equal bit for bit. What it takes is charged to `mem`. */
OC_NODISCARD oc_status oci_run_set_find(oci_run_set *runs, const oci_column *column, oci_mem *mem,
                                        oc_error *err);
void oci_run_set_deinit(oci_run_set *runs, oci_mem *mem);

#endif /* OUTCORE_ARROW_OUTPUT_RUNS_H */
