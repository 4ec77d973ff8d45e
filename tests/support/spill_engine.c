/* See spill_engine.h. */
#include "support/spill_engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/batch_maker.h"

char spill_folder[64];

int make_spill_folder(void **state)
{
    (void)state;
    snprintf(spill_folder, sizeof spill_folder, "/tmp/oc_spill_XXXXXX");
    return mkdtemp(spill_folder) == NULL;
}

int remove_spill_folder(void **state)
{
    (void)state;
    return rmdir(spill_folder); /* fails when a test left a file */
}

const char *spill_path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", spill_folder, name);
    return path;
}

/* ---- fixture --------------------------------------------------------------------------------- */

oc_spill_options default_spill_options(void)
{
    static const char *dirs[1];
    oc_spill_options options = OC_SPILL_OPTIONS_INIT;
    dirs[0] = spill_folder;
    options.memory_limit = 64 * MIB;
    options.temp_dirs = dirs;
    options.n_temp_dirs = 1;
    return options;
}

oc_spill_manager *make_spill_manager(const oc_spill_options *options)
{
    oc_spill_manager *manager = NULL;
    oc_error error = {0};
    if (oc_spill_manager_create(options, &manager, &error) != OC_OK) {
        fail_msg("%s", error.message);
    }
    return manager;
}

oc_spill_metrics spill_metrics_of(oc_spill_manager *manager)
{
    oc_spill_metrics m;
    oc_spill_manager_metrics(manager, &m);
    return m;
}

void end_spilling(oc_spill_manager *manager)
{
    oc_spill_metrics m = spill_metrics_of(manager);
    assert_int_equal(m.memory_used, 0);
    assert_int_equal(m.disk_now, 0);
    oc_spill_manager_destroy(manager);
    assert_int_equal(arrow_maker_live(), 0);
}

oc_spill_writer *make_spill_writer(oc_spill_manager *manager, const char *const *columns,
                                   int32_t n_columns, const char *path)
{
    struct ArrowSchema schema;
    oc_spill_writer *writer = NULL;
    oc_error error = {0};
    arrow_make_schema(columns, n_columns, &schema);
    if (oc_spill_writer_create(manager, &schema, path, &writer, &error) != OC_OK) {
        fail_msg("%s", error.message);
    }
    schema.release(&schema);
    return writer;
}

void append_spilled(oc_spill_writer *writer, const char *const *columns, int32_t n_columns,
                    const arrow_maker *maker)
{
    struct ArrowArray array;
    oc_error error = {0};
    arrow_make_array(columns, n_columns, maker, &array);
    if (oc_spill_writer_append(writer, &array, &error) != OC_OK) {
        fail_msg("%s", error.message);
    }
    assert_null(array.release);
}

oc_spill_file *write_spilled(oc_spill_writer *writer, const char *const *columns, int32_t n_columns,
                             const arrow_maker *maker, int64_t batch_rows)
{
    arrow_maker part = *maker;
    for (int64_t at = 0; at < maker->length; at += batch_rows) {
        part.first_row = at;
        part.length = maker->length - at < batch_rows ? maker->length - at : batch_rows;
        append_spilled(writer, columns, n_columns, &part);
    }
    oc_spill_file *file = NULL;
    oc_error error = {0};
    if (oc_spill_writer_finish(writer, &file, &error) != OC_OK) {
        fail_msg("%s", error.message);
    }
    oc_spill_writer_destroy(writer);
    return file;
}

void open_spilled(oc_spill_file *file, struct ArrowArrayStream *out)
{
    oc_error error = {0};
    if (oc_spill_file_read(file, NULL, NULL, out, &error) != OC_OK) {
        fail_msg("%s", error.message);
    }
}

int64_t check_spilled_stream(struct ArrowArrayStream *stream, const char *const *columns,
                             int32_t n_columns, const arrow_maker *maker)
{
    oci_batch *all = make_batch(columns, n_columns, maker);
    int64_t rows = 0;
    int64_t batches = 0;
    for (;; batches++) {
        struct ArrowArray array;
        int code = stream->get_next(stream, &array);
        if (code != 0) {
            fail_msg("%d: %s", code, stream->get_last_error(stream));
        }
        if (array.release == NULL) {
            break;
        }
        oci_batch *got = NULL;
        oci_batch *want = NULL;
        assert_int_equal(oci_batch_import(&array, all->schema, &got, NULL), OC_OK);
        assert_int_equal(oci_batch_validate(got, NULL), OC_OK);
        assert_int_equal(oci_batch_slice(all, rows, got->length, &want, NULL), OC_OK);
        assert_true(oci_batch_equal(got, want));
        rows += got->length;
        oci_batch_release(want);
        oci_batch_release(got);
    }
    assert_int_equal(rows, maker->length);
    oci_batch_release(all);
    stream->release(stream);
    return batches;
}

int64_t check_spilled(oc_spill_file *file, const char *const *columns, int32_t n_columns,
                      const arrow_maker *maker)
{
    struct ArrowArrayStream stream;
    open_spilled(file, &stream);
    return check_spilled_stream(&stream, columns, n_columns, maker);
}
