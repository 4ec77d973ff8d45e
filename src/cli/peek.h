/* Looks at the first rows of a stream without taking them: is there more than fits the screen?
 *
 * The peek is the caller's storage and outlives the stream. The batches it holds come from malloc'ed
 * room for as many as the rows that were asked for at most. */
#ifndef OUTCORE_CLI_PEEK_H
#define OUTCORE_CLI_PEEK_H

#include "outcore/outcore.h"

typedef struct oci_cli_peek {
    struct ArrowArrayStream below;
    struct ArrowArray *batches; /* read early, not given out yet from `next` on */
    size_t n_batches;
    size_t next;
    int failed; /* errno of the read that came early, 0 = none */
} oci_cli_peek;

/* Whether `stream` has more than `rows` rows. Afterwards it still gives all of them. */
bool oci_cli_peek_rows(oci_cli_peek *peek, struct ArrowArrayStream *stream, int64_t rows);

/* Call when the stream is released. A peek that was never used, all zeros, is fine. */
void oci_cli_free_peek(oci_cli_peek *peek);

#endif /* OUTCORE_CLI_PEEK_H */
