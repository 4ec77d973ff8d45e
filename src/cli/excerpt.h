/* The line of a statement that an error is about, with a mark under the place:
 *
 *     LINE 2: WHERE nmae = 'x'
 *                   ^
 *
 * Of long lines the part around the place is shown. Widths are counted in characters. */
#ifndef OUTCORE_CLI_EXCERPT_H
#define OUTCORE_CLI_EXCERPT_H

#include <stddef.h>
#include <stdint.h>

#define OCI_CLI_EXCERPT_BYTES 1024

/* Writes both lines to `out`; "" when `position` is not in text[0..size]. Returns the number of the line,
 * from 1. */
int64_t oci_cli_format_excerpt(const char *text, size_t size, int64_t position,
                               char out[OCI_CLI_EXCERPT_BYTES]);

#endif /* OUTCORE_CLI_EXCERPT_H */
