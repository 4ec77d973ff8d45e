/* Streams of batches inside the library, and the bridge to the Arrow C Stream Interface.
 *
 * An `oci_stream` is pulled: next() gives one batch (one reference) or NULL at the end. Errors
 * are sticky: after one, next() returns it again. Not thread-safe. */
#ifndef OUTCORE_ARROW_STREAM_H
#define OUTCORE_ARROW_STREAM_H

#include "arrow/batch.h"

typedef struct oci_stream oci_stream;
struct oci_stream {
    oci_schema *schema; /* what the batches are, working form or not: the maker says */
    oc_status (*next)(oci_stream *stream, oci_batch **out, oc_error *err);
    void (*close)(oci_stream *stream); /* frees the stream, struct included */
};

static inline oc_status oci_stream_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    return stream->next(stream, out, err);
}
void oci_stream_close(oci_stream *stream); /* NULL is fine */

/* Takes over a C stream (moves it; in->release becomes NULL, also on failure). Batches are
 * imported, validated and released by whoever gets them. A producer that reports an error gives
 * OC_ESTREAM with its errno and text. Zero-row batches are passed on. */
OC_NODISCARD oc_status oci_stream_import(struct ArrowArrayStream *in, oci_stream **out,
                                         oc_error *err);

/* Hands a stream out. Takes it over, also on failure. `schema` is announced (views are built
 * where the batches are in working form), `mem` pays for them. `on_release(arg)` is called once
 * when the consumer has released the stream (not its arrays). Errors: errno by oc_status_errno(),
 * text from get_last_error. */
OC_NODISCARD oc_status oci_stream_export(oci_stream *stream, oci_schema *schema, oci_mem *mem,
                                         void (*on_release)(void *arg), void *arg,
                                         struct ArrowArrayStream *out, oc_error *err);

#endif /* OUTCORE_ARROW_STREAM_H */
