/* Streams over the Arrow C stream interface, in both directions.
 *
 * In:   ArrowArrayStream ──get_next──> oci_batch_import ──> oci_batch_validate_rows ──> next()
 * Out:  next() ──> oci_batch_export ──> get_next
 *
 * Both keep the first error and give it again on every later call: after an error the position in
 * the stream is unknown, and going on could lose rows without a sign. Both keep giving the end
 * after the end. Texts of a producer's get_last_error stay the producer's and are copied at once.
 *
 * The struct of a stream comes from malloc, one per stream. */
#include "arrow/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void oci_stream_close(oci_stream *stream)
{
    if (stream != NULL) {
        stream->close(stream);
    }
}

/* The whole error of a stream that was made by oci_stream_export(); NULL for others. Between our
 * own streams an error keeps its status and text, as if there were no C stream in between. */
static const oc_error *error_of_own_stream(const struct ArrowArrayStream *in);

/* ---- in -------------------------------------------------------------------------------------- */

typedef struct imported_stream {
    oci_stream base;
    struct ArrowArrayStream in;
    int64_t n_batches; /* given so far */
    bool ended;
    oc_error error; /* the first one; status OC_OK while there is none */
} imported_stream;

/* Turns what a producer's call returned into an error. `what` says which call, for people. */
static oc_status fail_producer(struct ArrowArrayStream *in, int code, const char *what,
                               oc_error *err)
{
    char unknown[64];
    const oc_error *own = error_of_own_stream(in);
    if (own != NULL) {
        if (err != NULL) {
            *err = *own;
        }
        return own->status;
    }
    const char *text = in->get_last_error != NULL ? in->get_last_error(in) : NULL;
    /* Codes are errno values, but nothing keeps producers from returning -1. */
    const char *cause = strerror_r(code, unknown, sizeof unknown);
    bool has_text = text != NULL && text[0] != 0;
    OC_FAIL_ERRNO(err, OC_ESTREAM, code > 0 ? code : 0,
                  "the input stream failed to deliver %s: %.700s%s%s%serrno %d)", what,
                  has_text ? text : cause, has_text ? " (" : " (", has_text ? cause : "",
                  has_text ? ", " : "", code);
}

static oc_status pull_batch(imported_stream *s, oci_batch **out, oc_error *err)
{
    char what[48];
    struct ArrowArray array = {0};
    snprintf(what, sizeof what, "batch %" PRId64, s->n_batches);
    int code = s->in.get_next(&s->in, &array);
    if (code != 0) {
        return fail_producer(&s->in, code, what, err);
    }
    if (array.release == NULL) {
        s->ended = true;
        return OC_OK;
    }
    oc_status status = oci_batch_import(&array, s->base.schema, out, err);
    if (status == OC_OK) {
        status = oci_batch_validate_rows(*out, err);
    }
    if (status != OC_OK) {
        oci_batch_release(*out);
        *out = NULL;
        oci_error_prefix(err, "could not take %s of the input stream", what);
        return status;
    }
    s->n_batches++;
    return OC_OK;
}

static oc_status imported_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    imported_stream *s = (imported_stream *)stream;
    *out = NULL;
    if (s->error.status == OC_OK && !s->ended) {
        s->error.status = pull_batch(s, out, &s->error);
    }
    if (s->error.status != OC_OK && err != NULL) {
        *err = s->error;
    }
    return s->error.status;
}

static void imported_close(oci_stream *stream)
{
    imported_stream *s = (imported_stream *)stream;
    if (s->in.release != NULL) {
        s->in.release(&s->in);
    }
    oci_schema_release(s->base.schema);
    free(s);
}

static oc_status pull_schema(struct ArrowArrayStream *in, oci_schema **out, oc_error *err)
{
    struct ArrowSchema schema = {0};
    if (in->get_schema == NULL || in->get_next == NULL) {
        OC_FAIL(err, OC_EINVAL, "the input stream has no get_schema or get_next");
    }
    int code = in->get_schema(in, &schema);
    if (code != 0) {
        return fail_producer(in, code, "its schema", err);
    }
    oc_status status = oci_schema_import(&schema, out, err);
    if (schema.release != NULL) {
        schema.release(&schema);
    }
    return status;
}

