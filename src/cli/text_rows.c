/* See text_rows.h. */
#include "cli/text_rows.h"

#include <string.h>

static void print_column(const struct ArrowArray *column, bool is_large, int64_t first, int64_t n,
                         FILE *out)
{
    const char *text = column->buffers[2];
    for (int64_t i = first; i < first + n; i++) {
        int64_t begin = is_large ? ((const int64_t *)column->buffers[1])[i]
                                 : ((const int32_t *)column->buffers[1])[i];
        int64_t end = is_large ? ((const int64_t *)column->buffers[1])[i + 1]
                               : ((const int32_t *)column->buffers[1])[i + 1];
        if (end > begin) {
            (void)fwrite(text + begin, 1, (size_t)(end - begin), out);
        }
        putc('\n', out);
    }
}

/* The type of the first column: 'u' or 'U'; 0 after a failure, with the reason in `error`. */
static char text_type_of(struct ArrowArrayStream *stream, oc_error *error)
{
    struct ArrowSchema schema;
    int code = stream->get_schema(stream, &schema);
    if (code != 0) {
        const char *why = stream->get_last_error(stream);
        snprintf(error->message, sizeof error->message, "%s", why != NULL ? why : strerror(code));
        return 0;
    }
    char type = schema.n_children == 1 ? schema.children[0]->format[0] : 0;
    schema.release(&schema);
    if (type != 'u' && type != 'U') {
        snprintf(error->message, sizeof error->message, "the plan is not a column of text");
        return 0;
    }
    return type;
}

oc_status oci_cli_print_text_rows(struct ArrowArrayStream *stream, FILE *out, int64_t *n_rows,
                                  oc_error *error)
{
    char type = text_type_of(stream, error);
    oc_status status = type != 0 ? OC_OK : OC_EINTERNAL;
    while (status == OC_OK) {
        struct ArrowArray batch = {.release = NULL};
        int code = stream->get_next(stream, &batch);
        if (code != 0) {
            const char *why = stream->get_last_error(stream);
            snprintf(error->message, sizeof error->message, "%s",
                     why != NULL ? why : strerror(code));
            status = OC_ESTREAM;
            break;
        }
        if (batch.release == NULL) {
            break;
        }
        const struct ArrowArray *column = batch.children[0];
        print_column(column, type == 'U', batch.offset + column->offset, batch.length, out);
        *n_rows += batch.length;
        batch.release(&batch);
    }
    stream->release(stream);
    fflush(out);
    return status;
}
