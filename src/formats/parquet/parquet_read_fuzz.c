/* libFuzzer target: a Parquet file as it could come from anywhere, read to its end.
 *
 * The first byte chooses the columns and the size of batches, the rest is the file. Whatever is read must be valid
 * batches of the schema that was said, and nothing may be held in the end. */
#include <stdint.h>
#include <stdlib.h>

#include "base/bits.h"
#include "formats/parquet/parquet_reader.h"
#include "support/byte_file.h"
#include "support/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT = 16 << 20, ROWS_MAX = 20000 };

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static bool is_expected(oc_status status)
{
    return status == OC_OK || status == OC_EDATA || status == OC_EUNSUPPORTED ||
           status == OC_EBUDGET;
}

static void read_all(oci_stream *stream)
{
    int64_t rows = 0;
    for (;;) {
        oci_batch *batch = NULL;
        oc_status status = oci_stream_next(stream, &batch, NULL);
        require(is_expected(status));
        if (status != OC_OK || batch == NULL) {
            return;
        }
        require(batch->length > 0 && batch->schema->n_fields == stream->schema->n_fields);
        require(oci_batch_validate(batch, NULL) == OC_OK);
        rows += batch->length;
        oci_batch_release(batch);
        if (rows > ROWS_MAX) { /* runs of levels may stand for any number of nulls */
            return;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int32_t first_column[] = {0};
    if (size < 1) {
        return 0;
    }
    test_env t;
    require(test_env_try(&t, LIMIT, NULL, NULL) == OC_OK);
    t.env.batch_rows = (data[0] & 2) != 0 ? 7 : 1000;
    oci_parquet_read_options options = {.columns = NULL};
    if ((data[0] & 1) != 0) {
        options.columns = first_column;
        options.n_columns = 1;
    }
    oci_file *file = byte_file_open(data + 1, (int64_t)size - 1, 0);
    oci_schema *schema = NULL;
    oc_status status = oci_parquet_read_schema(file, t.mem, &schema, NULL);
    require(is_expected(status));
    bool has_columns = status == OC_OK && schema->n_fields > 0;
    oci_schema_release(schema);
    oci_stream *stream = NULL;
    if (has_columns) {
        status = oci_parquet_reader_open(&t.env, file, &options, t.mem, &stream, NULL);
        require(is_expected(status));
    } else {
        oci_close(file, NULL);
    }
    if (stream != NULL) {
        read_all(stream);
    }
    oci_stream_close(stream);
    require(oci_mem_held(t.mem) == 0);
    test_env_deinit(&t);
    return 0;
}
