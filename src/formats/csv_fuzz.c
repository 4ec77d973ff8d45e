/* libFuzzer target: CSV text as it could come from anywhere.
 *
 * The first two bytes choose the options, the rest is the file. The text is read with a window of a
 * few bytes and with a large one: with declared columns of text both must give the same rows or
 * refuse (with guesses they may differ, since they see different samples). What was read is written
 * as CSV, which must read back to the same rows. Nothing may be held in the end. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/csv.h"
#include "formats/text_writer.h"
#include "support/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT = 16 << 20 };

static const char *const declared_texts[] = {
    NULL,
    "a utf8, b utf8",
    "a utf8",
    "a utf8_view, b utf8, c utf8",
    "a int32, b decimal(9, 2), c date",
    "a float64, b timestamp[ms, UTC]",
    "a binary, b bool",
    "a fixed_size_binary(2), b time32[ms], c large_utf8, d decimal(50, 3)",
};

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

/* Reads all of a text; writes it as CSV to `out` when that is not NULL. */
static oc_status read_text(const test_env *t, const uint8_t *data, int64_t size,
                           const oci_csv_options *options, memory_file *out)
{
    memory_file *file = make_memory_file(data, size);
    oci_stream *stream = NULL;
    oci_text_writer *writer = NULL;
    oci_text_options text_options = {.header = false};
    oc_status status = oci_csv_reader_open(&t->env, &file->file, options, t->mem, &stream, NULL);
    if (status == OC_OK && out != NULL) {
        require(oci_text_writer_open(&t->env, &out->file, stream->schema, OCI_TEXT_CSV,
                                     &text_options, t->mem, &writer, NULL) == OC_OK);
    }
    oci_batch *batch = NULL;
    while (status == OC_OK && (status = oci_stream_next(stream, &batch, NULL)) == OC_OK &&
           batch != NULL) {
        require(oci_batch_validate(batch, NULL) == OC_OK);
        if (writer != NULL) {
            require(oci_text_writer_add(writer, batch, NULL) == OC_OK);
        }
        oci_batch_release(batch);
    }
    if (writer != NULL) {
        require(oci_text_writer_finish(writer, NULL) == OC_OK);
    }
    oci_text_writer_destroy(writer);
    oci_stream_close(stream);
    require(oci_mem_held(t->mem) == 0);
    return status;
}

static void check_text(const uint8_t *data, int64_t size, const oci_csv_options *options,
                       bool is_declared)
{
    test_env t;
    memory_file *small = make_memory_file("", 0);
    memory_file *large = make_memory_file("", 0);
    memory_file *again = make_memory_file("", 0);
    require(test_env_try(&t, LIMIT, NULL, NULL) == OC_OK);
    oci_csv_options o = *options;
    o.block_bytes = 5;
    oc_status small_status = read_text(&t, data, size, &o, small);
    o.block_bytes = 0;
    oc_status large_status = read_text(&t, data, size, &o, large);
    bool same_dialect = is_declared && o.delimiter != 0 && o.header >= 0;
    if (same_dialect && small_status == OC_OK && large_status == OC_OK) {
        require(small->size == large->size &&
                memcmp(small->data, large->data, (size_t)small->size) == 0);
    }
    if (is_declared && large_status == OC_OK) {
        oci_csv_options plain = {.header = 0, .delimiter = ',', .declared = options->declared};
        require(read_text(&t, (const uint8_t *)large->data, large->size, &plain, again) == OC_OK);
        require(again->size == large->size &&
                memcmp(again->data, large->data, (size_t)again->size) == 0);
    }
    (void)memory_close(&small->file, NULL);
    (void)memory_close(&large->file, NULL);
    (void)memory_close(&again->file, NULL);
    test_env_deinit(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char delimiters[] = {0, ',', ';', '|'};
    if (size < 2) {
        return 0;
    }
    const char *text = declared_texts[data[0] & 7];
    oci_schema *declared = NULL;
    require(text == NULL || oci_parse_columns(text, &declared, NULL) == OC_OK);
    oci_csv_options options = {.delimiter = delimiters[data[0] >> 3 & 3],
                               .quote = data[0] & 64 ? (char)-1 : 0,
                               .trailing_delimiter = (data[0] & 128) != 0,
                               .header = data[1] % 3 - 1,
                               .null_text = data[1] & 128 ? "NA" : NULL,
                               .declared = declared};
    check_text(data + 2, (int64_t)size - 2, &options, declared != NULL && options.header == 0);
    oci_schema_release(declared);
    return 0;
}
