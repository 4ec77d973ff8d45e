/* --stats: one line of JSON about what the work took, for scripts and benchmarks.
 *
 *     {"rows": 6001215, "seconds": 7.412, "limit_bytes": 67108864, ..., "codec": "lz4_frame"}
 *
 * It is the last line of standard error, and comes only when the command succeeded. */
#ifndef OUTCORE_CLI_STATS_H
#define OUTCORE_CLI_STATS_H

#include "outcore/outcore.h"

/* `rows` written, in `seconds` of wall time. */
void oci_cli_print_stats(const oc_metrics *metrics, int64_t rows, double seconds);

/* The most memory that the process had resident so far, in bytes; 0 when the system does not
 * tell. */
int64_t oci_cli_peak_rss_bytes(void);

#endif /* OUTCORE_CLI_STATS_H */
