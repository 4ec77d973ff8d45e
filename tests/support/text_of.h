/* For tests of the text writers: tables written down as CSV, and what a writer makes of them.
 * Header only; failures end the test. Include cmocka.h before. */
#ifndef OUTCORE_TESTS_SUPPORT_TEXT_OF_H
#define OUTCORE_TESTS_SUPPORT_TEXT_OF_H

#include "formats/csv.h"
#include "formats/text_writer.h"
#include "support/memory_file.h"

/* Writes what is left of a stream; malloc'ed text. */
static inline char *text_of_stream(const test_env *t, oci_stream *stream, oci_text_format format,
                                   const oci_text_options *options)
{
    oc_error err = {0};
    oci_text_writer *writer;
    oci_batch *batch;
    memory_file *file = make_memory_file("", 0);
    if (oci_text_writer_open(&t->env, &file->file, stream->schema, format, options, t->mem, &writer,
                             &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    for (;;) {
        if (oci_stream_next(stream, &batch, &err) != OC_OK) {
            fail_msg("%s", err.message);
        }
        if (batch == NULL) {
            break;
        }
        assert_int_equal(oci_text_writer_add(writer, batch, NULL), OC_OK);
        oci_batch_release(batch);
    }
    assert_int_equal(oci_text_writer_finish(writer, NULL), OC_OK);
    oci_text_writer_destroy(writer);
    char *text = file->data;
    file->data = NULL;
    (void)memory_close(&file->file, NULL);
    return text;
}

/* The table in `csv` (no header; columns declared as "a int64, ...") as `format`. batch_rows rows
 * at a time. */
static inline char *text_of_csv(const char *columns, const char *csv, int64_t batch_rows,
                                oci_text_format format, const oci_text_options *options)
{
    test_env t;
    oc_error err = {0};
    oci_schema *schema = NULL;
    oci_stream *stream;
    assert_int_equal(test_env_try(&t, 4 << 20, NULL, NULL), OC_OK);
    t.env.batch_rows = batch_rows;
    if (oci_parse_columns(columns, &schema, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    oci_csv_options csv_options = {
        .header = 0, .delimiter = ',', .declared = schema, .null_text = "~"};
    memory_file *file = make_memory_file(csv, (int64_t)strlen(csv));
    if (oci_csv_reader_open(&t.env, &file->file, &csv_options, t.mem, &stream, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    char *text = text_of_stream(&t, stream, format, options);
    oci_stream_close(stream);
    oci_schema_release(schema);
    assert_int_equal(oci_mem_held(t.mem), 0);
    test_env_deinit(&t);
    return text;
}

#endif /* OUTCORE_TESTS_SUPPORT_TEXT_OF_H */
