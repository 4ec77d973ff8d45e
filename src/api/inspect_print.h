/* What the files of oc_inspect() share: text for people, piece by piece. */
#ifndef OUTCORE_API_INSPECT_PRINT_H
#define OUTCORE_API_INSPECT_PRINT_H

#include "api/context.h"
#include "arrow/schema.h"

typedef struct oci_printer {
    void (*print)(const char *text, size_t size, void *arg);
    void *arg;
} oci_printer;

/* At most 1023 bytes at a time. */
void oci_print(const oci_printer *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* One line a column: number, name, type; `note` (may be NULL) is put behind column i. */
OC_NODISCARD oc_status oci_print_columns(const oci_printer *p, const oci_schema *schema,
                                         void (*note)(const oci_printer *p, const void *arg,
                                                      int32_t i),
                                         const void *arg, oc_error *err);

/* A Parquet file; takes it. `with_chunks`: every column of every row group too. */
OC_NODISCARD oc_status oci_inspect_parquet(oc_context *context, oci_file *file, bool with_chunks,
                                           const oci_printer *p, oc_error *err);

#endif /* OUTCORE_API_INSPECT_PRINT_H */
