/* What the text writers share: the output buffer, and one set of functions per format. */
#ifndef OUTCORE_FORMATS_TEXT_INTERNAL_H
#define OUTCORE_FORMATS_TEXT_INTERNAL_H

#include <string.h>

#include "formats/format_value.h"
#include "formats/text_writer.h"

/* Output is written in pieces of this size; few calls, and still in the caches when it is
 * copied. */
#define OCI_TEXT_BUFFER_BYTES (INT64_C(128) * 1024)

/* A buffer in front of something that takes text: the file, or a writer that does more with it. */
typedef struct oci_text_sink oci_text_sink;
struct oci_text_sink {
    oc_status (*drain)(oci_text_sink *sink, const char *bytes, int64_t length, oc_error *err);
    void *target; /* drain's own */
    char *data;
    int64_t capacity; /* at least OCI_TEXT_SINK_BYTES_MIN */
    int64_t used;
    bool closed; /* set by drain: no more is wanted, and what comes is dropped */
};
#define OCI_TEXT_SINK_BYTES_MIN (INT64_C(4) * 1024)

OC_NODISCARD oc_status oci_text_sink_flush(oci_text_sink *sink, oc_error *err);
/* Bytes of any number, in order with what is buffered. */
OC_NODISCARD oc_status oci_text_sink_write(oci_text_sink *sink, const char *bytes, int64_t length,
                                           oc_error *err);

/* `n` bytes as hex digits. */
OC_NODISCARD oc_status oci_text_sink_hex(oci_text_sink *sink, const uint8_t *bytes, int64_t n,
                                         oc_error *err);

/* Makes sure that `length` bytes, at most capacity, fit behind data + used. */
static inline oc_status oci_text_sink_reserve(oci_text_sink *sink, int64_t length, oc_error *err)
{
    return sink->used + length <= sink->capacity ? OC_OK : oci_text_sink_flush(sink, err);
}

static inline oc_status oci_text_sink_char(oci_text_sink *sink, char c, oc_error *err)
{
    OC_TRY(oci_text_sink_reserve(sink, 1, err));
    sink->data[sink->used++] = c;
    return OC_OK;
}

static inline oc_status oci_text_sink_str(oci_text_sink *sink, const char *str, oc_error *err)
{
    return oci_text_sink_write(sink, str, (int64_t)strlen(str), err);
}

/* One format. `begin` is called once before everything else, `end` once unless something failed,
 * `deinit` always. */
typedef struct oci_text_ops {
    oc_status (*begin)(oci_text_writer *writer, oc_error *err);
    oc_status (*add)(oci_text_writer *writer, const oci_batch *batch, oc_error *err);
    oc_status (*end)(oci_text_writer *writer, oc_error *err);
    void (*deinit)(oci_text_writer *writer);
} oci_text_ops;

struct oci_text_writer {
    const oci_env *env;
    const oci_text_ops *ops;
    oci_mem *mem;
    oci_schema *schema;
    oci_formatter *formatters; /* schema->n_fields */
    oci_text_format format;
    oci_text_options options; /* null_text is a copy */
    int64_t null_length;
    oci_text_sink sink;
    void *state;  /* the format's own */
    int64_t rows; /* rows added so far */
    oc_status failed;
    oc_error error;
};

extern const oci_text_ops oci_csv_text_ops;
extern const oci_text_ops oci_json_text_ops; /* JSON and NDJSON */
extern const oci_text_ops oci_table_text_ops;

#endif /* OUTCORE_FORMATS_TEXT_INTERNAL_H */
