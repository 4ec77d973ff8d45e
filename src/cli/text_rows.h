/* Rows of one text column as lines: what EXPLAIN gives is made to be read as it is. */
#ifndef OUTCORE_CLI_TEXT_ROWS_H
#define OUTCORE_CLI_TEXT_ROWS_H

#include <stdio.h>

#include "outcore/outcore.h"

/* Takes the stream, also on failure. Its first column is utf8 or large_utf8. */
OC_NODISCARD oc_status oci_cli_print_text_rows(struct ArrowArrayStream *stream, FILE *out,
                                               int64_t *n_rows, oc_error *error);

#endif /* OUTCORE_CLI_TEXT_ROWS_H */
