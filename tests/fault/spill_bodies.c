/* See spill_bodies.h. What a body does: rows into a writer in many small batches, the file read back;
 * whatever fails, all of it is taken down as an engine would. */
#include "fault/spill_bodies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "outcore/spill.h"
#include "spill/seal.h"
#include "support/arrow_maker.h"

#define N_COLUMNS 4

static const char *const columns[N_COLUMNS] = {"k=i", "s=u", "v=vu", "n=+l(d:15,2)"};

typedef struct spill_case {
    oc_codec codec;
    oc_spill_encoding encoding;
    bool encrypt;
    bool keep_batches;
    bool has_name;
    bool consume;
    bool through_source; /* needs a name */
    int64_t n_batches;
    int64_t batch_rows;
} spill_case;

static oc_status create_writer(oc_spill_manager *manager, const char *path, oc_spill_writer **out,
                               oc_error *error)
{
    struct ArrowSchema schema;
    fault_suspend();
    arrow_make_schema(columns, N_COLUMNS, &schema);
    fault_resume();
    oc_status status = oc_spill_writer_create(manager, &schema, path, out, error);
    schema.release(&schema);
    return status;
}

static oc_status append_rows(oc_spill_writer *writer, const spill_case *c, oc_error *error)
{
    for (int64_t i = 0; i < c->n_batches; i++) {
        arrow_maker maker = {.seed = 31,
                             .first_row = i * c->batch_rows,
                             .length = c->batch_rows,
                             .null_percent = 10,
                             .distinct = 60};
        struct ArrowArray array;
        fault_suspend();
        arrow_make_array(columns, N_COLUMNS, &maker, &array);
        fault_resume();
        OC_TRY(oc_spill_writer_append(writer, &array, error));
    }
    return OC_OK;
}

static oc_status write_rows(oc_spill_manager *manager, const char *path, const spill_case *c,
                            oc_spill_file **out, oc_error *error)
{
    oc_spill_writer *writer;
    OC_TRY(create_writer(manager, path, &writer, error));
    oc_status status = append_rows(writer, c, error);
    if (status == OC_OK) {
        status = oc_spill_writer_finish(writer, out, error);
    }
    oc_spill_writer_destroy(writer);
    return status;
}

static int64_t read_bytes(void *self, void *buffer, int64_t size)
{
    fault_suspend();
    int64_t n = (int64_t)fread(buffer, 1, (size_t)(size < 1000 ? size : 1000), self);
    fault_resume();
    return n;
}

static void close_bytes(void *self)
{
    fault_suspend();
    fclose(self);
    fault_resume();
}

/* The file once more, as bytes from elsewhere. */
static oc_status open_as_source(oc_spill_manager *manager, const char *path, oc_spill_file **out,
                                oc_error *error)
{
    fault_suspend();
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    oc_spill_source source = {.name = path,
                              .size = ftell(file),
                              .read = read_bytes,
                              .release = close_bytes,
                              .self = file};
    rewind(file);
    fault_resume();
    return oc_spill_file_open_source(manager, &source, out, error);
}

static oc_status read_rows(fault_run *run, oc_spill_file *file, bool consume)
{
    oc_spill_read_options options = OC_SPILL_READ_OPTIONS_INIT;
    struct ArrowArrayStream stream;
    options.consume = consume;
    OC_TRY(oc_spill_file_read(file, NULL, &options, &stream, &run->error));
    return fault_drain(run, &stream);
}

static oc_status write_and_read(fault_run *run, oc_spill_manager *manager, const char *path)
{
    const spill_case *c = run->arg;
    oc_spill_file *file = NULL;
    OC_TRY(write_rows(manager, path, c, &file, &run->error));
    if (c->through_source) {
        oc_spill_file_release(file);
        file = NULL;
        OC_TRY(open_as_source(manager, path, &file, &run->error));
    }
    oc_status status = read_rows(run, file, c->consume);
    oc_spill_file_release(file);
    return status;
}

static oc_status spill(fault_run *run)
{
    const spill_case *c = run->arg;
    char path[160];
    char folder[96];
    snprintf(path, sizeof path, "%s/rows.spill", run->outputs);
    snprintf(folder, sizeof folder, "%s/spill", fault_folder);
    const char *const folders[] = {folder};
    oc_spill_options options = OC_SPILL_OPTIONS_INIT;
    options.memory_limit = 4 << 20;
    options.temp_dirs = folders;
    options.n_temp_dirs = 1;
    options.codec = c->codec;
    options.encoding = c->encoding;
    options.encrypt = c->encrypt && oci_seal_is_available();
    options.keep_batches = c->keep_batches;
    options.block_bytes = 16 << 10;
    oc_spill_manager *manager;
    OC_TRY(oc_spill_manager_create(&options, &manager, &run->error));
    oc_status status = write_and_read(run, manager, c->has_name ? path : NULL);
    oc_spill_manager_destroy(manager);
    if (status != OC_OK) {
        /* One that was finished before something failed is whole, and the engine's to remove. */
        unlink(path);
    }
    return status;
}

static const spill_case cases[] = {
    {.codec = OC_CODEC_ZSTD, .n_batches = 60, .batch_rows = 20},
    {.codec = OC_CODEC_NONE,
     .encoding = OC_SPILL_ENCODING_PLAIN,
     .consume = true,
     .n_batches = 12,
     .batch_rows = 100},
    {.codec = OC_CODEC_LZ4,
     .encoding = OC_SPILL_ENCODING_LENGTHS,
     .keep_batches = true,
     .n_batches = 4,
     .batch_rows = 200},
    {.codec = OC_CODEC_AUTO, .has_name = true, .n_batches = 3, .batch_rows = 900},
    {.codec = OC_CODEC_LZ4,
     .has_name = true,
     .through_source = true,
     .n_batches = 30,
     .batch_rows = 20},
    {.codec = OC_CODEC_LZ4, .encrypt = true, .n_batches = 30, .batch_rows = 20},
};

const fault_body fault_spill_bodies[] = {
    {.name = "spill packed", .run = spill, .arg = &cases[0]},
    {.name = "spill plain and consume", .run = spill, .arg = &cases[1]},
    {.name = "spill lengths of kept batches", .run = spill, .arg = &cases[2], .no_tmpfile = true},
    {.name = "spill to a name", .run = spill, .arg = &cases[3]},
    {.name = "spill to a name and read as a source", .run = spill, .arg = &cases[4]},
    {.name = "spill encrypted", .run = spill, .arg = &cases[5]},
};
const int32_t fault_n_spill_bodies = sizeof fault_spill_bodies / sizeof fault_spill_bodies[0];

void fault_make_spill_file(const char *path)
{
    static const spill_case c = {.codec = OC_CODEC_ZSTD, .n_batches = 20, .batch_rows = 30};
    oc_spill_manager *manager;
    oc_spill_file *file;
    oc_error error = {0};
    if (oc_spill_manager_create(NULL, &manager, &error) != OC_OK ||
        write_rows(manager, path, &c, &file, &error) != OC_OK) {
        fail_msg("%s: %s", path, error.message);
    }
    oc_spill_file_release(file);
    oc_spill_manager_destroy(manager);
}
