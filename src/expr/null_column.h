/* A column of one null row, of any type in working form. */
#ifndef OUTCORE_EXPR_NULL_COLUMN_H
#define OUTCORE_EXPR_NULL_COLUMN_H

#include "arrow/batch.h"

typedef struct oci_null_column {
    oci_column column; /* borrows its field */
    uint8_t *zeros;    /* what all buffers of it and its children are */
} oci_null_column;

/* OC_EUNSUPPORTED: a type that has no null of its own, or one of lists of many thousand elements. */
OC_NODISCARD oc_status oci_null_column_init(oci_null_column *null, const oci_field *type,
                                            oc_error *err);
/* Also after a failure. */
void oci_null_column_deinit(oci_null_column *null);

#endif /* OUTCORE_EXPR_NULL_COLUMN_H */
