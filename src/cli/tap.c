/* See tap.h. */
#include <stdio.h>

#include "cli/tap.h"

static int keep_failure(oci_cli_tap *tap, int code)
{
    if (code != 0 && tap->failed == 0) {
        const char *text = tap->below.get_last_error(&tap->below);
        tap->failed = code;
        snprintf(tap->message, sizeof tap->message, "%s",
                 text != NULL ? text : "reading failed without a reason");
    }
    return code;
}

static int tap_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    oci_cli_tap *tap = stream->private_data;
    return keep_failure(tap, tap->below.get_schema(&tap->below, out));
}

static int tap_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    oci_cli_tap *tap = stream->private_data;
    if (tap->rows_left == 0) {
        *out = (struct ArrowArray){.release = NULL};
        return 0;
    }
    int code = keep_failure(tap, tap->below.get_next(&tap->below, out));
    if (tap->on_first_rows != NULL) {
        tap->on_first_rows(tap->arg);
        tap->on_first_rows = NULL;
    }
    if (code != 0 || out->release == NULL) {
        return code;
    }
    if (out->length > tap->rows_left) {
        /* A struct array may be shorter than its children, so this is all that cutting takes. */
        out->length = tap->rows_left;
        out->null_count = out->null_count == 0 ? 0 : -1;
    }
    tap->rows_left -= out->length;
    return 0;
}

static const char *tap_get_last_error(struct ArrowArrayStream *stream)
{
    const oci_cli_tap *tap = stream->private_data;
    return tap->failed != 0 ? tap->message : NULL;
}

static void tap_release(struct ArrowArrayStream *stream)
{
    oci_cli_tap *tap = stream->private_data;
    tap->below.release(&tap->below);
    stream->release = NULL;
}

void oci_cli_insert_tap(oci_cli_tap *tap, struct ArrowArrayStream *stream, int64_t row_limit,
                        void (*on_first_rows)(void *arg), void *arg)
{
    *tap = (oci_cli_tap){.below = *stream,
                         .rows_left = row_limit < 0 ? INT64_MAX : row_limit,
                         .on_first_rows = on_first_rows,
                         .arg = arg};
    *stream = (struct ArrowArrayStream){.get_schema = tap_get_schema,
                                        .get_next = tap_get_next,
                                        .get_last_error = tap_get_last_error,
                                        .release = tap_release,
                                        .private_data = tap};
}
