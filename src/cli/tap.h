/* A stream between a library stream and whoever reads it: cuts after some rows, and tells when the
 * first rows come, before anybody can print them.
 *
 * A failure of the stream below passes through it, but only as errno and text, since that is all
 * that the Arrow C Stream Interface carries. The tap keeps both for the caller, so that the message
 * is not wrapped.
 *
 * The tap is the caller's storage and outlives the stream. */
#ifndef OUTCORE_CLI_TAP_H
#define OUTCORE_CLI_TAP_H

#include "outcore/outcore.h"

typedef struct oci_cli_tap {
    struct ArrowArrayStream below;
    int64_t rows_left; /* INT64_MAX = all */
    void (*on_first_rows)(void *arg);
    void *arg;
    int failed; /* errno of the failure, 0 = none */
    char message[sizeof((oc_error *)0)->message];
} oci_cli_tap;

/* Puts the tap in: `stream` becomes a stream of at most `row_limit` rows (-1 = all) of what it was.
 * `on_first_rows` is called once, when rows or the end have come; NULL = nobody wants to know. */
void oci_cli_insert_tap(oci_cli_tap *tap, struct ArrowArrayStream *stream, int64_t row_limit,
                        void (*on_first_rows)(void *arg), void *arg);

#endif /* OUTCORE_CLI_TAP_H */
