/* Views in spill files: slices do not drag along what they do not show, and what is shared stays so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arrow/batch.h"
#include "support/spill_engine.h"

/* ---- views ----------------------------------------------------------------------------------- */

/* Text views of one buffer: row i shows `length` bytes from i * step on. Everything is borrowed. */
typedef struct view_rows {
    oci_view *views;
    const void *buffers[4]; /* validity, views, bytes, sizes */
    int64_t sizes[1];
} view_rows;

static void release_nothing(struct ArrowArray *array)
{
    array->release = NULL;
}

static void make_views(view_rows *v, uint8_t *bytes, int64_t n_bytes, int64_t n, int64_t length,
                       int64_t step)
{
    v->views = calloc((size_t)n, sizeof *v->views);
    assert_non_null(v->views);
    for (int64_t i = 0; i < n; i++) {
        oci_view *view = &v->views[i];
        view->length = (int32_t)length;
        memcpy(view->ref.prefix, bytes + i * step % n_bytes, 4);
        view->ref.offset = (int32_t)(i * step % n_bytes);
    }
    v->sizes[0] = n_bytes;
    v->buffers[0] = NULL;
    v->buffers[1] = v->views;
    v->buffers[2] = bytes;
    v->buffers[3] = v->sizes;
}

/* An array over them that owns nothing but itself. */
typedef struct view_array {
    struct ArrowArray column;
    struct ArrowArray *children[1];
    const void *no_buffers[1];
} view_array;

static void release_view_array(struct ArrowArray *array)
{
    free(array->private_data);
    array->release = NULL;
}

/* Appends rows [start, start + n) as a slice; `v` must outlive the writer. */
static void append_views(oc_spill_writer *writer, const view_rows *v, int64_t start, int64_t n)
{
    view_array *made = calloc(1, sizeof *made);
    assert_non_null(made);
    made->column = (struct ArrowArray){.length = n,
                                       .offset = start,
                                       .n_buffers = 4,
                                       .buffers = (const void **)v->buffers,
                                       .release = release_nothing};
    made->children[0] = &made->column;
    struct ArrowArray array = {.length = n,
                               .n_buffers = 1,
                               .buffers = made->no_buffers,
                               .n_children = 1,
                               .children = made->children,
                               .release = release_view_array,
                               .private_data = made};
    oc_error error = {0};
    if (oc_spill_writer_append(writer, &array, &error) != OC_OK) {
        fail_msg("%s", error.message);
    }
}

static const char *const text_column[] = {"a=vu"};

/* 1,000 slices of one batch of 100,000 views of 64 bytes, with and without collecting. */
static void slices_of_views_do_not_drag_their_buffers_along(void **state)
{
    (void)state;
    enum { ROWS = 100000, LENGTH = 64, SLICES = 1000 };
    uint8_t *bytes = malloc(ROWS * LENGTH);
    assert_non_null(bytes);
    uint64_t random = 1;
    for (int64_t i = 0; i < ROWS * LENGTH; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        bytes[i] = (uint8_t)(random >> 57);
    }
    view_rows v;
    make_views(&v, bytes, ROWS * LENGTH, ROWS, LENGTH, LENGTH);
    for (int turn = 0; turn < 12; turn++) {
        oc_spill_options options = default_spill_options();
        options.codec = turn % 2 == 0 ? OC_CODEC_NONE : OC_CODEC_LZ4;
        options.encoding = (oc_spill_encoding)(turn / 2 % 3);
        options.keep_batches = turn / 6 == 1;
        oc_spill_manager *manager = make_spill_manager(&options);
        oc_spill_writer *writer = make_spill_writer(manager, text_column, 1, NULL);
        for (int64_t i = 0; i < SLICES; i++) {
            append_views(writer, &v, i * (ROWS / SLICES), ROWS / SLICES);
        }
        oc_spill_file *file;
        assert_int_equal(oc_spill_writer_finish(writer, &file, NULL), OC_OK);
        oc_spill_info info;
        oc_spill_file_info(file, &info);
        int64_t live = (int64_t)ROWS * (LENGTH + (int64_t)sizeof(oci_view));
        if (info.disk_bytes > live * 3 / 2) {
            fail_msg("turn %d: %d bytes on disk of %d live", turn, (int)info.disk_bytes, (int)live);
        }
        oc_spill_writer_destroy(writer);
        oc_spill_file_release(file);
        end_spilling(manager);
    }
    free(v.views);
    free(bytes);
}

/* 20,000 rows that show the same 100 KB: 2 GB if each counted. */
static void views_that_share_bytes_go_on_sharing_them(void **state)
{
    (void)state;
    enum { ROWS = 20000, LENGTH = 100000 };
    uint8_t *bytes = malloc(LENGTH);
    assert_non_null(bytes);
    for (int64_t i = 0; i < LENGTH; i++) {
        bytes[i] = (uint8_t)('a' + i % 23);
    }
    view_rows v;
    make_views(&v, bytes, LENGTH, ROWS, LENGTH, 0);
    for (int encoding = OC_SPILL_ENCODING_AUTO; encoding <= OC_SPILL_ENCODING_LENGTHS; encoding++) {
        oc_spill_options options = default_spill_options();
        options.codec = OC_CODEC_NONE;
        options.encoding = (oc_spill_encoding)encoding;
        options.memory_limit = 16 * MIB;
        oc_spill_manager *manager = make_spill_manager(&options);
        oc_spill_writer *writer = make_spill_writer(manager, text_column, 1, NULL);
        append_views(writer, &v, 0, ROWS);
        oc_spill_file *file;
        assert_int_equal(oc_spill_writer_finish(writer, &file, NULL), OC_OK);
        oc_spill_writer_destroy(writer);
        oc_spill_info info;
        oc_spill_file_info(file, &info);
        assert_true(info.disk_bytes < MIB);
        struct ArrowArrayStream stream;
        struct ArrowArray array;
        int64_t rows = 0;
        open_spilled(file, &stream);
        for (;;) {
            assert_int_equal(stream.get_next(&stream, &array), 0);
            if (array.release == NULL) {
                break;
            }
            rows += array.length;
            array.release(&array);
        }
        assert_int_equal(rows, ROWS);
        assert_true(spill_metrics_of(manager).memory_peak < 4 * MIB);
        stream.release(&stream);
        oc_spill_file_release(file);
        end_spilling(manager);
    }
    free(v.views);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_of_views_do_not_drag_their_buffers_along),
        cmocka_unit_test(views_that_share_bytes_go_on_sharing_them),
    };
    return cmocka_run_group_tests(tests, make_spill_folder, remove_spill_folder);
}