oc_status oci_stream_import(struct ArrowArrayStream *in, oci_stream **out, oc_error *err)
{
    *out = NULL;
    if (in->release == NULL) {
        OC_FAIL(err, OC_EINVAL, "the input stream has been released");
    }
    imported_stream *s = calloc(1, sizeof *s);
    if (s == NULL) {
        in->release(in);
        in->release = NULL;
        OC_FAIL(err, OC_ENOMEM, "out of memory while opening the input stream");
    }
    s->in = *in;
    in->release = NULL;
    s->base.next = imported_next;
    s->base.close = imported_close;
    oc_status status = pull_schema(&s->in, &s->base.schema, err);
    if (status != OC_OK) {
        imported_close(&s->base);
        return status;
    }
    *out = &s->base;
    return OC_OK;
}

/* ---- out ------------------------------------------------------------------------------------- */

typedef struct exported_stream {
    oci_stream *stream;
    oci_schema *schema; /* as announced */
    oci_mem *mem;
    void (*on_release)(void *arg);
    void *arg;
    bool ended;
    oc_error error;        /* the first error of get_next, kept for ever */
    oc_error schema_error; /* of the last get_schema */
    const oc_error *last;  /* which of them get_last_error tells; NULL = none */
} exported_stream;

static int exported_get_schema(struct ArrowArrayStream *self, struct ArrowSchema *out)
{
    exported_stream *s = self->private_data;
    oc_status status = oci_schema_export(s->schema, out, &s->schema_error);
    s->last = status != OC_OK ? &s->schema_error : NULL;
    return oc_status_errno(status);
}

static oc_status push_batch(exported_stream *s, struct ArrowArray *out, oc_error *err)
{
    oci_batch *batch = NULL;
    OC_TRY(oci_stream_next(s->stream, &batch, err));
    if (batch == NULL) {
        s->ended = true;
        return OC_OK;
    }
    return oci_batch_export(batch, s->schema, s->mem, out, err);
}

static int exported_get_next(struct ArrowArrayStream *self, struct ArrowArray *out)
{
    exported_stream *s = self->private_data;
    *out = (struct ArrowArray){0}; /* released: the end, or nothing to release after an error */
    s->last = NULL;
    if (s->error.status == OC_OK && !s->ended) {
        s->error.status = push_batch(s, out, &s->error);
    }
    if (s->error.status != OC_OK) {
        s->last = &s->error;
    }
    return oc_status_errno(s->error.status);
}

static const char *exported_get_last_error(struct ArrowArrayStream *self)
{
    const exported_stream *s = self->private_data;
    return s->last != NULL ? s->last->message : NULL;
}

static void exported_release(struct ArrowArrayStream *self)
{
    exported_stream *s = self->private_data;
    self->release = NULL;
    self->private_data = NULL;
    oci_stream_close(s->stream);
    oci_schema_release(s->schema);
    if (s->on_release != NULL) {
        s->on_release(s->arg);
    }
    free(s);
}

static const oc_error *error_of_own_stream(const struct ArrowArrayStream *in)
{
    return in->release == exported_release ? ((const exported_stream *)in->private_data)->last
                                           : NULL;
}

oc_status oci_stream_export(oci_stream *stream, oci_schema *schema, oci_mem *mem,
                            void (*on_release)(void *arg), void *arg, struct ArrowArrayStream *out,
                            oc_error *err)
{
    exported_stream *s = calloc(1, sizeof *s);
    if (s == NULL) {
        oci_stream_close(stream);
        OC_FAIL(err, OC_ENOMEM, "out of memory while opening the output stream");
    }
    s->stream = stream;
    s->schema = oci_schema_retain(schema);
    s->mem = mem;
    s->on_release = on_release;
    s->arg = arg;
    *out = (struct ArrowArrayStream){
        .get_schema = exported_get_schema,
        .get_next = exported_get_next,
        .get_last_error = exported_get_last_error,
        .release = exported_release,
        .private_data = s,
    };
    return OC_OK;
}
