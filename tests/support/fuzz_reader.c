#include "support/fuzz_reader.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/reader.h"

/* An input in memory. */
typedef struct fuzz_file {
    oci_file base; /* first, so that the pointers convert */
    const uint8_t *data;
    int64_t size;
    int64_t position;
} fuzz_file;

static int64_t copy_out(const fuzz_file *file, void *buf, int64_t size, int64_t offset)
{
    int64_t n = file->size - offset < size ? file->size - offset : size;
    if (n > 0) {
        memcpy(buf, file->data + offset, (size_t)n);
    }
    return n > 0 ? n : 0;
}

static oc_status fuzz_pread(oci_file *f, void *buf, int64_t size, int64_t offset, int64_t *n_read,
                            oc_error *err)
{
    (void)err;
    *n_read = copy_out((fuzz_file *)f, buf, size, offset);
    return OC_OK;
}

static oc_status fuzz_read(oci_file *f, void *buf, int64_t size, int64_t *n_read, oc_error *err)
{
    (void)err;
    fuzz_file *file = (fuzz_file *)f;
    *n_read = copy_out(file, buf, size < 1000 ? size : 1000, file->position);
    file->position += *n_read;
    return OC_OK;
}

static oc_status fuzz_size(oci_file *f, int64_t *out, oc_error *err)
{
    (void)err;
    *out = ((fuzz_file *)f)->size;
    return OC_OK;
}

static oc_status fuzz_close(oci_file *f, oc_error *err)
{
    (void)f, (void)err;
    return OC_OK;
}

static const oci_file_ops fuzz_ops = {
    .pread = fuzz_pread, .read = fuzz_read, .size = fuzz_size, .close = fuzz_close};

static void look_at(const oci_batch *batch)
{
    uint64_t hash = 0;
    /* Rows without columns or bytes cost nothing to claim. */
    for (int64_t row = 0; row < batch->length && row < 100000; row++) {
        for (int32_t i = 0; i < batch->schema->n_fields; i++) {
            hash = oci_value_hash(&batch->columns[i], row, hash);
        }
    }
}

static void read_all(const oci_env *env, oci_mem *mem, oci_file *file, bool one_column)
{
    int32_t first = 0;
    oci_ipc_read_options options = {.columns = one_column ? &first : NULL, .n_columns = one_column};
    oci_stream *stream = NULL;
    if (oci_ipc_reader_open(env, file, &options, mem, &stream, NULL) != OC_OK) {
        return;
    }
    oci_batch *batch = NULL;
    for (int n = 0; n < 1000 && oci_stream_next(stream, &batch, NULL) == OC_OK && batch != NULL;
         n++) {
        look_at(batch);
        oci_batch_release(batch);
    }
    oci_stream_close(stream);
}

void fuzz_read_ipc(const uint8_t *data, size_t size, uint8_t choice)
{
    static char name[] = "fuzz";
    fuzz_file file = {
        .base = {.ops = &fuzz_ops, .name = name, .fd = -1, .seekable = choice % 2 == 0},
        .data = data,
        .size = (int64_t)size};
    oci_budget *budget = NULL;
    oci_mem *mem = NULL;
    int64_t limit = choice / 2 % 2 == 0 ? INT64_C(1) << 19 : INT64_C(1) << 26;
    if (oci_budget_create(limit, NULL, &budget, NULL) == OC_OK &&
        oci_mem_open(budget, "fuzz", &mem, NULL) == OC_OK) {
        oci_env env = {.budget = budget,
                       .io = oci_posix_io(),
                       .threads = oci_system_threads(),
                       .clock = oci_system_clock(),
                       .n_threads = 1,
                       .batch_rows = choice / 4 % 2 == 0 ? 7 : 8192};
        read_all(&env, mem, &file.base, choice / 8 % 2 == 1);
        if (oci_budget_used(budget) != 0) {
            abort();
        }
    }
    oci_mem_close(mem);
    oci_budget_destroy(budget);
}
