/* See peek.h. */
#include "cli/peek.h"

#include <stdlib.h>

static int peek_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    oci_cli_peek *peek = stream->private_data;
    return peek->below.get_schema(&peek->below, out);
}

static int peek_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    oci_cli_peek *peek = stream->private_data;
    if (peek->next < peek->n_batches) {
        *out = peek->batches[peek->next++];
        return 0;
    }
    if (peek->failed != 0) {
        *out = (struct ArrowArray){.release = NULL};
        return peek->failed;
    }
    return peek->below.get_next(&peek->below, out);
}

static const char *peek_get_last_error(struct ArrowArrayStream *stream)
{
    oci_cli_peek *peek = stream->private_data;
    return peek->below.get_last_error(&peek->below);
}

static void peek_release(struct ArrowArrayStream *stream)
{
    oci_cli_peek *peek = stream->private_data;
    peek->below.release(&peek->below);
    stream->release = NULL;
}

bool oci_cli_peek_rows(oci_cli_peek *peek, struct ArrowArrayStream *stream, int64_t rows)
{
    int64_t seen = 0;
    /* Every batch has a row, but for those that are dropped, so there are never more. */
    *peek = (oci_cli_peek){.batches = calloc((size_t)rows + 1, sizeof *peek->batches)};
    if (peek->batches == NULL) {
        return false;
    }
    peek->below = *stream;
    while (seen <= rows && peek->failed == 0) {
        struct ArrowArray batch = {.release = NULL};
        peek->failed = peek->below.get_next(&peek->below, &batch);
        if (peek->failed != 0 || batch.release == NULL) {
            break;
        }
        if (batch.length == 0) {
            batch.release(&batch);
            continue;
        }
        peek->batches[peek->n_batches++] = batch;
        seen += batch.length;
    }
    *stream = (struct ArrowArrayStream){.get_schema = peek_get_schema,
                                        .get_next = peek_get_next,
                                        .get_last_error = peek_get_last_error,
                                        .release = peek_release,
                                        .private_data = peek};
    return seen > rows;
}

void oci_cli_free_peek(oci_cli_peek *peek)
{
    for (size_t i = peek->next; i < peek->n_batches; i++) {
        peek->batches[i].release(&peek->batches[i]);
    }
    free(peek->batches);
    *peek = (oci_cli_peek){.n_batches = 0};
}
